package speccache

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// A key is what an observation depends on, apart from state and age: a scope, a
// model version and an action. Keys are compared whole; a hash alone never
// decides.
type key struct {
	scope   uint64
	version modelVersion
	action  actions.Action
}

// hash mixes hashes that were made before.
func (k *key) hash() uint64 { return hashOf(k.scope, k.version, k.action) }

func hashOf(scope uint64, v modelVersion, a actions.Action) uint64 {
	return a.Hash() ^ scope*0x9e3779b97f4a7c15 ^ v.salt
}

// An entry is an observation and what must hold for it to be served. It is
// written once, before it can be found.
//
// What a lookup compares comes first, then what it serves: in this order, and
// with the size that it has, it is two cache lines, and nothing else of an
// entry needs to be loaded.
type entry[O any] struct {
	key   key
	stamp stamp

	scope       *scope
	expires     time.Duration
	reading     reading
	observation O
	guess       *guess        // nil if the target's own run brought it
	born        time.Duration // start of the run, on the cache's clock
	revision    uint64

	session   uint64 // that ran it
	size      int64
	links     links[O] // guarded by window.mu, as are at and left
	at        where
	left      bool          // the books: see window
	unkept    bool          // only for who waits for the run
	same      bool          // renewed without a change: its revision is the old one's
	renewable bool          // by Environment.Renew
	offered   bool          // of the main region's goroutine: ristretto has or had it
	read      atomic.Uint32 // lately, as a sample of the readings shows: see the marks

	replaced atomic.Bool // by a newer one
	wanted   atomic.Bool // served, if it can be renewed
	renewing atomic.Bool

	// 192 bytes in all, if O is a pointer or a string: a multiple of 64.
}

// guessed is an entry of a run ahead with its guess. It is made before the run,
// whose goroutine has a small stack: there, to allocate might mean to let that
// grow.
type guessed[O any] struct {
	entry entry[O]
	guess guess
}

// entryCost is what an entry holds beside its observation: itself and its
// places in index and lists.
const entryCost = 512

// why returns the reason why e may not be served to a session that accepts
// its model version, or "".
func (e *entry[O]) why(now time.Duration) Reason {
	switch {
	case e.scope.stamp() != e.stamp:
		return ReasonState
	case now > e.expires:
		return ReasonAge
	}
	return ""
}

// gone says that e can't be found any more.
func (e *entry[O]) gone() {
	if e.guess != nil {
		e.scope.ledger.strike(e.guess)
	}
}

// A store keeps entries: an index that leads to all of them, and two regions
// that decide which ones stay. Every entry passes through the window, and
// what leaves the window is offered to ristretto, the main region, whose
// admission and eviction go by frequency. Each entry leaves the index once, by
// identity: whatever has replaced it there stays.
//
// Readers go through the index and wait for nobody.
type store[O any] struct {
	// Index and flights go by the key's hash. Where two keys share one, the
	// second is not kept and not shared while the first is there: that costs a
	// run, and needs no list in each place.
	index   *index[O]
	flights flights[O]
	window  window[O]
	main    *region[O]
	drops   [dropReasons]atomic.Uint64
}

// dropReason says why a finished observation was not kept.
type dropReason int

const (
	dropLarge    dropReason = iota // larger than the window
	dropRejected                   // by ristretto's admission
	dropEvicted                    // by ristretto
	dropBusy                       // the main region's goroutine was far behind
	dropShare                      // its scope held more than its share
	dropDead                       // its scope is gone
	dropCollided                   // another key has the same hash
	dropClosed                     // the cache was closed
	dropReasons
)

// windowShare: one part in so many of all bytes is the window. A larger one
// keeps guesses for longer, a smaller one keeps more of what is popular: see
// bench/hitratio.md.
const windowShare = 8

func newStore[O any](maxBytes, scopeBytes int64) (s *store[O], err error) {
	s = &store[O]{index: newIndex[O]()}
	w := &s.window
	w.shares = map[uint64]*share[O]{}
	w.batch = maxBytes / batchShare
	w.max = max(1, maxBytes/windowShare-w.batch)
	w.room = max(1, maxBytes-w.max-w.batch)
	w.total, w.share = maxBytes, scopeBytes
	if w.share >= maxBytes {
		w.share = noShare
	}
	w.slack = slackOf(w.share)
	w.most = maxBytes + min(max(maxWaiting, maxBytes/2), math.MaxInt64-maxBytes)
	s.main, err = newRegion(s, w.room)
	return s, err
}

// largest is the size of the largest entry that is kept.
func (s *store[O]) largest() int64 { return min(s.window.max, s.window.share) }

// leadsTo reports whether e is what its key leads to.
func (s *store[O]) leadsTo(e *entry[O]) bool {
	return s.index.load(e.key.hash()) == e
}

// find returns the entry of a key, if there is one. It is the only part of the
// store that a hit needs, and takes the key in parts: to put them together
// would cost as much as to compare them.
func (s *store[O]) find(scope uint64, v modelVersion, a actions.Action) *entry[O] {
	e := s.index.load(hashOf(scope, v, a))
	if e != nil && e.key.action == a && e.key.scope == scope && e.key.version.name == v.name {
		return e
	}
	return nil
}

// flying returns the run for a key that can be joined, if there is one.
func (s *store[O]) flying(k *key) *flight[O] {
	if f := s.flights.find(k); f != nil && f.joinable() {
		return f
	}
	return nil
}

// claim registers f as the run for its key, unless there is an entry that can
// be served or a flight that can be joined: then it returns those. One run
// per key follows from all claims of a key being made one after the other, and
// from a result being found before the claim on it ends.
func (s *store[O]) claim(f *flight[O], now time.Duration) (e *entry[O], g *flight[O]) {
	hash := f.key.hash()
	shard := s.flights.of(hash)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	old := shard.flying[hash]
	if old != nil && old.key != f.key {
		return nil, nil // f is not shared
	}
	if old != nil && old.joinable() {
		return nil, old
	}
	if e = s.find(f.key.scope, f.key.version, f.key.action); e != nil && e.why(now) == "" {
		return e, nil
	}
	if shard.flying == nil {
		shard.flying = map[uint64]*flight[O]{}
	}
	shard.flying[hash] = f
	shard.some.Store(true)
	return nil, nil
}

// publish makes e findable, and reports whether it is. An entry whose run
// started later stays.
func (s *store[O]) publish(e *entry[O]) bool {
	if e.size > s.largest() {
		s.drops[dropLarge].Add(1)
		return false
	}
	var replaced *entry[O]
	published := false
	s.index.change(e.key.hash(), func(old *entry[O]) *entry[O] {
		switch {
		case old == nil:
			e.revision = 1
		case old.key != e.key:
			s.drops[dropCollided].Add(1)
			return old
		case old.born > e.born && old.stamp == e.stamp:
			return old
		default:
			e.revision, replaced = old.revision+1, old
			if e.same {
				e.revision = old.revision
			}
		}
		published = true
		return e
	})
	if !published {
		return false
	}
	if replaced != nil {
		replaced.replaced.Store(true)
		replaced.gone()
	}
	due, old, over := s.window.add(e, replaced)
	for old != nil {
		s.expel(old, dropShare)
		if old = nil; over {
			old, over = s.window.excess(e.key.scope)
		}
	}
	if due {
		s.main.nudge()
		for old := s.window.shed(); old != nil; old = s.window.shed() {
			s.drop(old, dropBusy)
		}
	}
	return true
}

// drop takes e out of the index, if it is still what its key leads to.
func (s *store[O]) drop(e *entry[O], why dropReason) {
	if e == nil { // ristretto may report a victim twice, then without a value
		return
	}
	s.window.leave(e, why == dropRejected || why == dropEvicted || why == dropCollided)
	s.expel(e, why)
}

// expel takes what has left window and share out of the index.
func (s *store[O]) expel(e *entry[O], why dropReason) {
	s.index.change(e.key.hash(), func(old *entry[O]) *entry[O] {
		if old != e {
			return old
		}
		s.drops[why].Add(1)
		return nil
	})
	e.gone()
}

// forget lets go of all that a scope holds that nobody can find any more.
func (s *store[O]) forget(scope uint64) {
	if s.window.forget(scope) {
		s.main.nudge()
	}
}

// sample notes that e was read, for both regions. It never waits.
func (s *store[O]) sample(e *entry[O], session, n uint64) {
	if e.read.Load() != allMarks {
		e.read.Store(allMarks)
	}
	s.main.sample(e.key.hash(), session, n)
}

func (s *store[O]) dropStats() DropStats {
	n := func(why dropReason) int64 { return int64(s.drops[why].Load()) }
	return DropStats{
		TooLarge: n(dropLarge),
		Rejected: n(dropRejected),
		Evicted:  n(dropEvicted),
		Busy:     n(dropBusy),
		Share:    n(dropShare),
		Other:    n(dropDead) + n(dropCollided) + n(dropClosed),
	}
}
