package llm

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	openai "github.com/sashabaranov/go-openai"
)

// HTTPConfig says how connections are made. The zero HTTPConfig is meant to be
// used.
type HTTPConfig struct {
	// MaxConns is the number of connections per host that stay open for the
	// next request. 0: 64. There is no limit on how many are used at once.
	MaxConns int

	// DialTimeout limits the time until a connection stands, for TCP and TLS
	// each. 0: 10 s.
	DialTimeout time.Duration

	// HeaderTimeout limits the time from a request to the first sign of an
	// answer, which servers that don't stream give when all is generated.
	// 0: 10 min. Nothing else limits an answer but the request's context:
	// streams are long.
	HeaderTimeout time.Duration

	// MaxBody is the size of an answer above which it is given up. 0: 32 MiB.
	MaxBody int64

	// Extra is added to the body of each request, and wins over what is there:
	// fields that go-openai lacks, such as top_k. See also WithExtra.
	Extra map[string]any

	// Dial makes connections. Nil: TCP, through the environment's proxy if
	// there is one.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// An HTTPClient sends go-openai's requests. It reports failed ones as *Error,
// before go-openai forgets their Retry-After. It sends a request again only if a
// kept connection turns out to be closed, once, and never follows a redirect:
// the key is for one host.
type HTTPClient struct {
	http    http.Client
	maxBody int64
	extra   map[string]any
}

var _ openai.HTTPDoer = (*HTTPClient)(nil)

// NewHTTPClient returns an HTTPClient with a pool of connections of its own.
func NewHTTPClient(cfg HTTPConfig) *HTTPClient {
	return &HTTPClient{
		http: http.Client{
			Transport:     newTransport(cfg),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		maxBody: cmp.Or(cfg.MaxBody, 32<<20),
		extra:   maps.Clone(cfg.Extra),
	}
}

func newTransport(cfg HTTPConfig) *http.Transport {
	timeout := cmp.Or(cfg.DialTimeout, 10*time.Second)
	dial, proxy := cfg.Dial, (func(*http.Request) (*url.URL, error))(nil)
	if dial == nil {
		dial = (&net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}).DialContext
		proxy = http.ProxyFromEnvironment
	}
	conns := cmp.Or(cfg.MaxConns, 64)
	return &http.Transport{
		Proxy:                 proxy,
		DialContext:           dial,
		ForceAttemptHTTP2:     true, // a dialer of one's own turns it off
		MaxIdleConns:          4 * conns,
		MaxIdleConnsPerHost:   conns,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   timeout,
		ResponseHeaderTimeout: cmp.Or(cfg.HeaderTimeout, 10*time.Minute),
		DisableCompression:    true, // compressors hold back what should stream
	}
}

// CloseIdleConnections closes connections that no request uses.
func (c *HTTPClient) CloseIdleConnections() { c.http.CloseIdleConnections() }

// Do sends a request. The response is one that succeeded.
func (c *HTTPClient) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	req = req.WithContext(ctx)
	known := secretsOf(req)
	resp, err := c.send(req)
	if err != nil {
		e := known.finish(explainIn(ctx, err))
		cancel()
		return nil, e
	}
	resp.Body = &body{ReadCloser: resp.Body, left: c.maxBody, cancel: cancel}
	if e := refusal(req, resp, known); e != nil {
		_ = resp.Body.Close()
		return nil, known.finish(e)
	}
	return resp, nil
}

// send sends a request, and once more on a new connection if the one that was
// kept for it is closed. Servers close them at any time, and llama.cpp's does
// so after each stream, although it promises the contrary. net/http sees to
// that only as long as nothing of the request was written.
func (c *HTTPClient) send(req *http.Request) (*http.Response, error) {
	if err := c.rewrite(req); err != nil {
		return nil, err
	}
	var first attempt
	resp, err := c.http.Do(req.WithContext(first.watch(req.Context())))
	if err == nil || req.GetBody == nil || !first.unread(err) {
		return resp, err
	}
	c.CloseIdleConnections() // the others are as old
	req.Body, _ = req.GetBody()
	return c.http.Do(req)
}

const maxComplaint = 64 << 10 // bytes of an error's body that are read

// refusal returns the error that a response is, or nil.
func refusal(req *http.Request, resp *http.Response, known *secrets) *Error {
	if resp.StatusCode/100 == 2 {
		return hiddenRefusal(req, resp, known)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxComplaint))
	if req.Context().Err() != nil {
		return explainIn(req.Context(), err)
	}
	return refused(resp, text, known)
}

// hiddenRefusal finds errors that are sent with status 200: go-openai would
// take them for an answer without choices. What is a JSON value is read whole,
// anything else is left to stream.
func hiddenRefusal(req *http.Request, resp *http.Response, known *secrets) *Error {
	answer := bufio.NewReader(resp.Body)
	if first := begin(answer); isEvents(resp) || first != '{' && first != '[' {
		resp.Body = newEvents(answer, resp.Body)
		return nil
	}
	var text json.RawMessage
	if err := json.NewDecoder(answer).Decode(&text); err != nil {
		return explainIn(req.Context(), broken(fmt.Errorf("reading the answer: %w", err)))
	}
	if isComplaint(text) {
		return refused(resp, text, known)
	}
	resp.Body = &replayed{Reader: bytes.NewReader(readable(text)), Closer: resp.Body}
	return nil
}

func isEvents(resp *http.Response) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
}

// begin leaves out what may come before an answer, a byte order mark and white
// space, and looks at the first character: not all servers send the right type.
func begin(answer *bufio.Reader) rune {
	for {
		first, _, err := answer.ReadRune()
		if err != nil {
			return 0
		}
		if first != '\uFEFF' && !unicode.IsSpace(first) {
			_ = answer.UnreadRune()
			return first
		}
	}
}

// readable returns an answer without what go-openai can't read, beside what the
// model says: for such a field it would refuse the whole.
func readable(text []byte) []byte {
	var fields map[string]json.RawMessage
	if fits(text) || json.Unmarshal(text, &fields) != nil || fields["choices"] == nil {
		return text
	}
	var u usage
	if json.Unmarshal(fields["usage"], &u) == nil {
		fields["usage"], _ = json.Marshal(u.openAI())
	}
	for name, value := range fields {
		if one, _ := json.Marshal(map[string]any{name: value}); name != "choices" && !fits(one) {
			delete(fields, name)
		}
	}
	text, _ = json.Marshal(fields)
	return text
}

func fits(text []byte) bool {
	return json.Unmarshal(text, new(openai.ChatCompletionResponse)) == nil
}

func isComplaint(text []byte) bool {
	var answer struct {
		Error  json.RawMessage
		Object string
	}
	_ = json.Unmarshal(text, &answer) // go-openai says what is wrong with it
	return answer.Object == "error" || !slices.Contains(noError, string(answer.Error))
}

// noError is what servers send as the error of an answer that has none.
var noError = []string{"", "null", "false", "0", `""`, "{}", "[]"}

type replayed struct {
	io.Reader
	io.Closer
}

// refused makes an Error of a response. Its cause is the error that go-openai
// would have made, for those who look for it.
func refused(resp *http.Response, text []byte, known *secrets) *Error {
	text = []byte(known.strike(string(text)))
	status := resp.StatusCode
	if status/100 == 2 {
		status = 0
	}
	e := failure(status, readComplaint(text), asGoOpenAI(resp, text, known))
	e.RetryAfter = retryAfter(resp.Header, time.Now())
	return e
}

func asGoOpenAI(resp *http.Response, text []byte, known *secrets) error {
	status := known.hide(resp.Status)
	var read openai.ErrorResponse
	if err := json.Unmarshal(text, &read); err != nil || read.Error == nil {
		return &openai.RequestError{HTTPStatus: status, HTTPStatusCode: resp.StatusCode, Err: err, Body: []byte(known.hide(string(text)))}
	}
	read.Error.HTTPStatus, read.Error.HTTPStatusCode = status, resp.StatusCode
	read.Error.Message = known.hide(read.Error.Message)
	return read.Error
}

// retryAfter reads how long a server asks to wait: in milliseconds, in seconds
// or until a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	for _, in := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		if n, err := strconv.ParseFloat(h.Get(in.name), 64); err == nil && n > 0 && n < 1e9 {
			return time.Duration(n * float64(in.unit))
		}
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// Zero is a Temperature or TopP of 0. Go-openai leaves out a plain 0, and
// servers then take their default, which is 1. An HTTPClient sends it as 0;
// other clients send a number that is as good as 0 to most servers.
const Zero float32 = math.SmallestNonzeroFloat32

type extraKey struct{}

// WithExtra returns a context whose requests have extra fields in their bodies,
// beside those of HTTPConfig.Extra, and before them.
func WithExtra(ctx context.Context, fields map[string]any) context.Context {
	return context.WithValue(ctx, extraKey{}, fields)
}

// rewrite puts into a request's body what go-openai can't.
func (c *HTTPClient) rewrite(req *http.Request) error {
	more, _ := req.Context().Value(extraKey{}).(map[string]any)
	if req.Body == nil || req.Method != http.MethodPost {
		return nil
	}
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return fmt.Errorf("llm: reading the request: %w", err)
	}
	if len(c.extra)+len(more) > 0 || needsRewriting(text) {
		if text, err = withFields(text, c.extra, more); err != nil {
			return err
		}
	}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	req.Body, _ = req.GetBody()
	req.ContentLength = int64(len(text))
	return nil
}

func needsRewriting(body []byte) bool {
	return bytes.Contains(body, []byte(`:1e-45`)) || bytes.Contains(body, []byte(`"max_completion_tokens":`))
}

// withFields returns a JSON object with zeros where Zero stands, its limit of
// tokens by the right name, and more fields.
func withFields(text []byte, extra ...map[string]any) ([]byte, error) {
	var kept map[string]json.RawMessage
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, fmt.Errorf("llm: the request's body is no JSON object: %w", err)
	}
	fields := make(map[string]any, len(kept))
	for name, value := range kept {
		fields[name] = value
		if string(value) == "1e-45" {
			fields[name] = 0
		}
	}
	renameLimit(fields, string(kept["model"]))
	for _, more := range extra {
		maps.Copy(fields, more)
	}
	return json.Marshal(fields)
}

// renameLimit gives the limit of tokens the name that servers of other models
// than OpenAI's know: they ignore the newer one, and answer without end.
func renameLimit(fields map[string]any, model string) {
	limit, ok := fields["max_completion_tokens"]
	if _, known := familyOf(strings.Trim(model, `"`)); ok && !known {
		fields["max_tokens"] = limit
		delete(fields, "max_completion_tokens")
	}
}
