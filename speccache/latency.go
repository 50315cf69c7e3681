package speccache

import (
	"math"
	"slices"
	"sync"
	"time"
)

// A latency knows how long an action takes. It counts durations in buckets that
// grow by a quarter, from 100 µs to about 160 s.
type latency struct {
	// mu guards the counts; it is held for arithmetic only.
	mu     sync.Mutex
	counts [64]uint32
	total  uint32
}

const (
	enoughRuns = 20   // below, a percentile means nothing
	manyRuns   = 1000 // above, counts are halved, so that old runs fade
	firstEdge  = 100 * time.Microsecond
	edgeGrowth = 1.25
)

func (l *latency) observe(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= manyRuns {
		l.total = 0
		for i := range l.counts {
			l.counts[i] /= 2
			l.total += l.counts[i]
		}
	}
	l.counts[bucketOf(d)]++
	l.total++
}

// p95 returns what 95 of 100 runs stay below, once there have been enough.
func (l *latency) p95() (d time.Duration, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total < enoughRuns {
		return 0, false
	}
	return l.quantile(0.95), true
}

// edges are the upper ends of the buckets; the last one has none.
var edges = func() (list [len(latency{}.counts) - 1]time.Duration) {
	for i := range list {
		list[i] = time.Duration(float64(firstEdge) * math.Pow(edgeGrowth, float64(i)))
	}
	return list
}()

func bucketOf(d time.Duration) int {
	b, _ := slices.BinarySearch(edges[:], d)
	return b
}

// quantile returns the upper edge of the bucket that holds the quantile. mu is
// held.
func (l *latency) quantile(q float64) time.Duration {
	rank := uint32(math.Ceil(q * float64(l.total)))
	var seen uint32
	for i := range edges {
		if seen += l.counts[i]; seen >= rank {
			return edges[i]
		}
	}
	return time.Duration(edgeGrowth * float64(edges[len(edges)-1]))
}
