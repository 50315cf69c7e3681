package speccache

import (
	"math"
	"slices"
	"sync"
)

// A window holds what is recent. A result is safe in it until the target has
// had the chance to read it: what leaves first is what has been read or was
// asked for, oldest first; unread guesses of the current step leave last.
//
// What is there beyond max is still found. It waits for the main region's
// goroutine to fetch it: choosing it means to look at what was used long ago,
// which the CPU has forgotten, and costs more than all else that is done to keep
// an observation.
//
// The window also keeps the books of all that is held, by scope: see share. As
// long as the shares that are in use fit into total, nothing is offered to the
// main region that it has no room for, so that ristretto has no choice to make,
// and no scope an effect on another one.
type window[O any] struct {
	max   int64
	batch int64 // so many bytes beyond max are worth waking somebody
	room  int64 // of the main region
	total int64 // max, batch and room
	share int64 // of one scope; noShare if one may have all
	slack int64 // see slackOf
	most  int64 // so many bytes may be held in all while others are to fetch

	// mu guards what follows, and what entries say about where they are. It is
	// held for list operations only, and taken inside no other lock.
	mu        sync.Mutex
	bytes     int64 // in the window
	main      int64 // in the main region, what is on its way out included
	away      int64 // of that, on its way out
	held      int64 // of all scopes
	within    int64 // of all scopes, what is within their shares
	crowded   bool  // within was above total
	beyond    int   // entries that came since there is something beyond max
	unread    queue[O]
	recent    queue[O]
	gone      queue[O]             // can't be found any more, and ristretto may have it
	shares    map[uint64]*share[O] // by scope, of those that hold something
	forgotten []*share[O]          // of scopes that are gone
}

// noShare is a share that bounds nothing.
const noShare = math.MaxInt64

// where an entry is.
type where uint8

const (
	nowhere where = iota
	inUnread
	inRecent
	inMain
	inGone
)

// add puts e into the window and takes old out of it, which e replaces and
// which may be nil. It reports whether something should be fetched now, and
// returns what e's scope gives up if that is over its share, and whether it is
// still.
func (w *window[O]) add(e, old *entry[O]) (due bool, excess *entry[O], over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old != nil {
		w.unlink(old)
	}
	if !e.left { // else it was replaced by a still newer one meanwhile
		w.enter(e)
		excess, over = w.giveUp(w.shares[e.key.scope], w.share)
		if w.bytes > w.max {
			w.beyond++
		}
	}
	if e.scope.dead.Load() {
		due = w.abandon(e.key.scope)
	}
	return due || w.beyond >= batchLen || w.bytes > w.max+w.batch || w.gone.len >= batchLen || w.away > w.batch, excess, over
}

// enter puts e where what is new belongs.
func (w *window[O]) enter(e *entry[O]) {
	if e.reading.open() {
		e.at = inUnread
		w.unread.push(e)
	} else {
		e.at = inRecent
		w.recent.push(e)
	}
	w.bytes += e.size
	w.charge(e)
}

// A chore is what is to be done with an entry that was fetched.
type chore int

const (
	noChore  chore = iota
	toOffer        // it has left the window
	toRemove       // ristretto may have it, and it can't be found any more
	toForget       // its scope is gone
)

// fetch takes out the entry whose turn it is. What makes room comes first.
func (w *window[O]) fetch() (*entry[O], chore) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.gone.first; e != nil {
		w.gone.remove(e)
		e.at = nowhere
		w.main -= e.size
		w.away -= e.size
		return e, toRemove
	}
	for n := len(w.forgotten) - 1; n >= 0; n-- {
		if e := w.forgotten[n].first; e != nil {
			w.unlink(e)
			return e, toForget
		}
		w.forgotten = slices.Delete(w.forgotten, n, n+1)
	}
	if w.bytes > w.max {
		if e := w.turn(); w.mayOffer(e) {
			w.leaveQueue(e)
			e.at = inMain
			w.main += e.size
			return e, toOffer
		}
	}
	w.beyond = 0
	return nil, noChore
}

// mayOffer reports whether e should go on to the main region: if there is room,
// or if more is in use than fits, until a batch is gone.
func (w *window[O]) mayOffer(e *entry[O]) bool {
	switch {
	case w.within > w.total:
		w.crowded = true
	case w.within <= w.total-w.batch:
		w.crowded = false
	}
	return w.crowded || w.share == noShare || w.main+e.size <= w.room
}

// shed is fetch for who may not wait until others fetch: it takes out what is
// far too much.
func (w *window[O]) shed() *entry[O] {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held <= w.most || w.bytes == 0 {
		return nil
	}
	e := w.turn()
	w.unlink(e)
	return e
}

// turn returns the entry whose turn it is to leave the window. Readers only
// leave a mark: what was read since it came, or since it was last looked at
// here, is as new as what comes now.
func (w *window[O]) turn() *entry[O] {
	e := w.next()
	for range w.unread.len + w.recent.len { // each mark is good for one turn
		if !w.renew(e) {
			break
		}
		e = w.next()
	}
	return e
}

// How many places of the unread are looked at for one that need not be there
// any more: when there are others to choose from, and when not.
const (
	lookShort = 16
	lookLong  = 1024
)

func (w *window[O]) next() *entry[O] {
	look := lookShort
	if w.recent.len == 0 {
		look = lookLong
	}
	for e := w.unread.first; e != nil && look > 0; e = e.links[byPlace].next {
		if !e.awaited() {
			return e
		}
		look--
	}
	if w.recent.first != nil {
		return w.recent.first
	}
	return w.unread.first
}

// Readers leave a mark for the window and one for their scope's share, each of
// which takes its own away.
const (
	windowMark = 1 << iota
	shareMark
	allMarks = windowMark | shareMark
)

// unmark takes a mark away, and reports whether it was there.
func (e *entry[O]) unmark(mark uint32) bool { return e.read.And(^mark)&mark != 0 }

// awaited reports whether e is a guess that the target may be about to ask for.
func (e *entry[O]) awaited() bool { return e.reading.open() && e.guess.expected() }

// renew makes e the newest of what was read, if it was.
func (w *window[O]) renew(e *entry[O]) bool {
	firstRead := e.at == inUnread && !e.reading.open()
	if marked := e.unmark(windowMark); !marked && !firstRead {
		return false
	}
	w.leaveQueue(e)
	w.bytes += e.size
	e.at = inRecent
	w.recent.push(e)
	return true
}

// leaveQueue takes e out of the window.
func (w *window[O]) leaveQueue(e *entry[O]) {
	if e.at == inUnread {
		w.unread.remove(e)
	} else {
		w.recent.remove(e)
	}
	e.at = nowhere
	w.bytes -= e.size
}

// unlink takes e out of the books. It never comes back.
func (w *window[O]) unlink(e *entry[O]) {
	e.left = true
	switch e.at {
	case nowhere, inGone:
		return
	case inMain:
		e.at = inGone
		w.gone.push(e)
		w.away += e.size
	default:
		w.leaveQueue(e)
	}
	w.discharge(e)
}

// leave is unlink for who holds nothing. Out says that ristretto does not have
// e any more.
func (w *window[O]) leave(e *entry[O], out bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if out && e.at == inMain {
		e.at, e.left = nowhere, true
		w.main -= e.size
		w.discharge(e)
		return
	}
	w.unlink(e)
}

func (w *window[O]) where(e *entry[O]) where {
	w.mu.Lock()
	defer w.mu.Unlock()
	return e.at
}

func (w *window[O]) used() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes
}
