package web_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type session = *speccache.Session[*web.Page]

// sessions starts a portal, a fetcher and a cache, and returns how to open a
// session of a scope.
func sessions(t *testing.T, site *portal, cfg web.Config, change func(*actions.Environment[*web.Page])) (open func(scope string) session, url string) {
	t.Helper()
	cfg.IgnoreRobots = true
	f, url := serveWith(t, cfg, site.ServeHTTP)
	env := f.Environment()
	if change != nil {
		change(&env)
	}
	cache, err := speccache.New(env, speccache.Config[*web.Page]{})
	require.NoError(t, err)
	t.Cleanup(func() { cache.Close() })
	return func(scope string) session {
		s := cache.Open(speccache.SessionConfig[*web.Page]{Scope: scope})
		t.Cleanup(func() { s.Close() })
		return s
	}, url
}

func run(t testing.TB, s session, url string) (speccache.Result[*web.Page], string) {
	t.Helper()
	r, err := s.Run(t.Context(), visit(t, url))
	require.NoError(t, err)
	return r, r.Observation.HTML()
}

// ended is how many runs ahead have ended.
func ended(s session) int64 {
	st := s.Stats()
	return st.Used + st.Wasted
}

func eventually(t testing.TB, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, 10*time.Second, time.Millisecond)
}

func TestTwoScopesSeeTheirOwnPagesOnly(t *testing.T) {
	site, j := &portal{}, &jars{}
	open, url := sessions(t, site, web.Config{Identity: func(scope string) web.Identity {
		return web.Identity{Jar: j.of(t, scope), Lend: true}
	}}, nil)
	users := []string{"alice", "bob"}
	var all []session
	for _, user := range users {
		all = append(all, open(user))
		_, html := run(t, all[len(all)-1], url+"/enter?user="+user)
		assert.Contains(t, html, `For "" `, "nobody is known yet")
	}
	for round := range 3 {
		for i, s := range all {
			r, html := run(t, s, url+"/me")
			assert.Contains(t, html, `For "user=`+users[i]+`"`)
			assert.Equal(t, round > 0, r.Outcome == speccache.Hit)
		}
	}
	owner := map[string]string{}
	for _, q := range site.asked("/me") {
		owner[q.from] += q.cookie
	}
	assert.Len(t, owner, 2, "%v", owner)
}

func TestALentCredentialGoesAlongAndThePageIsServedToThatScopeOnly(t *testing.T) {
	site := &portal{}
	origins := make([]string, 1)
	open, url := sessions(t, site, web.Config{Identity: func(scope string) web.Identity {
		return web.Identity{Authorize: with(scope), Origins: origins, Lend: true}
	}}, nil)
	origins[0] = url
	alice, bob := open("alice"), open("bob")
	for _, s := range []session{alice, bob} {
		run(t, s, url+"/")
	}
	alice.Speculate(t.Context(), visit(t, url+"/me"))
	eventually(t, func() bool { return ended(alice) == 1 })
	q := site.asked("/me")[0]
	assert.Equal(t, "alice", q.token)
	assert.True(t, q.ahead)
	r, html := run(t, alice, url+"/me")
	assert.True(t, r.Ahead)
	assert.Contains(t, html, `with "alice"`)
	r, html = run(t, bob, url+"/me")
	assert.Equal(t, speccache.Miss, r.Outcome)
	assert.Contains(t, html, `with "bob"`)
}

func TestAGuessIsRefusedByRuleWhereItsScopeDoesNotLend(t *testing.T) {
	site, j := &portal{}, &jars{}
	open, url := sessions(t, site, web.Config{Identity: func(scope string) web.Identity {
		return web.Identity{Jar: j.of(t, scope)}
	}}, nil)
	s := open("alice")
	run(t, s, url+"/enter?user=alice")
	s.Speculate(t.Context(), visit(t, url+"/me"))
	eventually(t, func() bool { return s.Stats().Refusals["credentials"] == 1 })
	assert.Empty(t, site.asked("/me"))
	r, html := run(t, s, url+"/me")
	assert.Equal(t, speccache.Miss, r.Outcome)
	assert.Contains(t, html, `For "user=alice"`)
}

func TestALoginHidesWhatWasReadBeforeAndWhatIsInTheAir(t *testing.T) {
	slow := make(chan *http.Request, 10)
	site, j := &portal{}, &jars{}
	site.odd = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/slow" && r.Header.Get("Cookie") == "" {
			slow <- r
			<-r.Context().Done() // until somebody gives it up
		}
		return false
	}
	asked := make(chan (<-chan struct{}), 10)
	open, url := sessions(t, site, web.Config{Identity: func(scope string) web.Identity {
		return web.Identity{Jar: j.of(t, scope)}
	}}, func(env *actions.Environment[*web.Page]) {
		do := env.Do
		env.Do = func(ctx context.Context, a actions.Action) (*web.Page, error) {
			if actions.CallFrom(ctx).Ahead {
				asked <- actions.Asked(ctx)
			}
			return do(ctx, a)
		}
	})
	s, other, elsewhere := open("alice"), open("alice"), open("bob")
	run(t, s, url+"/")
	run(t, s, url+"/news")
	run(t, elsewhere, url+"/news")
	r, _ := run(t, s, url+"/news")
	require.Equal(t, speccache.Hit, r.Outcome)

	s.Speculate(t.Context(), visit(t, url+"/slow"))
	<-slow
	joined := make(chan string)
	go func() {
		page, err := s.Do(t.Context(), visit(t, url+"/slow"))
		if assert.NoError(t, err) {
			joined <- page.HTML()
		} else {
			close(joined)
		}
	}()
	<-<-asked // the target waits for the run ahead
	run(t, other, url+"/enter?user=alice")
	assert.Contains(t, <-joined, `For "user=alice"`, "what began before the login is not served")
	r, html := run(t, s, url+"/news")
	assert.Equal(t, speccache.ReasonState, r.Reason)
	assert.Contains(t, html, `For "user=alice"`)
	r, _ = run(t, s, url+"/news")
	assert.Equal(t, speccache.Hit, r.Outcome, "from then on it is kept")
	r, _ = run(t, elsewhere, url+"/news")
	assert.Equal(t, speccache.Hit, r.Outcome, "it was another scope's login")
}

func TestASiteThatSetsTheSameCookieAgainIsCachedAndOneThatChangesItIsNot(t *testing.T) {
	var visits atomic.Int64
	site, j := &portal{}, &jars{}
	site.odd = func(w http.ResponseWriter, r *http.Request) bool {
		value := "same"
		if strings.HasPrefix(r.URL.Path, "/counted") {
			value = fmt.Sprint(visits.Add(1))
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: value, Path: "/", MaxAge: 3600})
		return false
	}
	open, url := sessions(t, site, web.Config{Identity: func(scope string) web.Identity {
		return web.Identity{Jar: j.of(t, scope)}
	}}, nil)
	s := open("alice")
	run(t, s, url+"/")
	run(t, s, url+"/me")
	run(t, s, url+"/news")
	r, _ := run(t, s, url+"/me")
	assert.Equal(t, speccache.Hit, r.Outcome)
	run(t, s, url+"/counted")
	r, html := run(t, s, url+"/me")
	assert.Equal(t, speccache.ReasonState, r.Reason)
	assert.Contains(t, html, `For "session=1"`)
}

func TestClearSiteDataHidesOlderPages(t *testing.T) {
	site := &portal{odd: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/away" {
			w.Header().Set("Clear-Site-Data", `"cache"`)
		}
		return false
	}}
	open, url := sessions(t, site, web.Config{}, nil)
	s, other := open("alice"), open("bob")
	for _, ahead := range []bool{false, true} {
		run(t, s, url+"/")
		run(t, s, url+"/me")
		run(t, other, url+"/me")
		if before := ended(s); ahead {
			s.Speculate(t.Context(), visit(t, url+"/away"))
			eventually(t, func() bool { return ended(s) > before })
		} else {
			run(t, s, url+"/away")
		}
		r, _ := run(t, s, url+"/me")
		assert.Equal(t, speccache.ReasonState, r.Reason, "ahead: %v", ahead)
		r, _ = run(t, other, url+"/me")
		assert.Equal(t, speccache.Hit, r.Outcome)
	}
}

func TestAPublicVisitHasNoCredentialsAndIsShared(t *testing.T) {
	site, j := &portal{}, &jars{}
	origins := make([]string, 1)
	open, url := sessions(t, site, web.Config{Identity: func(scope string) web.Identity {
		return web.Identity{Jar: j.of(t, scope), Authorize: with(scope), Origins: origins, Lend: true}
	}}, func(env *actions.Environment[*web.Page]) {
		env.Rules["visit"] = actions.Rule{Effect: actions.ReadOnly, Ahead: true, Public: true, MaxAge: time.Minute}
	})
	origins[0] = url
	alice, bob := open("alice"), open("bob")
	run(t, alice, url+"/enter?user=alice")
	assert.Empty(t, cookiesAt(t, j.of(t, "alice"), url), "nobody's cookies are nobody's business")
	run(t, alice, url+"/")
	alice.Speculate(t.Context(), visit(t, url+"/me"))
	eventually(t, func() bool { return ended(alice) == 1 })
	for _, s := range []session{bob, alice} {
		r, html := run(t, s, url+"/me")
		assert.Equal(t, speccache.Hit, r.Outcome)
		assert.Contains(t, html, `For "" with ""`)
	}
	assert.Len(t, site.asked("/me"), 1)
}

// The scope of a request is in its query, and in its answer.
func TestNoConnectionOfAScopeIsEverUsedForAnother(t *testing.T) {
	calls := map[string]actions.Call{
		"alice": {Scope: "alice", Session: 1}, "bob": {Scope: "bob", Session: 1},
		"first": {Session: 1}, "second": {Session: 2},
		"all": {Scope: "alice", Session: 1, Public: true},
	}
	half := map[string]chan struct{}{}
	for who := range calls {
		half[who] = make(chan struct{}, 1)
	}
	var mu sync.Mutex
	users := map[string]map[string]bool{} // by connection
	f, url := serveWith(t, web.Config{}, func(w http.ResponseWriter, r *http.Request) {
		who := r.FormValue("who")
		mu.Lock()
		if users[r.RemoteAddr] == nil {
			users[r.RemoteAddr] = map[string]bool{}
		}
		users[r.RemoteAddr][who] = true
		mu.Unlock()
		if r.URL.Path != "/half" {
			writeHTML(w, "<p>for "+who)
			return
		}
		w.Header().Set("Content-Length", "1000")
		writeHTML(w, "<p>for "+who)
		w.(http.Flusher).Flush()
		half[who] <- struct{}{}
		<-r.Context().Done()
	})
	var parties sync.WaitGroup
	for who, call := range calls {
		parties.Go(func() {
			for range 10 {
				ctx, cancel := context.WithCancel(actions.WithCall(t.Context(), call))
				cut := make(chan error)
				go func() {
					_, err := f.Do(ctx, visit(t, url+"/half?who="+who))
					cut <- err
				}()
				<-half[who]
				page, err := f.Do(ctx, visit(t, url+"/whole?who="+who))
				if assert.NoError(t, err) {
					assert.Equal(t, "<p>for "+who, page.HTML())
				}
				cancel()
				assert.ErrorIs(t, <-cut, context.Canceled)
			}
		})
	}
	parties.Wait()
	for connection, whose := range users {
		assert.Len(t, whose, 1, connection)
	}
}

func TestTheConnectionsOfManyScopesAreBoundedAndCloseEndsThem(t *testing.T) {
	var open atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { writeHTML(w, "hi") }))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	srv.Start()
	defer srv.Close()
	f := web.New(web.Config{Guard: web.Guard{Allow: web.Loopback()}})
	for i := range 400 {
		_, err := f.Do(as(t.Context(), fmt.Sprint(i), false), visit(t, srv.URL))
		require.NoError(t, err)
	}
	eventually(t, func() bool { return open.Load() <= 256 })
	assert.Greater(t, open.Load(), int64(200), "the last ones can be used again")
	f.Close()
	eventually(t, func() bool { return open.Load() == 0 })
}
