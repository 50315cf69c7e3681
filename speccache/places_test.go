package speccache_test

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// A mean world does at random what executors and environments can do wrong.
type meanWorld struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func (w *meanWorld) draw(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rand.IntN(n)
}

func (w *meanWorld) fail(out int) {
	switch w.draw(out) {
	case 0:
		panic("mean")
	case 1:
		runtime.Goexit()
	}
}

func (w *meanWorld) do(ctx context.Context, a actions.Action) (string, error) {
	takes := time.Duration(w.draw(3000)) * time.Millisecond
	switch w.draw(12) {
	case 0:
		return "", errors.New("mean")
	case 1: // deaf
		after(takes)
		return "deaf", nil
	case 2:
		return "", pause(ctx, time.Hour) // hung
	case 3:
		actions.Changed(ctx)
	}
	w.fail(24)
	return "seen " + a.Args(), pause(ctx, takes)
}

func (w *meanWorld) env() env {
	e := env{Do: w.do, Rules: actions.Reads("get")}
	e.Rules["public"] = actions.Rule{Effect: actions.ReadOnly, Ahead: true, Public: true, MaxAge: time.Minute}
	e.Rules["write"] = actions.Rule{Effect: actions.Write}
	e.Policy = func(state, actions.Action) error { w.fail(100); return nil }
	e.Fresh = func(actions.Action, string) (time.Duration, bool) {
		w.fail(100)
		return time.Duration(1+w.draw(10)) * time.Second, w.draw(10) > 0
	}
	e.Size = func(string) int { w.fail(200); return w.draw(1 << 20) }
	e.Clone = func(o string) string { w.fail(200); return o }
	e.Renew = func(ctx context.Context, a actions.Action, _ string) (string, bool, error) {
		o, err := w.do(ctx, a)
		return o, w.draw(2) == 0, err
	}
	e.Host = func(a actions.Action) string {
		w.fail(200)
		return fmt.Sprint("host ", len(a.Args())%4)
	}
	return e
}

func (w *meanWorld) action() actions.Action {
	names := []string{"get", "get", "get", "public", "write"}
	return act(names[w.draw(len(names))], fmt.Sprintf("%0*d", 1+w.draw(4), w.draw(10)))
}

// walk is one agent, which does everything that one can.
func (w *meanWorld) walk(t *testing.T, c *speccache.Cache[string]) {
	s := c.Open(opening{Scope: fmt.Sprint(w.draw(3))})
	defer s.Close()
	for range 30 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+w.draw(5000))*time.Millisecond)
		switch w.draw(10) {
		case 0:
			s.Advance()
		case 1:
			s.SetModelVersion(fmt.Sprint("v", w.draw(3)))
		case 2:
			c.SetMode(speccache.Mode(w.draw(3)))
			after(time.Millisecond)
			c.SetMode(speccache.On)
		case 3:
			if w.draw(10) == 0 {
				s.Close()
			}
		}
		s.Speculate(ctx, w.action(), w.action(), w.action(), w.action(), w.action(), w.action())
		after(time.Duration(w.draw(2000)) * time.Millisecond)
		var done sync.WaitGroup
		done.Go(func() { // it may panic, or exit
			defer func() { recover() }()
			s.Do(ctx, w.action())
		})
		done.Wait()
		cancel()
	}
}

func TestBoundedEveryPlaceComesBackWhateverHappens(t *testing.T) {
	ran := int64(0)
	for seed := range uint64(20) {
		bubble(t, func(t *testing.T) {
			w := &meanWorld{rand: rand.New(rand.NewPCG(seed, 1))}
			h := &speccache.Hosts{}
			var caches []*speccache.Cache[string]
			var all sync.WaitGroup
			for range 2 {
				c, err := speccache.New(w.env(), config{
					Hosts: h, MaxAhead: 8, MaxAheadHost: 3, MaxAheadRate: 5, AheadTimeout: 20 * time.Second, VerifyShare: 0.2, MaxBytes: 1 << 20,
				})
				require.NoError(t, err)
				caches = append(caches, c)
				for range 6 {
					all.Go(func() { w.walk(t, c) })
				}
			}
			if seed%4 == 3 {
				after(10 * time.Second)
				caches[0].Close()
			}
			all.Wait()
			after(2 * time.Hour)
			synctest.Wait()
			for _, c := range caches {
				assert.Zero(t, speccache.Counted(c), "sessions")
				assert.NoError(t, c.Close())
				speccache.CheckPlaces(t, c)
				ran += c.Stats().Speculated
			}
		})
	}
	assert.Greater(t, ran, int64(2000))
}

func TestBoundedHostsAreForgottenAlsoWhileAllOthersAreBusy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &speccache.Hosts{}
		e := gets(&tool{takes: time.Minute})
		e.Host = actions.Action.Args
		_, s := open(t, e, config{Hosts: h})
		var all sync.WaitGroup
		for i := range 3000 {
			all.Go(func() { must(t, s, get(i)) })
		}
		all.Wait()
		for i := range 1000 {
			must(t, s, get(10_000+i))
		}
		assert.LessOrEqual(t, speccache.KnownHosts(h), 1024)
	})
}

func TestBoundedAnyMaxBytesTakesLittleMemoryToBeginWith(t *testing.T) {
	for most, share := range map[int64]int64{1: 1, 1 << 50: math.MaxInt64, math.MaxInt64: 1 << 30, 1 << 30: 1} {
		var before, with runtime.MemStats
		runtime.ReadMemStats(&before)
		c, s := open(t, gets(&tool{}), config{MaxBytes: most, MaxScopeBytes: share})
		runtime.ReadMemStats(&with)
		assert.Less(t, with.TotalAlloc-before.TotalAlloc, uint64(1<<30))
		for i := range 300 {
			must(t, s, get(i))
			must(t, s, get(i))
		}
		speccache.CheckStore(t, c)
		if share > 1 {
			assert.EqualValues(t, 300, c.Stats().Hits)
		}
		assert.NoError(t, c.Close())
	}
}
