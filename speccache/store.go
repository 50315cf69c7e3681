package speccache

import (
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/ristretto/v2"
	"github.com/puzpuzpuz/xsync/v4"
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

// hash is the key's in the main region.
func (k key) hash() uint64 {
	h := k.action.Hash() ^ k.scope*0x9e3779b97f4a7c15
	return h ^ maphash.Comparable(versionSeed, k.version)
}

var versionSeed = maphash.MakeSeed()

// A slot is all that is known of a key: the newest entry, and the run that
// may bring the next one. Its pointers change only under the index's lock for
// the key, and may be read at any time.
type slot[O any] struct {
	entry    atomic.Pointer[entry[O]]
	flight   atomic.Pointer[flight[O]]
	revision uint64
}

// An entry is an observation and what must hold for it to be served. It is
// written once, before it can be found.
type entry[O any] struct {
	key         key
	observation O
	stamp       stamp
	born        time.Duration // start of the run, on the cache's clock
	took        time.Duration // how long the run took
	maxAge      time.Duration
	size        int64
	revision    uint64
	scope       *scope
	guess       *guess // nil if the target's own run brought it
	unkept      bool   // only for who waits for the run

	unserved atomic.Bool // ran ahead, and no target has read it yet
	place    place       // guarded by window.mu
}

// entryCost is what an entry holds beside its observation: itself, its slot,
// and its places in index and lists.
const entryCost = 512

// why returns the reason why e may not be served to a session that accepts
// its model version, or "".
func (e *entry[O]) why(now time.Duration) Reason {
	switch {
	case e.scope.stamp() != e.stamp:
		return ReasonState
	case now-e.born > e.maxAge:
		return ReasonAge
	}
	return ""
}

// A store keeps entries: an index that leads to all of them, and two regions
// that decide which ones stay. Every entry passes through the window, and
// what leaves the window is offered to ristretto, the main region, whose
// admission and eviction go by frequency. Each entry leaves the index once, by
// identity: whatever has replaced it there stays.
type store[O any] struct {
	index  *xsync.Map[key, *slot[O]]
	window window[O]
	drops  [dropReasons]atomic.Uint64

	// mainMu lets main be closed: all calls of main share it, Close has it
	// alone. Reads don't need it, for they go through the index.
	mainMu sync.RWMutex
	main   *ristretto.Cache[uint64, *entry[O]] // nil once closed
}

// dropReason says why a finished observation was not kept.
type dropReason int

const (
	dropLarge    dropReason = iota // larger than the window
	dropRejected                   // by ristretto's admission
	dropEvicted                    // by ristretto
	dropBusy                       // ristretto's buffer was full
	dropDead                       // its scope is gone
	dropReplaced                   // by another key with the same hash in ristretto
	dropReasons
)

// meanSize is what an observation is taken to hold when ristretto's counters
// are sized: smaller ones only make its frequencies less exact.
const meanSize = 8 << 10

func newStore[O any](maxBytes int64) (*store[O], error) {
	s := &store[O]{index: xsync.NewMap[key, *slot[O]]()}
	s.window.max = max(1, maxBytes/4)
	mainBytes := max(1, maxBytes-s.window.max)
	main, err := ristretto.NewCache(&ristretto.Config[uint64, *entry[O]]{
		NumCounters:        max(1024, 10*mainBytes/meanSize),
		MaxCost:            mainBytes,
		BufferItems:        64,
		IgnoreInternalCost: true, // size has entryCost in it
		// Freshness is the entry's own affair: nothing here has a TTL.
		TtlTickerDurationInSec: 3600,
		OnEvict:                func(i *ristretto.Item[*entry[O]]) { s.drop(i.Value, dropEvicted) },
		OnReject:               func(i *ristretto.Item[*entry[O]]) { s.drop(i.Value, dropRejected) },
		OnExit:                 func(e *entry[O]) { s.drop(e, dropReplaced) },
	})
	if err != nil {
		return nil, fmt.Errorf("speccache: main region: %w", err)
	}
	s.main = main
	return s, nil
}

// find returns the entry and the flight of a key, if there are any.
func (s *store[O]) find(k key) (*entry[O], *flight[O]) {
	slot, ok := s.index.Load(k)
	if !ok {
		return nil, nil
	}
	return slot.entry.Load(), slot.flight.Load()
}

// claim registers f as the run for its key, unless there is an entry that can
// be served or a flight that can be joined: then it returns those. One run
// per key follows from all claims of a key being made one after the other.
func (s *store[O]) claim(f *flight[O], now time.Duration) (e *entry[O], g *flight[O]) {
	s.index.Compute(f.key, func(old *slot[O], ok bool) (*slot[O], xsync.ComputeOp) {
		if !ok {
			old = &slot[O]{}
		}
		if have := old.entry.Load(); have != nil && have.why(now) == "" {
			e = have
			return old, xsync.CancelOp
		}
		if have := old.flight.Load(); have != nil && have.joinable() {
			g = have
			return old, xsync.CancelOp
		}
		old.flight.Store(f)
		return old, xsync.UpdateOp
	})
	return e, g
}

// publish makes e findable and ends f's claim on the key, in one step: nobody
// can find neither. An entry whose run started later stays.
func (s *store[O]) publish(f *flight[O], e *entry[O]) {
	var replaced *entry[O]
	published := false
	s.index.Compute(f.key, func(old *slot[O], ok bool) (*slot[O], xsync.ComputeOp) {
		if !ok {
			old = &slot[O]{}
		}
		old.flight.CompareAndSwap(f, nil)
		have := old.entry.Load()
		newer := have != nil && have.born > e.born && have.stamp == e.stamp
		if newer || e.size > s.window.max {
			return emptyOr(old)
		}
		old.revision++
		e.revision = old.revision
		old.entry.Store(e)
		replaced, published = have, true
		return old, xsync.UpdateOp
	})
	switch {
	case published:
		s.offer(s.window.add(e, replaced))
	case e.size > s.window.max:
		s.drops[dropLarge].Add(1)
	}
}

// release ends f's claim on its key without a result.
func (s *store[O]) release(f *flight[O]) {
	s.index.Compute(f.key, func(old *slot[O], ok bool) (*slot[O], xsync.ComputeOp) {
		if !ok {
			return nil, xsync.CancelOp
		}
		old.flight.CompareAndSwap(f, nil)
		return emptyOr(old)
	})
}

// drop takes e out of the index, if it is still what its key leads to.
func (s *store[O]) drop(e *entry[O], why dropReason) {
	if e == nil { // ristretto may report a victim twice, then without a value
		return
	}
	s.index.Compute(e.key, func(old *slot[O], ok bool) (*slot[O], xsync.ComputeOp) {
		if !ok || !old.entry.CompareAndSwap(e, nil) {
			return old, xsync.CancelOp
		}
		s.drops[why].Add(1)
		return emptyOr(old)
	})
}

// emptyOr deletes a slot from the index that leads nowhere.
func emptyOr[O any](old *slot[O]) (*slot[O], xsync.ComputeOp) {
	if old.entry.Load() == nil && old.flight.Load() == nil {
		return nil, xsync.DeleteOp
	}
	return old, xsync.UpdateOp
}

// offer hands what has left the window to the main region.
func (s *store[O]) offer(entries []*entry[O]) {
	for _, e := range entries {
		if e.scope.dead.Load() {
			s.drop(e, dropDead)
		} else if !s.set(e) {
			s.drop(e, dropBusy)
		}
	}
}

func (s *store[O]) set(e *entry[O]) bool {
	s.mainMu.RLock()
	defer s.mainMu.RUnlock()
	return s.main != nil && s.main.Set(e.key.hash(), e, e.size)
}

// sample tells both regions of a read, so that they know what is popular.
func (s *store[O]) sample(e *entry[O]) {
	s.window.touch(e)
	s.mainMu.RLock()
	defer s.mainMu.RUnlock()
	if s.main != nil {
		s.main.Get(e.key.hash())
	}
}

// close ends the main region's goroutines. It is idempotent.
func (s *store[O]) close() {
	s.mainMu.Lock()
	defer s.mainMu.Unlock()
	if s.main != nil {
		s.main.Close()
		s.main = nil
	}
}

func (s *store[O]) dropStats() DropStats {
	n := func(why dropReason) int64 { return int64(s.drops[why].Load()) }
	return DropStats{
		TooLarge: n(dropLarge),
		Rejected: n(dropRejected),
		Evicted:  n(dropEvicted),
		Busy:     n(dropBusy),
		Other:    n(dropDead) + n(dropReplaced),
	}
}
