package speccache

// A queue lists entries, oldest first. An entry can be in two: one for where it
// is, and its scope's share.
type queue[O any] struct {
	by          int // which of an entry's links it goes by
	first, last *entry[O]
	len         int
}

// links are those of an entry in its queues.
type links[O any] [2]struct{ prev, next *entry[O] }

const (
	byPlace = iota
	byScope
)

func (q *queue[O]) push(e *entry[O]) {
	at := &e.links[q.by]
	at.prev, at.next = q.last, nil
	if q.last != nil {
		q.last.links[q.by].next = e
	} else {
		q.first = e
	}
	q.last = e
	q.len++
}

func (q *queue[O]) remove(e *entry[O]) {
	at := &e.links[q.by]
	if at.prev != nil {
		at.prev.links[q.by].next = at.next
	} else {
		q.first = at.next
	}
	if at.next != nil {
		at.next.links[q.by].prev = at.prev
	} else {
		q.last = at.prev
	}
	at.prev, at.next = nil, nil
	q.len--
}
