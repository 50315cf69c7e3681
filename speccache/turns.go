package speccache

import (
	"container/list"
	"time"
)

// turns are those who wait for room, in the order in which they came. When there
// is some, the first whom it suits is called, and nobody else: thousands that
// all wake up to find it taken would be in the target's way at each lock. The
// owner's lock guards them.
type turns struct{ waiting list.List } // of *turn

// A turn is waited for by one run ahead.
type turn struct {
	suits func(now time.Time) bool // whether there is room for it; the owner's lock is held
	come  chan struct{}            // closed when there was
	place *list.Element            // nil once it has come, or was left
}

// wait adds one who waits until there is what suits it.
func (t *turns) wait(suits func(time.Time) bool) *turn {
	n := &turn{suits: suits, come: make(chan struct{})}
	n.place = t.waiting.PushBack(n)
	return n
}

// call calls the first whom it suits. It is to be called when there may be more
// room than before.
func (t *turns) call(now time.Time) {
	for e := t.waiting.Front(); e != nil; e = e.Next() {
		if n := e.Value.(*turn); n.suits(now) {
			t.waiting.Remove(e)
			n.place = nil
			close(n.come)
			return
		}
	}
}

// leave says that a turn is not waited for any more, or that it was taken. There
// may be room for another one then.
func (t *turns) leave(n *turn, now time.Time) {
	if n.place == nil {
		t.call(now)
		return
	}
	t.waiting.Remove(n.place)
	n.place = nil
}
