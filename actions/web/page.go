package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/speccache/speccache-go/actions"
)

// A Page is what a visit observes. It is immutable and safe for concurrent
// use. A nil Page is an empty one: sessions keep nil for old observations.
type Page struct {
	url, requested string
	host           string
	status         int
	header         http.Header
	life           lifetime
	by             *Fetcher // nil if it was only parsed

	html  string
	bytes int
	text  int // bytes that its text may take
	title string
	links []Link
	urls  int // bytes of their URLs; many links share one
	refs  *resolver

	// What only some readers want is made when the first one asks.
	textOnce     sync.Once
	markdown     string
	viewOnce     sync.Once
	view         actions.View
	labelsOnce   sync.Once
	labels       map[string]target
	verdictsOnce sync.Once
	verdicts     map[actions.Action]verdict
}

// Parse makes the page that a visit to url would observe if the host answered
// with this HTML, which must be UTF-8: for replays, tests, and fetchers of
// your own. The error is a [*URLError], or wraps [ErrTooLarge] if the links
// add up to more than any page needs.
func Parse(url, html string) (*Page, error) {
	a, err := absolute(url)
	if err != nil {
		return nil, err
	}
	p := &Page{
		url:       a.url,
		requested: a.url,
		host:      a.host,
		status:    http.StatusOK,
		html:      repair(html),
		bytes:     len(html),
	}
	if err := p.scan(); err != nil {
		return nil, err
	}
	return p, nil
}

// scan reads title and links, which every session needs.
func (p *Page) scan() error {
	s, err := scanHTML(p.html)
	if err != nil {
		return fmt.Errorf("web: %s: %w", p.url, err)
	}
	if len(s.links) > maxLinks {
		return fmt.Errorf("web: %s: %w: it has more than %d links", p.url, ErrTooLarge, maxLinks)
	}
	r, err := newResolver(p.url, s.base)
	if err != nil {
		return err
	}
	p.title, p.refs = s.title, r
	k := linker{page: p.url, resolver: r, links: make([]Link, 0, len(s.links)), seen: map[string]int{}}
	for _, a := range s.links {
		if k.add(a); k.bytes > maxLinkBytes {
			return fmt.Errorf("web: %s: %w: its links take more than %d bytes", p.url, ErrTooLarge, maxLinkBytes)
		}
	}
	p.links = k.links
	p.urls = k.bytes
	p.text = s.maxText(p.html, p.links)
	return nil
}

// URL returns the canonical URL that answered, after redirects.
func (p *Page) URL() string {
	if p == nil {
		return ""
	}
	return p.url
}

// Requested returns the canonical URL that was asked for.
func (p *Page) Requested() string {
	if p == nil {
		return ""
	}
	return p.requested
}

// Status returns the HTTP status: 200, or 203 if a proxy changed the page.
func (p *Page) Status() int {
	if p == nil {
		return 0
	}
	return p.status
}

// Header returns a copy of the response's header.
func (p *Page) Header() http.Header {
	if p == nil {
		return nil
	}
	return p.header.Clone()
}

// Private reports whether the host meant the page for one client: it said
// Cache-Control: private, set a cookie, or answered a request with credentials:
// the scope's own, or others without leave to share. Caches do not keep it for a Public rule.
func (p *Page) Private() bool { return p != nil && p.life.private }

// Title returns the page's title in one line. It may be empty.
func (p *Page) Title() string {
	if p == nil {
		return ""
	}
	return p.title
}

// HTML returns the markup as UTF-8.
func (p *Page) HTML() string {
	if p == nil {
		return ""
	}
	return p.html
}

// Bytes returns the length of the body as received, decompressed.
func (p *Page) Bytes() int {
	if p == nil {
		return 0
	}
	return p.bytes
}

// Links returns a copy of the page's links in reading order: what leads to
// pages by http or https, the page itself included.
func (p *Page) Links() []Link {
	if p == nil {
		return nil
	}
	return slices.Clone(p.links)
}

// View returns the page for predictors: its title, its text as Markdown, and
// the links as choices. Each label occurs once for every URL that it leads to;
// links without a label, and those to a place on the page itself, are no
// choices. The choices are a copy.
func (p *Page) View() actions.View {
	if p == nil {
		return actions.View{}
	}
	p.viewOnce.Do(func() {
		p.view = actions.View{Title: p.title, Text: p.Markdown(), Choices: p.choices()}
	})
	v := p.view
	v.Choices = slices.Clone(v.Choices)
	return v
}

func (p *Page) choices() []actions.Choice {
	var choices []actions.Choice
	seen := map[actions.Choice]bool{}
	for i := range p.links {
		l := &p.links[i]
		c := actions.Choice{Label: l.Label, Action: l.Action}
		if l.choice() && !seen[c] {
			seen[c] = true
			choices = append(choices, c)
		}
	}
	return choices
}

// Size estimates the bytes that the page holds in memory, including what is
// made when somebody asks for it. It never changes.
func (p *Page) Size() int {
	if p == nil {
		return 0
	}
	const page, link = 2 << 10, 400 // structs, slices, and two maps
	size := page + len(p.html) + p.text + p.urls
	for i := range p.links {
		size += link + 2*len(p.links[i].Label)
	}
	for key, values := range p.header {
		size += len(key) + len(strings.Join(values, ""))
	}
	return size
}
