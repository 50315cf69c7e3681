package speccache_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
)

func TestBoundedAPermitIsFreeOnlyWhenItsRunHasEnded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		w := &tool{on: deaf(release)}
		_, s := open(t, gets(w), config{MaxAheadSession: 1})
		s.Observe(t.Context(), "home")
		s.Speculate(t.Context(), get(1))
		synctest.Wait()
		s.Observe(t.Context(), "next")
		s.Speculate(t.Context(), get(2))
		synctest.Wait()
		assert.Equal(t, []actions.Action{get(1)}, w.ran(), "it was given up, and runs on")
		close(release)
		synctest.Wait()
		assert.Equal(t, []actions.Action{get(1), get(2)}, w.ran())
	})
}

func TestGuessesOfOneStepTakeNoPermitFromEachOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := open(t, gets(&tool{takes: time.Hour}), config{MaxAheadSession: 1})
		s.Speculate(t.Context(), get(1), get(2))
		synctest.Wait()
		st := c.Stats()
		assert.EqualValues(t, []int64{1, 0}, []int64{st.Speculated, st.CancelledAhead})
	})
}

func TestAnotherSessionsRunsAreNotGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := open(t, gets(&tool{takes: time.Hour}), config{MaxAhead: 1})
		s.Observe(t.Context(), "home")
		s.Speculate(t.Context(), get(1))
		synctest.Wait()
		other := c.Open(opening{Scope: "test"})
		defer other.Close()
		for range 3 {
			other.Observe(t.Context(), "page")
		}
		other.Speculate(t.Context(), get(2))
		synctest.Wait()
		st := c.Stats()
		assert.EqualValues(t, []int64{1, 0}, []int64{st.Speculated, st.CancelledAhead})
	})
}

func TestBoundedRunsAtOneHostCountTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Hour}
		e := gets(w)
		e.Rules["local"] = actions.Rule{Effect: actions.ReadOnly, Ahead: true}
		e.Host = func(a actions.Action) string {
			if a.Name() == "local" {
				return ""
			}
			return a.Args()[:2] // a quotation mark and the first letter
		}
		c, s := open(t, e, config{MaxAhead: 100, MaxAheadSession: 100, MaxAheadHost: 2})
		other := c.Open(opening{Scope: "another scope"})
		defer other.Close()
		s.Observe(t.Context(), "home")
		s.Speculate(t.Context(), get("b1"), get("a1"))
		after(time.Second)
		other.Speculate(t.Context(), get("a2"), get("a3"))
		s.Speculate(t.Context(), act("local", 1), act("local", 2), act("local", 3))
		after(time.Second)
		assert.Len(t, w.ran(), 6, "all but the third at one host")
		s.Observe(t.Context(), "next")
		s.Speculate(t.Context(), get("a4"))
		after(time.Second)
		runs, _ := w.count(get("a3"))
		newer, _ := w.count(get("a4"))
		assert.Equal(t, 1, runs+newer, "one run at that host was given up for one that waited")
		assert.EqualValues(t, 1, c.Stats().CancelledAhead)
	})
}

func TestBoundedBytesAheadAreCountedAndLimited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := open(t, gets(pages(4<<10)), config{SessionLimits: speccache.Limits{BytesAhead: 6 << 10}})
		for i := range 4 {
			s.Speculate(t.Context(), get(i))
			synctest.Wait()
		}
		st := c.Stats()
		assert.EqualValues(t, []int64{2, 2}, []int64{st.Speculated, st.Limited}, "the second was in the air when the limit was reached")
	})
}

func TestBoundedBytesAheadCountAsTheyArriveWhateverBecomesOfThem(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var cut int
		w := &tool{on: func(ctx context.Context, _ actions.Action) (string, error) {
			for range 100 {
				if ctx.Err() != nil {
					cut++
					return "", ctx.Err()
				}
				actions.Received(ctx, 1<<10)
				after(time.Second)
			}
			return "", errors.New("100 KiB of nothing")
		}}
		c, s := open(t, gets(w), config{SessionLimits: speccache.Limits{BytesAhead: 250 << 10}})
		for i := range 4 {
			s.Speculate(t.Context(), get(i))
			after(time.Hour)
		}
		st := c.Stats()
		assert.EqualValues(t, []int64{3, 1}, []int64{st.Speculated, st.Limited})
		assert.Equal(t, 1, cut, "the third was cut when it had brought 50 KiB")
		_, err := s.Do(t.Context(), get("own"))
		assert.ErrorContains(t, err, "100 KiB of nothing", "the target's own run has no limit")
	})
}

func TestBoundedBytesThatArriveDoNotCountTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{on: func(ctx context.Context, _ actions.Action) (string, error) {
			actions.Received(ctx, 4<<10)
			return strings.Repeat("x", 4<<10), nil
		}}
		c, s := open(t, gets(w), config{SessionLimits: speccache.Limits{BytesAhead: 64 << 10}})
		for i := range 12 {
			s.Speculate(t.Context(), get(i))
			after(time.Second)
		}
		assert.EqualValues(t, 12, c.Stats().Speculated)
	})
}

func TestARunThatATargetWaitsForIsNotCutForItsBytes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{on: func(ctx context.Context, _ actions.Action) (string, error) {
			after(time.Second)
			actions.Received(ctx, 64<<10)
			after(time.Second / 2)
			return "whole", ctx.Err()
		}}
		_, s := open(t, gets(w), config{SessionLimits: speccache.Limits{BytesAhead: 32 << 10}})
		s.Speculate(t.Context(), get(1))
		after(time.Second / 2)
		r := must(t, s, get(1))
		assert.Equal(t, []any{speccache.Join, "whole"}, []any{r.Outcome, r.Observation})
	})
}

// The state may move while a guess waits for its permit: its run has not
// started yet, so that it is good.
func TestAGuessThatHadToWaitIsOfTheStateInWhichItStarts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
			if a == get("hung") {
				<-release
			}
			return "page", nil
		}}
		c, s := open(t, gets(w), config{MaxAhead: 1})
		other := c.Open(opening{Scope: "another"})
		defer other.Close()
		other.Speculate(t.Context(), get("hung"))
		synctest.Wait()
		s.Speculate(t.Context(), get(1))
		synctest.Wait()
		c.Advance("test")
		close(release)
		synctest.Wait()
		assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome)
	})
}

func TestAReadingIsCountedAlsoIfTheEntryIsReplacedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := open(t, gets(&tool{takes: time.Second}), config{})
		s.Speculate(t.Context(), get(1))
		after(2 * time.Second)
		_, reason := s.Lookup(get(1))
		assert.Empty(t, reason)
		c.Advance("test")
		must(t, s, get(1))
		st := c.Stats()
		assert.EqualValues(t, []int64{1, 1, 0}, []int64{st.Hits, st.Used, st.Wasted})
		assert.Equal(t, time.Second, st.Hidden)
	})
}

func TestBoundedAPredictorThatDoesNotStopIsLeft(t *testing.T) {
	for name, p := range map[string]actions.Prediction{
		"duplicates": {Action: get(1)}, "undeclared": {Action: act("rm", 1)}, "nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				yields := 0
				_, s := open(t, gets(&tool{}), config{TopN: 3, Predictor: func(context.Context, state) iterSeq {
					return func(yield func(actions.Prediction, error) bool) {
						for yields++; yields < 100_000 && yield(p, nil); yields++ {
						}
					}
				}})
				s.Observe(t.Context(), "home")
				synctest.Wait()
				assert.LessOrEqual(t, yields, 8*3)
			})
		})
	}
}
