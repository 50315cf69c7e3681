package speccache_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNothingOutlivesCloseWithAThousandRunsInFlight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Hour}
		c, s := open(t, gets(w), config{MaxAhead: 1000, MaxAheadSession: 64})
		var sessions []*speccache.Session[string]
		for range 16 {
			s := c.Open(opening{})
			s.Speculate(t.Context(), many(64)...)
			sessions = append(sessions, s)
		}
		synctest.Wait()
		require.Len(t, w.ran(), 1000)
		began := time.Now()
		assert.NoError(t, c.Close())
		assert.Zero(t, time.Since(began))
		st := c.Stats()
		assert.EqualValues(t, 1000, st.FailedAhead)
		assert.Zero(t, st.Entries)
		assert.NoError(t, c.Close(), "a second Close is a no-op")
		s.Speculate(t.Context(), get(1))
		synctest.Wait()
		assert.Len(t, w.ran(), 1000)
		for _, s := range sessions {
			assert.NoError(t, s.Close())
			assert.NoError(t, s.Close())
		}
	})
}

func TestCloseWaitsForExecutorsThatIgnoreCancellation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		w := &tool{on: deaf(release)}
		c, s := open(t, gets(w), config{Predictor: guesses(get(1))})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		time.AfterFunc(time.Minute, func() { close(release) })
		began := time.Now()
		c.Close()
		assert.Equal(t, time.Minute, time.Since(began))
		assert.Zero(t, c.Stats().Entries, "and publishes nothing of what they return")
	})
}

func TestAfterCloseDoPassesThrough(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{}
		c, s := open(t, mixed(w), config{Predictor: guesses(get(2))})
		must(t, s, get(1))
		c.Close()
		for _, a := range []actions.Action{get(1), get(1), act("put", 1), act("think", 1), act("none", 1)} {
			r := must(t, s, a)
			assert.Equal(t, speccache.Miss, r.Outcome)
		}
		_, reason := s.Lookup(get(1))
		assert.Equal(t, speccache.ReasonMode, reason)
		assert.Contains(t, s.Explain(), "closed")
		late := c.Open(opening{})
		must(t, late, get(1))
		late.Close()
	})
}

func TestAClosedSessionPassesThroughAndItsRunsAreCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Hour}
		c, s := open(t, gets(w), config{Predictor: guesses(get(1), get(2))})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		joiner := c.Open(opening{Scope: "test"})
		defer joiner.Close()
		go joiner.Do(t.Context(), get(1))
		synctest.Wait()
		s.Close()
		synctest.Wait()
		st := c.Stats()
		assert.EqualValues(t, 1, st.Wasted, "the run that a target waits for goes on")
		assert.EqualValues(t, 3, st.Speculated+1)
		w.takes = 0
		assert.Equal(t, speccache.ReasonMode, must(t, s, get(3)).Reason)
	})
}

func TestCloseAgainstEverythingNeverPanicsAndLeavesNothing(t *testing.T) {
	for range 300 {
		w := &tool{}
		e := mixed(w)
		c, err := speccache.New(e, config{Predictor: guesses(get(1), get(2), get(3)), OnEvent: func(speccache.Event) {}, MaxBytes: 64 << 10})
		require.NoError(t, err)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				s := c.Open(opening{Scope: "test"})
				defer s.Close()
				for i := range 20 {
					s.Do(context.Background(), get(g*i%7))
					s.Speculate(context.Background(), get(i))
					switch i % 5 {
					case 0:
						s.Do(context.Background(), act("put", 1))
					case 1:
						c.Advance("test")
					case 2:
						s.Lookup(get(1))
					case 3:
						s.SetModelVersion("m")
					}
				}
			})
		}
		for range 2 {
			wg.Go(func() { c.Close() })
		}
		wg.Wait()
	}
}

func TestCountsSurviveTheirSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		c, s := open(t, gets(w), config{Predictor: guesses(get(2))})
		must(t, s, get(1))
		synctest.Wait()
		s.Close()
		synctest.Wait()
		st := c.Stats()
		assert.EqualValues(t, []int64{1, 1, 1}, []int64{st.Lookups, st.Speculated, st.Wasted})
		assert.Zero(t, speccache.Counted(c), "and the session is gone")
	})
}
