package speccache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A refusal is an error that names its rule.
type refusal struct{ rule string }

func (r refusal) Error() string       { return "refused: " + r.rule }
func (r refusal) RefusalRule() string { return r.rule }

// mute is a refusal that can't say its rule.
type mute struct{}

func (mute) Error() string       { return "mute" }
func (mute) RefusalRule() string { panic("no rule") }

func TestRefusalsAreCountedByRule(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		e := gets(&tool{on: func(ctx context.Context, a actions.Action) (string, error) {
			if actions.CallFrom(ctx).Ahead && a == get("late") {
				return "", fmt.Errorf("while it ran: %w", refusal{"robots"})
			}
			return "ok", nil
		}})
		e.Policy = func(_ state, a actions.Action) error {
			switch a {
			case get("host"), get("host too"):
				return fmt.Errorf("wrapped: %w", refusal{"host"})
			case get("plain"):
				return errors.New("no")
			case get("mute"):
				return mute{}
			}
			return nil
		}
		c, s := open(t, e, config{OnEvent: func(ev speccache.Event) {
			mu.Lock()
			defer mu.Unlock()
			if ev.Rule != "" {
				told = append(told, string(ev.Kind)+" "+ev.Rule)
			}
		}})
		s.Speculate(t.Context(), get("host"), get("host too"), get("plain"), get("mute"), get("late"), get("fine"))
		synctest.Wait()
		want := map[string]int64{"host": 2, "robots": 1, "other": 2}
		assert.Equal(t, want, s.Stats().Refusals)
		assert.Equal(t, want, c.Stats().Refusals)
		assert.Contains(t, s.Explain(), "Refusals by rule: host 2, other 2, robots 1.")
		require.NoError(t, c.Close())
		assert.Equal(t, want, c.Stats().Refusals, "the cache goes on knowing")
		mu.Lock()
		defer mu.Unlock()
		assert.ElementsMatch(t, []string{"refused host", "refused host", "landed robots"}, told)
	})
}

func TestOnlySoManyRulesOfRefusalsAreToldApart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := gets(&tool{})
		e.Policy = func(_ state, a actions.Action) error {
			return refusal{strings.Repeat("x", 100) + a.Args()}
		}
		_, s := open(t, e, config{})
		s.Speculate(t.Context(), get(1), get(2))
		synctest.Wait()
		assert.Equal(t, map[string]int64{strings.Repeat("x", 64): 2}, s.Stats().Refusals)

		e.Policy = func(_ state, a actions.Action) error { return refusal{string(a.Args())} }
		_, s = open(t, e, config{})
		for i := range 100 {
			s.Speculate(t.Context(), get(i))
			synctest.Wait()
		}
		got := s.Stats().Refusals
		assert.Len(t, got, 65)
		assert.EqualValues(t, 36, got["other"])
	})
}

func TestARunAheadLearnsThatATargetWaitsForIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := gets(&tool{on: func(ctx context.Context, a actions.Action) (string, error) {
			asked := actions.Asked(ctx)
			if !actions.CallFrom(ctx).Ahead {
				assert.Nil(t, asked)
				return "own", nil
			}
			derived, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			<-actions.Asked(derived)
			return "ahead", nil
		}})
		_, s := open(t, e, config{})
		s.Speculate(t.Context(), get(1))
		synctest.Wait()
		r := must(t, s, get(1))
		assert.Equal(t, "ahead", r.Observation)
		assert.Equal(t, speccache.Join, r.Outcome)
		assert.Nil(t, actions.Asked(t.Context()))
	})
}
