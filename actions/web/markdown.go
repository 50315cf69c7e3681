package web

import (
	"strings"
	"sync"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Markdown returns the page's main text as Markdown, made on the first call:
// some 15 ms for 200 KB of HTML. Links have absolute URLs, images are their
// alternative text. Navigation, headers and footers of the page, scripts and
// styles are left out, but a page that has any text has a text here.
//
// Whatever the markup is, the text is at most four times as long, and 64 KiB.
// Markup of more than 1 MiB, or that would make more text of it, loses its
// structure.
func (p *Page) Markdown() string {
	if p == nil {
		return ""
	}
	p.textOnce.Do(func() { p.markdown = p.convert() })
	return p.markdown
}

// convert tries the main part of the page, then all of it, then does without
// structure.
func (p *Page) convert() string {
	if parsable(p.html) {
		for _, part := range []func(*html.Node) *html.Node{mainPart, wholePart} {
			text := strings.TrimSpace(p.render(part))
			if len(text) <= p.text && text != "" {
				return text
			}
		}
	}
	return strings.TrimSpace(plainText(p.html, p.text))
}

// render converts a part of the page. This runs wherever somebody first asks:
// a panic of the libraries means no text.
func (p *Page) render(part func(*html.Node) *html.Node) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	doc, err := html.Parse(strings.NewReader(p.html))
	if err != nil {
		return ""
	}
	root := part(doc)
	p.rewrite(root)
	tame(root, 0, 0)
	markdown, err := markdown().ConvertNode(root)
	if err != nil {
		return ""
	}
	return string(markdown)
}

// markdown is the converter. Text is not escaped: it is read by models, which
// should find labels as they are.
var markdown = sync.OnceValue(func() *converter.Converter {
	return converter.NewConverter(
		converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(
			base.NewBasePlugin(),
			commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)),
			table.NewTablePlugin(),
		),
	)
})

// mainPart returns <main>, or the only <article>, or the body, without what
// surrounds the text.
func mainPart(doc *html.Node) *html.Node {
	root := doc
	if mains := find(doc, isMain); len(mains) > 0 {
		root = mains[0]
	} else if articles := find(doc, isArticle); len(articles) == 1 {
		root = articles[0]
	}
	around := func(n *html.Node) bool { return n != root && isFrame(n) && !within(n) }
	for _, n := range find(root, around) {
		remove(n)
	}
	return wholePart(root)
}

// wholePart takes out of a part what is no text.
func wholePart(root *html.Node) *html.Node {
	for _, n := range find(root, isNoise) {
		remove(n)
	}
	return root
}

func isMain(n *html.Node) bool {
	return n.DataAtom == atom.Main || attr(n, "role") == "main"
}

func isArticle(n *html.Node) bool { return n.DataAtom == atom.Article }

// isFrame finds what stands around the text. Headers and footers of articles
// are text, as within reports.
func isFrame(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Header, atom.Footer:
		return true
	}
	role := attr(n, "role")
	return role == "navigation" || role == "banner" || role == "contentinfo"
}

// within reports whether n is a header or footer of the text itself.
func within(n *html.Node) bool {
	if n.DataAtom != atom.Header && n.DataAtom != atom.Footer {
		return false
	}
	for up := n.Parent; up != nil; up = up.Parent {
		if isMain(up) || isArticle(up) || up.DataAtom == atom.Section {
			return true
		}
	}
	return false
}

func isNoise(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe,
		atom.Head, atom.Object, atom.Audio, atom.Video, atom.Canvas:
		return true
	}
	return false
}

// find returns the outermost elements below n that match, and n itself if it
// does. Trees are at most 512 deep.
func find(n *html.Node, match func(*html.Node) bool) []*html.Node {
	if n.Type == html.ElementNode && match(n) {
		return []*html.Node{n}
	}
	var found []*html.Node
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		found = append(found, find(c, match)...)
	}
	return found
}

func remove(n *html.Node) {
	if n.Parent != nil {
		n.Parent.RemoveChild(n)
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// rewrite makes links absolute and images their alternative text. A long base
// could make short links into a text without end: what the URLs may add up to
// is bounded by the page's own size, and links beyond that are bare text.
func (p *Page) rewrite(root *html.Node) {
	budget := urlBudget(p.html)
	for n := range root.Descendants() {
		switch n.DataAtom {
		case atom.A:
			url := p.follow(attr(n, "href"))
			budget -= len(url)
			if n.Attr = nil; url == "" || budget < 0 {
				n.DataAtom, n.Data = atom.Span, "span"
				continue
			}
			n.Attr = []html.Attribute{{Key: "href", Val: url}}
		case atom.Img:
			*n = html.Node{
				Type: html.TextNode, Data: attr(n, "alt"),
				Parent: n.Parent, PrevSibling: n.PrevSibling, NextSibling: n.NextSibling,
			}
		}
	}
}

// follow returns the URL of another page that a link leads to, or "".
func (p *Page) follow(href string) string {
	if href == "" {
		return ""
	}
	to, fragment, err := p.refs.resolve(href)
	if err != nil || fragment && to.url == p.url {
		return ""
	}
	return to.url
}

// urlBudget is what the URLs in a page's text may add up to.
func urlBudget(html string) int { return 32<<10 + 2*len(html) }

// maxText bounds the text that is made of a page with this content: what real
// pages need, and never more than a few times the page.
func (s *scan) maxText(html string, links []Link) int {
	urls := 0
	for i := range links {
		urls += len(links[i].URL) + 8
	}
	return min(64<<10+4*len(html), 1<<10+2*s.text+24*s.blocks+4*s.tags+min(urls, urlBudget(html)))
}

// plainText returns all text of a page without structure, at most as long as
// most.
func plainText(doc string, most int) string {
	var b strings.Builder
	b.Grow(min(len(doc), most))
	s := scanner{z: html.NewTokenizer(strings.NewReader(doc))}
	space := false
	for {
		switch t := s.next(); t {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			if s.legible() {
				space = fold(&b, s.z.Text(), space)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			s.startTag(t == html.SelfClosingTagToken)
			space = true
		case html.EndTagToken:
			s.endTag()
		}
	}
}

// fold writes text with white space folded, after a space if there is one
// before it, and says whether there is one behind it.
func fold(b *strings.Builder, text []byte, space bool) bool {
	for len(text) > 0 {
		n := 0
		for n < len(text) && !isSpace(text[n]) {
			n++
		}
		if n == 0 {
			space, text = true, text[1:]
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.Write(text[:n])
		space, text = false, text[n:]
	}
	return space
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v'
}
