package speccache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
)

func TestShadowRequestsNothingServesNothingAndCountsWhatWouldHaveHit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: 10 * time.Second}
		c, s := open(t, gets(w), config{Mode: speccache.Shadow, Predictor: guesses(get(1), get(2), get(3))})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		after(4 * time.Second)
		for _, a := range []actions.Action{get(1), get(9), get(2), get(1)} {
			r := must(t, s, a)
			assert.Equal(t, speccache.Miss, r.Outcome)
			assert.Equal(t, speccache.ReasonMode, r.Reason)
			assert.Equal(t, 10*time.Second, r.Waited)
			synctest.Wait()
		}
		runs, ahead := w.count(get(1))
		assert.Equal(t, []int{2, 0}, []int{runs, ahead})
		_, reason := s.Lookup(get(1))
		assert.Equal(t, speccache.ReasonMode, reason)
		st := c.Stats()
		assert.Equal(t, speccache.ShadowStats{
			Lookups:    4,
			Joins:      1, // get 1: four of its ten seconds
			Hits:       2, // get 2 was foreseen long before, get 1 is resident by then
			Ahead:      2,
			Speculated: 3,
			Hidden:     14 * time.Second,
		}, withoutRepeats(st.Shadow))
		assert.Zero(t, st.Speculated)
		assert.Contains(t, s.Explain(), "mode is shadow")
	})
}

// withoutRepeats leaves out that a guess which the target has not asked for is
// counted again at every step.
func withoutRepeats(s speccache.ShadowStats) speccache.ShadowStats {
	s.Speculated = min(s.Speculated, 3)
	return s
}

func TestShadowForgetsWhatAWriteWouldHaveHidden(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		_, s := open(t, mixed(w), config{Mode: speccache.Shadow})
		s.Speculate(t.Context(), get(1))
		synctest.Wait()
		must(t, s, act("put", 1))
		must(t, s, get(1))
		assert.Zero(t, s.Stats().Shadow.Hits+s.Stats().Shadow.Joins)
	})
}

func TestShadowCancelsWhatRunsAheadAndOnGoesOnFromWhatItRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Minute}
		c, s := open(t, gets(w), config{Predictor: guesses(get(1))})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		c.SetMode(speccache.Shadow)
		synctest.Wait()
		assert.EqualValues(t, 1, c.Stats().CancelledAhead)
		must(t, s, get(2))
		c.SetMode(speccache.On)
		assert.Equal(t, speccache.Hit, must(t, s, get(2)).Outcome)
		c.SetMode(77)
		assert.Equal(t, speccache.ReasonMode, must(t, s, get(2)).Reason, "what is no mode is Off")
	})
}

func TestShadowAGuessThatAWriteHidHasItsChanceAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := gets(&tool{})
		e.Rules["put"] = actions.Rule{Effect: actions.Write}
		c, s := open(t, e, config{Mode: speccache.Shadow, Predictor: guesses(get(1))})
		must(t, s, get(9))
		synctest.Wait()
		must(t, s, act("put", 1))
		synctest.Wait()
		must(t, s, get(1))
		assert.EqualValues(t, 1, c.Stats().Shadow.Hits+c.Stats().Shadow.Joins)
	})
}

func TestShadowWhatWouldHaveBeenTooOldIsNoHit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := gets(&tool{})
		e.Rules = actions.Rules{"get": {Effect: actions.ReadOnly, Ahead: true, MaxAge: time.Minute}}
		c, s := open(t, e, config{Mode: speccache.Shadow, Predictor: guesses(get(1))})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		after(5 * time.Minute)
		must(t, s, get(1))
		assert.Zero(t, c.Stats().Shadow.Hits)
	})
}

func TestShadowForeseesNoMoreThanTheLimitsLetRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := open(t, gets(&tool{}), config{
			Mode: speccache.Shadow, Predictor: guesses(get(1), get(2), get(3)),
			SessionLimits: speccache.Limits{RequestsAhead: 1},
		})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		for i := range 3 {
			must(t, s, get(i+1))
		}
		assert.EqualValues(t, 1, c.Stats().Shadow.Speculated)
		assert.EqualValues(t, 1, c.Stats().Shadow.Hits+c.Stats().Shadow.Joins)
	})
}
