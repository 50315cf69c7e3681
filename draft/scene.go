package draft

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/speccache/speccache-go/actions"
)

// A scene is what a model may see of a state: not its scope.
type scene struct {
	goal  string
	steps []past
	page  actions.View
	links []linkTo // best first
	rank  *ranking // nil: no page is in view
}

// A past is a step that was taken: what was done, and the title of what was
// seen.
type past struct{ did, title string }

// A linkTo is a choice with what the model is told of it.
type linkTo struct {
	choice  actions.Choice
	path    string // "": it leads to no address
	visited bool
}

const maxSteps = 16 // that are shown, the newest

// look reads a state. Arguments of actions that are not named, by the caller
// or by a choice in view, are not shown: a password may be among them.
func look[O any](view func(O) actions.View, s actions.State[O], named map[string]bool) scene {
	sc := scene{goal: oneLine(clip(s.Goal, maxGoal))}
	r, page, ok := survey(view, s)
	if ok {
		sc.page, sc.rank, sc.links = page, r, r.links()
	}
	names := maps.Clone(named)
	for _, c := range page.Choices {
		names[c.Action.Name()] = true
	}
	for _, step := range s.Steps[max(0, len(s.Steps)-maxSteps):] {
		p := past{did: deed(step.Action, names)}
		if !isZero(step.Observation) {
			p.title = quoted(clip(view(step.Observation).Title, maxLabel))
		}
		sc.steps = append(sc.steps, p)
	}
	return sc
}

func deed(a actions.Action, names map[string]bool) string {
	switch {
	case a == (actions.Action{}):
		return "began"
	case names[a.Name()]:
		return a.Name() + " " + shortArgs(a.Args())
	}
	return a.Name()
}

// links returns where the page leads, best first, and to where the agent was
// already at the end. The page itself is left out.
func (r *ranking) links() (links []linkTo) {
	for _, p := range r.order {
		r.score(p)
	}
	places := slices.Clone(r.order)
	slices.SortStableFunc(places, func(a, b *place) int {
		return cmp.Or(boolCompare(r.visited[a.at.key], r.visited[b.at.key]), cmp.Compare(b.score, a.score))
	})
	home := r.home()
	for _, p := range places {
		if p.at.key != r.here.key {
			links = append(links, linkTo{choice: p.chosen(), path: p.at.path(home), visited: r.visited[p.at.key]})
		}
	}
	return links
}

// home is the page's own host. The address of a page that was observed and not
// asked for is not known: there it is the host of most links.
func (r *ranking) home() (host string) {
	if r.here.host != "" {
		return r.here.host
	}
	count := make(map[string]int)
	for _, p := range r.order {
		if count[p.at.host]++; count[p.at.host] > count[host] {
			host = p.at.host
		}
	}
	return host
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// chosen returns the choice whose label matched best.
func (p *place) chosen() actions.Choice {
	i := slices.IndexFunc(p.choices, func(c actions.Choice) bool { return c.Action == p.action })
	return p.choices[max(0, i)]
}

// path returns an address in short, without its query, which may hold secrets,
// and without its host if that is home. Escapes are undone: they are unreadable,
// and three tokens for each byte.
func (at address) path(home string) string {
	short := shortURL(at.url)
	if at.host == home {
		short = strings.TrimPrefix(short, hostOnly(at.host))
	}
	if plain, err := url.PathUnescape(short); err == nil && utf8.ValidString(plain) {
		short = plain
	}
	return short
}

func hostOnly(host string) string { return host[strings.LastIndexByte(host, '@')+1:] }

// shortURL leaves out user and password and the query of a host with path.
func shortURL(address string) string {
	address, _, _ = strings.Cut(address, "?")
	host, path, found := strings.Cut(address, "/")
	if !found {
		return hostOnly(address)
	}
	return hostOnly(host) + "/" + path
}
