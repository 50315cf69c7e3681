package web

import (
	"net/http"
	"strings"
	"time"
)

// shortLife is how long a page may be served at least whose host said nothing
// of that, but whose life seems short: it was changed a moment ago, or a
// temporary redirect led to it. It is about as long as a target thinks.
const shortLife = 30 * time.Second

// A lifetime is how long a page may be served again, as its host said by the
// rules of RFC 9111. Of several answers on the way to a page, the strictest
// counts.
type lifetime struct {
	none    bool          // not at all
	private bool          // to nobody else
	maxAge  time.Duration // since the visit began; 0 is no limit
}

// limit takes account of an answer to a request that was made at a time. What
// is kept belongs to one scope, as in a browser: private is no limit there, and
// s-maxage is none of its business.
func (l *lifetime) limit(resp *http.Response, asked time.Time, ahead bool) {
	h := resp.Header
	cc := parseCacheControl(h.Values("Cache-Control"))
	l.private = l.private || cc.private || len(h.Values("Set-Cookie")) > 0 || credentials(resp.Request) && !cc.shareable
	if cc.forbidden || outdated(h) || clears(h) || varies(resp, ahead) {
		l.none = true
		return
	}
	left, limited := freshness(resp, &cc, asked)
	switch {
	case !limited:
	case left <= 0:
		l.none = true
	case l.maxAge == 0 || left < l.maxAge:
		l.maxAge = left
	}
}

// freshness returns how long after the request an answer is fresh, if its host
// lets one know.
func freshness(resp *http.Response, cc *cacheControl, asked time.Time) (left time.Duration, limited bool) {
	h := resp.Header
	date, ok := parseDate(h.Get("Date"))
	if !ok {
		date = time.Now()
	}
	age := ageAt(asked, date, h)
	modified, hasModified := parseDate(h.Get("Last-Modified"))
	expires := h.Values("Expires")
	switch {
	case cc.stated:
		return cc.maxAge - age, true
	case len(expires) > 0:
		until, ok := parseDate(expires[0])
		if !ok || len(expires) > 1 {
			return 0, true // as what has expired
		}
		return until.Sub(date) - age, true
	case hasModified: // a tenth of what it has lasted, as everybody takes it
		return max(date.Sub(modified)/10-age, shortLife), true
	case resp.StatusCode != http.StatusMovedPermanently && resp.StatusCode != http.StatusPermanentRedirect && resp.StatusCode >= 300:
		return shortLife, true
	}
	return 0, false
}

// ageAt is how old an answer was when it was asked for: RFC 9111, section
// 4.2.3, less the time that passes from the request on, which whoever keeps
// the page counts.
func ageAt(asked, date time.Time, h http.Header) time.Duration {
	first, _, _ := strings.Cut(h.Get("Age"), ",")
	age, _ := deltaSeconds(strings.TrimSpace(first)) // what can't be read is ignored
	// Date has whole seconds: it is up to one behind.
	return max(age, asked.Sub(date).Truncate(time.Second))
}

// parseDate reads a date in one of the three forms of RFC 9110, section 5.6.7,
// to the letter: package net/http is more lenient.
func parseDate(s string) (t time.Time, ok bool) {
	for _, form := range []string{http.TimeFormat, "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC} {
		if t, err := time.Parse(form, s); err == nil && t.Format(form) == s {
			return t, true
		}
	}
	return t, false
}

// outdated reports whether hosts from before Cache-Control forbid to keep a
// page.
func outdated(h http.Header) bool {
	return len(h.Values("Cache-Control")) == 0 &&
		strings.Contains(strings.ToLower(strings.Join(h.Values("Pragma"), ",")), "no-cache")
}

// clears reports whether the host wants its pages forgotten.
func clears(h http.Header) bool {
	all := strings.ToLower(strings.Join(h.Values("Clear-Site-Data"), ","))
	return strings.Contains(all, `"cache"`) || strings.Contains(all, `"*"`)
}

// varies reports whether another request for the same page could have another
// answer. What the fetcher sends is always the same, but that some run ahead;
// credentials that a transport adds may change.
func varies(resp *http.Response, ahead bool) bool {
	for _, line := range resp.Header.Values("Vary") {
		for name := range strings.SplitSeq(line, ",") {
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "*":
				return true
			case "sec-purpose", "purpose":
				if ahead {
					return true
				}
			case "cookie", "authorization":
				if credentials(resp.Request) {
					return true
				}
			}
		}
	}
	return false
}

// credentials reports whether a request says who asks, though its scope's identity
// does not: its transport may have added that.
func credentials(req *http.Request) bool {
	return req != nil && (req.Header.Get("Authorization") != "" || req.Header.Get("Cookie") != "")
}
