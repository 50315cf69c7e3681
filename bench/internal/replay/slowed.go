package replay

import (
	"context"
	"sync"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
)

// A yields records what a draft has guessed about one step, and when.
type yields struct {
	mu    sync.Mutex // guards what follows
	at    map[actions.Action]yielded
	all   []actions.Prediction // of a draft that has ended by itself
	ended bool
}

type yielded struct {
	moment time.Time
	took   time.Duration // since the predictor was called
}

// add records the first time that an action is guessed, and reports whether
// this is it.
func (y *yields) add(a actions.Action, called time.Time) bool {
	now := time.Now()
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.at == nil {
		y.at = map[actions.Action]yielded{}
	}
	_, known := y.at[a]
	if !known {
		y.at[a] = yielded{now, now.Sub(called)}
	}
	return !known
}

// drop takes back a guess that was not wanted: the cache had its top N.
func (y *yields) drop(a actions.Action) {
	y.mu.Lock()
	defer y.mu.Unlock()
	delete(y.at, a)
}

// end records all that a draft had to say.
func (y *yields) end(all []actions.Prediction) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.all, y.ended = all, true
}

// whole returns all guesses, if the draft came to its end.
func (y *yields) whole() ([]actions.Prediction, bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.all, y.ended
}

// before returns how long the draft took to guess an action, if it did before
// a moment.
func (y *yields) before(a actions.Action, moment time.Time) (took time.Duration, ok bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	g, ok := y.at[a]
	if !ok || g.moment.After(moment) {
		return 0, false
	}
	return g.took, true
}

// slowed gives a predictor the time that the profile says it takes, and
// records what it yields. Its own work is a part of that time: it is done
// first, and the rest is slept.
func slowed(inner predictor, atMost int, env *actions.Environment[*web.Page], takes func(*position) time.Duration) predictor {
	return func(ctx context.Context, s state) guesses {
		return func(yield func(actions.Prediction, error) bool) {
			called := time.Now()
			p := positionOf(ctx)
			if p == nil {
				return
			}
			list := first(inner(ctx, s), atMost)
			if sleepUntil(ctx, called.Add(takes(p))) != nil {
				return
			}
			for _, guess := range list {
				a, err := env.Resolve(s, guess.Action)
				added := err == nil && p.yields.add(a, called)
				if yield(guess, nil) {
					continue
				}
				if added && ctx.Err() == nil {
					p.yields.drop(a)
				}
				return
			}
		}
	}
}
