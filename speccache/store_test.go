package speccache_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pages makes a tool whose observations have a size.
func pages(size int) *tool {
	body := strings.Repeat("x", size)
	return &tool{on: func(_ context.Context, a actions.Action) (string, error) { return body, nil }}
}

func TestNothingFinishedIsLostEveryResultIsThereForTheVeryNextLookup(t *testing.T) {
	_, s := open(t, gets(pages(1000)), config{})
	for i := range 20_000 {
		must(t, s, get(i))
		_, reason := s.Lookup(get(i))
		require.Empty(t, reason, "lookup %d", i)
	}
}

// A guess that finished must be there at the next step although the cache is
// full of entries that are read all the time.
func TestNothingFinishedIsLostInAFullWarmCache(t *testing.T) {
	const size, budget = 4 << 10, 8 << 20
	w := pages(size)
	c, s := open(t, gets(w), config{MaxScopeBytes: unshared, MaxBytes: budget, TopN: 5, MaxAhead: 1000})
	warm := c.Open(opening{Scope: "test"})
	defer warm.Close()
	residents := budget / size
	for i := range residents {
		must(t, warm, get(i))
	}
	lost := 0
	for step := range 600 {
		for i := range 50 {
			warm.Lookup(get((step*50 + i) % residents))
		}
		list := make([]actions.Action, 5)
		for i := range list {
			list[i] = get(fmt.Sprint("guess ", step, i))
		}
		s.Observe(t.Context(), "page")
		before := c.Stats().Used + c.Stats().Wasted
		s.Speculate(t.Context(), list...)
		require.Eventually(t, func() bool {
			st := c.Stats()
			return st.Used+st.Wasted >= before+5
		}, wait, tick)
		for range 20 { // others publish meanwhile
			must(t, warm, get(fmt.Sprint("flood ", step, w.next())))
		}
		for _, a := range list {
			if _, reason := s.Lookup(a); reason != "" {
				lost++
			}
		}
	}
	assert.Zero(t, lost, "of 3000")
	assert.Positive(t, c.Stats().Drops.Rejected+c.Stats().Drops.Evicted, "the cache was full")
}

func TestNothingFinishedIsLostUnreadGuessesLeaveTheWindowLast(t *testing.T) {
	const size = 10 << 10
	c, s := open(t, gets(pages(size)), config{MaxScopeBytes: unshared, MaxBytes: 40 * size})
	other := c.Open(opening{Scope: "test"})
	defer other.Close()
	s.Speculate(t.Context(), get("guess"))
	require.Eventually(t, func() bool { return c.Stats().Wasted == 1 }, wait, tick)
	for i := range 100 { // ten times what the window holds
		must(t, other, get(i))
	}
	r := must(t, s, get("guess"))
	assert.Equal(t, speccache.Hit, r.Outcome)
	assert.True(t, r.Ahead)
}

func TestGuessesWhoseTimeHasPassedLeaveTheWindowFirst(t *testing.T) {
	const size = 10 << 10
	c, s := open(t, gets(pages(size)), config{MaxScopeBytes: unshared, MaxBytes: 40 * size, MaxAheadSession: 100})
	for step := range 5 { // wrong guesses, all of the window
		s.Observe(t.Context(), "page")
		s.Speculate(t.Context(), get(fmt.Sprint("a", step)), get(fmt.Sprint("b", step)))
		require.Eventually(t, func() bool { return c.Stats().Wasted == int64(2*step+2) }, wait, tick)
	}
	s.Observe(t.Context(), "page")
	s.Observe(t.Context(), "page")
	must(t, s, get("fresh"))
	for i := range 5 {
		must(t, s, get(i))
		assert.Equal(t, speccache.Hit, must(t, s, get("fresh")).Outcome, "after %d more", i)
	}
}

func TestTheWindowIsBoundedWhileRistrettoIsBehind(t *testing.T) {
	const size, window = 1 << 10, 80 << 10
	c, s := open(t, gets(pages(size)), config{MaxScopeBytes: unshared, MaxBytes: 8 * window})
	catchUp := speccache.HoldRistrettoBack(c)
	var most int64
	for i := range 5000 {
		must(t, s, get(i))
		most = max(most, c.Stats().WindowBytes)
	}
	assert.LessOrEqual(t, most, int64(4<<20+8*window), "so many may wait")
	assert.Greater(t, most, int64(4<<20))
	assert.NotZero(t, c.Stats().Drops.Busy)
	assert.Equal(t, speccache.Hit, must(t, s, get(4999)).Outcome)
	catchUp()
	speccache.CheckStore(t, c)
	assert.LessOrEqual(t, c.Stats().WindowBytes, int64(window))
}

func TestAGuessThatWasReadIsNoLongerHeldBack(t *testing.T) {
	const size = 10 << 10
	c, s := open(t, gets(pages(size)), config{MaxScopeBytes: unshared, MaxBytes: 40 * size})
	other := c.Open(opening{Scope: "test"})
	defer other.Close()
	s.Speculate(t.Context(), get("read"), get("unread"))
	require.Eventually(t, func() bool { return c.Stats().Wasted == 2 }, wait, tick)
	s.Lookup(get("read"))
	for i := range 22 { // twice what the window holds, less than would fill ristretto
		must(t, other, get(i))
		speccache.Settle(c)
	}
	assert.False(t, speccache.InWindow(c, s, get("read")))
	assert.True(t, speccache.InWindow(c, s, get("unread")))
}

func TestAReplacedEntryLeavesTheWindow(t *testing.T) {
	c, s := open(t, gets(pages(1000)), config{})
	for range 10 {
		must(t, s, get(1))
		c.Advance("test")
	}
	assert.Equal(t, 1, c.Stats().Entries)
	assert.Less(t, c.Stats().WindowBytes, int64(2000))
	speccache.CheckStore(t, c)
}

func TestWhatAClosedPrivateScopeReadIsLetGo(t *testing.T) {
	const size = 10 << 10
	c, s := open(t, gets(pages(size)), config{MaxScopeBytes: unshared, MaxBytes: 80 * size})
	private := c.Open(opening{})
	for i := range 5 {
		must(t, private, get(i))
	}
	private.Close()
	for i := range 20 {
		must(t, s, get(i))
	}
	speccache.Settle(c)
	assert.EqualValues(t, 5, c.Stats().Drops.Other)
}

func TestBoundedAnObservationLargerThanTheWindowIsServedNotKeptAndCounted(t *testing.T) {
	c, s := open(t, gets(pages(1<<20)), config{MaxScopeBytes: unshared, MaxBytes: 1 << 20})
	assert.Len(t, must(t, s, get(1)).Observation, 1<<20)
	assert.Equal(t, speccache.Miss, must(t, s, get(1)).Outcome)
	st := c.Stats()
	assert.EqualValues(t, 2, st.Drops.TooLarge)
	assert.Zero(t, st.Entries)
}

func TestBoundedTheCacheStaysWithinItsBytes(t *testing.T) {
	const size, budget = 8 << 10, 1 << 20
	c, s := open(t, gets(pages(size)), config{MaxScopeBytes: unshared, MaxBytes: budget})
	for i := range 2000 {
		must(t, s, get(i))
	}
	speccache.Settle(c)
	st := c.Stats()
	assert.LessOrEqual(t, st.WindowBytes, int64(budget/4))
	assert.LessOrEqual(t, st.Entries*size, budget)
	assert.Positive(t, st.Entries)
	speccache.CheckStore(t, c)
}

func TestTheStoreIsConsistentAfterAFlood(t *testing.T) {
	w := pages(2 << 10)
	c, s := open(t, gets(w), config{MaxScopeBytes: unshared, MaxBytes: 1 << 20})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				must(t, s, get((i*7+g*131)%1500))
				if i%500 == 0 {
					c.Advance("test")
				}
			}
		})
	}
	wg.Wait()
	speccache.Settle(c)
	speccache.CheckStore(t, c)
}

func TestBoundedAnObservationWithoutSizeStillCounts(t *testing.T) {
	type page struct{}
	e := actions.Environment[*page]{
		Do:    func(context.Context, actions.Action) (*page, error) { return &page{}, nil },
		Rules: actions.Reads("get"),
	}
	c, err := speccache.New(e, speccache.Config[*page]{MaxScopeBytes: unshared, MaxBytes: 1 << 20})
	require.NoError(t, err)
	defer c.Close()
	s := c.Open(speccache.SessionConfig[*page]{})
	defer s.Close()
	for i := range 1000 {
		_, err := s.Do(t.Context(), get(i))
		require.NoError(t, err)
	}
	speccache.Settle(c)
	assert.LessOrEqual(t, c.Stats().Entries, 1<<20/(16<<10))
}

// next returns a number that the tool has not returned before.
func (w *tool) next() int64 { return w.numbers.Add(1) }
