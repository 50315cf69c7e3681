package web

import (
	neturl "net/url"
	"slices"
	"strings"
	"unicode"

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
	case best.rule == "" && !onHost(s, best.host):
		best.rule = "host"
	}
	if best.rule == "" {
		return nil
	}
	return &PolicyError{Rule: best.rule, URL: urlOf(guess)}
}

// onHost reports whether one of the session's pages is on the host and port.
func onHost(s actions.State[*Page], host string) bool {
	for _, step := range s.Steps {
		if p := step.Observation; p != nil && p.host == host {
			return true
		}
	}
	return false
}

// A verdict is what a link's own URL and markup say about following it ahead.
type verdict struct {
	rule string // that forbids it, or ""
	host string // to be one that the session is on
	self bool   // it leads to the page that it stands on
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
	v := verdict{host: l.host, self: l.URL == p.url || l.URL == p.requested}
	switch {
	case l.download:
		v.rule = "download"
	case actionLike(l.URL):
		v.rule = "action-like"
	}
	return v
}

// deeds are words of URLs that do something, or that work only once. GET
// should change nothing, and often does.
var deeds = words("logout logoff signout signoff delete remove unsubscribe " +
	"confirm approve pay vote addtocart")

// phrases are deeds that are written as several words.
var phrases = [][]string{{"log", "out"}, {"log", "off"}, {"sign", "out"}, {"sign", "off"}, {"add", "to", "cart"}}

// keys are words in the names of query parameters that say the same.
var keys = words("do action token code")

func words(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// actionLike reports whether a canonical URL sounds like doing rather than
// reading. It goes by whole words, so that /payroll is not /pay, and rather
// refuses /delete-protein-study: a guess that is not run costs little.
func actionLike(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	_, path, _ := strings.Cut(rest, "/")
	path, query, _ := strings.Cut(path, "?")
	for segment := range strings.SplitSeq(path, "/") {
		if acts(splitWords(unescape(segment, neturl.PathUnescape))) {
			return true
		}
	}
	return queryActs(query)
}

func queryActs(query string) bool {
	for query != "" {
		var pair string
		pair, query = cutAny(query, "&;")
		key, value, _ := strings.Cut(pair, "=")
		value = unescape(value, neturl.QueryUnescape)
		names := splitWords(unescape(key, neturl.QueryUnescape))
		if acts(names) || slices.ContainsFunc(names, func(w string) bool { return keys[w] }) {
			return true
		}
		// A value with spaces is what somebody searches for.
		if !strings.Contains(value, " ") && acts(splitWords(value)) {
			return true
		}
	}
	return false
}

// acts reports whether one of the words is a deed, or some in a row are.
func acts(list []string) bool {
	for i, word := range list {
		if deeds[word] || phraseAt(list[i:]) {
			return true
		}
	}
	return false
}

func phraseAt(list []string) bool {
	for _, phrase := range phrases {
		if len(list) >= len(phrase) && slices.Equal(list[:len(phrase)], phrase) {
			return true
		}
	}
	return false
}

// cutAny cuts s at the first of the separators.
func cutAny(s, separators string) (before, after string) {
	if i := strings.IndexAny(s, separators); i >= 0 {
		return s[:i], s[i+1:]
	}
	return s, ""
}

func unescape(s string, by func(string) (string, error)) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	if u, err := by(s); err == nil {
		return u
	}
	return s
}

// splitWords returns the words of a text in lower case. They end at whatever
// is no letter, and before a capital that follows a small letter: signOut.
func splitWords(text string) []string {
	var list []string
	start, last := -1, ' '
	for i, r := range text {
		ends := !unicode.IsLetter(r)
		if start >= 0 && (ends || unicode.IsUpper(r) && unicode.IsLower(last)) {
			list = append(list, strings.ToLower(text[start:i]))
			start = -1
		}
		if !ends && start < 0 {
			start = i
		}
		last = r
	}
	if start >= 0 {
		list = append(list, strings.ToLower(text[start:]))
	}
	return list
}
