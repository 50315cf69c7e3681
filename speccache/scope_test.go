package speccache_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"

	"context"
)

func TestScopesDoNotSeeEachOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second, on: func(ctx context.Context, a actions.Action) (string, error) {
			return "for " + actions.CallFrom(ctx).Scope, nil
		}}
		c, _ := open(t, gets(w), config{})
		for _, scope := range []string{"a", "b", "a", "b"} {
			s := c.Open(opening{Scope: scope})
			assert.Equal(t, "for "+scope, must(t, s, get(1)).Observation)
			s.Close()
		}
		runs, _ := w.count(get(1))
		assert.Equal(t, 2, runs, "once for each scope, shared by its sessions")
	})
}

func TestScopesDoNotJoinEachOthersRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		c, s := open(t, gets(w), config{})
		other := c.Open(opening{Scope: "other"})
		defer other.Close()
		go other.Do(t.Context(), get(1))
		synctest.Wait()
		assert.Equal(t, speccache.Miss, must(t, s, get(1)).Outcome)
	})
}

func TestAnEmptyScopeIsPrivateToItsSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{}
		c, _ := open(t, gets(w), config{})
		for range 3 {
			s := c.Open(opening{})
			assert.Equal(t, speccache.Miss, must(t, s, get(1)).Outcome)
			assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome)
			s.Close()
		}
	})
}

func TestAForgottenScopeThatComesBackFindsNothingOld(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := open(t, gets(&tool{}), config{})
		must(t, s, get(1))
		s.Close()
		for i := range 1100 { // more than are remembered while idle
			c.Open(opening{Scope: fmt.Sprint("scope ", i)}).Close()
		}
		again := c.Open(opening{Scope: "test"})
		defer again.Close()
		assert.Equal(t, speccache.Miss, must(t, again, get(1)).Outcome)
		kept := c.Open(opening{Scope: "scope 1099"})
		defer kept.Close()
	})
}

func TestASessionMayHaveAnExecutorOfItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, own := &tool{}, &tool{}
		c, _ := open(t, gets(w), config{Predictor: guesses(get(2))})
		s := c.Open(opening{Scope: "own", Do: own.do})
		defer s.Close()
		must(t, s, get(1))
		synctest.Wait()
		assert.Empty(t, w.ran())
		assert.Equal(t, []actions.Action{get(1), get(2)}, own.ran())
	})
}
