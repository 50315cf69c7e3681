package web

import (
	"context"
	"fmt"
	"hash/maphash"
	"net/http"
	neturl "net/url"
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

// take waits for the turn, or for the end of a visit: a jar may hang.
func (k *cookies) take(ctx context.Context) error {
	select {
	case k.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("web: waiting for the scope's jar: %w", ctx.Err())
	}
}

// store puts cookies into the scope's jar, and reports whether that changes what
// any request carries: also if the jar panics, for who knows what it has done.
func (k *cookies) store(ctx context.Context, jar http.CookieJar, u *neturl.URL, set []*http.Cookie, changed *bool) error {
	if err := k.take(ctx); err != nil {
		return err
	}
	defer func() { <-k.turn }()
	was := *changed
	*changed = true
	*changed = k.put(jar, u, set) || was
	return nil
}

func (k *cookies) put(jar http.CookieJar, u *neturl.URL, set []*http.Cookie) (changed bool) {
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
func (k *cookies) news(ctx context.Context, jar http.CookieJar, u *neturl.URL, set []*http.Cookie) (bool, error) {
	if err := k.take(ctx); err != nil {
		return false, err
	}
	defer func() { <-k.turn }()
	for _, c := range set {
		name, what := hashesOf(u, c)
		seen := shows(jar, u, c)
		if old, ok := k.known[name]; (!ok || old != cookie{what, seen}) && (seen || !gone(c)) {
			return true, nil
		}
	}
	return false, nil
}

var cookieSeed = maphash.MakeSeed()

// hashesOf returns hashes of which cookie of a host this is, and of what it says.
func hashesOf(u *neturl.URL, c *http.Cookie) (name, what uint64) {
	type which struct{ host, name, path string }
	type says struct {
		value, domain string
		quoted        bool
		secure, gone  bool
	}
	name = maphash.Comparable(cookieSeed, which{u.Host, c.Name, pathOf(u, c)})
	what = maphash.Comparable(cookieSeed, says{c.Value, strings.ToLower(c.Domain), c.Quoted, c.Secure, gone(c)})
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
		if has.Name == c.Name && (has.Value == c.Value && has.Quoted == c.Quoted || gone(c)) {
			return true
		}
	}
	return false
}

// pathOf returns where a cookie is for, to the letter: RFC 6265, sections 5.1.4
// and 5.2.4.
func pathOf(u *neturl.URL, c *http.Cookie) string {
	if strings.HasPrefix(c.Path, "/") {
		return c.Path
	}
	return "/" + strings.TrimPrefix(u.Path[:max(strings.LastIndexByte(u.Path, '/'), 0)], "/")
}
