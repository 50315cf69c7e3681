package web

import (
	"slices"
	"strings"
)

// Limits on a robots.txt. RFC 9309 asks for 500 KiB at least.
const (
	maxRobots     = 500 << 10 // bytes that are read
	maxRobotsPath = 2 << 10   // bytes of a path and query that rules are asked about
)

// robots are the rules of one robots.txt for one product, longest first, and
// allow before disallow where they are as long: the first that matches decides.
//
// Escapes that need not be are the characters themselves by RFC 9309, and are not
// by how many read it. What runs ahead must be allowed both ways.
type robots struct {
	rules []robotsRule // as they were written
	plain []robotsRule // without such escapes; nil if there are none
}

type robotsRule struct {
	pattern string
	start   string // of the pattern, to the first star
	second  byte   // of start, which tells most rules apart: all begin with a slash
	starred bool   // there is one
	rest    string // what follows it
	toEnd   bool   // a dollar at the end was cut off
	allow   bool
}

func newRobotsRule(pattern string, allow bool) robotsRule {
	r := robotsRule{pattern: pattern, allow: allow}
	r.start, r.toEnd = strings.CutSuffix(r.pattern, "$")
	r.start, r.rest, r.starred = strings.Cut(r.start, "*")
	if len(r.start) > 1 {
		r.second = r.start[1]
	}
	return r
}

// parseRobots reads what a robots.txt says to a product by RFC 9309: the groups
// that name it, or else those for everybody. Whatever is no rule is passed
// over.
func parseRobots(text, product string) robots {
	var own, others []robotsRule
	named, mine, all, ruled := false, false, false, true // of the group at hand
	for line := range lines(strings.TrimPrefix(text, "\uFEFF")) {
		key, value := cutRule(line)
		switch key {
		case "user-agent":
			if ruled { // the first line of the next group
				mine, all, ruled = false, false, false
			}
			mine = mine || product != "" && strings.EqualFold(productOf(value), product)
			all = all || value == "*" || strings.HasPrefix(value, "* ")
			named = named || mine
		case "allow", "disallow":
			ruled = true
			if value == "" {
				continue
			}
			r := newRobotsRule(normalise(value), key == "allow")
			if mine {
				own = append(own, r)
			}
			if all {
				others = append(others, r)
			}
		}
	}
	if !named {
		own = others
	}
	return robots{inOrder(own), inOrder(withoutEscapes(own))}
}

func inOrder(rules []robotsRule) []robotsRule {
	slices.SortStableFunc(rules, func(a, b robotsRule) int {
		if len(a.pattern) != len(b.pattern) {
			return len(b.pattern) - len(a.pattern)
		}
		return rank(a) - rank(b)
	})
	return rules
}

// withoutEscapes returns the rules without escapes that need not be, or nil if they
// have none.
func withoutEscapes(rules []robotsRule) (plain []robotsRule) {
	for i := range rules {
		if p := unreserve(rules[i].pattern); p != rules[i].pattern && plain == nil {
			plain = slices.Clone(rules)
		}
	}
	for i := range plain {
		plain[i] = newRobotsRule(unreserve(plain[i].pattern), plain[i].allow)
	}
	return plain
}

func rank(r robotsRule) int {
	if r.allow {
		return 0
	}
	return 1
}

// lines calls yield for the lines of a text, however they end.
func lines(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for text != "" {
			var line string
			if line, text = cutAny(text, "\r\n"); !yield(line) {
				return
			}
		}
	}
}

// cutRule splits a line at its colon, or without one at its first white space,
// as is often written. The key is in lower case.
func cutRule(line string) (key, value string) {
	line, _, _ = strings.Cut(line, "#")
	line = strings.TrimSpace(line)
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		key, value = cutAny(line, " \t")
		if value = strings.TrimSpace(value); strings.ContainsAny(value, " \t") {
			return "", "" // a sentence
		}
	}
	return strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
}

// productOf returns the name that a User-Agent begins with.
func productOf(agent string) string {
	end := strings.IndexFunc(agent, func(r rune) bool {
		return !(r|0x20 >= 'a' && r|0x20 <= 'z' || r == '-' || r == '_')
	})
	if end < 0 {
		return agent
	}
	return agent[:end]
}

// normalise writes a pattern as canonical URLs are written: what is not ASCII
// is escaped.
func normalise(pattern string) string {
	var b strings.Builder
	for i := range len(pattern) {
		if c := pattern[i]; c >= 0x80 {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return capitalise(b.String())
}

const hexDigits = "0123456789ABCDEF"

// capitalise writes the digits of escapes as capitals: they are the same.
func capitalise(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' && isHex(b[i+1]) && isHex(b[i+2]) {
			copy(b[i:], strings.ToUpper(s[i:i+3]))
			i += 2
		}
	}
	return string(b)
}

// unreserve replaces escapes of characters that mean the same without: RFC 3986,
// section 2.3.
func unreserve(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if escaped2(s[i:]) {
			if c := unhex(s[i+1])<<4 | unhex(s[i+2]); isDigit(c) || isLetter(c) || strings.IndexByte("-._~", c) >= 0 {
				b = append(b, c)
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// allows reports whether a path, with its query, may be asked for.
func (r robots) allows(path string) bool {
	switch {
	case len(r.rules) == 0, path == "/robots.txt":
		return true
	case len(path) > maxRobotsPath: // would take long, and is no loss
		return false
	}
	path = capitalise(path)
	if !allowed(r.rules, path) {
		return false
	}
	plain := unreserve(path)
	switch {
	case r.plain != nil:
		return allowed(r.plain, plain)
	case plain != path:
		return allowed(r.rules, plain)
	}
	return true
}

func allowed(r []robotsRule, path string) bool {
	second := byte(0)
	if len(path) > 1 {
		second = path[1]
	}
	for i := range r {
		if s := r[i].second; s != 0 && s != second {
			continue
		}
		if r[i].matches(path) {
			return r[i].allow
		}
	}
	return true
}

// matches reports whether a path begins as the pattern says. A star is any
// text, and a dollar at the end is the path's end.
func (r *robotsRule) matches(path string) bool {
	path, ok := strings.CutPrefix(path, r.start)
	rest, starred := r.rest, r.starred
	for ok && starred {
		var part string
		part, rest, starred = strings.Cut(rest, "*")
		if r.toEnd && !starred {
			return strings.HasSuffix(path, part)
		}
		// The earliest place leaves the most for what follows.
		_, path, ok = strings.Cut(path, part)
	}
	return ok && (!r.toEnd || path == "")
}

// size is what the rules hold in memory.
func (r robots) size() int {
	n := 0
	for _, rules := range [][]robotsRule{r.rules, r.plain} {
		for i := range rules {
			n += len(rules[i].pattern) + 72
		}
	}
	return n
}
