package speccache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mixed has one action of each effect, all of the same tool.
func mixed(w *tool) env {
	rules := actions.Reads("get")
	rules["peek"] = actions.Rule{Effect: actions.ReadOnly} // remembered, never ahead
	rules["put"] = actions.Rule{Effect: actions.Write}
	rules["think"] = actions.Rule{Effect: actions.Local}
	return env{Do: w.do, Rules: rules}
}

func TestDefaultDenyOnlyWhatIsDeclaredReadOnlyAndAheadRunsAhead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		list := []actions.Action{act("put", 1), act("peek", 1), act("think", 1), act("buy", 1), get(1)}
		c, s := open(t, mixed(w), config{Predictor: guesses(list...), TopN: len(list)})
		s.Observe(t.Context(), "home")
		s.Speculate(t.Context(), list...)
		after(time.Minute)
		assert.Equal(t, []actions.Action{get(1)}, w.ran())
		assert.Equal(t, int64(8), c.Stats().Guesses.Undeclared)
	})
}

func TestDefaultDenyAZeroRuleOrNoRuleRunsExactlyAsOftenAsAsked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		e := mixed(w)
		e.Rules["zero"] = actions.Rule{}
		_, s := open(t, e, config{Predictor: guesses(act("zero", 1), act("none", 1), act("put", 1))})
		for range 3 {
			for _, name := range []string{"zero", "none", "put"} {
				must(t, s, act(name, 1))
			}
		}
		for _, name := range []string{"zero", "none", "put"} {
			runs, ahead := w.count(act(name, 1))
			assert.Equal(t, []int{3, 0}, []int{runs, ahead}, name)
		}
	})
}

func TestDefaultDenyUndeclaredActionsAreNeverJoinedOrRetried(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second, on: func(context.Context, actions.Action) (string, error) {
			return "", errTool
		}}
		_, s := open(t, mixed(w), config{})
		errs := make(chan error, 5)
		for range 5 {
			go func() {
				_, err := s.Do(t.Context(), act("buy", 1))
				errs <- err
			}()
		}
		for range 5 {
			assert.ErrorIs(t, <-errs, errTool)
		}
		runs, _ := w.count(act("buy", 1))
		assert.Equal(t, 5, runs)
	})
}

func TestDefaultDenyTheFirstUndeclaredActionOfANameIsAnEvent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{}
		var names []string
		c, s := open(t, mixed(w), config{OnEvent: func(e speccache.Event) {
			if e.Kind == speccache.EventUndeclared {
				names = append(names, e.Action)
			}
		}})
		for range 3 {
			must(t, s, act("buy", 1))
			must(t, s, act("sell", 1))
		}
		c.Close()
		assert.Equal(t, []string{"buy", "sell"}, names)
	})
}

func TestDefaultDenyThePolicyNarrowsTheRules(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{}
		e := gets(w)
		e.Policy = func(s state, a actions.Action) error {
			assert.Equal(t, "home", s.Steps[0].Observation)
			if a == get(1) {
				return errors.New("get 1 is dangerous")
			}
			return nil
		}
		_, s := open(t, e, config{Predictor: guesses(get(1), get(2))})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		assert.Equal(t, []actions.Action{get(2)}, w.ran())
		assert.Equal(t, int64(1), s.Stats().Guesses.Refused)
		assert.Contains(t, s.Explain(), "get 1 is dangerous")
		must(t, s, get(1)) // the target is not asked about its own
	})
}

func TestContradictoryRulesAndLimitsAreRefused(t *testing.T) {
	do := (&tool{}).do
	for name, rule := range map[string]actions.Rule{
		"unknown ahead":       {Ahead: true},
		"write ahead":         {Effect: actions.Write, Ahead: true},
		"local ahead":         {Effect: actions.Local, Ahead: true},
		"negative age":        {Effect: actions.ReadOnly, MaxAge: -1},
		"public without age":  {Effect: actions.ReadOnly, Public: true},
		"effect out of range": {Effect: 9},
	} {
		_, err := speccache.New(env{Do: do, Rules: actions.Rules{"get": rule}}, config{})
		assert.ErrorContains(t, err, `"get"`, name)
	}
	_, err := speccache.New(env{}, config{})
	assert.ErrorContains(t, err, "Environment.Do is nil")
	for field, cfg := range map[string]config{
		"TopN": {TopN: -1}, "MaxAhead": {MaxAhead: -1}, "MaxAheadSession": {MaxAheadSession: -1},
		"AheadTimeout": {AheadTimeout: -1}, "MaxBytes": {MaxBytes: -1}, "Mode": {Mode: 7},
	} {
		_, err := speccache.New(env{Do: do}, cfg)
		assert.ErrorContains(t, err, "Config."+field)
	}
}

func TestRulesCannotBeChangedBehindTheCachesBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{}
		e := mixed(w)
		_, s := open(t, e, config{Predictor: guesses(act("put", 1))})
		e.Rules["put"] = actions.Rule{Effect: actions.ReadOnly, Ahead: true}
		s.Observe(t.Context(), "home")
		synctest.Wait()
		assert.Empty(t, w.ran())
	})
}

func TestLocalActionsHideNothingAndInterruptNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		_, s := open(t, mixed(w), config{Predictor: guesses(get(1), get(2))})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		r := must(t, s, act("think", "hm"))
		assert.Equal(t, speccache.Miss, r.Outcome)
		after(1)
		require.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome)
		assert.Zero(t, s.Stats().Undeclared)
	})
}
