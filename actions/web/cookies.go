package web

import (
	"hash/maphash"
	"net/http"
	neturl "net/url"
	"path"
	"strings"
	"time"
)

// Limits on the cookies of one answer, for which RFC 6265 asks too; what is beyond
// is not stored.
const (
	maxCookies    = 64
	maxCookieSize = 4096
)

// cookiesOf returns the cookies that an answer sets.
func cookiesOf(resp *http.Response) (set []*http.Cookie) {
	for _, c := range resp.Cookies() {
		if len(c.Name)+len(c.Value) <= maxCookieSize && len(set) < maxCookies {
			set = append(set, c)
		}
	}
	return set
}

// maxKnownCookies is how many cookies of a scope are remembered. One that was
// forgotten counts as new when it is set again.
const maxKnownCookies = 256

// cookies are what hosts have set for one scope. Hosts set the same cookie again
// and again, and a jar does not tell whether one is new.
type cookies struct {
	turn  chan struct{} // whoever puts something in may use the rest; no lock, for jars are the application's
	known map[uint64]cookie
}

// A cookie is one that was set, less how long it lives.
type cookie struct {
	what  uint64 // a hash of all that it says
	shown bool   // it was to be seen then; else the jar has refused or deleted it
}

func newCookies() *cookies { return &cookies{turn: make(chan struct{}, 1)} }

// store puts cookies into the scope's jar, and reports whether that changes what
// any request carries.
func (k *cookies) store(jar http.CookieJar, u *neturl.URL, set []*http.Cookie) (changed bool) {
	k.turn <- struct{}{}
	defer func() { <-k.turn }()
	before := make([]bool, len(set))
	for i, c := range set {
		before[i] = shows(jar, u, c)
	}
	jar.SetCookies(u, set)
	for i, c := range set {
		after := shows(jar, u, c)
		name, what := hashesOf(u, c)
		if old, ok := k.known[name]; !ok || old != (cookie{what, before[i]}) || before[i] != after {
			changed = changed || before[i] || after
		}
		if k.known == nil || len(k.known) >= maxKnownCookies {
			k.known = map[uint64]cookie{}
		}
		k.known[name] = cookie{what, after}
	}
	return changed
}

// news reports whether storing cookies could change what requests carry.
func (k *cookies) news(jar http.CookieJar, u *neturl.URL, set []*http.Cookie) bool {
	k.turn <- struct{}{}
	defer func() { <-k.turn }()
	for _, c := range set {
		name, what := hashesOf(u, c)
		seen := shows(jar, u, c)
		if old, ok := k.known[name]; (!ok || old != cookie{what, seen}) && (seen || !gone(c)) {
			return true
		}
	}
	return false
}

var cookieSeed = maphash.MakeSeed()

// hashesOf returns hashes of which cookie of a host this is, and of what it says.
func hashesOf(u *neturl.URL, c *http.Cookie) (name, what uint64) {
	type which struct{ host, name, path string }
	type says struct {
		value, domain string
		secure, gone  bool
	}
	name = maphash.Comparable(cookieSeed, which{u.Host, c.Name, pathOf(u, c)})
	what = maphash.Comparable(cookieSeed, says{c.Value, strings.ToLower(c.Domain), c.Secure, gone(c)})
	return name, what
}

// gone reports whether setting a cookie means to delete it.
func gone(c *http.Cookie) bool {
	return c.MaxAge < 0 || c.MaxAge == 0 && !c.Expires.IsZero() && !c.Expires.After(time.Now())
}

// shows reports whether the jar has a cookie where it is set: the value too, unless
// it is to be deleted.
func shows(jar http.CookieJar, u *neturl.URL, c *http.Cookie) bool {
	for _, has := range jar.Cookies(&neturl.URL{Scheme: "https", Host: u.Host, Path: pathOf(u, c)}) {
		if has.Name == c.Name && (has.Value == c.Value || gone(c)) {
			return true
		}
	}
	return false
}

// pathOf returns where a cookie is for: RFC 6265, section 5.2.4.
func pathOf(u *neturl.URL, c *http.Cookie) string {
	if strings.HasPrefix(c.Path, "/") {
		return c.Path
	}
	return path.Dir("/" + strings.TrimPrefix(u.Path, "/"))
}
