package hitratio

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// small is a budget, and a config, that take no time.
var small = budget{entries: 100, entryCost: 2 << 10}

func smallConfig() Config {
	return Config{Capacities: []int{20, 100}, Requests: 300, Seeds: 2, EntryBytes: 2 << 10}
}

func TestEveryCacheKeepsWhatFits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, open := range policies {
		p, err := open(small)
		require.NoError(t, err, name)
		defer p.close()
		for thing := range 20 {
			assert.False(t, p.request(thing), name)
		}
		for thing := range 20 {
			assert.True(t, p.request(thing), name)
		}
	}
}

func TestNoCacheKeepsMoreThanItsBytes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, open := range policies {
		p, err := open(small)
		require.NoError(t, err, name)
		defer p.close()
		for thing := range 3 * small.entries {
			assert.False(t, p.request(thing), name)
		}
		hits := 0
		for thing := range 3 * small.entries {
			// Each miss may push out another one: this counts too few, never too many.
			if p.request(thing) {
				hits++
			}
		}
		assert.LessOrEqual(t, hits, small.entries, name)
	}
}

func TestSpecCacheCountsAnEntryAsTheOthersDo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p, err := newSpec(small)
	require.NoError(t, err)
	defer p.close()
	for thing := range small.entries / 16 { // all are in the window
		p.request(thing)
	}
	st := p.(*spec).cache.Stats()
	assert.EqualValues(t, small.entries/16, st.Entries)
	assert.Equal(t, int64(st.Entries)*small.entryCost, st.WindowBytes)
}

func TestLRUEvictsWhatWasNotAskedForTheLongest(t *testing.T) {
	p, err := newLRU(budget{entries: 2})
	require.NoError(t, err)
	var hits []bool
	for _, thing := range []int{1, 2, 1, 3, 1, 2, 3} {
		hits = append(hits, p.request(thing))
	}
	assert.Equal(t, []bool{false, false, true, false, true, false, false}, hits)
}

func TestTheReportHasARowForEachTraceAndSize(t *testing.T) {
	r, err := Run(t.Context(), smallConfig())
	require.NoError(t, err)
	require.Len(t, r.Rows, 2*len(traces))
	worst := math.Inf(1)
	for i, row := range r.Rows {
		assert.Equal(t, traces[i/2].name, row.Trace)
		assert.Equal(t, smallConfig().Capacities[i%2], row.Capacity)
		for _, share := range []float64{row.SpecCache, row.Ristretto, row.Otter, row.LRU} {
			assert.GreaterOrEqual(t, share, 0.0)
			assert.Less(t, share, 1.0)
		}
		worst = min(worst, row.SpecCache-row.Otter)
	}
	assert.InDelta(t, worst, r.WorstVsOtter, 1e-9)
}

func TestTheTableSaysWhereSpecCacheIsBehind(t *testing.T) {
	var text strings.Builder
	r := &Report{Rows: []Row{{Trace: "x", Capacity: 5, SpecCache: 0.5, Ristretto: 0.4, Otter: 0.6}}}
	require.NoError(t, r.WriteTable(&text))
	assert.Regexp(t, `x +5 +50\.00 +40\.00 +60\.00 +0\.00 +\+10\.00 +-10\.00 BELOW`, text.String())
}

func TestAConfigThatMakesNoSenseIsRefused(t *testing.T) {
	for why, change := range map[string]func(*Config){
		"no capacity":     func(c *Config) { c.Capacities = nil },
		"a capacity of 0": func(c *Config) { c.Capacities = []int{0} },
		"0 requests":      func(c *Config) { c.Requests = 0 },
		"-1 seeds":        func(c *Config) { c.Seeds = -1 },
		"entries of 100":  func(c *Config) { c.EntryBytes = 100 },
		"otter takes":     func(c *Config) { c.EntryBytes = 1 << 40 },
	} {
		cfg := smallConfig()
		change(&cfg)
		_, err := Run(t.Context(), cfg)
		require.ErrorIs(t, err, ErrConfig, why)
		assert.ErrorContains(t, err, why)
	}
}

func TestARunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, smallConfig())
	require.ErrorIs(t, err, context.Canceled)
}

// BenchmarkHitRatio is one trace of each kind against each cache, with room for
// 1,000 entries. The metric counts; the time is that of the whole trace.
func BenchmarkHitRatio(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const requests, capacity = 50_000, 1000
	for _, tr := range traces {
		list := tr.make(seeded(1), requests, capacity)
		for _, name := range []string{Spec, Ristretto, Otter, LRU} {
			b.Run(strings.ReplaceAll(tr.name, " ", "-")+"/"+name, func(b *testing.B) {
				hits := 0
				for b.Loop() {
					var err error
					hits, err = replay(b.Context(), list, policies[name], budget{capacity, 8 << 10})
					require.NoError(b, err)
				}
				b.ReportMetric(float64(hits)/requests, "hit-ratio")
			})
		}
	}
}
