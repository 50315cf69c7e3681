package speccache

import (
	"context"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// A Session is one run of one agent: its goal, its steps, its model version.
// It is made by Cache.Open and must be closed. All methods may be called
// concurrently; parallel calls of Do are one step.
type Session[O any] struct {
	c        *Cache[O]
	id       uint64
	goal     string
	do       actions.Executor[O]
	own      bool               // do is not the environment's
	onChange func(actions.Call) // changed, made once
	scope    *scope
	tally    tally

	versions atomic.Pointer[versions]
	begun    *atomic.Int64 // steps; beyond all once the session is closed
	closed   atomic.Bool

	account account // guarded by limiter.mu

	failed     atomic.Bool              // failing is not empty
	undeclared atomic.Pointer[[]string] // names that were met; replaced, never changed

	// mu guards what follows. No user code runs under it.
	mu       sync.Mutex
	refs     int  // the open session, its calls, and its drivers
	counted  bool // handed over to the cache
	history  history[O]
	open     int                 // calls of Do that have not returned
	pending  []*call[O]          // the step's calls, in call order
	spare    []*call[O]          // of earlier steps, to be used again
	drafts   []*draft[O]         // asked about the present step
	timer    *time.Timer         // for drafts that take too long; see watchDrafts
	timed    bool                // it is running
	asking   int                 // predictors that have not returned
	waiting  context.Context     // of a draft that waits for one of them; nil if none does
	failing  map[uint64]failure  // by key hash: guesses that ran ahead in vain
	foreseen map[uint64]foreseen // by key hash: guesses in Shadow mode
	trouble  trouble
}

// A call is one action of the target, from Do's begin to its end.
type call[O any] struct {
	asked time.Duration
	state actions.State[O] // before the step
	step  actions.Step[O]  // what to remember, if ok
	size  int64            // of its observation
	ok    bool
}

// begin opens a call. The first one of a step ends the drafts about it.
func (s *Session[O]) begin(asked time.Duration) *call[O] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == 0 {
		s.nextStep()
	}
	s.refs++
	s.open++
	var k *call[O]
	if n := len(s.spare); n > 0 {
		k, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		k = &call[O]{}
	}
	k.asked = asked
	if s.c.env.Resolve != nil {
		k.state = s.state()
	}
	s.pending = append(s.pending, k)
	return k
}

// nextStep stops the drafts about the present step. mu is held.
func (s *Session[O]) nextStep() {
	for _, d := range s.drafts {
		d.ctx.end(errActed)
	}
	clear(s.drafts)
	s.drafts = s.drafts[:0]
	if s.waiting != nil {
		s.count(cDraftsSkipped, 1)
		s.waiting = nil
	}
	if !s.closed.Load() {
		s.begun.Add(1)
	}
}

// end closes a call, and with the last one the step: then the target starts to
// think, and the draft to guess.
func (s *Session[O]) end(ctx context.Context) {
	drafts := s.c.cfg.Predictor != nil && ctx.Err() == nil
	s.mu.Lock()
	s.open--
	last := s.open == 0
	if last {
		s.endStep()
	}
	over := false
	if drafts = drafts && last; !drafts {
		over = s.leave()
	}
	s.mu.Unlock()
	switch {
	case drafts:
		defer s.release()
		s.startDraft(ctx)
	case over:
		s.handOver()
	}
}

// endStep remembers what the step's calls brought. mu is held.
func (s *Session[O]) endStep() {
	for _, k := range s.pending {
		if k.ok {
			s.history.add(k.step, k.size)
		}
		*k = call[O]{}
	}
	s.history.trim(s.c.cfg.StepBytes)
	s.spare = append(s.spare, s.pending...)[:min(len(s.spare)+len(s.pending), maxSpare)]
	clear(s.pending)
	s.pending = s.pending[:0]
}

// maxSpare is how many calls a session keeps for later ones.
const maxSpare = 4

// state is what is known now. mu is held.
func (s *Session[O]) state() actions.State[O] {
	return actions.State[O]{Scope: s.scope.name, Goal: s.goal, Session: s.id, Steps: s.history.show()}
}

// Observe records an observation that the session did not ask for, such as
// the first page, as a step of its own. Guessing starts from it.
func (s *Session[O]) Observe(ctx context.Context, o O) {
	s.Record(ctx, actions.Action{}, o)
}

// Record is Observe for a loop that runs its own actions: it says which action
// brought the observation, for predictors that go by what was done. The
// observation is not kept for later lookups, since nobody knows what was
// written while the action ran.
func (s *Session[O]) Record(ctx context.Context, a actions.Action, o O) {
	k := s.begin(0)
	defer s.end(ctx)
	k.step.Action = a
	s.remember(k, o)
}

// Advance hides what the sessions of this session's scope have read so far:
// it is Cache.Advance, also for a scope of the session's own.
func (s *Session[O]) Advance() {
	s.c.advance(s.scope)
	s.emit(Event{Kind: EventAdvance})
}

// remember makes o what the call's step shows: a copy, where the environment
// says that observations need one. A call whose observation can't be copied
// is no step.
func (s *Session[O]) remember(k *call[O], o O) {
	k.ok = s.c.copyTo(&k.step.Observation, o)
	k.size = s.c.sizeOf(o)
}

// SetModelVersion says which model version the target has from now on, such as
// its configured name with the name that the provider reports. Entries of
// another version are not served to the session; the first statement after
// "not known yet" invalidates nothing that the session read itself. Of a
// version longer than 256 bytes a hash is kept.
func (s *Session[O]) SetModelVersion(version string) {
	s.mu.Lock()
	old := s.versions.Load()
	next := old.next(version)
	changed := next.current != old.current
	if changed {
		s.versions.Store(next)
	}
	if changed && !next.first {
		s.count(cVersions, 1)
	}
	s.mu.Unlock()
	if !changed {
		return
	}
	if !next.first {
		s.c.limiter.each(func(f *flight[O]) {
			if f.session == s {
				f.giveUp()
			}
		})
	}
	s.emit(Event{Kind: EventModelVersion, ModelVersion: next.current.name.Value()})
}

// ID returns the session's number, unique in its cache: that of its events and
// of actions.Call.
func (s *Session[O]) ID() uint64 { return s.id }

// Stats returns what the session has counted. What runs ahead is counted for
// the session that guessed it, its use for the session that it served.
func (s *Session[O]) Stats() Stats {
	var sum [counters]int64
	s.settle()
	s.tally.addTo(&sum)
	st := newStats(sum)
	s.mu.Lock()
	defer s.mu.Unlock()
	st.DraftFailures = maps.Clone(s.trouble.failures)
	st.Refusals = maps.Clone(s.trouble.refusals)
	st.StepBytes = s.history.bytes
	return st
}

// stepBytes are what the session's steps hold.
func (s *Session[O]) stepBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.bytes
}

// settle counts what the session has read of runs ahead.
func (s *Session[O]) settle() {
	s.scope.ledger.settle()
	s.c.scopes.public.ledger.settle()
}

// Close ends the session: its drafts are stopped, and its runs ahead that
// nobody waits for are cancelled, but not waited for; Cache.Close does that.
// After it, Do passes through. Close is idempotent, and its error is always
// nil.
func (s *Session[O]) Close() error {
	s.mu.Lock()
	again := s.closed.Swap(true)
	s.begun.Store(math.MaxInt64)
	s.mu.Unlock()
	if again {
		return nil
	}
	s.stopDrafts()
	s.c.limiter.each(func(f *flight[O]) {
		if f.session == s {
			f.giveUp()
		}
	})
	s.release()
	return nil
}

// stopDrafts stops the drafts about the present step; runs go on.
func (s *Session[O]) stopDrafts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.drafts {
		d.ctx.end(errActed)
	}
	clear(s.drafts)
	s.drafts = s.drafts[:0]
	s.waiting = nil
	if s.timed && s.closed.Load() {
		s.timed = !s.timer.Stop()
	}
}

// hold takes a reference, unless the session is closed.
func (s *Session[O]) hold() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return false
	}
	s.refs++
	return true
}

// release gives back a reference. With the last one of a closed session its
// counts are the cache's: what is counted later goes to both.
func (s *Session[O]) release() {
	s.mu.Lock()
	over := s.leave()
	s.mu.Unlock()
	if over {
		s.handOver()
	}
}

// leave is release for who holds mu: if it returns true, handOver is due.
func (s *Session[O]) leave() (over bool) {
	s.refs--
	over = s.refs == 0 && !s.counted
	s.counted = s.counted || over
	return over
}

func (s *Session[O]) handOver() {
	s.settle()
	s.c.mu.Lock()
	s.tally.handOver(&s.c.past)
	delete(s.c.sessions, s.id)
	s.c.mu.Unlock()
	s.c.scopes.leave(s.scope)
}

// count adds to the session's counters. It needs a reference, or mu.
func (s *Session[O]) count(c counter, n int64) int64 { return s.tally.add(c, n) }

// over reports whether the session only passes through.
func (s *Session[O]) over() bool { return s.closed.Load() || s.c.off() || s.c.closed.Load() }

// serving reports whether lookups may find anything.
func (s *Session[O]) serving() bool {
	return !s.closed.Load() && Mode(s.c.mode.Load()) == On && !s.c.closed.Load()
}

func (s *Session[O]) emit(e Event) {
	e.Scope, e.Session, e.Step = s.scope.name, s.id, s.begun.Load()
	s.c.emit(e)
}

// execute runs an action of the target's with the session's executor.
func (s *Session[O]) execute(ctx context.Context, a actions.Action, rule *tool) (O, error) {
	ctx = s.tagged(ctx, false, rule.public())
	host := s.c.hostOf(a)
	if host == "" || s.c.off() {
		return s.do(ctx, a)
	}
	e, answered := s.c.limiter.call(s, host), false
	defer func() { e.end(answered) }()
	o, err := s.do(ctx, a)
	answered = err == nil
	return o, err
}

// tagged returns a context that tells an executor what it is called for.
func (s *Session[O]) tagged(ctx context.Context, ahead, public bool) context.Context {
	call := actions.Call{Scope: s.scope.name, Session: s.id, Ahead: ahead, Public: public}
	return actions.WithRun(ctx, call, s.onChange)
}

// since is the time since a moment of the cache's clock.
func (s *Session[O]) since(moment time.Duration) time.Duration { return s.c.now() - moment }

// report tells how an action of the target ended. Without a hook nothing of an
// event is made: it would be the largest thing on the stack.
func (s *Session[O]) report(r *Result[O], err error) {
	if s.c.events != nil {
		s.emitAction(r, err)
	}
}

func (s *Session[O]) emitAction(r *Result[O], err error) {
	ev := Event{
		Kind: EventAction, Outcome: r.Outcome, Reason: r.Reason, Ahead: r.Ahead,
		Revision: r.Revision, Waited: r.Waited, Hidden: r.Hidden, Err: s.c.errText(err),
	}
	s.c.describe(&ev, r.Action)
	s.emit(ev)
}

// tell tells of a run ahead.
func (s *Session[O]) tell(f *flight[O], kind EventKind) {
	if s.c.events != nil {
		s.emitRun(f, kind)
	}
}

func (s *Session[O]) emitRun(f *flight[O], kind EventKind) {
	ev := Event{Kind: kind, Source: f.guess.source, Rank: f.guess.rank, Took: f.took, Rule: ruleOf(f.err), Err: s.c.errText(f.err)}
	s.c.describe(&ev, f.key.action)
	s.emit(ev)
}
