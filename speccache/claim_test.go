package speccache_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
)

// The claim on a key must not end before its result can be found.
func TestOneRunPerKeyAlsoWhileTheEnvironmentLooksAtTheObservation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: 100 * time.Millisecond}
		e := gets(w)
		e.Fresh = func(actions.Action, string) (time.Duration, bool) {
			after(500 * time.Millisecond)
			return 0, true
		}
		c, s := open(t, e, config{})
		other := c.Open(opening{Scope: "test"})
		defer other.Close()
		go s.Do(t.Context(), get(1))
		after(200 * time.Millisecond)
		assert.Equal(t, speccache.Join, must(t, other, get(1)).Outcome)
		runs, _ := w.count(get(1))
		assert.Equal(t, 1, runs)
	})
}

func TestAFailedRunHoldsNothing(t *testing.T) {
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
					if a == get("bad") && actions.CallFrom(ctx).Ahead {
						return fail(ctx)
					}
					return "page", nil
				}}
				c, s := open(t, gets(w), config{MaxAhead: 1, AheadTimeout: time.Second})
				s.Speculate(t.Context(), get("bad"))
				after(2 * time.Second)
				r := must(t, s, get("bad"))
				assert.Zero(t, r.Waited, "its key is free")
				assert.Equal(t, speccache.Miss, r.Outcome)
				s.Speculate(t.Context(), get("good"))
				synctest.Wait()
				assert.Equal(t, speccache.Hit, must(t, s, get("good")).Outcome, "and so is its permit")
				speccache.CheckStore(t, c)
			})
		})
	}
}

// Two guesses of one action that waited for permits must not both run: who
// comes second finds the first in the air, or its result.
func TestTwoQueuedGuessesOfOneActionRunOnce(t *testing.T) {
	for _, permits := range []int{1, 2} {
		bubble(t, func(t *testing.T) {
			release := make(chan struct{})
			w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
				if a == get("hung 0") || a == get("hung 1") {
					<-release
					return "late", nil
				}
				return "page", pause(ctx, time.Second)
			}}
			c, s := open(t, gets(w), config{MaxAhead: permits})
			s.Speculate(t.Context(), []actions.Action{get("hung 0"), get("hung 1")}[:permits]...)
			synctest.Wait()
			for range 2 {
				other := c.Open(opening{Scope: "test"})
				defer other.Close()
				other.Speculate(t.Context(), get(1))
			}
			synctest.Wait()
			close(release)
			after(time.Minute)
			runs, _ := w.count(get(1))
			assert.Equal(t, 1, runs)
			g := c.Stats().Guesses
			assert.EqualValues(t, []int64{int64(2 - permits), int64(permits - 1)}, []int64{g.Resident, g.Flying})
			s.Speculate(t.Context(), get(2), get(3))
			synctest.Wait()
			assert.EqualValues(t, 2*permits+1, c.Stats().Speculated, "all permits are back")
		})
	}
}

func TestARunThatWasGivenUpIsNotTakenForOneInTheAir(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		w := &tool{on: deaf(release)}
		c, s := open(t, gets(w), config{MaxAheadSession: 1})
		s.Observe(t.Context(), "home")
		s.Speculate(t.Context(), get(1))
		synctest.Wait()
		s.Observe(t.Context(), "next")
		s.Speculate(t.Context(), get(2)) // wants its permit, and waits: the run is deaf
		synctest.Wait()
		other := c.Open(opening{Scope: "test"})
		defer other.Close()
		other.Speculate(t.Context(), get(1))
		synctest.Wait()
		_, ahead := w.count(get(1))
		assert.Equal(t, 2, ahead, "nothing good comes of the first")
		close(release)
	})
}

func TestTheLosingRunIsCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cancelled := false
		w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
			if actions.CallFrom(ctx).Ahead {
				return "ahead", pause(ctx, 5*time.Second)
			}
			err := pause(ctx, time.Hour)
			cancelled = err != nil
			return "own", err
		}}
		_, s := open(t, gets(w), config{Predictor: guesses(get(1))})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		assert.Equal(t, "ahead", must(t, s, get(1)).Observation)
		synctest.Wait()
		assert.True(t, cancelled)
	})
}

func TestALateResultOfAnOlderStateDoesNotReplaceAFreshOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{}
		w.on = func(ctx context.Context, a actions.Action) (string, error) {
			if w.next() == 1 {
				return "old", pause(ctx, 10*time.Second)
			}
			return "fresh", nil
		}
		c, s := open(t, gets(w), config{})
		go s.Do(t.Context(), get(1))
		synctest.Wait()
		c.Advance("test")
		other := c.Open(opening{Scope: "test"})
		defer other.Close()
		must(t, other, get(1))
		after(time.Minute)
		r := must(t, other, get(1))
		assert.Equal(t, speccache.Hit, r.Outcome)
		assert.Equal(t, "fresh", r.Observation)
	})
}

func TestVersionedWhatAnotherSessionReadBeforeItsVersionWasKnownIsNotServed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: 900 * time.Millisecond}
		c, s := open(t, gets(w), config{})
		other := c.Open(opening{Scope: "test"})
		defer other.Close()
		must(t, other, get(1))
		s.SetModelVersion("a")
		_, reason := s.Lookup(get(1))
		assert.NotEmpty(t, reason)
		assert.Equal(t, speccache.Miss, must(t, s, get(1)).Outcome)
		go other.Do(t.Context(), get(2))
		synctest.Wait()
		assert.Equal(t, speccache.Miss, must(t, s, get(2)).Outcome, "nor joined")
	})
}

func TestLookupServesNothingBeyondItsMargin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, s := open(t, gets(&tool{}), config{})
		must(t, s, get(1))
		for range 100 { // the coarse clock goes on while it is read
			_, reason := s.Lookup(get(1))
			assert.Empty(t, reason)
			after(actions.DefaultMaxAge / 100)
		}
		after(200 * time.Millisecond)
		_, reason := s.Lookup(get(1))
		assert.Equal(t, speccache.ReasonAge, reason)
	})
}

// A joiner whose patience ends after Close runs its action itself.
func TestNothingIsStartedAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var stacks []string
		w := &tool{}
		w.on = func(ctx context.Context, a actions.Action) (string, error) {
			if w.next() == 1 {
				return "leader", pause(ctx, time.Hour)
			}
			stacks = append(stacks, stack())
			return "own", nil
		}
		c, s := open(t, gets(w), config{})
		leader := c.Open(opening{Scope: "test"})
		defer leader.Close()
		go leader.Do(t.Context(), get(1))
		synctest.Wait()
		time.AfterFunc(500*time.Millisecond, func() { c.Close() })
		assert.Equal(t, "own", must(t, s, get(1)).Observation)
		if assert.Len(t, stacks, 1) {
			assert.Contains(t, stacks[0], "speccache_test.must", "it is on the caller's goroutine")
		}
	})
}

// stack names the functions that have called each other.
func stack() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var names []string
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		names = append(names, f.Function)
	}
	return strings.Join(slices.Compact(names), "\n")
}

func TestNoStateThatWasHandedOutEverChanges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var states []state
		_, s := open(t, gets(&tool{}), config{Predictor: watcher(&states)})
		var then []string
		for i := range 100 {
			must(t, s, get(i))
			synctest.Wait()
			then = append(then, fmt.Sprint(states[i].Steps))
		}
		for i, state := range states {
			assert.Equal(t, then[i], fmt.Sprint(state.Steps), "after step %d", i)
		}
	})
}
