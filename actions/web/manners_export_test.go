package web

import "time"

// CacheControl exports what parseCacheControl makes of a header's lines.
func CacheControl(lines ...string) (forbidden, private, shareable, stated bool, maxAge time.Duration) {
	c := parseCacheControl(lines)
	return c.forbidden, c.private, c.shareable, c.stated, c.maxAge
}
