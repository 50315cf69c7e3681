package costs

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
)

// A reader looks up hot keys.
type reader struct {
	name string
	// prepare makes it possible to look the i-th chunk of all goroutines up,
	// once. Nil: chunks can be looked up again and again.
	prepare func(ctx context.Context, i int) error
	// chunk looks up the i-th chunk of the keys of goroutine g, and returns how
	// many were not found as they should be.
	chunk func(g, i int) (wrong int)
}

// The hot keys are looked up in chunks, which are timed one by one.
const (
	chunkKeys = 512
	chunks    = HotKeys / chunkKeys
)

// chunkOf returns the i-th chunk of a list of hot keys.
func chunkOf[K any](keys []K, i int) []K { return keys[i*chunkKeys:][:chunkKeys] }

// pass looks up all keys of a goroutine, once.
func (r reader) pass(g int) (wrong int) {
	for i := range chunks {
		wrong += r.chunk(g, i)
	}
	return wrong
}

func (r reader) subject(cpus int, seen *concurrency) subject {
	return subject{r.name, func(ctx context.Context) (float64, error) { return r.measure(ctx, cpus, seen) }}
}

// measure returns the time of one lookup on each of the goroutines.
func (r reader) measure(ctx context.Context, cpus int, seen *concurrency) (ns float64, err error) {
	var wrong atomic.Int64
	once := func(g, i int) { wrong.Add(int64(r.chunk(g, i))) }
	if r.prepare == nil {
		together(cpus, chunks, once) // what the others left is out of the CPUs' caches
	}
	var all, good []step
	for began := time.Now(); len(all) == 0 || time.Since(began) < longestSample; {
		steps, err := r.steps(ctx, cpus, once)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return 0, err
		}
		all, good = append(all, steps...), append(good, beside(steps)...)
		if _, spent := times(good); spent >= float64(leastBatch) {
			break
		}
	}
	if n := wrong.Load(); n > 0 {
		return 0, fmt.Errorf("%d lookups did not find what they should", n)
	}
	seen.steps, seen.good = seen.steps+len(all), seen.good+len(good)
	if len(good) == 0 {
		good = all
	}
	chunk, _ := times(good)
	return chunk / chunkKeys, nil
}

// steps looks all chunks up once, on each of the goroutines.
func (r reader) steps(ctx context.Context, cpus int, once func(g, i int)) (all []step, err error) {
	if r.prepare == nil {
		return together(cpus, chunks, once), nil
	}
	for i := range chunks {
		if err := r.prepare(ctx, i); err != nil {
			return nil, err
		}
		all = append(all, together(cpus, 1, func(g, _ int) { once(g, i) })...)
	}
	return all, nil
}

// longestSample is after how long a sample ends that does not add up to
// leastBatch, where goroutines run beside each other only now and then.
const longestSample = 20 * leastBatch

// A concurrency counts how often goroutines really ran beside each other.
type concurrency struct{ steps, good int }

func (c concurrency) share() float64 { return round(float64(c.good)/float64(c.steps), 3) }

// memory returns what a lookup allocates, over many. Caches whose readers hand
// buffers to a goroutine allocate less than once per lookup.
func (r reader) memory() (allocs, bytes float64) {
	const passes = 50
	r.pass(0)
	return allocated(passes*HotKeys, func() {
		for range passes {
			r.pass(0)
		}
	})
}

// allocated returns what one of n operations allocates.
func allocated(n int, run func()) (allocs, bytes float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	per := func(a, b uint64) float64 { return round(float64(b-a)/float64(n), 4) }
	return per(before.Mallocs, after.Mallocs), per(before.TotalAlloc, after.TotalAlloc)
}

// orders returns a list in an order for each goroutine, none of them that in
// which the cache was filled.
func orders[T any](list []T, goroutines int) [][]T {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([][]T, goroutines)
	for g := range all {
		for _, i := range r.Perm(len(list)) {
			all[g] = append(all[g], list[i])
		}
	}
	return all
}

// hotKeys are integer keys without a pattern.
func hotKeys() []uint64 {
	r := rand.New(rand.NewPCG(3, 4))
	keys := make([]uint64, HotKeys)
	for i := range keys {
		keys[i] = r.Uint64()
	}
	return keys
}
