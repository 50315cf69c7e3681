package web_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const home = "https://site.example/dir/page"

// labelled returns "label -> URL" for every link.
func labelled(p *web.Page) (list []string) {
	for _, l := range p.Links() {
		list = append(list, l.Label+" -> "+l.URL)
	}
	return list
}

func TestALinkIsLabelledByWhatAReaderSees(t *testing.T) {
	for html, label := range map[string]string{
		`<a href=x> Call  for
			<b>Papers</b> </a>`: "Call for Papers",
		`<a href=x>A&amp;B &lt;i&gt; caf&eacute;</a>`:                  "A&B <i> café",
		`<a href=x><h3>Title</h3><p>More</p></a>`:                      "Title More",
		`<a href=x>one<br>two</a>`:                                     "one two",
		`<a href=x>un<b>brok</b>en</a>`:                                "unbroken",
		`<a href=x><img alt="Logo"></a>`:                               "Logo",
		`<a href=x><img alt="Logo"> Home</a>`:                          "Home",
		`<a href=x aria-label="Menu"><i class=icon></i></a>`:           "Menu",
		`<a href=x aria-label="Menu">Text</a>`:                         "Text",
		`<a href=x title="Tip"><img src=y></a>`:                        "Tip",
		`<a href=x><svg><title>GitHub</title><path/></svg></a>`:        "GitHub",
		`<a href=x><script>var a="no"</script>yes<style>b{}</style>`:   "yes",
		`<a href=x><!-- no -->yes</a>`:                                 "yes",
		"<a href=x>a\x00b\x07c\u202Ed\u200be\u00adf\u2028g\u00a0h</a>": "a b cdef g h",
		`<a href=x>unclosed`:                                           "unclosed",
		`<a href=x></a>`:                                               "",
		`<a href=x>` + strings.Repeat("a", 5000) + `</a>`:              strings.Repeat("a", 1023),
		`<A HREF=x>Upper</A>`:                                          "Upper",
		`<map><area href=x alt="North"></map>`:                         "North",
	} {
		p := parse(t, home, html)
		if assert.Len(t, p.Links(), 1, html) {
			assert.Equal(t, label, p.Links()[0].Label, html)
			assert.Equal(t, "https://site.example/dir/x", p.Links()[0].URL, html)
		}
	}
}

func TestLinksStandInReadingOrderAndLeadToPages(t *testing.T) {
	p := parse(t, home, `
		<a href="/root">1</a> <a href="rel?q#f">2</a> <a href="//other.example/">3</a>
		<a href="http://site.example:80/x/../y">4</a> <a href="?q=1">5</a> <a href="HTTPS://SITE.EXAMPLE">6</a>
		<a href="\back\slash">7</a> <a href=" /sp
		ace ">8</a> <a href="">9</a> <a href="/a" href="/b">10</a>
		<a>no</a> <a name=x>no</a> <a href="mailto:a@b.c">no</a> <a href="javascript:void(0)">no</a>
		<a href="data:text/html,x">no</a> <a href="JavaScript:x">no</a> <a href="java
script:x">no</a> <a href="tel:1">no</a> <a href="ftp://h/">no</a> <a href="file:///x">no</a>
		<a href="about:blank">no</a> <a href="blob:https://site.example/1">no</a>
		<a href="http://user:pw@site.example/">no</a> <a href="//user@site.example/">no</a>
		<a href="http://[::1">no</a> <a href="https://a b/">no</a> <a href="/%zz">no</a>
		<!-- <a href=/x>no</a> --> <template><a href=/x>no</a></template>
		<script>"<a href=/x>no</a>"</script> <noscript><a href=/x>no</a></noscript>
		<textarea><a href=/x>no</a></textarea> <title><a href=/x>no</a></title>
		<a href="/last">11</a>`)
	assert.Equal(t, []string{
		"1 -> https://site.example/root",
		"2 -> https://site.example/dir/rel?q",
		"3 -> https://other.example/",
		"4 -> http://site.example/y",
		"5 -> https://site.example/dir/page?q=1",
		"6 -> https://site.example/",
		"7 -> https://site.example/back/slash",
		"8 -> https://site.example/space",
		"9 -> https://site.example/dir/page",
		"10 -> https://site.example/a",
		"11 -> https://site.example/last",
	}, labelled(p))
}

func TestTheBaseOfAPageIsHonoured(t *testing.T) {
	for base, want := range map[string]string{
		`<base href="/other/">`:                                 "https://site.example/other/x",
		`<base target=_top><base href="/one/"><base href="/2">`: "https://site.example/one/x",
		`<base href="http://else.example/a/b">`:                 "http://else.example/a/x",
		`<base href="http://[broken">`:                          "https://site.example/dir/x",
		`<base href="javascript:x">`:                            "https://site.example/dir/x",
	} {
		p := parse(t, home, `<a href=x>before</a>`+base+`<a href=x>after</a>`)
		assert.Equal(t, []string{"before -> " + want, "after -> " + want}, labelled(p), base)
	}
	for _, base := range []string{`<base href="mailto:x">`, `<base href="http://u:p@h/">`, `<base href="ftp://h/">`} {
		assert.Empty(t, parse(t, home, base+`<a href=x>x</a>`).Links(), base)
	}
}

func TestADrawingThatIsNotClosedHidesNoLinks(t *testing.T) {
	p := parse(t, home, `<svg><style/><title/><a href=/in>in</a><div><script>"<a href=/no>no</a>"</script><a href=/out>out</a>`)
	assert.Equal(t, []string{"in -> https://site.example/in", "out -> https://site.example/out"}, labelled(p))
}

func TestTheTitleIsThePagesOwn(t *testing.T) {
	for html, title := range map[string]string{
		`<svg><title>Icon</title></svg><title>Page &amp; more</title><title>2</title>`: "Page & more",
		`<a href=x>t</a>`:        "",
		"<title>\n a\tb\x1b[31m": "a b [31m",
	} {
		assert.Equal(t, title, parse(t, home, html).Title(), html)
	}
}

func TestTheMarkdownIsTheMainText(t *testing.T) {
	p := parse(t, home, `<head><title>T</title><style>no{}</style></head>
		<header><a href=/>no</a></header><nav>no</nav>
		<main><header><h1>Head</h1></header><nav>no</nav>
		<p>Text with <a href="x?a=1#f">a link</a>, <a href="javascript:no()">button</a>, <a href="#here">jump</a>
		<img src="data:image/png;base64,no" alt="picture"> 1. 2 * 3 [x] &lt;</p>
		<ul><li>one</li><li>two</li></ul><table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>
		<script>no</script><noscript>no</noscript><template>no</template><svg><text>no</text></svg></main>
		<aside>no</aside><footer>no</footer>`)
	assert.Equal(t, `# Head

Text with [a link](https://site.example/dir/x?a=1), button, jump picture 1. 2 * 3 [x] &lt;

- one
- two

| A | B |
|---|---|
| 1 | 2 |`, p.Markdown())
}

func TestAPageWithTextHasAText(t *testing.T) {
	for html, want := range map[string]string{
		`<main></main><p>outside</p>`:                                 "outside",
		`<nav>only navigation</nav>`:                                  "only navigation",
		`<header>only a header</header>`:                              "only a header",
		`<main><nav>in main</nav></main>`:                             "in main",
		`<article>a</article><article>b</article>`:                    "a\n\nb",
		`<nav>no</nav><article><footer>by me</footer>text</article>`:  "by me\n\ntext",
		`<div role=navigation>no</div><div role=main>yes</div>`:       "yes",
		strings.Repeat(`<div>`, 600) + "deep" + `<script>no</script>`: "deep",
		`plain`:              "plain",
		``:                   "",
		`<script>x</script>`: "",
	} {
		assert.Equal(t, want, parse(t, home, html).Markdown(), "%.80s", html)
	}
}

func TestAViewOffersEachLabelOncePerPageThatItLeadsTo(t *testing.T) {
	v := parse(t, home, `<title>T</title><a href=/a>A</a><a href=/a#x>A</a><a href=/a>Also A</a>
		<a href=/b>A</a><a href=/c></a><a href="#top">Top</a><a href="page#x">Place</a><a href=page>Self</a>`).View()
	assert.Equal(t, "T", v.Title)
	assert.Contains(t, v.Text, "Also A")
	at := func(path string) actions.Action { return visit(t, "https://site.example"+path) }
	assert.Equal(t, []actions.Choice{
		{Label: "A", Action: at("/a")}, {Label: "Also A", Action: at("/a")},
		{Label: "A", Action: at("/b")}, {Label: "Self", Action: at("/dir/page")},
	}, v.Choices)
}

func TestANilPageIsAnEmptyOne(t *testing.T) {
	var p *web.Page
	assert.Zero(t, p.URL()+p.Requested()+p.Title()+p.HTML()+p.Markdown())
	assert.Zero(t, p.Status()+p.Bytes()+p.Size())
	assert.Nil(t, p.Header())
	assert.Nil(t, p.Links())
	assert.Zero(t, p.View())
	_, err := p.Click("x")
	assert.ErrorContains(t, err, "page in view")
}

func TestReadersCannotChangeAPage(t *testing.T) {
	p := parse(t, home, `<a href=/a>A</a>`)
	p.Links()[0].Label = "changed"
	assert.Equal(t, "A", p.Links()[0].Label)
	p.View().Choices[0].Label = "changed"
	_ = append(p.View().Choices[:0], actions.Choice{Label: "changed"})
	assert.Equal(t, "A", p.View().Choices[0].Label)
	size := p.Size()
	_, _ = p.Click("A")
	assert.Equal(t, size, p.Size())
	assert.Greater(t, size, len(p.HTML()))
}

func TestAPageIsReadByManyAtOnce(t *testing.T) {
	p := parse(t, home, `<title>T</title><main><p>text <a href=/a>A</a><a href=/b>B</a></main>`)
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			assert.Contains(t, p.Markdown(), "text")
			assert.Len(t, p.View().Choices, 2)
			_, err := p.Click("b")
			assert.NoError(t, err)
		})
	}
	readers.Wait()
}

func TestAHostilePageCostsBoundedTime(t *testing.T) {
	at := strings.Repeat("@", 8000)
	for name, html := range map[string]string{
		"links":        many(50_000/slowdown, `<a href="/p/%d">label %d</a>`),
		"odd links":    many(20_000/slowdown, `<a href="x^/%d">label %d</a>`),
		"users":        many(200/slowdown, `<a href="http://%d`+at+`/%d">x</a>`),
		"hidden users": many(200/slowdown, `<a href="http:%d/@`+at+`/%d">x</a>`),
		"paths":        many(200/slowdown, `<a href="/%d`+strings.Repeat("é", 3500)+`%d">x</a>`),
		"segments":     many(200/slowdown, `<a href="/%d`+strings.Repeat("é/", 250)+`%d">x</a>`),
		"dots":         many(200/slowdown, `<a href="/%d`+strings.Repeat("/a/..", 120)+`%d">x</a>`),
		"queries":      many(200/slowdown, `<a href="/%d?`+strings.Repeat("delete'", 1100)+`%d">x</a>`),
		"hosts":        many(500/slowdown, `<a href="http://a%d.`+strings.Repeat("ü.", 300)+`/%d">x</a>`),
		"nesting":      strings.Repeat("<div>", 50_000),
		"inline":       strings.Repeat("<b><i>", 20_000) + "x",
		"stars":        strings.Repeat("*", 250_000),
		"brackets":     strings.Repeat("[](<", 60_000),
		"marks":        many(200/slowdown, `<a href="http://a%d`+strings.Repeat("\u0301", 400)+`/%d">x</a>`),
		"punycode":     many(200/slowdown, `<a href="http://xn--%d`+strings.Repeat("a", 900)+`/%d">x</a>`),
		"attributes":   "<a " + strings.Repeat("x=y ", 60_000) + "href=/x>x</a>",
		"long label":   "<a href=/x>" + strings.Repeat("<p>word ", 50_000),
		"tables":       strings.Repeat("<table><tr><td>", 100) + many(5_000, "<tr><td>%d<td>%d"),
	} {
		start := time.Now()
		p := parse(t, home, html)
		parsed := time.Since(start)
		_ = p.View()
		_, err := p.Click("no such label")
		assert.Error(t, err)
		all := time.Since(start)
		t.Logf("%-10s %7d bytes: parsed in %v, all in %v", name, len(html), parsed, all)
		assert.Less(t, parsed, 5*time.Second, name)
		assert.Less(t, all, 15*time.Second, name)
	}
}

func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i, i)
	}
	return b.String()
}

func TestALongBaseDoesNotMultiplyThePage(t *testing.T) {
	base := `<base href="/` + strings.Repeat("b", 8000) + `/">`
	start := time.Now()
	_, err := web.Parse(home, base+many(50_000, `<a href=%d>x%d</a>`))
	assert.ErrorIs(t, err, web.ErrTooLarge)
	assert.Less(t, time.Since(start), 20*time.Second)
	p := parse(t, home, base+many(500, `<a href=%d>x%d</a>`))
	assert.Greater(t, p.Size(), 4<<20)
	assert.Less(t, len(p.Markdown()), 64<<10+5*len(p.HTML()))
	assert.Contains(t, p.Markdown(), "x499")
	p = parse(t, home, base+strings.Repeat(`<a href=a>x</a>`, 10_000)) // the same one
	assert.Less(t, p.Size(), 6<<20, "what links share is counted once")
	assert.Less(t, len(p.Markdown()), 64<<10+5*len(p.HTML()))
}

func TestAPageOfTooManyLinksIsTooLarge(t *testing.T) {
	_, err := web.Parse(home, strings.Repeat(`<a href=/>a</a>`, 50_000))
	assert.NoError(t, err)
	_, err = web.Parse(home, strings.Repeat(`<a href=/>a</a>`, 50_000+1))
	assert.ErrorIs(t, err, web.ErrTooLarge)
	assert.ErrorContains(t, err, "50000 links")
}

func TestAPageIsChargedForAllThatIsMadeOfIt(t *testing.T) {
	for name, html := range hostile {
		if strings.HasPrefix(name, "nested") {
			continue
		}
		p := parse(t, home, html)
		v := p.View()
		made := len(p.HTML()) + len(v.Text)
		for _, c := range v.Choices {
			made += 64 + len(c.Label)
		}
		assert.GreaterOrEqual(t, p.Size(), made, name)
		assert.LessOrEqual(t, p.Size(), 64<<10+64*len(html), name)
	}
}

func TestAPageNeedsAURL(t *testing.T) {
	_, err := web.Parse("/relative", "")
	var e *web.URLError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "/relative", e.URL)
}
