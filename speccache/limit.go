package speccache

import (
	"fmt"
	"sync/atomic"
)

// Limits are hard caps on what speculation may cost. When one is reached,
// guessing ends, an event and the log say so once, and the target goes on as
// if there were no predictor. A zero field means the default, which depends on
// whose the limits are; nothing means "unlimited".
type Limits struct {
	// DraftCalls is how often the predictor may be asked.
	DraftCalls int64
	// DraftTokens is what drafts may use, prompts included. It is checked
	// before each draft, so that the last one may exceed it.
	DraftTokens int64
	// RequestsAhead is how many runs ahead may start.
	RequestsAhead int64
}

// Defaults of Config's limits.
var (
	DefaultSessionLimits = Limits{DraftCalls: 10_000, DraftTokens: 10_000_000, RequestsAhead: 30_000}
	DefaultScopeLimits   = Limits{DraftCalls: 100_000, DraftTokens: 100_000_000, RequestsAhead: 300_000}
	DefaultCacheLimits   = Limits{DraftCalls: 10_000_000, DraftTokens: 10_000_000_000, RequestsAhead: 30_000_000}
)

func (l Limits) withDefaults(name string, d Limits) (Limits, error) {
	for _, f := range []struct {
		name  string
		field *int64
		value int64
	}{
		{"DraftCalls", &l.DraftCalls, d.DraftCalls},
		{"DraftTokens", &l.DraftTokens, d.DraftTokens},
		{"RequestsAhead", &l.RequestsAhead, d.RequestsAhead},
	} {
		if err := setDefault(name+"."+f.name, f.field, f.value); err != nil {
			return l, err
		}
	}
	return l, nil
}

// resource is what Limits limit.
type resource int

const (
	draftCalls resource = iota
	draftTokens
	requestsAhead
	resources
)

var resourceNames = [resources]string{"draft calls", "draft tokens", "requests ahead"}

func (l Limits) of(r resource) int64 {
	return [resources]int64{l.DraftCalls, l.DraftTokens, l.RequestsAhead}[r]
}

// A meter counts what one owner has used.
type meter struct {
	used [resources]atomic.Int64
	told [resources]atomic.Bool
}

// A limited meter is one of a session's three.
type limited struct {
	owner string
	meter *meter
	max   Limits
}

func (s *Session[O]) meters() [3]limited {
	return [...]limited{
		{"session", &s.meter, s.c.cfg.SessionLimits},
		{"scope", &s.scope.meter, s.c.cfg.ScopeLimits},
		{"cache", &s.c.meter, s.c.cfg.CacheLimits},
	}
}

// take takes one of a resource from all three meters, or from none.
func (s *Session[O]) take(r resource) bool {
	meters := s.meters()
	for i, m := range meters {
		if m.meter.used[r].Add(1) <= m.max.of(r) {
			continue
		}
		for _, taken := range meters[:i+1] {
			taken.meter.used[r].Add(-1)
		}
		s.reached(m, r)
		return false
	}
	return true
}

// giveBack undoes a take.
func (s *Session[O]) giveBack(r resource) {
	for _, m := range s.meters() {
		m.meter.used[r].Add(-1)
	}
}

// exhausted reports whether none of a resource is left.
func (s *Session[O]) exhausted(r resource) bool {
	for _, m := range s.meters() {
		if m.meter.used[r].Load() >= m.max.of(r) {
			s.reached(m, r)
			return true
		}
	}
	return false
}

func (s *Session[O]) useTokens(n int64) {
	for _, m := range s.meters() {
		m.meter.used[draftTokens].Add(n)
	}
}

// reached says that a limit is, the first time aloud.
func (s *Session[O]) reached(m limited, r resource) {
	s.count(cLimited, 1)
	text := fmt.Sprintf("the %s has used its %d %s", m.owner, m.max.of(r), resourceNames[r])
	s.note(func(t *trouble) { t.limit = text })
	if m.meter.told[r].CompareAndSwap(false, true) {
		s.emit(Event{Kind: EventLimit, Err: text})
		s.warn("limit reached: guessing ends", text)
	}
}
