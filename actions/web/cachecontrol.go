package web

import (
	"strconv"
	"strings"
	"time"
)

// cacheControl is what a Cache-Control header means to a cache that serves one
// scope.
type cacheControl struct {
	forbidden bool          // no-store, no-cache, or what can't be read
	private   bool          // for one client
	shareable bool          // by leave, although credentials were sent
	stated    bool          // there is a max-age
	maxAge    time.Duration // the shortest that is stated; 0 if one can't be read
}

// parseCacheControl reads the lines of a header by the grammar of RFC 9111,
// section 5.2. Whatever is odd counts as the strictest that it could mean: a
// line that does not parse forbids, directives that come twice both hold, and
// no-cache="field" is no-cache.
func parseCacheControl(lines []string) (c cacheControl) {
	for _, line := range lines {
		for line = strings.TrimLeft(line, " \t,"); line != ""; line = strings.TrimLeft(line, " \t,") {
			var name, value string
			var ok bool
			if name, value, line, ok = cutDirective(line); !ok {
				c.forbidden = true
				break
			}
			c.add(strings.ToLower(name), value)
		}
	}
	return c
}

func (c *cacheControl) add(name, value string) {
	switch name {
	case "no-store", "no-cache":
		c.forbidden = true
	case "private":
		c.private = true
	case "public", "must-revalidate", "s-maxage": // RFC 9111, section 3.5
		c.shareable = true
	case "max-age":
		age, _ := deltaSeconds(value)
		if !c.stated || age < c.maxAge {
			c.maxAge = age
		}
		c.stated = true
	}
}

// cutDirective splits the first directive from a line that is not empty. It
// reports false where that is not followed by a comma or the end.
func cutDirective(line string) (name, value, rest string, ok bool) {
	name, rest = cutToken(line)
	if name == "" {
		return "", "", "", false
	}
	if after, found := strings.CutPrefix(rest, "="); found {
		if value, rest, ok = cutValue(after); !ok {
			return "", "", "", false
		}
	}
	rest = strings.TrimLeft(rest, " \t")
	return name, value, rest, rest == "" || rest[0] == ','
}

// cutValue splits a token or a quoted string from what follows it.
func cutValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		value, rest = cutToken(s)
		return value, rest, value != ""
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], true
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// cutToken splits the characters of a token, as RFC 9110 names them, from what
// follows them.
func cutToken(s string) (token, rest string) {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && !isDigit(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// deltaSeconds reads a number of seconds. RFC 9111 has none above 2^31.
func deltaSeconds(s string) (d time.Duration, ok bool) {
	const most = 1 << 31
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > most { // digits alone: it can only be too large
		n = most
	}
	return time.Duration(n) * time.Second, true
}
