package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/speccache"
)

// conference serves a site of three pages.
func conference() *httptest.Server {
	pages := map[string]string{
		"/":       `<title>Conference</title><a href="/calls/">Calls</a> <a href="/venue/">Venue</a>`,
		"/calls/": `<title>Calls</title><main><h1>Calls</h1><p>Papers are due in <b>May</b>.</p></main>`,
		"/venue/": `<title>Venue</title>`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if pages[r.URL.Path] == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, pages[r.URL.Path])
	}))
}

func Example() {
	site := conference()
	defer site.Close()
	f := web.New(web.Config{Guard: web.Guard{Allow: web.Loopback()}})
	defer f.Close()
	ctx := context.Background()

	home, err := web.Visit(site.URL)
	if err != nil {
		panic(err)
	}
	page, err := f.Do(ctx, home)
	if err != nil {
		panic(err)
	}
	for _, link := range page.Links() {
		fmt.Println(link.Label, strings.TrimPrefix(link.URL, site.URL))
	}
	calls, err := page.Click("calls")
	if err != nil {
		panic(err)
	}
	page, err = f.Do(ctx, calls)
	if err != nil {
		panic(err)
	}
	fmt.Println(page.Markdown())
	// Output:
	// Calls /calls/
	// Venue /venue/
	// # Calls
	//
	// Papers are due in **May**.
}

// What a cache does with the environment: resolve the target's click, ask
// whether a draft's guess may run ahead, and run either.
func ExampleFetcher_Environment() {
	site := conference()
	defer site.Close()
	f := web.New(web.Config{Guard: web.Guard{Allow: web.Loopback()}})
	defer f.Close()
	env := f.Environment()

	first, err := web.Visit(site.URL)
	if err != nil {
		panic(err)
	}
	page, err := env.Do(context.Background(), first)
	if err != nil {
		panic(err)
	}
	state := actions.State[*web.Page]{
		Goal:  "When are papers due?",
		Steps: []actions.Step[*web.Page]{{Action: first, Observation: page}},
	}
	click, err := web.Click("Calls")
	if err != nil {
		panic(err)
	}
	resolved, err := env.Resolve(state, click)
	fmt.Println(strings.Replace(resolved.String(), site.URL, "", 1), err)
	fmt.Println(env.Policy(state, resolved))

	invented, err := web.Visit(site.URL + "/admin")
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.Replace(env.Policy(state, invented).Error(), site.URL, "", 1))
	// Output:
	// visit {"url":"/calls/"} <nil>
	// <nil>
	// web: "/admin" may not run ahead: rule "provenance": no page that the session remembers links to it
}

func ExampleNewTemplate() {
	chapters, err := web.NewTemplate("https://docs.example.org/guide/{chapter}", "install", "first steps")
	if err != nil {
		panic(err)
	}
	f := web.New(web.Config{AheadTemplates: []web.Template{chapters}})
	defer f.Close()
	for _, url := range []string{"https://docs.example.org/guide/first%20steps", "https://docs.example.org/guide/secrets"} {
		guess, err := web.Visit(url)
		if err != nil {
			panic(err)
		}
		fmt.Println(f.Environment().Policy(actions.State[*web.Page]{}, guess))
	}
	// Output:
	// <nil>
	// web: "https://docs.example.org/guide/secrets" may not run ahead: rule "provenance": no page that the session remembers links to it
}

func ExamplePage_Click() {
	page, err := web.Parse("https://example.org/", `<a href="/a">More</a> <a href="/b">More</a> <a href="/c">Calls</a>`)
	if err != nil {
		panic(err)
	}
	fmt.Println(page.Click("  CALLS "))
	_, err = page.Click("More")
	fmt.Println(err)
	// Output:
	// visit {"url":"https://example.org/c"} <nil>
	// web: label "More" on https://example.org/ leads to different pages: visit one of "https://example.org/a", "https://example.org/b"
}

// A wiki where each user has an account: the token goes to the wiki alone, and
// cookies are each user's own. Runs ahead have neither, since nothing is lent.
func ExampleConfig_identity() {
	wiki := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<p>Seen by %s</p>", r.Header.Get("Authorization"))
	}))
	defer wiki.Close()
	tokens := map[string]string{"alice": "token-a", "bob": "token-b"}
	jars := map[string]http.CookieJar{}
	for user := range tokens {
		jars[user], _ = cookiejar.New(nil)
	}
	f := web.New(web.Config{
		IgnoreRobots: true,
		Guard:        web.Guard{Allow: web.Loopback()},
		Identity: func(scope string) web.Identity {
			return web.Identity{
				Jar:       jars[scope],
				Authorize: func(r *http.Request) { r.Header.Set("Authorization", tokens[scope]) },
				Origins:   []string{wiki.URL},
			}
		},
	})
	defer f.Close()
	cache, err := speccache.New(f.Environment(), speccache.Config[*web.Page]{})
	if err != nil {
		panic(err)
	}
	defer cache.Close()
	home, err := web.Visit(wiki.URL)
	if err != nil {
		panic(err)
	}
	for _, user := range []string{"alice", "bob", "alice"} {
		s := cache.Open(speccache.SessionConfig[*web.Page]{Scope: user})
		r, err := s.Run(context.Background(), home)
		s.Close()
		if err != nil {
			panic(err)
		}
		fmt.Println(user, r.Outcome, r.Observation.Markdown())
	}
	ahead := actions.WithCall(context.Background(), actions.Call{Scope: "alice", Ahead: true})
	_, err = f.Do(ahead, home)
	fmt.Println(strings.ReplaceAll(err.Error(), wiki.URL, ""))
	// Output:
	// alice miss Seen by token-a
	// bob miss Seen by token-b
	// alice hit Seen by token-a
	// web: "/" may not run ahead: rule "credentials": the target sends cookies or credentials there, and Identity.Lend does not let runs ahead have them
}
