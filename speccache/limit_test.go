package speccache_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"log/slog"
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

// costly makes a predictor whose every draft uses a hundred tokens.
func costly(context.Context, state) iter.Seq2[actions.Prediction, error] {
	return func(yield func(actions.Prediction, error) bool) {
		usage := actions.Usage{Calls: 1, PromptTokens: 80, CachedTokens: 60, OutputTokens: 20}
		yield(actions.Prediction{Action: get("guess"), Usage: usage}, nil)
	}
}

func TestBoundedALimitThatIsReachedEndsGuessingSaysSoOnceAndCostsTheTargetNothing(t *testing.T) {
	for name, c := range map[string]struct {
		cfg    config
		drafts int64
	}{
		"session calls":  {config{SessionLimits: speccache.Limits{DraftCalls: 3}}, 3},
		"scope calls":    {config{ScopeLimits: speccache.Limits{DraftCalls: 3}}, 3},
		"cache calls":    {config{CacheLimits: speccache.Limits{DraftCalls: 3}}, 3},
		"session tokens": {config{SessionLimits: speccache.Limits{DraftTokens: 250}}, 3},
		"requests":       {config{SessionLimits: speccache.Limits{RequestsAhead: 3}}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var log bytes.Buffer
				limits := 0
				c.cfg.Predictor = func(ctx context.Context, s state) iter.Seq2[actions.Prediction, error] {
					return func(yield func(actions.Prediction, error) bool) {
						for p := range costly(ctx, s) {
							p.Action = get(fmt.Sprint("guess", len(s.Steps)))
							yield(p, nil)
						}
					}
				}
				c.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
				c.cfg.OnEvent = func(e speccache.Event) {
					if e.Kind == speccache.EventLimit {
						limits++
					}
				}
				cache, s := open(t, gets(&tool{}), c.cfg)
				for i := range 10 {
					r := must(t, s, get(i))
					assert.Zero(t, r.Waited)
					synctest.Wait()
				}
				st := s.Stats()
				assert.Equal(t, c.drafts, st.Drafts)
				assert.LessOrEqual(t, st.Speculated, c.drafts)
				assert.EqualValues(t, 7, st.Limited)
				assert.Contains(t, s.Explain(), "Guessing has ended")
				cache.Close()
				assert.Equal(t, 1, limits)
				assert.Equal(t, 1, strings.Count(log.String(), "limit reached"))
			})
		})
	}
}

func TestBoundedWhatOneSessionUsesCountsForItsScopeAndCache(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, a := open(t, gets(&tool{}), config{Predictor: costly, ScopeLimits: speccache.Limits{DraftCalls: 2}})
		b, other := c.Open(opening{Scope: "test"}), c.Open(opening{Scope: "other"})
		defer b.Close()
		defer other.Close()
		for _, s := range []*speccache.Session[string]{a, b, b, other} {
			s.Observe(t.Context(), "page")
			synctest.Wait()
		}
		assert.EqualValues(t, []int64{1, 1, 1}, []int64{a.Stats().Drafts, b.Stats().Drafts, other.Stats().Drafts})
	})
}

func TestBoundedNegativeLimitsAreRefused(t *testing.T) {
	_, err := speccache.New(gets(&tool{}), config{ScopeLimits: speccache.Limits{DraftTokens: -1}})
	assert.ErrorContains(t, err, "ScopeLimits.DraftTokens")
}

// teapot is an error that states its class.
type teapot struct{}

func (teapot) Error() string      { return "secret question" }
func (teapot) ErrorClass() string { return "rate limit" }

func TestDraftFailuresAreCountedByClassAndLoggedOnceAMinuteWithoutArguments(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		var events []speccache.Event
		predict := func(context.Context, state) iter.Seq2[actions.Prediction, error] {
			return func(yield func(actions.Prediction, error) bool) {
				yield(actions.Prediction{}, fmt.Errorf("draft: %w", teapot{}))
			}
		}
		c, s := open(t, gets(&tool{}), config{
			Predictor: predict, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			OnEvent: func(e speccache.Event) { events = append(events, e) },
		})
		for range 3 {
			s.Observe(t.Context(), "page")
			synctest.Wait()
			after(25 * time.Second)
		}
		want := map[string]int64{"rate limit": 3}
		assert.Equal(t, want, s.Stats().DraftFailures)
		assert.Equal(t, want, c.Stats().DraftFailures)
		assert.Equal(t, 1, strings.Count(log.String(), "\n"))
		assert.Contains(t, log.String(), "session=1 step=1")
		assert.NotContains(t, log.String(), "secret")
		assert.Contains(t, s.Explain(), "secret question")
		after(time.Minute)
		s.Observe(t.Context(), "page")
		synctest.Wait()
		assert.Equal(t, 2, strings.Count(log.String(), "\n"))
		c.Close()
		assert.Equal(t, "rate limit", events[0].Class)
	})
}

func TestWhatADraftCostIsCountedAlsoWhenTheTargetActsFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		predict := func(ctx context.Context, _ state) iter.Seq2[actions.Prediction, error] {
			return func(yield func(actions.Prediction, error) bool) {
				for i := range 3 {
					if !yield(actions.Prediction{Action: get(i)}, nil) {
						return
					}
				}
				<-ctx.Done()
				yield(actions.Prediction{Usage: actions.Usage{Calls: 1, OutputTokens: 7}}, nil)
			}
		}
		c, err := speccache.New(gets(&tool{}), config{Predictor: predict})
		require.NoError(t, err)
		defer c.Close()
		s := c.Open(opening{})
		s.Observe(t.Context(), "page")
		synctest.Wait()
		s.Close()
		synctest.Wait()
		assert.Equal(t, actions.Usage{Calls: 1, OutputTokens: 7}, c.Stats().Usage)
		assert.EqualValues(t, 3, c.Stats().Speculated)
	})
}

func TestADraftThatOnlySaysWhatItCostHadNoGuess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		predict := func(context.Context, state) iter.Seq2[actions.Prediction, error] {
			return func(yield func(actions.Prediction, error) bool) {
				yield(actions.Prediction{Usage: actions.Usage{Calls: 1}}, nil)
			}
		}
		_, s := open(t, gets(&tool{}), config{Predictor: predict})
		s.Observe(t.Context(), "page")
		synctest.Wait()
		assert.EqualValues(t, []int64{1, 1}, []int64{s.Stats().DraftsEmpty, int64(s.Stats().Usage.Calls)})
	})
}

func TestAPredictorThatIsOutOfTimeHasFailed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		predict := func(ctx context.Context, _ state) iter.Seq2[actions.Prediction, error] {
			return func(yield func(actions.Prediction, error) bool) { <-ctx.Done() }
		}
		_, s := open(t, gets(&tool{}), config{Predictor: predict, AheadTimeout: time.Second})
		s.Observe(t.Context(), "page")
		after(2 * time.Second)
		assert.Equal(t, map[string]int64{"timeout": 1}, s.Stats().DraftFailures)
		assert.Zero(t, s.Stats().DraftsLate)
	})
}

// A hook is a log handler that does what a test tells it to.
type hook func()

func (h hook) Enabled(context.Context, slog.Level) bool { return true }
func (h hook) Handle(context.Context, slog.Record) error {
	h()
	return nil
}
func (h hook) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h hook) WithGroup(string) slog.Handler      { return h }

func TestALogHandlerThatPanicsExitsOrHangsIsNoPartOfTheAgent(t *testing.T) {
	release := make(chan struct{})
	for name, handle := range map[string]func(){
		"panic":  func() { panic("log") },
		"goexit": runtime.Goexit,
		"hang":   func() { <-release },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				release = make(chan struct{})
				broken := func(context.Context, state) iter.Seq2[actions.Prediction, error] { panic("draft") }
				c, s := open(t, gets(&tool{}), config{
					Predictor: broken, Logger: slog.New(hook(handle)), SessionLimits: speccache.Limits{DraftCalls: 2},
				})
				began := time.Now()
				for i := range 5 {
					must(t, s, get(i))
					synctest.Wait()
				}
				assert.Zero(t, time.Since(began))
				assert.EqualValues(t, 2, c.Stats().DraftsFailed)
				close(release)
			})
		})
	}
}
