package speccache_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGuessesThatWaitForOneHostRunInTheirOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Minute}
		e := gets(w)
		e.Host = func(actions.Action) string { return "one" }
		_, s := open(t, e, config{TopN: 30, MaxAheadHost: 2, AheadTimeout: time.Hour})
		list := many(30)
		s.Speculate(t.Context(), list...)
		after(time.Hour)
		assert.Equal(t, list, w.ran())
	})
}

func TestAHostWhoseRateIsUsedUpKeepsNoOtherWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &hosts{takes: time.Second}
		c, s := open(t, h.env(), config{MaxAheadRate: 0.01})
		s.Speculate(t.Context(), act("a", 1), act("a", 2), act("b", 1))
		after(time.Second)
		assert.Equal(t, map[string]int{"a": 1, "b": 1}, h.peaks())
		after(100 * time.Second)
		assert.EqualValues(t, 3, c.Stats().Speculated, "the one that waited has had its turn")
	})
}

func TestAnyRateIsKeptWithoutABusyWait(t *testing.T) {
	for _, perSecond := range []float64{math.SmallestNonzeroFloat64, 1e-300, 1e-12, 1e-6, 1e12, 1e300, math.MaxFloat64} {
		t.Run(fmt.Sprint(perSecond), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &tool{}
				e := gets(w)
				e.Host = func(actions.Action) string { return "one" }
				c, s := open(t, e, config{MaxAheadRate: perSecond, AheadTimeout: 1000 * time.Hour})
				must(t, s, get("own"))
				s.Speculate(t.Context(), get(1), get(2), get(3))
				after(time.Hour)
				want := int64(3)
				if perSecond < 1 {
					want = 0 // the target's run has taken the token
				}
				assert.Equal(t, want, c.Stats().Speculated)
			})
		})
	}
}

func TestARateThatIsNoNumberIsAnError(t *testing.T) {
	for _, perSecond := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
		_, err := speccache.New(gets(&tool{}), config{MaxAheadRate: perSecond})
		assert.ErrorContains(t, err, "Config.MaxAheadRate", perSecond)
	}
}

func TestBoundedWhoAsksManyHostsGetsNoMoreOutOfOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{}
		e := gets(w)
		e.Host = actions.Action.Args
		e.Rules["one"] = actions.Rule{Effect: actions.ReadOnly, Ahead: true}
		e.Host = func(a actions.Action) string {
			if a.Name() == "one" {
				return "one"
			}
			return a.Args()
		}
		c, s := open(t, e, config{MaxAheadRate: 0.1, MaxAhead: 1000, MaxAheadSession: 1000})
		for i := range 20 {
			s.Speculate(t.Context(), act("one", i))
			synctest.Wait()
			for j := range 100 {
				must(t, s, get([]int{i, j}))
			}
			after(time.Millisecond)
		}
		assert.LessOrEqual(t, c.Stats().Speculated, int64(1))
	})
}

func TestNeverSlowerThousandsOfRunsAtOneHostEndWithoutDelay(t *testing.T) {
	const runs = 4000
	e := env{Rules: actions.Reads("get"), Host: func(actions.Action) string { return "one" }}
	gate := make(chan struct{})
	var begun sync.WaitGroup
	begun.Add(runs)
	e.Do = func(context.Context, actions.Action) (string, error) {
		begun.Done()
		<-gate
		return "seen", nil
	}
	_, s := open(t, e, config{})
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			_, err := s.Do(t.Context(), get(i))
			assert.NoError(t, err)
		})
	}
	begun.Wait()
	began := time.Now()
	close(gate)
	all.Wait()
	assert.Less(t, time.Since(began), 4*time.Second, "it was over 20, when the work for an answer grew with the square")
}

func TestAPolicyThatPanicsEndsOneGuessAndNotTheDraft(t *testing.T) {
	for _, function := range []string{"Policy", "Resolve"} {
		t.Run(function, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &tool{}
				e := gets(w)
				bad := func(a actions.Action) {
					if a == get("bad") {
						panic("bad guess")
					}
				}
				if function == "Policy" {
					e.Policy = func(_ state, a actions.Action) error { bad(a); return nil }
				} else {
					e.Resolve = func(_ state, a actions.Action) (actions.Action, error) { bad(a); return a, nil }
				}
				c, s := open(t, e, config{Predictor: guesses(get("bad"), get("good"))})
				s.Observe(t.Context(), "home")
				synctest.Wait()
				assert.Equal(t, []actions.Action{get("good")}, w.ran())
				assert.Zero(t, c.Stats().DraftsFailed)
				assert.Contains(t, s.Explain(), "Environment."+function+" panicked: bad guess")
			})
		})
	}
}

func TestARunAheadTakesNoLongerForAPolicyThatTakesItsTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := gets(&tool{takes: time.Second})
		e.Policy = func(state, actions.Action) error { after(time.Minute); return nil }
		e.Host = func(actions.Action) string { after(time.Minute); return "one" }
		c, s := open(t, e, config{Predictor: guesses(get(1)), AheadTimeout: 5 * time.Minute})
		s.Observe(t.Context(), "home")
		after(4 * time.Minute)
		assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome)
		assert.Equal(t, time.Second, c.Stats().Hidden)
	})
}

func TestNothingOutlivesCloseNorDoesTheHostOfARenewal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := gets(&tool{})
		release := make(chan struct{})
		var slow, asked atomic.Bool
		e.Renew = func(context.Context, actions.Action, string) (string, bool, error) { return "", false, nil }
		e.Host = func(actions.Action) string {
			if slow.Load() {
				asked.Store(true)
				<-release
			}
			return "one"
		}
		c, s := open(t, e, config{})
		must(t, s, get(1))
		must(t, s, get(1))
		slow.Store(true)
		after(actions.DefaultMaxAge)
		require.True(t, asked.Load())
		closed := make(chan struct{})
		go func() { c.Close(); close(closed) }()
		synctest.Wait()
		select {
		case <-closed:
			assert.Fail(t, "the cache is closed, and Environment.Host is still at work")
		default:
		}
		close(release)
		<-closed
	})
}

func TestAHostThatExitsEndsOneRenewalAndNotAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := gets(&tool{})
		var renewed atomic.Int64
		e.Renew = func(context.Context, actions.Action, string) (string, bool, error) {
			renewed.Add(1)
			return "", false, nil
		}
		var exits atomic.Int64
		e.Host = func(actions.Action) string {
			if exits.Add(-1) == 0 {
				runtime.Goexit()
			}
			return "one"
		}
		_, s := open(t, e, config{})
		for i := range 4 {
			must(t, s, get(i))
			must(t, s, get(i))
		}
		exits.Store(1) // the next time
		after(actions.DefaultMaxAge)
		assert.EqualValues(t, 3, renewed.Load())
	})
}

func TestAHostThatExitsDuringAVerificationLeavesNoSessionBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := gets(&tool{})
		e.Renew = func(context.Context, actions.Action, string) (string, bool, error) { return "", false, nil }
		exit := false
		e.Host = func(actions.Action) string {
			if exit {
				runtime.Goexit()
			}
			return "one"
		}
		c, s := open(t, e, config{VerifyShare: 1})
		must(t, s, get(1))
		exit = true
		var all sync.WaitGroup
		all.Go(func() { s.Do(t.Context(), get(1)) })
		all.Wait()
		s.Close()
		synctest.Wait()
		assert.Zero(t, speccache.Counted(c))
	})
}

func TestGuessesOfManySessionsHaveTheirTurnInTheOrderInWhichTheyCame(t *testing.T) {
	for name, cfg := range map[string]config{"at a host": {MaxAheadHost: 1}, "for a permit": {MaxAhead: 1}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &tool{takes: time.Second}
				e := gets(w)
				e.Host = func(actions.Action) string { return "one" }
				c, _ := open(t, e, cfg)
				list := many(30)
				for _, a := range list {
					s := c.Open(opening{})
					defer s.Close()
					s.Speculate(t.Context(), a)
					synctest.Wait()
				}
				after(time.Minute)
				assert.Equal(t, list, w.ran())
				speccache.CheckPlaces(t, c)
			})
		})
	}
}

func TestWhoCannotTakeItsTurnPassesItOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
			if a == act("b", "long") {
				return "late", pause(ctx, time.Hour)
			}
			return "seen", pause(ctx, time.Minute)
		}}
		e := env{Do: w.do, Rules: actions.Reads("a", "b"), Host: actions.Action.Name}
		c, first := open(t, e, config{MaxAheadHost: 1, MaxAheadSession: 1, AheadTimeout: 2 * time.Hour})
		second, third := c.Open(opening{}), c.Open(opening{})
		defer second.Close()
		defer third.Close()
		for _, g := range []struct {
			s *speccache.Session[string]
			a actions.Action
		}{{first, act("a", 1)}, {second, act("a", 2)}, {second, act("b", "long")}, {third, act("a", 3)}} {
			g.s.Speculate(t.Context(), g.a)
			synctest.Wait()
		}
		after(3 * time.Minute)
		runs, _ := w.count(act("a", 3))
		assert.Equal(t, 1, runs, "the one before it has used up its session's permit meanwhile")
		after(2 * time.Hour)
		runs, _ = w.count(act("a", 2))
		assert.Equal(t, 1, runs, "and had its turn later")
		speccache.CheckPlaces(t, c)
	})
}

func TestWhoLeavesAsItsTurnComesPassesItOn(t *testing.T) {
	for name, cfg := range map[string]config{"at a host": {MaxAheadHost: 1}, "for a permit": {MaxAhead: 1}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &tool{takes: time.Minute}
				e := gets(w)
				e.Host = func(a actions.Action) string {
					if a == get("elsewhere") {
						return ""
					}
					return "one"
				}
				c, first := open(t, e, cfg)
				for i := range 50 {
					first.Speculate(t.Context(), get([]int{i, 1}))
					synctest.Wait()
					var list []*speccache.Session[string]
					for j := range 4 {
						s := c.Open(opening{})
						list = append(list, s)
						s.Speculate(t.Context(), get([]int{i, j + 2}))
						synctest.Wait()
					}
					after(time.Minute) // now the place is free
					for _, s := range list[:3] {
						s.Close()
					}
					after(time.Second)
					runs, _ := w.count(get([]int{i, 5}))
					assert.Equal(t, 1, runs)
					list[3].Close()
					after(2 * time.Minute)
				}
				speccache.CheckPlaces(t, c)
			})
		})
	}
}
