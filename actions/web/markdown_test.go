package web_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMarkupBecomesMarkdown(t *testing.T) {
	const x = "(https://site.example/dir/x)"
	for html, want := range map[string]string{
		`a &lt; b &gt; c &amp; d &nbsp;e`:                           "a &lt; b &gt; c & d \u00a0e",
		`<ul><li><p>a</p></li><li><p>b</p></li></ul>`:               "- a\n- b",
		`<ol start=5><li>a<li>b</ol>`:                               "5. a\n6. b",
		`<ol start=99999999999999999999><li>a</ol>`:                 "1. a",
		"<pre>\na\n  b &lt; <b>c</b>\n\nd\n</pre>":                  "```\na\n  b < c\n\nd\n```",
		`<a href=x><b>bold</b> <em>it</em></a> <code>x</code>`:      "[**bold** *it*]" + x + " `x`",
		`<a href=x><img alt="pic"></a>`:                             "[pic]" + x,
		`<table><tr><th>A<th>B<tr><td>1<td>3</table>`:               "| A | B |\n|---|---|\n| 1 | 3 |",
		`<table><tr><td colspan=99999>x<td>y</table>`:               "|   |   |\n|---|---|\n| x | y |",
		`<table><tr><td><table><tr><td>in</table><td>z</table>`:     "in\n\nz",
		`un<b></b>bro<!-- -->ken, <my-el>own</my-el> <svg>no</svg>`: "unbroken, own",
		`<p>a<br>b<hr>c`: "a  \nb\n\n* * *\n\nc",
	} {
		assert.Equal(t, want, parse(t, home, html).Markdown(), "%.80s", html)
	}
}

func TestAPageOfMoreMarkupThanIsParsedHasItsText(t *testing.T) {
	html := "<main><h1>T</h1>" + strings.Repeat("<p>some words</p>", 100_000) + "</main>"
	text := parse(t, home, html).Markdown()
	assert.Equal(t, "T some words", text[:12])
	assert.Equal(t, 100_000, strings.Count(text, "some words"))
}

// treeMarkdown converts the tree as it is.
func treeMarkdown(t *testing.T, html string) string {
	t.Helper()
	text, err := converter.NewConverter(
		converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()),
	).ConvertString(html)
	require.NoError(t, err)
	return text
}

var destination = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)

// wordsOf returns the words of a text, without destinations and marks.
func wordsOf(text string) []string {
	text = destination.ReplaceAllString(text, " $1 ")
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n\t*_`|#>[]-\\", r) })
}

// clip returns what stands around a place in a text.
func clip(s string, at int) string { return s[max(0, at-40):min(len(s), at+40)] }

func TestTheLimitsOfMarkupChangeNoRecordedPage(t *testing.T) {
	frames := regexp.MustCompile(`(?is)<(nav|header|footer|svg)[ >].*?</(nav|header|footer|svg)>|</?(main|article)[^>]*>| role="?\w+"?|<img[^>]*>`)
	pages, differ := 0, 0
	recordedPages(t, func(url, html string) {
		html = frames.ReplaceAllString(html, "")
		tree := strings.Join(wordsOf(treeMarkdown(t, html)), "")
		mine := strings.Join(wordsOf(parse(t, url, html).Markdown()), "")
		if pages++; tree != mine {
			differ++
			at := 0
			for at < min(len(tree), len(mine)) && tree[at] == mine[at] {
				at++
			}
			t.Logf("%s: %q where its tree has %q", url, clip(mine, at), clip(tree, at))
		}
	})
	assert.Equal(t, 94, pages)
	assert.LessOrEqual(t, differ, 4, "they differ in a comment, a 01. and two spaces")
}

var hostile = func() map[string]string {
	const size = 512 << 10
	fill := func(head, unit string) string { return head + strings.Repeat(unit, (size-len(head))/len(unit)) }
	docs := map[string]string{
		"quotes":         fill(strings.Repeat("<blockquote>", 200), "<p>a"),
		"deep quotes":    fill(strings.Repeat("<blockquote>", 450), "<p>a"),
		"lists":          fill(strings.Repeat("<ul><li>", 100), "a<br>"),
		"many lists":     fill("", "<ul><li>a"),
		"deep lists":     fill(strings.Repeat("<ol><li>", 200), "a<br>"),
		"code":           fill(strings.Repeat("<blockquote>", 200)+"<pre>", "a\n"),
		"lines of code":  fill(strings.Repeat("<blockquote>", 20)+"<pre>a", "\n") + "b",
		"columns":        fill("<table><tr>"+strings.Repeat("<td>a", 1000)+"</tr>", "<tr><td>a</td></tr>"),
		"wide cell":      "<table><tr><td>" + strings.Repeat("x", size/2) + strings.Repeat("<tr><td>a<td>b", size/30),
		"spans":          fill("<table>", "<tr><td colspan=9999999>a"),
		"cells":          fill("<table><tr>", "<td colspan=16>"),
		"row spans":      fill("<table>", "<tr><td rowspan=65000 colspan=1000>a"),
		"tables":         fill("", "<table><tr><td>a"),
		"closed tables":  fill("", "<table><tr><td>a</table>"),
		"fostered":       fill("<table>", "x<table>"),
		"formatting":     fill(many(100, "<font size=%d><b class=%d>"), "<p>a"),
		"inline":         fill("", "<b><i><code>"),
		"bold lines":     fill("<b><i><code>", "<p>a"),
		"misnested":      fill("", "<b><div>a</b>"),
		"links":          many(size/40, `<a href="/%d">label %d</a>`),
		"one link":       fill("", "<a href=x>l</a>"),
		"empty links":    fill("", "<a href=x></a>"),
		"open links":     fill("", "<a href=x>l<p>"),
		"parentheses":    fill("", `<a href="(((((((((((((((((((">l</a>`),
		"long base":      fill("<base href='/"+strings.Repeat("b", 8000)+"/'>", "<a href=a>l</a>"),
		"broken links":   fill("<base href='/"+strings.Repeat("b", 8000)+"/'>", "<a href=a^>l</a>"),
		"entities":       fill("", "&lt;"),
		"more entities":  fill("", "&nGt;&"),
		"angles":         fill("", ">"),
		"spaces":         fill("", " a"),
		"one word":       fill("", "a"),
		"ends":           fill(strings.Repeat("<div>", 250), "</p></q>"),
		"ends in cells":  fill("<q><table><td>"+strings.Repeat("<div>", 200), "</q>"),
		"own elements":   fill("<x-y><table><td>"+strings.Repeat("<x-x>", 200), "</x-y>"),
		"headings":       fill("", "<h6>a"),
		"rules":          fill("", "<hr>"),
		"breaks":         fill("", "a<br>"),
		"svg":            fill("", "<svg><title>x"),
		"images":         fill("", "<img alt=xx>"),
		"mains":          fill("", "<main><nav>x</main>"),
		"articles":       fill("<article>", "<article>a</article>"),
		"roles":          fill("", "<p role=main>a"),
		"comments":       fill("", "<!---->a"),
		"less":           fill("", "<"),
		"ordered":        fill("<ol start=999999>", "<li>a"),
		"quotes in cell": fill("<table>", "<tr><td><blockquote>a"),
	}
	for _, tag := range []string{"div", "p", "span", "dl", "dd", "section", "table", "td", "tr", "form", "button", "select", "details", "h1", "li", "ul", "pre", "svg", "math", "template", "object", "b", "a", "nobr"} {
		docs["nested "+tag] = fill("", "<"+tag+">")
		docs["nested "+tag+" with text"] = fill("", "<"+tag+">a")
	}
	return docs
}()

func TestAHostilePageMakesNoMoreTextThanAFewTimesItself(t *testing.T) {
	for name, html := range hostile {
		p := parse(t, home, html)
		start, before := time.Now(), allocated()
		text := p.Markdown()
		took, allocs := time.Since(start), allocated()-before
		t.Logf("%-24s %4d KiB of text, %5d KiB allocated, %v", name, len(text)>>10, allocs>>10, took)
		assert.LessOrEqual(t, len(text), 64<<10+4*len(html), name)
		assert.LessOrEqual(t, allocs, uint64(2<<20+512*len(html)), name) // most of it is not kept
		assert.GreaterOrEqual(t, p.Size(), len(html)+len(text), name)
	}
}
