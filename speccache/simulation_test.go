package speccache_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A world is one seed's tools and agent. What an action returns depends on
// the action and on how often its session has written, and on nothing else,
// so that a run with speculation must observe exactly what one without does.
type world struct {
	seed uint64

	mu     sync.Mutex
	writes map[uint64]int         // by session: done so far
	effect map[actions.Action]int // how often each action with an effect ran
}

func (w *world) rand(parts ...any) *rand.Rand {
	a := act("rand", fmt.Sprint(parts...))
	var h uint64 = 14695981039346656037
	for _, b := range []byte(a.Args()) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(w.seed, h))
}

func (w *world) version(session uint64) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writes[session]
}

var errWorld = errors.New("the world says no")

// do takes its time and fails as the seed says: for runs ahead as often as
// not, for the target's own never but with errors that depend on the action.
func (w *world) do(ctx context.Context, a actions.Action) (string, error) {
	call := actions.CallFrom(ctx)
	r := w.rand("run", a, call.Ahead, w.version(call.Session))
	if call.Ahead {
		switch r.IntN(10) {
		case 0:
			return "garbage", errWorld
		case 1:
			panic("ahead")
		case 2:
			runtime.Goexit()
		case 3:
			<-ctx.Done() // hangs until it is cancelled
			return "truncated", nil
		case 4:
			return w.observe(ctx, a, 10*w.takes(a))
		}
	}
	return w.observe(ctx, a, w.takes(a))
}

func (w *world) takes(a actions.Action) time.Duration {
	return time.Duration(50+w.rand("takes", a).IntN(3000)) * time.Millisecond
}

func (w *world) observe(ctx context.Context, a actions.Action, takes time.Duration) (string, error) {
	session := actions.CallFrom(ctx).Session
	if a.Name() == "get" {
		seen := w.version(session)
		if err := pause(ctx, takes); err != nil {
			return "", err
		}
		if w.rand("fails", a).IntN(12) == 0 {
			return "", errWorld
		}
		return fmt.Sprint(a, " at ", seen), nil
	}
	err := pause(ctx, takes/2)
	w.mu.Lock()
	w.writes[session]++
	w.effect[a]++
	w.mu.Unlock()
	return fmt.Sprint(a, " done"), errors.Join(err, pause(ctx, takes/2))
}

// predict is a draft that is right about half the time, and sometimes hostile.
func (w *world) predict(ctx context.Context, s state) iter.Seq2[actions.Prediction, error] {
	return func(yield func(actions.Prediction, error) bool) {
		r := w.rand("draft", len(s.Steps), s.Session)
		if pause(ctx, time.Duration(r.IntN(1500))*time.Millisecond) != nil {
			return
		}
		for i := range 4 {
			a := get(r.IntN(6))
			switch {
			case r.IntN(20) == 0:
				a = act("put", r.IntN(3))
			case r.IntN(2) == 0:
				a = w.plan(s.Session, len(s.Steps)+i)
			}
			if !yield(actions.Prediction{Action: a}, nil) {
				return
			}
		}
		if r.IntN(20) == 0 {
			panic("draft")
		}
	}
}

// plan is what a session's target does in a step.
func (w *world) plan(session uint64, step int) actions.Action {
	r := w.rand("plan", session, step)
	switch r.IntN(10) {
	case 0:
		return act("put", r.IntN(3))
	case 1:
		return act("undeclared", r.IntN(3))
	}
	return get(r.IntN(12))
}

type observed struct {
	O, Err string
	Waited time.Duration
}

// live runs three agents to their end and returns what they observed.
func (w *world) live(t *testing.T, mode speccache.Mode) ([3][]observed, speccache.Stats) {
	w.writes, w.effect = map[uint64]int{}, map[actions.Action]int{}
	c, err := speccache.New(mixedEnv(w.do), config{Mode: mode, Predictor: w.predict, MaxBytes: 64 << 10})
	require.NoError(t, err)
	var seen [3][]observed
	var wg sync.WaitGroup
	for i := range seen {
		s := c.Open(opening{})
		wg.Go(func() {
			defer s.Close()
			for step := range 12 {
				seen[i] = append(seen[i], w.step(s, uint64(i+1), step))
			}
		})
	}
	wg.Wait()
	c.Close()
	return seen, c.Stats()
}

func (w *world) step(s *speccache.Session[string], session uint64, step int) observed {
	time.Sleep(time.Duration(w.rand("think", session, step).IntN(3000)) * time.Millisecond)
	r, err := s.Run(context.Background(), w.plan(session, step))
	return observed{r.Observation, fmt.Sprint(err), r.Waited}
}

func mixedEnv(do executor) env {
	rules := actions.Reads("get")
	rules["put"] = actions.Rule{Effect: actions.Write}
	return env{Do: do, Rules: rules}
}

func TestLosslessInSimulationNothingButLatencyTellsWhetherSpeculationIsOn(t *testing.T) {
	var total speccache.Stats
	var waits [2]time.Duration
	for seed := range uint64(120) {
		w := &world{seed: seed}
		var with, without [3][]observed
		var did, should map[actions.Action]int
		bubble(t, func(t *testing.T) {
			without, _ = w.live(t, speccache.Off)
			should = w.effect
		})
		bubble(t, func(t *testing.T) {
			var st speccache.Stats
			with, st = w.live(t, speccache.On)
			did = w.effect
			total.Lookups += st.Lookups
			total.Hits += st.Hits
			total.Joins += st.Joins
			synctest.Wait()
		})
		require.Equal(t, should, did, "seed %d: effects", seed)
		for i := range with {
			for step := range with[i] {
				a, b := without[i][step], with[i][step]
				require.Equal(t, []string{a.O, a.Err}, []string{b.O, b.Err}, "seed %d, session %d, step %d", seed, i, step)
				// A join that fails costs at most the bounded wait: 95 of 100
				// runs take less than the slowest, which is 10 times 3 s.
				require.LessOrEqual(t, b.Waited, a.Waited+38*time.Second, "seed %d, session %d, step %d", seed, i, step)
				waits[0] += a.Waited
				waits[1] += b.Waited
			}
		}
	}
	assert.Greater(t, total.HitRate(), 0.3, "else it means nothing")
	assert.Greater(t, ratio(total.Joins, total.Lookups), 0.05)
	assert.Less(t, waits[1], waits[0])
	t.Logf("waited %v without, %v with; ", waits[0], waits[1])
	t.Logf("%d lookups, hit rate %.2f, ready rate %.2f", total.Lookups, total.HitRate(), total.ReadyRate())
}

func ratio(a, b int64) float64 { return float64(a) / float64(b) }
