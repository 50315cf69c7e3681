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
