package speccache_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// forget opens and closes so many scopes that the idle ones are forgotten.
func forget(c *speccache.Cache[string]) {
	for i := range 1100 {
		c.Open(opening{Scope: fmt.Sprint("other ", i)}).Close()
	}
}

func TestAWriteIsHeardOfAlsoWhenItsSessionWasClosedMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &shop{putTime: time.Hour}
		c, s := open(t, w.env(), config{})
		written := make(chan struct{})
		go func() {
			defer close(written)
			s.Do(t.Context(), act("put", 1))
		}()
		synctest.Wait()
		s.Close()
		forget(c)
		reader := c.Open(opening{Scope: "test"})
		defer reader.Close()
		must(t, reader, get(1))
		<-written
		assert.Equal(t, "1", must(t, reader, get(1)).Observation)
	})
}

func TestAWriteOfAClosedSessionIsHeardOf(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &shop{}
		c, s := open(t, w.env(), config{})
		s.Close()
		forget(c)
		reader := c.Open(opening{Scope: "test"})
		defer reader.Close()
		must(t, reader, get(1))
		must(t, s, act("put", 1))
		assert.Equal(t, "1", must(t, reader, get(1)).Observation)
	})
}

// half is a tool that returns what it has when its context ends, and no error.
func half(takes time.Duration) func(context.Context, actions.Action) (string, error) {
	return func(ctx context.Context, _ actions.Action) (string, error) {
		if pause(ctx, takes) != nil {
			return "half", nil
		}
		return "whole", nil
	}
}

func TestTheHalfResultOfAnEndedContextIsServedToNobodyElse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, s := open(t, gets(&tool{on: half(10 * time.Second)}), config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		o, err := s.Do(ctx, get(1))
		assert.NoError(t, err)
		assert.Equal(t, "half", o, "who asked for it gets it")
		assert.Equal(t, "whole", must(t, s, get(1)).Observation)
	})
}

func TestTheHalfResultOfALosingRunDoesNotReplaceTheWholeOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
			if actions.CallFrom(ctx).Ahead {
				return half(3*time.Second)(ctx, a)
			}
			return half(time.Hour)(ctx, a)
		}}
		_, s := open(t, gets(w), config{Predictor: guesses(get(1))})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		assert.Equal(t, speccache.Join, must(t, s, get(1)).Outcome)
		synctest.Wait()
		assert.Equal(t, "whole", must(t, s, get(1)).Observation)
	})
}

func TestAnEnvironmentThatPanicsOrExitsWedgesNothing(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("environment") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				e := gets(&tool{takes: 2 * time.Second})
				e.Fresh = func(actions.Action, string) (time.Duration, bool) { end(); return 0, true }
				c, s := open(t, e, config{MaxAhead: 2})
				for i := range 10 {
					s.Speculate(t.Context(), get(fmt.Sprint(i, "a")), get(fmt.Sprint(i, "b")))
					after(time.Minute)
				}
				assert.EqualValues(t, 20, c.Stats().FailedAhead, "permits come back")
				s.Speculate(t.Context(), get(1))
				synctest.Wait()
				ended := make(chan struct{})
				go func() { // the run beside the join ends in the same way
					defer close(ended)
					s.Do(t.Context(), get(1))
				}()
				<-ended
			})
		})
	}
}

func TestACloneThatPanicsIsNoPartOfTheAgent(t *testing.T) {
	for _, mode := range []speccache.Mode{speccache.On, speccache.Off} {
		bubble(t, func(t *testing.T) {
			e := mixed(&tool{})
			e.Clone = func(string) string { panic("clone") }
			var states []state
			c, err := speccache.New(e, config{Mode: mode, Predictor: watcher(&states)})
			require.NoError(t, err)
			defer c.Close()
			s := c.Open(opening{})
			defer s.Close()
			s.Observe(t.Context(), "home")
			for _, a := range []actions.Action{get(1), get(1), act("put", 1), act("none", 1)} {
				assert.Equal(t, "saw "+a.String(), must(t, s, a).Observation)
			}
			synctest.Wait()
			if mode == speccache.On {
				assert.NotEmpty(t, states, "the session goes on")
				assert.Empty(t, states[len(states)-1].Steps)
			}
		})
	}
}

// A rude error panics when it is printed; it may also call the session.
type rude struct{ call func() }

func (r *rude) Error() string {
	r.call()
	return "rude"
}

func TestErrorsThatMisbehaveWhenPrintedHarmNobody(t *testing.T) {
	for _, show := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			var typedNil *rude
			var s *speccache.Session[string]
			calls := &rude{call: func() { s.Explain() }}
			var w tool
			e := gets(&tool{on: func(context.Context, actions.Action) (string, error) {
				if w.next()%2 == 0 {
					return "", typedNil
				}
				return "", calls
			}})
			e.Policy = func(_ state, a actions.Action) error {
				if a == get("refused") {
					return calls
				}
				return nil
			}
			c, err := speccache.New(e, config{ShowArgs: show, OnEvent: func(speccache.Event) {},
				Predictor: guesses(get("refused"), get(1), get(2))})
			require.NoError(t, err)
			defer c.Close()
			s = c.Open(opening{})
			defer s.Close()
			for range 3 {
				s.Do(t.Context(), get("mine"))
				synctest.Wait()
			}
			assert.NotEmpty(t, s.Explain())
		})
	}
}

func TestEveryCallIsCountedAlsoAfterItsSessionWasClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := open(t, gets(&tool{takes: time.Second}), config{Predictor: guesses(get(9))})
		go s.Do(t.Context(), get(1))
		synctest.Wait()
		s.Close()
		after(2 * time.Second)
		must(t, s, get(2))
		s.Lookup(get(3))
		assert.Equal(t, s.Stats().Lookups, c.Stats().Lookups)
		assert.Equal(t, s.Stats().Waited, c.Stats().Waited)
		assert.EqualValues(t, []int64{3, 0}, []int64{c.Stats().Lookups, c.Stats().Drafts})
		assert.Zero(t, speccache.Counted(c))
	})
}

func TestBoundedEntriesHoldNothingOfTheirSession(t *testing.T) {
	c, err := speccache.New(gets(&tool{}), config{})
	require.NoError(t, err)
	defer c.Close()
	const pages = 200
	collected := make(chan struct{}, pages)
	for i := range pages {
		open := c.Open(opening{Scope: fmt.Sprint(i)})
		s := &open
		runtime.AddCleanup(*s, func(ch chan struct{}) { ch <- struct{}{} }, collected)
		(*s).Speculate(t.Context(), get(1))
		require.Eventually(t, func() bool { st := (*s).Stats(); return st.Wasted == 1 }, wait, tick)
		(*s).Close()
		open = nil
	}
	require.Eventually(t, func() bool {
		runtime.GC()
		return len(collected) > pages/2
	}, wait, tick)
	assert.Equal(t, pages, c.Stats().Entries, "although what they read is kept")
}

func TestBoundedWhatPredictorsAndEnvironmentsSayOfSizes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := gets(&tool{})
		e.Size = func(string) int { return int(^uint(0) >> 1) }
		var sources []int
		c, s := open(t, e, config{OnEvent: func(ev speccache.Event) { sources = append(sources, len(ev.Source)) },
			Predictor: func(context.Context, state) iterSeq {
				return func(yield func(actions.Prediction, error) bool) {
					yield(actions.Prediction{Action: get(1), Source: strings.Repeat("x", 1<<20), Usage: actions.Usage{Calls: -1}}, nil)
				}
			}})
		for i := range 10 {
			must(t, s, get(fmt.Sprint("mine", i)))
			synctest.Wait()
		}
		st := c.Stats()
		assert.Zero(t, st.WindowBytes)
		assert.Zero(t, st.Usage.Calls)
		assert.Positive(t, st.Drops.TooLarge)
		c.Close()
		for _, n := range sources {
			assert.LessOrEqual(t, n, 64)
		}
	})
	_, err := speccache.New(gets(&tool{}), config{TopN: 1 << 60})
	assert.ErrorContains(t, err, "TopN")
}

func TestBoundedSpeculateDoesNotPileUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := open(t, gets(&tool{takes: time.Hour}), config{})
		before := runtime.NumGoroutine()
		for i := range 10_000 {
			s.Speculate(t.Context(), get(i))
		}
		synctest.Wait()
		assert.Less(t, runtime.NumGoroutine()-before, 100)
		assert.Greater(t, c.Stats().Guesses.Crowded, int64(9000))
	})
}

func TestFreshMayForbidKeepingByANegativeAge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := gets(&tool{})
		e.Fresh = func(actions.Action, string) (time.Duration, bool) { return -time.Second, true }
		_, s := open(t, e, config{})
		must(t, s, get(1))
		assert.Equal(t, speccache.Miss, must(t, s, get(1)).Outcome)
	})
}

func TestWhatMayNotBeKeptGoesToWhoWasWaitingForItAndToNobodyElse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: 900 * time.Millisecond}
		e := gets(w)
		e.Fresh = func(actions.Action, string) (time.Duration, bool) { return 0, false }
		c, s := open(t, e, config{})
		s.Speculate(t.Context(), get(1))
		synctest.Wait()
		r := must(t, s, get(1))
		assert.Equal(t, speccache.Join, r.Outcome)
		assert.Equal(t, 900*time.Millisecond, r.Waited)
		assert.Equal(t, speccache.Miss, must(t, s, get(1)).Outcome)
		st := c.Stats()
		assert.EqualValues(t, []int64{1, 1, 0, 0, 1}, []int64{st.Speculated, st.Used, st.Wasted, st.FailedAhead, st.NotKeptAhead})
	})
}

func TestALocalNameThatResolvesToAWriteIsAWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &shop{}
		e := w.env()
		e.Resolve = func(_ state, a actions.Action) (actions.Action, error) {
			if a == act("think", "write it") {
				return act("put", 1), nil
			}
			return a, nil
		}
		_, s := open(t, e, config{})
		must(t, s, get(1))
		must(t, s, act("think", "hm"))
		assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome)
		must(t, s, act("think", "write it"))
		assert.Equal(t, speccache.ReasonState, must(t, s, get(1)).Reason)
	})
}

func TestVersionedWhatWasReadWithoutAVersionCountsForTheFirstOneOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, s := open(t, gets(&tool{}), config{ModelVersion: "a"})
		s.SetModelVersion("")
		must(t, s, get(1))
		s.SetModelVersion("b")
		assert.Equal(t, speccache.ReasonModelVersion, must(t, s, get(1)).Reason)
	})
}

func TestScopesDoNotStarveEachOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		w := &tool{on: deaf(release)}
		c, _ := open(t, gets(w), config{})
		for range 20 {
			s := c.Open(opening{Scope: "hung"})
			s.Speculate(t.Context(), many(20)...)
			s.Speculate(t.Context(), get(int(s.ID())), get(int(s.ID())*100))
			synctest.Wait()
			s.Close()
		}
		before := c.Stats().Speculated
		s := c.Open(opening{Scope: "other"})
		defer s.Close()
		s.Speculate(t.Context(), get(1))
		synctest.Wait()
		assert.Equal(t, before+1, c.Stats().Speculated)
		close(release)
	})
}

func TestAHookThatExitsLosesOneEventOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := 0
		c, s := open(t, gets(&tool{}), config{OnEvent: func(speccache.Event) {
			if n++; n == 2 {
				runtime.Goexit()
			}
		}})
		for range 5 {
			must(t, s, get(1))
		}
		c.Close()
		assert.Equal(t, 5, n)
		assert.EqualValues(t, 1, c.Stats().EventsDropped)
		must(t, s, get(1))
		assert.EqualValues(t, 2, c.Stats().EventsDropped, "what comes after Close is counted")
	})
}
