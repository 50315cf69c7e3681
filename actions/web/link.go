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
}

// choice reports whether a reader can choose the link to get to a page.
func (l *Link) choice() bool { return l.Label != "" && !l.inPage }

// A linker makes Links of the anchors of one page. Navigation repeats itself,
// so it remembers what it has seen.
type linker struct {
	page string
	*resolver
	seen  map[string]Link // by href
	bytes int             // of the URLs in seen
}

// Limits on the links of a page. Short references against a long base would
// otherwise cost a thousand times the page's own size.
const (
	maxLinks     = 1 << 17
	maxLinkBytes = 32 << 20 // of their URLs
)

// link returns false for what leads to no page: mailto:, javascript: and the
// like, and URLs that nobody should follow.
func (k *linker) link(a anchor) (Link, bool) {
	l, ok := k.seen[a.href]
	if !ok {
		l = k.make(a.href)
		k.seen[a.href] = l
		k.bytes += len(l.URL)
	}
	l.Label, l.download = a.label, a.download
	return l, l.URL != ""
}

func (k *linker) make(href string) Link {
	to, fragment, err := k.resolve(href)
	if err != nil {
		return Link{}
	}
	return Link{
		URL:    to.url,
		Action: visit(to.url),
		host:   to.host,
		inPage: fragment && to.url == k.page,
	}
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
