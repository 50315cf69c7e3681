package llm_test

import (
	"testing"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/internal/llm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachFamilyHasItsEfforts(t *testing.T) {
	for model, want := range map[string]struct{ least, none, minimal, high, max string }{
		"o3":                      {"low", "low", "low", "high", "high"},
		"o4-mini-2025-04-16":      {"low", "low", "low", "high", "high"},
		"gpt-5":                   {"minimal", "minimal", "minimal", "high", "high"},
		"gpt-5-mini":              {"minimal", "minimal", "minimal", "high", "high"},
		"openai/gpt-5-mini":       {"minimal", "minimal", "minimal", "high", "high"},
		"gpt-5-codex":             {"low", "low", "low", "high", "high"},
		"gpt-5-chat-latest":       {"", "", "", "", ""},
		"gpt-5.1":                 {"none", "none", "none", "high", "xhigh"},
		"gpt-5.4-mini":            {"none", "none", "none", "high", "xhigh"},
		"gpt-6-luna":              {"none", "none", "none", "high", "max"},
		"gpt-6-astra":             {"low", "low", "low", "high", "max"},
		"gpt-4.1-mini":            {"", "", "", "", ""},
		"qwen3-8b":                {"", "none", "minimal", "high", "max"},
		"meta-llama/Llama-3.1-8B": {"", "none", "minimal", "high", "max"},
	} {
		assert.Equal(t, want.least, llm.LeastEffort(model), model)
		for asked, want := range map[string]string{"none": want.none, "minimal": want.minimal, "high": want.high, "max": want.max} {
			req := ask(model, "what?")
			req.ReasoningEffort = asked
			req, err := llm.Adapt(req)
			require.NoError(t, err)
			assert.Equal(t, want, req.ReasoningEffort, "%s of %s", asked, model)
		}
	}
}

func TestOtherModelsAreAskedForWhatTheCallerAsksFor(t *testing.T) {
	req := ask("qwen3-8b", "what?")
	req.MaxCompletionTokens, req.Temperature, req.N, req.Stop, req.Tools = 50, 0.5, 2, []string{"\n"}, tools
	got, err := llm.Adapt(req)
	require.NoError(t, err)
	assert.Equal(t, req, got)

	req.Model = "gpt-4.1-mini"
	got, err = llm.Adapt(req)
	require.NoError(t, err)
	assert.Equal(t, req, got)
}

func TestWhatAdaptReturnsPassesTheValidator(t *testing.T) {
	validator := openai.NewReasoningValidator()
	for _, model := range []string{
		"o1", "o1-mini", "o1-pro", "o3", "o3-mini", "o4-mini", "gpt-5", "gpt-5-nano", "gpt-5-pro", "gpt-5.2-pro", "gpt-5-chat-latest",
		"gpt-5.3-codex", "gpt-6-sol", "gpt-6-luna", "gpt-6-astra", "gpt-6.1-sol", "gpt-4o", "llama3",
	} {
		for _, effort := range []string{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"} {
			for _, with := range [][]openai.Tool{nil, tools} {
				req := ask(model, "what?")
				req.Tools, req.ReasoningEffort = with, effort
				req.MaxCompletionTokens, req.Temperature, req.TopP, req.N, req.LogProbs, req.TopLogProbs = 5, llm.Zero, 0.5, 3, true, 2
				req.ParallelToolCalls = false
				if req, err := llm.Adapt(req); err == nil {
					assert.NoError(t, validator.Validate(req), "%s, effort %s, %d tools", model, effort, len(with))
				} else {
					failed(t, llm.Unsupported, err)
					assert.NotEmpty(t, with, "%s: only tools can't be dropped", model)
				}
			}
		}
	}
}
