package llm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/internal/llm"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	begins = `{"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	says1  = `{"model":"m","choices":[{"index":0,"delta":{"content":"one"},"finish_reason":null}]}`
	stops  = `{"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
)

// long is more than any buffer holds.
var long = strings.Repeat("data: ", 30000)

// sse is a stream of events.
func sse(events ...string) string {
	return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
}

func TestAStreamIsCompleteOnlyWithAFinishReason(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want llm.Class
	}{
		"complete":                {sse(begins, says1, stops, "[DONE]"), ""},
		"without [DONE]":          {sse(begins, says1, stops), ""},
		"without a last newline":  {strings.TrimSpace(sse(begins, says1, stops, "[DONE]")), ""},
		"CRLF":                    {strings.ReplaceAll(sse(begins, says1, stops, "[DONE]"), "\n", "\r\n"), ""},
		"with other fields":       {"event: message\nid: 1\nretry: 5\n" + sse(begins, says1, stops, "[DONE]"), ""},
		"long lines":              {": " + long + "\n" + sse(begins, strings.Replace(says1, `"m"`, `"m","x":"`+long+`"`, 1), stops), ""},
		"a whole answer":          {`{"choices":[{"message":{"content":"one"},"finish_reason":"stop"}]}`, llm.Truncated},
		"without a finish reason": {sse(begins, says1, "[DONE]"), llm.Truncated},
		"cut":                     {sse(begins, says1), llm.Truncated},
		"cut in a line":           {sse(begins, says1) + `data: {"choices":[{"del`, llm.Truncated},
		"cut in an event":         {sse(begins, says1, `{"choices":[{"del`), llm.Truncated},
		"nothing":                 {"", llm.Truncated},
		"only [DONE]":             {sse("[DONE]"), llm.Truncated},
		"garbage":                 {sse(begins, says1, "I am no JSON", stops, "[DONE]"), llm.Garbled},
		"wrong types":             {sse(begins, says1, `{"choices":7}`, stops, "[DONE]"), llm.Garbled},
		"an error":                {sse(begins, says1, `{"error":{"message":"Overloaded"}}`), llm.Overloaded},
		"a spaced error":          {sse(begins, says1, `{ "error" : {"message":"Overloaded"}}`), llm.Overloaded},
		"a flat error":            {sse(begins, says1, `{"object":"error","message":"context length exceeded"}`), llm.TooLong},
		"an error as an ending":   {sse(begins, says1, strings.Replace(stops, "stop", "error", 1), "[DONE]"), llm.Server},
	} {
		for _, kind := range []string{"text/event-stream; charset=utf-8", "text/plain", ""} {
			t.Run(name+", "+kind, func(t *testing.T) {
				a, err := collect(t.Context(), canned(200, kind, c.body), ask("m", "what?"))
				if c.want == "" {
					require.NoError(t, err)
					assert.Equal(t, "one", a.Text)
					assert.Equal(t, "stop", a.Finish)
					assert.Equal(t, "m", a.Model)
					return
				}
				failed(t, c.want, err)
				assert.Empty(t, a.Finish)
			})
		}
	}
}

func TestThoughtsHaveTwoNames(t *testing.T) {
	for _, field := range []string{"reasoning", "reasoning_content"} {
		a, err := collect(t.Context(), canned(200, "text/event-stream", sse(strings.Replace(says1, "content", field, 1), stops)), ask("m", "what?"))
		require.NoError(t, err)
		assert.Equal(t, "one", a.Reasoning)
		assert.Empty(t, a.Text)
	}
}

func TestACutOrStalledAnswerHasNoCalls(t *testing.T) {
	calls := []llmsim.Call{{Name: "visit", Args: `{"url":"/one"}`}, {Name: "visit", Args: `{"url":"/two"}`}}
	for name, fault := range map[string]llmsim.Fault{"cut": {CutAt: 7}, "stalled": {StallAt: 7, Stall: time.Hour}} {
		t.Run(name, func(t *testing.T) {
			piped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
				sim.Push(llmsim.Answer{Calls: calls, Fault: fault})
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				began := time.Now()
				a, err := collect(ctx, at.Client(), ask("m", "what?"))
				require.Error(t, err)
				assert.Contains(t, []llm.Class{llm.Truncated, llm.Timeout}, llm.Classify(err))
				assert.Empty(t, a.Calls)
				assert.LessOrEqual(t, time.Since(began), time.Minute)
			})
		})
	}
}

func TestLeavingTheLoopEndsTheRequest(t *testing.T) {
	latency := llmsim.Latency{PerOutput: time.Second}
	piped(t, llmsim.Options{Latency: latency}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		sim.Push(llmsim.Answer{Text: strings.Repeat("word", 100)})
		began := time.Now()
		for d, err := range llm.Stream(t.Context(), at.Client(), ask("m", "what?")) {
			require.NoError(t, err)
			if d.Text != "" {
				break
			}
		}
		assert.Equal(t, time.Second, time.Since(began), "nothing is waited for")
		synctest.Wait()
		assert.Equal(t, 1, sim.Stats().Abandoned, "the server knows at once")
		assert.Zero(t, sim.Stats().InFlight)
	})
}

func TestAnswersAreNotCompressed(t *testing.T) {
	piped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		_, err := collect(t.Context(), at.Client(), ask("m", "what?"))
		require.NoError(t, err)
		assert.Empty(t, last(sim).Header.Get("Accept-Encoding"))
		assert.Empty(t, last(sim).Header.Get("Idempotency-Key"))
	})
}

func TestHeadersThatDoNotComeAreATimeout(t *testing.T) {
	piped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		sim.Push(llmsim.Answer{Fault: llmsim.Fault{Hang: true}})
		client := llm.NewClientWith(at.Config(), at.HTTP(llm.HTTPConfig{HeaderTimeout: time.Minute}))
		began := time.Now()
		_, err := collect(t.Context(), client, ask("m", "what?"))
		failed(t, llm.Timeout, err)
		assert.Equal(t, time.Minute, time.Since(began))
	})
}

func TestAnEndlessAnswerIsGivenUp(t *testing.T) {
	both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
		for _, body := range []string{
			sse(begins) + "data: " + strings.Repeat("x", 1<<20),
			`{"choices":[{"message":{"content":"` + strings.Repeat("x", 1<<20),
			strings.Repeat("x", 1<<20),
		} {
			c := llm.NewClientWith(llm.Config{}, llm.Over(says{200, "", body}, llm.HTTPConfig{MaxBody: 1 << 16}))
			_, err := collect(t.Context(), seen(c), ask("m", "what?"))
			failed(t, llm.Garbled, err)
		}
	})
}

func TestAnyCompleterWillDo(t *testing.T) {
	fake := completer(func(req openai.ChatCompletionRequest) (resp openai.ChatCompletionResponse, err error) {
		if req.Stream || req.StreamOptions != nil {
			return resp, errors.New("no stream was asked for")
		}
		resp.Choices = []openai.ChatCompletionChoice{{Message: openai.ChatCompletionMessage{Content: "ok"}}}
		return resp, nil
	})
	req := ask("m", "what?")
	req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	a, err := collect(t.Context(), fake, req)
	require.NoError(t, err)
	assert.Equal(t, "ok", a.Text)
	assert.Equal(t, "stop", a.Finish)
}

type completer func(openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error)

func (f completer) CreateChatCompletion(_ context.Context, req openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error) {
	return f(req)
}

// FuzzStream reads whatever a server may send.
func FuzzStream(f *testing.F) {
	f.Add(sse(begins, says1, stops, "[DONE]"), true)
	f.Add(`{"choices":[{"message":{"content":"ok","tool_calls":[{"function":{"name":"a","arguments":"{}"}}]}}]}`, false)
	f.Add("\ufeff"+sse(`{"error":null,"created":1.5,"choices":[]}`, stops, "oops"), true)
	f.Add(`{"created":1.5,"usage":{"prompt_tokens":12.0},"choices":[{"message":{"content":"ok"}}]}`, false)
	f.Add(llmsim.ErrorBody, true)
	f.Add(": x\n\n"+llmsim.ErrorEvent+"\n\n", true)
	f.Fuzz(func(t *testing.T, body string, streams bool) {
		var client llm.Completer = canned(200, "", body)
		if !streams {
			client = whole{client}
		}
		a, err := collect(t.Context(), client, ask("m", "what?"))
		if err != nil {
			var e *llm.Error
			require.ErrorAs(t, err, &e)
			assert.Empty(t, a.Calls)
			return
		}
		assert.NotEmpty(t, a.Finish)
	})
}
