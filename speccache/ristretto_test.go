package speccache_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/dgraph-io/ristretto/v2"
	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What ristretto does to a cache whose keys are new, large and read once, none
// of it may reach a session. The arm that uses ristretto as it comes shows that
// the test has teeth.
func TestNothingFinishedIsLostWherePlainRistrettoLosesMost(t *testing.T) {
	const size, budget, steps, each = 4 << 10, 8 << 20, 600, 5
	w := pages(size)
	c, s := open(t, gets(w), config{MaxScopeBytes: unshared, MaxBytes: budget, TopN: each, MaxAhead: 1000})
	plain, err := ristretto.NewCache(&ristretto.Config[string, string]{
		NumCounters: 10 * budget / size, MaxCost: budget, BufferItems: 64, IgnoreInternalCost: true,
	})
	require.NoError(t, err)
	defer plain.Close()
	set := func(a actions.Action) {
		plain.Set(a.String(), strings.Repeat("x", size), size)
		plain.Wait()
	}
	for i := range budget / size {
		must(t, s, get(i))
		set(get(i))
	}
	lost, plainLost := 0, 0
	for step := range steps {
		for i := range 200 { // residents are read all the time
			a := get((step*200 + i) % (budget / size))
			s.Lookup(a)
			plain.Get(a.String())
		}
		list := make([]actions.Action, each)
		for i := range list {
			list[i] = get(fmt.Sprint("guess ", step, " ", i))
			set(list[i])
		}
		s.Observe(t.Context(), "page")
		before := c.Stats().Used + c.Stats().Wasted
		s.Speculate(t.Context(), list...)
		require.Eventually(t, func() bool { st := c.Stats(); return st.Used+st.Wasted >= before+each }, wait, tick)
		for _, a := range list {
			if _, reason := s.Lookup(a); reason != "" {
				lost++
			}
			if _, ok := plain.Get(a.String()); !ok {
				plainLost++
			}
		}
	}
	assert.Zero(t, lost, "of %d", steps*each)
	if !raced { // then ristretto forgets what was read: it keeps that in a sync.Pool
		assert.Greater(t, plainLost, steps*each/2, "by Set and Wait")
	}
	t.Logf("of %d guesses %d were lost, and %d by Set and Wait", steps*each, lost, plainLost)
	speccache.CheckStore(t, c)
}

func TestLookupsGoOnWhileOthersFlood(t *testing.T) {
	c, s := open(t, gets(pages(1<<10)), config{MaxScopeBytes: unshared, MaxBytes: 1 << 20})
	must(t, s, get("resident"))
	var stop atomic.Bool
	var flood sync.WaitGroup
	for g := range 4 {
		flood.Go(func() {
			other := c.Open(opening{Scope: "test"})
			defer other.Close()
			for i := 0; !stop.Load(); i++ {
				must(t, other, get([]int{g, i}))
			}
		})
	}
	slowest := time.Duration(0)
	for range 20_000 {
		began := time.Now()
		_, reason := s.Lookup(get("resident"))
		slowest = max(slowest, time.Since(began))
		if reason != "" { // all of the window was replaced since
			must(t, s, get("resident"))
		}
	}
	stop.Store(true)
	flood.Wait()
	assert.Less(t, slowest, wait/2)
	speccache.CheckStore(t, c)
}

func TestEveryObservationThatIsNotKeptIsCounted(t *testing.T) {
	const runs = 40_000 // more than ristretto's buffer takes
	c, s := open(t, gets(pages(100)), config{MaxScopeBytes: unshared, MaxBytes: 1 << 20})
	s.Speculate(t.Context(), get("guess"))
	require.Eventually(t, func() bool { return c.Stats().Wasted == 1 }, wait, tick)
	var flood sync.WaitGroup
	for g := range 8 {
		flood.Go(func() {
			other := c.Open(opening{Scope: "test"})
			defer other.Close()
			for i := range runs / 8 {
				must(t, other, get([]int{g, i}))
			}
		})
	}
	flood.Wait()
	assert.Equal(t, speccache.Hit, must(t, s, get("guess")).Outcome, "an unread guess outlives all of them")
	speccache.CheckStore(t, c)
	st := c.Stats()
	assert.EqualValues(t, runs+1, int64(st.Entries)+st.Drops.Rejected+st.Drops.Evicted+st.Drops.Busy)
	assert.Zero(t, st.Drops.Other+st.Drops.TooLarge)
}

func TestASlowSizeFunctionDelaysNobodyElse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := gets(&tool{})
		e.Size = func(o string) int {
			if strings.Contains(o, "slow") {
				after(time.Hour)
			}
			return len(o)
		}
		c, s := open(t, e, config{})
		other := c.Open(opening{Scope: "test"})
		defer other.Close()
		go other.Do(t.Context(), get("slow"))
		synctest.Wait()
		for i := range 100 {
			assert.Zero(t, must(t, s, get(i)).Waited)
			assert.Equal(t, speccache.Hit, must(t, s, get(i)).Outcome)
		}
		after(2 * time.Hour)
	})
}

func TestAnOversizeResultPushesNothingOut(t *testing.T) {
	const size, budget = 4 << 10, 1 << 20
	w := &tool{on: func(_ context.Context, a actions.Action) (string, error) {
		if a == get("big") {
			return strings.Repeat("x", budget/2), nil
		}
		return strings.Repeat("x", size), nil
	}}
	c, s := open(t, gets(w), config{MaxScopeBytes: unshared, MaxBytes: budget})
	for i := range 100 {
		must(t, s, get(i))
	}
	for range 50 {
		must(t, s, get("big"))
	}
	speccache.Settle(c)
	for i := range 100 {
		assert.Equal(t, speccache.Hit, must(t, s, get(i)).Outcome, "%d", i)
	}
	assert.EqualValues(t, 50, c.Stats().Drops.TooLarge)
}

func TestBigObservationsIntoACacheOfSmallOnesHarmNothing(t *testing.T) {
	const budget = 4 << 20
	w := &tool{on: func(_ context.Context, a actions.Action) (string, error) {
		if strings.Contains(a.Args(), "big") {
			return strings.Repeat("x", budget/8), nil
		}
		return "small", nil
	}}
	c, s := open(t, gets(w), config{MaxScopeBytes: unshared, MaxBytes: budget})
	for round := range 3 {
		for i := range budget / 520 {
			must(t, s, get([]int{round, i}))
		}
		for i := range 6 {
			must(t, s, get(fmt.Sprint("big ", round, " ", i)))
		}
	}
	speccache.CheckStore(t, c)
	assert.Positive(t, c.Stats().Drops.Evicted)
}

func TestBoundedAnEmptyObservationHasACost(t *testing.T) {
	const budget = 256 << 10
	w := &tool{on: func(context.Context, actions.Action) (string, error) { return "", nil }}
	c, s := open(t, gets(w), config{MaxScopeBytes: unshared, MaxBytes: budget})
	for i := range 4000 {
		must(t, s, get(i))
		if i%50 == 0 {
			speccache.Settle(c)
			require.LessOrEqual(t, c.Stats().Entries, budget/512, "after %d", i)
		}
	}
	// Only what an entry costs counts, and nothing of ristretto's own.
	speccache.Settle(c)
	assert.GreaterOrEqual(t, c.Stats().Entries, budget/516*63/64-4, "but for a batch on its way")
}

func TestWhatIsReadStaysInTheWindow(t *testing.T) {
	const size = 10 << 10
	c, s := open(t, gets(pages(size)), config{MaxScopeBytes: unshared, MaxBytes: 40 * size})
	must(t, s, get("read"))
	for i := range 50 { // five times what the window holds
		for range 64 { // one reading in 32 leaves a mark
			s.Lookup(get("read"))
		}
		must(t, s, get(i))
		speccache.Settle(c)
	}
	assert.True(t, speccache.InWindow(c, s, get("read")))
	assert.False(t, speccache.InWindow(c, s, get(0)))
}

// Ages are the entries' own: what has expired is not served, and does not keep
// what is new out.
func TestVersionedWhatHasExpiredIsNeitherServedNorInTheWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const size, budget = 4 << 10, 1 << 20
		c, s := open(t, gets(pages(size)), config{MaxScopeBytes: unshared, MaxBytes: budget, MaxAheadSession: 100, MaxAhead: 100})
		for i := range budget / size {
			must(t, s, get(i))
		}
		for range 64 {
			for i := range budget / size {
				s.Lookup(get(i))
			}
		}
		speccache.Settle(c)
		after(actions.DefaultMaxAge + time.Second)
		for i := range budget / size {
			_, reason := s.Lookup(get(i))
			require.NotEmpty(t, reason)
		}
		for step := range 10 {
			list := many(5)
			for i := range list {
				list[i] = get(fmt.Sprint(step, " ", i))
			}
			s.Observe(t.Context(), "page")
			s.Speculate(t.Context(), list...)
			synctest.Wait()
			for _, a := range list {
				assert.Equal(t, speccache.Hit, must(t, s, a).Outcome)
			}
		}
		must(t, s, get(0))
		assert.Equal(t, speccache.Hit, must(t, s, get(0)).Outcome, "and it may come again")
	})
}

// Each goroutine has a scope of its own, so that it knows what every lookup
// must find: the newest, whatever ristretto does with a set, a replaced and a
// deleted value.
func TestNothingOldIsServedAndNothingNewIsLostWhateverTheOrder(t *testing.T) {
	const rounds, keys = 20_000, 2000
	var versions [8]atomic.Int64
	w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
		var id [2]int
		err := a.Decode(&id)
		return fmt.Sprint(id, " at ", versions[id[0]].Load()), err
	}}
	e := gets(w)
	e.Size = func(string) int { return 100 }
	c, _ := open(t, e, config{MaxScopeBytes: unshared, MaxBytes: 600 << 10})
	var hits, lookups atomic.Int64
	var all sync.WaitGroup
	for g := range versions {
		all.Go(func() {
			s := c.Open(opening{Scope: fmt.Sprint(g)})
			defer s.Close()
			for i := range rounds / len(versions) {
				id := [2]int{g, i * 7 % (keys / len(versions))}
				want := fmt.Sprint(id, " at ", versions[g].Load())
				lookups.Add(2)
				if r, err := s.Run(context.Background(), get(id)); assert.NoError(t, err) && r.Outcome == speccache.Hit {
					hits.Add(1)
					assert.Equal(t, want, r.Observation)
				}
				if now, reason := s.Lookup(get(id)); reason == "" {
					hits.Add(1)
					assert.Equal(t, want, now.Observation)
				}
				if i%300 == 299 {
					versions[g].Add(1)
					s.Advance()
				}
			}
		})
	}
	all.Wait()
	speccache.CheckStore(t, c)
	st := c.Stats()
	assert.Equal(t, []int64{lookups.Load(), hits.Load()}, []int64{st.Lookups, st.Hits}, "the cache's own count is right")
	assert.Greater(t, hits.Load(), int64(rounds)*9/10, "else it means nothing")
	assert.Positive(t, st.Drops.Evicted+st.Drops.Rejected)
}

func TestWhatLeavesTakesNothingElseWithIt(t *testing.T) {
	const size = 10 << 10
	c, s := open(t, gets(pages(size)), config{MaxScopeBytes: unshared, MaxBytes: 80 * size})
	for round := range 10 {
		must(t, s, get("again"))
		for i := range 40 { // twice what the window holds
			must(t, s, get([]int{round, i}))
		}
		speccache.Settle(c)
		c.Advance("test")
		must(t, s, get("again"))
		speccache.Settle(c)
		assert.Equal(t, speccache.Hit, must(t, s, get("again")).Outcome)
		c.Advance("test")
	}
	speccache.CheckStore(t, c)
}

func TestUserCodeMayCallTheCacheWhileItIsCalledByIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var s *speccache.Session[string]
		var c *speccache.Cache[string]
		call := func() {
			s.Lookup(get(1)) // which is never there
			s.Stats()
			c.Stats()
			c.Advance("another")
		}
		e := gets(&tool{on: func(context.Context, actions.Action) (string, error) {
			call()
			return "page", nil
		}})
		e.Size = func(string) int { call(); return 4 << 10 }
		e.Clone = func(o string) string { call(); return o }
		e.Fresh = func(actions.Action, string) (time.Duration, bool) { call(); return 0, true }
		e.Policy = func(state, actions.Action) error { call(); return nil }
		e.Host = func(actions.Action) string { call(); return "host" }
		var err error
		c, err = speccache.New(e, config{MaxScopeBytes: unshared, MaxBytes: 256 << 10, OnEvent: func(speccache.Event) { c.Stats() }})
		require.NoError(t, err)
		defer c.Close()
		s = c.Open(opening{Scope: "test"})
		defer s.Close()
		for i := range 300 {
			s.Speculate(t.Context(), get(fmt.Sprint("guess ", i)))
			must(t, s, get(i+2))
			synctest.Wait()
		}
		assert.Positive(t, c.Stats().Drops.Evicted+c.Stats().Drops.Rejected)
	})
}

// twin returns an action with another one's hash.
func twin(a, of actions.Action) actions.Action {
	hash := reflect.ValueOf(&a).Elem().FieldByName("hash")
	*(*uint64)(unsafe.Pointer(hash.UnsafeAddr())) = of.Hash()
	return a
}

func TestAForcedCollisionReturnsNoForeignValue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: 900 * time.Millisecond}
		c, s := open(t, gets(w), config{})
		other := c.Open(opening{Scope: "test"})
		defer other.Close()
		for _, list := range [][2]actions.Action{{get(1), twin(get(2), get(1))}, {get(3), twin(get(4), get(3))}} {
			a, b := list[0], list[1]
			require.Equal(t, a.Hash(), b.Hash())
			go other.Do(t.Context(), a)
			after(100 * time.Millisecond)
			r := must(t, s, b)
			assert.Equal(t, []any{speccache.Miss, "saw " + b.String()}, []any{r.Outcome, r.Observation}, "a run in the air")
			r = must(t, s, b)
			assert.Equal(t, []any{speccache.Miss, "saw " + b.String()}, []any{r.Outcome, r.Observation}, "an entry")
			_, reason := s.Lookup(b)
			assert.Equal(t, speccache.ReasonAbsent, reason)
			s.Speculate(t.Context(), b)
			after(2 * time.Second)
			r = must(t, s, a)
			assert.Equal(t, []any{speccache.Hit, "saw " + a.String()}, []any{r.Outcome, r.Observation}, "who came first keeps its place")
		}
		assert.Positive(t, c.Stats().Drops.Other)
		speccache.CheckStore(t, c)
	})
}

// Runs of targets may end after Close. What they bring must not pile up.
func TestAfterCloseNothingPilesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const size = 10 << 10
		w := pages(size)
		w.takes = time.Minute
		c, s := open(t, gets(w), config{MaxScopeBytes: unshared, MaxBytes: 40 * size})
		for i := range 100 {
			go s.Do(t.Context(), get(i))
		}
		synctest.Wait()
		c.Close()
		after(2 * time.Minute)
		assert.LessOrEqual(t, c.Stats().Entries, 10, "what the window holds")
	})
}

func TestCloseAgainstEverythingTwoThousandTimes(t *testing.T) {
	for round := range 2000 {
		c, err := speccache.New(gets(&tool{}), config{MaxScopeBytes: unshared, MaxBytes: 16 << 10})
		require.NoError(t, err)
		s := c.Open(opening{Scope: "test"})
		var all sync.WaitGroup
		for g := range 3 {
			all.Go(func() {
				for i := range 12 {
					s.Do(context.Background(), get([]int{g, i}))
					s.Lookup(get([]int{g, i / 2}))
					switch (i + round) % 4 {
					case 0:
						s.Speculate(context.Background(), get(i))
					case 1:
						s.Advance()
					case 2:
						c.Stats()
					}
				}
			})
		}
		for range 2 {
			all.Go(func() { c.Close() })
		}
		all.Wait()
		s.Close()
	}
}

func TestBoundedAnEntryCostsNoMoreThanItIsSaidTo(t *testing.T) {
	const entries = 20_000
	w := &tool{on: func(context.Context, actions.Action) (string, error) { return "", nil }}
	c, s := open(t, env{Do: func(context.Context, actions.Action) (string, error) { return "", nil }, Rules: gets(w).Rules},
		config{MaxScopeBytes: unshared, MaxBytes: 4 * entries * 600})
	before := heap()
	for i := range entries {
		must(t, s, get(i))
	}
	speccache.Settle(c)
	require.Equal(t, entries, c.Stats().Entries)
	assert.Less(t, (heap()-before)/entries, int64(512))
	runtime.KeepAlive(c)
}

func TestLookupsAllocateNothingAlsoWhereNobodyLooks(t *testing.T) {
	const lookups = 1_000_000
	c, s := open(t, gets(&tool{}), config{})
	for i := range 100 {
		must(t, s, get(i))
	}
	list := make([]actions.Action, 100)
	for i := range list {
		list[i] = get(i)
	}
	var before, then runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range lookups {
		s.Lookup(list[i%len(list)])
	}
	runtime.ReadMemStats(&then)
	assert.Less(t, float64(then.TotalAlloc-before.TotalAlloc)/lookups, 0.1, "bytes for each")
	assert.EqualValues(t, lookups, c.Stats().Hits)
}

func TestAdvanceCostsTheSameHoweverMuchIsKept(t *testing.T) {
	cost := func(entries int) time.Duration {
		c, s := open(t, gets(&tool{}), config{MaxScopeBytes: unshared, MaxBytes: 4 * int64(entries) * 600})
		for i := range entries {
			must(t, s, get(i))
		}
		require.Equal(t, entries, c.Stats().Entries)
		least := wait
		for range 20 {
			began := time.Now()
			for range 100 {
				s.Advance()
			}
			least = min(least, time.Since(began))
		}
		return least
	}
	few, much := cost(1000), cost(50_000)
	assert.Less(t, much, 20*few+time.Millisecond, "a sweep would take a hundred times as long: %v, %v", few, much)
}

func TestGuessesWhoseTimeHasPassedMakeRoomInTheWindow(t *testing.T) {
	const size = 10 << 10
	c, s := open(t, gets(pages(size)), config{MaxScopeBytes: unshared, MaxBytes: 80 * size, MaxAheadSession: 100})
	s.Observe(t.Context(), "page")
	s.Speculate(t.Context(), many(6)...) // most of the window, and wrong
	require.Eventually(t, func() bool { return c.Stats().Wasted == 6 }, wait, tick)
	s.Observe(t.Context(), "page")
	s.Observe(t.Context(), "page")
	for i := range 6 {
		must(t, s, get(i))
	}
	speccache.Settle(c)
	for i := range 6 {
		assert.True(t, speccache.InWindow(c, s, get(i)), "%d", i)
	}
	gone := 0
	for _, a := range many(6) {
		if !speccache.InWindow(c, s, a) {
			gone++
		}
	}
	assert.GreaterOrEqual(t, gone, 3, "there is room for eight")
}

// What was replaced must not take up ristretto's bytes until its successor
// comes there.
func TestWhatWasReplacedLeavesRistretto(t *testing.T) {
	const budget, residents, again = 256 << 10, 470, 100 // of about 500 that it holds
	w := &tool{on: func(context.Context, actions.Action) (string, error) { return "", nil }}
	c, s := open(t, gets(w), config{MaxScopeBytes: unshared, MaxBytes: budget})
	for i := range residents {
		must(t, s, get(i))
	}
	speccache.Settle(c)
	require.Zero(t, c.Stats().Drops)
	s.Advance()
	for i := range again { // these go to the window, and what was there to ristretto
		must(t, s, get(i))
	}
	speccache.CheckStore(t, c)
	assert.Zero(t, c.Stats().Drops, "there was room")
	assert.Equal(t, residents, c.Stats().Entries)
}

func TestLookupsCostTheSameHoweverMuchIsKept(t *testing.T) {
	cost := func(entries int) time.Duration {
		_, s := open(t, gets(&tool{}), config{MaxScopeBytes: unshared, MaxBytes: 4 * int64(entries) * 600})
		list := make([]actions.Action, 100)
		for i := range entries {
			must(t, s, get(i))
			list[i%len(list)] = get(i)
		}
		least := wait
		for range 20 {
			began := time.Now()
			for _, a := range list {
				s.Lookup(a)
			}
			least = min(least, time.Since(began))
		}
		return least
	}
	few, much := cost(1000), cost(50_000)
	assert.Less(t, much, 5*few+100*time.Microsecond, "%v, %v", few, much)
}
