package speccache_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
)

func TestHiddenTimeIsTheRunsTimeLessWhatTheTargetWaited(t *testing.T) {
	for _, c := range []struct {
		name           string
		think          time.Duration
		outcome        speccache.Outcome
		waited, hidden time.Duration
	}{
		{"hit", 15 * time.Second, speccache.Hit, 0, 10 * time.Second},
		{"join", 9500 * time.Millisecond, speccache.Join, 500 * time.Millisecond, 9500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				_, s := open(t, gets(&tool{takes: 10 * time.Second}), config{Predictor: guesses(get(1))})
				s.Observe(t.Context(), "home")
				synctest.Wait()
				after(c.think)
				r := must(t, s, get(1))
				assert.Equal(t, c.outcome, r.Outcome)
				assert.True(t, r.Ahead)
				assert.Equal(t, []time.Duration{c.waited, c.hidden}, []time.Duration{r.Waited, r.Hidden})
				again := must(t, s, get(1))
				assert.False(t, again.Ahead, "a run's first serving only")
				assert.Zero(t, again.Hidden)
				st := s.Stats()
				assert.Equal(t, c.hidden, st.Hidden)
				assert.EqualValues(t, []int64{2, 1, 1}, []int64{st.Lookups, st.Ahead, st.Used})
			})
		})
	}
}

func TestWasteIsWhatRanAheadAndWasNotServed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: 2 * time.Second}
		w.on = func(_ context.Context, a actions.Action) (string, error) {
			if a == get("bad") {
				return "", errTool
			}
			return "page", nil
		}
		_, s := open(t, gets(w), config{})
		s.Speculate(t.Context(), get(1), get(2), get("bad"))
		after(time.Minute)
		st := s.Stats()
		assert.EqualValues(t, []int64{3, 0, 3, 1}, []int64{st.Speculated, st.Used, st.Wasted, st.FailedAhead})
		must(t, s, get(1))
		st = s.Stats()
		assert.EqualValues(t, []int64{3, 1, 2, 1}, []int64{st.Speculated, st.Used, st.Wasted, st.FailedAhead})
		assert.Equal(t, 4*time.Second, st.WastedTime)
		assert.Greater(t, st.WastedBytes, int64(len("page")))
	})
}

func TestHitRateCountsReadOnlyLookupsAndStandsBesideReadyRate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		c, s := open(t, mixed(w), config{})
		must(t, s, get(1))
		must(t, s, get(1))
		s.Speculate(t.Context(), get(2))
		synctest.Wait()
		must(t, s, get(2))
		must(t, s, act("none", 1))
		must(t, s, act("put", 1))
		must(t, s, act("think", 1))
		st := c.Stats()
		assert.EqualValues(t, []int64{3, 1, 1, 1}, []int64{st.Lookups, st.Hits, st.Joins, st.Misses})
		assert.InDelta(t, 2.0/3, st.HitRate(), 1e-9)
		assert.InDelta(t, 1.0/3, st.ReadyRate(), 1e-9)
		assert.EqualValues(t, []int64{1, 1}, []int64{st.Undeclared, st.Writes})
		assert.Zero(t, speccache.Stats{}.HitRate())
	})
}

func TestAHookThatBlocksDoesNotDelayDo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c, s := open(t, gets(&tool{}), config{OnEvent: func(speccache.Event) { <-release }})
		began := time.Now()
		for range 10_000 {
			must(t, s, get(1))
		}
		assert.Zero(t, time.Since(began))
		close(release)
		c.Close()
		assert.EqualValues(t, 10_000-4096-1, c.Stats().EventsDropped)
	})
}

func TestAHookThatPanicsIsNoPartOfTheAgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := open(t, gets(&tool{}), config{OnEvent: func(speccache.Event) { panic("hook") }})
		must(t, s, get(1))
		c.Close()
		assert.EqualValues(t, 1, c.Stats().EventsDropped)
	})
}

func TestEventsTellTheStoryInOrderAndNameNoArgumentsUnlessToldTo(t *testing.T) {
	for _, show := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			var kinds []speccache.EventKind
			var args, errs []string
			w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
				if actions.CallFrom(ctx).Ahead {
					return "", errTool
				}
				return "ok", nil
			}}
			c, s := open(t, gets(w), config{ShowArgs: show, Predictor: guesses(get("secret")), OnEvent: func(e speccache.Event) {
				kinds = append(kinds, e.Kind)
				args = append(args, e.Args)
				if e.Err != "" {
					errs = append(errs, e.Err)
				}
			}})
			s.Observe(t.Context(), "home")
			synctest.Wait()
			s.SetModelVersion("m")
			must(t, s, get("secret"))
			synctest.Wait()
			c.Advance("test")
			c.Close()
			assert.Subset(t, kinds, []speccache.EventKind{speccache.EventAhead, speccache.EventLanded,
				speccache.EventDraft, speccache.EventModelVersion, speccache.EventAction, speccache.EventAdvance})
			assert.Equal(t, speccache.EventAhead, kinds[0])
			if show {
				assert.Contains(t, args, `"secret"`)
				assert.Contains(t, errs, errTool.Error())
			} else {
				assert.NotContains(t, args, `"secret"`)
				assert.NotContains(t, errs, errTool.Error())
			}
		})
	}
}

func TestExplainSaysWhyNothingHits(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  config
		run  func(t *testing.T, c *speccache.Cache[string], s *speccache.Session[string])
		want string
	}{
		"no predictor": {want: "no Predictor"},
		"mode":         {cfg: config{Mode: speccache.Off}, want: "mode is off"},
		"undeclared": {run: func(t *testing.T, _ *speccache.Cache[string], s *speccache.Session[string]) {
			must(t, s, act("search", 1))
		}, want: "(search)"},
		"state": {run: func(t *testing.T, _ *speccache.Cache[string], s *speccache.Session[string]) {
			must(t, s, get(1))
			must(t, s, act("search", 1))
			must(t, s, get(1))
		}, want: "entry's state"},
		"age": {run: func(t *testing.T, _ *speccache.Cache[string], s *speccache.Session[string]) {
			must(t, s, get(1))
			after(time.Hour)
			must(t, s, get(1))
		}, want: "MaxAge"},
		"wrong guesses": {cfg: config{Predictor: guesses(get("wrong"))}, run: func(t *testing.T, _ *speccache.Cache[string], s *speccache.Session[string]) {
			must(t, s, get(1))
			synctest.Wait()
			must(t, s, get(2))
			synctest.Wait()
		}, want: "guesses wrong"},
		"too large": {cfg: config{Predictor: guesses(get("large")), MaxBytes: 64 << 10}, run: func(t *testing.T, _ *speccache.Cache[string], s *speccache.Session[string]) {
			must(t, s, get(1))
			synctest.Wait()
			must(t, s, get("large"))
			synctest.Wait()
		}, want: "larger than its window"},
		"guesses that may not": {cfg: config{Predictor: guesses(act("buy", 1))}, run: func(t *testing.T, _ *speccache.Cache[string], s *speccache.Session[string]) {
			must(t, s, get(1))
			synctest.Wait()
		}, want: `"buy"`},
		"failing runs": {cfg: config{Predictor: guesses(get("bad"))}, run: func(t *testing.T, _ *speccache.Cache[string], s *speccache.Session[string]) {
			must(t, s, get(1))
			synctest.Wait()
		}, want: "1 of 1 run ahead failed; the last: " + errTool.Error()},
		"no guesses": {cfg: config{Predictor: guesses()}, run: func(t *testing.T, _ *speccache.Cache[string], s *speccache.Session[string]) {
			must(t, s, get(1))
			synctest.Wait()
		}, want: "1 of 1 draft had no guess"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &tool{on: func(_ context.Context, a actions.Action) (string, error) {
					switch a {
					case get("bad"):
						return "", errTool
					case get("large"):
						return strings.Repeat("x", 32<<10), nil
					}
					return "ok", nil
				}}
				cache, s := open(t, gets(w), c.cfg)
				if c.run != nil {
					c.run(t, cache, s)
				}
				assert.Contains(t, s.Explain(), c.want)
			})
		})
	}
}

func TestOffIsAPassThroughAndOnFindsAgainWhatWasKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		c, s := open(t, mixed(w), config{Predictor: guesses(get(9))})
		must(t, s, get(1))
		synctest.Wait()
		c.SetMode(speccache.Off)
		synctest.Wait()
		assert.EqualValues(t, 1, c.Stats().FailedAhead, "what runs ahead is cancelled")
		r := must(t, s, get(1))
		assert.Equal(t, speccache.ReasonMode, r.Reason)
		assert.Equal(t, time.Second, r.Waited)
		c.SetMode(speccache.On)
		assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome)
		c.SetMode(speccache.Off)
		must(t, s, act("put", 1)) // writes count in any mode
		c.SetMode(speccache.On)
		assert.Equal(t, speccache.ReasonState, must(t, s, get(1)).Reason)
	})
}

func TestLookupCountsAsDoDoesAndRunsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		c, s := open(t, mixed(w), config{})
		_, reason := s.Lookup(get(1))
		assert.Equal(t, speccache.ReasonAbsent, reason)
		s.Speculate(t.Context(), get(1))
		after(2 * time.Second)
		e, reason := s.Lookup(get(1))
		assert.Empty(t, reason)
		assert.Equal(t, []any{"saw get 1", uint64(1), 2 * time.Second, true}, []any{e.Observation, e.Revision(), e.Age(), e.Ahead})
		_, reason = s.Lookup(act("none", 1))
		assert.Equal(t, speccache.ReasonUndeclared, reason)
		_, reason = s.Lookup(act("put", 1))
		assert.Equal(t, speccache.ReasonBypass, reason)
		st := c.Stats()
		assert.EqualValues(t, []int64{2, 1, 1, 1}, []int64{st.Lookups, st.Hits, st.Misses, st.Used})
		assert.Equal(t, time.Second, st.Hidden)
		assert.Len(t, w.ran(), 1)
	})
}
