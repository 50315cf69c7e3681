package speccache_test

import (
	"context"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
)

// hosts counts the runs that are in the air, by host: an action's name.
type hosts struct {
	mu        sync.Mutex
	now, most map[string]int
	takes     time.Duration
}

func (h *hosts) do(ctx context.Context, a actions.Action) (string, error) {
	h.add(a.Name(), 1)
	defer h.add(a.Name(), -1)
	return "seen", pause(ctx, h.takes)
}

func (h *hosts) add(host string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now == nil {
		h.now, h.most = map[string]int{}, map[string]int{}
	}
	h.now[host] += n
	h.most[host] = max(h.most[host], h.now[host])
}

// peaks returns the most runs that were in the air at each host.
func (h *hosts) peaks() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.most)
}

func (h *hosts) env() env {
	return env{Do: h.do, Rules: actions.Reads("a", "b"), Host: actions.Action.Name}
}

func TestBoundedRunsAheadTakeTurnsAtAHostAndTheTargetDoesNot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &hosts{takes: 10 * time.Second}
		c, _ := open(t, h.env(), config{MaxAheadHost: 2})
		for i := range 5 { // sessions of one host, and of another
			for _, host := range []string{"a", "b"} {
				s := c.Open(opening{Scope: "test"})
				defer s.Close()
				s.Speculate(t.Context(), act(host, []int{i, 1}), act(host, []int{i, 2}))
			}
		}
		after(time.Second)
		assert.Equal(t, map[string]int{"a": 2, "b": 2}, h.peaks())
		s := c.Open(opening{Scope: "test"})
		defer s.Close()
		began := time.Now()
		for i := range 3 {
			must(t, s, act("a", i))
		}
		assert.Equal(t, 30*time.Second, time.Since(began), "the target's own runs wait for nobody")
		after(10 * time.Minute)
		assert.Equal(t, map[string]int{"a": 3, "b": 2}, h.peaks())
		assert.EqualValues(t, 20, c.Stats().Speculated, "those that waited have had their turn")
	})
}

func TestBoundedTheDefaultIsSixRunsAheadAtAHost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &hosts{takes: time.Minute}
		c, _ := open(t, h.env(), config{})
		for i := range 10 {
			s := c.Open(opening{})
			defer s.Close()
			s.Speculate(t.Context(), act("a", []int{i, 1}), act("a", []int{i, 2}))
		}
		after(time.Second)
		assert.Equal(t, map[string]int{"a": speccache.DefaultMaxAheadHost}, h.peaks())
	})
}

func TestAGuessThatWaitsForItsHostKeepsNoOtherWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &hosts{takes: time.Minute}
		c, s := open(t, h.env(), config{MaxAheadHost: 1})
		s.Speculate(t.Context(), act("a", 1), act("a", 2), act("b", 1))
		after(time.Second)
		assert.Equal(t, map[string]int{"a": 1, "b": 1}, h.peaks())
		after(2 * time.Minute)
		assert.EqualValues(t, 3, c.Stats().Speculated, "the one that waited has had its turn")
		assert.Equal(t, map[string]int{"a": 1, "b": 1}, h.peaks())
	})
}

func TestAGuessThatWaitsForItsHostIsDroppedWhenTheTargetActs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &hosts{takes: time.Minute}
		c, s := open(t, h.env(), config{MaxAheadHost: 1})
		s.Speculate(t.Context(), act("a", 1), act("a", 2))
		after(time.Second)
		must(t, s, act("b", 1))
		after(time.Hour)
		st := c.Stats()
		assert.EqualValues(t, []int64{1, 1}, []int64{st.Speculated, st.Guesses.Crowded})
	})
}

func TestAGuessThatWaitsForItsHostIsNotJoined(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &hosts{takes: time.Minute}
		c, s := open(t, h.env(), config{MaxAheadHost: 1})
		other := c.Open(opening{Scope: "test"})
		defer other.Close()
		other.Speculate(t.Context(), act("a", "slow"))
		synctest.Wait()
		s.Speculate(t.Context(), act("a", "wanted"))
		after(30 * time.Second)
		began := time.Now()
		r := must(t, s, act("a", "wanted"))
		assert.Equal(t, speccache.Miss, r.Outcome)
		assert.Equal(t, time.Minute, time.Since(began), "its own run, at once")
	})
}

func TestAGuessThatHasWaitedLeavesNoDraftBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &hosts{takes: time.Minute}
		c, s := open(t, h.env(), config{MaxAheadHost: 1})
		const times = 20
		for i := range times {
			s.Speculate(t.Context(), act("a", []int{i, 1}), act("a", []int{i, 2}))
			after(3 * time.Minute)
		}
		assert.EqualValues(t, 2*times, c.Stats().Speculated)
	})
}
