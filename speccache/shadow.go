package speccache

import (
	"context"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// A foreseen action is one that would have run ahead, had the mode been On.
type foreseen struct {
	at    time.Duration
	stamp stamp
}

// maxForeseen is how many a session remembers; then it starts anew.
const maxForeseen = 1024

// foresee remembers a guess instead of running it, unless it would have been
// known already.
func (s *Session[O]) foresee(a actions.Action, rule *tool) {
	k := s.keyOf(a, rule)
	if _, known := s.foresight(k.hash(), rule, false); known {
		return
	}
	if s.reached(s.c.limiter.foresee(s)) {
		return
	}
	s.count(cShadowSpeculated, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.foreseen == nil || len(s.foreseen) >= maxForeseen {
		s.foreseen = map[uint64]foreseen{}
	}
	s.foreseen[k.hash()] = foreseen{s.c.now(), s.scopeOf(rule).stamp()}
}

// foresight returns when an action would have started to run ahead, if what it
// brought could still be served.
func (s *Session[O]) foresight(id uint64, rule *tool, forget bool) (at time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.foreseen[id]
	if forget {
		delete(s.foreseen, id)
	}
	return f.at, ok && f.stamp == s.scopeOf(rule).stamp() && s.since(f.at) <= lifeOf(rule)
}

// watch runs a read as if there were no cache, and counts what the cache would
// have done. The observation is kept, so that it knows.
func (s *Session[O]) watch(ctx context.Context, k *call[O], r *Result[O], rule *tool) error {
	id := s.keyOf(r.Action, rule)
	resident := s.ready(id.scope, id.action, k.asked)
	at, guessed := s.foresight(id.hash(), rule, true) // it would be resident from now on
	r.Reason = ReasonMode
	s.count(cShadowLookups, 1)
	own := s.newFlight(id, rule, s.c.now())
	err := s.runOwn(ctx, k, r, own)
	switch {
	case err != nil:
	case resident != nil:
		s.count(cShadowHits, 1)
	case guessed:
		s.countForeseen(own.started-at, s.since(own.started))
	}
	return err
}

func (s *Session[O]) countForeseen(head, took time.Duration) {
	which := cShadowHits
	if head < took {
		which = cShadowJoins
	}
	s.count(which, 1)
	s.count(cShadowUsed, 1)
	s.count(cShadowHidden, int64(min(head, took)))
}
