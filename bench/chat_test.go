package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// guesser is a model that guesses what is nearest to the goal, and an address
// that it made up.
func guesser(llmsim.Request) llmsim.Answer {
	return llmsim.Answer{Text: `{"actions":[{"choice":1},{"tool":"visit","arguments":{"url":"https://evil.example/"}},{"choice":2},{"choice":3}]}`}
}

// modelled starts a model and lets the environment name it.
func modelled(t *testing.T, opts llmsim.Options) *llmsim.Server {
	t.Helper()
	sim := llmsim.New(opts)
	at, err := sim.Listen()
	require.NoError(t, err)
	t.Cleanup(at.Close)
	t.Setenv("OPENAI_BASE_URL", at.URL)
	t.Setenv("OPENAI_API_KEY", opts.Key)
	return sim
}

// replayed runs the command and returns its JSON.
func replayed(t *testing.T, args ...string) map[string]any {
	t.Helper()
	code, stdout, stderr := call(t, append([]string{"replay", "-json"}, args...)...)
	require.Zero(t, code, stderr)
	var report map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	return report
}

func TestAModelIsAskedOnceAboutEachClick(t *testing.T) {
	sim := modelled(t, llmsim.Options{Answer: guesser, Key: "sk-secret", Latency: llmsim.Latency{Base: 5 * time.Millisecond}})
	report := replayed(t, "-profile", "none", "-draft", "chat:tiny")
	assert.Equal(t, "chat:tiny", report["draft"])
	assert.Equal(t, report["steps"], report["draft_calls"])
	stats := sim.Stats()
	assert.EqualValues(t, stats.Requests-1, report["draft_calls"], "the first one tries whether there is a model")
	used := report["draft_tokens"].(float64)
	assert.Less(t, used, float64(stats.PromptTokens+stats.OutputTokens))
	assert.Greater(t, used, float64(stats.PromptTokens+stats.OutputTokens)/2)
	assert.Equal(t, map[string]any{"composed address": report["steps"]}, report["draft_dropped"])
	assert.NotContains(t, report, "draft_failed")
	assert.Greater(t, report["accuracy_at_n"], 0.3)
}

func TestAModelsGuessesRunAheadAndItsTimeIsTheDrafts(t *testing.T) {
	modelled(t, llmsim.Options{Answer: guesser, Latency: llmsim.Latency{Base: 10 * time.Millisecond}})
	report := replayed(t, "-profile", "paper", "-scale", "0.05", "-steps", "4", "-draft", "chat", "-arms", "off,spec")
	assert.Equal(t, "chat:gpt-4.1-mini", report["draft"])
	assert.Equal(t, report["steps"], report["draft_calls"], "what was in time is not asked again")
	spec := report["arms"].(map[string]any)["spec"].(map[string]any)
	assert.Positive(t, spec["ahead"])
	assert.EqualValues(t, 0, report["lost"])
	assert.EqualValues(t, 0, spec["wrong_observations"])
	assert.InDelta(t, 1, report["efficiency"], 0.5)
}

func TestTheTableTellsWhatAModelCosts(t *testing.T) {
	modelled(t, llmsim.Options{Answer: guesser})
	code, stdout, stderr := call(t, "replay", "-profile", "none", "-draft", "chat")
	require.Zero(t, code, stderr)
	for _, text := range []string{"accuracy@3", "the model\n", "per step, prompts included", "composed address", "asked about each click afterwards"} {
		assert.Contains(t, stdout, text)
	}
	code, stdout, stderr = call(t, "replay", "-profile", "paper", "-scale", "0.05", "-steps", "1", "-draft", "chat")
	require.Zero(t, code, stderr)
	for _, text := range []string{"the profile's draft time is not added", "one real second of the model counts as 20"} {
		assert.Contains(t, stdout, text)
	}
}

func TestTheTableSaysWhatWasDroppedAndIfThatIsNothing(t *testing.T) {
	said := func(text string) string {
		modelled(t, llmsim.Options{Answer: func(llmsim.Request) llmsim.Answer { return llmsim.Answer{Text: text} }})
		code, stdout, stderr := call(t, "replay", "-profile", "none", "-draft", "chat", "-steps", "2")
		require.Zero(t, code, stderr)
		return stdout
	}
	assert.Regexp(t, `(?m)^dropped +none`, said(`{"actions":[{"choice":1}]}`))
	stdout := said(`{"actions":[{"choice":1},{"choice":1},{"choice":-1}]}`)
	assert.Regexp(t, `(?m)^dropped +2 +duplicate$`, stdout)
	assert.Regexp(t, `(?m)^dropped +2 +choice out of range$`, stdout)
	assert.NotContains(t, stdout, "none  of")
}

func TestADraftThatFailsInTheMiddleIsCountedByItsClass(t *testing.T) {
	sim := modelled(t, llmsim.Options{Answer: guesser})
	sim.Push(guesser(llmsim.Request{}), llmsim.Limited(""), llmsim.Failed(500))
	report := replayed(t, "-profile", "none", "-draft", "chat")
	assert.Equal(t, map[string]any{"rate limit": 1.0, "server": 1.0}, report["draft_failed"])
}

func TestAnEndpointThatDoesNotWorkEndsTheReplayAndSaysWhy(t *testing.T) {
	modelled(t, llmsim.Options{Key: "sk-secret", Models: map[string]llmsim.Model{"tiny": {}}})
	for _, c := range []struct{ key, model, says string }{
		{"sk-wrong", "tiny", "key was refused"},
		{"sk-secret", "huge", "huge"},
	} {
		t.Setenv("OPENAI_API_KEY", c.key)
		code, stdout, stderr := call(t, "replay", "-draft", "chat:"+c.model)
		assert.Equal(t, 1, code, c.says)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, fmt.Sprintf("replay: chat:%s: ", c.model))
		assert.Contains(t, stderr, c.says)
		assert.NotContains(t, stderr, "sk-")
	}
}

func TestAModelNeedsAnEndpointAndItsOwnTime(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", "")
	t.Setenv("OPENAI_API_KEY", "")
	code, _, stderr := call(t, "replay", "-draft", "chat")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "set OPENAI_API_KEY")
	t.Setenv("OPENAI_API_KEY", "sk-any")
	code, _, stderr = call(t, "replay", "-draft", "chat", "-profile", "slow-draft")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "takes the time that it takes")
	code, _, _ = call(t, "replay", "-draft", "chat:")
	assert.Equal(t, 2, code)
}
