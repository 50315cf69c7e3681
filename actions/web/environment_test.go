package web_test

import (
	"net/http"
	"testing"

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

func TestAPageThatMustNotBeStoredIsNotKept(t *testing.T) {
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Cache-Control"] = r.URL.Query()["c"]
		writeHTML(w, "<p>hi</p>")
	})
	env := f.Environment()
	for query, want := range map[string]bool{
		"":                        true,
		"c=max-age=0,no-cache":    true,
		"c=max-age=0,%20No-Store": false,
		"c=private&c=no-store":    false,
		"c=x-no-store":            true,
		"c=no-store=1,max-age=5":  false,
	} {
		a := visit(t, url+"/?"+query)
		p, err := env.Do(t.Context(), a)
		require.NoError(t, err)
		maxAge, keep := env.Fresh(a, p)
		assert.Zero(t, maxAge)
		assert.Equal(t, want, keep, query)
	}
	_, keep := env.Fresh(actions.Action{}, nil)
	assert.False(t, keep)
}

func TestThePageTellsPredictorsAndTheStoreWhatTheyAsk(t *testing.T) {
	p := parse(t, home, `<title>T</title><a href=/a>A</a>`)
	env := environment()
	assert.Equal(t, p.View(), env.View(p))
	assert.Equal(t, p.Size(), env.Size(p))
}
