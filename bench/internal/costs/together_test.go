package costs

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestGoroutinesTakeEachStepTogether(t *testing.T) {
	const chunks = 3
	var began [2][chunks]chan struct{}
	for g := range began {
		for i := range began[g] {
			began[g][i] = make(chan struct{})
		}
	}
	steps := together(2, chunks, func(g, i int) {
		close(began[g][i])
		<-began[1-g][i] // hangs unless both run the same step
	})
	assert.Len(t, steps, chunks)
	assert.Len(t, steps[0], 2)
}

func TestOneGoroutineIsBesideNobodyAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := together(1, 3, func(_, i int) { time.Sleep(time.Duration(i+1) * time.Millisecond) })
		assert.Len(t, beside(steps), 3)
		chunk, all := times(steps)
		assert.InDelta(t, 2e6, chunk, 0)
		assert.InDelta(t, 6e6, all, 0)
	})
}

func TestAStepCountsOnlyIfItsChunksRanBesideEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		chunks step
		want   bool
	}{
		"the same time":     {step{{0, 100}, {0, 100}}, true},
		"a bit later":       {step{{0, 100}, {20, 110}}, true},
		"much later":        {step{{0, 100}, {60, 160}}, false},
		"after it":          {step{{0, 100}, {200, 300}}, false},
		"one is far longer": {step{{0, 100}, {0, 300}}, false},
		"alone":             {step{{5, 10}}, true},
	} {
		assert.Equal(t, c.want, c.chunks.overlap(), name)
	}
	good, bad := step{{0, 10}, {0, 8}}, step{{20, 30}, {90, 99}}
	assert.Equal(t, []step{good}, beside([]step{good, bad}))
}

func TestTheMeanOfTheGoroutinesMediansCounts(t *testing.T) {
	chunk, all := times([]step{{{0, 10}, {0, 20}}, {{0, 90}, {0, 20}}, {{0, 12}, {0, 20}}})
	assert.InDelta(t, (12+20)/2, chunk, 0)
	assert.InDelta(t, (10+90+12)/2+(3*20)/2, all, 0)
}
