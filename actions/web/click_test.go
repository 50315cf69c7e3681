package web_test

import (
	"strings"
	"testing"

	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAClickLeadsWhereItsLabelDoes(t *testing.T) {
	p := parse(t, home, `<a href=/calls>Call for
		Papers</a><a href=/visa#a>Visa</a><a href=/visa#b>VISA</a><a href=/s>Straße</a><a href=/k>`+"\u212Aelvin"+`</a>
		<a href=/shy>soft`+"\u00ad"+`ware</a><a href=/m>&lt;b&gt; [x](y)</a>`)
	for label, path := range map[string]string{
		"Call for Papers":           "/calls",
		" call\tFOR\n papers\u00a0": "/calls",
		"visa":                      "/visa", // both lead to one page
		"STRAßE":                    "/s",
		"kelvin":                    "/k",
		"software":                  "/shy",
		"<b> [x](y)":                "/m",
	} {
		a, err := p.Click(label)
		if assert.NoError(t, err, label) {
			assert.Equal(t, visit(t, "https://site.example"+path), a, label)
		}
	}
}

func TestALabelThatNamesTwoPagesIsRefusedWithTheChoices(t *testing.T) {
	p := parse(t, home, `<a href=/a>More</a><a href=/b>more</a><a href=/a#x>More</a><a href=/c>Else</a>`)
	_, err := p.Click("More")
	var e *web.LabelError
	require.ErrorAs(t, err, &e)
	assert.True(t, e.Ambiguous)
	assert.Equal(t, []string{"https://site.example/a", "https://site.example/b"}, e.Choices)
	assert.EqualError(t, err, `web: label "More" on https://site.example/dir/page leads to different pages: `+
		`visit one of "https://site.example/a", "https://site.example/b"`)
}

func TestAnUnknownLabelIsRefusedWithTheNearestFirst(t *testing.T) {
	p := parse(t, home, many(30, `<a href="/%d">Other %d</a>`)+`<a href=/p>Call for Papers</a><a href=/q>Papers</a>
		<a href="#top">Paper</a><a href="mailto:x@y.z">Call for Papers 2</a>`)
	_, err := p.Click("Calls for Paper")
	var e *web.LabelError
	require.ErrorAs(t, err, &e)
	assert.False(t, e.Ambiguous)
	assert.Equal(t, "Calls for Paper", e.Label)
	assert.Equal(t, home, e.Page)
	require.Len(t, e.Choices, 20)
	assert.Equal(t, []string{"Call for Papers", "Papers"}, e.Choices[:2])
	assert.Contains(t, err.Error(), `click one of "Call for Papers", "Papers", "Other`)
	assert.True(t, strings.HasSuffix(err.Error(), " and 12 more"), err)

	_, err = parse(t, home, "").Click("x")
	assert.ErrorContains(t, err, "it has no links")
}

func TestNothingLikeALabelWillDo(t *testing.T) {
	p := parse(t, home, `<a href=/a>Call for Papers</a><a href="#top">Top</a>`)
	for _, label := range []string{"Call for Paper", "Call-for-Papers", "Call for Papers.", "Call", "Top", "https://site.example/a"} {
		_, err := p.Click(label)
		var e *web.LabelError
		assert.ErrorAs(t, err, &e, label)
	}
}

func TestAClickNeedsALabel(t *testing.T) {
	p := parse(t, home, `<a href=/a></a>`)
	for _, label := range []string{"", " \n\t", "\x00\u200b"} {
		_, err := p.Click(label)
		assert.ErrorContains(t, err, `needs {"label": `)
		_, err = web.Click(label)
		assert.ErrorContains(t, err, `needs {"label": `)
	}
	assert.Equal(t, click(t, "a b"), click(t, " a\n b"))
	assert.Equal(t, `{"label":"a�"}`, click(t, "a\xff").Args())
}

func TestAnErrorShowsNoControlCharactersAndStaysShort(t *testing.T) {
	p := parse(t, home, many(1000, `<a href="/%d">`+strings.Repeat("x\x1b[2J\u202e", 500)+`%d</a>`))
	_, err := p.Click("\x1b[31m" + strings.Repeat("y", 10_000))
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "\x1b")
	assert.NotContains(t, err.Error(), "\u202e")
	assert.Less(t, len(err.Error()), 8<<10)
}
