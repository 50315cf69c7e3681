package llm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/internal/llm"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a real llama-server sends, but for the ID.
const (
	llamaRole  = `{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1796068328,"id":"chatcmpl-I0Ow","model":"smollm2-135m-instruct","system_fingerprint":"b1-0c1e570","object":"chat.completion.chunk"}`
	llamaText  = `{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"one"}}],"created":1796068328,"id":"chatcmpl-I0Ow","model":"smollm2-135m-instruct","system_fingerprint":"b1-0c1e570","object":"chat.completion.chunk"}`
	llamaStop  = `{"choices":[{"finish_reason":"stop","index":0,"delta":{}}],"created":1796068328,"id":"chatcmpl-I0Ow","model":"smollm2-135m-instruct","system_fingerprint":"b1-0c1e570","object":"chat.completion.chunk"}`
	llamaUsage = `{"choices":[],"created":1796068328,"id":"chatcmpl-I0Ow","model":"smollm2-135m-instruct","system_fingerprint":"b1-0c1e570","object":"chat.completion.chunk","usage":{"completion_tokens":49,"prompt_tokens":1561,"total_tokens":1610,"prompt_tokens_details":{"cached_tokens":111}},"timings":{"cache_n":111,"prompt_n":1450,"prompt_ms":18500.373,"prompt_per_token_ms":12.758877931034483,"prompt_per_second":78.37679813266469,"predicted_n":49,"predicted_ms":24142.452,"predicted_per_token_ms":502.96775,"predicted_per_second":1.988199044570949}}`
	llamaPing  = ":\n\n" // while it reads a long prompt
	llamaError = `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`
)

func TestTheStreamOfARealLlamaServerIsUnderstood(t *testing.T) {
	usage := actions.Usage{Calls: 1, PromptTokens: 1561, CachedTokens: 111, OutputTokens: 49}
	for name, c := range map[string]struct {
		body  string
		usage actions.Usage
	}{
		"as it is":       {llamaPing + sse(llamaRole) + llamaPing + sse(llamaText, llamaStop, llamaUsage, "[DONE]"), usage},
		"without a role": {sse(llamaText, llamaStop, llamaUsage, "[DONE]"), usage},
		"without usage":  {sse(llamaRole, llamaText, llamaStop, "[DONE]"), actions.Usage{Calls: 1}},
		"without [DONE]": {sse(llamaRole, llamaText, llamaStop, llamaUsage), usage},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := collect(t.Context(), canned(200, "text/event-stream", c.body), ask("m", "what?"))
			require.NoError(t, err)
			assert.Equal(t, "one", a.Text)
			assert.Equal(t, "smollm2-135m-instruct", a.Model)
			assert.Equal(t, "b1-0c1e570", a.Fingerprint)
			assert.Equal(t, c.usage, a.Usage)
		})
	}
}

func TestALlamaServerThatStopsInTheMiddleIsNoWholeAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want llm.Class
	}{
		"after headers":        {"", llm.Truncated},
		"after a sign of life": {llamaPing + llamaPing, llm.Truncated},
		"after both":           {sse(llamaRole, llamaText) + llamaPing, llm.Truncated},
		"in a sign of life":    {sse(llamaRole, llamaText) + ":", llm.Truncated},
		"with an error":        {sse(llamaRole, llamaText, llamaError), llm.TooLong},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := collect(t.Context(), canned(200, "text/event-stream", c.body), ask("m", "what?"))
			failed(t, c.want, err)
			assert.Empty(t, a.Finish)
			assert.Equal(t, strings.Contains(c.body, "one"), a.Text == "one", "what came is there")
		})
	}
}

func TestACallWhoseNameAndIDAreInEachPieceIsOne(t *testing.T) {
	piece := func(args string) string {
		return `{"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"visit","arguments":` + args + `}}]},"finish_reason":null}]}`
	}
	body := sse(llamaRole, piece(`""`), piece(`"{\"url\":"`), piece(`"\"/one\"}"`), strings.Replace(llamaStop, "stop", "tool_calls", 1), "[DONE]")
	a, err := collect(t.Context(), canned(200, "text/event-stream", body), ask("m", "what?"))
	require.NoError(t, err)
	assert.Equal(t, []llm.Call{{ID: "x", Name: "visit", Args: `{"url":"/one"}`}}, a.Calls)
	assert.Empty(t, a.Dropped)
}

// A server with one slot says nothing, not even its headers, to whom is next.
func TestWhoWaitsForTheOnlySlotGivesUpAtItsDeadline(t *testing.T) {
	both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
		opts := llmsim.Options{Latency: llmsim.Latency{Base: 5 * time.Minute}, Capacity: llmsim.Capacity{Slots: 1}}
		piped(t, opts, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
			client := seen(at.Client())
			first := make(chan error, 1)
			go func() {
				_, err := collect(t.Context(), client, ask("m", "long"))
				first <- err
			}()
			began := time.Now()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			time.Sleep(time.Second) // so that the other one is first
			_, err := collect(ctx, client, ask("m", "what?"))
			failed(t, llm.Timeout, err)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, time.Minute, time.Since(began))
			require.NoError(t, <-first)
			_, err = collect(t.Context(), client, ask("m", "what?"))
			require.NoError(t, err, "the slot is free again")
			assert.Equal(t, 1, sim.Stats().Abandoned)
		})
	})
}
