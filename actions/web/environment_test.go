package web_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAClickIsResolvedAgainstTheLastPageThatThereIs(t *testing.T) {
	env := environment()
	old := parse(t, home, `<a href=/old>Next</a>`)
	view := parse(t, "https://site.example/new/", `<a href=there>Next</a>`)
	a, err := env.Resolve(stateOf(old, view, nil), click(t, "next"))
	require.NoError(t, err)
	assert.Equal(t, visit(t, "https://site.example/new/there"), a)

	_, err = env.Resolve(stateOf(view), click(t, "Previous"))
	var e *web.LabelError
	assert.ErrorAs(t, err, &e)
	_, err = env.Resolve(stateOf(nil), click(t, "Next"))
	assert.ErrorContains(t, err, "page in view")
	_, err = env.Resolve(stateOf(view), actions.Must("click", nil))
	assert.EqualError(t, err, `web: click needs {"label": "the text of a link"}`)
	_, err = env.Resolve(stateOf(view), actions.Must("click", []int{1}))
	assert.ErrorContains(t, err, `web: click needs {"label": "the text of a link"}: `)
}

func TestAVisitWithoutAURLSaysWhatItNeeds(t *testing.T) {
	const needs = `web: visit needs {"url": "https://..."}`
	f := web.New(web.Config{})
	for _, args := range []any{nil, map[string]string{"link": "x"}, map[string]string{"url": ""}} {
		_, err := f.Environment().Resolve(stateOf(), actions.Must("visit", args))
		assert.EqualError(t, err, needs)
		_, err = f.Do(t.Context(), actions.Must("visit", args))
		assert.EqualError(t, err, needs)
	}
	_, err := f.Do(t.Context(), actions.Must("visit", []string{"secret"}))
	assert.ErrorContains(t, err, needs+": ")
	assert.NotContains(t, err.Error(), "secret")
}

func TestAVisitIsResolvedToItsCanonicalURL(t *testing.T) {
	env := environment()
	a, err := env.Resolve(stateOf(), actions.Must("visit", map[string]string{"url": "HTTPS://Site.Example:443/x#y", "why": "because"}))
	require.NoError(t, err)
	assert.Equal(t, visit(t, "https://site.example/x"), a)
	_, err = env.Resolve(stateOf(), actions.Must("visit", map[string]string{"url": "site.example"}))
	var e *web.URLError
	assert.ErrorAs(t, err, &e)
	other := actions.Must("finish", nil)
	a, err = env.Resolve(stateOf(), other)
	require.NoError(t, err)
	assert.Equal(t, other, a)
}

func TestReadingRunsAheadAndNothingElseDoes(t *testing.T) {
	env := environment()
	ahead := actions.Rule{Effect: actions.ReadOnly, Ahead: true}
	assert.Equal(t, actions.Rules{"visit": ahead, "click": ahead}, env.Rules)
	assert.Nil(t, env.Clone, "pages are read-only")
}

func TestAPageIsKeptAsLongAsItsHostAllows(t *testing.T) {
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Cache-Control"], w.Header()["Vary"] = r.URL.Query()["c"], r.URL.Query()["v"]
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		writeHTML(w, "<p>hi</p>")
	})
	const never = -1
	for query, want := range map[string]time.Duration{
		"":                        0,
		"c=private":               0,
		"c=max-age=0":             never,
		"c=public,no-cache":       never,
		"c=max-age=5,%20No-Store": never,
		"c=private&c=no-store":    never,
		"c=x-no-store":            0,
		"c=no-store=1,max-age=5":  never,
		"c=max-age=5":             5 * time.Second,
		"c=MAX-AGE=%225%22&c=max-age=3,max-age=4": 3 * time.Second,
		"c=max-age=nonsense":                      never,
		"c=max-age=99999999999999999999":          1 << 31 * time.Second,
		"v=Accept,Cookie":                         0,
		"v=*":                                     never,
		"v=Sec-Purpose":                           0,
		"c=no-store&to=/":                         never,
		"c=max-age=3&to=/?c=max-age=9":            3 * time.Second,
		"c=max-age=9&to=/?c=max-age=3":            3 * time.Second,
		"v=*&to=/":                                never,
	} {
		maxAge, keep := fresh(t, f, t.Context(), url+"/?"+query)
		assert.Equal(t, want != never, keep, query)
		assert.Equal(t, max(want, 0), maxAge, query)
	}
	ahead := actions.WithCall(t.Context(), actions.Call{Ahead: true})
	for query, want := range map[string]bool{
		"":                          true,
		"v=Accept":                  true,
		"v=Accept,%20sec-purpose":   false,
		"v=Purpose":                 false,
		"v=*":                       false,
		"v=Sec-Purpose&to=/?c=none": false,
	} {
		_, keep := fresh(t, f, ahead, url+"/?"+query)
		assert.Equal(t, want, keep, "ahead: %s", query)
	}
	_, keep := f.Environment().Fresh(actions.Action{}, nil)
	assert.False(t, keep)
	_, keep = f.Environment().Fresh(actions.Action{}, parse(t, home, ""))
	assert.True(t, keep)
}

func fresh(t *testing.T, f *web.Fetcher, ctx context.Context, url string) (maxAge time.Duration, keep bool) {
	t.Helper()
	env, a := f.Environment(), visit(t, url)
	p, err := env.Do(ctx, a)
	require.NoError(t, err)
	return env.Fresh(a, p)
}

func TestThePageTellsPredictorsAndTheStoreWhatTheyAsk(t *testing.T) {
	p := parse(t, home, `<title>T</title><a href=/a>A</a>`)
	env := environment()
	assert.Equal(t, p.View(), env.View(p))
	assert.Equal(t, p.Size(), env.Size(p))
}
