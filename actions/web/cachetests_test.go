package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The cases of github.com/http-tests/cache-tests are played by a real HTTP
// server to a real fetcher behind a real cache, in virtual time. The cache sees
// each set of request headers as a scope of its own, which is how whoever
// sends different ones is to use it; unsafe methods are a tool that writes.

type cacheSuite struct {
	ID    string
	Tests []cacheTest
}

type cacheTest struct {
	ID        string
	Kind      string
	DependsOn []string `json:"depends_on"`
	CDNOnly   bool     `json:"cdn_only"`
	Requests  []cacheRequest
}

type cacheRequest struct {
	Method          string          `json:"request_method"`
	RequestHeaders  [][]any         `json:"request_headers"`
	RequestBody     string          `json:"request_body"`
	Query           string          `json:"query_arg"`
	File            string          `json:"filename"`
	Cache           string          `json:"cache"`
	Interim         [][]any         `json:"interim_responses"`
	ExpectInterim   [][]any         `json:"expected_interim_responses"`
	Status          []any           `json:"response_status"`
	Headers         [][]any         `json:"response_headers"`
	Body            json.RawMessage `json:"response_body"`
	Pause           float64         `json:"response_pause"`
	Disconnect      bool            `json:"disconnect"`
	OldDates        []string        `json:"rfc850date"`
	PauseAfter      bool            `json:"pause_after"`
	Setup           bool            `json:"setup"`
	SetupTests      []string        `json:"setup_tests"`
	ExpectType      string          `json:"expected_type"`
	ExpectStatus    json.RawMessage `json:"expected_status"`
	ExpectHeaders   []any           `json:"expected_response_headers"`
	ExpectNoHeaders []any           `json:"expected_response_headers_missing"`
	ExpectRequest   [][]any         `json:"expected_request_headers"`
	ExpectText      *string         `json:"expected_response_text"`
	MagicIMS        bool            `json:"magic_ims"`
}

// unplayable says why a test can't be played: it needs what no fetch of a page
// does or shows.
func (c *cacheTest) unplayable() string {
	for i := range c.Requests {
		r := &c.Requests[i]
		switch {
		case c.CDNOnly:
			return "for content delivery networks"
		case r.Method == http.MethodHead:
			return "HEAD"
		case r.Cache != "":
			return "fetch's cache modes"
		case r.MagicIMS:
			return "dates that a script rewrites"
		case len(r.ExpectInterim) > 0:
			return "interim answers"
		}
	}
	return ""
}

// A cacheOrigin plays the server's part of one test.
type cacheOrigin struct {
	now   *cacheRequest
	id    string
	began time.Time // when the first answer was sent
	seen  []*http.Request
	sent  map[string]string // bodies by number
}

func (o *cacheOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.seen = append(o.seen, r)
	if o.began.IsZero() {
		o.began = time.Now()
	}
	if o.now.Disconnect {
		panic(http.ErrAbortHandler)
	}
	for _, interim := range o.now.Interim {
		w.WriteHeader(int(interim[0].(float64)))
	}
	for _, h := range o.now.Headers {
		w.Header().Add(h[0].(string), o.value(h[0].(string), h[1], time.Now()))
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/html")
	}
	number, body, code := strconv.Itoa(len(o.seen)), o.id, http.StatusOK
	w.Header().Set("Server-Request-Count", number)
	if len(o.now.Body) > 0 {
		body = ""
		_ = json.Unmarshal(o.now.Body, &body) // null is nothing
	}
	if len(o.now.Status) > 0 {
		code = int(o.now.Status[0].(float64))
	}
	if code == http.StatusNoContent || code == http.StatusNotModified {
		body = ""
	}
	o.sent[number] = body
	<-time.After(time.Duration(o.now.Pause * float64(time.Second)))
	w.WriteHeader(code)
	_, _ = io.WriteString(w, body)
}

// value writes a header's value: numbers are seconds from now on in dates.
func (o *cacheOrigin) value(name string, v any, now time.Time) string {
	seconds, ok := v.(float64)
	if !ok {
		return v.(string)
	}
	if !slices.Contains([]string{"date", "expires", "last-modified", "if-modified-since"}, strings.ToLower(name)) {
		return strconv.Itoa(int(seconds))
	}
	format := http.TimeFormat
	for _, old := range o.now.OldDates {
		if strings.EqualFold(old, name) {
			format = "Monday, 02-Jan-06 15:04:05 GMT"
		}
	}
	return now.UTC().Add(time.Duration(seconds) * time.Second).Format(format)
}

// pipes is a network without ports, for bubbles.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { close(p); return nil } // the server calls it once
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }
func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	p <- there
	return here, nil
}

// withHeaders adds a scope's headers to what is asked in it.
type withHeaders struct{ *http.Transport }

func (t withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	var list [][]string
	_ = json.Unmarshal([]byte(actions.CallFrom(r.Context()).Scope), &list) // none in others
	for _, h := range list {
		r.Header.Add(h[0], h[1])
	}
	return t.Transport.RoundTrip(r)
}

// An answer is what the target observed.
type cacheAnswer struct {
	page    *web.Page
	code    int
	err     error
	request *http.Request // as the origin saw it; nil if it did not
}

type cachePlayer struct {
	o     *cacheOrigin
	cache *speccache.Cache[*web.Page]
}

// play returns "pass", "setup" or "fail", and why.
func (c *cacheTest) play(t *testing.T) (result, why string) {
	synctest.Test(t, func(t *testing.T) {
		o := &cacheOrigin{id: c.ID, sent: map[string]string{}}
		network := make(pipes)
		server := &http.Server{Handler: o}
		done := make(chan struct{})
		go func() { defer close(done); _ = server.Serve(network) }()
		pool := &http.Transport{DialContext: network.dial}
		f := web.New(web.Config{Transport: withHeaders{pool}})
		env := f.Environment()
		env.Rules["send"] = actions.Rule{Effect: actions.Write}
		env.Do = func(ctx context.Context, a actions.Action) (*web.Page, error) {
			if a.Name() == "send" {
				return nil, send(ctx, pool, a)
			}
			return f.Do(ctx, a)
		}
		cache, err := speccache.New(env, speccache.Config[*web.Page]{})
		require.NoError(t, err)
		p := cachePlayer{o, cache}
		result, why = p.requests(c)
		require.NoError(t, cache.Close())
		pool.CloseIdleConnections()
		_ = server.Close()
		<-done
	})
	return result, why
}

func send(ctx context.Context, pool *http.Transport, a actions.Action) error {
	var args struct{ Method, URL, Body string }
	if err := a.Decode(&args); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, args.Method, args.URL, strings.NewReader(args.Body))
	if err != nil {
		return err
	}
	resp, err := pool.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func (p *cachePlayer) requests(c *cacheTest) (result, why string) {
	for i := range c.Requests {
		r := &c.Requests[i]
		p.o.now = r
		answer := p.ask(c, r)
		for _, check := range cacheChecks {
			if problem := check.run(p.o, r, &answer); problem != "" {
				why := fmt.Sprintf("request %d: %s: %s", i+1, check.name, problem)
				if r.Setup || slices.Contains(r.SetupTests, check.name) {
					return "setup", why
				}
				return "fail", why
			}
		}
		if r.PauseAfter {
			<-time.After(3 * time.Second)
		}
	}
	return "pass", ""
}

func (p *cachePlayer) ask(c *cacheTest, r *cacheRequest) cacheAnswer {
	url := "http://cache.example/" + c.ID
	if r.File != "" {
		url += "/" + r.File
	}
	if r.Query != "" {
		url += "?" + r.Query
	}
	headers := [][]string{}
	for _, h := range r.RequestHeaders {
		headers = append(headers, []string{h[0].(string), p.o.value(h[0].(string), h[1], time.Now())})
	}
	scope, _ := json.Marshal(headers)
	s := p.cache.Open(speccache.SessionConfig[*web.Page]{Scope: string(scope)})
	defer s.Close()
	a := actions.Must("visit", map[string]string{"url": url})
	if r.Method != "" && r.Method != http.MethodGet {
		a = actions.Must("send", map[string]string{"method": r.Method, "url": url, "body": r.RequestBody})
	}
	before := len(p.o.seen)
	page, err := s.Do(context.Background(), a)
	answer := cacheAnswer{page: page, code: page.Status(), err: err}
	if e, ok := errors.AsType[*web.StatusError](err); ok {
		answer.code = e.Code
	}
	if len(p.o.seen) > before {
		answer.request = p.o.seen[before]
	}
	return answer
}

var cacheChecks = []struct {
	name string
	run  func(o *cacheOrigin, r *cacheRequest, a *cacheAnswer) string
}{
	{"expected_type", func(o *cacheOrigin, r *cacheRequest, a *cacheAnswer) string {
		switch {
		case r.ExpectType == "cached" && (a.request != nil || a.err != nil):
			return "it was not cached"
		case r.ExpectType == "not_cached" && a.request == nil:
			return "it was cached"
		case r.ExpectType == "etag_validated" && (a.request == nil || a.request.Header.Get("If-None-Match") == ""),
			r.ExpectType == "lm_validated" && (a.request == nil || a.request.Header.Get("If-Modified-Since") == ""):
			return "it was not validated"
		}
		return ""
	}},
	{"expected_request_headers", func(o *cacheOrigin, r *cacheRequest, a *cacheAnswer) string {
		for _, h := range r.ExpectRequest {
			if a.request == nil || a.request.Header.Get(h[0].(string)) != h[1].(string) {
				return "no " + h[0].(string)
			}
		}
		return ""
	}},
	{"expected_status", func(o *cacheOrigin, r *cacheRequest, a *cacheAnswer) string {
		if len(r.ExpectStatus) == 0 {
			return ""
		}
		var want int
		if string(r.ExpectStatus) == "null" {
			if a.err == nil {
				return "an answer"
			}
			return ""
		}
		_ = json.Unmarshal(r.ExpectStatus, &want)
		if a.code != want {
			return strconv.Itoa(a.code)
		}
		return ""
	}},
	{"expected_response_headers", func(o *cacheOrigin, r *cacheRequest, a *cacheAnswer) string {
		for _, expected := range r.ExpectHeaders {
			h, valued := expected.([]any)
			if !valued {
				if a.page.Header().Get(expected.(string)) == "" {
					return "no " + expected.(string)
				}
				continue
			}
			name := h[0].(string)
			got := a.page.Header().Get(name)
			if len(h) == 3 {
				n, err := strconv.Atoi(got)
				if err != nil || float64(n) <= h[2].(float64) {
					return name + " is " + got
				}
				continue
			}
			if want := o.value(name, h[1], o.began); got != want {
				return fmt.Sprintf("%s is %q, not %q", name, got, want)
			}
		}
		return ""
	}},
	{"expected_response_headers_missing", func(o *cacheOrigin, r *cacheRequest, a *cacheAnswer) string {
		for _, name := range r.ExpectNoHeaders {
			if text, ok := name.(string); ok && a.page.Header().Get(text) != "" {
				return text
			}
		}
		return ""
	}},
	{"expected_response_text", func(o *cacheOrigin, r *cacheRequest, a *cacheAnswer) string {
		want := o.sent[a.page.Header().Get("Server-Request-Count")]
		if r.ExpectText != nil {
			want = *r.ExpectText
		}
		if a.page != nil && a.page.HTML() != want {
			return fmt.Sprintf("%q, not %q", a.page.HTML(), want)
		}
		return ""
	}},
}

// cacheExempt are the required tests that may fail, and why that is no page
// which the host did not want to be served.
var cacheExempt = map[string]string{
	"freshness-max-age-s-maxage-shared-longer":          "s-maxage is for shared caches",
	"freshness-max-age-s-maxage-shared-longer-reversed": "s-maxage is for shared caches",
	"freshness-max-age-s-maxage-shared-longer-multiple": "s-maxage is for shared caches",
	"cc-resp-private-shared":                            "private is for shared caches",
	"cc-resp-must-revalidate-stale":                     "what is stale is asked for anew, without a validator",
	"conditional-304-etag":                              "who sends a validator asks in a scope of its own",
	"other-age-gen":                                     "a page's header is as it came; Result.Age says its age",
	"other-age-update-expires":                          "a page's header is as it came; Result.Age says its age",
	"other-age-update-max-age":                          "a page's header is as it came; Result.Age says its age",
}

func TestTheCasesOfTheHTTPCacheTestsHold(t *testing.T) {
	text, err := os.ReadFile(shared(t, "suites", "http-cache-tests", "cache-tests.json"))
	require.NoError(t, err)
	var suites []cacheSuite
	require.NoError(t, json.NewDecoder(bytes.NewReader(text)).Decode(&suites))
	type tally struct{ all, played, passed, setup int }
	sum, skipped := map[string]*tally{"required": {}, "optimal": {}, "check": {}}, map[string]int{}
	for _, suite := range suites {
		here := tally{}
		for i := range suite.Tests {
			c := &suite.Tests[i]
			if c.Kind == "" {
				c.Kind = "required"
			}
			n := sum[c.Kind]
			n.all++
			if why := c.unplayable(); why != "" {
				skipped[why]++
				continue
			}
			result, why := c.play(t)
			n.played++
			switch result {
			case "pass":
				n.passed++
			case "setup":
				n.setup++
			}
			if c.Kind != "required" {
				continue
			}
			here.played++
			if result == "pass" {
				here.passed++
				continue
			}
			t.Logf("%s: %s: %s: %s", suite.ID, c.ID, result, why)
			assert.False(t, result == "fail" && cacheExempt[c.ID] == "", "%s: %s", c.ID, why)
		}
		t.Logf("%-18s required: %d of %d", suite.ID, here.passed, here.played)
	}
	for kind, n := range sum {
		t.Logf("%-8s %3d tests, %3d played, %3d passed, %d could not be set up", kind, n.all, n.played, n.passed, n.setup)
	}
	t.Logf("not played: %v", skipped)
	assert.GreaterOrEqual(t, sum["required"].passed, 126)
}
