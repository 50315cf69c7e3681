package speccache

import (
	"context"
	"slices"
	"time"
)

// Why there is no room for a run ahead.
type shortage int32

const (
	room     shortage = iota // there is
	noPermit                 // of the session, the scope, the cache, or at the host
	noRate                   // at the host
	noSpare                  // the host's load
	mustWait                 // at its host, which it was not to
)

// rule is how refusals for it are counted. What only waits for other runs ahead
// is no refusal.
func (s shortage) rule() string {
	switch s {
	case noRate:
		return "rate"
	case noSpare:
		return "load"
	}
	return ""
}

// start lists a run ahead, once there is room for it. If there is none it gives
// up the oldest run in the way that nobody waits for, of the same session and
// from an earlier step, whose place follows when it has ended. It fails when a
// limit is reached, or when ctx ends: the target has acted. Then it says what
// was short. For a place at the host it waits only if it may.
func (l *limiter[O]) start(ctx context.Context, f *flight[O], wait bool) (shortage, *limitReached) {
	var victim *flight[O]
	var held space // what was waited for
	for {
		l.mu.Lock()
		if ctx.Err() != nil {
			l.leave(held)
			l.mu.Unlock()
			return max(f.short, noPermit), nil
		}
		full, reached := l.enter(f, wait)
		if full.brief() { // who has come so far keeps its turn
			full.turn, full.at = held.turn, held.at
		} else {
			l.leave(held)
		}
		held = full
		if full.short == room {
			l.mu.Unlock()
			return room, reached
		}
		f.short = full.short
		// Where the host queues, giving up frees nothing: it goes on all the same.
		if full.short == noPermit && !slices.Contains(l.list, victim) { // one at a time
			victim = l.giveUpOldest(f, full.at != nil)
		}
		l.mu.Unlock()
		if !wait && (full.at != nil || full.after > maxApart) {
			return mustWait, nil
		}
		full.wait(ctx)
		f.started = l.clock.now()
	}
}

// A space is what is short, and what to wait for: a turn or a moment.
type space struct {
	short shortage
	at    *host         // that is short of it; nil if all are
	turn  *turn         // there, or of all
	after time.Duration // when there may be room; 0 is not known
}

// brief reports whether it is only a matter of a moment.
func (s *space) brief() bool { return s.after > 0 && s.after <= maxApart }

// wait waits until there may be room, or for the end of ctx.
func (s *space) wait(ctx context.Context) {
	if s.after == 0 {
		select {
		case <-s.turn.come:
		case <-ctx.Done():
		}
		return
	}
	t := time.NewTimer(s.after)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// leave gives back a turn. mu is held.
func (l *limiter[O]) leave(s space) {
	switch {
	case s.turn == nil:
	case s.at != nil:
		l.hosts.leave(s.at, s.turn)
	default:
		l.turns.leave(s.turn, time.Now())
	}
}
