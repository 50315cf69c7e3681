package speccache

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/speccache/speccache-go/actions"
	"golang.org/x/sync/errgroup"
)

// A draft is one round of guessing about one step. One goroutine drives it:
// it ranges over the guesses, takes permits, claims flights and starts them,
// and alone waits for all of them.
type draft[O any] struct {
	s       *Session[O]
	state   actions.State[O]
	step    int64                                // the session's counter when the target began to think
	guesses iter.Seq2[actions.Prediction, error] // of Speculate

	// ctx ends when the target acts: guesses are about the past then. Its
	// values are the caller's, and those of the runs too.
	ctx    endable
	caller context.Context
	began  time.Duration // on the cache's clock

	topN      int
	predicted bool // by the predictor, not by Speculate

	// Of the driver's goroutine alone.
	said   bool // it has made a guess, whatever became of it
	yields int
	rank   int           // guesses that rules and policy let pass
	later  bool          // some wait, or have waited, for a place at their host
	at     time.Duration // when the last guess was admitted
	lines  lines[O]
	runs   errgroup.Group
	seen   []actions.Action // resolved; begins in few
	few    [DefaultTopN]actions.Action
	source string // of the last guess
	usage  actions.Usage

	failure error // the first
}

// Limits on what one predictor may cost a step. They are far above what a
// useful one does.
const (
	maxAsking    = 2 // predictors of a session that have not returned
	guessesPerN  = 8 // yields for each of TopN
	maxSpeculate = 64
	maxDrafts    = 16 // of a session that are waiting for permits
)

// startDraft asks the predictor about the present step.
func (s *Session[O]) startDraft(ctx context.Context) {
	if s.c.cfg.Predictor == nil || s.over() {
		return
	}
	s.mu.Lock()
	busy := s.asking >= maxAsking
	if busy { // leave starts it, if the target still thinks then
		s.waiting = ctx
	}
	state := s.state()
	s.mu.Unlock()
	if busy || s.reached(s.c.limiter.ask(s)) {
		return
	}
	d := s.newDraft(ctx, state, s.c.cfg.TopN)
	d.predicted = true
	if !d.start() { // the target has acted: nobody was asked
		s.c.limiter.unask(s)
	}
}

// Speculate runs the caller's own guesses ahead, as if the predictor had made
// them: at most 64 of one call, in order, under the same rules and limits. It
// returns at once. Guesses that have not started when the target acts are
// dropped.
func (s *Session[O]) Speculate(ctx context.Context, guesses ...actions.Action) {
	if s.over() || len(guesses) == 0 {
		return
	}
	s.mu.Lock()
	state := s.state()
	s.mu.Unlock()
	d := s.newDraft(ctx, state, maxSpeculate)
	d.guesses = func(yield func(actions.Prediction, error) bool) {
		for _, a := range guesses {
			if !yield(actions.Prediction{Action: a, Confidence: 1, Source: "caller"}, nil) {
				return
			}
		}
	}
	d.start()
}

func (s *Session[O]) newDraft(ctx context.Context, state actions.State[O], topN int) *draft[O] {
	d := &draft[O]{
		s:     s,
		state: state,
		step:  s.begun.Load(),
		topN:  topN,
	}
	d.seen = d.few[:0]
	d.caller = context.WithoutCancel(ctx)
	d.ctx.Context = s.tagged(d.caller, true, false)
	return d
}

// start runs the draft on a goroutine of the cache's, unless the target has
// acted meanwhile. It reports whether it does.
func (d *draft[O]) start() bool {
	s := d.s
	s.mu.Lock()
	current := d.step == s.begun.Load() && (s.open == 0 || !d.predicted) && !s.over()
	if len(s.drafts) >= maxDrafts {
		current = false
		s.count(cCrowdedGuesses, 1)
	}
	if current {
		s.drafts = append(s.drafts, d)
		d.began = s.c.now()
		s.watchDrafts(s.c.cfg.AheadTimeout)
		s.refs++
		if d.predicted {
			s.asking++
			s.count(cDrafts, 1)
		}
	}
	s.mu.Unlock()
	if !current {
		d.ctx.end(errActed)
		return false
	}
	if !s.c.spawn(d.drive) {
		d.leave()
		s.release()
	}
	return true
}

// watchDrafts has the drafts end that take too long. One timer serves one after
// the other: most of them need none, and one each costs a tenth of a step. mu
// is held.
func (s *Session[O]) watchDrafts(left time.Duration) {
	switch {
	case s.timed:
		return
	case s.timer == nil:
		s.timer = time.AfterFunc(left, s.endDrafts)
	default:
		s.timer.Reset(left)
	}
	s.timed = true
}

func (s *Session[O]) endDrafts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timed = false
	for _, d := range s.drafts { // oldest first
		if left := d.began + s.c.cfg.AheadTimeout - s.c.now(); left > 0 {
			s.watchDrafts(left)
			return
		}
		d.ctx.end(errDraftTooSlow)
	}
}

// drive is the draft's goroutine. It ends when the last run has.
func (d *draft[O]) drive() {
	defer d.s.release()
	defer d.rest()
	err := errAborted
	defer func() { d.conclude(err) }() // also if the predictor calls Goexit
	err = d.guess()
}

// conclude says how the guessing went, before the runs have ended.
func (d *draft[O]) conclude(err error) {
	slow := d.ctx.cause.Load() == errDraftTooSlow
	if slow {
		err = errDraftTooSlow
	}
	late := !d.said && !slow && d.ctx.Err() != nil
	d.leave()
	if !d.predicted {
		return
	}
	s, class := d.s, ""
	switch {
	case late:
		s.count(cDraftsLate, 1)
	case err != nil:
		class = s.draftFailed(err)
	case !d.said:
		s.count(cDraftsEmpty, 1)
	}
	if s.c.events != nil {
		d.emit(err, class)
	}
}

func (d *draft[O]) emit(err error, class string) {
	d.s.emit(Event{Kind: EventDraft, Took: d.s.since(d.began), Err: d.s.c.errText(err), Usage: d.usage, Class: class})
}

// leave says that the predictor has returned, and starts the draft that had to
// wait for that.
func (d *draft[O]) leave() {
	s := d.s
	if !d.later {
		d.ctx.end(errActed)
	}
	s.mu.Lock()
	if !d.later {
		d.retire()
	}
	var waiting context.Context
	if d.predicted {
		s.asking--
		waiting, s.waiting = s.waiting, nil
	}
	s.mu.Unlock()
	if waiting != nil {
		s.startDraft(waiting)
	}
}

// rest waits for the runs. A draft of which guesses had to wait ends with them.
func (d *draft[O]) rest() {
	d.runs.Wait()
	if !d.later {
		return
	}
	d.ctx.end(errActed)
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	d.retire()
}

// retire takes a draft off its session's list. Session.mu is held.
func (d *draft[O]) retire() {
	s := d.s
	if i := slices.Index(s.drafts, d); i >= 0 {
		s.drafts = slices.Delete(s.drafts, i, i+1)
	}
}

// guess ranges over the guesses until they end, or the target acts. When there
// are enough it still listens for what they cost. It returns the first error
// that they came with.
func (d *draft[O]) guess() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %s", errPredictor, textOf(r))
		}
	}()
	if d.ctx.Err() != nil { // the target was faster than this goroutine
		return nil
	}
	guesses := d.guesses
	if d.predicted {
		guesses = d.s.c.cfg.Predictor(&d.ctx, d.state)
	}
	if guesses == nil {
		return nil
	}
	for p, failure := range guesses {
		if !d.hear(p, failure) {
			break
		}
	}
	return d.failure
}

// hear takes in what the predictor says. It returns false if nothing more is of
// use.
func (d *draft[O]) hear(p actions.Prediction, failure error) bool {
	d.spent(p.Usage) // whatever becomes of the guess
	if d.ctx.Err() != nil {
		return false
	}
	switch {
	case failure != nil:
		d.failure = cmp.Or(d.failure, failure)
	case p.Action != (actions.Action{}) && d.rank < d.topN:
		d.said = true
		d.consider(&p)
	}
	d.yields++
	return d.yields < guessesPerN*d.topN // else it is talking nonsense
}

// plausible is a figure as one model call can have it: servers say what they
// like, and one absurd number must not end the speculation of all.
func plausible(n int) int { return min(max(0, n), 1<<24) }

// spent counts what a draft says that it has cost.
func (d *draft[O]) spent(u actions.Usage) {
	if u == (actions.Usage{}) {
		return
	}
	u = actions.Usage{
		Calls: plausible(u.Calls), PromptTokens: plausible(u.PromptTokens),
		CachedTokens: plausible(u.CachedTokens), OutputTokens: plausible(u.OutputTokens),
	}
	d.usage.Calls += u.Calls
	d.usage.PromptTokens += u.PromptTokens
	d.usage.CachedTokens += u.CachedTokens
	d.usage.OutputTokens += u.OutputTokens
	s := d.s
	s.count(cModelCalls, int64(u.Calls))
	s.count(cPromptTokens, int64(u.PromptTokens))
	s.count(cCachedTokens, int64(u.CachedTokens))
	s.count(cOutputTokens, int64(u.OutputTokens))
	s.c.limiter.use(s, draftTokens, int64(u.PromptTokens)+int64(u.OutputTokens))
}
