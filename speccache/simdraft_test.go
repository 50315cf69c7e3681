package speccache_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// predict is the draft of every session: mostly right, one in twenty times
// garbage, and one in twenty hostile.
func (w *world) predict(ctx context.Context, s actions.State[*page]) iter.Seq2[actions.Prediction, error] {
	w.mu.Lock()
	who := w.agents[s.Session]
	w.mu.Unlock()
	if who == nil { // a session that only probes
		return nil
	}
	step := int(who.next.Load())
	r := w.rand("draft", who.number, step)
	return func(yield func(actions.Prediction, error) bool) {
		switch kind := r.IntN(20); {
		case kind == 0:
			w.babble(r, yield)
		case kind == 1:
			w.attack(ctx, r, yield)
		case pause(ctx, time.Duration(r.Int64N(500e6))) == nil:
			w.guess(ctx, r, who, step, yield)
		}
	}
}

// guess says what the target is about to do, or something near it.
func (w *world) guess(ctx context.Context, r *rand.Rand, who *agent, step int, yield func(actions.Prediction, error) bool) {
	var list []item
	for ahead := range 2 {
		for _, a := range w.plan(who, step+ahead).asks {
			if r.IntN(20) < 19-9*ahead {
				list = append(list, a.it)
			}
		}
	}
	for range 2 {
		list = append(list, w.anything(r, who))
	}
	for _, it := range list {
		if !yield(actions.Prediction{Action: it.action, Confidence: 0.5, Source: "sim"}, nil) {
			return
		}
		if pause(ctx, time.Duration(r.Int64N(50e6))) != nil {
			return
		}
	}
}

// anything is a page that somebody could want, also another one's own. Those
// show their owner's model version, if pages do: then only the owner looks.
func (w *world) anything(r *rand.Rand, who *agent) item {
	switch r.IntN(4) {
	case 0:
		return pick(r, "news")
	case 1:
		it := pick(r, "own")
		if w.bake {
			it = catalogue["own"][who.slot*ownPages+it.n]
		}
		return it
	}
	return pick(r, "get")
}

func pick(r *rand.Rand, name string) item {
	return catalogue[name][r.IntN(len(catalogue[name]))]
}

var errDraft = errors.New("the draft has lost the thread")

// babble is what a bad model says.
func (w *world) babble(r *rand.Rand, yield func(actions.Prediction, error) bool) {
	for range 20 {
		p, err := actions.Prediction{Confidence: r.NormFloat64(), Usage: actions.Usage{OutputTokens: r.IntN(9) - 4}}, error(nil)
		switch r.IntN(5) {
		case 0:
			p.Action = pick(r, "undeclared").action
		case 1:
			p.Action = pick(r, "put").action
		case 2:
			p.Action = act("no such tool", r.IntN(3))
		case 3:
			err = errDraft
		}
		if !yield(p, err) {
			return
		}
	}
}

// attack is what a model does that was told to do harm.
func (w *world) attack(ctx context.Context, r *rand.Rand, yield func(actions.Prediction, error) bool) {
	kind := r.IntN(5)
	if kind == 0 { // deaf for a while
		time.Sleep(time.Duration(r.Int64N(3000e6)))
	}
	for i := range 3000 {
		a := pick(r, "put").action
		switch i % 3 {
		case 0:
			a = act("get", 1000+i)
		case 1:
			a = catalogue["get"][0].action
		}
		if !yield(actions.Prediction{Action: a}, nil) && kind != 1 { // or does not stop
			break
		}
	}
	switch kind {
	case 2:
		panic("draft")
	case 3:
		runtime.Goexit()
	case 4:
		<-ctx.Done()
	}
}
