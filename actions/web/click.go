package web

import (
	"cmp"
	"slices"

	"github.com/speccache/speccache-go/actions"
)

// maxChoices bounds what a LabelError lists.
const maxChoices = 20

// A target is where a label leads.
type target struct {
	action    actions.Action
	ambiguous bool
}

// targets returns where the page's labels lead, by folded label.
func (p *Page) targets() map[string]target {
	p.labelsOnce.Do(func() {
		p.labels = make(map[string]target, len(p.links))
		for i := range p.links {
			if l := &p.links[i]; l.choice() {
				p.label(l)
			}
		}
	})
	return p.labels
}

func (p *Page) label(l *Link) {
	key := foldLabel(l.Label)
	t, known := p.labels[key]
	if !known {
		t.action = l.Action
	}
	t.ambiguous = t.ambiguous || t.action != l.Action
	p.labels[key] = t
}

// Click returns the visit that clicking a label on this page stands for. The
// label must be a link's own, but for white space and for upper and lower case
// (as in [strings.EqualFold]); nothing like it will do. Several links may have
// it if all lead to one page.
//
// The error is a [*LabelError], unless the label is empty or there is no page.
func (p *Page) Click(label string) (actions.Action, error) {
	if p == nil {
		return actions.Action{}, errNoPage
	}
	label = cleanLabel(label)
	if label == "" {
		return actions.Action{}, errNoLabel
	}
	t, ok := p.targets()[foldLabel(label)]
	if !ok || t.ambiguous {
		return actions.Action{}, p.labelError(label, ok)
	}
	return t.action, nil
}

func (p *Page) labelError(label string, ambiguous bool) error {
	e := &LabelError{Label: label, Page: p.url, Ambiguous: ambiguous}
	if ambiguous {
		e.Choices = p.urlsOf(foldLabel(label))
	} else {
		e.Choices = p.nearest(label)
	}
	if e.more = len(e.Choices) - maxChoices; e.more > 0 {
		e.Choices = slices.Clone(e.Choices[:maxChoices])
	}
	return e
}

// urlsOf returns the URLs that a label leads to, in reading order.
func (p *Page) urlsOf(key string) []string {
	var urls []string
	seen := map[string]bool{}
	for i := range p.links {
		l := &p.links[i]
		if l.choice() && !seen[l.URL] && foldLabel(l.Label) == key {
			seen[l.URL] = true
			urls = append(urls, l.URL)
		}
	}
	return urls
}

// nearest returns the page's labels, those first that resemble the label
// most.
func (p *Page) nearest(label string) []string {
	type ranked struct {
		label string
		score float64
	}
	near := newNearness(label)
	seen := map[string]bool{}
	var all []ranked
	for i := range p.links {
		l := &p.links[i]
		if l.choice() && !seen[l.Label] {
			seen[l.Label] = true
			all = append(all, ranked{l.Label, near.to(l.Label)})
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	labels := make([]string, len(all))
	for i, r := range all {
		labels[i] = r.label
	}
	return labels
}
