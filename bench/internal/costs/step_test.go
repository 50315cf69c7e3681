package costs

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAStepEndsWhenItsThreeGuessesHaveRunAndCanBeFound(t *testing.T) {
	w, err := newWalk()
	require.NoError(t, err)
	defer w.cache.Close()
	const n = 20
	w.prepare(n)
	for i := range n {
		took, err := w.step(t.Context(), w.session)
		require.NoError(t, err)
		assert.Positive(t, took)
		st := w.session.Stats()
		assert.EqualValues(t, guessesPerStep*(i+1), st.Speculated, "each guess of each step runs")
		assert.EqualValues(t, guessesPerStep*(i+1), st.Ahead, "each was found, for the first time")
	}
	st := w.session.Stats()
	assert.EqualValues(t, n, st.Drafts)
	assert.EqualValues(t, guessesPerStep*n+n-1, st.Hits, "all actions but the first were guessed before")
}

func TestAStepWhoseGuessesNeverRunIsAnError(t *testing.T) {
	w, err := newWalk()
	require.NoError(t, err)
	defer w.cache.Close()
	w.prepare(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // Do starts no draft then
	_, err = w.step(ctx, w.session)
	require.ErrorIs(t, err, errNoGuess)
	require.ErrorIs(t, err, context.Canceled)
}

func TestOverheadMeasuresAllItsParts(t *testing.T) {
	r, err := Overhead(t.Context(), OverheadConfig{Rounds: 1})
	require.NoError(t, err)
	for name, x := range map[string]float64{
		"direct": r.DirectNS, "step": r.StepNS, "skeleton": r.SkeletonNS, "ratio": r.StepVsSkeleton, "A/A": r.AA,
		"policy": r.PolicyNS, "policy of a page": r.PagePolicyUS, "A/A of the policy": r.PolicyAA,
	} {
		assert.Positive(t, x, name)
	}
	assert.GreaterOrEqual(t, r.SkeletonAllocs, 3*3.0, "a context, a goroutine and a channel for each guess")
	assert.Positive(t, r.StepAllocs)
	assert.InDelta(t, 0, r.PolicyAllocs, 0.05)

	var text strings.Builder
	require.NoError(t, (&OverheadReport{PassthroughNS: 501, StepVsSkeleton: 2}).WriteTable(&text))
	assert.Contains(t, text.String(), "bar 500: MISSED")
	assert.Contains(t, text.String(), "bar 2: kept")
}

func TestAnUndeclaredActionPassesThroughEveryTime(t *testing.T) {
	p, err := newPassage()
	require.NoError(t, err)
	defer p.cache.Close()
	for range 3 {
		_, err := p.session.Do(t.Context(), p.action)
		require.NoError(t, err)
	}
	st := p.session.Stats()
	assert.EqualValues(t, 3, st.Undeclared)
	assert.Zero(t, st.Lookups)
	assert.Zero(t, st.Drafts)
}

func TestTheStepsOfACrowdAreSpreadOverItsSessions(t *testing.T) {
	const n = 30
	c, err := newCrowd(t.Context(), n)
	require.NoError(t, err)
	defer c.cache.Close()
	for _, s := range c.sessions {
		st := s.Stats()
		assert.EqualValues(t, stepsBefore, st.Drafts)
		assert.EqualValues(t, stepsBefore*guessesPerStep, st.Hits, "the target's actions are all new, so these are the guesses")
		assert.EqualValues(t, stepsBefore*guessesPerStep, st.Ahead)
	}
	assert.Equal(t, n, c.point.Sessions)
	assert.Less(t, c.point.Goroutines, n, "none for a session")
}

func TestScaleComparesTheLastPointWithTheFirst(t *testing.T) {
	r, err := Scale(t.Context(), ScaleConfig{Sessions: []int{5, 20}, Rounds: 1})
	require.NoError(t, err)
	require.Len(t, r.Points, 2)
	for i, n := range []int{5, 20} {
		assert.Equal(t, n, r.Points[i].Sessions)
		assert.Positive(t, r.Points[i].NSPerStep)
	}
	assert.InDelta(t, r.Points[1].NSPerStep/r.Points[0].NSPerStep, r.Growth, 0.01)

	var text strings.Builder
	require.NoError(t, (&ScaleReport{Points: []ScalePoint{{BytesPerIdleSession: 5000}}, Growth: 1.5}).WriteTable(&text))
	assert.Contains(t, text.String(), "bar 4096: MISSED")
	assert.Contains(t, text.String(), "bar 1.5: kept")
}
