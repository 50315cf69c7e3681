package speccache

import (
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/stretchr/testify/assert"
)

// Settle waits until ristretto has worked through what it was offered, and
// compares it with the index.
func Settle[O any](c *Cache[O]) {
	checked := make(chan struct{})
	if c.store.main.ask(checked) {
		<-checked
	}
}

// HoldRistrettoBack stops the goroutine that fetches what is beyond the window.
func HoldRistrettoBack[O any](c *Cache[O]) (catchUp func()) {
	r := c.store.main
	close(r.stop)
	<-r.done
	return func() {
		r.stop, r.done = make(chan struct{}), make(chan struct{})
		go r.run()
	}
}

// CheckStore checks what must hold of a store at rest: the window's bytes are
// those of its entries, and the index leads to each; whatever the index leads to
// is in the window or in ristretto; all of it is in its scope's share, and nothing
// else; no flight is left.
func CheckStore[O any](t *testing.T, c *Cache[O]) {
	t.Helper()
	Settle(c)
	assert.Zero(t, c.Stats().Mended)
	s := c.store
	kept := map[*entry[O]]bool{}
	s.main.cache.IterValues(func(e *entry[O]) bool {
		kept[e] = true
		return false
	})
	s.window.mu.Lock()
	defer s.window.mu.Unlock()
	var bytes int64
	for _, list := range []*queue[O]{&s.window.unread, &s.window.recent} {
		for e := list.first; e != nil; e = e.links[byPlace].next {
			bytes += e.size
			assert.Same(t, e, s.find(e.key.scope, e.key.version, e.key.action), "the index does not lead to %v, which is in the window", e.key.action)
		}
	}
	assert.Equal(t, bytes, s.window.bytes, "bytes of the window")
	var held, main int64
	for scope, share := range s.window.shares {
		var bytes int64
		for e := share.first; e != nil; e = e.links[byScope].next {
			bytes += e.size
			if e.at == inMain {
				main += e.size
			}
			assert.Equal(t, scope, e.key.scope, "whose share has %v", e.key.action)
		}
		assert.Equal(t, bytes, share.bytes, "bytes of scope %d", scope)
		assert.LessOrEqual(t, bytes, s.window.share, "the share of scope %d", scope)
		held += bytes
	}
	assert.Equal(t, []int64{held, held, main, 0}, []int64{s.window.held, s.window.within, s.window.main, s.window.away}, "what is held")
	assert.Equal(t, s.window.held, s.window.bytes+s.window.main, "what is held is in the window or in the main region")
	for hash, e := range s.index.all() {
		assert.Equal(t, hash, e.key.hash())
		assert.True(t, e.at == inUnread || e.at == inRecent || e.at == inMain && kept[e], "%v is in no region", e.key.action)
	}
	for _, f := range s.flights.all() {
		assert.Fail(t, "a flight is left", "of %v", f.key.action)
	}
}

// InWindow reports whether what session s has read of a is in the window.
func InWindow[O any](c *Cache[O], s *Session[O], a actions.Action) bool {
	e := c.store.find(s.scope.id, s.versions.Load().current, a)
	c.store.window.mu.Lock()
	defer c.store.window.mu.Unlock()
	return e != nil && (e.at == inUnread || e.at == inRecent)
}

// Counted returns how many sessions are counted apart from their cache.
func Counted[O any](c *Cache[O]) int { return len(c.openSessions()) }

// CheckPlaces checks that of a cache at rest all permits, and all places at hosts,
// have come back, and that nobody waits for one.
func CheckPlaces[O any](t *testing.T, c *Cache[O]) {
	t.Helper()
	l, h := c.limiter, c.cfg.Hosts
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Empty(t, l.list, "runs ahead")
	assert.Zero(t, l.cache.runs, "permits in use")
	assert.Zero(t, l.turns.waiting.Len(), "who waits for a permit")
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, at := range h.known {
		assert.Equal(t, []int{0, 0, 0, 0}, []int{at.ahead, len(at.errands), len(at.stuck), at.turns.waiting.Len()}, "places at %s", name)
	}
}

// KnownHosts returns how many hosts are remembered.
func KnownHosts(h *Hosts) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.known)
}
