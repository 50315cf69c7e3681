package speccache_test

import (
	"context"
	"errors"
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

var errTool = errors.New("the tool is broken")

// failures are the ways in which a run ahead can go wrong.
var failures = map[string]func(ctx context.Context) (string, error){
	"error":  func(context.Context) (string, error) { return "half a page", errTool },
	"panic":  func(context.Context) (string, error) { panic("tool panics") },
	"goexit": func(context.Context) (string, error) { runtime.Goexit(); return "", nil },
	"hang": func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	},
	"nil panic": func(context.Context) (string, error) { panic(nil) }, //nolint:govet // on purpose
}

func TestLosslessAFailedRunAheadNeverReachesTheTarget(t *testing.T) {
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
					if actions.CallFrom(ctx).Ahead {
						return fail(ctx)
					}
					return "the real page", nil
				}}
				_, s := open(t, gets(w), config{Predictor: guesses(get(1))})
				s.Observe(t.Context(), "home")
				synctest.Wait()
				r := must(t, s, get(1))
				assert.Equal(t, "the real page", r.Observation)
				assert.Equal(t, speccache.Miss, r.Outcome)
				runs, ahead := w.count(get(1))
				assert.Equal(t, []int{2, 1}, []int{runs, ahead})
			})
		})
	}
}

func TestLosslessAJoinedRunThatFailsIsReplacedByTheTargetsOwn(t *testing.T) {
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &tool{takes: 500 * time.Millisecond}
				w.on = func(ctx context.Context, a actions.Action) (string, error) {
					if actions.CallFrom(ctx).Ahead {
						return fail(ctx)
					}
					return "the real page", nil
				}
				_, s := open(t, gets(w), config{Predictor: guesses(get(1))})
				s.Observe(t.Context(), "home")
				after(200 * time.Millisecond)
				began := time.Now()
				r := must(t, s, get(1))
				assert.Equal(t, "the real page", r.Observation)
				assert.LessOrEqual(t, time.Since(began), 1500*time.Millisecond, "bounded wait plus own run")
			})
		})
	}
}

func TestLosslessTheTargetsOwnErrorIsReturnedAsItIs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{on: func(context.Context, actions.Action) (string, error) { return "partial", errTool }}
		_, s := open(t, gets(w), config{})
		for range 2 {
			o, err := s.Do(t.Context(), get(1))
			assert.Same(t, errTool, err, "not wrapped, not replaced")
			assert.Equal(t, "partial", o)
		}
		runs, _ := w.count(get(1))
		assert.Equal(t, 2, runs, "errors are not remembered")
	})
}

func TestLosslessTheTargetsOwnPanicAndGoexitAreItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{on: func(_ context.Context, a actions.Action) (string, error) {
			if a == get("exit") {
				runtime.Goexit()
			}
			panic(errTool)
		}}
		_, s := open(t, gets(w), config{})
		assert.PanicsWithError(t, errTool.Error(), func() { s.Do(t.Context(), get("panic")) })
		exited := make(chan bool, 1)
		go func() {
			defer func() { exited <- recover() == nil }()
			s.Do(t.Context(), get("exit"))
			t.Error("Do returned")
		}()
		assert.True(t, <-exited)
		assert.PanicsWithError(t, errTool.Error(), func() { s.Do(t.Context(), get("panic")) }, "the key is not dead")
	})
}

func TestLosslessOwnRunsHaveTheCallersContextDeadlineAndCause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type key struct{}
		w := &tool{takes: time.Hour}
		_, s := open(t, gets(w), config{})
		ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
		w.on = nil
		time.AfterFunc(time.Second, func() { cancel(errTool) })
		_, err := s.Do(ctx, get(1))
		assert.ErrorIs(t, err, errTool)

		w.takes = 0
		w.on = func(ctx context.Context, _ actions.Action) (string, error) {
			deadline, _ := ctx.Deadline()
			assert.Equal(t, "value", ctx.Value(key{}))
			assert.Equal(t, time.Minute, time.Until(deadline))
			return "ok", nil
		}
		ctx, stop := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Minute)
		defer stop()
		_, err = s.Do(ctx, get(2))
		assert.NoError(t, err)
	})
}

func TestLosslessAnEndedContextGoesToTheExecutorNotToTheCache(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		_, s := open(t, gets(w), config{})
		must(t, s, get(1))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Do(ctx, get(1))
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorContains(t, err, "tool:")
	})
}

func TestLosslessALeavingJoinerGetsItsOwnCauseAndHarmsNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: 900 * time.Millisecond}
		_, s := open(t, gets(w), config{Predictor: guesses(get(1))})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(100*time.Millisecond, func() { cancel(errTool) })
		_, err := s.Do(ctx, get(1))
		assert.ErrorIs(t, err, errTool)
		assert.ErrorIs(t, err, context.Canceled)
		r := must(t, s, get(1))
		assert.Equal(t, speccache.Join, r.Outcome)
		runs, _ := w.count(get(1))
		assert.Equal(t, 1, runs)
	})
}

func TestLosslessWorkAheadHasTheCallersValuesAndItsOwnEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type key struct{}
		w := &tool{}
		var seen context.Context
		w.on = func(ctx context.Context, a actions.Action) (string, error) {
			if actions.CallFrom(ctx).Ahead {
				seen = ctx
				timer := time.NewTimer(time.Second)
				select {
				case <-timer.C:
				case <-ctx.Done():
					return "", ctx.Err()
				}
			}
			return "ok", nil
		}
		_, s := open(t, gets(w), config{Predictor: guesses(get(2))})
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		_, err := s.Do(ctx, get(1))
		require.NoError(t, err)
		synctest.Wait()
		cancel() // the request that asked for step 1 is over
		after(2 * time.Second)
		assert.Equal(t, "value", seen.Value(key{}))
		assert.Equal(t, actions.Call{Scope: "test", Session: 1, Ahead: true}, actions.CallFrom(seen))
		assert.Equal(t, speccache.Hit, must(t, s, get(2)).Outcome)
	})
}

func TestLosslessAThousandTargetsOnOneKeyCauseOneRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: 900 * time.Millisecond}
		c, _ := open(t, gets(w), config{})
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				s := c.Open(opening{Scope: "test"})
				defer s.Close()
				o, err := s.Do(t.Context(), get(1))
				assert.NoError(t, err)
				assert.Equal(t, "saw get 1", o)
			})
		}
		wg.Wait()
		runs, _ := w.count(get(1))
		assert.Equal(t, 1, runs)
	})
}

func TestLosslessWhenTheLeaderFailsEachJoinerGetsARealResultOfItsOwn(t *testing.T) {
	for name, fail := range failures {
		if name == "hang" {
			continue // a hanging own run hangs without SpecCache, too
		}
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				leader := true
				w := &tool{takes: 500 * time.Millisecond}
				w.on = func(ctx context.Context, a actions.Action) (string, error) {
					w.mu.Lock()
					first := leader
					leader = false
					w.mu.Unlock()
					if first {
						return fail(ctx)
					}
					return "real", nil
				}
				c, _ := open(t, gets(w), config{})
				var wg sync.WaitGroup
				lead := c.Open(opening{Scope: "test"})
				wg.Go(func() {
					defer func() { recover() }()
					lead.Do(t.Context(), get(1))
				})
				synctest.Wait()
				for range 20 {
					wg.Go(func() {
						s := c.Open(opening{Scope: "test"})
						defer s.Close()
						o, err := s.Do(t.Context(), get(1))
						assert.NoError(t, err)
						assert.Equal(t, "real", o)
					})
				}
				wg.Wait()
			})
		})
	}
}

func TestLosslessACancelledLeaderDoesNotCancelItsJoiners(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: 800 * time.Millisecond}
		c, lead := open(t, gets(w), config{})
		ctx, cancel := context.WithCancel(t.Context())
		go lead.Do(ctx, get(1))
		synctest.Wait()
		time.AfterFunc(300*time.Millisecond, cancel)
		joiner := c.Open(opening{Scope: "test"})
		o, err := joiner.Do(t.Context(), get(1))
		assert.NoError(t, err)
		assert.Equal(t, "saw get 1", o)
	})
}
