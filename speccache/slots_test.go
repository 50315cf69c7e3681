package speccache_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slotsTaken are limits that a hundred hung guesses use up, each in its way.
var slotsTaken = map[string]struct {
	cfg  config
	hang int // how many get to run
}{
	"a hundred slots":              {config{MaxAhead: 100, MaxAheadSession: 100, MaxAheadHost: 100, MaxAheadRate: 1000}, 100},
	"one slot":                     {config{MaxAhead: 1}, 1},
	"one slot for a session":       {config{MaxAheadSession: 1}, 1},
	"one slot at the host":         {config{MaxAheadHost: 1, MaxAhead: 100, MaxAheadSession: 100}, 1},
	"the usual slots":              {config{MaxAhead: 100, MaxAheadSession: 100}, speccache.DefaultMaxAheadHost},
	"one slot, and one at a host":  {config{MaxAhead: 1, MaxAheadHost: 1}, 1},
	"more slots than the host has": {config{MaxAhead: 1000, MaxAheadSession: 1000, MaxAheadHost: 50, MaxAheadRate: 1000}, 50},
}

// TestNeverSlowerHungGuessesDelayNothingThatTheTargetAsksFor has guesses hang,
// deaf to cancellation, at the host that the target asks, too.
func TestNeverSlowerHungGuessesDelayNothingThatTheTargetAsksFor(t *testing.T) {
	for name, slots := range slotsTaken {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				release, hung := make(chan struct{}), 0
				w := &tool{on: deaf(release)}
				e := mixed(w)
				e.Host = func(actions.Action) string { return "the only one" }
				slots.cfg.TopN, slots.cfg.Predictor = 100, guesses(many(100)...)
				c, s := open(t, e, slots.cfg)
				defer close(release)
				s.Observe(t.Context(), "home")
				after(time.Minute) // runs ahead start a little apart
				hung = len(w.ran())
				require.Equal(t, slots.hang, hung)
				other := c.Open(opening{})
				defer other.Close()
				for i, a := range []actions.Action{get("mine"), act("put", 1), act("none", 1), act("think", 1), many(100)[99]} {
					for j, s := range []*speccache.Session[string]{s, other} {
						began := time.Now()
						r := must(t, s, a)
						assert.Equal(t, speccache.Miss, r.Outcome, "action %d, session %d", i, j)
						assert.Zero(t, time.Since(began), "action %d, session %d", i, j)
					}
				}
			})
		})
	}
}

func TestNeverSlowerTheTargetsOwnRunsTakeNoSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Hour}
		c, err := speccache.New(gets(w), config{MaxAhead: 1, MaxAheadHost: 1})
		require.NoError(t, err)
		defer c.Close()
		for i := range 100 { // they hang, all at once
			s := c.Open(opening{})
			defer s.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go s.Do(ctx, get(fmt.Sprint("own ", i)))
		}
		synctest.Wait()
		s := c.Open(opening{})
		defer s.Close()
		s.Speculate(t.Context(), get("guess"))
		synctest.Wait()
		assert.EqualValues(t, 1, c.Stats().Speculated, "the slot is free for a guess")
	})
}

func TestBoundedEverySlotComesBackHoweverARunEnds(t *testing.T) {
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &tool{on: func(ctx context.Context, _ actions.Action) (string, error) { return fail(ctx) }}
				c, err := speccache.New(gets(w), config{MaxAhead: 4, MaxAheadSession: 4, AheadTimeout: time.Second})
				require.NoError(t, err)
				defer c.Close()
				for range 100 { // with a slot that stays away in each round, four rounds
					s := c.Open(opening{})
					s.Speculate(t.Context(), many(4)...)
					after(2 * time.Second)
					s.Close()
				}
				assert.EqualValues(t, 400, c.Stats().Speculated)
			})
		})
	}
}
