package speccache_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
)

func TestVersionedEveryLookupComparesTheModelVersion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{}
		c, s := open(t, gets(w), config{ModelVersion: "gpt-5-mini"})
		must(t, s, get(1))
		assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome)
		s.SetModelVersion("gpt-5-mini (2026-11)")
		r := must(t, s, get(1))
		assert.Equal(t, speccache.Miss, r.Outcome)
		assert.Equal(t, speccache.ReasonModelVersion, r.Reason)
		assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome)
		assert.EqualValues(t, 1, c.Stats().ModelVersions)
		assert.Contains(t, s.Explain(), "model version")
	})
}

func TestVersionedSessionsOnDifferentModelsLoseNoHitToEachOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, a := open(t, gets(&tool{}), config{ModelVersion: "a"})
		b := c.Open(opening{Scope: "test", ModelVersion: "b"})
		defer b.Close()
		assert.Equal(t, speccache.ReasonAbsent, must(t, a, get(1)).Reason)
		assert.Equal(t, speccache.ReasonModelVersion, must(t, b, get(1)).Reason)
		for range 3 {
			assert.Equal(t, speccache.Hit, must(t, a, get(1)).Outcome)
			assert.Equal(t, speccache.Hit, must(t, b, get(1)).Outcome)
		}
		a.SetModelVersion("b")
		assert.Equal(t, speccache.Hit, must(t, a, get(1)).Outcome, "what was read for b is for a now, too")
		a.SetModelVersion("a")
		assert.Equal(t, speccache.Hit, must(t, a, get(1)).Outcome, "and back")
	})
}

func TestVersionedAnUpgradeHidesEveryOlderEntryAlsoFromNewSessions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := open(t, gets(&tool{}), config{})
		s.SetModelVersion("model (served: 1)")
		for i := range 20 {
			must(t, s, get(i))
		}
		next := c.Open(opening{Scope: "test", ModelVersion: "model (served: 2)"})
		defer next.Close()
		for i := range 20 {
			assert.Equal(t, speccache.ReasonModelVersion, must(t, next, get(i)).Reason)
			assert.Equal(t, speccache.Hit, must(t, next, get(i)).Outcome)
		}
	})
}

func TestVersionedTheFirstStatementInvalidatesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		_, s := open(t, gets(w), config{Predictor: guesses(get(2))})
		must(t, s, get(1))
		synctest.Wait()
		s.SetModelVersion("served-model-1") // the target's first reply names it
		assert.Equal(t, speccache.Join, must(t, s, get(2)).Outcome)
		assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome)
		assert.Zero(t, s.Stats().ModelVersions)
		s.SetModelVersion("served-model-2")
		assert.Equal(t, speccache.ReasonModelVersion, must(t, s, get(1)).Reason)
	})
}

func TestVersionedAFlightForAnotherModelVersionIsNotJoined(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: 900 * time.Millisecond}
		c, s := open(t, gets(w), config{ModelVersion: "a"})
		other := c.Open(opening{Scope: "test", ModelVersion: "b"})
		defer other.Close()
		go other.Do(t.Context(), get(1))
		synctest.Wait()
		after(100 * time.Millisecond)
		r := must(t, s, get(1))
		assert.Equal(t, speccache.Miss, r.Outcome)
		assert.Equal(t, w.takes, r.Waited)
		runs, _ := w.count(get(1))
		assert.Equal(t, 2, runs)
	})
}

func TestVersionedAgeCountsFromTheStartOfTheRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: 10 * time.Second}
		e := gets(w)
		e.Rules["get"] = actions.Rule{Effect: actions.ReadOnly, Ahead: true, MaxAge: time.Minute}
		_, s := open(t, e, config{})
		must(t, s, get(1))
		after(49 * time.Second)
		r := must(t, s, get(1))
		assert.Equal(t, speccache.Hit, r.Outcome)
		assert.Equal(t, 59*time.Second, r.Age)
		after(2 * time.Second)
		assert.Equal(t, speccache.ReasonAge, must(t, s, get(1)).Reason)
	})
}

func TestVersionedWithoutMaxAgeEntriesLiveFiveMinutes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, s := open(t, gets(&tool{}), config{})
		must(t, s, get(1))
		after(actions.DefaultMaxAge)
		assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome)
		after(1)
		assert.Equal(t, speccache.ReasonAge, must(t, s, get(1)).Reason)
	})
}

func TestVersionedTheEnvironmentMayShortenALifeOrForbidIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		e := gets(w)
		e.Fresh = func(a actions.Action, o string) (time.Duration, bool) {
			switch a {
			case get("short"):
				return 10 * time.Second, true
			case get("long"):
				return time.Hour, true // the rule's bound holds
			case get("never"):
				return 0, false
			}
			panic("Fresh panics")
		}
		_, s := open(t, e, config{})
		for _, id := range []string{"short", "long", "never", "panic"} {
			must(t, s, get(id))
		}
		assert.Equal(t, speccache.Hit, must(t, s, get("short")).Outcome)
		assert.Equal(t, speccache.Hit, must(t, s, get("long")).Outcome)
		assert.Equal(t, speccache.ReasonAbsent, must(t, s, get("never")).Reason)
		assert.Equal(t, speccache.ReasonAbsent, must(t, s, get("panic")).Reason)
		after(15 * time.Second)
		assert.Equal(t, speccache.ReasonAge, must(t, s, get("short")).Reason)
		after(actions.DefaultMaxAge)
		assert.Equal(t, speccache.ReasonAge, must(t, s, get("long")).Reason)
	})
}

func TestImmutableANewerObservationIsANewEntryWithTheNextRevision(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := 0
		w := &tool{on: func(context.Context, actions.Action) (string, error) {
			n++
			return string(rune('a' + n - 1)), nil
		}}
		c, s := open(t, gets(w), config{})
		must(t, s, get(1))
		old, reason := s.Lookup(get(1))
		assert.Empty(t, reason)
		c.Advance("test")
		must(t, s, get(1))
		next, _ := s.Lookup(get(1))
		assert.Equal(t, []any{"a", uint64(1)}, []any{old.Observation, old.Revision()})
		assert.Equal(t, []any{"b", uint64(2)}, []any{next.Observation, next.Revision()})
	})
}

func TestImmutableNoCallerCanChangeWhatAnotherOneGets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := actions.Environment[[]byte]{
			Do:    func(context.Context, actions.Action) ([]byte, error) { return []byte("abc"), nil },
			Rules: actions.Reads("get"),
			Clone: func(b []byte) []byte { return append([]byte(nil), b...) },
		}
		c, err := speccache.New(e, speccache.Config[[]byte]{})
		assert.NoError(t, err)
		defer c.Close()
		s := c.Open(speccache.SessionConfig[[]byte]{})
		defer s.Close()
		for range 3 {
			b, err := s.Do(t.Context(), get(1))
			assert.NoError(t, err)
			assert.Equal(t, "abc", string(b))
			b[0] = 'X'
		}
		assert.EqualValues(t, 2, s.Stats().Hits)
	})
}

func TestImmutableARunThatStartedEarlierDoesNotReplaceANewerOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
			if actions.CallFrom(ctx).Ahead {
				return "older", pause(ctx, 10*time.Second)
			}
			return "newer", pause(ctx, 2*time.Second)
		}}
		_, s := open(t, gets(w), config{Predictor: guesses(get(1))})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		assert.Equal(t, "newer", must(t, s, get(1)).Observation, "the wait is bounded")
		after(time.Minute)
		assert.Equal(t, "newer", must(t, s, get(1)).Observation)
	})
}
