package costs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
)

// guessesPerStep is how many guesses the predictor yields, at once.
const guessesPerStep = speccache.DefaultTopN

// A stepper makes steps, one after the other: an action of the target, and
// three guesses that run at once and bring nothing. The target does what was
// guessed first; guesses are of actions that nobody has run before, so that each
// runs.
type stepper struct {
	cache *speccache.Cache[*page]

	next int            // number of the next action
	last actions.Action // what the target does next
	plan []move         // the steps to come

	now  move
	left atomic.Int64  // how many guesses of the present step have not run yet
	ran  chan struct{} // told when none is left
}

// A move is what happens in a step: what the target does, and what the
// predictor guesses after it.
type move struct {
	action  actions.Action
	guesses []actions.Action
}

// newStepper makes a stepper with a cache of its own, in which observations
// count as much as size says; nil is the default.
func newStepper(maxBytes int64, size func(*page) int) (*stepper, error) {
	st := &stepper{last: visits(1<<40, 1)[0], ran: make(chan struct{}, 1)}
	cfg := config()
	cfg.MaxBytes = maxBytes
	var guesses iter.Seq2[actions.Prediction, error] = st.predict // made once: it counts as the step's otherwise
	cfg.Predictor = func(context.Context, actions.State[*page]) iter.Seq2[actions.Prediction, error] {
		return guesses
	}
	var err error
	st.cache, err = speccache.New(actions.Environment[*page]{Do: st.run, Rules: rules, Size: size}, cfg)
	return st, err
}

func (st *stepper) predict(yield func(actions.Prediction, error) bool) {
	for _, a := range st.now.guesses {
		if !yield(actions.Prediction{Action: a, Source: "bench"}, nil) {
			return
		}
	}
}

// run is the executor.
func (st *stepper) run(ctx context.Context, _ actions.Action) (*page, error) {
	if actions.CallFrom(ctx).Ahead && st.left.Add(-1) == 0 {
		st.ran <- struct{}{}
	}
	return &blank, nil
}

// prepare makes the moves of n steps to come.
func (st *stepper) prepare(n int) {
	st.plan = nil
	for range n {
		list := visits(st.next, guessesPerStep)
		st.plan = append(st.plan, move{st.last, list})
		st.last = list[0]
		st.next += len(list)
	}
	runtime.GC() // of what this leaves, the steps have nothing
}

// step makes a step, and returns the time from the call of Do until Lookup
// finds all three guesses. It waits for their executors, as the caller of the
// skeleton waits for its goroutines, and only then looks: looking all the time
// would be in the way of those whose time is taken.
func (st *stepper) step(ctx context.Context, s *speccache.Session[*page]) (time.Duration, error) {
	st.now, st.plan = st.plan[0], st.plan[1:]
	st.left.Store(guessesPerStep)
	began := time.Now()
	if _, err := s.Do(ctx, st.now.action); err != nil {
		return 0, err
	}
	select {
	case <-st.ran:
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: %w", errNoGuess, ctx.Err())
	}
	for _, g := range st.now.guesses {
		for {
			if _, reason := s.Lookup(g); reason == "" {
				break
			}
			if ctx.Err() != nil {
				return 0, fmt.Errorf("%w: %w", errNoGuess, ctx.Err())
			}
			runtime.Gosched()
		}
	}
	return time.Since(began), nil
}

var errNoGuess = errors.New("a guess was not to be found")

// timed returns the median of n steps, and lets each come to rest before the
// next. In a mean, the few that another process has interrupted for some
// milliseconds would count as much as all others.
func timed(n int, step func() (time.Duration, error)) (ns float64, err error) {
	base := runtime.NumGoroutine()
	times := make([]float64, 0, n)
	for range n {
		took, err := step()
		if err != nil {
			return 0, err
		}
		times = append(times, float64(took))
		rest(base)
	}
	return median(times), nil
}

// rest lets the goroutines of a step end, which have done their work: they are
// no part of the next one. There are base goroutines without them. It gives up
// after a while, since others may have started some of their own.
func rest(base int) {
	for i := 0; i < 1000 && runtime.NumGoroutine() > base; i++ {
		runtime.Gosched()
	}
}
