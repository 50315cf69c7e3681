package target_test

import (
	"testing"

	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/speccache/speccache-go/speccache"
	"github.com/speccache/speccache-go/target"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// visits makes the model visit one page in each of a number of replies, served
// as given, and returns what the steps were.
func (k *kit) visits(t *testing.T, scope string, replies ...llmsim.Answer) (steps []target.Step[*web.Page]) {
	t.Helper()
	for _, r := range replies {
		r.Calls = []llmsim.Call{{Name: "visit", Args: `{"url":"` + root + `way"}`}}
		k.sim.Push(r)
	}
	k.sim.Push(llmsim.Answer{Text: "done", Model: replies[len(replies)-1].Model, Fingerprint: replies[len(replies)-1].Fingerprint})
	loop := *k.ready()
	loop.Session = k.open(t, scope)
	loop.Steps = len(replies)
	result, err := loop.Answer(t.Context(), question, k.home)
	require.NoError(t, err)
	require.Len(t, result.Steps, len(replies))
	return result.Steps
}

func (k *kit) versionsCounted() int64 { return k.cache.Stats().ModelVersions }

func TestAnUpgradeBehindTheSameAliasMakesOlderEntriesAMiss(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		steps := k.visits(t, "team", llmsim.Answer{Model: "m-june"}, llmsim.Answer{Model: "m-june"},
			llmsim.Answer{Model: "m-july"}, llmsim.Answer{Model: "m-july"})
		assert.Equal(t, speccache.Miss, steps[0].Result.Outcome)
		assert.Equal(t, speccache.Hit, steps[1].Result.Outcome)
		assert.Equal(t, speccache.Miss, steps[2].Result.Outcome)
		assert.Equal(t, speccache.ReasonModelVersion, steps[2].Result.Reason)
		assert.Equal(t, speccache.Hit, steps[3].Result.Outcome)

		later := k.visits(t, "team", llmsim.Answer{Model: "m-august"})
		assert.Equal(t, speccache.ReasonModelVersion, later[0].Result.Reason, "in another session too")
	})
}

func TestWhatRanAheadBeforeTheFirstReplyIsServedAfterIt(t *testing.T) {
	agent(t, thinks, func(t *testing.T, k *kit) {
		result, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		assert.Equal(t, speccache.Hit, result.Steps[0].Result.Outcome)
		assert.Zero(t, k.versionsCounted())
	})
}

func TestAlternatingFingerprintsLoseNoHit(t *testing.T) {
	for _, counts := range []bool{false, true} {
		agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
			k.chat.FingerprintVersions = counts
			var replies []llmsim.Answer
			for range 4 {
				replies = append(replies, llmsim.Answer{Fingerprint: "a"}, llmsim.Answer{Fingerprint: "b"})
			}
			steps := k.visits(t, "", replies...)
			for _, step := range steps[1:] {
				assert.Equal(t, speccache.Hit, step.Result.Outcome)
			}
			assert.Zero(t, k.versionsCounted())
		})
	}
}

func TestAFingerprintCountsOnlyByOptionAndAfterThreeInARow(t *testing.T) {
	fp := func(names string) (replies []llmsim.Answer) {
		for _, name := range names {
			replies = append(replies, llmsim.Answer{Fingerprint: string(name)})
		}
		return replies
	}
	for names, misses := range map[string][]int{
		"aabbaabb": {0},
		"aaaaabab": {0, 2},    // a counts with the third reply, and b never does
		"aaabbbaa": {0, 2, 5}, // b does with its third
	} {
		agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
			k.visits(t, "", fp(names)...)
			assert.Zero(t, k.versionsCounted(), "without the option")
		})
		agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
			k.chat.FingerprintVersions = true
			var missed []int
			for i, step := range k.visits(t, "", fp(names)...) {
				if step.Result.Outcome == speccache.Miss {
					missed = append(missed, i)
				}
			}
			assert.Equal(t, misses, missed, names)
		})
	}
}

func TestTwoTenantsOnTwoModelsLoseNoHit(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		for i := range 3 {
			for _, model := range []string{"small", "large"} {
				k.chat.Model = model
				steps := k.visits(t, "shared", llmsim.Answer{})
				want := speccache.Hit
				if i == 0 {
					want = speccache.Miss
				}
				assert.Equal(t, want, steps[0].Result.Outcome, "%s, session %d", model, i)
			}
		}
		assert.Zero(t, k.versionsCounted())
	})
}

func TestAFallbackNeverSetsTheModelVersion(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		k.chat.Version = func(r target.Reply) string {
			if r.Model == "fallback" {
				return ""
			}
			return "mine/" + r.Model
		}
		steps := k.visits(t, "", llmsim.Answer{}, llmsim.Answer{Model: "fallback"}, llmsim.Answer{})
		assert.Equal(t, speccache.Hit, steps[1].Result.Outcome)
		assert.Equal(t, speccache.Hit, steps[2].Result.Outcome)
		assert.Zero(t, k.versionsCounted())
	})
}

func TestTheFingerprintOfAReplyIsTold(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		k.sim.Push(llmsim.Answer{Text: "done", Fingerprint: "fp_9"})
		var told []string
		for e, err := range k.ready().Run(t.Context(), question, k.home) {
			require.NoError(t, err)
			if e.Reply != nil {
				told = append(told, e.Reply.Fingerprint)
			}
		}
		assert.Equal(t, []string{"fp_9"}, told)
	})
}
