package llmsim_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/internal/llm"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ask returns a request that asks one thing.
func ask(model, what string) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{
		Model:    model,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: what}},
	}
}

// piped runs a test with a server in virtual time.
func piped(t *testing.T, opts llmsim.Options, run func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim := llmsim.New(opts)
		at := sim.Pipe()
		defer at.Close()
		run(t, sim, at)
	})
}

// looped runs a test with a server on loopback.
func looped(t *testing.T, opts llmsim.Options, run func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint)) {
	t.Helper()
	sim := llmsim.New(opts)
	at, err := sim.Listen()
	require.NoError(t, err)
	defer at.Close()
	run(t, sim, at)
}

func collect(ctx context.Context, c llm.Completer, req openai.ChatCompletionRequest) (llm.Answer, error) {
	return llm.Collect(llm.Stream(ctx, c, req))
}

func TestAnAnswerTakesBaseAndTimeForEachToken(t *testing.T) {
	latency := llmsim.Latency{Base: time.Second, PerPrompt: time.Millisecond, PerOutput: 100 * time.Millisecond}
	piped(t, llmsim.Options{Latency: latency}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		sim.Push(llmsim.Answer{Text: "four tokens here"}, llmsim.Answer{Text: "four tokens here"})
		req := ask("m", "what?")
		want := time.Second + time.Duration(llmsim.PromptTokens(req))*time.Millisecond
		began := time.Now()
		resp, err := at.Client().CreateChatCompletion(t.Context(), req)
		require.NoError(t, err)
		assert.Equal(t, "four tokens here", resp.Choices[0].Message.Content)
		assert.Equal(t, want+400*time.Millisecond, time.Since(began))

		began = time.Now()
		var first, last time.Duration
		for d, err := range llm.Stream(t.Context(), at.Client(), req) {
			require.NoError(t, err)
			if d.Text != "" && first == 0 {
				first = time.Since(began)
			}
			last = time.Since(began)
		}
		assert.Equal(t, want+100*time.Millisecond, first, "a stream begins with its first token")
		assert.Equal(t, want+400*time.Millisecond, last)
	})
}

func TestItWorksOnLoopback(t *testing.T) {
	looped(t, llmsim.Options{Key: "secret"}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		a, err := collect(t.Context(), at.Client(), ask("m", "what?"))
		require.NoError(t, err)
		assert.Equal(t, "ok", a.Text)
		assert.Equal(t, "stop", a.Finish)
		assert.Equal(t, 1, a.Usage.OutputTokens)
		assert.Equal(t, 1, sim.Stats().Answered)
	})
}
