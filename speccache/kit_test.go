package speccache_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubble runs a test in virtual time, with a virtual deadline: ristretto's
// ticker would hide a deadlock from synctest.
func bubble(t *testing.T, run func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		deadline := time.AfterFunc(24*time.Hour, func() { panic("the test has come to its virtual deadline: deadlock") })
		defer deadline.Stop()
		run(t)
	})
}

// after sleeps, in a bubble only: virtual time begins with the year 2000.
func after(d time.Duration) {
	if time.Now().Year() > 2020 {
		panic("a test sleeps in real time: open a bubble")
	}
	time.Sleep(d)
}

type (
	env      = actions.Environment[string]
	config   = speccache.Config[string]
	opening  = speccache.SessionConfig[string]
	state    = actions.State[string]
	executor = actions.Executor[string]
)

// How long, and how often, tests in real time look for what must come soon.
const (
	wait = 10 * time.Second
	tick = 50 * time.Microsecond
)

// unshared is the share of a scope that may have the whole cache.
const unshared = 1 << 50

func act(name string, args any) actions.Action { return actions.Must(name, args) }
func get(id any) actions.Action                { return act("get", id) }

// A tool is an executor that counts, takes its time, and does what a test
// told it to.
type tool struct {
	takes time.Duration
	// on, if set, decides about a run after its time is over.
	on func(ctx context.Context, a actions.Action) (string, error)

	mu    sync.Mutex
	runs  map[actions.Action]int
	ahead map[actions.Action]int
	order []actions.Action

	numbers atomic.Int64
}

func (w *tool) do(ctx context.Context, a actions.Action) (string, error) {
	w.note(ctx, a)
	if w.takes > 0 {
		timer := time.NewTimer(w.takes)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return "", fmt.Errorf("tool: %w", context.Cause(ctx))
		}
	}
	if w.on != nil {
		return w.on(ctx, a)
	}
	return "saw " + a.String(), nil
}

func (w *tool) note(ctx context.Context, a actions.Action) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs, w.ahead = map[actions.Action]int{}, map[actions.Action]int{}
	}
	w.runs[a]++
	w.order = append(w.order, a)
	if actions.CallFrom(ctx).Ahead {
		w.ahead[a]++
	}
}

// count returns how often an action ran, and how often of these ahead.
func (w *tool) count(a actions.Action) (runs, ahead int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs[a], w.ahead[a]
}

// ran returns all runs, in the order in which they began.
func (w *tool) ran() []actions.Action {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.order)
}

// open makes a cache and one session in it, both closed with the test.
func open(t *testing.T, e env, cfg config) (*speccache.Cache[string], *speccache.Session[string]) {
	t.Helper()
	c, err := speccache.New(e, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	s := c.Open(opening{Scope: "test"})
	t.Cleanup(func() { s.Close() })
	return c, s
}

// guesses makes a predictor that always yields the same, at once.
func guesses(list ...actions.Action) actions.Predictor[string] {
	return func(context.Context, state) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			for _, a := range list {
				if !yield(actions.Prediction{Action: a, Source: "test"}, nil) {
					return
				}
			}
		}
	}
}

// gets returns a step's rules and tool in one environment.
func gets(w *tool) env {
	return env{Do: w.do, Rules: actions.Reads("get")}
}

// must runs an action that has to succeed.
func must(t *testing.T, s *speccache.Session[string], a actions.Action) speccache.Result[string] {
	t.Helper()
	r, err := s.Run(t.Context(), a)
	require.NoError(t, err)
	return r
}

var _ executor = (*speccache.Session[string])(nil).Do

func sorted(list []actions.Action) []actions.Action {
	slices.SortFunc(list, func(a, b actions.Action) int { return strings.Compare(a.Args(), b.Args()) })
	return list
}

type iterSeq = iter.Seq2[actions.Prediction, error]
