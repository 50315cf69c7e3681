package speccache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sizes is a tool whose observations are as large as an action says.
func sizes(ctx context.Context, a actions.Action) (string, error) {
	var size int
	if err := a.Decode(&[]any{&size, nil}); err != nil {
		return "", err
	}
	return strings.Repeat("x", size), nil
}

func sized(size, id int) actions.Action { return get([]int{size, id}) }

// TestWhatOneScopeKeepsIsSafeFromAFlood has three scopes flood the cache, while
// the fourth share is nearly full.
func TestWhatOneScopeKeepsIsSafeFromAFlood(t *testing.T) {
	const share = 256 << 10
	c, err := speccache.New(env{Do: sizes, Rules: actions.Reads("get")}, config{MaxBytes: 4 * share, MaxScopeBytes: share})
	require.NoError(t, err)
	defer c.Close()
	s := c.Open(opening{Scope: "kept"})
	defer s.Close()
	var own []actions.Action
	for i := 0; i+3000 < share; i += 3000 {
		own = append(own, sized(3000-600, i))
		must(t, s, own[len(own)-1])
	}
	var wg sync.WaitGroup
	for scope := range 3 {
		for g := range 2 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(scope), uint64(g)))
				flood := c.Open(opening{Scope: fmt.Sprint("flood ", scope)})
				defer flood.Close()
				for range 5000 {
					must(t, flood, sized(r.IntN(9000), r.IntN(3000)))
					if r.IntN(500) == 0 {
						flood.Advance()
					}
				}
			})
		}
	}
	wg.Wait()
	speccache.CheckStore(t, c)
	lost := 0
	for _, a := range own {
		if _, reason := s.Lookup(a); reason != "" {
			lost++
		}
	}
	assert.Zero(t, lost, "of %d", len(own))
	drops := c.Stats().Drops
	assert.Zero(t, drops.Rejected+drops.Evicted+drops.Busy, "ristretto had a choice to make")
	assert.NotZero(t, drops.Share)
}

func TestBoundedAScopeKeepsNoMoreThanItsShare(t *testing.T) {
	const size, room = 4 << 10, 20
	for name, cfg := range map[string]config{
		"half":            {MaxBytes: 2 * room * size},
		"what is said":    {MaxScopeBytes: room * size},
		"within a window": {MaxBytes: 20 * room * size, MaxScopeBytes: room * size},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := open(t, gets(pages(size-600)), cfg)
			public := c.Open(opening{})
			defer public.Close()
			must(t, public, get("another scope's"))
			for i := range 10 * room {
				must(t, s, get(i))
			}
			kept := 0
			for i := range 10 * room {
				if _, reason := s.Lookup(get(i)); reason == "" {
					kept++
					assert.Greater(t, i, 10*room-room-5, "the oldest leave")
				}
			}
			assert.InDelta(t, room, kept, 2)
			assert.EqualValues(t, 10*room-kept, c.Stats().Drops.Share)
			_, reason := public.Lookup(get("another scope's"))
			assert.Empty(t, reason)
			speccache.CheckStore(t, c)
		})
	}
}

func TestNothingFinishedIsLostUnreadGuessesAreGivenUpLast(t *testing.T) {
	const size = 4 << 10
	bubble(t, func(t *testing.T) {
		c, s := open(t, gets(pages(size)), config{MaxScopeBytes: 10 * size})
		other := c.Open(opening{Scope: "test"})
		defer other.Close()
		third := c.Open(opening{Scope: "test"})
		defer third.Close()
		s.Speculate(t.Context(), get("read"))
		synctest.Wait()
		must(t, s, get("read"))
		other.Speculate(t.Context(), get("expected"))
		synctest.Wait()
		for i := range 50 {
			must(t, third, get(i))
		}
		assert.Equal(t, speccache.Hit, must(t, other, get("expected")).Outcome)
		_, reason := s.Lookup(get("read"))
		assert.Equal(t, speccache.ReasonAbsent, reason)
		speccache.CheckStore(t, c)
	})
}

func TestWhatAScopeReadsOftenItKeeps(t *testing.T) {
	const size = 4 << 10
	c, s := open(t, gets(pages(size)), config{MaxScopeBytes: 20 * size})
	must(t, s, get("often"))
	for i := range 200 {
		must(t, s, get(i))
		s.Lookup(get("often"))
		s.Lookup(get("often"))
	}
	assert.Equal(t, speccache.Hit, must(t, s, get("often")).Outcome)
	speccache.CheckStore(t, c)
}

func TestBoundedWhatIsLargerThanAShareIsServedNotKeptAndCounted(t *testing.T) {
	c, s := open(t, gets(pages(10<<10)), config{MaxScopeBytes: 8 << 10})
	assert.Len(t, must(t, s, get(1)).Observation, 10<<10)
	assert.Equal(t, speccache.Miss, must(t, s, get(1)).Outcome)
	assert.EqualValues(t, 2, c.Stats().Drops.TooLarge)
	assert.Zero(t, c.Stats().Entries)
}

func TestAReplacedEntryGivesItsShareBack(t *testing.T) {
	const size = 4 << 10
	c, s := open(t, gets(pages(size)), config{MaxBytes: 400 * size, MaxScopeBytes: 110 * size})
	for range 20 { // of all places where an entry can be
		for i := range 90 {
			must(t, s, get(i))
		}
		c.Advance("test")
	}
	assert.Zero(t, c.Stats().Drops.Share)
	assert.Equal(t, 90, c.Stats().Entries)
	speccache.CheckStore(t, c)
}

func TestAClosedPrivateScopeGivesItsShareBack(t *testing.T) {
	const size = 4 << 10
	bubble(t, func(t *testing.T) {
		c, s := open(t, gets(pages(size)), config{MaxBytes: 40 * size})
		must(t, s, get("kept"))
		for range 20 {
			private := c.Open(opening{})
			for i := range 8 {
				must(t, private, get(i))
			}
			private.Close()
			synctest.Wait()
		}
		assert.Equal(t, speccache.Hit, must(t, s, get("kept")).Outcome)
		assert.Equal(t, 1, c.Stats().Entries)
		assert.EqualValues(t, 160, c.Stats().Drops.Other)
		speccache.CheckStore(t, c)
	})
}
