package web

import (
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

// store puts cookies into the jar of the pool's scope, and reports whether that
// changed what any request would carry. Hosts set the same cookie again and again.
// One answer's cookies are stored at a time, so that what is seen before and after
// is this answer's doing.
func (p *pool) store(jar http.CookieJar, u *neturl.URL, set []*http.Cookie) (changed bool) {
	p.storing <- struct{}{}
	defer func() { <-p.storing }()
	places := placesOf(u, set)
	before := glimpse(jar, places)
	jar.SetCookies(u, set)
	return glimpse(jar, places) != before
}

// news reports whether storing cookies would change what requests carry, without
// doing so.
func news(jar http.CookieJar, u *neturl.URL, set []*http.Cookie) bool {
	for _, c := range set {
		gone := c.MaxAge < 0 || c.MaxAge == 0 && !c.Expires.IsZero() && c.Expires.Before(time.Now())
		named, same := false, false
		for _, has := range jar.Cookies(placeOf(u, c, "https", u.Host)) {
			named = named || has.Name == c.Name
			same = same || has.Name == c.Name && has.Value == c.Value
		}
		if gone && named || !gone && !same {
			return true
		}
	}
	return false
}

// placesOf returns the URLs at which one can see all that cookies change: at each
// of their paths, by https and by http, and on a host below their domain.
func placesOf(u *neturl.URL, set []*http.Cookie) (places []*neturl.URL) {
	seen := map[string]bool{}
	for _, c := range set {
		hosts := []string{u.Host}
		if c.Domain != "" {
			hosts = append(hosts, "below."+strings.TrimPrefix(c.Domain, "."))
		}
		for _, host := range hosts {
			for _, scheme := range []string{"https", "http"} {
				at := placeOf(u, c, scheme, host)
				if name := at.String(); !seen[name] {
					seen[name] = true
					places = append(places, at)
				}
			}
		}
	}
	return places
}

func placeOf(u *neturl.URL, c *http.Cookie, scheme, host string) *neturl.URL {
	path := u.Path
	if strings.HasPrefix(c.Path, "/") {
		path = c.Path
	}
	return &neturl.URL{Scheme: scheme, Host: host, Path: path}
}

// glimpse returns what requests would carry.
func glimpse(jar http.CookieJar, places []*neturl.URL) string {
	var all strings.Builder
	for _, at := range places {
		for _, c := range jar.Cookies(at) {
			all.WriteString(c.Name + "=" + c.Value + ";")
		}
		all.WriteByte('\n')
	}
	return all.String()
}
