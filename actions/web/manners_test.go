package web_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A polite site has a robots.txt, and writes down what it was asked for.
type polite struct {
	robots http.HandlerFunc
	mu     sync.Mutex
	paths  []string
}

func robotsText(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, text) }
}

func (p *polite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.paths = append(p.paths, r.URL.Path)
	p.mu.Unlock()
	if r.URL.Path == "/robots.txt" {
		p.robots(w, r)
		return
	}
	writeHTML(w, `<title>`+r.URL.Path+`</title><a href=/open>Open</a><a href=/secret>Secret</a>`)
}

func (p *polite) asked(path string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, asked := range p.paths {
		if asked == path {
			n++
		}
	}
	return n
}

func ruleOf(err error) string {
	e, _ := errors.AsType[*web.PolicyError](err)
	if e == nil {
		return ""
	}
	return e.Rule
}

func TestARunAheadAsksForNothingThatRobotsForbidAndTheTargetIsNotSubject(t *testing.T) {
	site := &polite{robots: robotsText("User-agent: speccache\nDisallow: /secret\n")}
	f, url := serveWith(t, web.Config{}, site.ServeHTTP)
	home, err := f.Do(t.Context(), visit(t, url+"/"))
	require.NoError(t, err)
	assert.Zero(t, site.asked("/robots.txt"), "the target's own visit")

	ahead, policy := aheadOf(t.Context()), f.Environment().Policy
	require.NoError(t, policy(stateOf(home), visit(t, url+"/secret")), "nobody knows yet")
	_, err = f.Do(ahead, visit(t, url+"/secret"))
	assert.Equal(t, "robots", ruleOf(err))
	assert.ErrorContains(t, err, "robots.txt")
	assert.Equal(t, "robots", ruleOf(policy(stateOf(home), visit(t, url+"/secret"))), "now it is known")
	require.NoError(t, policy(stateOf(home), visit(t, url+"/open")))
	_, err = f.Do(ahead, visit(t, url+"/open"))
	require.NoError(t, err)
	assert.Zero(t, site.asked("/secret"))
	assert.Equal(t, 1, site.asked("/robots.txt"), "it is remembered")

	_, err = f.Do(t.Context(), visit(t, url+"/secret"))
	require.NoError(t, err)
	assert.Equal(t, 1, site.asked("/secret"))

	rude := web.New(web.Config{IgnoreRobots: true, Guard: web.Guard{Allow: web.Loopback()}})
	defer rude.Close()
	_, err = rude.Do(ahead, visit(t, url+"/secret"))
	require.NoError(t, err)

	other := web.New(web.Config{UserAgent: "other/1", Guard: web.Guard{Allow: web.Loopback()}})
	defer other.Close()
	_, err = other.Do(ahead, visit(t, url+"/secret"))
	require.NoError(t, err, "the rules are for another product")
}

func TestAHundredRunsAheadFetchOneRobotsFile(t *testing.T) {
	site := &polite{robots: robotsText("")}
	f, url := serveWith(t, web.Config{}, site.ServeHTTP)
	var runs sync.WaitGroup
	for range 100 {
		runs.Go(func() {
			_, err := f.Do(aheadOf(t.Context()), visit(t, url+"/open"))
			assert.NoError(t, err)
		})
	}
	runs.Wait()
	assert.Equal(t, 1, site.asked("/robots.txt"))
}

func TestARobotsFileThatCanNotBeReadForbidsAndOneThatIsNotThereAllows(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		rule   string
	}{
		"404": {http.NotFound, ""},
		"403": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) }, ""},
		"500": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "robots"},
		"cut": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "User-agent: *")
		}, "robots"},
		"a part": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusPartialContent)
			_, _ = io.WriteString(w, "User-agent: nobody")
		}, "robots"},
		"unreadable": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "\x0b\x02\x80\x03")
		}, "robots"},
		"in UTF-16":  {robotsText("\xff\xfeU\x00s\x00e\x00r\x00"), "robots"},
		"closed":     {func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, "robots"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, ""},
		"a loop":     {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/robots.txt", http.StatusFound) }, ""},
		"another host": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://other.invalid/", http.StatusFound)
		}, "robots"},
		"no address":    {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "ftp://a/", http.StatusFound) }, "robots"},
		"304":           {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotModified) }, ""},
		"a long line":   {robotsText("User-agent: *\nAllow: /\n" + strings.Repeat("#", 500<<10) + "\nDisallow: /open\n"), ""},
		"a rule is cut": {robotsText("User-agent: *\n" + strings.Repeat("# 2345678\n", 51_198) + "Disallow: /open/not/this"), ""},
	} {
		site := &polite{robots: c.answer}
		f, url := serveWith(t, web.Config{}, site.ServeHTTP)
		_, err := f.Do(aheadOf(t.Context()), visit(t, url+"/open"))
		assert.Equal(t, c.rule, ruleOf(err), "%s: %v", name, err)
		if c.rule == "" {
			assert.NoError(t, err, name)
		} else {
			assert.Zero(t, site.asked("/open"), name)
			_, err = f.Do(t.Context(), visit(t, url+"/open"))
			assert.NoError(t, err, name)
		}
	}
}

// What a robots.txt leads to is asked ahead, and by nobody who has seen a link to it.
func TestARobotsFileLeadsNowhereThatARunAheadMayNotGo(t *testing.T) {
	other := &polite{robots: http.NotFound}
	_, elsewhere := serveWith(t, web.Config{}, other.ServeHTTP) // another port of the same host
	for _, to := range []string{elsewhere + "/robots.txt", "/logout", "/x?token=1", "/billing/robots.txt", "http://user:secret@127.0.0.1/"} {
		site := &polite{robots: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }}
		f, url := serveWith(t, web.Config{AheadRefuse: func(url string) string {
			return map[bool]string{true: "billing"}[strings.Contains(url, "/billing/")]
		}}, site.ServeHTTP)
		_, err := f.Do(aheadOf(t.Context()), visit(t, url+"/open"))
		assert.Equal(t, "robots", ruleOf(err), to)
		site.mu.Lock()
		assert.Equal(t, []string{"/robots.txt"}, site.paths, to)
		site.mu.Unlock()
	}
	assert.Empty(t, other.paths)
}

// scripted is a transport that answers by path.
type scripted func(path string) *http.Response

func (s scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := s(r.URL.Path)
	resp.Request = r
	return resp, nil
}

func reply(code int, body string, lines ...string) *http.Response {
	h := headerOf(append(lines, "Content-Type: text/html")...)
	return &http.Response{StatusCode: code, Header: h, ContentLength: -1, Body: io.NopCloser(strings.NewReader(body))}
}

func TestARobotsFileIsReadAgainAfterADayAndAFailureAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		code, reads := http.StatusInternalServerError, 0
		f := web.New(web.Config{Transport: scripted(func(path string) *http.Response {
			if path == "/robots.txt" {
				reads++
				return reply(code, "User-agent: *\nDisallow: /secret")
			}
			return reply(200, "")
		})})
		ask := func(path string) string {
			_, err := f.Do(aheadOf(t.Context()), visit(t, "https://a.example"+path))
			return ruleOf(err)
		}
		assert.Equal(t, "robots", ask("/open"))
		time.Sleep(59 * time.Second)
		assert.Equal(t, "robots", ask("/open"))
		assert.Equal(t, 1, reads)
		code = http.StatusOK
		time.Sleep(time.Second)
		assert.Empty(t, ask("/open"))
		assert.Equal(t, 2, reads)
		time.Sleep(24*time.Hour - time.Second)
		assert.Equal(t, "robots", ask("/secret"))
		assert.Equal(t, 2, reads)
		time.Sleep(time.Second)
		assert.Equal(t, "robots", ask("/secret"))
		assert.Equal(t, 3, reads)
	})
}

func TestOnlySoManyRobotsFilesAreRemembered(t *testing.T) {
	var reads atomic.Int64
	f := web.New(web.Config{Transport: scripted(func(path string) *http.Response {
		if path == "/robots.txt" {
			reads.Add(1)
		}
		return reply(200, "")
	})})
	ask := func(i int) {
		host := "https://a" + strings.Repeat("b", i%50) + strings.Repeat("c", i/50) + ".example/"
		_, err := f.Do(aheadOf(t.Context()), visit(t, host))
		require.NoError(t, err)
	}
	for i := range 1025 {
		ask(i)
	}
	ask(1024)
	assert.EqualValues(t, 1025, reads.Load())
	ask(0)
	assert.EqualValues(t, 1026, reads.Load(), "the oldest was forgotten")
}

func TestAHungRobotsFileDelaysNoTarget(t *testing.T) {
	reading, release := make(chan struct{}, 10), make(chan struct{})
	site := &polite{robots: func(w http.ResponseWriter, r *http.Request) {
		reading <- struct{}{}
		<-release
	}}
	f, url := serveWith(t, web.Config{}, site.ServeHTTP)
	defer close(release)
	cache, err := speccache.New(f.Environment(), speccache.Config[*web.Page]{})
	require.NoError(t, err)
	defer cache.Close()
	s := cache.Open(speccache.SessionConfig[*web.Page]{})
	_, err = s.Do(t.Context(), visit(t, url+"/"))
	require.NoError(t, err)
	s.Speculate(t.Context(), visit(t, url+"/open"))
	<-reading // the run ahead waits for the file
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	r, err := s.Run(ctx, visit(t, url+"/open"))
	require.NoError(t, err)
	assert.Equal(t, speccache.Join, r.Outcome, "the run goes on without the file")
	assert.Equal(t, 1, site.asked("/open"))
}

func TestABusyHostIsLeftAloneByRunsAheadUntilItSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		code  int
		line  string
		pause time.Duration
	}{
		"503":            {503, "X: y", 30 * time.Second},
		"429":            {429, "X: y", 30 * time.Second},
		"nonsense":       {429, "Retry-After: soon", 30 * time.Second},
		"seconds":        {429, "Retry-After: 90", 90 * time.Second},
		"a date":         {503, "Retry-After: " + at(70), 70 * time.Second},
		"at once":        {503, "Retry-After: 0", time.Second},
		"a date gone by": {503, "Retry-After: " + at(-70), time.Second},
		"next week":      {429, "Retry-After: 604800", 10 * time.Minute},
	} {
		for _, ahead := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				busy, asked := true, 0
				f := web.New(web.Config{IgnoreRobots: true, Transport: scripted(func(path string) *http.Response {
					asked++
					if busy {
						return reply(c.code, "", c.line)
					}
					return reply(200, "<a href=/b>b</a>")
				})})
				ctx := t.Context()
				if ahead {
					ctx = aheadOf(ctx)
				}
				a, b := visit(t, "https://a.example/"), visit(t, "https://a.example/b")
				_, err := f.Do(ctx, a)
				require.Error(t, err)
				busy = false
				page, err := f.Do(t.Context(), a)
				require.NoError(t, err, "the target asks when it likes")
				before := asked
				time.Sleep(c.pause - time.Millisecond)
				_, err = f.Do(aheadOf(t.Context()), b)
				assert.Equal(t, "backoff", ruleOf(err), name)
				assert.Equal(t, "backoff", ruleOf(f.Environment().Policy(stateOf(page), b)), name)
				assert.Equal(t, before, asked)
				_, err = f.Do(aheadOf(t.Context()), visit(t, "https://b.example/"))
				assert.NoError(t, err, "another host")
				time.Sleep(time.Millisecond)
				_, err = f.Do(aheadOf(t.Context()), b)
				assert.NoError(t, err, name)
				assert.NoError(t, f.Environment().Policy(stateOf(page), b), name)
			})
		}
	}
}

func TestAServerThatAnswers429IsAskedByTheTargetAlone(t *testing.T) {
	var busy atomic.Bool
	var asked atomic.Int64
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if busy.Load() {
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		writeHTML(w, `<a href=/a>A</a><a href=/b>B</a>`)
	})
	cache, err := speccache.New(f.Environment(), speccache.Config[*web.Page]{})
	require.NoError(t, err)
	s := cache.Open(speccache.SessionConfig[*web.Page]{})
	_, err = s.Do(t.Context(), visit(t, url+"/"))
	require.NoError(t, err)
	busy.Store(true)
	_, err = s.Do(t.Context(), visit(t, url+"/a"))
	require.Error(t, err)
	s.Speculate(t.Context(), visit(t, url+"/b"))
	assert.Eventually(t, func() bool { return s.Stats().Refusals["backoff"] == 1 }, 10*time.Second, time.Millisecond)
	busy.Store(false)
	_, err = s.Do(t.Context(), visit(t, url+"/b"))
	require.NoError(t, err)
	require.NoError(t, cache.Close())
	assert.EqualValues(t, 3, asked.Load())
}

func TestTheApplicationListsHostsAndRefusesURLs(t *testing.T) {
	page := parse(t, home, `<a href="https://docs.example/a">1</a><a href="http://docs.example/b">2</a><a href="https://docs.example:8443/">3</a>
		<a href="https://docs.example:9443/">4</a><a href="https://sub.docs.example/">5</a><a href=/private/x>6</a>
		<a href="https://docs.example/logout">7</a>`)
	var mu sync.Mutex
	var seen []string
	f := web.New(web.Config{
		AheadHosts: []string{"docs.example", "docs.example:8443"},
		AheadRefuse: func(url string) string {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, url)
			if strings.Contains(url, "/private/") {
				return "private"
			}
			return ""
		},
	})
	for url, want := range map[string]string{
		"https://docs.example/a":         "",
		"http://docs.example/b":          "downgrade",
		"https://docs.example:8443/":     "",
		"https://docs.example:9443/":     "host",
		"https://sub.docs.example/":      "host",
		"https://site.example/private/x": "private",
		"https://docs.example/logout":    "action-like",
	} {
		assert.Equal(t, want, ruleOf(f.Environment().Policy(stateOf(page), visit(t, url))), url)
	}
	slices.Sort(seen)
	assert.Equal(t, []string{"https://docs.example/a", "https://docs.example:8443/", "https://site.example/private/x"}, seen,
		"what the rules forbid is not asked about")
}

func TestARedirectOfARunAheadIsHeldToTheApplicationsLists(t *testing.T) {
	f := web.New(web.Config{
		AheadHosts:  []string{"b.example"},
		AheadRefuse: func(url string) string { return map[bool]string{true: "private"}[strings.Contains(url, "/private")] },
		Transport: scripted(func(path string) *http.Response {
			if to, ok := map[string]string{"/b": "https://b.example/", "/c": "https://c.example/", "/p": "/private"}[path]; ok {
				return reply(302, "", "Location: "+to)
			}
			return reply(200, "")
		}),
	})
	for path, want := range map[string]string{"/b": "", "/c": "host", "/p": "private"} {
		_, err := f.Do(aheadOf(t.Context()), visit(t, "https://a.example"+path))
		assert.Equal(t, want, ruleOf(err), path)
	}
	_, err := f.Do(t.Context(), visit(t, "https://a.example/p"))
	assert.NoError(t, err, "the target goes where it likes")
}
