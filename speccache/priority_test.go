package speccache_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// deaf makes runs ahead take for ever, until release is closed, whatever their
// context says.
func deaf(release chan struct{}) func(context.Context, actions.Action) (string, error) {
	return func(ctx context.Context, a actions.Action) (string, error) {
		if actions.CallFrom(ctx).Ahead {
			<-release
		}
		return "saw " + a.String(), nil
	}
}

func many(n int) []actions.Action {
	list := make([]actions.Action, n)
	for i := range list {
		list[i] = get(fmt.Sprint("guess ", i))
	}
	return list
}

func TestNeverSlowerAHundredHungGuessesDelayNoMiss(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		w := &tool{on: deaf(release)}
		c, s := open(t, gets(w), config{TopN: 100, MaxAhead: 100, MaxAheadSession: 100, Predictor: guesses(many(100)...)})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		assert.EqualValues(t, 100, c.Stats().Speculated)
		began := time.Now()
		assert.Equal(t, speccache.Miss, must(t, s, get("mine")).Outcome)
		assert.Zero(t, time.Since(began))
		close(release)
	})
}

func TestNeverSlowerAQueuedGuessIsNotJoined(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		w := &tool{on: deaf(release)}
		c, s := open(t, gets(w), config{MaxAhead: 1, Predictor: guesses(get(1), get(2))})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		began := time.Now()
		r := must(t, s, get(2)) // the permit is taken: get 2 only waits for one
		assert.Equal(t, speccache.Miss, r.Outcome)
		assert.Zero(t, time.Since(began))
		close(release)
		synctest.Wait()
		assert.EqualValues(t, 1, c.Stats().Guesses.Crowded)
	})
}

func TestNeverSlowerAJoinWaitsOneSecondWhileLatencyIsUnknown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		w := &tool{on: deaf(release)}
		_, s := open(t, gets(w), config{Predictor: guesses(get(1))})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		began := time.Now()
		r := must(t, s, get(1))
		assert.Equal(t, speccache.Miss, r.Outcome)
		assert.Equal(t, time.Second, time.Since(began))
		close(release)
	})
}

func TestNeverSlowerAJoinWaitsNoLongerThanTheToolUsuallyTakes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		hang := deaf(release)
		w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
			if a == get("hung") {
				return hang(ctx, a)
			}
			return "ok", pause(ctx, 10*time.Second)
		}}
		_, s := open(t, gets(w), config{})
		for i := range 20 {
			must(t, s, get(i))
		}
		s.Speculate(t.Context(), get("hung"))
		after(4 * time.Second)
		began := time.Now()
		must(t, s, get("hung"))
		// p95 is about 10 s, of which 4 have passed.
		assert.InDelta(t, 6, time.Since(began).Seconds(), 2.5)
		close(release)
	})
}

func TestNeverSlowerBesideASlowRunTheFirstSuccessWins(t *testing.T) {
	for _, c := range []struct {
		name       string
		ahead, own time.Duration
		waits      time.Duration
		outcome    speccache.Outcome
	}{
		{"the guess", 5 * time.Second, 30 * time.Second, 5 * time.Second, speccache.Join},
		{"the target's own", 60 * time.Second, 3 * time.Second, 4 * time.Second, speccache.Miss},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
					if actions.CallFrom(ctx).Ahead {
						return "ahead", pause(ctx, c.ahead)
					}
					return "own", pause(ctx, c.own)
				}}
				_, s := open(t, gets(w), config{Predictor: guesses(get(1))})
				s.Observe(t.Context(), "home")
				synctest.Wait()
				r := must(t, s, get(1))
				assert.Equal(t, c.outcome, r.Outcome)
				assert.Equal(t, c.waits, r.Waited)
				synctest.Wait()
			})
		})
	}
}

func TestNeverSlowerAFailureBesideASlowRunIsReturnedAtOnce(t *testing.T) {
	for name, fail := range failures {
		if name == "hang" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
					if actions.CallFrom(ctx).Ahead {
						return "", pause(ctx, time.Minute)
					}
					return fail(ctx)
				}}
				_, s := open(t, gets(w), config{Predictor: guesses(get(1))})
				s.Observe(t.Context(), "home")
				synctest.Wait()
				began := time.Now()
				done := make(chan any, 1)
				go func() {
					ended := "goexit"
					defer func() {
						if r := recover(); r != nil {
							ended = "panic"
						}
						done <- ended
					}()
					_, err := s.Do(t.Context(), get(1))
					if assert.ErrorIs(t, err, errTool) {
						ended = "error"
					}
				}()
				want := name
				if name == "nil panic" {
					want = "panic"
				}
				assert.Equal(t, want, <-done)
				assert.Equal(t, time.Second, time.Since(began))
			})
		})
	}
}

func TestNeverSlowerAGuessThatIsCancelledIsNotWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		w := &tool{on: deaf(release)}
		c, s := open(t, gets(w), config{Predictor: guesses(get(1)), AheadTimeout: 100 * time.Millisecond})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		after(50 * time.Millisecond)
		began := time.Now()
		must(t, s, get(1)) // joins; at 100 ms the guess is out of time
		assert.Equal(t, 50*time.Millisecond, time.Since(began))
		began = time.Now()
		c.Advance("test")
		must(t, s, get(1))
		assert.Zero(t, time.Since(began), "doomed work is not joined")
		close(release)
	})
}

// steps makes a predictor whose guesses depend on the step, after a delay.
func steps(delay time.Duration, list func(step int) []actions.Action) actions.Predictor[string] {
	return func(ctx context.Context, s state) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			if err := pause(ctx, delay); err != nil {
				yield(actions.Prediction{}, err)
				return
			}
			for p, err := range guesses(list(len(s.Steps))...)(ctx, s) {
				if !yield(p, err) {
					return
				}
			}
		}
	}
}

func TestBoundedANewerGuessTakesThePermitOfTheOldestThatNobodyWaitsFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Hour}
		w.on = nil
		list := func(step int) []actions.Action { return []actions.Action{get(step*10 + 1), get(step*10 + 2)} }
		c, s := open(t, gets(w), config{TopN: 2, MaxAheadSession: 3, Predictor: steps(0, list)})
		s.Observe(t.Context(), "home") // 11, 12
		synctest.Wait()
		s.Observe(t.Context(), "next") // 21 is free, 22 takes 11's permit
		synctest.Wait()
		st := c.Stats()
		assert.EqualValues(t, 4, st.Speculated)
		assert.EqualValues(t, 1, st.FailedAhead)
		assert.Equal(t, []actions.Action{get(11), get(12), get(21), get(22)}, sorted(w.ran()))
	})
}

func TestAJoinedGuessIsNotGivenUpForANewerOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: 800 * time.Millisecond}
		c, s := open(t, gets(w), config{MaxAheadSession: 1, Predictor: guesses(get(1))})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		got := make(chan speccache.Result[string])
		go func() { got <- must(t, s, get(1)) }()
		synctest.Wait()
		s.Speculate(t.Context(), get(2))
		assert.Equal(t, speccache.Join, (<-got).Outcome)
		assert.EqualValues(t, 0, c.Stats().FailedAhead)
	})
}

func TestTheDraftIsStoppedWhenTheTargetActsAndItsRunsGoOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: 3 * time.Second}
		stopped := false
		predict := func(ctx context.Context, s state) iter.Seq2[actions.Prediction, error] {
			return func(yield func(actions.Prediction, error) bool) {
				if len(s.Steps) > 1 || !yield(actions.Prediction{Action: get(2)}, nil) {
					return
				}
				<-ctx.Done()
				stopped = true
			}
		}
		_, s := open(t, gets(w), config{Predictor: predict})
		s.Observe(t.Context(), "home")
		after(time.Second)
		require.False(t, stopped)
		must(t, s, get(1)) // 3 s
		synctest.Wait()
		assert.True(t, stopped)
		assert.Equal(t, speccache.Hit, must(t, s, get(2)).Outcome, "the run ahead went on")
	})
}

func TestADraftSlowerThanTheTargetCostsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		list := func(step int) []actions.Action { return []actions.Action{get(step)} }
		c, s := open(t, gets(w), config{Predictor: steps(2*time.Second, list)})
		began := time.Now()
		for i := range 10 {
			must(t, s, get(i))
			after(1900 * time.Millisecond)
		}
		assert.Equal(t, 10*2900*time.Millisecond, time.Since(began))
		assert.Zero(t, c.Stats().Speculated)
		assert.EqualValues(t, 9, c.Stats().DraftsLate, "the tenth is still at it")
		assert.Contains(t, s.Explain(), "too late")
	})
}
