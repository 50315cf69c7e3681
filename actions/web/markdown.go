package web

import (
	"strings"

	"golang.org/x/net/html"
)

// Markdown returns the page's main text as Markdown, made on the first call,
// which takes about as long as Parse. Links have absolute URLs, images are their
// alternative text. Navigation, headers and footers of the page, scripts and
// styles are left out, but a page that has any text has a text here.
//
// Whatever the markup is, this takes time in proportion to its length, and the
// text is at most four times as long, and 64 KiB. Markup that would make more
// of it loses its structure.
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
	plan, ok := surveyHTML(p.html)
	for _, whole := range []bool{false, true} {
		var text string
		if ok {
			text, ok = p.write(plan, whole)
		}
		if ok && text != "" {
			return text
		}
	}
	return plainText(p.html, p.text)
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
		switch t := s.z.Next(); t {
		case html.ErrorToken:
			return strings.TrimSpace(b.String())
		case html.TextToken:
			if s.raw == 0 {
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
		for n < len(text) && !isSpace[text[n]] {
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
