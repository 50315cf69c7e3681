package suites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/speccache"
)

// A cachePlayer plays one case: a real HTTP server in memory answers a real
// fetcher behind a real cache. The cache sees each set of request headers as a
// scope of its own, which is how whoever sends different ones is to use it;
// unsafe methods are a tool that writes.
type cachePlayer struct {
	id    string
	cache *speccache.Cache[*web.Page]
	pool  *http.Transport
	fetch *web.Fetcher

	mu    sync.Mutex    // guards what follows
	now   *cacheRequest // that is played
	began time.Time     // when the first answer was sent
	seen  []*http.Request
	sent  map[string]string // bodies by number
}

// An outcome is how a case went: it passed if there is no problem.
type outcome struct {
	problem string
	number  int // of the request, from 1
	at      *cacheRequest
	check   string
	setup   bool // what failed was to prepare the case
	asked   bool // the host was asked
}

func (o outcome) String() string {
	return fmt.Sprintf("request %d: %s: %s", o.number, o.check, o.problem)
}

func (c *cacheCase) play() (o outcome, err error) {
	defer func() {
		if problem := recover(); problem != nil { // or nobody would learn which case it was
			o = outcome{problem: fmt.Sprint(problem), at: &cacheRequest{}, check: "a panic"}
		}
	}()
	p := &cachePlayer{id: c.ID, sent: map[string]string{}}
	n := newNetwork(p)
	defer n.close()
	p.pool = n.transport()
	defer p.pool.CloseIdleConnections()
	p.fetch = web.New(web.Config{Transport: scoped{p.pool}})
	env := environment(p.fetch)
	env.Rules["send"] = actions.Rule{Effect: actions.Write}
	env.Do = p.do
	p.cache, err = speccache.New(env, speccache.Config[*web.Page]{MaxBytes: 1 << 20})
	if err != nil {
		return outcome{}, err
	}
	defer p.cache.Close()
	for i, r := range c.Requests {
		a := p.ask(r)
		for _, check := range cacheChecks {
			problem := check.run(p, r, &a)
			if problem == "" {
				continue
			}
			return outcome{
				problem, i + 1, r, check.name,
				r.Setup || slices.Contains(r.SetupTests, check.name), a.request != nil,
			}, nil
		}
		if r.PauseAfter {
			<-time.After(3 * time.Second)
		}
	}
	return outcome{}, nil
}

func (p *cachePlayer) do(ctx context.Context, a actions.Action) (*web.Page, error) {
	if a.Name() == "send" {
		return nil, p.send(ctx, a)
	}
	return p.fetch.Do(ctx, a)
}

// send is the tool that writes.
func (p *cachePlayer) send(ctx context.Context, a actions.Action) error {
	var args struct{ Method, URL, Body string }
	if err := a.Decode(&args); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, args.Method, args.URL, strings.NewReader(args.Body))
	if err != nil {
		return err
	}
	resp, err := p.pool.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// scoped adds a scope's headers to what is asked in it.
type scoped struct{ *http.Transport }

func (t scoped) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	var lines [][]string
	_ = json.Unmarshal([]byte(actions.CallFrom(r.Context()).Scope), &lines) // none in others
	for _, h := range lines {
		r.Header.Add(h[0], h[1])
	}
	return t.Transport.RoundTrip(r)
}

// An answer is what the target observed.
type cacheAnswer struct {
	page    *web.Page
	age     time.Duration // since the page was asked for, of what was kept
	code    int
	err     error
	request *http.Request // as the server saw it; nil if it did not
}

func (p *cachePlayer) ask(r *cacheRequest) cacheAnswer {
	p.mu.Lock()
	p.now = r
	before := len(p.seen)
	p.mu.Unlock()
	lines := [][]string{}
	for _, h := range r.RequestHeaders {
		lines = append(lines, []string{h[0].(string), r.value(h, time.Now())})
	}
	scope, _ := json.Marshal(lines)
	s := p.cache.Open(speccache.SessionConfig[*web.Page]{Scope: string(scope)})
	defer s.Close()
	result, err := s.Run(context.Background(), p.action(r))
	a := cacheAnswer{page: result.Observation, code: result.Observation.Status(), err: err}
	if e, ok := errors.AsType[*web.StatusError](err); ok {
		a.code = e.Code
	}
	if result.Outcome == speccache.Hit {
		a.age = result.Age
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.seen) > before {
		a.request = p.seen[before]
	}
	return a
}

func (p *cachePlayer) action(r *cacheRequest) actions.Action {
	url := "http://cache.example/" + p.id
	if r.File != "" {
		url += "/" + r.File
	}
	if r.Query != "" {
		url += "?" + r.Query
	}
	if r.reads() {
		return actions.Must("visit", map[string]string{"url": url})
	}
	return actions.Must("send", map[string]string{"method": r.Method, "url": url, "body": r.RequestBody})
}

// ServeHTTP plays the server's part.
func (p *cachePlayer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	now := p.now
	p.seen = append(p.seen, r)
	if p.began.IsZero() {
		p.began = time.Now()
	}
	number, body, code := strconv.Itoa(len(p.seen)), p.id, http.StatusOK
	if len(now.Body) > 0 {
		body = ""
		_ = json.Unmarshal(now.Body, &body) // null is nothing
	}
	if len(now.Status) > 0 {
		code = int(now.Status[0].(float64))
	}
	if code == http.StatusNoContent || code == http.StatusNotModified {
		body = ""
	}
	p.sent[number] = body
	p.mu.Unlock()
	if now.Disconnect {
		panic(http.ErrAbortHandler)
	}
	for _, interim := range now.Interim {
		w.WriteHeader(int(interim[0].(float64)))
	}
	for _, h := range now.Headers {
		w.Header().Add(h[0].(string), now.value(h, time.Now()))
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/html")
	}
	w.Header().Set("Server-Request-Count", number)
	<-time.After(time.Duration(now.Pause * float64(time.Second)))
	w.WriteHeader(code)
	_, _ = io.WriteString(w, body)
}
