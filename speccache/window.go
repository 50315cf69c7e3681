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
	if e.unserved.Load() {
		l = &w.unread
	}
	e.place = place{list: l, elem: l.PushBack(e)}
	w.bytes += e.size
	for w.bytes > w.max {
		left = append(left, w.pop())
	}
	return left
}

// pop takes out the entry whose turn it is.
func (w *window[O]) pop() *entry[O] {
	l := &w.recent
	if first := w.unread.Front(); l.Len() == 0 || first != nil && !first.Value.(*entry[O]).guess.expected() {
		l = &w.unread
	}
	e := l.Front().Value.(*entry[O])
	w.unlink(e)
	return e
}

func (w *window[O]) unlink(e *entry[O]) {
	if e.place.elem != nil {
		e.place.list.Remove(e.place.elem)
		w.bytes -= e.size
	}
	e.place = place{left: true}
}

// touch makes e the newest of what was read, unless it has left the window.
func (w *window[O]) touch(e *entry[O]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.place.elem == nil {
		return
	}
	e.place.list.Remove(e.place.elem)
	e.place = place{list: &w.recent, elem: w.recent.PushBack(e)}
}

func (w *window[O]) used() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes
}
