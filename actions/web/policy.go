package web

import (
	"strings"

	"github.com/speccache/speccache-go/actions"
)

// policy decides whether a guess may run ahead. The draft that made it reads
// pages that anybody may have written, so it may pick a link that the session
// has seen, on a host that the session is on, and nothing else.
func policy(s actions.State[*Page], guess actions.Action) error {
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
		best.rule = onHost(s, best)
	}
	if best.rule == "" {
		return nil
	}
	return &PolicyError{Rule: best.rule, URL: urlOf(guess)}
}

// onHost returns the rule that forbids a link because of where it leads: one
// of the session's pages must be on its host and port, and what is read there
// by https only is not asked for in clear text.
func onHost(s actions.State[*Page], v verdict) (rule string) {
	rule = "host"
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
