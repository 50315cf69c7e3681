package speccache_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// simulated is how many seeds run. SPECCACHE_SEEDS says another number, and
// SPECCACHE_SEED the only one.
func simulated(t *testing.T) (first, seeds uint64) {
	number := func(name string, otherwise uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, name)
		return n
	}
	if one := os.Getenv("SPECCACHE_SEED"); one != "" {
		return number("SPECCACHE_SEED", 0), 1
	}
	if raced || testing.Short() {
		return 0, number("SPECCACHE_SEEDS", 100)
	}
	return 0, number("SPECCACHE_SEEDS", 500)
}

// A score is what all seeds come to.
type score struct {
	mu                              sync.Mutex
	seeds, calls, moved             int
	lookups, hits, joins, ahead     int64
	speculated, failedAhead, drafts int64
	alone, with                     time.Duration
	failed                          []string
	renewed, changed                int64
}

func (s *score) add(off, on life, v verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seeds++
	s.calls += v.calls
	s.moved += v.moved
	s.lookups += on.stats.Lookups
	s.hits += on.stats.Hits
	s.joins += on.stats.Joins
	s.ahead += on.stats.Ahead
	s.speculated += on.stats.Speculated
	s.failedAhead += on.stats.FailedAhead
	s.drafts += on.stats.Drafts
	s.renewed += on.stats.Renewals.Renewed
	s.changed += on.stats.Renewals.Changed
	s.alone += v.alone
	s.with += v.with
}

// A verdict is what comparing two lives of one seed comes to.
type verdict struct {
	calls, moved int // moved: a step that was cut short in one life only
	alone, with  time.Duration
	faults       []string
}

func (v *verdict) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

func compare(off, on life) (v verdict) {
	for i := range off.journals {
		if len(off.journals[i]) != len(on.journals[i]) {
			v.fault("agent %d: %d calls, should be %d", i, len(on.journals[i]), len(off.journals[i]))
			return v
		}
		for j := range off.journals[i] {
			v.compare(fmt.Sprintf("agent %d, call %d", i, j), off.journals[i][j], on.journals[i][j])
		}
	}
	if !assert.ObjectsAreEqual(off.effects, on.effects) {
		v.fault("side effects %v, should be %v", on.effects, off.effects)
	}
	v.faults = append(v.faults, off.wrongs...)
	v.faults = append(v.faults, on.wrongs...)
	return v
}

// compare compares one call. Where the step's context has not ended, both must
// have ended alike. Where it has, a call may have been served what a whole run
// brings, or may have been cut short while it waited, but not before the end.
func (v *verdict) compare(where string, off, on seen) {
	v.calls++
	v.alone += off.waited
	v.with += on.waited
	switch late := on.ends > 0 && on.waited >= on.ends; {
	case on.end == off.end:
	case on.ends > 0 && on.truth != "" && on.end == on.truth, late && (on.end == "cut" || on.half != "" && on.end == on.half):
		v.moved++
	case off.whole && on.truth == "" && late: // of an action that was cut short in this life
		v.moved++
	default:
		v.fault("%s, %s: %q, should be %q (whole: %q, ends after %v, waited %v)", where, on.ask, on.end, off.end, on.truth, on.ends, on.waited)
	}
	alone := off.waited
	if on.clumsy { // by then its own run beside was cancelled, and begins again
		alone *= 2
	}
	if on.waited > alone+on.slack {
		v.fault("%s, %s: a %v waited %v, alone it takes %v and may wait %v", where, on.ask, on.outcome, on.waited, off.waited, on.slack)
	}
	if on.ends > 0 && on.waited > max(off.waited, on.ends) {
		v.fault("%s, %s: waited %v, though its context ended after %v", where, on.ask, on.waited, on.ends)
	}
}

// simulate lives a seed twice and compares.
func simulate(t *testing.T, seed uint64, sum *score) {
	var off, on life
	once := func(mode speccache.Mode, l *life) {
		bubble(t, func(t *testing.T) {
			stuck := time.AfterFunc(20*time.Hour, func() { panic(fmt.Sprintf("seed %d in mode %v: deadlock", seed, mode)) })
			defer stuck.Stop()
			got, err := newWorld(seed).run(mode)
			assert.NoError(t, err)
			*l = got
		})
	}
	once(speccache.Off, &off)
	once(speccache.On, &on)
	v := compare(off, on)
	sum.add(off, on, v)
	if len(v.faults) > 0 {
		sum.mu.Lock()
		defer sum.mu.Unlock()
		sum.failed = append(sum.failed, fmt.Sprintf(
			"seed %d (again: SPECCACHE_SEED=%d go test -run Simulation ./speccache):\n  %s", seed, seed, strings.Join(v.faults, "\n  ")))
	}
}

func TestLosslessInSimulationNothingButLatencyTellsWhetherSpeculationIsOn(t *testing.T) {
	first, seeds := simulated(t)
	sum := &score{}
	t.Run("seeds", func(t *testing.T) {
		parts := uint64(runtime.GOMAXPROCS(0))
		for part := range parts {
			t.Run(fmt.Sprint("part ", part), func(t *testing.T) {
				t.Parallel()
				for seed := first + part; seed < first+seeds; seed += parts {
					simulate(t, seed, sum)
				}
			})
		}
	})
	for i, text := range sum.failed {
		if i < 10 {
			t.Error(text)
		}
	}
	t.Logf("%d seeds, %d of them wrong; %d calls, of which %d were cut short in one life only", sum.seeds, len(sum.failed), sum.calls, sum.moved)
	t.Logf("%d lookups: %.1f %% hits, %.1f %% joins, %.1f %% ahead", sum.lookups,
		100*ratio(sum.hits, sum.lookups), 100*ratio(sum.joins, sum.lookups), 100*ratio(sum.ahead, sum.lookups))
	t.Logf("%d drafts, %d runs ahead, %d of them failed; waited %v alone, %v with speculation",
		sum.drafts, sum.speculated, sum.failedAhead, sum.alone, sum.with)
	t.Logf("%d entries renewed, %d of them changed", sum.renewed, sum.changed)
	if seeds >= 500 { // else it means nothing, and fewer seeds say less about that
		assert.Greater(t, ratio(sum.hits, sum.lookups), 0.25, "hits: logins and shares of bytes cost some")
		assert.Greater(t, ratio(sum.joins, sum.lookups), 0.05, "joins")
		assert.Less(t, sum.with, sum.alone)
		assert.NotZero(t, sum.changed)
	}
}

func ratio(a, b int64) float64 { return float64(a) / float64(b) }
