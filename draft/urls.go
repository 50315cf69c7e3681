package draft

import (
	"regexp"
	"strings"
	"unicode"
)

// leads matches what lenient programs take for an address, in lower case: it
// begins with a scheme, or with a host, which may have a user before it.
var leads = regexp.MustCompile(`^(` +
	`[a-z][a-z0-9+.-]*:\S|(data|javascript|vbscript):|` +
	`([^\s/?#@]*@)?(` + // user
	`localhost|` +
	`\[[0-9a-f:.]*:[^\]]*\]|` + // IPv6
	`[\p{L}\p{N}_%-]+([.。．｡][\p{L}\p{N}_%-]+)+` + // a name with dots, IPv4
	`)\.?([:/?#]|$)` +
	`)`)

// isAddress reports whether a text is an address, or may become one in the hands
// of a tool. It errs on the side of caution, so that it takes some words for
// addresses: "site:go.dev errgroup" begins with what could be a scheme, and
// "node.js", alone, could be a host. A host among other words, without "//", is
// none: nobody goes there.
func isAddress(text string) bool {
	text = parsed(text)
	return strings.Contains(text, "//") || leads.MatchString(text)
}

// beginsAsAddress reports whether a text is an address from its beginning, also
// one without a host.
func beginsAsAddress(text string) bool {
	text = parsed(text)
	return strings.HasPrefix(text, "/") || leads.MatchString(text)
}

func parsed(text string) string { return strings.TrimSpace(strings.Map(asParsed, text)) }

// asParsed is a character as parsers of URLs see it: they leave out what can't
// be seen.
func asParsed(r rune) rune {
	switch {
	case r == '\\':
		return '/'
	case unicode.Is(unicode.C, r):
		return -1
	}
	return unicode.ToLower(r)
}
