package web

import (
	"context"
	"strings"

	"github.com/speccache/speccache-go/actions"
)

// policy decides whether a guess may run ahead. The draft that made it reads
// pages that anybody may have written, so it may pick a link that the session
// has seen, on a host that the session is on, or what the application lists,
// and nothing else. What the host itself is known to say comes last.
func (f *Fetcher) policy(s actions.State[*Page], guess actions.Action) error {
	if guess.Name() != visitName {
		return &PolicyError{Rule: "unresolved", URL: guess.String()}
	}
	v := f.verdict(s, guess)
	if v.rule == "" {
		v.rule = f.onHost(s, &v)
	}
	if v.rule != "" {
		return &PolicyError{Rule: v.rule, URL: urlOf(guess)}
	}
	as := nobody
	if f.cfg.Identity != nil {
		as = f.as(actions.Call{Scope: s.Scope, Session: s.Session, Ahead: true})
	}
	return f.manners(as, v.to)
}

// nobody is who asks where no scope has an identity. It makes no requests.
var nobody = &visitor{}

// verdict returns what is known of a guess that a page of the session links to,
// or that a template has. Of several links, one that may be followed outweighs
// those that may not.
func (f *Fetcher) verdict(s actions.State[*Page], guess actions.Action) verdict {
	v, known := f.listed[guess]
	for i := len(s.Steps) - 1; i >= 0 && (!known || v.rule != ""); i-- {
		if link, linked := s.Steps[i].Observation.verdict(guess); linked {
			v, known = link, true
		}
	}
	switch view := inView(s); {
	case !known:
		v.rule = "provenance"
		if _, err := addressOf(guess); err != nil {
			v.rule = "scheme"
		}
	case view != nil && (v.to.url == view.url || v.to.url == view.requested):
		v.rule = "in view"
	}
	return v
}

// manners returns an error if the application refuses an address, or its host
// is known to, or the scope does not lend what the target would send.
func (f *Fetcher) manners(as *visitor, to address) error {
	rule := f.refuses(to.url)
	switch {
	case rule != "":
	case f.pauses.busy(to.host):
		rule = "backoff"
	case !f.cfg.IgnoreRobots && f.origins.forbidden(as.site(to), to.path()):
		rule = "robots"
	default:
		return as.withheld(to)
	}
	return &PolicyError{Rule: rule, URL: to.url}
}

// admit returns an error if a run ahead may not ask for an address now. It
// reads the host's robots.txt if nobody has.
func (f *Fetcher) admit(ctx context.Context, v *visitor, to address) error {
	if err := v.withheld(to); err != nil { // also if the target waits: it has more to say
		return err
	}
	switch {
	case !v.call.Ahead, isClosed(actions.Asked(ctx)):
		return nil
	case f.pauses.busy(to.host):
		return &PolicyError{Rule: "backoff", URL: to.url}
	case f.cfg.IgnoreRobots:
		return nil
	}
	if err := f.obeyRobots(ctx, v, to); err != nil {
		return err
	}
	if f.pauses.busy(to.host) && !isClosed(actions.Asked(ctx)) { // so said its robots.txt
		return &PolicyError{Rule: "backoff", URL: to.url}
	}
	return nil
}

// onHost returns the rule that forbids a link because of where it leads: one
// of the session's pages must be on its host, and what is read there by https
// only is not asked for in clear text. Hosts that the application lists are as
// good as where the page in view is.
func (f *Fetcher) onHost(s actions.State[*Page], v *verdict) (rule string) {
	rule = "host"
	if v.listed || f.hosts[v.to.host] {
		if rule = ""; downgrade(inView(s).URL(), v.to.url) {
			rule = "downgrade"
		}
	}
	for i := len(s.Steps) - 1; i >= 0 && rule != ""; i-- {
		p := s.Steps[i].Observation
		switch {
		case p == nil || !reaches(p.host, v.to.host):
		case downgrade(p.url, v.to.url):
			rule = "downgrade"
		default:
			return ""
		}
	}
	return rule
}

// reaches reports whether what runs ahead may get from one host to another: to
// the same host, at the port that the target itself went to, or at port 80 or
// 443.
func reaches(from, to string) bool { return from == to || bareHost(from) == to }

// downgrade reports whether the way from a canonical URL to another leads out
// of https.
func downgrade(from, to string) bool { return secure(from) && !secure(to) }

// secure reports whether a canonical URL is asked for by https.
func secure(url string) bool { return strings.HasPrefix(url, "https:") }

// A verdict is what a link's own URL and markup say about following it ahead.
type verdict struct {
	rule   string // that forbids it, or ""
	to     address
	listed bool // by the application: its host is one to ask
}

// verdict returns what the page's links say about a guess, and whether any
// leads there.
func (p *Page) verdict(guess actions.Action) (v verdict, linked bool) {
	if p == nil {
		return v, false
	}
	p.verdictsOnce.Do(func() { p.verdicts = judge(p.links) })
	v, linked = p.verdicts[guess]
	return v, linked
}

// judge makes the verdicts of a page. A link that may be followed outweighs
// one to the same page that offers a file, but not one that does something.
func judge(links []Link) map[actions.Action]verdict {
	verdicts := make(map[actions.Action]verdict, len(links))
	for i := range links {
		l := &links[i]
		v, known := verdicts[l.Action]
		switch {
		case l.acts || labelActs(l.Label):
			v.rule = "action-like"
		case known && v.rule != "download": // which the URL alone decided
			continue
		case l.download:
			v.rule = "download"
		default:
			v.rule = ruleOfURL(l.URL)
		}
		v.to = address{l.URL, l.host}
		verdicts[l.Action] = v
	}
	return verdicts
}

// ruleOfURL returns the rule that forbids a canonical URL by itself, or "".
func ruleOfURL(url string) string {
	if actionLike(url) {
		return "action-like"
	}
	return ""
}
