package costs

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A span is when a chunk of work ran.
type span struct{ from, to time.Duration }

// A step is what the goroutines did at one time, a chunk each.
type step []span

// together runs chunks on n goroutines, in step: the i-th begins on all of them
// at the same moment.
func together(n, chunks int, run func(g, i int)) []step {
	var all sync.WaitGroup
	var ready atomic.Int64
	began := time.Now()
	steps := make([]step, chunks)
	for i := range steps {
		steps[i] = make(step, n)
	}
	one := func(g int) {
		for i := range chunks {
			ready.Add(1)
			for ready.Load() < int64(n*(i+1)) {
				// Yielding would let the other one run on this CPU, in turns.
			}
			from := time.Since(began)
			run(g, i)
			steps[i][g] = span{from, time.Since(began)}
		}
	}
	for g := 1; g < n; g++ {
		all.Go(func() { one(g) })
	}
	one(0)
	all.Wait()
	return steps
}

// beside returns the steps whose chunks really ran beside each other, and not
// one after the other since the machine had other things to do.
func beside(steps []step) []step {
	return slices.DeleteFunc(slices.Clone(steps), func(s step) bool { return !s.overlap() })
}

// times returns the mean of the goroutines' median chunks, and how long the
// steps lasted, in nanoseconds.
func times(steps []step) (chunk, all float64) {
	if len(steps) == 0 {
		return 0, 0
	}
	n := len(steps[0])
	for g := range n {
		var took []float64
		for _, s := range steps {
			took = append(took, float64(s[g].to-s[g].from))
			all += float64(s[g].to-s[g].from) / float64(n)
		}
		chunk += median(took) / float64(n)
	}
	return chunk, all
}

// overlap reports whether all chunks have at least three quarters of the longest
// in common.
func (s step) overlap() bool {
	var longest time.Duration
	for _, s := range s {
		longest = max(longest, s.to-s.from)
	}
	last := slices.MaxFunc(s, func(a, b span) int { return int(a.from - b.from) }).from
	first := slices.MinFunc(s, func(a, b span) int { return int(a.to - b.to) }).to
	return 4*(first-last) >= 3*longest
}
