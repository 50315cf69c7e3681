package web

import (
	"strconv"
	"strings"

	"github.com/speccache/speccache-go/actions"
)

// A Link is a way from a page to another one. Links are values; copy them as
// you like.
type Link struct {
	// Label is what a reader sees: the text with white space folded, or where
	// there is none the alternative text of an image, the aria-label or the
	// title. It may be empty, and is never longer than 1,024 bytes.
	Label string

	// URL is absolute and canonical, without a fragment.
	URL string

	// Action visits the URL.
	Action actions.Action

	host     string // of URL, with a port that is not the scheme's own
	inPage   bool   // leads to a place on the page that it stands on
	download bool   // offers a file
	acts     bool   // by its markup: see attributeActs
}

// choice reports whether a reader can choose the link to get to a page.
func (l *Link) choice() bool { return l.Label != "" && !l.inPage }

// A linker makes Links of the anchors of one page. Navigation repeats itself,
// so it remembers what it has seen.
type linker struct {
	page string
	*resolver
	links []Link
	seen  map[string]int // by href: the first of links that has it, or noLink
	bytes int            // of the URLs of those
}

const noLink = -1

// Limits on the links of a page. Short references against a long base would
// otherwise cost a thousand times the page's own size.
const (
	maxLinks     = 50_000
	maxLinkBytes = 4 << 20 // of their URLs
)

// add makes a link of an anchor. What leads to no page makes none: mailto:,
// javascript: and the like, and URLs that nobody should follow.
func (k *linker) add(a anchor) {
	first, ok := k.seen[a.href]
	if ok && first == noLink {
		return
	}
	var l Link
	if ok {
		l = k.links[first]
	} else if l, ok = k.make(a.href); !ok {
		k.seen[a.href] = noLink
		return
	} else {
		k.seen[a.href] = len(k.links)
		k.bytes += len(l.URL)
	}
	l.Label, l.download, l.acts = a.label, a.download, a.acts
	k.links = append(k.links, l)
}

func (k *linker) make(href string) (l Link, ok bool) {
	to, fragment, err := k.resolve(href)
	if err != nil {
		return Link{}, false
	}
	l = Link{URL: to.url, Action: visit(to.url), inPage: fragment && to.url == k.page}
	if url := bareURL(l.Action); url != "" {
		l.URL = url // they share memory
	}
	origin := address{l.URL, to.host}.origin()
	l.host = origin[len(origin)-len(to.host):]
	return l, true
}

// visit makes the action for a canonical URL, which is printable ASCII: there
// Go quotes as JSON does.
func visit(canonical string) actions.Action {
	quoted := `"` + canonical + `"`
	if strings.ContainsAny(canonical, `"\`) {
		quoted = strconv.Quote(canonical)
	}
	a, err := actions.Parse(visitName, `{"url":`+quoted+`}`)
	if err != nil {
		panic("web: " + err.Error()) // a canonical URL that is no JSON string
	}
	return a
}
