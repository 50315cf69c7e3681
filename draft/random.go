package draft

import (
	"context"
	"iter"
	"math/rand/v2"
	"reflect"

	"github.com/speccache/speccache-go/actions"
)

// Random returns a predictor of n distinct choices in view, drawn at random:
// what a draft has to beat. The draw depends on the seed, the goal and the
// actions so far, and on nothing else.
func Random[O any](view func(O) actions.View, seed uint64, n int) actions.Predictor[O] {
	mustView("Random", view)
	return func(ctx context.Context, s actions.State[O]) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			draw := hashString(seed, s.Goal)
			for _, step := range s.Steps {
				draw = hashString(hashString(draw, step.Action.Name()), step.Action.Args())
			}
			for _, a := range sample(choicesIn(view, s), actions.Action{}, n, draw) {
				if ctx.Err() != nil || !yield(actions.Prediction{Action: a, Source: "random"}, nil) {
					return
				}
			}
		}
	}
}

func mustView[O any](who string, view func(O) actions.View) {
	if view == nil {
		panic("draft: " + who + " needs a view function")
	}
}

// inView returns the newest observation and its step. A step that failed has
// none, and left the page before it in view.
func inView[O any](s actions.State[O]) (page O, step int, ok bool) {
	for i := len(s.Steps) - 1; i >= 0; i-- {
		if o := s.Steps[i].Observation; !isZero(o) {
			return o, i, true
		}
	}
	return page, 0, false
}

// isZero reports whether there is no observation.
func isZero[O any](o O) bool { return reflect.ValueOf(&o).Elem().IsZero() }

// choicesIn returns what can be done on the page in view.
func choicesIn[O any](view func(O) actions.View, s actions.State[O]) []actions.Choice {
	page, _, ok := inView(s)
	if !ok {
		return nil
	}
	return view(page).Choices
}

// sample returns up to n distinct actions in random order, none of them not.
func sample(choices []actions.Choice, not actions.Action, n int, seed uint64) []actions.Action {
	seen := map[actions.Action]bool{not: true, {}: true}
	var pool []actions.Action
	for _, c := range choices {
		if !seen[c.Action] {
			seen[c.Action] = true
			pool = append(pool, c.Action)
		}
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	n = max(0, min(n, len(pool)))
	for i := range n {
		j := i + rng.IntN(len(pool)-i)
		pool[i], pool[j] = pool[j], pool[i]
	}
	return pool[:n]
}

// hashString mixes a string into a hash. Unlike hash/maphash it is the same in
// every process, as experiments need.
func hashString(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return mix(h, uint64(len(s)))
}

// mix scrambles two numbers into one (the finaliser of SplitMix64).
func mix(a, b uint64) uint64 {
	x := a ^ (b+0x9e3779b97f4a7c15)*0xbf58476d1ce4e5b9
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
