package target

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
)

const (
	// settled is how many replies in a row must have one fingerprint before
	// it counts.
	settled = 3

	// returned is how many replies in a row must come from a model that was
	// there before until it counts again. Where two take turns at random, that
	// happens about once in 500 replies.
	returned = 8

	// maxNames is how many names are known as having been there.
	maxNames = 16

	// maxVersion is the length of a model version, in bytes. Sessions and
	// entries keep it, and a server may report a name of any length.
	maxVersion = 256
)

// versions finds out which served name and which fingerprint count.
type versions struct {
	fingerprints bool

	// mu guards what follows.
	mu          sync.Mutex
	served      names
	base        string // the version without a fingerprint
	fingerprint streak
	counted     string // the fingerprint that is part of the version; "": none yet
}

// A streak is how many times in a row something came.
type streak struct {
	what  string
	times int
}

func (s *streak) add(what string) (times int) {
	if what != s.what {
		*s = streak{what: what}
	}
	s.times++
	return s.times
}

// names are the models that were served under the configured name.
type names struct {
	seen    []string // the one that came last is the last
	newest  streak
	counted string
}

// add notes which model was served and returns the one that counts. A reply
// without a name is no news.
func (n *names) add(name string) string {
	if name == "" {
		return n.counted
	}
	i := slices.Index(n.seen, name)
	if times := n.newest.add(name); i < 0 || times >= returned {
		n.counted = name
	}
	if i >= 0 {
		n.seen = slices.Delete(n.seen, i, i+1)
	}
	n.seen = append(n.seen, name)
	n.seen = n.seen[max(0, len(n.seen)-maxNames):]
	return n.counted
}

// version returns what a reply says about the model version.
func (c *Chat) version(r Reply) string {
	base := ""
	switch {
	case c.cfg.Version != nil:
		base = c.cfg.Version(r)
	default:
		base = c.cfg.Model + "/" + c.versions.name(clip(r.Model))
	}
	if base != "" && c.versions.fingerprints {
		base = c.versions.with(clip(base), clip(r.Fingerprint))
	}
	return clip(base)
}

func (v *versions) name(served string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.served.add(served)
}

// with notes a fingerprint and returns the version with the one that counts.
func (v *versions) with(base, fingerprint string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if base != v.base {
		v.base, v.fingerprint, v.counted = base, streak{}, ""
	}
	if v.fingerprint.add(fingerprint) >= settled {
		v.counted = fingerprint
	}
	if v.counted == "" {
		return base
	}
	return base + "/" + v.counted
}

// clip returns a name that tells as much as a long one: its beginning and a
// hash of the whole.
func clip(name string) string {
	if len(name) <= maxVersion {
		return name
	}
	hash := fmt.Sprintf("…%x", sha256.Sum256([]byte(name)))
	return strings.ToValidUTF8(name[:maxVersion-len(hash)], "") + hash
}
