package web

import (
	"context"
	"strings"

	"github.com/speccache/speccache-go/actions"
)

// policy decides whether a guess may run ahead. The draft that made it reads
// pages that anybody may have written, so it may pick a link that the session
// has seen, on a host that the session is on, and nothing else. What the host
// itself is known to say comes last.
func (f *Fetcher) policy(s actions.State[*Page], guess actions.Action) error {
	if guess.Name() != visitName {
		return &PolicyError{Rule: "unresolved", URL: guess.String()}
	}
	if v, _ := inView(s).verdict(guess); v.self {
		return &PolicyError{Rule: "in view", URL: urlOf(guess)}
	}
	best := verdict{rule: "provenance"}
	for _, step := range s.Steps {
		v, linked := step.Observation.verdict(guess)
		if linked && best.rule != "" {
			best = v
		}
	}
	switch {
	case best.rule == "provenance":
		if _, err := addressOf(guess); err != nil {
			best.rule = "scheme"
		}
	case best.rule == "":
		best.rule = f.onHost(s, best)
	}
	if best.rule != "" {
		return &PolicyError{Rule: best.rule, URL: urlOf(guess)}
	}
	return f.manners(f.as(actions.Call{Scope: s.Scope, Session: s.Session, Ahead: true}), urlOf(guess), best)
}

// manners returns an error if the application refuses a canonical URL, or its
// host is known to, or the scope does not lend what the target would send.
func (f *Fetcher) manners(as *visitor, url string, v verdict) error {
	rule, to := "", address{url, v.host}
	if f.cfg.AheadRefuse != nil {
		rule = f.cfg.AheadRefuse(url)
	}
	switch {
	case rule != "":
	case f.pauses.busy(v.host):
		rule = "backoff"
	case !f.cfg.IgnoreRobots && f.origins.forbidden(as.site(to), to.path()):
		rule = "robots"
	default:
		return as.withheld(to)
	}
	return &PolicyError{Rule: rule, URL: url}
}

// admit returns an error if a run ahead may not ask for an address now. It
// reads the host's robots.txt if nobody has.
func (f *Fetcher) admit(ctx context.Context, v *visitor, to address) error {
	if err := v.withheld(to); err != nil { // also if the target waits: it has more to say
		return err
	}
	switch {
	case !actions.CallFrom(ctx).Ahead, isClosed(actions.Asked(ctx)):
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
// of the session's pages must be on its host and port, and what is read there
// by https only is not asked for in clear text. So ports are those that the
// target itself went to. Hosts that the application lists are as good as where
// the page in view is.
func (f *Fetcher) onHost(s actions.State[*Page], v verdict) (rule string) {
	rule = "host"
	if f.hosts[v.host] {
		if rule = ""; downgrade(inView(s).URL(), v.secure) {
			rule = "downgrade"
		}
	}
	if rule == "" {
		return ""
	}
	for _, step := range s.Steps {
		p := step.Observation
		switch {
		case p == nil || p.host != v.host:
		case downgrade(p.url, v.secure):
			rule = "downgrade"
		default:
			return ""
		}
	}
	return rule
}

// downgrade reports whether the way from a canonical URL leads out of https.
func downgrade(from string, toSecure bool) bool { return secure(from) && !toSecure }

// secure reports whether a canonical URL is asked for by https.
func secure(url string) bool { return strings.HasPrefix(url, "https:") }

// A verdict is what a link's own URL and markup say about following it ahead.
type verdict struct {
	rule   string // that forbids it, or ""
	host   string // to be one that the session is on
	secure bool   // it leads to https
	self   bool   // it leads to the page that it stands on
}

// verdict returns what the page's links say about a guess, and whether any
// leads there.
func (p *Page) verdict(guess actions.Action) (v verdict, linked bool) {
	if p == nil {
		return v, false
	}
	v, linked = p.lookup().verdicts[guess]
	return v, linked
}

func (p *Page) judge(l *Link) verdict {
	v := verdict{host: l.host, secure: secure(l.URL), self: l.URL == p.url || l.URL == p.requested}
	switch {
	case l.download:
		v.rule = "download"
	case actionLike(l.URL):
		v.rule = "action-like"
	}
	return v
}
