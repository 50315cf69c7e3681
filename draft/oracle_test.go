package draft_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/draft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// walk is a state at a step of an item: the goal is the item.
func walk(item string, step int) actions.State[actions.View] {
	s := looking(item, menu...)
	for range step {
		s.Steps = append(s.Steps, s.Steps[0])
	}
	return s
}

// right is what the oracle of these tests holds for the target's next action.
func right(s actions.State[actions.View]) (item string, step int, next actions.Action, ok bool) {
	step = len(s.Steps) - 1
	return s.Goal, step, menu[step%len(menu)].Action, true
}

func oracleConfig(p float64, seed uint64) draft.OracleConfig[actions.View] {
	return draft.OracleConfig[actions.View]{View: itself, Next: right, P: p, Seed: seed}
}

func oracle(t testing.TB, p float64, seed uint64) actions.Predictor[actions.View] {
	t.Helper()
	predictor, err := draft.Oracle(oracleConfig(p, seed))
	require.NoError(t, err)
	return predictor
}

// rankOf returns where the right guess stands, or -1.
func rankOf(t testing.TB, p actions.Predictor[actions.View], s actions.State[actions.View]) int {
	_, _, next, _ := right(s)
	return slices.Index(guessed(t, p, s), next)
}

func TestOracleIsRightAsOftenAsItIsToldAtEachRankOfEveryStep(t *testing.T) {
	const seeds = 100
	weights := []float64{0.75, 0.06, 0.023}
	for _, p := range []float64{0, 0.3, 0.5, 0.7, 1} {
		for item := range 5 {
			for step := range 6 {
				s := walk(fmt.Sprint("item", item), step)
				count := make(map[int]int)
				for seed := range uint64(seeds) {
					count[rankOf(t, oracle(t, p, seed+1), s)]++
				}
				assert.InDelta(t, seeds*p, seeds-count[-1], 3, "a binomial draw would stray by ten")
				for rank, w := range weights {
					assert.InDelta(t, seeds*p*w/0.833, count[rank], 3)
				}
			}
		}
	}
}

func TestOracleIsStratifiedForFewSeedsToo(t *testing.T) {
	for _, k := range []uint64{5, 8, 13, 20} {
		for step := range 20 {
			hits := 0
			for seed := range k {
				if rankOf(t, oracle(t, 0.6, 7+seed), walk("item", step)) >= 0 {
					hits++
				}
			}
			assert.InDelta(t, 0.6*float64(k), hits, 1.7, "%d seeds, step %d", k, step)
		}
	}
}

func TestOracleDrawsStepsIndependently(t *testing.T) {
	const n = 4000
	hits, both := 0, 0
	before := false
	for i := range n {
		hit := rankOf(t, oracle(t, 0.5, 1), walk(fmt.Sprint("item", i/4), i%4)) >= 0
		if hit {
			hits++
		}
		if hit && before {
			both++
		}
		before = hit
	}
	assert.InDelta(t, 0.5, float64(hits)/n, 4*math.Sqrt(0.25/n))
	assert.InDelta(t, 0.25, float64(both)/n, 0.04)
}

func TestOracleRepeatsItsVerdict(t *testing.T) {
	for step := range 30 {
		s := walk("item", step)
		first := guesses(t, oracle(t, 0.5, 3), s)
		require.Equal(t, first, guesses(t, oracle(t, 0.5, 3), s))

		s.Session, s.Scope = 99, "another arm"
		s.Steps[len(s.Steps)-1].Observation.Choices = slices.Clone(menu[:4])
		_, _, next, _ := right(s)
		had := slices.ContainsFunc(first, func(p actions.Prediction) bool { return p.Action == next })
		assert.Equal(t, had, rankOf(t, oracle(t, 0.5, 3), s) >= 0, "the page does not matter")
	}
}

func TestOracleGuessesDistinctChoicesInView(t *testing.T) {
	for step := range 50 {
		for seed := range uint64(10) {
			s := walk("item", step)
			all := guesses(t, oracle(t, 0.7, seed), s)
			require.Len(t, all, 3)
			seen := make(map[actions.Action]bool)
			for _, guess := range all {
				assert.Equal(t, "oracle", guess.Source)
				assert.False(t, seen[guess.Action])
				seen[guess.Action] = true
				assert.True(t, slices.ContainsFunc(menu, func(c actions.Choice) bool { return c.Action == guess.Action }))
			}
		}
	}
}

func TestOracleKeepsItsVerdictOnPagesWithFewChoices(t *testing.T) {
	for seed := range uint64(200) {
		s := walk("item", 2)
		want := rankOf(t, oracle(t, 0.5, seed), s) >= 0
		s.Steps[2].Observation.Choices = menu[:1]
		assert.Equal(t, want, rankOf(t, oracle(t, 0.5, seed), s) >= 0)
		s.Steps[2].Observation.Choices = nil
		s.Steps[2].Observation.Title = "a dead end"
		assert.Equal(t, want, rankOf(t, oracle(t, 0.5, seed), s) >= 0)
	}
}

func TestOracleTakesOtherRanksAndMoreGuesses(t *testing.T) {
	cfg := oracleConfig(1, 1)
	cfg.Ranks, cfg.N = []float64{0, 0, 2}, 5
	p, err := draft.Oracle(cfg)
	require.NoError(t, err)
	all := guesses(t, p, walk("item", 3))
	require.Len(t, all, 5)
	assert.Equal(t, menu[3].Action, all[2].Action)
	assert.Equal(t, []float64{0, 0, 1, 0, 0}, []float64{all[0].Confidence, all[1].Confidence,
		all[2].Confidence, all[3].Confidence, all[4].Confidence})
}

func TestOracleHasNoGuessWhereNothingFollows(t *testing.T) {
	cfg := oracleConfig(1, 1)
	cfg.Next = func(actions.State[actions.View]) (string, int, actions.Action, bool) {
		return "", 0, actions.Action{}, false
	}
	p, err := draft.Oracle(cfg)
	require.NoError(t, err)
	assert.Empty(t, guesses(t, p, walk("item", 0)))
}

func TestOracleRefusesAConfigThatMeansNothing(t *testing.T) {
	for name, spoil := range map[string]func(*draft.OracleConfig[actions.View]){
		"no view":            func(c *draft.OracleConfig[actions.View]) { c.View = nil },
		"no next":            func(c *draft.OracleConfig[actions.View]) { c.Next = nil },
		"P above 1":          func(c *draft.OracleConfig[actions.View]) { c.P = 1.1 },
		"P below 0":          func(c *draft.OracleConfig[actions.View]) { c.P = -0.1 },
		"P not a number":     func(c *draft.OracleConfig[actions.View]) { c.P = math.NaN() },
		"fewer than ranks":   func(c *draft.OracleConfig[actions.View]) { c.N = 2 },
		"negative N":         func(c *draft.OracleConfig[actions.View]) { c.N = -1 },
		"no ranks":           func(c *draft.OracleConfig[actions.View]) { c.Ranks = []float64{} },
		"ranks without sum":  func(c *draft.OracleConfig[actions.View]) { c.Ranks = []float64{0} },
		"negative rank":      func(c *draft.OracleConfig[actions.View]) { c.Ranks = []float64{2, -1} },
		"rank not a number":  func(c *draft.OracleConfig[actions.View]) { c.Ranks = []float64{math.NaN()} },
		"rank without bound": func(c *draft.OracleConfig[actions.View]) { c.Ranks = []float64{math.Inf(1)} },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := oracleConfig(0.5, 1)
			spoil(&cfg)
			_, err := draft.Oracle(cfg)
			assert.ErrorContains(t, err, "draft: ")
		})
	}
}

func TestRandomDrawsDistinctChoicesThatDependOnTheStateAlone(t *testing.T) {
	p := draft.Random(itself, 1, 3)
	s := walk("item", 2)
	all := guesses(t, p, s)
	require.Len(t, all, 3)
	seen := make(map[actions.Action]bool)
	for _, guess := range all {
		assert.Equal(t, "random", guess.Source)
		assert.False(t, seen[guess.Action])
		seen[guess.Action] = true
	}
	assert.Equal(t, all, guesses(t, p, s))
	assert.Len(t, guesses(t, draft.Random(itself, 1, 100), s), len(menu))
	assert.Empty(t, guesses(t, draft.Random(itself, 1, -1), s))
	assert.Empty(t, guesses(t, p, actions.State[actions.View]{}))
}

func TestRandomGuessesEveryChoiceEquallyOften(t *testing.T) {
	const seeds = 7000
	count := make(map[actions.Action]int)
	for seed := range uint64(seeds) {
		for _, a := range guessed(t, draft.Random(itself, seed, 1), walk("item", 0)) {
			count[a]++
		}
	}
	for _, c := range menu {
		assert.InDelta(t, seeds/len(menu), count[c.Action], 150)
	}
}
