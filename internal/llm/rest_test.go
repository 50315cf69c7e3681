package llm_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/internal/llm"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const costs = `{"model":"m","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3}}`

func TestAFinishedAnswerIsCompleteWhateverComesThen(t *testing.T) {
	for name, rest := range map[string]string{
		"nothing":                "",
		"no JSON":                sse("oops"),
		"half an event":          `data: {"choices":[`,
		"wrong types":            sse(`{"choices":7}`),
		"an error":               sse(`{"error":{"message":"the usage is not known"}}`),
		"a flat error":           sse(`{"object":"error","message":"the usage is not known"}`),
		"an error as an ending":  sse(strings.Replace(stops, "stop", "error", 1)),
		"a line without an end":  "data: " + strings.Repeat("x", 1<<20),
		"the finish again":       sse(stops, stops, "[DONE]"),
		"an event behind [DONE]": sse("[DONE]", `{"error":{"message":"too late"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			a, err := collect(t.Context(), canned(200, "text/event-stream", sse(begins, says1, stops)+rest), ask("m", "what?"))
			require.NoError(t, err)
			assert.Equal(t, "one", a.Text)
			assert.Equal(t, "stop", a.Finish)
			assert.Equal(t, actions.Usage{Calls: 1}, a.Usage)
		})
	}
}

func TestABrokenConnectionBehindTheFinishCostsTheUsageOnly(t *testing.T) {
	looped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		for _, fault := range []llmsim.Fault{{CutAt: 3}, {CutAt: 3, Error: llmsim.ErrorEvent}} {
			sim.Push(llmsim.Answer{Text: "ok", Fault: fault}) // events: begin, text, finish, usage, [DONE]
			a, err := collect(t.Context(), at.Client(), ask("m", "what?"))
			require.NoError(t, err)
			assert.Equal(t, "ok", a.Text)
			assert.Equal(t, actions.Usage{Calls: 1}, a.Usage)
		}
	})
}

func TestTheRestOfAFinishedAnswerIsWaitedForThreeSeconds(t *testing.T) {
	for stall, want := range map[time.Duration]actions.Usage{
		2 * time.Second: {Calls: 1, PromptTokens: llmsim.PromptTokens(ask("m", "what?")), OutputTokens: 1},
		time.Hour:       {Calls: 1},
	} {
		piped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
			sim.Push(llmsim.Answer{Text: "ok", Fault: llmsim.Fault{StallAt: 3, Stall: stall}})
			began := time.Now()
			a, err := collect(t.Context(), at.Client(), ask("m", "what?"))
			require.NoError(t, err)
			assert.Equal(t, "ok", a.Text)
			assert.Equal(t, want, a.Usage)
			assert.Equal(t, min(stall, 3*time.Second), time.Since(began))
			synctest.Wait()
			assert.Zero(t, sim.Stats().InFlight)
		})
	}
}

func TestAContextThatEndsBehindTheFinishLeavesTheAnswerComplete(t *testing.T) {
	piped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		sim.Push(llmsim.Answer{Text: "ok", Fault: llmsim.Fault{StallAt: 3, Stall: time.Hour}})
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		a, err := collect(ctx, at.Client(), ask("m", "what?"))
		require.NoError(t, err)
		assert.Equal(t, "ok", a.Text)
	})
}

// A paced server writes each text after a second.
type paced []string

func (p paced) RoundTrip(req *http.Request) (*http.Response, error) {
	out, in := io.Pipe()
	go func() {
		for _, text := range p {
			select {
			case <-time.After(time.Second):
			case <-req.Context().Done():
				_ = in.CloseWithError(req.Context().Err())
				return
			}
			_, _ = io.WriteString(in, text)
		}
		_ = in.Close()
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: out, Request: req}, nil
}

func (p paced) client() llm.Completer {
	return llm.NewClientWith(llm.Config{}, llm.Over(p, llm.HTTPConfig{}))
}

func TestSignsOfLifeDoNotKeepAFinishedAnswerWaiting(t *testing.T) {
	for name, sign := range map[string]string{"comments": ": ping\n\n", "events": sse(`{"model":"m","choices":[]}`)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := paced{sse(begins, says1, stops)}
				for range 100 {
					server = append(server, sign)
				}
				began := time.Now()
				a, err := collect(t.Context(), server.client(), ask("m", "what?"))
				require.NoError(t, err)
				assert.Equal(t, "one", a.Text)
				assert.InDelta(t, 4, time.Since(began).Seconds(), 0.2) // 0.1 s are for the connection
			})
		})
	}
}

// Gateways to some models do so.
func TestAnAnswerWithAFinishReasonInEachChunkIsReadToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both := strings.Replace(says1, `"finish_reason":null`, `"finish_reason":"stop"`, 1)
		server := paced{}
		for range 10 {
			server = append(server, sse(both))
		}
		a, err := collect(t.Context(), append(server, sse(costs, "[DONE]")).client(), ask("m", "what?"))
		require.NoError(t, err)
		assert.Equal(t, strings.Repeat("one", 10), a.Text)
		assert.Equal(t, 12, a.Usage.PromptTokens)
	})
}

func TestTheTimeThatTheReaderTakesIsNotTheServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := paced{sse(begins, says1, stops), sse(costs, "[DONE]")}
		var usage *actions.Usage
		for d, err := range llm.Stream(t.Context(), server.client(), ask("m", "what?")) {
			require.NoError(t, err)
			time.Sleep(time.Minute)
			if d.Usage != nil {
				usage = d.Usage
			}
		}
		assert.Equal(t, &actions.Usage{Calls: 1, PromptTokens: 12, OutputTokens: 3}, usage)
	})
}

// answers returns an answer as a stream and as a whole, with fields in front of
// the others.
func answers(fields string) (stream, whole string) {
	return sse(strings.Replace(says1, "{", "{"+fields, 1), strings.Replace(stops, "{", "{"+fields, 1), "[DONE]"),
		fmt.Sprintf(`{%s"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"one"},"finish_reason":"stop"}]}`, fields)
}

func TestAFieldThatNobodyAsksForMakesNoAnswerUnreadable(t *testing.T) {
	for name, fields := range map[string]string{
		"none":                  ``,
		"no error":              `"error":null,`,
		"no error, spaced":      `  "error" : null,`,
		"an empty error":        `"error":{},`,
		"a time with fractions": `"created":1712345678.25,`,
		"a time as text":        `"created":"now",`,
		"a number as ID":        `"id":7,`,
		"a list as kind":        `"object":[],`,
		"an odd fingerprint":    `"system_fingerprint":{"a":1},`,
		"an odd tier":           `"service_tier":1,`,
		"an odd usage":          `"usage":"none",`,
		"odd filters":           `"prompt_filter_results":"none","prompt_annotations":1,`,
	} {
		stream, response := answers(fields)
		for kind, body := range map[string]string{"stream": stream, "whole": response} {
			for start, type_ := range map[string]string{"": "text/event-stream", "\ufeff": "text/event-stream", "\n": "application/json", "\ufeff\r\n": ""} {
				t.Run(fmt.Sprintf("%s, %s, %q", name, kind, start), func(t *testing.T) {
					var client llm.Completer = canned(200, type_, start+body)
					if kind == "whole" {
						client = whole{canned(200, "application/json", start+body)}
					}
					a, err := collect(t.Context(), client, ask("m", "what?"))
					require.NoError(t, err)
					assert.Equal(t, "one", a.Text)
					assert.Equal(t, "stop", a.Finish)
					assert.Equal(t, "m", a.Model)
					assert.Equal(t, actions.Usage{Calls: 1}, a.Usage)
				})
			}
		}
	}
}

func TestUsageIsReadAsFarAsItMakesSense(t *testing.T) {
	const most = 1 << 24
	for usage, want := range map[string]actions.Usage{
		`{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":5}}`:    {Calls: 1, PromptTokens: 12, CachedTokens: 5, OutputTokens: 3},
		`{"prompt_tokens":12.0,"completion_tokens":3.0,"total_tokens":15.0}`:                        {Calls: 1, PromptTokens: 12, OutputTokens: 3},
		`{"prompt_tokens":1e30,"completion_tokens":3}`:                                              {Calls: 1, PromptTokens: most, OutputTokens: 3},
		`{"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807}`:             {Calls: 1, PromptTokens: most, OutputTokens: most},
		`{"prompt_tokens":1e999,"completion_tokens":3}`:                                             {Calls: 1, OutputTokens: 3},
		`{"prompt_tokens":-5,"completion_tokens":3}`:                                                {Calls: 1, OutputTokens: 3},
		`{"prompt_tokens":"12","completion_tokens":3,"total_tokens":"15"}`:                          {Calls: 1, OutputTokens: 3},
		`{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":[]}`:                     {Calls: 1, PromptTokens: 12, OutputTokens: 3},
		`{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":1e30}}`: {Calls: 1, PromptTokens: 12, CachedTokens: 12, OutputTokens: 3},
		`{"prompt_tokens":12,"completion_tokens":3,"completion_tokens_details":7}`:                  {Calls: 1, PromptTokens: 12, OutputTokens: 3},
		`{"prompt_tokens":0,"completion_tokens":0}`:                                                 {Calls: 1},
		`[12,3]`: {Calls: 1},
		`null`:   {Calls: 1},
	} {
		stream, response := answers(`"usage":` + usage + `,`)
		for kind, client := range map[string]llm.Completer{
			"stream": canned(200, "text/event-stream", stream), "whole": whole{canned(200, "application/json", response)},
		} {
			a, err := collect(t.Context(), client, ask("m", "what?"))
			require.NoError(t, err, "%s: %s", kind, usage)
			assert.Equal(t, "one", a.Text)
			assert.Equal(t, want, a.Usage, "%s: %s", kind, usage)
		}
	}
}
