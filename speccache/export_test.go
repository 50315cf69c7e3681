package speccache

import (
	"container/list"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/stretchr/testify/assert"
)

type listOf = list.List

// Settle waits until ristretto has worked through what it was offered.
func Settle[O any](c *Cache[O]) { c.store.main.Wait() }

// CheckStore checks what must hold of a store at rest: the window's bytes are
// those of its entries, and the index leads to each; whatever the index leads to is in the window, in
// ristretto, or both have let go of it; no slot leads nowhere; no flight is
// left.
func CheckStore[O any](t *testing.T, c *Cache[O]) {
	t.Helper()
	s := c.store
	inMain := map[*entry[O]]bool{}
	s.main.IterValues(func(e *entry[O]) bool {
		inMain[e] = true
		return false
	})
	s.window.mu.Lock()
	defer s.window.mu.Unlock()
	var bytes int64
	for _, list := range []*listOf{&s.window.unread, &s.window.recent} {
		for el := list.Front(); el != nil; el = el.Next() {
			e := el.Value.(*entry[O])
			bytes += e.size
			found, _ := s.find(e.key)
			assert.Same(t, e, found, "the index does not lead to %v, which is in the window", e.key.action)
		}
	}
	assert.Equal(t, bytes, s.window.bytes, "bytes of the window")
	for k, slot := range s.index.All() {
		e := slot.entry.Load()
		assert.Nil(t, slot.flight.Load(), "a flight of %v is left", k.action)
		if assert.NotNil(t, e, "the slot of %v leads nowhere", k.action) {
			assert.Equal(t, k, e.key)
			assert.True(t, e.place.elem != nil || inMain[e], "%v is in no region", k.action)
		}
	}
}

// InWindow reports whether what session s has read of a is in the window.
func InWindow[O any](c *Cache[O], s *Session[O], a actions.Action) bool {
	e, _ := c.store.find(key{scope: s.scope.id, version: s.versions.Load().current, action: a})
	c.store.window.mu.Lock()
	defer c.store.window.mu.Unlock()
	return e != nil && e.place.elem != nil
}

// Counted returns how many sessions are counted apart from their cache.
func Counted[O any](c *Cache[O]) int { return len(c.openSessions()) }
