package target_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	openai "github.com/sashabaranov/go-openai"
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

// said returns the versions of replies that were served by models of those
// names.
func said(t *testing.T, cfg target.ChatConfig, names ...string) (versions []string) {
	t.Helper()
	client := &player{model: func(n int) string { return names[n-1] }}
	client.reply = func(int, openai.ChatCompletionRequest) (m openai.ChatCompletionMessage, err error) { return m, nil }
	cfg.Model = "m"
	chat := target.NewChat(client, cfg)
	for range names {
		reply, err := ask(t.Context(), chat, hello...)
		require.NoError(t, err)
		versions = append(versions, reply.Version)
	}
	return versions
}

func TestAReplyWithoutAModelNameIsNoChangeOfTheVersion(t *testing.T) {
	assert.Equal(t, []string{"m/", "m/june", "m/june", "m/june", "m/june"}, said(t, target.ChatConfig{}, "", "june", "", "june", ""))
	assert.Equal(t, []string{"m/", "m/"}, said(t, target.ChatConfig{}, "", ""), "another model's is another version")
	assert.Equal(t, []string{"mine/"}, said(t, target.ChatConfig{Version: func(r target.Reply) string { return "mine/" + r.Model }}, ""))
}

func TestNamesThatTakeTurnsCountOnceEach(t *testing.T) {
	var turns, want []string
	for range 20 {
		turns = append(turns, "june", "july", "june", "june")
		want = append(want, "m/july", "m/july", "m/july", "m/july")
	}
	want[0] = "m/june"
	assert.Equal(t, want, said(t, target.ChatConfig{}, turns...))
}

func TestNamesThatTakeTurnsLoseNoHitOnceEachWasThere(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		var replies []llmsim.Answer
		for range 6 {
			replies = append(replies, llmsim.Answer{Model: "june"}, llmsim.Answer{Model: "july"})
		}
		steps := k.visits(t, "", replies...)
		assert.Equal(t, speccache.ReasonModelVersion, steps[1].Result.Reason, "it may be an upgrade")
		for _, step := range steps[2:] {
			assert.Equal(t, speccache.Hit, step.Result.Outcome)
		}
		assert.EqualValues(t, 1, k.versionsCounted())
	})
}

func TestAModelThatReturnsForGoodCountsAgainAfterEightReplies(t *testing.T) {
	names := append([]string{"june", "july"}, slices.Repeat([]string{"june"}, 9)...)
	want := append(append([]string{"m/june"}, slices.Repeat([]string{"m/july"}, 8)...), "m/june", "m/june")
	assert.Equal(t, want, said(t, target.ChatConfig{}, names...))
	names[5] = "" // is nothing for or against
	want[9] = "m/july"
	assert.Equal(t, want, said(t, target.ChatConfig{}, names...))
}

func TestAnUpgradeCountsWhileNamesTakeTurns(t *testing.T) {
	assert.Equal(t, []string{"m/june", "m/july", "m/july", "m/august", "m/august", "m/august"},
		said(t, target.ChatConfig{}, "june", "july", "june", "august", "july", "august"))
}

func TestAVersionIsShortAndStillTellsLongNamesApart(t *testing.T) {
	long := strings.Repeat("ü", 1<<20)
	for _, cfg := range []target.ChatConfig{{}, {FingerprintVersions: true}, {Version: func(r target.Reply) string { return "mine/" + r.Model }}} {
		versions := said(t, cfg, long+"1", long+"2", long+"2")
		for _, v := range versions {
			assert.LessOrEqual(t, len(v), 256)
			assert.True(t, utf8.ValidString(v))
			assert.Contains(t, v, "/üüü")
		}
		assert.NotEqual(t, versions[0], versions[1])
		assert.Equal(t, versions[1], versions[2])
	}
}

func TestAHostThatStatesTheVersionKeepsItWhereRepliesSayNothing(t *testing.T) {
	agent(t, thinks, func(t *testing.T, k *kit) {
		k.session = k.cache.Open(speccache.SessionConfig[*web.Page]{Goal: question, ModelVersion: "the host's"})
		t.Cleanup(func() { _ = k.session.Close() })
		k.session.Observe(t.Context(), k.home)
		k.loop.Session = k.session
		k.chat.Version = func(target.Reply) string { return "" }
		result, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		assert.Equal(t, speccache.Hit, result.Steps[0].Result.Outcome, "what ran ahead before the first reply")
		assert.Zero(t, k.versionsCounted())
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
