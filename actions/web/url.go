package web

import (
	"net/netip"
	neturl "net/url"
	"strconv"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// Limits on a URL. The parser's time grows with the square of some parts, and
// no server takes longer ones.
const (
	maxURL       = 8 << 10 // bytes
	maxAuthority = 1 << 10 // bytes of user, host and port as written
	maxSlashes   = 256
)

// An address is a canonical URL: absolute, http or https, without user or
// fragment, as browsers write it. It is the key that observations are found
// by, and exactly what is asked of the host that it names.
type address struct {
	url  string
	host string // host, and port unless it is the scheme's own
}

// absolute makes the address of a URL that stands alone.
func absolute(raw string) (address, error) {
	if host, path := cutOrigin(raw); plainHost(host) && plain(path) {
		return address{raw, host}, nil
	}
	return canonicalise(trim(raw), nil)
}

// canonicalise makes the address that a trimmed reference has on a page with
// this base, as the WHATWG's URL standard says.
func canonicalise(ref string, base *whatwg.Url) (address, error) {
	if err := precheck(ref, base); err != nil {
		return address{}, err
	}
	parse := whatwg.Parse
	if base != nil {
		parse = base.Parse
	}
	u, err := parse(ref)
	switch {
	case err != nil && base == nil && relative(ref):
		return address{}, &URLError{ref, reasonRelative, err}
	case err != nil:
		return address{}, &URLError{ref, "it does not parse", err}
	case u.Scheme() != "http" && u.Scheme() != "https":
		return address{}, &URLError{ref, reasonScheme, nil}
	case u.Username() != "" || u.Password() != "":
		return address{}, &URLError{ref, reasonUser, nil}
	}
	a := address{url: u.Href(true), host: u.Host()}
	if err := verify(ref, a); err != nil {
		return address{}, err
	}
	return a, nil
}

const (
	reasonRelative = "begin with https://"
	reasonScheme   = "only http and https are visited"
	reasonUser     = "it names a user, and credentials do not belong in URLs"
	reasonLong     = "it is too long"
	reasonHost     = "its host can be read in two ways"
)

// relative reports whether a reference has no scheme.
func relative(ref string) bool {
	scheme, _ := cutScheme(ref)
	return scheme == ""
}

// precheck refuses cheaply what the parser would spend long on.
func precheck(ref string, base *whatwg.Url) error {
	scheme, rest := cutScheme(ref)
	if scheme != "" && scheme != "http" && scheme != "https" {
		if base == nil && rest != "" && isDigit(rest[0]) { // a host and a port
			return &URLError{ref, reasonRelative, nil}
		}
		return &URLError{ref, reasonScheme, nil}
	}
	if len(ref) > maxURL || strings.Count(ref, "/")+strings.Count(ref, `\`) > maxSlashes {
		return &URLError{ref, reasonLong, nil}
	}
	authority := authorityOf(scheme, rest, base)
	if strings.Contains(authority, "@") {
		return &URLError{ref, reasonUser, nil}
	}
	if len(authority) > maxAuthority {
		return &URLError{ref, reasonLong, nil}
	}
	if capitalSharpS(authority) {
		return &URLError{ref, reasonHost, nil}
	}
	return nil
}

// capitalSharpS reports whether a host is one name by Unicode 15.1 and another by
// older tables, such as the parser's: xn--zca.example and ss.example.
func capitalSharpS(authority string) bool {
	return strings.Contains(authority, "\u1E9E") ||
		strings.Contains(authority, "%") && strings.Contains(strings.ToUpper(authority), "%E1%BA%9E")
}

// cutScheme splits a reference behind its scheme, which is in lower case, or
// "" if there is none.
func cutScheme(ref string) (scheme, rest string) {
	for i := range len(ref) {
		switch c := ref[i] | 0x20; {
		case c >= 'a' && c <= 'z':
		case i > 0 && (isDigit(ref[i]) || strings.IndexByte("+-.", ref[i]) >= 0):
		case i > 0 && ref[i] == ':':
			return strings.ToLower(ref[:i]), ref[i+1:]
		default:
			return "", ref
		}
	}
	return "", ref
}

// authorityOf returns the user, host and port of a reference, or "" if it has
// a path alone. Browsers take backslashes for slashes, and any number of them.
func authorityOf(scheme, rest string, base *whatwg.Url) string {
	trimmed := strings.TrimLeft(rest, `/\`)
	slashes := len(rest) - len(trimmed)
	if relative := base != nil && (scheme == "" || scheme == base.Scheme()); relative && slashes < 2 {
		return ""
	}
	if end := strings.IndexAny(trimmed, `/\?#`); end >= 0 {
		return trimmed[:end]
	}
	return trimmed
}

// verify makes sure that net/http dials the host that the address names, and
// that nothing in it needs a quoting of its own.
func verify(ref string, a address) error {
	if precheck(a.url, nil) != nil { // what it is relative to, and escapes, have made it longer
		return &URLError{ref, reasonLong, nil}
	}
	for i := range len(a.url) {
		if c := a.url[i]; c <= ' ' || c > '~' {
			return &URLError{ref, "it holds a character that URLs can't", nil}
		}
	}
	n, err := neturl.Parse(a.url)
	switch {
	case err != nil:
		return &URLError{ref, "net/http can't ask for it", err}
	case n.Host != a.host, !stable(a.host):
		return &URLError{ref, reasonHost, nil}
	case strings.HasPrefix(n.Path, "//") && n.RequestURI() != a.path():
		return &URLError{ref, "its path could be taken for a host", nil}
	}
	return nil
}

// stable reports whether a canonical host is read as itself: the parser writes
// some names in Punycode that it does not take back.
func stable(host string) bool {
	if !strings.Contains(host, "xn--") {
		return true
	}
	u, err := whatwg.Parse("http://" + host)
	return err == nil && u.Host() == host
}

// path returns the address's path and query.
func (a address) path() string { return a.url[len(a.origin()):] }

// trim removes what browsers do not see in a reference: control characters
// and spaces around it, tabs and line ends anywhere.
func trim(ref string) string {
	ref = strings.TrimFunc(ref, func(r rune) bool { return r <= ' ' })
	if !strings.ContainsAny(ref, "\t\r\n") {
		return ref
	}
	return strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(ref)
}

// A resolver makes addresses of the references on one page.
type resolver struct {
	base   *whatwg.Url
	origin string // scheme, host and port; "" rules the short cut out
	host   string
}

// newResolver makes a resolver for a page at the canonical url with the
// <base href> ref. As in browsers, a base that does not parse is none.
func newResolver(url, ref string) (*resolver, error) {
	base, err := whatwg.Parse(url)
	if err != nil {
		return nil, &URLError{url, "it does not parse", err}
	}
	if ref = trim(ref); ref != "" && len(ref) <= maxURL {
		if b, err := base.Parse(ref); err == nil && b.Scheme() != "data" && b.Scheme() != "javascript" {
			base = b
		}
	}
	r := &resolver{base: base}
	if a, err := absolute(base.Href(true)); err == nil {
		r.origin, r.host = base.Scheme()+"://"+a.host, a.host
	}
	return r, nil
}

// resolve makes the address of a reference, and says whether it had a
// fragment.
func (r *resolver) resolve(ref string) (a address, fragment bool, err error) {
	ref = trim(ref)
	page, _, fragment := strings.Cut(ref, "#")
	if path := strings.TrimPrefix(page, r.origin); r.origin != "" && plain(path) {
		return address{r.origin + path, r.host}, fragment, nil
	}
	if host, path := cutOrigin(page); plainHost(host) && plain(path) {
		return address{page, host}, fragment, nil
	}
	a, err = canonicalise(ref, r.base)
	return a, fragment, err
}

// cutOrigin splits an absolute URL into its host and what follows.
func cutOrigin(url string) (host, path string) {
	rest, ok := strings.CutPrefix(url, "https://")
	if !ok {
		if rest, ok = strings.CutPrefix(url, "http://"); !ok {
			return "", ""
		}
	}
	i := strings.IndexByte(rest, '/')
	if i < 0 {
		return "", ""
	}
	return rest[:i], rest[i:]
}

// plainHost reports whether a host is a name of ASCII letters, digits and
// single hyphens in lower case that can be no number: its last part has
// letters only. No rule of the URL standard changes such a name.
func plainHost(host string) bool {
	if len(host) > 253 {
		return false
	}
	start, letters := 0, true
	for i := range len(host) {
		switch c := host[i]; {
		case c >= 'a' && c <= 'z':
		case isDigit(c):
			letters = false
		case (c == '-' || c == '.') && i > start && i+1 < len(host) && host[i+1] != '-' && host[i+1] != '.':
			letters = false
			if c == '.' {
				start, letters = i+1, true
			}
		default:
			return false
		}
		if i-start >= 63 {
			return false
		}
	}
	return start > 0 && letters
}

// canonicalHost reports whether a host, perhaps with a port, is certain to be as
// canonical URLs have it.
func canonicalHost(host string) bool {
	name, port, ok := strings.Cut(host, ":")
	if ok && !plainPort(port) {
		return false
	}
	if plainHost(name) {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Is4() // which is written in one way only
}

// plainPort reports whether a port is a number as canonical URLs write it, and
// no scheme's own.
func plainPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && port[0] > '0' && port[0] <= '9' && n != 80 && n != 443
}

// plain reports whether a reference is a path from the root, perhaps with a
// query, that no rule of the URL standard changes. That is nearly every link
// there is, and parsing it would cost ten times as much.
func plain(ref string) bool {
	if len(ref) == 0 || len(ref) > maxURL/2 || ref[0] != '/' || strings.HasPrefix(ref, "//") ||
		strings.Count(ref, "/") > maxSlashes/2 {
		return false
	}
	query := false
	for i := range len(ref) {
		switch c := ref[i]; {
		case c == '?' && !query:
			query = true
		case c == '/' && !query && i+1 < len(ref) && ref[i+1] == '.':
			return false // dot segments
		case c == '%' && (query || !escaped(ref[i:])):
			return false
		case c != '%' && !plainByte[c]:
			return false
		}
	}
	return true
}

// plainByte holds the bytes that stand for themselves in paths and queries,
// for the URL standard and for net/url.
var plainByte = func() (set [256]bool) {
	for c := range len(set) {
		set[c] = isDigit(byte(c)) || c|0x20 >= 'a' && c|0x20 <= 'z' && c < 0x80
	}
	for _, c := range []byte("/-_.~:@!$&()*+,;=") {
		set[c] = true
	}
	return set
}()

// escaped reports whether s begins with an escaped byte other than a dot,
// which could make a dot segment.
func escaped(s string) bool {
	return len(s) >= 3 && isHex(s[1]) && isHex(s[2]) && !strings.EqualFold(s[:3], "%2e")
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
