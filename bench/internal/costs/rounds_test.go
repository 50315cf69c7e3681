package costs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachSubjectHasEachPlaceAndEachNeighbourEquallyOften(t *testing.T) {
	const n = 4
	places, follows := map[[2]int]int{}, map[[2]int]int{}
	for round := range 2 * n {
		seen := map[int]bool{}
		for i := range n {
			at := place(round, i, n)
			seen[at] = true
			places[[2]int{at, i}]++
			if i > 0 {
				follows[[2]int{place(round, i-1, n), at}]++
			}
		}
		assert.Len(t, seen, n, "all are measured in round %d", round)
	}
	for _, count := range places {
		assert.Equal(t, 2, count)
	}
	for pair, count := range follows {
		assert.Equal(t, count, follows[[2]int{pair[1], pair[0]}], "one is as often before the other as behind it")
	}
}

func TestRoundsGiveTheMedianOfEachSubject(t *testing.T) {
	next := map[string][]float64{"a": {1, 100, 3}, "b": {5, 7, 6}}
	subjectOf := func(name string) subject {
		return subject{name, func(context.Context) (float64, error) {
			x := next[name][0]
			next[name] = next[name][1:]
			return x, nil
		}}
	}
	times, err := interleave(t.Context(), 3, subjectOf("a"), subjectOf("b"))
	require.NoError(t, err)
	assert.InDelta(t, 3, times.median("a"), 0)
	assert.InDelta(t, 6, times.median("b"), 0)
	assert.InDelta(t, 5.5, times.median("a", "b"), 0, "samples are pooled, not medians")
}

func TestRoundsEndWithTheFirstErrorAndWithTheirContext(t *testing.T) {
	broken := errors.New("broken")
	_, err := interleave(t.Context(), 3, subject{"x", func(context.Context) (float64, error) { return 0, broken }})
	require.ErrorIs(t, err, broken)
	assert.Contains(t, err.Error(), "x: ")

	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	_, err = interleave(ctx, 3, subject{"x", func(context.Context) (float64, error) { runs++; cancel(); return 1, nil }})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, runs)
}

func TestABatchLastsLongEnoughAndInterruptionsDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, chunk := time.Now(), 0
		ns := repeat(10, func() {
			chunk++
			time.Sleep(time.Millisecond)
			if chunk == 2 {
				time.Sleep(2 * time.Millisecond)
			}
		})
		assert.GreaterOrEqual(t, time.Since(began), leastBatch)
		assert.Equal(t, 3, chunk)
		assert.InDelta(t, 1e5, ns, 1e-6)
	})
}

func TestEveryKeyIsInOneChunk(t *testing.T) {
	keys := hotKeys()
	var all []uint64
	for i := range chunks {
		all = append(all, chunkOf(keys, i)...)
	}
	assert.Equal(t, keys, all)
}
