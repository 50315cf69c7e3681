package replay

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestADrawIsAFunctionOfSeedItemAndStepAlone(t *testing.T) {
	for seed := range uint64(20) {
		think := Paper.think(seed, 3, 2)
		_ = Paper.think(seed+7, 1, 1)
		assert.Equal(t, think, Paper.think(seed, 3, 2), "repeated call")
		assert.Equal(t, think, SlowDraft.think(seed, 3, 2), "other profile of the same times")
		assert.NotEqual(t, think, Paper.think(seed, 3, 3))
		assert.NotEqual(t, think, Paper.think(seed, 4, 2))
		assert.NotEqual(t, think, Paper.think(seed+1, 3, 2))
		assert.Equal(t, Paper.fetch(seed, 1, "a.example/x"), Paper.fetch(seed, 1, "a.example/x"))
		assert.NotEqual(t, Paper.fetch(seed, 1, "a.example/x"), Paper.fetch(seed, 1, "a.example/y"))
		assert.InDelta(t, think+0.2, SlowDraft.draft(seed, 3, 2), 1e-9)
		assert.Zero(t, None.think(seed, 3, 2)+None.draft(seed, 3, 2)+None.fetch(seed, 3, "x"))
	}
}

func TestEachOfSixtyFourAlignedSeedsDrawsFromItsOwnStratum(t *testing.T) {
	for key := range uint64(50) {
		strata := map[int]bool{}
		for seed := range uint64(64) {
			strata[int(uniform(128+seed, key)*64)] = true
		}
		assert.Len(t, strata, 64, "key %d", key)
	}
}

func TestFiftySeedsAreCloseToTheDistributionAtEveryStep(t *testing.T) {
	worst := 0.0
	for key := range uint64(200) {
		var draws []float64
		for seed := range uint64(50) {
			draws = append(draws, uniform(1+seed, key))
		}
		slices.Sort(draws)
		for i, u := range draws {
			worst = max(worst, math.Abs(u-(float64(i)+0.5)/50))
		}
	}
	assert.Less(t, worst, 0.1, "independent draws would be off by about 0.2 somewhere")
}

func TestDrawsOfDifferentStepsAreIndependent(t *testing.T) {
	const keys = 300
	worst, sum := 0.0, 0.0
	for key := range uint64(keys) {
		c := 0.0
		for seed := range uint64(64) {
			c += (uniform(seed, key) - 0.5) * (uniform(seed, key+1000) - 0.5) * 12 / 64
		}
		worst, sum = max(worst, math.Abs(c)), sum+c
	}
	assert.Less(t, math.Abs(sum/keys), 0.03)
	assert.Less(t, worst, 0.6)
}

func TestTimesHaveTheProfilesMeanMedianAndTail(t *testing.T) {
	var think, fetch []float64
	mean := 0.0
	for seed := range uint64(200) {
		for item := range 50 {
			think = append(think, Paper.think(seed, item, 1))
			fetch = append(fetch, Paper.fetch(seed, item, "page"))
			mean += Paper.think(seed, item, 1) / 10_000
		}
	}
	slices.Sort(think)
	slices.Sort(fetch)
	assert.InDelta(t, 19.5, mean, 0.1)
	assert.InDelta(t, 19.5*math.Exp(-0.08), think[5000], 0.1)
	assert.InDelta(t, 6, fetch[5000], 0.05)
	assert.InDelta(t, 6*math.Exp(0.8), fetch[8413], 0.2)
	assert.Greater(t, fetch[9999], 60.0, "a tail beyond a minute")
	assert.Equal(t, 3.0, Paper.draft(1, 2, 3))
}
