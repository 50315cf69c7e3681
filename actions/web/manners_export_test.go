package web

import "time"

// CacheControl exports what parseCacheControl makes of a header's lines.
func CacheControl(lines ...string) (forbidden, private, shareable, stated bool, maxAge time.Duration) {
	c := parseCacheControl(lines)
	return c.forbidden, c.private, c.shareable, c.stated, c.maxAge
}

// RobotsAllow reports what a robots.txt says to a product about a path.
func RobotsAllow(text, product, path string) bool {
	return parseRobots(text, product).allows(path)
}

// Product exports the name that robots.txt is asked for.
func Product(agent string) string { return productOf(agent) }

// Pause exports how long a Retry-After keeps runs ahead away.
func Pause(retryAfter string) time.Duration { return pauseOf(retryAfter) }

// Date exports what is read of a date in a header.
func Date(s string) (time.Time, bool) { return parseDate(s) }

// Decode exports what is made of a body.
func Decode(body, contentType string, limit int64) (string, error) {
	return decode(body, contentType, limit)
}
