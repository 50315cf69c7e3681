package speccache

import (
	"cmp"
	"context"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// A Result is an observation and where it came from.
type Result[O any] struct {
	Observation O
	Action      actions.Action // as it was resolved
	Outcome     Outcome
	Reason      Reason // why it missed
	// Ahead: it ran ahead, and this is its first reading.
	Ahead bool
	// Revision numbers the observations of one action, from 1 for as long as
	// the cache remembers it; 0 if the observation is not kept.
	Revision uint64
	// Age is the time since the run started that brought the observation.
	Age time.Duration
	// Waited is the time that Run took. Hidden is what the run took, less what
	// was waited for it, if it ran ahead and this is its first reading.
	Waited, Hidden time.Duration
}

// Do runs an action: it returns what the executor would have returned for
// exactly this action, from the cache if it is there, else from a run that is
// already going on, else from a run of its own, on the caller's goroutine and
// with its context. Errors and panics are those of the target's own runs; a
// run ahead never shows.
//
// Do is an actions.Executor. It starts the draft as it returns.
func (s *Session[O]) Do(ctx context.Context, a actions.Action) (O, error) {
	r, err := s.Run(ctx, a)
	return r.Observation, err
}

// Run is Do for those who want to know more than the observation. Result is
// filled in as far as it is known when the error is not nil.
func (s *Session[O]) Run(ctx context.Context, a actions.Action) (Result[O], error) {
	asked := s.c.now()
	local, ok := s.local(a)
	if ok {
		return s.answer(ctx, local, nil, asked)
	}
	return s.answer(ctx, a, s.begin(asked), asked)
}

// answer runs an action as call k, which it ends, or without one if the action
// is Local.
func (s *Session[O]) answer(ctx context.Context, a actions.Action, k *call[O], asked time.Duration) (Result[O], error) {
	r := Result[O]{Action: a, Outcome: Miss, Reason: ReasonBypass}
	if k == nil {
		o, err := s.execute(ctx, a, s.c.tools.of(a))
		r.Observation, r.Waited = o, s.since(asked)
		return r, err
	}
	defer s.end(ctx)
	err := s.run(ctx, k, &r)
	r.Waited = s.since(asked)
	s.count(cWaited, int64(r.Waited))
	s.report(&r, err)
	return r, err
}

// local reports whether an action is Local by name and as it resolves. Such
// an action is part of the target's thinking, and no step.
func (s *Session[O]) local(a actions.Action) (actions.Action, bool) {
	if s.c.tools.of(a).Effect != actions.Local {
		return a, false
	}
	if s.c.env.Resolve != nil {
		s.mu.Lock()
		state := s.state()
		s.mu.Unlock()
		resolved, err := s.c.env.Resolve(state, a)
		return resolved, err == nil && s.c.tools.of(resolved).Effect == actions.Local
	}
	return a, true
}

// run resolves an action and treats it as its rule says.
func (s *Session[O]) run(ctx context.Context, k *call[O], r *Result[O]) error {
	if s.c.env.Resolve != nil {
		a, err := s.c.env.Resolve(k.state, r.Action)
		if err != nil {
			s.count(cUnresolved, 1)
			text := brief(err)
			s.note(func(t *trouble) { t.unresolved = text })
			return err
		}
		r.Action = a
	}
	k.step.Action = r.Action
	rule := s.c.tools.of(r.Action)
	switch rule.Effect {
	case actions.ReadOnly:
		return s.read(ctx, k, r, rule)
	case actions.Local:
		return s.pass(ctx, k, r, rule)
	}
	return s.change(ctx, k, r, rule)
}

// pass runs an action and keeps nothing of it but the step.
func (s *Session[O]) pass(ctx context.Context, k *call[O], r *Result[O], rule *tool) error {
	o, err := s.execute(ctx, r.Action, rule)
	r.Observation = o
	if err == nil {
		s.remember(k, o)
	}
	return err
}

// change runs an action that may change the scope's state. What was read
// before or while it runs is not served after it, even if it fails.
func (s *Session[O]) change(ctx context.Context, k *call[O], r *Result[O], rule *tool) error {
	if rule.Effect == actions.Unknown {
		r.Reason = ReasonUndeclared
		s.count(cUndeclared, 1)
		s.metUndeclared(r.Action)
	} else {
		s.count(cWrites, 1)
	}
	w := s.beginWrite(rule.Public)
	defer s.endWrite(w)
	return s.pass(ctx, k, r, rule)
}

// written are the scopes whose state an action may change. A session that was
// closed may have outlived its scope's record, and then there is another one
// by that name, or will be.
type written struct{ own, again, public *scope }

func (s *Session[O]) beginWrite(public bool) written {
	w := written{own: s.scope}
	if s.scope.name != "" && s.closed.Load() {
		w.again = s.c.scopes.enter(s.scope.name)
	}
	if public {
		w.public = s.c.scopes.public
	}
	w.each((*scope).beginWrite)
	s.c.killAhead(func(f *flight[O]) bool { return f.scope == w.own || f.scope == w.again || f.scope == w.public })
	return w
}

func (s *Session[O]) endWrite(w written) {
	w.each((*scope).endWrite)
	if w.again != nil {
		s.c.scopes.leave(w.again)
	}
}

// changed is what actions.Changed calls: a write that is over.
func (s *Session[O]) changed(c actions.Call) {
	s.endWrite(s.beginWrite(c.Public))
	s.emit(Event{Kind: EventAdvance})
}

func (w written) each(do func(*scope)) {
	do(w.own)
	if w.again != nil && w.again != w.own {
		do(w.again)
	}
	if w.public != nil {
		do(w.public)
	}
}

// read looks an action up, joins a run of it, or runs it.
func (s *Session[O]) read(ctx context.Context, k *call[O], r *Result[O], rule *tool) error {
	switch {
	case s.over():
		return s.bypass(ctx, k, r, rule, ReasonMode)
	case s.c.shadow():
		return s.watch(ctx, k, r, rule)
	case ctx.Err() != nil: // what the executor makes of it is its own affair
		return s.bypass(ctx, k, r, rule, ReasonBypass)
	}
	id := s.keyOf(r.Action, rule)
	e, f := s.present(&id, k.asked)
	r.Reason = ReasonAbsent
	var own *flight[O]
	if e == nil && f == nil {
		r.Reason = s.whyNot(id, rule, k.asked)
		own = s.newFlight(id, rule, s.c.now())
		e, f = s.claim(own)
	}
	if e != nil && s.serve(k, r, e) {
		return nil
	}
	if f != nil {
		served, err := s.join(ctx, k, r, f)
		if served || err != nil {
			return err
		}
		// It failed, which says nothing about a run of the target's own.
	}
	if e != nil || f != nil {
		own = s.newFlight(id, rule, s.c.now())
		s.claim(own)
	}
	return s.runOwn(ctx, k, r, own)
}

// bypass runs a read that is not looked up.
func (s *Session[O]) bypass(ctx context.Context, k *call[O], r *Result[O], rule *tool, reason Reason) error {
	r.Reason = reason
	s.countMiss(reason)
	return s.pass(ctx, k, r, rule)
}

// keyOf returns the key of a read: in its session's scope, or everybody's, for
// the session's present model version.
func (s *Session[O]) keyOf(a actions.Action, rule *tool) key {
	return key{scope: s.scopeOf(rule).id, version: s.versions.Load().current, action: a}
}

func (s *Session[O]) scopeOf(rule *tool) *scope {
	if rule.Public {
		return s.c.scopes.public
	}
	return s.scope
}

// newFlight makes a run of a read that begins now.
func (s *Session[O]) newFlight(id key, rule *tool, now time.Duration) *flight[O] {
	sc := s.scopeOf(rule)
	sc.saw(id.version)
	return &flight[O]{
		key: id, scope: sc, session: s, rule: rule,
		stamp:   sc.stamp(),
		started: now,
	}
}

// present returns an entry that may be served now, or else a flight that may be
// joined, or else neither.
func (s *Session[O]) present(id *key, now time.Duration) (*entry[O], *flight[O]) {
	if e := s.ready(id.scope, id.action, now); e != nil {
		return e, nil
	}
	if f := s.c.store.flying(id); f != nil && s.accept(id.version, f.session.id) {
		return nil, f
	}
	if !s.versions.Load().first {
		return nil, nil
	}
	unset := *id
	unset.version = unsetVersion
	if f := s.c.store.flying(&unset); f != nil && s.accept(unsetVersion, f.session.id) {
		return nil, f
	}
	return nil, nil
}

// whyNot returns the reason why there is nothing to serve.
func (s *Session[O]) whyNot(id key, rule *tool, now time.Duration) (reason Reason) {
	for _, id.version = range [...]modelVersion{id.version, unsetVersion} {
		if e := s.c.store.find(id.scope, id.version, id.action); e != nil && s.accept(id.version, e.session) {
			reason = cmp.Or(e.why(now), reason)
		}
	}
	if reason == "" && s.readForAnother(id, rule) {
		reason = ReasonModelVersion
	}
	return cmp.Or(reason, ReasonAbsent)
}

// readForAnother reports whether an action was read for a model version that
// the session does not accept.
func (s *Session[O]) readForAnother(id key, rule *tool) bool {
	for _, id.version = range s.scopeOf(rule).versions() {
		if s.c.store.find(id.scope, id.version, id.action) != nil {
			return true
		}
	}
	return false
}

// claim registers a run, so that others can join it. While a write is going on
// reads are not shared.
func (s *Session[O]) claim(f *flight[O]) (*entry[O], *flight[O]) {
	if !f.stamp.quiet() {
		return nil, nil
	}
	return s.c.store.claim(f, f.started)
}

// serve hands an entry to the target that was there when it asked. It fails
// if the environment can't clone the observation.
func (s *Session[O]) serve(k *call[O], r *Result[O], e *entry[O]) bool {
	if e.reading.open() && e.born+e.guess.took > k.asked {
		return s.serveJoin(k, r, e) // it landed since
	}
	if !s.copyTo(k, r, e) {
		return false
	}
	r.Outcome, r.Age = Hit, max(0, k.asked-e.born)
	if s.took(e) {
		r.Ahead, r.Hidden = true, e.guess.took
		e.guess.at.hid(r.Hidden)
	}
	return true
}

// serveJoin hands an entry to the target that it has waited for.
func (s *Session[O]) serveJoin(k *call[O], r *Result[O], e *entry[O]) bool {
	if !s.copyTo(k, r, e) {
		return false
	}
	now := s.c.now()
	r.Outcome, r.Age = Join, now-e.born
	s.count(cJoins, 1)
	if e.reading.take(counted) {
		r.Ahead = true
		r.Hidden = max(0, min(e.guess.took-(now-k.asked), k.asked-e.born))
		s.tally.addUse(e.guess, r.Hidden)
		e.guess.at.hid(r.Hidden)
	}
	return true
}

// copyTo fills in what the target gets of an entry, and what its step shows.
func (s *Session[O]) copyTo(k *call[O], r *Result[O], e *entry[O]) bool {
	if !s.c.copyTo(&r.Observation, e.observation) {
		return false
	}
	r.Reason, r.Revision = "", e.revision
	k.ok, k.step.Observation, k.size = true, e.observation, e.size
	return true
}

// copyTo stores what a caller may have of an observation that is kept.
func (c *Cache[O]) copyTo(dst *O, kept O) (ok bool) {
	if c.env.Clone == nil {
		*dst = kept
		return true
	}
	defer func() { ok = recover() == nil }()
	*dst = c.env.Clone(kept)
	return true
}

// join waits for a run that is going on. It reports whether that, or a run of
// the target's own beside it, gave the target its observation.
func (s *Session[O]) join(ctx context.Context, k *call[O], r *Result[O], f *flight[O]) (bool, error) {
	if !f.join() {
		return false, nil
	}
	beside, err := s.await(ctx, f)
	switch {
	case err != nil:
		s.countMiss(r.Reason)
		return false, err
	case beside != nil:
		s.countMiss(r.Reason)
		r.Observation, err = beside.repeat()
		if err == nil {
			s.remember(k, r.Observation)
		}
		return err == nil, err
	}
	return s.usable(f) && s.serveJoin(k, r, f.entry), nil
}

// runOwn runs a read on the caller's goroutine, as f.
func (s *Session[O]) runOwn(ctx context.Context, k *call[O], r *Result[O], f *flight[O]) error {
	r.Reason = cmp.Or(r.Reason, ReasonAbsent)
	s.countMiss(r.Reason)
	o, err := s.fly(ctx, f)
	r.Observation = o
	if err != nil {
		return err
	}
	if f.entry == nil {
		s.remember(k, o)
		return nil
	}
	k.ok, k.step.Observation, k.size = true, f.entry.observation, f.entry.size
	r.Revision = f.entry.revision
	return nil
}
