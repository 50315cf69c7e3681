package speccache

import (
	"iter"
	"sync"
	"sync/atomic"
)

// An index leads from the hashes of keys to entries. It is what every lookup
// goes through, and the only concurrent map here of its own kind: in xsync.Map
// the way to an entry is one cache line longer, which costs a lookup a sixth.
//
// Readers take no lock. A bucket is one cache line, and more of them hang on it
// where it is full. A reader that is overtaken by a change finds what was there
// when it began, or what is there now, or another key's entry: whoever looks
// compares keys.
type index[O any] struct {
	table atomic.Pointer[table[O]]
	len   atomic.Int64

	// growing lets the table grow: who changes entries shares it.
	growing sync.RWMutex
}

// A table has a power of two of buckets.
type table[O any] struct {
	buckets []bucket[O]
	mask    uint64
}

// A bucket has the entries of hashes with the same lower bits.
type bucket[O any] struct {
	mu      sync.Mutex       // of changes, in the first of a chain; held for a few loads and stores
	hashes  [3]atomic.Uint64 // 0 where there is room
	entries [3]atomic.Pointer[entry[O]]
	next    atomic.Pointer[bucket[O]]
}

const firstBuckets = 64

func newIndex[O any]() *index[O] {
	x := &index[O]{}
	x.table.Store(newTable[O](firstBuckets))
	return x
}

func newTable[O any](n int) *table[O] {
	return &table[O]{make([]bucket[O], n), uint64(n - 1)}
}

// first returns the chain that a hash belongs to.
func (t *table[O]) first(hash uint64) *bucket[O] { return &t.buckets[hash&t.mask] }

// full reports whether chains get long: with one entry for each bucket, one in
// fifty has more than a cache line.
func (t *table[O]) full(entries int64) bool { return entries > int64(len(t.buckets)) }

// load returns the entry of a hash, or nil.
func (x *index[O]) load(hash uint64) *entry[O] {
	t := x.table.Load()
	b := t.first(hash)
	for {
		// Which place it is can't be predicted: a choice costs less than a branch.
		i := 0
		if b.hashes[1].Load() == hash {
			i = 1
		}
		if b.hashes[2].Load() == hash {
			i = 2
		}
		if e := b.entries[i].Load(); e != nil && b.hashes[i].Load() == hash {
			return e
		}
		if b = b.next.Load(); b == nil {
			return nil
		}
	}
}

// change replaces the entry of a hash by what decide returns for it, in one
// step: nil stands for none. decide must not use the index.
func (x *index[O]) change(hash uint64, decide func(old *entry[O]) *entry[O]) {
	x.growing.RLock()
	t := x.table.Load()
	crowded := t.first(hash).change(hash, decide, &x.len) && t.full(x.len.Load())
	x.growing.RUnlock()
	if crowded {
		x.grow()
	}
}

// change is index.change in the first bucket of a chain. It reports whether
// there is one entry more.
func (b *bucket[O]) change(hash uint64, decide func(old *entry[O]) *entry[O], n *atomic.Int64) (more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, i := b.find(hash)
	var old *entry[O]
	if at != nil {
		old = at.entries[i].Load()
	}
	switch e := decide(old); {
	case e == old:
	case e == nil:
		at.entries[i].Store(nil)
		at.hashes[i].Store(0)
		n.Add(-1)
	case old != nil:
		at.entries[i].Store(e)
	default:
		b.insert(hash, e)
		n.Add(1)
		return true
	}
	return false
}

// find returns where the entry of a hash is. mu is held.
func (b *bucket[O]) find(hash uint64) (at *bucket[O], i int) {
	for ; b != nil; b = b.next.Load() {
		for i := range b.hashes {
			if b.hashes[i].Load() == hash && b.entries[i].Load() != nil {
				return b, i
			}
		}
	}
	return nil, 0
}

// insert puts e where there is room. mu is held.
func (b *bucket[O]) insert(hash uint64, e *entry[O]) {
	for {
		for i := range b.hashes {
			if b.entries[i].Load() == nil {
				b.hashes[i].Store(hash)
				b.entries[i].Store(e)
				return
			}
		}
		if b.next.Load() == nil {
			b.next.Store(&bucket[O]{})
		}
		b = b.next.Load()
	}
}

// grow makes the table twice as large. Readers of the old one find what was in
// it.
func (x *index[O]) grow() {
	x.growing.Lock()
	defer x.growing.Unlock()
	old := x.table.Load()
	if !old.full(x.len.Load()) {
		return // somebody else has
	}
	t := newTable[O](2 * len(old.buckets))
	for hash, e := range old.all() {
		t.first(hash).insert(hash, e)
	}
	x.table.Store(t)
}

// all ranges over what is there, more or less, while it changes.
func (x *index[O]) all() iter.Seq2[uint64, *entry[O]] { return x.table.Load().all() }

func (t *table[O]) all() iter.Seq2[uint64, *entry[O]] {
	return func(yield func(uint64, *entry[O]) bool) {
		for first := range t.buckets {
			for b := &t.buckets[first]; b != nil; b = b.next.Load() {
				for i := range b.hashes {
					if e := b.entries[i].Load(); e != nil && !yield(e.key.hash(), e) {
						return
					}
				}
			}
		}
	}
}
