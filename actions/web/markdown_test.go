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
		`a &lt; b &gt; c &amp; d &nbsp;e`:                                  "a &lt; b &gt; c & d \u00a0e",
		`<ol><li>a<li>b<ul><li>c<p>d</p></ul></ol>`:                        "1. a\n2. b\n   - c\n\n     d",
		`<ul><li><p>a</p></li><li><p>b</p></li></ul><ul><li>c</ul>`:        "- a\n- b\n\n- c",
		`<ol start=5><li>a<li>b</ol>`:                                      "5. a\n6. b",
		`<ol start=99999999999999999999><li>a</ol><ol start=-5><li>b</ol>`: "1. a\n\n1. b",
		`<li>no list`:             "- no list",
		`<ul><li></li><li>b</ul>`: "- b",
		`<blockquote><p>a</p><p>b</p><ul><li>x</ul></blockquote>c`:   "> a\n>\n> b\n>\n> - x\n\nc",
		"<pre>\na\n  b &lt; <b>c</b>\n\nd\n</pre>":                   "```\na\n  b < c\n\nd\n```",
		"<ul><li><pre>a\nb</pre>c</ul>":                              "- ```\n  a\n  b\n  ```\n\n  c",
		`<a href=x><b>bold</b> <em>it</em></a> <code>x  &lt;</code>`: "[**bold** *it*]" + x + " `x <`",
		`<a href=x><h3>T</h3><p>m</p></a>n`:                          "### [T m]" + x + " n",
		`<a href=x><img alt="pic"></a><a href=x></a>`:                "[pic]" + x + "[]" + x,
		`<p><a href=x>never closed</p></div><div>a<p>b`:              "[never closed a b]" + x,
		`<li><a href=x>a<li>b`:                                       "- [a]" + x + "\n- b",
		`<a href=x>` + strings.Repeat("long ", 1000) + `<p>b`:        "[" + strings.Repeat("long ", 999) + "long]" + x + "\n\nb",
		`<p>a<br>b<br><br>c<hr>d`:                                    "a  \nb\n\nc\n\n* * *\n\nd",
		`<h1>a<br>b <a href=x>l</a></h1>c`:                           "# a b [l]" + x + "\n\nc",
		`a <b>b</b>c <b> d </b>e <i></i>f <b><i>g</b></i>h`:          "a **b**c **d** e f ***g***h",
		`<b>a <a href=x>b <i>c</i></a> d</b>`:                        "**a [b *c*]" + x + " d**",
		`<ul><li><table><tr><td>1<td>2<tr><td>3</table></ul>`:        "- | | |\n  |---|---|\n  | 1 | 2 |\n  | 3 |",
		`<b>a<p>b</b>c`: "**a**\n\n**b**c",
		`<table><caption>c</caption><tr><th>A<th>B<tr><td>1<br>2<td>3`:      "c\n\n| A | B |\n|---|---|\n| 1 2 | 3 |",
		`<table><tr><td colspan=2>x<tr><td>1<td>2</table>y`:                 "| | |\n|---|---|\n| x | |\n| 1 | 2 |\n\ny",
		`<table><tr><td><ul><li>a</ul><td>c</table>`:                        "- a\n\nc",
		`<table><tr><td><table><tr><td>in</table><td>z</table>`:             "| |\n|---|\n| in |\n\nz",
		`<dl><dt>a<dd>b</dl><select><option>a<option>b</select>`:            "a\n\nb\n\na\nb",
		`un<b></b>bro<span>ken</span>, <my-el>own</my-el> <svg>no</svg>`:    "unbroken, own",
		`<svg><title>no<div>yes`:                                            "yes",
		`<textarea>no</textarea><math><mi>m</mi></math><plaintext><p>x</p>`: "m&lt;p&gt;x&lt;/p&gt;",
	} {
		assert.Equal(t, want, parse(t, home, html).Markdown(), "%.80s", html)
	}
}

// treeMarkdown converts as a library does that builds the whole tree.
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

func TestTheTextOfARecordedPageIsThatOfItsTree(t *testing.T) {
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
	const size = (512 << 10) / slowdown
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
		assert.LessOrEqual(t, allocs, uint64(1<<20+24*len(html)), name)
		assert.GreaterOrEqual(t, p.Size(), len(html)+len(text), name)
		assert.Less(t, took, 5*time.Second, name) // it is some milliseconds
	}
}
