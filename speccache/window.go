package speccache

import "sync"

// A window holds what is recent. A result is safe in it until the target has
// had the chance to read it: what leaves first is what has been read or was
// asked for, oldest first; unread guesses of the current step leave last.
//
// What is there beyond max is still found. It waits for the main region's
// goroutine to fetch it: choosing it means to look at what was used long ago,
// which the CPU has forgotten, and costs more than all else that is done to keep
// an observation.
type window[O any] struct {
	max   int64
	batch int64 // so many bytes beyond max are worth waking somebody
	most  int64 // so many bytes in all may wait for that

	// mu guards what follows and the field place of every entry. It is held for
	// list operations only, and taken inside no other lock.
	mu     sync.Mutex
	bytes  int64
	beyond int // entries that came since there is something beyond max
	unread queue[O]
	recent queue[O]
}

// A queue lists entries, oldest first.
type queue[O any] struct {
	first, last *entry[O]
	len         int
}

// place is where in the window an entry is.
type place[O any] struct {
	in         *queue[O]
	prev, next *entry[O]
	left       bool // it has been in the window, or never needs to be
}

func (q *queue[O]) push(e *entry[O]) {
	e.place = place[O]{in: q, prev: q.last}
	if q.last != nil {
		q.last.place.next = e
	} else {
		q.first = e
	}
	q.last = e
	q.len++
}

func (q *queue[O]) remove(e *entry[O]) {
	prev, next := e.place.prev, e.place.next
	if prev != nil {
		prev.place.next = next
	} else {
		q.first = next
	}
	if next != nil {
		next.place.prev = prev
	} else {
		q.last = prev
	}
	e.place = place[O]{}
	q.len--
}

// add puts e into the window and takes old out of it, which e replaces and
// which may be nil. It reports whether what is beyond max should be fetched now,
// and whether old had left before.
func (w *window[O]) add(e, old *entry[O]) (due, oldLeft bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old != nil {
		oldLeft = old.place.left
		w.unlink(old)
	}
	if e.place.left { // replaced by a still newer one meanwhile
		return false, oldLeft
	}
	if e.reading.open() {
		w.unread.push(e)
	} else {
		w.recent.push(e)
	}
	w.bytes += e.size
	if w.bytes > w.max {
		w.beyond++
	}
	return w.beyond >= batchLen || w.bytes > w.max+w.batch, oldLeft
}

// fetch takes out the entry whose turn it is, if there is something beyond max.
func (w *window[O]) fetch() *entry[O] {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bytes <= w.max {
		w.beyond = 0
		return nil
	}
	return w.pop()
}

// shed is fetch for who may not wait until others fetch: it takes out what is
// far too much.
func (w *window[O]) shed() *entry[O] {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bytes <= w.most {
		return nil
	}
	return w.pop()
}

// pop takes out the entry whose turn it is. Readers only leave a mark: what was
// read since it came, or since it was last looked at here, is as new as what
// comes now.
func (w *window[O]) pop() *entry[O] {
	e := w.next()
	for range w.unread.len + w.recent.len { // each mark is good for one turn
		if !w.renew(e) {
			break
		}
		e = w.next()
	}
	w.unlink(e)
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
	for e := w.unread.first; e != nil && look > 0; e = e.place.next {
		if !e.reading.open() || !e.guess.expected() {
			return e
		}
		look--
	}
	if w.recent.first != nil {
		return w.recent.first
	}
	return w.unread.first
}

// renew makes e the newest of what was read, if it was.
func (w *window[O]) renew(e *entry[O]) bool {
	firstRead := e.place.in == &w.unread && !e.reading.open()
	if marked := e.read.Swap(false); !marked && !firstRead {
		return false
	}
	e.place.in.remove(e)
	w.recent.push(e)
	return true
}

func (w *window[O]) unlink(e *entry[O]) {
	if e.place.in != nil {
		e.place.in.remove(e)
		w.bytes -= e.size
	}
	e.place = place[O]{left: true}
}

func (w *window[O]) used() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes
}
