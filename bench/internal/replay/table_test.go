package replay

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func tableOf(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.WriteTable(&b))
	return b.String()
}

func TestTheTableExplainsAnEfficiencyAbove1AndClaimsNoLimitThatIsBeaten(t *testing.T) {
	const why = "Efficiency is above 1 where a page was guessed at an earlier step"
	r := someReport(t, AllArms...)
	for efficiency, explained := range map[Number]bool{0.8: false, 1.01: false, 1.03: true, 1.2: true, missing: false} {
		r.Efficiency = efficiency
		text := tableOf(t, r)
		assert.Equal(t, explained, strings.Contains(text, why), efficiency)
		for _, claim := range []string{"perfect", "at most", "could reach"} {
			assert.NotContains(t, text, claim)
		}
	}
	r.Profile, r.Efficiency = None, 5
	assert.NotContains(t, tableOf(t, r), why)
	assert.Contains(t, tableOf(t, r), "noise")
}

func TestTheTableLeavesOutWhatHasNoValue(t *testing.T) {
	text := tableOf(t, someReport(t, Spec))
	for _, name := range []string{"env_reduction", "speedup", "saved"} {
		assert.NotContains(t, text, name)
	}
	assert.Contains(t, text, "accuracy@3")
	text = tableOf(t, someReport(t, Cache, Spec))
	assert.Contains(t, text, "env_reduction_vs_cache")
	assert.NotContains(t, text, "env_reduction ")
	assert.Contains(t, tableOf(t, someReport(t, AllArms...)), "1 resident step left out")
}

func TestTheHeaderSaysHowMuchOfTheItemsIsWalked(t *testing.T) {
	cfg := DefaultConfig()
	for want, s := range map[string]setup{
		"6 items, 1 seed, 19 clicks in all":                                {cfg: cfg, steps: 19},
		"1 of 6 items (1 of 19 clicks), 1 seed, 1 click in all":            {cfg: cfg, steps: 1},
		"2 of 6 items (5 of 19 clicks), 1 seed, 5 clicks in all":           {cfg: cfg, steps: 5},
		"6 items (19 clicks, repeated up to 45), 1 seed, 45 clicks in all": {cfg: cfg, steps: 45},
	} {
		assert.Equal(t, want, s.walk().String())
	}
	cfg.Seeds = 3
	s := setup{cfg: cfg, steps: 19}
	assert.Equal(t, "6 items, 3 seeds, 57 clicks in all", s.walk().String())
}

func TestARunSaysAtItsStartHowLongItTakes(t *testing.T) {
	cfg := DefaultConfig()
	s := setup{cfg: cfg, steps: 19, scale: 0.02, agents: 24}
	s.cfg.Profile = Paper
	once := s.expected()
	assert.InDelta(t, 0.02*(19*(19.5+8.26)+6*8.26), once.Seconds(), 0.1)
	s.cfg.Seeds = 16 // eight of them at a time
	assert.Equal(t, 2*once, s.expected())
	s.cfg.Profile = None
	assert.Zero(t, s.expected())

	told := 0
	cfg.Profile, cfg.Steps = None, 2
	cfg.Begun = func(w Walk, takes time.Duration) {
		told++
		assert.Equal(t, 2, w.Clicks)
		assert.Zero(t, takes)
	}
	_, err := Run(t.Context(), cfg)
	require.NoError(t, err)
	assert.Equal(t, 1, told)
}

func TestAStepThatIsWalkedAgainIsAsWellGuessedAsBefore(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Profile, cfg.Steps = None, 2*19
	r, err := Run(t.Context(), cfg)
	require.NoError(t, err)
	assert.LessOrEqual(t, r.Clicks.Wrong, 2, "one click of the built-in items is not foreseen")
}
