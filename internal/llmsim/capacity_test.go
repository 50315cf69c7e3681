package llmsim_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/internal/llm"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// burst sends n requests at once and returns how long each took, sorted, and
// the errors.
func burst(at *llmsim.Endpoint, n int) (took []time.Duration, failed []error) {
	client := at.Client()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			began := time.Now()
			_, err := collect(context.Background(), client, ask("m", "what?"))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
				return
			}
			took = append(took, time.Since(began))
		})
	}
	all.Wait()
	slices.Sort(took)
	return took, failed
}

func TestSlotsAreSharedInTheOrderOfArrival(t *testing.T) {
	opts := llmsim.Options{Latency: llmsim.Latency{Base: time.Second}, Capacity: llmsim.Capacity{Slots: 2}}
	piped(t, opts, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		took, failed := burst(at, 5)
		assert.Empty(t, failed)
		assert.Equal(t, []time.Duration{time.Second, time.Second, 2 * time.Second, 2 * time.Second, 3 * time.Second}, took)
		synctest.Wait()
		stats := sim.Stats()
		assert.Equal(t, 2, stats.MaxRunning)
		assert.Equal(t, 5, stats.MaxInFlight)
		assert.Zero(t, stats.InFlight)
	})
}

func TestAFullQueueTurnsAway(t *testing.T) {
	for room, turned := range map[int]int{-1: 4, 1: 3, 0: 0} {
		opts := llmsim.Options{
			Latency:  llmsim.Latency{Base: time.Second},
			Capacity: llmsim.Capacity{Slots: 1, Queue: room, Full: http.StatusServiceUnavailable, RetryAfter: "3"},
		}
		piped(t, opts, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
			took, failed := burst(at, 5)
			assert.Len(t, took, 5-turned)
			assert.Len(t, failed, turned)
			for _, err := range failed {
				assert.Equal(t, llm.Overloaded, llm.Classify(err))
				assert.Equal(t, 3*time.Second, llm.RetryAfter(err))
			}
			assert.Equal(t, turned, sim.Stats().Refused)
		})
	}
}

func TestWhoLeavesTheQueueLeavesNoHole(t *testing.T) {
	opts := llmsim.Options{Latency: llmsim.Latency{Base: 10 * time.Second}, Capacity: llmsim.Capacity{Slots: 1}}
	piped(t, opts, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				ctx, stop := context.WithTimeout(context.Background(), []time.Duration{time.Hour, time.Second, time.Hour}[i])
				defer stop()
				time.Sleep(time.Duration(i) * time.Millisecond) // in this order
				_, err := collect(ctx, at.Client(), ask("m", "what?"))
				assert.Equal(t, i == 1, err != nil, "%d: %v", i, err)
			})
		}
		began := time.Now()
		all.Wait()
		assert.Equal(t, 20*time.Second, time.Since(began))
		assert.Equal(t, 1, sim.Stats().Abandoned)
	})
}

func TestTheFirstRequestAfterAPauseWaitsForTheModel(t *testing.T) {
	opts := llmsim.Options{
		Latency:  llmsim.Latency{Base: time.Second},
		Capacity: llmsim.Capacity{Cold: 30 * time.Second, Idle: time.Minute},
	}
	piped(t, opts, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		for _, c := range []struct {
			pause time.Duration
			n     int
			want  time.Duration
		}{{0, 2, 31 * time.Second}, {0, 1, time.Second}, {30 * time.Second, 1, time.Second}, {2 * time.Minute, 1, 31 * time.Second}} {
			time.Sleep(c.pause)
			took, failed := burst(at, c.n)
			assert.Empty(t, failed)
			for _, d := range took {
				assert.Equal(t, c.want, d)
			}
		}
		assert.Equal(t, 2, sim.Stats().ColdStarts)
	})
}

func TestAPrefixThatWasSeenIsCached(t *testing.T) {
	opts := llmsim.Options{PromptCache: 16, Latency: llmsim.Latency{PerPrompt: time.Millisecond}}
	piped(t, opts, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		stable := strings.Repeat("the same for all. ", 20)
		ask := func(what string) (llm.Answer, time.Duration) {
			began := time.Now()
			a, err := collect(t.Context(), at.Client(), ask("m", what))
			require.NoError(t, err)
			return a, time.Since(began)
		}
		first, cold := ask(stable + "one")
		assert.Zero(t, first.Usage.CachedTokens)
		second, warm := ask(stable + "two")
		assert.Equal(t, llmsim.Tokens(stable)/16*16, second.Usage.CachedTokens)
		assert.Equal(t, time.Duration(second.Usage.CachedTokens)*time.Millisecond, cold-warm)
		last, _ := ask("another " + stable)
		assert.Zero(t, last.Usage.CachedTokens, "what differs comes last")
		assert.Equal(t, second.Usage.CachedTokens, sim.Stats().CachedTokens)
	})
}

func TestTheSameSeedTakesTheSameTime(t *testing.T) {
	run := func(seed uint64) (times []time.Duration) {
		opts := llmsim.Options{Seed: seed, Latency: llmsim.Latency{Base: time.Second, PerOutput: time.Second, Jitter: 0.2}}
		piped(t, opts, func(t *testing.T, _ *llmsim.Server, at *llmsim.Endpoint) {
			for range 20 {
				took, _ := burst(at, 1)
				assert.InDelta(t, 2, took[0].Seconds(), 0.4)
				times = append(times, took[0])
			}
		})
		return times
	}
	assert.Equal(t, run(1), run(1))
	assert.NotEqual(t, run(1), run(2))
}

func TestAPolicyReadsThePrompt(t *testing.T) {
	policy := func(r llmsim.Request) llmsim.Answer {
		return llmsim.Answer{Text: fmt.Sprintf("%d: %s", r.Number, strings.ToUpper(r.Last()))}
	}
	piped(t, llmsim.Options{Answer: policy}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		sim.Push(llmsim.Answer{Text: "a script comes first"})
		for _, want := range []string{"a script comes first", "2: WHAT?"} {
			a, err := collect(t.Context(), at.Client(), ask("m", "what?"))
			require.NoError(t, err)
			assert.Equal(t, want, a.Text)
		}
		require.Len(t, sim.Requests(), 2)
		assert.Equal(t, map[string]int{"m": 2}, sim.Stats().ModelRequests)
	})
}

func TestABusyClientDoesNotHoldUpTheServer(t *testing.T) {
	opts := llmsim.Options{Latency: llmsim.Latency{PerOutput: 10 * time.Millisecond}}
	piped(t, opts, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		sim.Push(llmsim.Answer{Text: strings.Repeat("word", 100)})
		began := time.Now()
		for d, err := range llm.Stream(t.Context(), at.Client(), ask("m", "what?")) {
			require.NoError(t, err)
			if d.Text == "word" && time.Since(began) < 100*time.Millisecond {
				time.Sleep(800 * time.Millisecond)
			}
		}
		assert.Equal(t, time.Second, time.Since(began))
	})
}
