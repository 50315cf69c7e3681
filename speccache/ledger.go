package speccache

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A reading says who has read an entry first that ran ahead: the number of a
// session, or one of those below. It changes once, and who changes it counts
// the reading or leaves that to the ledger.
type reading struct{ by atomic.Uint64 }

const (
	unread  = 0
	counted = math.MaxUint64     // nobody, since it did not run ahead, or it was counted at once
	nobody  = math.MaxUint64 - 1 // and nobody can find it any more
)

// open reports whether an entry that ran ahead waits for its first reader.
func (r *reading) open() bool { return r.by.Load() == unread }

// take makes a session the first reader, if there was none.
func (r *reading) take(session uint64) bool {
	return r.open() && r.by.CompareAndSwap(unread, session)
}

// A guess is where a run ahead comes from. Entries keep it, and nothing else of
// the session.
type guess struct {
	source string
	rank   int           // 1 for the step's first
	step   int64         // which of its session's steps the draft had seen
	steps  *atomic.Int64 // its session's counter
	at     *errand       // at its host; nil if that is not known

	// Written before the entry can be found.
	took time.Duration
	size int64

	// Guarded by ledger.mu.
	reading    *reading // the entry's, as long as it can be found
	prev, next *guess   // in the ledger
	listed     bool

	_ [32]byte // to 128 bytes, as entry to its own multiple of 64
}

// expected reports whether the target can still be about to ask: the step
// after the one that the draft saw is not over.
func (g *guess) expected() bool { return g.step+1 >= g.steps.Load() }

// A ledger lists the runs ahead of a scope that can be found, or are about to
// be, and whose first reading is not in the statistics yet. Counting it costs
// more than a lookup may: readers leave their name, and it is done when somebody
// wants to know, a session ends or the entry can't be found any more.
type ledger struct {
	// count counts a reading for a session.
	count func(session uint64, g *guess)

	// mu guards what follows. It is held for arithmetic only, and count takes
	// the cache's mu inside it.
	mu          sync.Mutex
	first, last *guess // in order of landing
}

// add puts a run on the ledger that is about to be findable.
func (l *ledger) add(g *guess) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g.listed, g.prev = true, l.last
	if l.last != nil {
		l.last.next = g
	} else {
		l.first = g
	}
	l.last = g
}

// strike settles one run that can't be found any more.
func (l *ledger) strike(g *guess) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.reading != nil {
		g.reading.take(nobody)
		g.settle(l.count)
	}
	l.removeLocked(g)
}

// withdraw takes a run off the ledger that was not to be found after all. Who
// has joined it may still be its first reader.
func (l *ledger) withdraw(g *guess) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removeLocked(g)
}

func (l *ledger) removeLocked(g *guess) {
	if !g.listed {
		return
	}
	if g.prev != nil {
		g.prev.next = g.next
	} else {
		l.first = g.next
	}
	if g.next != nil {
		g.next.prev = g.prev
	} else {
		l.last = g.prev
	}
	g.prev, g.next, g.listed = nil, nil, false
}

// settle counts what was read.
func (l *ledger) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for g := l.first; g != nil; {
		next := g.next
		if g.settle(l.count) {
			l.removeLocked(g)
		}
		g = next
	}
}

// settle counts the first reading of a run, and reports whether there is
// nothing to wait for.
func (g *guess) settle(count func(uint64, *guess)) bool {
	if g.reading == nil {
		return true
	}
	switch reader := g.reading.by.Load(); reader {
	case unread:
		return false
	case counted, nobody:
	default:
		count(reader, g)
	}
	g.reading = nil
	return true
}

// countReading counts a hit on something that ran ahead, hidden whole.
func (c *Cache[O]) countReading(session uint64, g *guess) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &c.past
	if s := c.sessions[session]; s != nil {
		n = &s.tally.counts
	}
	n.add(cHits, 1)
	n.addUse(g, g.took)
}

// A tally is what one session has counted.
type tally struct {
	counts
	heir atomic.Pointer[counts] // the cache's, once the session is over
}

// add counts for the session, and once it is over for the cache too.
func (t *tally) add(c counter, n int64) int64 {
	if heir := t.heir.Load(); heir != nil {
		heir.add(c, n)
	}
	return t.counts.add(c, n)
}

// addUse counts the first reading of a run ahead.
func (t *tally) addUse(g *guess, hidden time.Duration) {
	if heir := t.heir.Load(); heir != nil {
		heir.addUse(g, hidden)
	}
	t.counts.addUse(g, hidden)
}

// handOver gives what was counted to the cache, once. The cache's mu is held.
func (t *tally) handOver(heir *counts) {
	t.heir.Store(heir)
	for i := range t.counts {
		heir[i].Add(t.counts[i].Load())
	}
}

func (n *counts) add(c counter, delta int64) int64 { return n[c].Add(delta) }

func (n *counts) addUse(g *guess, hidden time.Duration) {
	n.add(cUsed, 1)
	n.add(cHidden, int64(hidden))
	n.add(cUsedBytes, g.size)
	n.add(cUsedTime, int64(g.took))
}
