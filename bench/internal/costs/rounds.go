package costs

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

// A subject is one of several things that are measured side by side.
type subject struct {
	name string
	// measure does it often enough for one sample, and returns the time that
	// it took once.
	measure func(context.Context) (ns float64, err error)
}

// samples are what the rounds measured, by subject.
type samples map[string][]float64

// interleave measures each subject once in each round. The order rotates, and
// turns round in every other one: no subject always has the same place or the
// same one before it. Each round begins without another one's garbage.
func interleave(ctx context.Context, rounds int, subjects ...subject) (samples, error) {
	all := samples{}
	for round := range rounds {
		runtime.GC()
		for i := range subjects {
			s := subjects[place(round, i, len(subjects))]
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			ns, err := s.measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			all[s.name] = append(all[s.name], ns)
		}
	}
	return all, nil
}

// place says which of n subjects is the i-th in a round.
func place(round, i, n int) int {
	if round%2 == 1 {
		i = n - 1 - i
	}
	return (round/2 + i) % n
}

// median is that of all samples of some subjects together.
func (s samples) median(names ...string) float64 {
	var pool []float64
	for _, name := range names {
		pool = append(pool, s[name]...)
	}
	return median(pool)
}

// median returns the middle of a list that is not empty, or the mean of the
// two in the middle.
func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// leastBatch is how long the chunks of one sample last together, at least.
const leastBatch = 5 * time.Millisecond

// repeat runs chunks of n operations for leastBatch, and returns the time of
// one operation. A chunk is so many that looking at the clock costs nothing
// beside them, and so few that the machine seldom interrupts it: the median is
// a chunk that nothing interrupted.
func repeat(n int, chunk func()) (ns float64) {
	var times []float64
	for spent := time.Duration(0); spent < leastBatch; {
		began := time.Now()
		chunk()
		took := time.Since(began)
		times = append(times, float64(took))
		spent += took
	}
	return median(times) / float64(n)
}

// atCPUs sets how many CPUs Go uses, and returns what undoes that.
func atCPUs(n int) (undo func()) {
	old := runtime.GOMAXPROCS(n)
	return func() { runtime.GOMAXPROCS(old) }
}

// round keeps so many decimals: the others are noise.
func round(x float64, decimals int) float64 {
	scale := math.Pow10(decimals)
	return math.Round(x*scale) / scale
}
