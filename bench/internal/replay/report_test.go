package replay

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// someSteps are a hit, a join, a wrong guess, a resident page, a lost guess and
// a draft that was too late, each with what it took without speculation and
// with a plain cache.
func someSteps() (spec, off, cache []stepRecord) {
	const s = time.Second
	key := func(i int) stepKey { return stepKey{seed: 1, item: 0, step: i} }
	spec = []stepRecord{
		{key: key(0), outcome: speccache.Hit, think: 20 * s, draft: 3 * s, yielded: true, guessed: true, hidden: 6 * s},
		{key: key(1), outcome: speccache.Join, wait: 13 * s, think: 20 * s, draft: 3 * s, yielded: true, guessed: true, hidden: 17 * s},
		{key: key(2), outcome: speccache.Miss, wait: 8 * s, think: 20 * s},
		{key: key(3), outcome: speccache.Hit, think: 20 * s, draft: 3 * s, yielded: true, guessed: true, resident: true, hidden: 4 * s},
		{key: key(4), outcome: speccache.Miss, wait: 5 * s, think: 20 * s, draft: 3 * s, yielded: true, guessed: true},
		{key: key(5), outcome: speccache.Miss, wait: 7 * s, think: 20 * s, guessed: true},
	}
	for i, wait := range []time.Duration{6 * s, 30 * s, 8 * s, 4 * s, 5 * s, 6 * s} {
		off = append(off, stepRecord{key: key(i), wait: wait})
		cache = append(cache, stepRecord{key: key(i), wait: wait})
	}
	cache[3].wait = 0
	return spec, off, cache
}

func someReport(t *testing.T, arms ...Arm) *Report {
	spec, off, cache := someSteps()
	runs := map[Arm]*armRun{}
	for _, arm := range arms {
		runs[arm] = &armRun{}
	}
	add := func(arm Arm, wall time.Duration, steps []stepRecord) {
		if runs[arm] != nil {
			runs[arm].add(agentResult{wall: wall, steps: steps})
		}
	}
	add(Off, 200*time.Second, off)
	add(Cache, 190*time.Second, cache)
	add(Spec, 160*time.Second, spec)
	cfg := DefaultConfig()
	require.NoError(t, cfg.validate())
	return newReport(&setup{cfg: cfg, scale: 1, steps: 6}, runs)
}

func TestTheFiguresAreThoseThatTheContractDefines(t *testing.T) {
	r := someReport(t, AllArms...)
	near := func(want float64, got Number, name string) { assert.InDelta(t, want, float64(got), 1e-9, name) }
	near(6+17+0, r.SavedSeconds, "saved: without less with, where the guess was in time")
	near(6+17+5, r.BoundSeconds, "bound: no more than the wait, no more than think less draft")
	near(23.0/28, r.Efficiency, "efficiency")
	near((6+30+8+5+6)/(0.0+13+8+5+7), r.EnvReduction, "env_reduction leaves resident steps out")
	near((6+30+8+0+5+6)/(0.0+13+8+0+5+7), r.EnvReductionVsCache, "env_reduction_vs_cache is over all steps")
	near(200.0/160, r.Speedup, "speedup")
	near(200/(200.0-28-4), r.SpeedupLimit, "speedup_limit")
	near(23, r.Arms[Spec].HiddenSeconds, "hidden of steps that were not resident")
	near(33, r.Arms[Spec].EnvSeconds, "env_seconds covers every click")
	assert.Equal(t, 1, r.Lost)
	assert.Equal(t, 1, r.ResidentSteps)
	assert.Equal(t, ClickCounts{Trials: 6, Wrong: 1, Late: 1, Slower: 1}, r.Clicks)
	near(5.0/6, r.AccuracyAtN, "accuracy counts all clicks, late and resident ones too")
}

func TestAComparisonWithAnArmThatDidNotRunIsNull(t *testing.T) {
	r := someReport(t, Spec)
	var fields map[string]any
	data, err := json.Marshal(r)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &fields))
	for _, name := range []string{"saved_seconds", "efficiency", "env_reduction", "env_reduction_vs_cache", "speedup"} {
		assert.Contains(t, fields, name)
		assert.Nil(t, fields[name], name)
	}
	assert.EqualValues(t, 1, fields["lost"])
	assert.InDelta(t, 5.0/6, fields["accuracy_at_n"], 1e-9)
}

func TestAClickIsOneSampleHoweverOftenAnUnseededDraftGuessesIt(t *testing.T) {
	var steps []stepRecord
	for seed := range uint64(4) {
		for round := range 3 {
			steps = append(steps,
				stepRecord{key: stepKey{seed, round, 0, 0}, guessed: round == 0},
				stepRecord{key: stepKey{seed, round, 0, 1}})
		}
	}
	right, of := accuracy(steps, false)
	assert.Equal(t, []int{1, 2}, []int{right, of})
	right, of = accuracy(steps, true)
	assert.Equal(t, []int{4, 8}, []int{right, of})
}

func TestWilsonsIntervalIsThatOfTheBooks(t *testing.T) {
	for _, c := range []struct {
		right, of int
		low, high float64
	}{
		{8, 10, 0.4902, 0.9433},
		{0, 10, 0, 0.2775},
		{10, 10, 0.7225, 1},
		{50, 100, 0.4038, 0.5962},
	} {
		low, high := wilson(c.right, c.of)
		assert.InDelta(t, c.low, low, 1e-4, "%d of %d", c.right, c.of)
		assert.InDelta(t, c.high, high, 1e-4, "%d of %d", c.right, c.of)
	}
	low, _ := wilson(0, 0)
	assert.True(t, math.IsNaN(low))
}
