package web_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	neturl "net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func newJar(t testing.TB) http.CookieJar {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return jar
}

// answers is a transport that answers every request with these lines.
func answers(name string, lines ...string) roundTrip {
	return func(req *http.Request) (*http.Response, error) {
		header := http.Header{"Content-Type": {"text/html"}, name: lines}
		return &http.Response{
			StatusCode: 200, Header: header, ContentLength: -1, Request: req,
			Body: io.NopCloser(strings.NewReader("<p>hi</p>")),
		}, nil
	}
}

const cookieHome = "https://www.site.example/shop/list"

func TestAVisitSaysThatItChangedTheCookiesExactlyIfItDid(t *testing.T) {
	soon, gone := "; Expires=Fri, 01 Jan 2100 00:00:00 GMT", "; Expires=Sat, 01 Jan 2000 00:00:00 GMT"
	for name, c := range map[string]struct {
		before, now string
		changed     bool
		refused     bool // ahead, where one can't try
	}{
		"the first":             {"", "a=1", true, true},
		"the same again":        {"a=1", "a=1", false, false},
		"the same for longer":   {"a=1; Max-Age=60", "a=1; Max-Age=600", false, false},
		"the same until a date": {"a=1", "a=1" + soon, false, false},
		"another value":         {"a=1", "a=2", true, true},
		"another name":          {"a=1", "b=1", true, true},
		"elsewhere on the site": {"a=1; Path=/", "a=1; Path=/account", true, true},
		"for the whole domain":  {"a=1", "a=1; Domain=site.example", true, true},
		"for hosts below":       {"a=1", "a=1; Domain=www.site.example", true, true},
		"in clear text, too":    {"a=1; Secure", "a=1", true, true},
		"in quotes now":         {"a=1", `a="1"`, true, true},
		"deleted":               {"a=1", "a=; Max-Age=0", true, true},
		"deleted by its date":   {"a=1", "a=1" + gone, true, true},
		"deleted, but not here": {"a=1", "a=; Max-Age=0; Path=/account", false, false},
		"refused by the jar":    {"a=1", "b=1; Domain=other.example", false, true},
		"too large":             {"a=1", "b=" + strings.Repeat("x", 4096), false, false},
		"nothing":               {"a=1", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			jar, line := newJar(t), c.before
			f := web.New(web.Config{IgnoreRobots: true, Identity: func(scope string) web.Identity {
				return web.Identity{Jar: jar, Lend: true, Transport: answers("Set-Cookie", line)}
			}})
			changes := 0
			call := actions.Call{Scope: "alice"}
			ctx := actions.WithRun(t.Context(), call, func(actions.Call) { changes++ })
			_, err := f.Do(ctx, visit(t, cookieHome))
			require.NoError(t, err)
			assert.Equal(t, c.before != "", changes == 1)

			changes, line = 0, c.now
			call.Ahead = true
			ahead := actions.WithRun(t.Context(), call, func(actions.Call) { changes++ })
			_, err = f.Do(ahead, visit(t, cookieHome))
			assert.Equal(t, c.refused, ruleOf(err) == "cookie", "%v", err)
			assert.Zero(t, changes, "a run ahead changes nothing")
			_, err = f.Do(ctx, visit(t, cookieHome))
			require.NoError(t, err)
			assert.Equal(t, c.changed, changes == 1)
		})
	}
}

// A jar stores cookies that name no path by the letters of the path that they come
// from, and a change must be looked for there.
func TestALoginIsNoticedAtWhateverPathItHappens(t *testing.T) {
	for _, path := range []string{
		"/", "/a", "/a/", "/a/b", "/a//b", "//", "//a/b", "/a/..%2fb", "/a/.%2f/b", "/%2e%2fb", "/a/b%2f", "/a%3fb/c", "/a;b=/c", "/%2F%2Fa/b",
	} {
		for _, line := range []string{"a=1", "a=1; Path=", "a=1; Path=x", "a=1; Path=//", "a=1; Path=/a/../b", "a=1; Path=/%61"} {
			jar := newJar(t)
			f := web.New(web.Config{IgnoreRobots: true, Identity: func(scope string) web.Identity {
				return web.Identity{Jar: jar, Transport: answers("Set-Cookie", line)}
			}})
			a, err := web.Visit("https://site.example" + path)
			if err != nil {
				continue
			}
			changes := 0
			_, err = f.Do(actions.WithRun(t.Context(), actions.Call{Scope: "alice"}, func(actions.Call) { changes++ }), a)
			require.NoError(t, err)
			assert.Equal(t, 1, changes, "%s at %s", line, path)
		}
	}
}

// A jar that panics may have stored something before.
func TestAJarThatPanicsLeavesNothingServedFromBefore(t *testing.T) {
	f := web.New(web.Config{IgnoreRobots: true, Identity: func(scope string) web.Identity {
		return web.Identity{Jar: oddJar{func() { panic("full") }}, Transport: answers("Set-Cookie", "a=1")}
	}})
	changes := 0
	ctx := actions.WithRun(t.Context(), actions.Call{Scope: "alice"}, func(actions.Call) { changes++ })
	for i := range 2 { // and nobody waits for the first for ever
		assert.Panics(t, func() { _, _ = f.Do(ctx, visit(t, cookieHome)) })
		assert.Equal(t, i+1, changes)
	}
}

func TestAVisitThatWaitsForAJarEndsWithItsContext(t *testing.T) {
	busy, let := make(chan struct{}, 1), make(chan struct{})
	f := web.New(web.Config{IgnoreRobots: true, Identity: func(scope string) web.Identity {
		return web.Identity{Jar: oddJar{func() { busy <- struct{}{}; <-let }}, Transport: answers("Set-Cookie", "a=1")}
	}})
	var first sync.WaitGroup
	first.Go(func() { _, _ = f.Do(actions.WithCall(t.Context(), actions.Call{Scope: "alice"}), visit(t, cookieHome)) })
	<-busy
	for _, ahead := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := f.Do(actions.WithCall(ctx, actions.Call{Scope: "alice", Ahead: ahead}), visit(t, cookieHome))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
	}
	close(let)
	first.Wait()
}

// oddJar does something when cookies are stored, and has none.
type oddJar struct{ store func() }

func (j oddJar) SetCookies(*neturl.URL, []*http.Cookie) { j.store() }
func (j oddJar) Cookies(*neturl.URL) []*http.Cookie     { return nil }

func TestAnAnswerStoresNoMoreCookiesThanABrowserWould(t *testing.T) {
	jar := newJar(t)
	var lines []string
	for i := range 1000 {
		lines = append(lines, "c"+strings.Repeat("x", i)+"=1")
	}
	f := web.New(web.Config{Identity: func(string) web.Identity {
		return web.Identity{Jar: jar, Transport: answers("Set-Cookie", lines...)}
	}})
	_, err := f.Do(actions.WithCall(t.Context(), actions.Call{Scope: "alice"}), visit(t, cookieHome))
	require.NoError(t, err)
	u, err := neturl.Parse(cookieHome)
	require.NoError(t, err)
	assert.Len(t, jar.Cookies(u), 64)
}

func TestClearSiteDataSaysThatWhatWasReadBeforeIsOld(t *testing.T) {
	for line, clears := range map[string]bool{
		`"cache"`: true, `"*"`: true, `"storage", "CACHE"`: true, `"cookies"`: true, `"storage"`: false, `cache`: false, ``: false,
	} {
		for _, ahead := range []bool{false, true} {
			f := web.New(web.Config{IgnoreRobots: true, Transport: answers("Clear-Site-Data", line)})
			changes := 0
			ctx := actions.WithRun(t.Context(), actions.Call{Ahead: ahead}, func(actions.Call) { changes++ })
			_, err := f.Do(ctx, visit(t, cookieHome))
			require.NoError(t, err)
			assert.Equal(t, clears, changes == 1, line)
		}
	}
}
