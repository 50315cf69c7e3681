package target

import "sync"

// settled is how many replies in a row must have one fingerprint before it
// counts.
const settled = 3

// versions finds out which fingerprint counts.
type versions struct {
	fingerprints bool

	// mu guards what follows.
	mu      sync.Mutex
	base    string // the version without a fingerprint
	last    string // fingerprint
	times   int    // in a row
	counted string // the fingerprint that is part of the version; "": none yet
}

// version returns what a reply says about the model version.
func (c *Chat) version(r Reply) string {
	base := c.cfg.Model + "/" + r.Model
	if c.cfg.Version != nil {
		base = c.cfg.Version(r)
	}
	if base == "" || !c.versions.fingerprints {
		return base
	}
	return c.versions.with(base, r.Fingerprint)
}

// with notes a fingerprint and returns the version with the one that counts.
func (v *versions) with(base, fingerprint string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if base != v.base {
		v.base, v.last, v.times, v.counted = base, "", 0, ""
	}
	if fingerprint != v.last {
		v.last, v.times = fingerprint, 0
	}
	if v.times++; v.times >= settled {
		v.counted = fingerprint
	}
	if v.counted == "" {
		return base
	}
	return base + "/" + v.counted
}
