package speccache

import (
	"cmp"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// An Entry is what Lookup found.
type Entry[O any] struct {
	Observation  O
	ModelVersion string // that it was read for
	Revision     uint64
	Age          time.Duration
	Ahead        bool // it ran ahead, and this is its first reading
}

// Lookup returns the observation of an action if it is there, and else the
// reason why not. It never runs anything and never waits. It is for loops that
// run their own actions, and is no step: whatever the target gets to see, found
// here or not, hand it to Record, so that guessing goes on from there. It
// counts as Do's lookup does.
func (s *Session[O]) Lookup(a actions.Action) (Entry[O], Reason) {
	s.mu.Lock()
	s.refs++
	k := &call[O]{asked: s.c.now(), state: s.state()}
	s.mu.Unlock()
	defer s.release()
	if s.c.env.Resolve != nil {
		resolved, err := s.c.env.Resolve(k.state, a)
		if err != nil {
			s.count(cUnresolved, 1)
			return Entry[O]{}, ReasonBypass
		}
		a = resolved
	}
	rule := s.c.env.Rules[a.Name()]
	switch {
	case rule.Effect == actions.Unknown:
		return Entry[O]{}, ReasonUndeclared
	case rule.Effect != actions.ReadOnly:
		return Entry[O]{}, ReasonBypass
	}
	return s.find(k, s.keyOf(a, rule), rule)
}

func (s *Session[O]) find(k *call[O], id key, rule actions.Rule) (Entry[O], Reason) {
	if s.over() || s.c.shadow() {
		s.countMiss(ReasonMode)
		return Entry[O]{}, ReasonMode
	}
	e, _, reason := s.lookup(id, rule)
	var r Result[O]
	if e == nil || !s.serve(k, &r, e, Hit) {
		reason = cmp.Or(reason, ReasonAbsent)
		s.countMiss(reason)
		return Entry[O]{}, reason
	}
	return Entry[O]{r.Observation, e.key.version.Value(), r.Revision, r.Age, r.Ahead}, ""
}
