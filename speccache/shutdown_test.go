package speccache_test

import (
	"context"
	"fmt"
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

// dying are the ways in which a run may take its cancellation. None may bring
// anything later.
var dying = map[string]func(ctx context.Context) (string, error){
	"at once": func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() },
	"slowly": func(ctx context.Context) (string, error) {
		<-ctx.Done()
		after(900 * time.Millisecond)
		return "", ctx.Err()
	},
	"as if nothing were": func(ctx context.Context) (string, error) {
		<-ctx.Done()
		after(900 * time.Millisecond)
		return "late", nil
	},
	"by panic":  func(ctx context.Context) (string, error) { <-ctx.Done(); panic("cancelled") },
	"by Goexit": func(ctx context.Context) (string, error) { <-ctx.Done(); runtime.Goexit(); return "", nil },
}

const inFlight = 1000

// fill opens sessions that keep a thousand runs ahead in flight.
func fill(t *testing.T, e env) (*speccache.Cache[string], []*speccache.Session[string]) {
	c, err := speccache.New(e, config{MaxAhead: inFlight, MaxAheadSession: inFlight / 20, OnEvent: func(speccache.Event) {}})
	require.NoError(t, err)
	var sessions []*speccache.Session[string]
	for i := range 20 {
		s := c.Open(opening{Scope: fmt.Sprint("scope ", i%10)})
		var list []actions.Action
		for j := range inFlight / 20 {
			list = append(list, get(fmt.Sprint(i, " ", j)))
		}
		s.Speculate(t.Context(), list...)
		sessions = append(sessions, s)
	}
	synctest.Wait()
	require.EqualValues(t, inFlight, c.Stats().Speculated)
	return c, sessions
}

func TestNothingOutlivesCloseHoweverAThousandRunsTakeIt(t *testing.T) {
	for name, die := range dying {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &tool{on: func(ctx context.Context, _ actions.Action) (string, error) { return die(ctx) }}
				c, sessions := fill(t, gets(w))
				began := time.Now()
				assert.NoError(t, c.Close())
				assert.LessOrEqual(t, time.Since(began), time.Second)
				st := c.Stats()
				assert.EqualValues(t, inFlight, st.FailedAhead)
				assert.Zero(t, st.Entries)

				began = time.Now()
				assert.NoError(t, c.Close(), "a second Close is a no-op")
				for _, s := range sessions {
					s.Speculate(t.Context(), get("too late"))
					s.Close()
				}
				after(time.Minute)
				assert.Equal(t, time.Minute, time.Since(began))
				later := c.Stats()
				later.EventsDropped = st.EventsDropped
				assert.Equal(t, st, later, "and nothing happens after the first")
			})
		})
	}
}

func TestNothingOutlivesCloseAndWhoWaitsForARunAheadGetsItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{on: func(ctx context.Context, _ actions.Action) (string, error) {
			if actions.CallFrom(ctx).Ahead {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "mine", pause(ctx, time.Second)
		}}
		c, sessions := fill(t, gets(w))
		var all sync.WaitGroup
		for i, s := range sessions {
			for j := range inFlight / 20 {
				all.Go(func() {
					began := time.Now()
					r, err := s.Run(context.Background(), get(fmt.Sprint(i, " ", j)))
					assert.NoError(t, err)
					assert.Equal(t, "mine", r.Observation)
					assert.Equal(t, 1500*time.Millisecond, time.Since(began))
				})
			}
		}
		after(500 * time.Millisecond) // all have joined
		began := time.Now()
		assert.NoError(t, c.Close())
		assert.Zero(t, time.Since(began), "it does not wait for the targets")
		all.Wait()
		for _, s := range sessions {
			s.Close()
		}
	})
}

func TestTheTargetsOwnRunsGoOnOverClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		c, s := open(t, gets(w), config{})
		var all sync.WaitGroup
		for i := range inFlight {
			all.Go(func() {
				o, err := s.Do(context.Background(), get(i))
				assert.NoError(t, err)
				assert.Equal(t, "saw "+get(i).String(), o)
			})
		}
		synctest.Wait()
		began := time.Now()
		c.Close()
		assert.Zero(t, time.Since(began), "they are their callers' own")
		all.Wait()
		assert.Equal(t, speccache.ReasonMode, must(t, s, get(1)).Reason)
	})
}

// TestCloseMayComeAtAnyMomentOfARace has a joiner's own run go on beside a slow
// guess when the cache closes: Close waits for it, and the joiner has its page.
func TestCloseMayComeAtAnyMomentOfARace(t *testing.T) {
	for at := range 30 {
		bubble(t, func(t *testing.T) {
			w := &tool{on: func(ctx context.Context, _ actions.Action) (string, error) {
				if actions.CallFrom(ctx).Ahead {
					return "ahead", pause(ctx, 2*time.Second)
				}
				return "own", pause(ctx, 500*time.Millisecond)
			}}
			c, s := open(t, gets(w), config{Predictor: guesses(get(1))})
			s.Observe(t.Context(), "home")
			synctest.Wait()
			timer := time.AfterFunc(time.Duration(at)*100*time.Millisecond, func() { c.Close() })
			defer timer.Stop()
			began := time.Now()
			o, err := s.Do(t.Context(), get(1))
			assert.NoError(t, err)
			assert.Equal(t, "own", o, "closed after %d00 ms", at)
			assert.LessOrEqual(t, time.Since(began), 1500*time.Millisecond)
		})
	}
}
