package speccache

import (
	"math"
	"slices"
	"sync"
	"time"
)

// latencies knows how long each action takes, by name.
type latencies struct {
	// mu guards the histograms; it is held for arithmetic only.
	mu     sync.Mutex
	byName map[string]*histogram
}

// A histogram counts durations in buckets that grow by a quarter, from 100 µs
// to about 160 s.
type histogram struct {
	counts [64]uint32
	total  uint32
}

const (
	enoughRuns = 20   // below, a percentile means nothing
	manyRuns   = 1000 // above, counts are halved, so that old runs fade
	firstEdge  = 100 * time.Microsecond
	edgeGrowth = 1.25
)

func (l *latencies) observe(name string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byName == nil {
		l.byName = map[string]*histogram{}
	}
	h := l.byName[name]
	if h == nil {
		h = &histogram{}
		l.byName[name] = h
	}
	h.add(d)
}

// p95 returns what 95 of 100 runs of an action stay below, once there have
// been enough.
func (l *latencies) p95(name string) (d time.Duration, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.byName[name]
	if h == nil || h.total < enoughRuns {
		return 0, false
	}
	return h.quantile(0.95), true
}

func (h *histogram) add(d time.Duration) {
	if h.total >= manyRuns {
		h.total = 0
		for i := range h.counts {
			h.counts[i] /= 2
			h.total += h.counts[i]
		}
	}
	h.counts[bucketOf(d)]++
	h.total++
}

// edges are the upper ends of the buckets; the last one has none.
var edges = func() (list [len(histogram{}.counts) - 1]time.Duration) {
	for i := range list {
		list[i] = time.Duration(float64(firstEdge) * math.Pow(edgeGrowth, float64(i)))
	}
	return list
}()

func bucketOf(d time.Duration) int {
	b, _ := slices.BinarySearch(edges[:], d)
	return b
}

// quantile returns the upper edge of the bucket that holds the quantile.
func (h *histogram) quantile(q float64) time.Duration {
	rank := uint32(math.Ceil(q * float64(h.total)))
	var seen uint32
	for i := range edges {
		if seen += h.counts[i]; seen >= rank {
			return edges[i]
		}
	}
	return time.Duration(edgeGrowth * float64(edges[len(edges)-1]))
}
