package speccache

// A share is what one scope holds: its entries wherever they are, in the order
// in which they came or were last looked at here. A scope that comes over its
// share gives up its own oldest, what was read meanwhile later and unread guesses
// last. That is decided by nothing but what the scope's sessions do themselves:
// neither by what others do, nor by whether an entry is still in the window or
// long in the main region.
//
// Shares are guarded by window.mu.
type share[O any] struct {
	queue[O]
	bytes int64
}

// oldest returns what is given up first. What was read since it was looked at,
// and guesses that the target may be about to ask for, have their turn later.
func (s *share[O]) oldest() *entry[O] {
	for range min(s.len, lookLong) {
		e := s.first
		if !e.awaited() && !e.unmark(shareMark) {
			return e
		}
		s.remove(e)
		s.push(e)
	}
	return s.first
}

// charge enters e in its scope's share. window.mu is held, here and below.
func (w *window[O]) charge(e *entry[O]) {
	s := w.shares[e.key.scope]
	if s == nil {
		s = &share[O]{queue: queue[O]{by: byScope}}
		w.shares[e.key.scope] = s
	}
	s.push(e)
	w.count(s, e.size)
}

// discharge gives back what e took of its scope's share.
func (w *window[O]) discharge(e *entry[O]) {
	s := w.shares[e.key.scope]
	s.remove(e)
	w.count(s, -e.size)
	if s.len == 0 {
		delete(w.shares, e.key.scope)
	}
}

func (w *window[O]) count(s *share[O], bytes int64) {
	before := min(s.bytes, w.share)
	s.bytes += bytes
	w.held += bytes
	w.within += min(s.bytes, w.share) - before
}

// excess takes out what the scope has to give up, if it is over its share, and
// reports whether it still is.
func (w *window[O]) excess(scope uint64) (e *entry[O], over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.giveUp(w.shares[scope], w.share-w.slack)
}

// giveUp takes out what s has to give up if it is over a limit, and reports
// whether more is to follow: a large share gives up a little more than it must, so
// that it need not at every entry.
func (w *window[O]) giveUp(s *share[O], limit int64) (e *entry[O], over bool) {
	if s == nil || s.bytes <= limit {
		return nil, false
	}
	e = s.oldest()
	w.unlink(e)
	return e, s.bytes > w.share-w.slack
}

// slackOf is how much more than it must a share gives up.
func slackOf(share int64) int64 {
	if share < 1<<20 || share == noShare {
		return 0
	}
	return share / 64
}

// forget has all that a scope holds fetched, for nobody can find it any more.
// It reports whether that is anything.
func (w *window[O]) forget(scope uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.abandon(scope)
}

func (w *window[O]) abandon(scope uint64) bool {
	s := w.shares[scope]
	if s != nil {
		w.forgotten = append(w.forgotten, s)
	}
	return s != nil
}
