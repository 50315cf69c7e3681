package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
)

// A reader is the target: it decides what to click, and when it has read
// enough. A language model would sit here; this one is deterministic, so that
// both runs ask for the same pages if, and only if, they are shown the same.
//
// It is no relative of the draft, or the draft would be the target in
// disguise. It goes by the text around a link, which tells what to expect
// behind it, with stems and weights of its own, and keeps every link that it
// has seen and not followed: when a page disappoints, it goes back to the best
// of them. It knows no path.
type reader struct {
	think time.Duration // about each page, as a model would

	question map[string]bool // its terms
	number   bool            // the answer is a number
	read     map[string]bool // URLs
	links    []prospect      // seen so far, oldest first
}

// A prospect is a link and how much it promises.
type prospect struct {
	web.Link
	from  string // the URL of the page with the link
	score int
}

func newReader(question string, think time.Duration) *reader {
	return &reader{
		think:    think,
		question: terms(question),
		number:   strings.HasPrefix(strings.ToLower(question), "how many"),
		read:     map[string]bool{},
	}
}

// A decision is either an answer or the next click.
type decision struct {
	answer string
	action actions.Action
	what   string // the action in words
}

// decide thinks about the page in view. It returns the zero decision if there
// is nothing left to try.
func (r *reader) decide(ctx context.Context, page *web.Page) (decision, error) {
	if err := pause(ctx, r.think); err != nil {
		return decision{}, err
	}
	r.note(page)
	if answer := r.answer(page.Markdown()); answer != "" {
		return decision{answer: answer}, nil
	}
	return r.choose(page)
}

// enough is the share of a question's terms, in quarters, that a sentence has
// to contain to count as its answer.
const enough = 3

// answer returns the sentence that answers the question best, or "".
func (r *reader) answer(markdown string) (best string) {
	most := 0
	for _, s := range sentences(markdown) {
		n := shared(r.question, terms(s))
		if 4*n >= enough*len(r.question) && n > most && (!r.number || digit.MatchString(s)) {
			best, most = s, n
		}
	}
	return best
}

var digit = regexp.MustCompile(`\b[0-9]+\b`)

// note remembers that a page was read, and what its links promise.
func (r *reader) note(page *web.Page) {
	r.read[page.URL()], r.read[page.Requested()] = true, true
	around := map[string]string{} // by URL: the lines with links to it
	for _, line := range lines(page.Markdown()) {
		for _, m := range markdownLink.FindAllStringSubmatch(line, -1) {
			around[m[2]] += " " + line
		}
	}
	for _, l := range page.Links() {
		if l.Label == "" || r.read[l.URL] {
			continue
		}
		said := terms(markdownLink.ReplaceAllString(around[l.URL], "$1"))
		score := 2*shared(r.question, terms(l.Label)) + shared(r.question, said)
		r.consider(prospect{Link: l, from: page.URL(), score: score})
	}
}

// consider keeps one prospect for each URL: the best score, and the link that
// was seen last, since that is the one to click.
func (r *reader) consider(p prospect) {
	i := slices.IndexFunc(r.links, func(q prospect) bool { return q.URL == p.URL })
	switch {
	case i < 0:
		r.links = append(r.links, p)
	case r.links[i].from == p.from && r.links[i].score >= p.score:
	default:
		p.score = max(p.score, r.links[i].score)
		r.links[i] = p
	}
}

// choose returns the best link that was not followed yet. Of equal ones it
// takes one in view, and of those the first.
func (r *reader) choose(page *web.Page) (decision, error) {
	var best *prospect
	for i := range r.links {
		p := &r.links[i]
		if !r.read[p.URL] && (best == nil || p.better(best, page)) {
			best = p
		}
	}
	if best == nil {
		return decision{}, nil
	}
	return open(page, best)
}

func (p *prospect) better(than *prospect, page *web.Page) bool {
	if p.score != than.score {
		return p.score > than.score
	}
	return p.from == page.URL() && than.from != page.URL()
}

// open clicks a link on the page in view, and visits one from elsewhere.
func open(page *web.Page, p *prospect) (decision, error) {
	if to, err := page.Click(p.Label); err != nil || to != p.Action {
		return decision{action: p.Action, what: "visit " + pathOf(p.URL)}, nil
	}
	click, err := web.Click(p.Label)
	return decision{action: click, what: fmt.Sprintf("click %q", p.Label)}, err
}
