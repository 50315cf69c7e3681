package web

import (
	"fmt"
	"strings"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// The actions that a Fetcher knows.
const (
	visitName = "visit"
	clickName = "click"
)

// Visit makes the action visit {"url": ...} with the canonical form of an
// absolute http or https URL: that of the WHATWG's URL standard, without the
// fragment. The error is a [*URLError].
func Visit(url string) (actions.Action, error) {
	a, err := absolute(url)
	if err != nil {
		return actions.Action{}, err
	}
	return visit(a.url), nil
}

// Click makes the action click {"label": ...}, which means whatever it leads
// to on the page in view. The error says that the label is empty.
func Click(label string) (actions.Action, error) {
	label = cleanLabel(strings.ToValidUTF8(label, "\uFFFD"))
	if label == "" {
		return actions.Action{}, errNoLabel
	}
	return actions.New(clickName, map[string]string{"label": label})
}

// Environment describes the fetcher to a cache: visit and click only read and
// may run ahead, clicks are resolved to visits of what they lead to on the
// page in view, and guesses are held to the policy of [PolicyError]. Pages that
// are wanted are renewed, by conditional requests where they came with an ETag or
// a Last-Modified.
//
// Whoever replaces Do answers for what it did besides fetching: robots.txt, the
// rules for redirects and the pauses of busy hosts are Do's and not the policy's,
// and identities too. Renewals ask as this Fetcher does: leave Renew only if the new
// Do asks in the same way, else set it to nil. Pages that the Fetcher has not read
// itself are never renewed.
func (f *Fetcher) Environment() actions.Environment[*Page] {
	return actions.Environment[*Page]{
		Do:      f.Do,
		Rules:   actions.Reads(visitName, clickName),
		Resolve: resolve,
		Policy:  f.policy,
		Host:    hostOf,
		View:    (*Page).View,
		Size:    (*Page).Size,
		Fresh:   fresh,
		Renew:   f.renew,
	}
}

// resolve makes clicks into visits, and visits canonical, so that one page has
// one key. Other actions are left to Do, which refuses them.
func resolve(s actions.State[*Page], a actions.Action) (actions.Action, error) {
	switch a.Name() {
	case clickName:
		var args struct{ Label string }
		if err := a.Decode(&args); err != nil {
			return actions.Action{}, fmt.Errorf("%w: %w", errNoLabel, err)
		}
		return inView(s).Click(args.Label)
	case visitName:
		to, err := addressOf(a)
		switch {
		case err != nil:
			return actions.Action{}, err
		case bareURL(a) == to.url:
			return a, nil
		}
		return visit(to.url), nil
	}
	return a, nil
}

// inView returns the newest page of a session, or nil. A step that failed
// left the page before it in view.
func inView(s actions.State[*Page]) *Page {
	for i := len(s.Steps) - 1; i >= 0; i-- {
		if p := s.Steps[i].Observation; p != nil {
			return p
		}
	}
	return nil
}

// addressOf returns the address that a visit asks for.
func addressOf(a actions.Action) (address, error) {
	if url := bareURL(a); url != "" {
		return absolute(url)
	}
	var args struct{ URL string }
	if err := a.Decode(&args); err != nil {
		return address{}, fmt.Errorf("%w: %w", errNoURL, err)
	}
	if args.URL == "" {
		return address{}, errNoURL
	}
	return absolute(args.URL)
}

// bareURL returns the URL of an action as visit makes one: with nothing but a
// URL, of which nothing is escaped. For others it returns "". Reading JSON
// would cost ten times as much.
func bareURL(a actions.Action) string {
	const before, after = `{"url":"`, `"}`
	args := a.Args()
	if len(args) < len(before)+len(after) || !strings.HasPrefix(args, before) || !strings.HasSuffix(args, after) {
		return ""
	}
	url := args[len(before) : len(args)-len(after)]
	if strings.ContainsAny(url, `"\`) {
		return ""
	}
	return url
}

// hostOf names the host that a visit asks, port included. What is no visit of
// a page, and fails at once, has any name or none.
func hostOf(a actions.Action) string {
	if host, _ := cutOrigin(bareURL(a)); canonicalHost(host) {
		return host
	}
	to, err := addressOf(a)
	if err != nil {
		return ""
	}
	return to.host
}

// urlOf returns the URL that an action asks for as it stands, or "".
func urlOf(a actions.Action) string {
	var args struct{ URL string }
	_ = a.Decode(&args) // what does not decode has none
	return args.URL
}

// fresh keeps a page as long as the rule says, or as its host says if that is
// shorter.
func fresh(_ actions.Action, p *Page) (maxAge time.Duration, keep bool) {
	if p == nil || p.life.none {
		return 0, false
	}
	return p.life.maxAge, true
}
