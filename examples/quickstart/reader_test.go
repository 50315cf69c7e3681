package main

import (
	"testing"

	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func page(t *testing.T, body string) *web.Page {
	p, err := web.Parse("http://docs.example/a.html", "<title>a</title><body>"+body)
	require.NoError(t, err)
	return p
}

func TestTheReaderGoesByTheTextAroundALink(t *testing.T) {
	r := newReader("How many guesses run ahead by default?", 0)
	next, err := r.decide(t.Context(), page(t, `
		<p><a href="b.html">Guesses</a></p>
		<p><a href="c.html">Limits</a>: guesses that run ahead, with each default</p>`))
	require.NoError(t, err)
	assert.Equal(t, `click "Limits"`, next.what)
}

func TestTheReaderGoesBackToABetterLink(t *testing.T) {
	r := newReader("What hides earlier reads?", 0)
	_, err := r.decide(t.Context(), page(t, `<p><a href="b.html">Reads, earlier</a></p><p><a href="c.html">Reads</a></p>`))
	require.NoError(t, err)
	second, err := web.Parse("http://docs.example/b.html", `<p><a href="d.html">Nothing</a></p>`)
	require.NoError(t, err)
	next, err := r.decide(t.Context(), second)
	require.NoError(t, err)
	assert.Equal(t, "visit /c.html", next.what)
}

func TestAnAnswerIsASentenceAndNotALinkOrAQuestion(t *testing.T) {
	r := newReader("What hides earlier reads?", 0)
	for text, want := range map[string]string{
		"<p>What hides earlier reads?</p>":                           "",
		"<h2>What hides earlier reads</h2>":                          "",
		`<ul><li><a href="x">What hides earlier reads</a></li></ul>`: "",
		"<pre>hides earlier reads</pre>":                             "",
		"<p>Pages load. A write hides <b>earlier</b> reads. Done.":   "A write hides earlier reads.",
	} {
		assert.Equal(t, want, r.answer(page(t, text).Markdown()), text)
	}
}

func TestHowManyAsksForANumber(t *testing.T) {
	r := newReader("How many guesses run ahead by default?", 0)
	assert.Empty(t, r.answer("Guesses run ahead by default."))
	assert.NotEmpty(t, r.answer("By default 3 guesses run ahead."))
}

func TestTheReaderGivesUpWhenNothingIsLeft(t *testing.T) {
	r := newReader("What hides earlier reads?", 0)
	next, err := r.decide(t.Context(), page(t, "<p>Nothing here."))
	require.NoError(t, err)
	assert.Zero(t, next)
}
