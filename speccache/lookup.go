package speccache

import (
	"time"

	"github.com/speccache/speccache-go/actions"
)

// An Entry is what Lookup found.
type Entry[O any] struct {
	Observation O
	Ahead       bool // it ran ahead, and this is its first reading

	kept *entry[O] // Four words in all: see actions.Action.
}

// ModelVersion is the target's that the observation was read for.
func (e Entry[O]) ModelVersion() string {
	if e.kept == nil {
		return ""
	}
	return e.kept.key.version.name.Value()
}

// Revision numbers the observations of one action, as Result.Revision does.
func (e Entry[O]) Revision() uint64 {
	if e.kept == nil {
		return 0
	}
	return e.kept.revision
}

// Age is the time that has passed since the run started that brought the
// observation.
func (e Entry[O]) Age() time.Duration {
	if e.kept == nil {
		return 0
	}
	return e.kept.scope.clock.now() - e.kept.born
}

// Lookup returns the observation of an action if it is there, and else the
// reason why not. It never runs anything and never waits. It is for loops that
// run their own actions, and is no step: whatever the target gets to see, found
// here or not, hand it to Record, so that guessing goes on from there. It
// counts as Do's lookup does, but one that runs beside the session's Close may
// go uncounted.
func (s *Session[O]) Lookup(a actions.Action) (Entry[O], Reason) {
	if s.c.plain && s.serving() {
		// What is there was declared, and rules do not change: they are asked
		// about what is not. How far the coarse clock is behind depends on when
		// others have read it: what may have expired since is looked up exactly.
		if e := s.ready(s.scope.id, a, s.c.clock.about()+margin); e != nil {
			return Entry[O]{e.observation, s.took(e), e}, ""
		}
	}
	return s.lookFurther(a)
}

// ready returns the entry of an action that the session may be served now.
func (s *Session[O]) ready(scope uint64, a actions.Action, now time.Duration) *entry[O] {
	v := s.versions.Load()
	if e := s.c.store.find(scope, v.current, a); e != nil && e.why(now) == "" {
		return e
	}
	if !v.first {
		return nil
	}
	e := s.c.store.find(scope, unsetVersion, a)
	if e == nil || !s.accept(unsetVersion, e.session) || e.why(now) != "" {
		return nil
	}
	return e
}

// sampledReads: one read in so many tells what is popular. See
// bench/hitratio.md for what more of them would bring, and bench/costs.md for
// what they cost.
const sampledReads = 2

// took counts a hit, and reports whether it is the first reading of a run
// ahead. It costs one atomic operation: see ledger.
func (s *Session[O]) took(e *entry[O]) (ahead bool) {
	if s.c.renews {
		s.c.renewer.served(e)
	}
	if e.reading.open() && e.reading.by.CompareAndSwap(unread, s.id) {
		return true
	}
	if n := uint64(s.tally.counts[cHits].Add(1)); n%sampledReads == 0 {
		s.c.store.sample(e, s.id, n/sampledReads)
	}
	return false
}

// lookFurther is Lookup for what is not simply there.
func (s *Session[O]) lookFurther(a actions.Action) (Entry[O], Reason) {
	if s.c.env.Resolve != nil {
		s.mu.Lock()
		state := s.state()
		s.mu.Unlock()
		resolved, err := s.c.env.Resolve(state, a)
		if err != nil {
			s.count(cUnresolved, 1)
			return Entry[O]{}, ReasonBypass
		}
		a = resolved
	}
	rule := s.c.tools.of(a)
	switch {
	case rule.Effect == actions.Unknown:
		return Entry[O]{}, ReasonUndeclared
	case rule.Effect != actions.ReadOnly:
		return Entry[O]{}, ReasonBypass
	case !s.serving():
		s.countMiss(ReasonMode)
		return Entry[O]{}, ReasonMode
	}
	now := s.c.now()
	id := s.keyOf(a, rule)
	if e := s.ready(id.scope, id.action, now); e != nil {
		var o O
		if s.c.copyTo(&o, e.observation) {
			return Entry[O]{o, s.took(e), e}, ""
		}
	}
	reason := s.whyNot(id, rule, now)
	s.countMiss(reason)
	return Entry[O]{}, reason
}
