package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A lifetime is how long a page may be served again, as its host said. Of
// several answers on the way to a page, the strictest counts.
type lifetime struct {
	none   bool          // not at all
	maxAge time.Duration // 0 is no limit
}

// limit takes account of an answer's header. Whoever may serve a page for some
// time may do so here, for what is kept belongs to one scope: private is no
// limit. What depends on whether a request ran ahead can't be served to a
// target.
func (l *lifetime) limit(h http.Header, ahead bool) {
	for name, value := range directives(h.Values("Cache-Control")) {
		switch strings.ToLower(name) {
		case "no-store", "no-cache":
			l.none = true
		case "max-age":
			l.limitAge(strings.Trim(value, `"`))
		}
	}
	for name := range directives(h.Values("Vary")) {
		if name == "*" || ahead && (strings.EqualFold(name, "Sec-Purpose") || strings.EqualFold(name, "Purpose")) {
			l.none = true
		}
	}
}

func (l *lifetime) limitAge(seconds string) {
	const forever = 1 << 31 // RFC 9111 has no longer one
	n, err := strconv.ParseUint(seconds, 10, 64)
	switch {
	case n >= forever: // also what overflows
	case err != nil || n == 0:
		l.none = true
	case l.maxAge == 0 || time.Duration(n)*time.Second < l.maxAge:
		l.maxAge = time.Duration(n) * time.Second
	}
}

// directives calls yield for the names and values in the lines of a header.
func directives(lines []string) func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		for _, line := range lines {
			for directive := range strings.SplitSeq(line, ",") {
				name, value, _ := strings.Cut(directive, "=")
				if !yield(strings.TrimSpace(name), strings.TrimSpace(value)) {
					return
				}
			}
		}
	}
}
