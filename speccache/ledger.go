package speccache

import (
	"sync"
	"sync/atomic"
	"time"
)

// A reading says who has read an entry first that ran ahead: a session's tally,
// or one of those below. It changes once, and who changes it counts the
// reading or leaves that to the ledger.
type reading struct{ by atomic.Pointer[tally] }

var (
	counted = new(tally) // nobody, since it did not run ahead, or it was counted at once
	nobody  = new(tally) // and nobody can find it any more
)

// open reports whether an entry that ran ahead waits for its first reader.
func (r *reading) open() bool { return r.by.Load() == nil }

// take makes t the first reader, if there was none.
func (r *reading) take(t *tally) bool {
	return r.by.Load() == nil && r.by.CompareAndSwap(nil, t)
}

// A guess is where a run ahead comes from. Entries keep it, and nothing else of
// the session.
type guess struct {
	source string
	rank   int           // 1 for the step's first
	step   int64         // which of its session's steps the draft had seen
	steps  *atomic.Int64 // its session's counter

	// Written before the entry can be found.
	took time.Duration
	size int64

	reading *reading // the entry's, as long as it can be found; guarded by ledger.mu
}

// expected reports whether the target can still be about to ask: the step
// after the one that the draft saw is not over.
func (g *guess) expected() bool { return g.step+1 >= g.steps.Load() }

// A ledger lists the runs ahead of a scope that can be found and whose first
// reading is not in the statistics yet. Counting it costs more than a lookup
// may: readers leave their name, and the ledger is settled by who has time.
type ledger struct {
	// mu guards what follows. It is held for arithmetic only; each tally's mu
	// is taken inside it.
	mu   sync.Mutex
	open []*guess
	full int // the length at which to settle
}

// add puts a run on the ledger that can be found by now.
func (l *ledger) add(g *guess) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, g)
	if len(l.open) >= l.full {
		l.settleLocked()
		l.full = 2*len(l.open) + 16
	}
}

// strike settles one run that can't be found any more.
func (l *ledger) strike(g *guess) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.reading != nil {
		g.reading.take(nobody)
		g.settle()
	}
}

func (l *ledger) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settleLocked()
}

func (l *ledger) settleLocked() {
	kept := l.open[:0]
	for _, g := range l.open {
		if !g.settle() {
			kept = append(kept, g)
		}
	}
	clear(l.open[len(kept):])
	l.open = kept
}

// settle counts the first reading of a run, and reports whether there is
// nothing to wait for.
func (g *guess) settle() bool {
	if g.reading == nil {
		return true
	}
	switch reader := g.reading.by.Load(); reader {
	case nil:
		return false
	case counted, nobody:
	default:
		reader.addHit(g)
	}
	g.reading = nil
	return true
}

// A tally is what one session has counted. Entries may keep it longer than the
// session lives.
type tally struct {
	counts

	mu   sync.Mutex             // makes handing over one step with what a ledger adds
	heir atomic.Pointer[counts] // the cache's, once the session is over
}

// addHit counts a hit on something that ran ahead, hidden whole.
func (t *tally) addHit(g *guess) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(cHits, 1)
	t.addUse(g, g.took)
}

// addUse counts the first reading of a run ahead.
func (t *tally) addUse(g *guess, hidden time.Duration) {
	t.add(cUsed, 1)
	t.add(cHidden, int64(hidden))
	t.add(cUsedBytes, g.size)
	t.add(cUsedTime, int64(g.took))
}

// add counts for the session, and once it is over for the cache too.
func (t *tally) add(c counter, n int64) int64 {
	if heir := t.heir.Load(); heir != nil {
		heir[c].Add(n)
	}
	return t.counts[c].Add(n)
}

// handOver gives what was counted to the cache, once.
func (t *tally) handOver(heir *counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heir.Store(heir)
	for i := range t.counts {
		heir[i].Add(t.counts[i].Load())
	}
}
