package speccache

// A queue lists entries, oldest first.
type queue[O any] struct {
	first, last *entry[O]
	len         int
}

// place links an entry to others: in its queue, and in its scope's share.
type place[O any] struct {
	prev, next   *entry[O]
	older, newer *entry[O]
}

func (q *queue[O]) push(e *entry[O]) {
	e.place.prev, e.place.next = q.last, nil
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
	e.place.prev, e.place.next = nil, nil
	q.len--
}
