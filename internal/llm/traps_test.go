package llm_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/internal/llm"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The traps are those of go-openai v1.43.0, in the order in which they were
// found.

func TestTrap1ReasoningModelsAreAskedForWhatTheValidatorLetsPass(t *testing.T) {
	looped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		for _, model := range []string{"o1", "o3", "o4-mini", "gpt-5-mini", "gpt-5-chat-latest", "gpt-5.4-mini"} {
			req := ask(model, "what?")
			req.MaxCompletionTokens, req.Temperature, req.TopP, req.N, req.LogProbs = 50, 0.7, 0.9, 2, true
			req.PresencePenalty, req.FrequencyPenalty = 1, 1
			before := sim.Stats().Requests
			_, err := collect(t.Context(), at.Client(), req)
			failed(t, llm.Unsupported, err, model)
			assert.Equal(t, before, sim.Stats().Requests, "the client refuses %s before it sends", model)

			req, err = llm.Adapt(req)
			require.NoError(t, err)
			_, err = collect(t.Context(), at.Client(), req)
			require.NoError(t, err, model)
			sent := last(sim)
			assert.Equal(t, "50", sent.Field("max_completion_tokens"))
			for _, gone := range []string{"max_tokens", "temperature", "top_p", "n", "logprobs", "presence_penalty", "frequency_penalty"} {
				assert.Empty(t, sent.Field(gone), gone)
			}
		}
	})
}

func TestTrap1TheLimitOfTokensHasTheNameThatTheModelKnows(t *testing.T) {
	looped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		for model, name := range map[string]string{
			"gpt-5-mini": "max_completion_tokens", "gpt-4.1-mini": "max_completion_tokens", "openai/o3": "max_completion_tokens",
			"qwen3-8b": "max_tokens", "meta/llama": "max_tokens",
		} {
			req := ask(model, `say "max_completion_tokens": 7`)
			req.MaxCompletionTokens = 1
			sim.Push(llmsim.Answer{Text: "too long for that"})
			a, err := collect(t.Context(), at.Client(), req)
			require.NoError(t, err)
			assert.Equal(t, "too ", a.Text)
			assert.Equal(t, "length", a.Finish)
			assert.Equal(t, "1", last(sim).Field(name), model)
			assert.Equal(t, 1, strings.Count(string(last(sim).Body), "_tokens\":"), "not both")
		}
		old := ask("o3", "what?")
		require.NoError(t, json.Unmarshal([]byte(`{"max_tokens":50}`), &old))
		_, err := collect(t.Context(), at.Client(), old)
		failed(t, llm.Unsupported, err)
		assert.ErrorContains(t, err, "MaxCompletionTokens")
	})
}

func last(sim *llmsim.Server) llmsim.Request {
	all := sim.Requests()
	return all[len(all)-1]
}

func TestTrap2ToolsOfNewerModelsNeedNoReasoningOrAnotherAPI(t *testing.T) {
	looped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		for _, model := range []string{openai.GPT6Sol, openai.GPT6Luna, "gpt-6-luna-2026-09-01"} {
			req := ask(model, "what?")
			req.Tools, req.Temperature, req.MaxCompletionTokens = tools, 0.5, 9
			if !strings.Contains(model, "2026") { // exact names only are checked
				_, err := collect(t.Context(), at.Client(), req)
				failed(t, llm.Unsupported, err, model)
			}
			req, err := llm.Adapt(req)
			require.NoError(t, err)
			_, err = collect(t.Context(), at.Client(), req)
			require.NoError(t, err, model)
			assert.Equal(t, `"none"`, last(sim).Field("reasoning_effort"))
			assert.Equal(t, "0.5", last(sim).Field("temperature"), "without reasoning, sampling may be set")

			req.ReasoningEffort = openai.ReasoningEffortHigh
			_, err = llm.Adapt(req)
			failed(t, llm.Unsupported, err, model)
		}
		for _, model := range []string{openai.GPT6Astra, openai.GPT6Dot1Sol, "gpt-6-astra-2026-10-01"} {
			req := ask(model, "what?")
			req.Tools = tools
			_, err := llm.Adapt(req)
			failed(t, llm.Unsupported, err, model)
			assert.ErrorIs(t, err, openai.ErrReasoningToolsRequireResponses)
		}
	})
}

func TestTrap3ABurstReusesItsConnections(t *testing.T) {
	latency := llmsim.Options{Latency: llmsim.Latency{Base: time.Second}} // so that all are in flight at once
	piped(t, latency, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		burst := func(c *openai.Client) int {
			before := sim.Stats().Connections
			for range 10 {
				var all sync.WaitGroup
				for range 16 {
					all.Go(func() {
						_, err := collect(t.Context(), c, ask("m", "what?"))
						assert.NoError(t, err)
					})
				}
				all.Wait()
				synctest.Wait()
			}
			return sim.Stats().Connections - before
		}
		assert.Equal(t, 16, burst(at.Client()))
		assert.GreaterOrEqual(t, burst(plain(t, at)), 142, "of 2 idle connections per host")
	})
}

func TestTrap4ALateEndOfTheBodyDoesNotCostTheConnection(t *testing.T) {
	both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
		piped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
			run := func(c *openai.Client) int {
				before := sim.Stats().Connections
				for range 50 {
					sim.Push(llmsim.Answer{Text: "ok", Fault: llmsim.Fault{LateEnd: 3 * time.Millisecond}})
					_, err := collect(t.Context(), seen(c), ask("m", "what?"))
					require.NoError(t, err)
					synctest.Wait()
				}
				return sim.Stats().Connections - before
			}
			assert.Equal(t, 1, run(at.Client()))
			assert.Equal(t, 50, run(plain(t, at)), "without reading to the end")
		})
	})
}

func TestTrap4AnEndThatIsTooLateIsNotWaitedFor(t *testing.T) {
	both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
		piped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
			sim.Push(llmsim.Answer{Text: "ok", Fault: llmsim.Fault{LateEnd: time.Hour}})
			began := time.Now()
			a, err := collect(t.Context(), seen(at.Client()), ask("m", "what?"))
			require.NoError(t, err)
			assert.Equal(t, "ok", a.Text)
			assert.Less(t, time.Since(began), time.Second)
		})
	})
}

func TestTrap5RetryAfterIsKnownOfStreamsToo(t *testing.T) {
	both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
		piped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
			for header, want := range map[string]time.Duration{
				llmsim.After(7 * time.Second):   7 * time.Second,
				llmsim.Until(90 * time.Second):  90 * time.Second,
				llmsim.Until(-90 * time.Second): 0,
				"1.5":                           1500 * time.Millisecond,
				"soon":                          0,
				"-3":                            0,
				"":                              0,
			} {
				sim.Push(llmsim.Limited(header))
				_, err := collect(t.Context(), seen(at.Client()), ask("m", "what?"))
				failed(t, llm.RateLimit, err)
				assert.Equal(t, want, llm.RetryAfter(err), header)
			}
		})
	})
	assert.Zero(t, llm.RetryAfter(nil))
}

func TestTrap6ErrorsOfAnyFormAreTyped(t *testing.T) {
	for name, c := range map[string]struct {
		answer llmsim.Answer
		want   llm.Class
	}{
		"OpenAI's":           {llmsim.Failed(500), llm.Server},
		"HTML":               {llmsim.HTMLError(502), llm.Server},
		"flat":               {llmsim.FlatError(503), llm.Overloaded},
		"200 with an error":  {llmsim.Answer{Fault: llmsim.Fault{Body: llmsim.ErrorBody}}, llm.Server},
		"200, flat":          {llmsim.Answer{Fault: llmsim.Fault{Body: llmsim.Flat}}, llm.Server},
		"200, error as code": {llmsim.Answer{Fault: llmsim.Fault{Body: `{"error":{"message":"slow down","code":429}}`}}, llm.RateLimit},
		"no choices":         {llmsim.Answer{Fault: llmsim.Fault{NoChoices: true}}, ""},
		"empty object":       {llmsim.Answer{Fault: llmsim.Fault{Body: `{}`}}, ""},
		"HTML with 200":      {llmsim.Answer{Fault: llmsim.Fault{Body: llmsim.HTML, Type: "text/html"}}, ""},
		"nothing":            {llmsim.Answer{Fault: llmsim.Fault{Body: " "}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
				looped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
					for _, client := range []*openai.Client{at.Client(), plain(t, at)} {
						sim.Push(c.answer)
						a, err := collect(t.Context(), seen(client), ask("m", "what?"))
						var e *llm.Error
						require.ErrorAs(t, err, &e)
						assert.Empty(t, a.Calls)
						assert.NotContains(t, err.Error(), "nil")
						assert.NotContains(t, err.Error(), "<")
						if c.want != "" && c.answer.Fault.Status != 0 {
							assert.Equal(t, c.want, e.Class, err)
						}
					}
					if c.want != "" {
						sim.Push(c.answer)
						_, err := collect(t.Context(), seen(at.Client()), ask("m", "what?"))
						failed(t, c.want, err)
					}
				})
			})
		})
	}
}

func TestTrap6ARequestErrorMayHaveNoCause(t *testing.T) {
	e := failed(t, llm.Server, llm.Explain(&openai.RequestError{HTTPStatusCode: 502}))
	assert.Equal(t, "llm: the server failed (502)", e.Error())
	var known *openai.RequestError
	assert.ErrorAs(t, error(e), &known)
}

func TestTrap7ATemperatureOfZeroIsSent(t *testing.T) {
	both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
		looped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
			req := ask("m", "what?")
			req.Temperature, req.TopP = llm.Zero, llm.Zero
			for _, c := range []struct {
				client *openai.Client
				want   string
			}{{at.Client(), "0"}, {plain(t, at), "1e-45"}} {
				_, err := collect(t.Context(), seen(c.client), req)
				require.NoError(t, err)
				assert.Equal(t, c.want, last(sim).Field("temperature"))
				assert.Equal(t, c.want, last(sim).Field("top_p"))
			}
		})
	})
}

func TestTrap8MessagesAlwaysHaveContent(t *testing.T) {
	looped(t, llmsim.Options{Strict: true}, func(t *testing.T, _ *llmsim.Server, at *llmsim.Endpoint) {
		req := ask("m", "what?")
		req.Messages = append(req.Messages,
			openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, ToolCalls: []openai.ToolCall{{ID: "1", Type: openai.ToolTypeFunction}}},
			openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: "1"},
		)
		_, err := collect(t.Context(), at.Client(), req)
		failed(t, llm.BadRequest, err)
		adapted, err := llm.Adapt(req)
		require.NoError(t, err)
		_, err = collect(t.Context(), at.Client(), adapted)
		require.NoError(t, err)
		assert.Empty(t, req.Messages[2].Content, "the caller's messages stay as they are")
		assert.Empty(t, adapted.Messages[1].Content, "tool calls do without")
		assert.Equal(t, llm.Empty, adapted.Messages[2].Content)
		assert.Equal(t, llm.Empty, llm.Content(" \n"))
		assert.Equal(t, "x", llm.Content("x"))
	})
}

func TestTrap9FieldsThatTheClientLacksAreSent(t *testing.T) {
	both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
		looped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
			doer := at.HTTP(llm.HTTPConfig{Extra: map[string]any{"top_k": 1, "min_p": 0.1}})
			client := llm.NewClientWith(at.Config(), doer)
			ctx := llm.WithExtra(t.Context(), map[string]any{"prompt_cache_key": "session 7", "min_p": 0})
			_, err := collect(ctx, seen(client), ask("m", `a "quoted" <question>`))
			require.NoError(t, err)
			sent := last(sim)
			assert.Equal(t, "1", sent.Field("top_k"))
			assert.Equal(t, "0", sent.Field("min_p"))
			assert.Equal(t, `"session 7"`, sent.Field("prompt_cache_key"))
			assert.Equal(t, `a "quoted" <question>`, sent.Last())
			assert.Equal(t, "m", sent.Model)
		})
	})
}

func TestTrap10ToolCallsSurviveTheirIndex(t *testing.T) {
	want := []llm.Call{{ID: "a", Name: "visit", Args: `{"url":"/one"}`}, {ID: "b", Name: "visit", Args: `{"url":"/two"}`}}
	for name, fault := range map[string]llmsim.Fault{
		"as it should be":         {},
		"no index":                {NoIndex: true},
		"one index":               {OneIndex: true},
		"one index, in one chunk": {OneIndex: true, Chunked: true},
		"in one chunk":            {Chunked: true},
		"no index, in one chunk":  {NoIndex: true, Chunked: true},
		"after nothing":           {Empty: 3},
		"prefilled":               {Prefilled: true},
		"prefilled, one index":    {Prefilled: true, OneIndex: true},
		"no ID":                   {NoID: true},
		"no ID and no index":      {NoID: true, NoIndex: true},
		"no ID and one index":     {NoID: true, OneIndex: true},
	} {
		t.Run(name, func(t *testing.T) {
			looped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
				said := llmsim.Answer{Fault: fault}
				for _, c := range want {
					said.Calls = append(said.Calls, llmsim.Call(c))
				}
				sim.Push(said)
				a, err := collect(t.Context(), at.Client(), ask("m", "what?"))
				require.NoError(t, err)
				assert.Empty(t, a.Dropped)
				if fault.NoID {
					require.Len(t, a.Calls, 2)
					assert.NotEqual(t, a.Calls[0].ID, a.Calls[1].ID, "they get an ID each")
					a.Calls[0].ID, a.Calls[1].ID = "a", "b"
				}
				assert.Equal(t, want, a.Calls)
				assert.Equal(t, "tool_calls", a.Finish)
			})
		})
	}
}

func TestTrap10TheUsageChunkHasNoChoices(t *testing.T) {
	looped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		a, err := collect(t.Context(), at.Client(), ask("m", "what?"))
		require.NoError(t, err)
		prompt := llmsim.PromptTokens(ask("m", "what?"))
		assert.Equal(t, actions.Usage{Calls: 1, PromptTokens: prompt, OutputTokens: 1}, a.Usage)
		assert.JSONEq(t, `{"include_usage":true}`, last(sim).Field("stream_options"))

		req := ask("m", "what?")
		req.StreamOptions = &openai.StreamOptions{}
		a, err = collect(t.Context(), at.Client(), req)
		require.NoError(t, err)
		assert.Equal(t, actions.Usage{Calls: 1}, a.Usage, "a call counts, whatever the server says")
	})
}

func TestTrap10SignsOfLifeDoNotEndAStream(t *testing.T) {
	looped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		answer := llmsim.Answer{Text: "ok", Fault: llmsim.Fault{Comments: 400}}
		sim.Push(answer, answer)
		a, err := collect(t.Context(), at.Client(), ask("m", "what?"))
		require.NoError(t, err)
		assert.Equal(t, "ok", a.Text)
		_, err = collect(t.Context(), plain(t, at), ask("m", "what?"))
		failed(t, llm.Garbled, err)
		assert.ErrorIs(t, err, openai.ErrTooManyEmptyStreamMessages)
	})
}

func TestTrap10AnErrorAfterSignsOfLifeIsStillRead(t *testing.T) {
	looped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		const quota = `data: {"error":{"message":"Your credit balance is too low","code":402}}`
		sim.Push(llmsim.Answer{Text: "not all of it", Fault: llmsim.Fault{Comments: 2, CutAt: 2, Error: quota}})
		a, err := collect(t.Context(), at.Client(), ask("m", "what?"))
		failed(t, llm.Quota, err)
		assert.Equal(t, "not ", a.Text)
	})
}

func TestTrap11DetailsMayBeMissingAndModelsAreAsServed(t *testing.T) {
	both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
		models := map[string]llmsim.Model{"alias": {Served: "m-2026-11-30", Fingerprint: "fp_1"}}
		looped(t, llmsim.Options{Models: models, PromptCache: 1}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
			sim.Push(llmsim.Answer{Text: "ok", NoDetails: true}, llmsim.Answer{Text: "ok", ServiceTier: "flex"}, llmsim.Answer{Text: "ok", NoUsage: true})
			client := seen(at.Client())
			a, err := collect(t.Context(), client, ask("alias", "what?"))
			require.NoError(t, err)
			assert.Zero(t, a.Usage.CachedTokens)
			assert.Equal(t, "m-2026-11-30", a.Model)
			assert.Equal(t, "fp_1", a.Fingerprint)
			assert.Empty(t, a.ServiceTier)

			a, err = collect(t.Context(), client, ask("alias", "what?"))
			require.NoError(t, err)
			assert.Equal(t, a.Usage.PromptTokens, a.Usage.CachedTokens)
			assert.Equal(t, "flex", a.ServiceTier, "which go-openai's chunks lack")

			a, err = collect(t.Context(), client, ask("alias", "what?"))
			require.NoError(t, err)
			assert.Equal(t, actions.Usage{Calls: 1}, a.Usage)
		})
	})
}

func TestABadKeyAndAWrongURLSayWhatToDo(t *testing.T) {
	models := map[string]llmsim.Model{"m": {}, "bare": {NoTools: true, NoSchema: true}}
	looped(t, llmsim.Options{Key: "secret-key", Models: models}, func(t *testing.T, _ *llmsim.Server, at *llmsim.Endpoint) {
		with := func(change func(*llm.Config)) *openai.Client {
			cfg := at.Config()
			change(&cfg)
			return llm.NewClientWith(cfg, at.HTTP(llm.HTTPConfig{}))
		}
		ok := with(func(*llm.Config) {})
		withTools, withSchema := ask("bare", "what?"), ask("bare", "what?")
		withTools.Tools = tools
		withSchema.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "n", Schema: rawJSON(`{}`)},
		}
		closed := with(func(c *llm.Config) { c.BaseURL = "http://127.0.0.1:1/v1" })
		for name, c := range map[string]struct {
			client *openai.Client
			req    openai.ChatCompletionRequest
			want   llm.Class
			says   string
		}{
			"bad key":     {with(func(c *llm.Config) { c.Key = "other-key" }), ask("m", ""), llm.Auth, "check OPENAI_API_KEY"},
			"no /v1":      {with(func(c *llm.Config) { c.BaseURL = strings.TrimSuffix(c.BaseURL, "/v1") }), ask("m", ""), llm.NotFound, "usually ends in /v1"},
			"no server":   {closed, ask("m", ""), llm.Network, "is the server up"},
			"no scheme":   {with(func(c *llm.Config) { c.BaseURL = "localhost/v1" }), ask("m", ""), llm.Network, "base URL"},
			"no model":    {ok, ask("n", ""), llm.NotFound, "no such model"},
			"no tools":    {ok, withTools, llm.Unsupported, "tools"},
			"no schema":   {ok, withSchema, llm.Unsupported, "structured output"},
			"TLS or not?": {with(func(c *llm.Config) { c.BaseURL = "https" + strings.TrimPrefix(c.BaseURL, "http") }), ask("m", ""), llm.Network, "http://"},
		} {
			both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
				_, err := collect(t.Context(), seen(c.client), c.req)
				failed(t, c.want, err, name)
				assert.ErrorContains(t, err, c.says, name)
				for e := err; e != nil; e = unwrap(e) {
					assert.NotContains(t, e.Error(), "other-key")
					assert.NotContains(t, e.Error(), "secret-key")
				}
			})
		}
	})
}

func unwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}

type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func TestOpenAIsOwnErrorsAreInTheChain(t *testing.T) {
	looped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		sim.Push(llmsim.Failed(http.StatusBadGateway))
		_, err := at.Client().CreateChatCompletion(t.Context(), ask("m", "what?"))
		var api *openai.APIError
		require.ErrorAs(t, err, &api)
		assert.Equal(t, http.StatusBadGateway, api.HTTPStatusCode)
	})
}
