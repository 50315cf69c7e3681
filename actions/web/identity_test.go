package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"strings"
	"sync"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A portal shows everybody a page of their own, and writes down who asked for
// what.
type portal struct {
	mu   sync.Mutex
	seen []request
	// odd, if set, answers instead where it returns true.
	odd func(w http.ResponseWriter, r *http.Request) bool
}

type request struct {
	path, cookie, token, from string
	ahead                     bool
}

func (p *portal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := request{r.URL.Path, r.Header.Get("Cookie"), r.Header.Get("Authorization"), r.RemoteAddr, r.Header.Get("Sec-Purpose") != ""}
	p.mu.Lock()
	p.seen = append(p.seen, q)
	p.mu.Unlock()
	if p.odd != nil && p.odd(w, r) {
		return
	}
	if user := r.FormValue("user"); r.URL.Path == "/enter" {
		http.SetCookie(w, &http.Cookie{Name: "user", Value: user, Path: "/"})
	}
	writeHTML(w, fmt.Sprintf(`<title>%s</title><p>For %q with %q.</p><a href=/me>Me</a><a href=/news>News</a><a href=/slow>Slow</a><a href=/away>Away</a>`,
		r.URL.Path, q.cookie, q.token))
}

// asked returns the requests for a path.
func (p *portal) asked(path string) (list []request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.seen {
		if q.path == path {
			list = append(list, q)
		}
	}
	return list
}

// jars are the cookies of each scope, made when it is first asked for.
type jars struct {
	mu    sync.Mutex
	known map[string]http.CookieJar
}

func (j *jars) of(t testing.TB, scope string) http.CookieJar {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.known == nil {
		j.known = map[string]http.CookieJar{}
	}
	if j.known[scope] == nil {
		j.known[scope] = newJar(t)
	}
	return j.known[scope]
}

func as(ctx context.Context, scope string, ahead bool) context.Context {
	return actions.WithCall(ctx, actions.Call{Scope: scope, Ahead: ahead})
}

func with(token string) func(*http.Request) {
	return func(req *http.Request) { req.Header.Set("Authorization", token) }
}

func cookiesAt(t testing.TB, jar http.CookieJar, url string) (all string) {
	t.Helper()
	u, err := neturl.Parse(url)
	require.NoError(t, err)
	for _, c := range jar.Cookies(u) {
		all += c.String() + ";"
	}
	return all
}

func TestARunAheadCarriesNothingAndIsRefusedWhereTheTargetWouldBeKnown(t *testing.T) {
	site, j := &portal{}, &jars{}
	var origin string
	f, url := serveWith(t, web.Config{IgnoreRobots: true, Identity: func(scope string) web.Identity {
		if scope == "robot" {
			return web.Identity{Authorize: with("secret"), Origins: []string{origin}}
		}
		return web.Identity{Jar: j.of(t, scope)}
	}}, site.ServeHTTP)
	origin = url
	policy := f.Environment().Policy

	home, err := f.Do(as(t.Context(), "alice", false), visit(t, url+"/"))
	require.NoError(t, err)
	state := stateOf(home)
	state.Scope = "alice"
	require.NoError(t, policy(state, visit(t, url+"/news")), "she is not known yet")
	_, err = f.Do(as(t.Context(), "alice", true), visit(t, url+"/news"))
	require.NoError(t, err)
	assert.Equal(t, "", site.asked("/news")[0].cookie)

	_, err = f.Do(as(t.Context(), "alice", false), visit(t, url+"/enter?user=alice"))
	require.NoError(t, err)
	for _, scope := range []string{"alice", "robot"} {
		state.Scope = scope
		err = policy(state, visit(t, url+"/me"))
		assert.Equal(t, "credentials", ruleOf(err))
		assert.ErrorContains(t, err, "Identity.Lend")
		_, err = f.Do(as(t.Context(), scope, true), visit(t, url+"/me"))
		assert.Equal(t, "credentials", ruleOf(err), "nor by a way past the policy")
		_, _, err = f.Environment().Renew(as(t.Context(), scope, true), visit(t, url+"/me"), home)
		assert.Equal(t, "credentials", ruleOf(err), "nor to renew it")
	}
	assert.Empty(t, site.asked("/me"))
	state.Scope = "bob"
	assert.NoError(t, policy(state, visit(t, url+"/me")), "nobody knows him")

	page, err := f.Do(as(t.Context(), "alice", false), visit(t, url+"/me"))
	require.NoError(t, err)
	assert.Equal(t, "user=alice", site.asked("/me")[0].cookie, "the target's own visit")
	assert.True(t, page.Private())
	page, err = f.Do(as(t.Context(), "robot", false), visit(t, url+"/me"))
	require.NoError(t, err)
	assert.Equal(t, "secret", site.asked("/me")[1].token)
	assert.True(t, page.Private())
}

func TestARunAheadThatIsRedirectedToWhereTheTargetWouldBeKnownEndsThere(t *testing.T) {
	site := &portal{odd: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/news" {
			http.Redirect(w, r, "/account/me", http.StatusFound)
		}
		return r.URL.Path == "/news"
	}}
	jar := newJar(t)
	f, url := serveWith(t, web.Config{IgnoreRobots: true, Identity: func(string) web.Identity {
		return web.Identity{Jar: jar}
	}}, site.ServeHTTP)
	u, err := neturl.Parse(url)
	require.NoError(t, err)
	jar.SetCookies(u, []*http.Cookie{{Name: "user", Value: "alice", Path: "/account"}})
	_, err = f.Do(as(t.Context(), "alice", true), visit(t, url+"/news"))
	assert.Equal(t, "credentials", ruleOf(err))
	assert.Empty(t, site.asked("/account/me"))
	_, err = f.Do(as(t.Context(), "alice", false), visit(t, url+"/news"))
	require.NoError(t, err)
	assert.Equal(t, "user=alice", site.asked("/account/me")[0].cookie)
}

func TestWhatARunAheadIsToldToRememberChangesNothing(t *testing.T) {
	for _, lend := range []bool{false, true} {
		site, jar := &portal{}, newJar(t)
		f, url := serveWith(t, web.Config{IgnoreRobots: true, Identity: func(string) web.Identity {
			return web.Identity{Jar: jar, Lend: lend}
		}}, site.ServeHTTP)
		enter := visit(t, url+"/enter?user=mallory")
		_, err := f.Do(as(t.Context(), "alice", true), enter)
		assert.Equal(t, "cookie", ruleOf(err), "a page that changes cookies is for the target to visit")
		assert.Empty(t, cookiesAt(t, jar, url))
		_, err = f.Do(as(t.Context(), "alice", false), enter)
		require.NoError(t, err)
		assert.Equal(t, "user=mallory;", cookiesAt(t, jar, url))
		if lend {
			_, err = f.Do(as(t.Context(), "alice", true), enter)
			require.NoError(t, err, "it would set what is set")
		}
	}
}

func TestCredentialsAreForTheirOriginsWhereverRedirectsLead(t *testing.T) {
	back := ""
	stranger := &portal{odd: func(w http.ResponseWriter, r *http.Request) bool {
		if back != "" {
			http.Redirect(w, r, back, http.StatusFound)
		}
		return back != ""
	}}
	foreign := httptest.NewServer(stranger)
	defer foreign.Close()
	site := &portal{odd: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, foreign.URL+"/in", http.StatusFound)
		}
		return r.URL.Path == "/away"
	}}
	origins := []string{}
	f, url := serveWith(t, web.Config{Identity: func(string) web.Identity {
		return web.Identity{Authorize: with("secret"), Origins: origins}
	}}, site.ServeHTTP)
	_, err := f.Do(as(t.Context(), "alice", false), visit(t, url+"/me"))
	require.NoError(t, err)
	assert.Empty(t, site.asked("/me")[0].token, "no origin, no credentials")

	origins, back = []string{url}, url+"/home"
	_, err = f.Do(as(t.Context(), "alice", false), visit(t, url+"/away"))
	require.NoError(t, err)
	assert.Equal(t, "secret", site.asked("/away")[0].token)
	assert.Empty(t, stranger.asked("/in")[0].token)
	assert.Equal(t, "secret", site.asked("/home")[0].token)
}

func TestAVisitThatIsLedOutOfHTTPSCarriesNothingFromThereOn(t *testing.T) {
	home := ""
	plain := &portal{odd: func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, home+"/again", http.StatusFound)
		return true
	}}
	clear := httptest.NewServer(plain)
	defer clear.Close()
	site := &portal{odd: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, clear.URL+"/in", http.StatusFound)
		}
		return r.URL.Path == "/away"
	}}
	safe := httptest.NewTLSServer(site)
	defer safe.Close()
	home = safe.URL
	jar := newJar(t)
	u, err := neturl.Parse(home)
	require.NoError(t, err)
	jar.SetCookies(u, []*http.Cookie{{Name: "user", Value: "alice"}})
	f := web.New(web.Config{Identity: func(string) web.Identity {
		return web.Identity{
			Transport: safe.Client().Transport, Jar: jar,
			Authorize: with("secret"), Origins: []string{home, clear.URL},
		}
	}})
	_, err = f.Do(as(t.Context(), "alice", false), visit(t, home+"/away"))
	require.NoError(t, err)
	first := site.asked("/away")[0]
	assert.Equal(t, []string{"user=alice", "secret"}, []string{first.cookie, first.token})
	for _, q := range append(plain.asked("/in"), site.asked("/again")...) {
		assert.Empty(t, q.cookie+q.token, q.path)
	}
}

func TestOnlyANamedScopeHasAnIdentityAndNotForWhatIsPublic(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	f := web.New(web.Config{
		Transport: answers("X", "y"),
		Identity: func(scope string) web.Identity {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, scope)
			return web.Identity{Transport: answers("Refresh", scope)}
		},
	})
	for call, known := range map[actions.Call]bool{
		{}:                             false,
		{Session: 7}:                   false,
		{Scope: "alice", Public: true}: false,
		{Scope: "alice", Session: 7}:   true,
		{Scope: "bob", Session: 7}:     true,
	} {
		page, err := f.Do(actions.WithCall(t.Context(), call), visit(t, cookieHome))
		require.NoError(t, err)
		assert.Equal(t, known, page.Header().Get("Refresh") == call.Scope && call.Scope != "", call)
	}
	assert.ElementsMatch(t, []string{"alice", "bob"}, asked)
}

func TestARobotsFileIsReadWithoutCredentialsAndInTheScopesOwnWay(t *testing.T) {
	site, jar := &polite{robots: robotsText("User-agent: *\nDisallow: /secret\n")}, newJar(t)
	var mu sync.Mutex
	var carried []string
	watch := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		carried = append(carried, r.URL.Path+r.Header.Get("Cookie")+r.Header.Get("Authorization"))
		mu.Unlock()
		site.ServeHTTP(w, r)
	}
	var url string
	var own http.RoundTripper
	f, url := serveWith(t, web.Config{Identity: func(scope string) web.Identity {
		id := web.Identity{Jar: jar, Lend: true, Authorize: with("secret"), Origins: []string{url}}
		if scope == "proxied" {
			id.Transport = own
		}
		return id
	}}, watch)
	u, err := neturl.Parse(url)
	require.NoError(t, err)
	jar.SetCookies(u, []*http.Cookie{{Name: "user", Value: "alice"}})
	_, err = f.Do(as(t.Context(), "alice", true), visit(t, url+"/open"))
	require.NoError(t, err)
	_, err = f.Do(as(t.Context(), "bob", true), visit(t, url+"/open"))
	require.NoError(t, err)
	assert.Contains(t, carried, "/robots.txt")
	assert.Equal(t, 1, site.asked("/robots.txt"), "it is the same for everybody")

	var paths []string
	own = roundTrip(func(req *http.Request) (*http.Response, error) {
		paths = append(paths, req.URL.Path+req.Header.Get("Cookie")+req.Header.Get("Authorization"))
		return answers("X", "y")(req)
	})
	_, err = f.Do(as(t.Context(), "proxied", true), visit(t, url+"/secret"))
	require.NoError(t, err, "what is there is another host's, who knows")
	require.Len(t, paths, 2)
	assert.Equal(t, "/robots.txt", paths[0])
	assert.True(t, strings.HasPrefix(paths[1], "/secretuser="))
	assert.Equal(t, 1, site.asked("/robots.txt"))
}

func TestAPageThatVariesByItsScopesOwnCredentialsIsKept(t *testing.T) {
	fresh := func(id web.Identity, cfg web.Config) bool {
		cfg.Identity = func(string) web.Identity { return id }
		f := web.New(cfg)
		page, err := f.Do(as(t.Context(), "alice", false), visit(t, cookieHome))
		require.NoError(t, err)
		_, keep := f.Environment().Fresh(visit(t, cookieHome), page)
		return keep
	}
	jar := newJar(t)
	u, err := neturl.Parse(cookieHome)
	require.NoError(t, err)
	jar.SetCookies(u, []*http.Cookie{{Name: "user", Value: "alice"}})
	varies := answers("Vary", "Cookie, Authorization")
	assert.True(t, fresh(web.Identity{Jar: jar}, web.Config{Transport: varies}), "until the cookies change")
	adds := roundTrip(func(req *http.Request) (*http.Response, error) {
		req = req.Clone(req.Context())
		with("of its own")(req)
		return varies(req)
	})
	assert.False(t, fresh(web.Identity{Jar: jar}, web.Config{Transport: adds}), "who knows when they change")
	assert.False(t, fresh(web.Identity{}, web.Config{Transport: adds}))
}
