package costs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLookupMeasuresEveryKindOfLookup(t *testing.T) {
	r, err := Lookup(t.Context(), LookupConfig{CPUs: 2, Rounds: 1})
	require.NoError(t, err)
	for name, ns := range map[string]float64{
		"ristretto": r.RawRistrettoNS, "otter": r.RawOtterNS,
		"resident": r.ResidentNS, "staged": r.StagedNS, "miss": r.MissNS, "A/A": r.AA,
	} {
		assert.Positive(t, ns, name)
	}
	assert.Equal(t, 2, r.CPUs)
	assert.Zero(t, r.AllocsPerOp)
}

func TestALookupThatDoesNotFindWhatItShouldIsNoMeasurement(t *testing.T) {
	r := reader{name: "broken", chunk: func(int, int) int { return 3 }}
	_, err := r.measure(t.Context(), 1, &concurrency{})
	require.ErrorContains(t, err, "did not find")
}

func TestAStagedGuessIsReadForTheFirstTimeInEveryPass(t *testing.T) {
	readers, done, err := stagedGuesses(t.Context(), 2)
	require.NoError(t, err)
	defer done()
	r := readers[0]
	assert.Equal(t, HotKeys, r.pass(0), "nothing has run ahead yet")
	for n := range 2 * chunks {
		i := n % chunks
		require.NoError(t, r.prepare(t.Context(), i))
		assert.Zero(t, r.chunk(0, i))
		assert.Zero(t, r.chunk(1, i), "the other session's guesses are others")
		assert.Equal(t, chunkKeys, r.chunk(0, i), "a second reading is no first one")
	}
}

func TestHotActionsAreResidentAndTheAbsentOnesAbsent(t *testing.T) {
	readers, done, err := residentAndMiss(t.Context(), 2)
	require.NoError(t, err)
	defer done()
	for _, r := range readers {
		for g := range 2 {
			assert.Zero(t, r.pass(g), r.name)
		}
	}
}

func TestActionsLookedUpShareNoMemoryWithTheStoredOnes(t *testing.T) {
	a, b := action(visit, 7), action(visit, 7)
	assert.Equal(t, a, b)
	assert.NotEqual(t, action(visit, 8), a)
	assert.InDelta(t, 80, len(a.Args()), 10)
}

func TestEachGoroutineHasAnOrderOfItsOwn(t *testing.T) {
	list := []int{1, 2, 3, 4, 5, 6, 7, 8}
	lists := orders(list, 2)
	require.Len(t, lists, 2)
	for _, l := range lists {
		assert.ElementsMatch(t, list, l)
		assert.NotEqual(t, list, l)
	}
	assert.NotEqual(t, lists[0], lists[1])
}

func TestMemoryIsThatOfOneOperation(t *testing.T) {
	var kept []*[64]byte
	allocs, bytes := allocated(1000, func() {
		for range 1000 {
			kept = append(kept[:0], new([64]byte))
		}
	})
	assert.InDelta(t, 1, allocs, 0.1)
	assert.InDelta(t, 64, bytes, 8)
	assert.Len(t, kept, 1)
}

func TestTheTablesSayWhichBarsAreKept(t *testing.T) {
	var text strings.Builder
	r := &LookupReport{ResidentVsRistretto: 0.7, StagedVsRistretto: 0.61, ResidentVsOtter: 1, CPUs: 1}
	require.NoError(t, r.WriteTable(&text))
	assert.Regexp(t, `0\.700 of ristretto's +bar 0\.75: kept`, text.String())
	assert.Regexp(t, `0\.610 of ristretto's +bar 0\.6: MISSED`, text.String())
	assert.Regexp(t, `1\.000 of otter's +bar 1: kept`, text.String())

	text.Reset()
	r.CPUs = 2
	require.NoError(t, r.WriteTable(&text))
	assert.Regexp(t, `0\.700 of ristretto's +bar 0\.6: MISSED`, text.String(), "on two CPUs the bar is lower")
}
