package speccache

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/ristretto/v2"
)

// A region is the main one: ristretto, which keeps what is popular of what the
// window lets go of, and the one goroutine that talks to it. Nobody else does,
// so that no target ever waits for ristretto, mutations of a key are in order
// with a Wait between them, and Close needs to count no callers.
type region[O any] struct {
	store  *store[O]
	cache  *ristretto.Cache[uint64, *entry[O]]
	reads  [16][64]atomic.Uint64 // see sample
	mended atomic.Int64

	wake       chan struct{}
	stop, done chan struct{}

	// mu guards what follows, for as long as it takes to append.
	mu   sync.Mutex
	todo []chan<- struct{} // checks: closed when they are done
	over bool

	// Of the goroutine alone.
	dirty   bool // something was set, and not waited for
	offered int  // since the last check
}

// What is beyond the window is fetched in batches, of so many or less if they
// are large: to wake a goroutine costs as much as a dozen offers. While the
// goroutine is behind, as after a burst, so many bytes may wait, or half of all.
const (
	batchLen   = 64
	batchShare = 64 // of all bytes, one part in so many
	maxWaiting = 4 << 20
)

// checkEvery is after how many offers region and index are compared.
const checkEvery = 1 << 15

// meanSize is what an observation is taken to hold when ristretto's counters
// are sized, and countersPer is how many there are for each: both as
// bench/hitratio.md measures it. There are maxCounters at most: they are made at
// once, also for a MaxBytes that nobody means to fill.
const (
	meanSize    = 8 << 10
	countersPer = 40
	maxCounters = 1 << 26
)

func newRegion[O any](s *store[O], maxBytes int64) (*region[O], error) {
	cache, err := ristretto.NewCache(&ristretto.Config[uint64, *entry[O]]{
		NumCounters:        max(1024, countersPer*min(maxBytes, maxCounters*meanSize/countersPer)/meanSize),
		MaxCost:            maxBytes,
		BufferItems:        64,
		IgnoreInternalCost: true, // size has entryCost in it
		// Freshness is the entry's own affair: nothing here has a TTL.
		TtlTickerDurationInSec: 3600,
		OnEvict:                func(i *ristretto.Item[*entry[O]]) { s.drop(i.Value, dropEvicted) },
		OnReject:               func(i *ristretto.Item[*entry[O]]) { s.drop(i.Value, dropRejected) },
		OnExit:                 func(e *entry[O]) { s.drop(e, dropCollided) },
	})
	if err != nil {
		return nil, fmt.Errorf("speccache: main region: %w", err)
	}
	r := &region[O]{
		store: s, cache: cache,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go r.run()
	return r, nil
}

// ask has the goroutine check, and then close checked, unless it has ended. It
// never waits.
func (r *region[O]) ask(checked chan<- struct{}) bool {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return false
	}
	r.todo = append(r.todo, checked)
	r.mu.Unlock()
	r.nudge()
	return true
}

// nudge wakes the goroutine.
func (r *region[O]) nudge() {
	select {
	case r.wake <- struct{}{}:
	default: // it will see to this, too
	}
}

// sample notes that a session has read something, its n-th note. Ristretto is
// told when there is something to admit, which is when it asks itself what is
// popular; readers overwrite what is not told in time. Sessions have different
// places, or those on different CPUs would wait for each other's cache lines.
func (r *region[O]) sample(hash, session, n uint64) {
	notes := &r.reads[session%uint64(len(r.reads))]
	notes[n%uint64(len(notes))].Store(hash)
}

func (r *region[O]) run() {
	defer close(r.done)
	for {
		select {
		case <-r.stop:
			return
		case <-r.wake:
		}
		r.tell()
		r.mu.Lock()
		asked := r.todo
		r.todo = nil
		r.mu.Unlock()
		r.work()
		for _, checked := range asked {
			r.check()
			close(checked)
		}
	}
}

// work does what there is to do. All that ristretto is to let go of is out of it
// before it is offered more.
func (r *region[O]) work() {
	for {
		switch e, chore := r.store.window.fetch(); chore {
		case toOffer:
			r.offer(e)
		case toRemove:
			if !e.replaced.Load() {
				r.store.drop(e, dropShare) // who found that out may not have come to it yet
			}
			r.remove(e)
		case toForget:
			r.store.drop(e, dropDead)
		default:
			return
		}
	}
}

// tell tells ristretto what was read.
func (r *region[O]) tell() {
	for i := range r.reads {
		for j := range r.reads[i] {
			if r.reads[i][j].Load() == 0 {
				continue
			}
			if hash := r.reads[i][j].Swap(0); hash != 0 {
				r.cache.Get(hash)
			}
		}
	}
}

func (r *region[O]) offer(e *entry[O]) {
	if !r.store.leadsTo(e) {
		return // who saw to that takes it out of the books, too
	}
	e.offered, r.dirty = true, true
	for !r.cache.Set(e.key.hash(), e, e.size) { // its buffer is full
		r.sync()
		r.dirty = true
	}
	// It was asked for once, or else it would not be here. Counted before the
	// Set, that would be an argument for keeping it.
	r.cache.Get(e.key.hash())
	if r.offered++; r.offered >= checkEvery {
		r.check()
	}
}

// remove takes e out of ristretto, if it is there. Only what was set has to be
// waited for: what is set after a Del is set after it.
func (r *region[O]) remove(e *entry[O]) {
	if !e.offered {
		return
	}
	r.sync()
	hash := e.key.hash()
	if held, ok := r.cache.Get(hash); ok && held == e {
		r.cache.Del(hash)
	}
}

// sync waits until ristretto has worked through what it was given.
func (r *region[O]) sync() {
	if r.dirty {
		r.cache.Wait()
		r.dirty = false
	}
}

// check compares ristretto with the index, and mends what differs: an entry
// that one has and the other has not, although nobody is about to take it out.
// There should never be any.
func (r *region[O]) check() {
	r.offered = 0
	r.sync()
	held := map[*entry[O]]bool{}
	r.cache.IterValues(func(e *entry[O]) (stop bool) {
		held[e] = true
		return false
	})
	for e := range held {
		if !e.replaced.Load() && !r.store.leadsTo(e) && r.store.window.where(e) != inGone {
			r.mended.Add(1)
			r.remove(e)
		}
	}
	for _, e := range r.store.index.all() {
		if e.offered && !held[e] && r.store.leadsTo(e) && r.store.window.where(e) == inMain {
			r.mended.Add(1)
			r.store.drop(e, dropEvicted)
		}
	}
}

// close ends the goroutine, and ristretto's. It is called once.
func (r *region[O]) close() {
	r.mu.Lock()
	r.over, r.todo = true, nil
	r.mu.Unlock()
	close(r.stop)
	<-r.done
	r.cache.Close()
}
