package speccache

import (
	"container/list"
	"sync"
)

// A window holds what is recent. A result is safe in it until the target has
// had the chance to read it: what leaves first is what has been read or was
// asked for, oldest first; unread guesses of the current step leave last.
type window[O any] struct {
	max int64

	// mu guards the lists, bytes, and the field place of every entry. It is
	// held for list operations only, and taken inside no other lock.
	mu     sync.Mutex
	bytes  int64
	unread list.List // of *entry[O], oldest first
	recent list.List // of *entry[O], oldest first
}

// place is where in the window an entry is.
type place struct {
	list *list.List
	elem *list.Element
	left bool // it has been in the window, or never needs to be
}

// add puts e into the window and takes old out of it, which e replaces and
// which may be nil. It returns what had to leave to make room.
func (w *window[O]) add(e, old *entry[O]) (left []*entry[O]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old != nil {
		w.unlink(old)
	}
	if e.place.left { // replaced by a still newer one meanwhile
		return nil
	}
	l := &w.recent
	if e.reading.open() {
		l = &w.unread
	}
	e.place = place{list: l, elem: l.PushBack(e)}
	w.bytes += e.size
	for w.bytes > w.max {
		left = append(left, w.pop())
	}
	return left
}

// pop takes out the entry whose turn it is. Readers only leave a mark: what was
// read since it came, or since it was last looked at here, is as new as what
// comes now.
func (w *window[O]) pop() *entry[O] {
	e := w.next()
	for range w.unread.Len() + w.recent.Len() { // each mark is good for one turn
		if !w.renew(e) {
			break
		}
		e = w.next()
	}
	w.unlink(e)
	return e
}

// How many places of the unread list are looked at for one that need not be
// there any more: when there are others to choose from, and when not.
const (
	lookShort = 16
	lookLong  = 1024
)

func (w *window[O]) next() *entry[O] {
	look := lookShort
	if w.recent.Len() == 0 {
		look = lookLong
	}
	for el := w.unread.Front(); el != nil && look > 0; el = el.Next() {
		if e := el.Value.(*entry[O]); !e.reading.open() || !e.guess.expected() {
			return e
		}
		look--
	}
	if first := w.recent.Front(); first != nil {
		return first.Value.(*entry[O])
	}
	return w.unread.Front().Value.(*entry[O])
}

// renew makes e the newest of what was read, if it was.
func (w *window[O]) renew(e *entry[O]) bool {
	firstRead := e.place.list == &w.unread && !e.reading.open()
	if marked := e.read.Swap(false); !marked && !firstRead {
		return false
	}
	e.place.list.Remove(e.place.elem)
	e.place = place{list: &w.recent, elem: w.recent.PushBack(e)}
	return true
}

func (w *window[O]) unlink(e *entry[O]) {
	if e.place.elem != nil {
		e.place.list.Remove(e.place.elem)
		w.bytes -= e.size
	}
	e.place = place{left: true}
}

func (w *window[O]) used() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes
}
