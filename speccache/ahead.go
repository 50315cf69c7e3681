package speccache

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// consider runs a guess if nothing speaks against it.
func (d *draft[O]) consider(p *actions.Prediction) {
	a, rule, ok := d.admit(p)
	switch {
	case !ok:
	case d.s.c.shadow():
		d.s.foresee(a, rule)
	default:
		d.launch(a, rule, p.Source)
	}
}

// admit resolves a guess and asks rules, policy and the cache about it.
func (d *draft[O]) admit(p *actions.Prediction) (a actions.Action, rule *tool, ok bool) {
	s := d.s
	a = p.Action
	if s.c.env.Resolve != nil {
		resolved, err := d.resolve(a)
		if err != nil {
			s.count(cGuesses, 1)
			text := brief(err)
			d.refuse(p, cUnresolvedGuesses, err, func(t *trouble) { t.guess = text })
			return a, rule, false
		}
		a = resolved
	}
	if slices.Contains(d.seen, a) {
		return a, rule, false
	}
	d.seen = append(d.seen, a)
	s.count(cGuesses, 1)
	rule = s.c.tools.of(a)
	if rule.Effect != actions.ReadOnly || !rule.Ahead {
		name := a.Name()
		d.refuse(p, cUndeclaredGuesses, ErrNotAhead, func(t *trouble) { t.notAhead = name })
		return a, rule, false
	}
	if s.c.env.Policy != nil {
		if err := d.allow(a); err != nil {
			text := brief(err)
			s.refused(cmp.Or(ruleOf(err), classOther))
			d.refuse(p, cRefusedGuesses, err, func(t *trouble) { t.policy = text })
			return a, rule, false
		}
	}
	id := s.keyOf(a, rule)
	if s.failedLately(id, s.scopeOf(rule)) {
		s.count(cFailingGuesses, 1)
		return a, rule, false
	}
	d.rank++
	d.at = s.c.now()
	return a, rule, !d.known(s.present(&id, d.at))
}

// resolve and allow ask the environment. What panics there ends a guess, and
// not the draft.
func (d *draft[O]) resolve(a actions.Action) (resolved actions.Action, err error) {
	defer contain("Resolve", &err)
	return d.s.c.env.Resolve(d.state, a)
}

func (d *draft[O]) allow(a actions.Action) (err error) {
	defer contain("Policy", &err)
	return d.s.c.env.Policy(d.state, a)
}

// contain makes a panic of one of the environment's functions its error. It is
// a deferred call.
func contain(function string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("speccache: Environment.%s panicked: %s", function, textOf(r))
	}
}

// refuse counts and tells why a guess does not run.
func (d *draft[O]) refuse(p *actions.Prediction, why counter, err error, note func(*trouble)) {
	s := d.s
	s.count(why, 1)
	s.note(note)
	if s.c.events == nil {
		return
	}
	ev := Event{Kind: EventRefused, Source: clip(p.Source, maxSource), Rule: ruleOf(err), Err: s.c.errText(err)}
	s.c.describe(&ev, p.Action)
	s.emit(ev)
}

// ErrNotAhead is why a guess is refused whose rule does not let it run ahead.
var ErrNotAhead = errors.New("speccache: its rule does not let it run ahead")

// known reports whether a guess needs no run, and counts it.
func (d *draft[O]) known(e *entry[O], f *flight[O]) bool {
	switch {
	case e != nil:
		d.s.count(cResidentGuesses, 1)
	case f != nil:
		d.s.count(cFlyingGuesses, 1)
	}
	return e != nil || f != nil
}

// launch starts a guess: first there must be room for it, then it claims its
// key, then it goes.
func (d *draft[O]) launch(a actions.Action, rule *tool, source string) {
	s := d.s
	host, at := s.c.hostOf(a), d.at
	if s.c.env.Host != nil {
		at = s.c.now() // like Resolve and Policy before, it may have taken its time
	}
	f := s.newFlight(s.keyOf(a, rule), rule, at)
	room := &guessed[O]{guess: guess{source: d.named(source), rank: d.rank, step: d.step, steps: s.begun}}
	f.guess, f.room = &room.guess, &room.entry
	f.host = host
	f.ctx = &endable{Context: d.ctx.Context, run: f}
	if rule.public() {
		f.ctx.Context = s.tagged(d.caller, true, true)
	}
	switch placed, later := d.place(f, false); {
	case placed:
		d.run(f)
	case later:
		d.queue(f)
	}
}

// named returns a copy of a guess's source that keeps nothing else of a model's
// answer.
func (d *draft[O]) named(source string) string {
	if short := source[:min(maxSource, len(source))]; d.source != short {
		d.source = clip(short, maxSource)
	}
	return d.source
}

// crowded counts a guess for which there was no room while the target thought.
func (s *Session[O]) crowded(f *flight[O], short shortage) {
	s.count(cCrowdedGuesses, 1)
	rule := short.rule()
	if rule == "" {
		return
	}
	s.refused(rule)
	if short == noSpare {
		atOnce, _ := s.c.cfg.Hosts.Capacity(f.host)
		s.note(func(t *trouble) { t.host, t.atOnce = f.host, atOnce })
	}
	if s.c.events != nil {
		ev := Event{Kind: EventRefused, Source: f.guess.source, Rule: rule, Err: "no room at its host before the target acted"}
		s.c.describe(&ev, f.key.action)
		s.emit(ev)
	}
}

// hostOf names the host that an action asks, or is empty. It is on the target's
// way, too, and must not panic there.
func (c *Cache[O]) hostOf(a actions.Action) (host string) {
	if c.env.Host == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			host = ""
		}
	}()
	return c.env.Host(a)
}

// place takes the room that f needs, and its key. If it is not to wait for its
// host and would have to, it says so.
func (d *draft[O]) place(f *flight[O], wait bool) (placed, later bool) {
	s := d.s
	short, limit := s.c.limiter.start(&d.ctx, f, wait)
	switch {
	case short == room && limit == nil:
		if placed = d.claim(f); placed {
			return true, false
		}
	case s.reached(limit):
	case short == mustWait:
		return false, true
	default:
		s.crowded(f, short)
	}
	f.ctx.end(errGivenUp)
	return false, false
}

// claim takes the key of f, which has its room.
func (d *draft[O]) claim(f *flight[O]) bool {
	s := d.s
	f.guess.at = f.errand
	f.stamp = f.scope.stamp() // it may have had to wait
	if !f.stamp.quiet() || d.ctx.Err() != nil {
		s.count(cCrowdedGuesses, 1)
		s.c.limiter.cancel(f)
		return false
	}
	if d.known(s.claim(f)) {
		s.c.limiter.cancel(f)
		return false
	}
	s.count(cSpeculated, 1)
	s.tell(f, EventAhead)
	if !s.wanted(f) {
		f.giveUp() // whoever saw to that may not have seen f
	}
	return true
}

// wanted reports whether what f brings could be served to the session.
func (s *Session[O]) wanted(f *flight[O]) bool {
	return !s.over() && !s.c.shadow() && f.stamp == f.scope.stamp() && s.accept(f.key.version, s.id)
}

// runAhead runs a claimed guess. Its context has the values of the caller's
// and an end of its own.
//
// Goroutines begin with small stacks, and to let one grow costs as much as all
// the rest: calls from here are kept flat.
func (c *Cache[O]) runAhead(f *flight[O]) {
	over := false
	defer c.land(f, &over)
	var o O
	err := f.ctx.Err()
	if err == nil { // else it has ended before it started
		o, err = f.session.do(f.ctx, f.key.action)
	}
	over = true
	c.settle(f.ctx, f, o, f.blame(err))
}

// land ends a run ahead, also while a panic or Goexit unwinds. It is a deferred
// call.
func (c *Cache[O]) land(f *flight[O], over *bool) {
	defer c.landed(f)
	if *over {
		return
	}
	err := errAborted
	if r := recover(); r != nil {
		err = fmt.Errorf("%w: %s", errAborted, textOf(r))
	}
	var nothing O
	c.settle(f.ctx, f, nothing, f.blame(err))
}

// blame returns why f was ended, if it ran ahead and was, for err.
func (f *flight[O]) blame(err error) error {
	if f.ctx == nil {
		return err
	}
	return cmp.Or(f.ctx.why(), err)
}

func (c *Cache[O]) landed(f *flight[O]) {
	f.ctx.end(errGivenUp)
	c.limiter.end(f, f.bytes())
	f.session.tell(f, EventLanded)
}

// countEnd counts a run ahead that has ended, before anybody is served by it.
func (s *Session[O]) countEnd(f *flight[O]) {
	s.count(cEnded, 1)
	s.count(cEndedTime, int64(f.took))
	switch {
	case f.entry == nil:
		s.fellThrough(f)
	case f.entry.unkept:
		s.count(cNotKept, 1)
		s.avoid(f)
		fallthrough
	default:
		s.count(cEndedBytes, f.entry.size)
	}
}

// A failure is when a guess ran ahead in vain, and in which state.
type failure struct {
	stamp stamp
	at    time.Duration
}

// A guess that failed is not run ahead again for a while, unless the state has
// changed: a dead link would take a good one's place at every step. The
// target's own runs are not affected.
const (
	failureAge  = time.Minute
	maxFailures = 256 // of a session
)

// fellThrough counts a run ahead that failed, and remembers it unless it was
// cancelled, which says nothing about the action.
func (s *Session[O]) fellThrough(f *flight[O]) {
	s.count(cFailed, 1)
	if f.err == errGivenUp {
		s.count(cCancelled, 1)
		return
	}
	text := brief(f.err)
	if rule := ruleOf(f.err); rule != "" {
		s.refused(rule)
	}
	s.note(func(t *trouble) { t.ahead = text })
	s.avoid(f)
}

// avoid remembers that running f's action ahead is in vain.
func (s *Session[O]) avoid(f *flight[O]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing == nil || len(s.failing) >= maxFailures {
		s.failing = map[uint64]failure{}
	}
	s.failing[f.key.hash()] = failure{f.stamp, s.c.now()}
	s.failed.Store(true)
}

// failedLately goes by hash: two keys that share one share their failures,
// which does no harm for a minute.
func (s *Session[O]) failedLately(id key, sc *scope) bool {
	if !s.failed.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.failing[id.hash()]
	return ok && f.stamp == sc.stamp() && s.since(f.at) < failureAge
}
