package speccache_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"
)

// A queueing origin works on so many requests at a time, in the order in which
// they came, and works on whatever it was asked for, as real ones do: it does
// not notice that a client has left.
type queueing struct {
	places *semaphore.Weighted // nil: it works on all at once
	takes  func(actions.Action) time.Duration
	work   sync.WaitGroup
}

func newQueueing(atOnce int64, takes func(actions.Action) time.Duration) *queueing {
	q := &queueing{takes: takes}
	if atOnce > 0 {
		q.places = semaphore.NewWeighted(atOnce)
	}
	return q
}

func (q *queueing) do(ctx context.Context, a actions.Action) (string, error) {
	done := make(chan struct{})
	q.work.Go(func() {
		defer close(done)
		if q.places != nil {
			_ = q.places.Acquire(context.Background(), 1) // which has no end
			defer q.places.Release(1)
		}
		after(q.takes(a))
	})
	select {
	case <-done:
		return a.Args(), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (q *queueing) env() env {
	return env{Do: q.do, Rules: actions.Reads("get"), Host: func(actions.Action) string { return "origin" }}
}

// A crowd is agents that walk at queueing origins. Times and guesses depend on
// the seed alone, so that all ways to walk are compared step by step.
type crowd struct {
	atOnce   int64
	accuracy float64
	steps    int
	takes    func(*rand.Rand) time.Duration
}

// pageTime is a lognormal time: six seconds in the median.
func pageTime(r *rand.Rand) time.Duration { return lognormal(r, 6, 0.8) }

func lognormal(r *rand.Rand, median, sigma float64) time.Duration {
	return time.Duration(median * math.Exp(sigma*r.NormFloat64()) * float64(time.Second))
}

// of returns the draws of one seed and one step.
func of(seed, step int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), uint64(step))) }

// walk returns how long one agent takes.
func (w crowd) walk(t *testing.T, seed int, cfg config) time.Duration {
	q := newQueueing(w.atOnce, func(a actions.Action) time.Duration {
		var which [2]int
		require.NoError(t, a.Decode(&which))
		return w.takes(of(seed, 1000*which[0]+which[1]))
	})
	defer q.work.Wait()
	if cfg.Mode == speccache.On {
		cfg.Predictor = w.draft(seed)
	}
	c, err := speccache.New(q.env(), cfg)
	require.NoError(t, err)
	defer c.Close()
	s := c.Open(opening{Scope: "test"})
	defer s.Close()
	began := time.Now()
	s.Observe(at(t.Context(), 1), "the first page")
	for i := range w.steps {
		after(lognormal(of(seed, -i-1), 18, 0.4))
		_, err := s.Do(at(t.Context(), i+2), get([]int{i + 1, 0}))
		require.NoError(t, err)
	}
	return time.Since(began)
}

type stepKey struct{}

// at says which step the draft is about that starts when a call returns.
func at(ctx context.Context, step int) context.Context {
	return context.WithValue(ctx, stepKey{}, step)
}

// draft guesses three pages after three seconds.
func (w crowd) draft(seed int) actions.Predictor[string] {
	return func(ctx context.Context, _ state) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			step := ctx.Value(stepKey{}).(int)
			r := of(seed, -1_000_000-step)
			right := -1
			if r.Float64() < w.accuracy {
				right = []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 1}[r.IntN(10)]
			}
			if pause(ctx, 3*time.Second) != nil {
				return
			}
			for i := range 3 {
				which := []int{step, i + 1}
				if i == right {
					which[1] = 0
				}
				if !yield(actions.Prediction{Action: get(which)}, nil) {
					return
				}
			}
		}
	}
}

// all walks so many seeds, each with a cache of its own.
func (w crowd) all(t *testing.T, seeds int, cfg func() config) (sum time.Duration) {
	for seed := range seeds {
		bubble(t, func(t *testing.T) { sum += w.walk(t, seed, cfg()) })
	}
	return sum
}

func off() config      { return config{Mode: speccache.Off} }
func on() config       { return config{} }
func heedless() config { return config{Hosts: &speccache.Hosts{IgnoreLoad: true}} }

// What speculation may cost at an origin that queues, by the draft's accuracy,
// over 200 steps: a draft that is nearly always wrong costs until the origin is
// known, and whenever it is tried again.
var mayCost = map[float64]float64{0.1: 1.03, 0.7: 1, 0.9: 1}

func TestNeverSlowerAtAnOriginThatQueues(t *testing.T) {
	const seeds = 10
	for accuracy, most := range mayCost {
		w := crowd{accuracy: accuracy, steps: 200, takes: pageTime}
		unlimited := w.all(t, seeds, on)
		for w.atOnce = range int64(4) {
			t.Run(fmt.Sprintf("%d at once, accuracy %v", w.atOnce, accuracy), func(t *testing.T) {
				without, with, heedless := w.all(t, seeds, off), w.all(t, seeds, on), w.all(t, seeds, heedless)
				t.Logf("with speculation %.3f of without, and %.3f where load is ignored",
					with.Seconds()/without.Seconds(), heedless.Seconds()/without.Seconds())
				assert.LessOrEqual(t, with.Seconds(), most*without.Seconds())
				assert.LessOrEqual(t, with.Seconds(), 1.005*heedless.Seconds())
				if w.atOnce == 3 && accuracy > 0.5 {
					assert.Greater(t, (without - with).Seconds(), 0.8*(without-unlimited).Seconds(), "saved")
				}
			})
		}
	}
}

// speculate asks an origin for so many batches of pages, each when the one
// before it has come, and returns what was learned.
func learned(t *testing.T, q *queueing, batches int) (h *speccache.Hosts, atOnce int, queues bool) {
	h = &speccache.Hosts{}
	bubble(t, func(t *testing.T) {
		defer q.work.Wait()
		c, err := speccache.New(q.env(), config{Hosts: h, MaxAheadRate: 1000})
		require.NoError(t, err)
		defer c.Close()
		for i := range batches {
			s := c.Open(opening{})
			s.Speculate(t.Context(), get([]int{i, 1}), get([]int{i, 2}), get([]int{i, 3}))
			after(time.Hour / 100)
			s.Close()
		}
		atOnce, queues = h.Capacity("origin")
	})
	return h, atOnce, queues
}

// Pages that all take equally long never overtake each other.
func TestAnOriginIsKnownByItsAnswers(t *testing.T) {
	times := map[string]func(actions.Action) time.Duration{
		"pages take equally long": func(actions.Action) time.Duration { return 5 * time.Second },
		"pages differ": func(a actions.Action) time.Duration {
			var which [2]int
			_ = a.Decode(&which)
			return pageTime(of(which[0], which[1]))
		},
	}
	for name, takes := range times {
		for atOnce := range int64(3) {
			t.Run(fmt.Sprintf("%s, %d at once", name, atOnce), func(t *testing.T) {
				_, shown, queues := learned(t, newQueueing(atOnce, takes), 60)
				assert.Equal(t, atOnce > 0, queues)
				if queues {
					assert.EqualValues(t, atOnce, shown)
				}
			})
		}
	}
}

func TestWhatIsKnownOfAnOriginIsSharedByCachesAndLearnedAnewLater(t *testing.T) {
	q := newQueueing(1, func(actions.Action) time.Duration { return time.Second })
	bubble(t, func(t *testing.T) {
		defer q.work.Wait()
		h := &speccache.Hosts{}
		for i := range 8 {
			c, s := open(t, q.env(), config{Hosts: h})
			s.Speculate(t.Context(), get([]int{i, 1}), get([]int{i, 2}), get([]int{i, 3}))
			after(time.Minute)
			c.Close()
		}
		atOnce, queues := h.Capacity("origin")
		assert.Equal(t, 1, atOnce)
		assert.True(t, queues)

		c, s := open(t, q.env(), config{Hosts: h})
		s.Speculate(t.Context(), get("a"), get("b"), get("c"))
		after(time.Minute)
		must(t, s, get("d"))
		after(time.Minute)
		st := c.Stats()
		assert.EqualValues(t, 1, st.Speculated, "the first guess takes the only place")
		assert.Equal(t, map[string]int64{"load": 2}, st.Refusals)
		assert.Contains(t, s.Explain(), "origin works on about 1 request at a time")

		after(time.Hour)
		_, queues = h.Capacity("origin")
		assert.False(t, queues)
	})
}

func TestTheLastPlaceIsGivenAwayOnlyWhileThatPays(t *testing.T) {
	q := newQueueing(1, func(actions.Action) time.Duration { return 10 * time.Second })
	bubble(t, func(t *testing.T) {
		defer q.work.Wait()
		h := &speccache.Hosts{}
		c, s := open(t, q.env(), config{Hosts: h})
		for i := range 8 {
			s.Speculate(t.Context(), get([]int{i, 1}), get([]int{i, 2}), get([]int{i, 3}))
			after(time.Minute)
		}
		_, queues := h.Capacity("origin")
		require.True(t, queues)
		before := c.Stats().Speculated
		const steps = 160
		for i := range steps { // all wrong, and in the target's way
			s.Speculate(t.Context(), get([]int{i, 4}))
			after(5 * time.Second)
			must(t, s, get([]int{i, 5}))
		}
		ran := c.Stats().Speculated - before
		assert.LessOrEqual(t, ran, int64(1+steps/16), "the first, and then it is tried now and then")
		assert.Greater(t, ran, int64(steps/32))
	})
}

func TestAScopeStartsNoMoreThanItsRateAtAHostAndTheTargetGoesFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{}
		e := gets(w)
		e.Host = func(actions.Action) string { return "one" }
		c, s := open(t, e, config{MaxAheadRate: 2, TopN: 50, MaxAhead: 1000, MaxAheadSession: 1000, MaxAheadHost: 1000})
		s.Speculate(t.Context(), many(50)...)
		after(10*time.Second + 100*time.Millisecond)
		assert.EqualValues(t, 6+2*10, c.Stats().Speculated, "three seconds' worth at once, and then two a second")
		began := time.Now()
		for i := range 100 {
			must(t, s, get(fmt.Sprint("own ", i)))
		}
		assert.Zero(t, time.Since(began), "the target does not wait")
		synctest.Wait()
		assert.EqualValues(t, 50-26, c.Stats().Refusals["rate"], "what waited when the target acted")
		s.Speculate(t.Context(), get("late"))
		after(2 * time.Second)
		assert.EqualValues(t, 26, c.Stats().Speculated, "the target has used up what there was")
		other := c.Open(opening{Scope: "another"})
		defer other.Close()
		other.Speculate(t.Context(), get("late"))
		after(time.Millisecond)
		assert.EqualValues(t, 27, c.Stats().Speculated, "another scope has a rate of its own")
		after(10 * time.Second)
		assert.EqualValues(t, 28, c.Stats().Speculated, "and later there is some again")
	})
}
