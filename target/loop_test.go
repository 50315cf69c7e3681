package target_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/speccache/speccache-go/speccache"
	"github.com/speccache/speccache-go/target"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheLoopReadsAndClicksUntilItCanAnswer(t *testing.T) {
	agent(t, thinks, func(t *testing.T, k *kit) {
		result, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		assert.Equal(t, "It is 5 euros", result.Answer)
		assert.Equal(t, 3, result.Replies)
		require.Len(t, result.Steps, 2)
		for i, title := range []string{"Tickets", "Sundays"} {
			step := result.Steps[i]
			assert.Equal(t, i+1, step.Number)
			assert.Equal(t, title, step.Result.Observation.Title())
			assert.Equal(t, speccache.Hit, step.Result.Outcome, "it ran ahead while the target thought")
			assert.Equal(t, fetch, step.Result.Hidden)
			assert.Equal(t, "visit", step.Result.Action.Name(), "as it was resolved")
		}
		assert.Equal(t, 3, result.Usage.Calls)
		assert.Positive(t, result.Usage.PromptTokens)
		assert.Positive(t, result.Usage.OutputTokens)
	})
}

func TestWithoutSpeculationTheModelReadsTheSame(t *testing.T) {
	var prompts [2]string
	for i, mode := range []speccache.Mode{speccache.On, speccache.Off} {
		agent(t, thinks, func(t *testing.T, k *kit) {
			k.cache.SetMode(mode)
			_, err := k.ready().Answer(t.Context(), question, k.home)
			require.NoError(t, err)
			for _, req := range k.sim.Requests() {
				prompts[i] += string(req.Body)
			}
		})
	}
	assert.Equal(t, prompts[0], prompts[1])
}

func TestWhatHappensIsToldWhileItHappens(t *testing.T) {
	agent(t, thinks, func(t *testing.T, k *kit) {
		k.sim.Push(
			llmsim.Answer{Text: "one two", Calls: []llmsim.Call{remember("tickets matter"), click("Ticket prices"), click("About")}},
			llmsim.Answer{Text: "the end"},
		)
		var told []string
		began := time.Now()
		ends := map[string]time.Duration{}
		for e, err := range k.ready().Run(t.Context(), question, k.home) {
			require.NoError(t, err)
			what := ""
			switch {
			case e.Text != "":
				what = e.Text
			case e.Reply != nil:
				what = "reply"
			case e.Note != "":
				what = "note: " + e.Note
			case e.Step != nil:
				what = string(e.Step.Result.Outcome) + " " + e.Step.Result.Observation.Title()
			case e.Result != nil:
				what = "answer: " + e.Result.Answer
				assert.Equal(t, []string{"tickets matter"}, e.Result.Notes)
			}
			told = append(told, what)
			ends[what] = time.Since(began)
		}
		assert.Equal(t, []string{
			"one ", "two", "reply", "note: tickets matter", "hit Tickets", "hit About",
			"the ", "end", "reply", "answer: the end",
		}, told)
		assert.Equal(t, time.Second+10*time.Millisecond, ends["one "], "long before the reply's end")
		assert.Greater(t, ends["note: tickets matter"], ends["two"])
		assert.Less(t, ends["the "], ends["answer: the end"])
	})
}

func TestParallelCallsAreOneStepWithObservationsInCallOrder(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		k.sim.Push(llmsim.Answer{Calls: []llmsim.Call{
			click("Ticket prices"), {ID: "bad", Name: "click", Args: `{"label":7}`}, click("Nowhere"), click("About"),
		}})
		began := time.Now()
		result, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		assert.Equal(t, fetch, time.Since(began))
		require.Len(t, result.Steps, 4)
		for _, step := range result.Steps {
			assert.Equal(t, 1, step.Number)
		}
		seen := observations(last(k.sim))
		require.Len(t, seen, 4)
		assert.Contains(t, seen[0], "Tickets")
		assert.Contains(t, seen[1], "error: ")
		assert.Contains(t, seen[2], `error: web: no link on https://museum.example/ is labelled "Nowhere": click one of`)
		assert.Contains(t, seen[3], "About")
		assert.Equal(t, "bad", last(k.sim).Messages[4].ToolCallID)
	})
}

func TestAFloodOfCallsIsBounded(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		flood := llmsim.Answer{}
		for range 300 {
			flood.Calls = append(flood.Calls, click("About"))
		}
		k.sim.Push(flood)
		result, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		assert.Len(t, result.Steps, 16)
		sent := last(k.sim)
		require.Len(t, sent.Messages, 2+1+16, "each call has its message, or servers refuse the next request")
		assert.Len(t, sent.Messages[2].ToolCalls, 16)
		assert.Contains(t, sent.Last(), "112 more calls were not made: make at most 16 at once")
		assert.Contains(t, sent.Last(), "too many for one answer", "of those that were not even read")
	})
}

func TestTheStepLimitEndsTheLoop(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		for range 3 {
			k.sim.Push(llmsim.Answer{Calls: []llmsim.Call{{Name: "visit", Args: `{"url":"` + root + `"}`}}})
		}
		k.loop.Steps = 2
		result, err := k.ready().Answer(t.Context(), question, k.home)
		require.ErrorIs(t, err, target.ErrSteps)
		assert.ErrorContains(t, err, "target: no answer within the step limit: 2, raise Loop.Steps")
		assert.Empty(t, result.Answer)
		assert.Len(t, result.Steps, 2, "the result tells how far it came")
		assert.Equal(t, 3, k.sim.Stats().Requests, "the last one may answer")
		assert.Contains(t, last(k.sim).Last(), "No step is left: answer now")
	})
}

func TestAModelThatWritesNothingIsReportedAsOne(t *testing.T) {
	silent := func(llmsim.Request) llmsim.Answer { return llmsim.Answer{Text: " \n"} }
	agent(t, llmsim.Options{Answer: silent}, func(t *testing.T, k *kit) {
		k.loop.Steps = 3
		_, err := k.ready().Answer(t.Context(), question, k.home)
		require.ErrorIs(t, err, target.ErrSteps)
		assert.EqualError(t, err, "target: no answer within the step limit: 3 (Loop.Steps); the model wrote nothing, 4 times")
	})
}

func TestAnAnswerFromNothingComesWithAWarning(t *testing.T) {
	for name, c := range map[string]struct {
		said llmsim.Answer
		warn string
	}{
		"it has read":          {llmsim.Answer{Calls: []llmsim.Call{click("About"), click("Nowhere")}}, ""},
		"it called nothing":    {llmsim.Answer{Text: `{"name":"click","arguments":{"label":"About"}}`}, "the model called no tool"},
		"it only took notes":   {llmsim.Answer{Calls: []llmsim.Call{remember("x")}}, "the model called no tool"},
		"its calls are broken": {llmsim.Answer{Calls: []llmsim.Call{{Name: "click", Args: "{"}}}, "the model called no tool"},
		"its calls failed":     {llmsim.Answer{Calls: []llmsim.Call{click("Nowhere"), click("There")}}, "none of its 2 calls brought an observation"},
	} {
		agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
			k.sim.Push(c.said, llmsim.Answer{Text: "five euros"})
			result, err := k.ready().Answer(t.Context(), question, k.home)
			require.NoError(t, err, name)
			assert.NotEmpty(t, result.Answer)
			if c.warn == "" {
				assert.Empty(t, result.Warning, name)
			}
			assert.Contains(t, result.Warning, c.warn, name)
		})
	}
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		k.chat.Tools = nil
		result, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		assert.Empty(t, result.Warning, "it was offered nothing")
	})
}

func TestTheUsageHasTheCallsThatFailed(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		k.sim.Push(llmsim.Answer{Calls: []llmsim.Call{click("About")}}, llmsim.Failed(500))
		result, err := k.ready().Answer(t.Context(), question, k.home)
		failed(t, target.ClassServer, err)
		assert.Equal(t, 1, result.Replies)
		assert.Equal(t, 2, result.Usage.Calls)

		k.chat.Model = "gpt-6-astra" // which takes no tools
		result, err = k.ready().Answer(t.Context(), question, k.home)
		failed(t, target.ClassUnsupported, err)
		assert.Zero(t, result.Usage, "nothing was sent")
	})
}

func TestAbsurdUsageIsBounded(t *testing.T) {
	x := plain(t, speccache.On, func(context.Context, actions.Action) (string, error) { return "ok", nil })
	client := &player{usage: openai.Usage{PromptTokens: math.MaxInt, CompletionTokens: math.MaxInt}}
	client.reply = func(n int, _ openai.ChatCompletionRequest) (openai.ChatCompletionMessage, error) {
		if n == 3 {
			return openai.ChatCompletionMessage{Content: "done"}, nil
		}
		return does("1", "read", "{}"), nil
	}
	loop := target.Loop[string]{Session: x.Session, Chat: target.NewChat(client, target.ChatConfig{Tools: []target.Tool{{Name: "read"}}})}
	result, err := loop.Answer(t.Context(), "what?")
	require.NoError(t, err)
	assert.Equal(t, actions.Usage{Calls: 3, PromptTokens: 3 << 24, OutputTokens: 3 << 24}, result.Usage)
}

func TestTheStepLimitIsTenByDefault(t *testing.T) {
	repeats := func(llmsim.Request) llmsim.Answer { return llmsim.Answer{Calls: []llmsim.Call{remember("again")}} }
	agent(t, llmsim.Options{Answer: repeats}, func(t *testing.T, k *kit) {
		_, err := k.ready().Answer(t.Context(), question, k.home)
		require.ErrorIs(t, err, target.ErrSteps)
		assert.Equal(t, 11, k.sim.Stats().Requests)
	})
}

func TestCallsThatCantBeReadAreToldToTheModel(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		k.sim.Push(
			llmsim.Answer{Calls: []llmsim.Call{{Name: "click", Args: `About`}}},
			llmsim.Answer{Calls: []llmsim.Call{click("About"), {Name: "click", Args: `{"label":`}}},
			llmsim.Answer{},
			llmsim.Answer{Text: "done"},
		)
		result, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		assert.Equal(t, "done", result.Answer)
		assert.Len(t, result.Steps, 1)
		sent := k.sim.Requests()
		assert.Equal(t, `dropped a call of the tool "click": its arguments are no JSON object`, sent[1].Last())
		assert.Equal(t, "tool", sent[2].Messages[len(sent[2].Messages)-1].Role, "no user speaks between tool and model")
		assert.Contains(t, sent[2].Last(), "its arguments stop in the middle")
		assert.Contains(t, sent[3].Last(), "You said nothing")
	})
}

func TestARefusalAndACutAnswerAreErrors(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		k.sim.Push(llmsim.Answer{Refusal: "I can't help with that."}, llmsim.Answer{Text: "I", Finish: "content_filter"})
		_, err := k.ready().Answer(t.Context(), question, k.home)
		require.ErrorIs(t, err, target.ErrRefused)
		assert.ErrorContains(t, err, "I can't help with that.")
		_, err = k.ready().Answer(t.Context(), question, k.home)
		require.ErrorIs(t, err, target.ErrRefused)

		k.chat.MaxOutputTokens = 2
		k.sim.Push(llmsim.Answer{Text: "this goes on and on"}, llmsim.Answer{Reasoning: "this goes on and on", Text: "x"})
		for range 2 {
			_, err = k.ready().Answer(t.Context(), question, k.home)
			require.ErrorIs(t, err, target.ErrLength)
			assert.ErrorContains(t, err, "raise ChatConfig.MaxOutputTokens, which is 2")
		}
		k.chat.MaxOutputTokens = 0
		k.sim.Push(llmsim.Answer{Text: "the context is full", Finish: "length"})
		result, err := k.ready().Answer(t.Context(), question, k.home)
		require.ErrorIs(t, err, target.ErrLength)
		assert.ErrorContains(t, err, "lower Loop.ContextTokens", "there is no MaxOutputTokens to raise")
		assert.Empty(t, result.Answer, "half an answer is none")
	})
}

func TestACutReplyThatMakesACallGoesOn(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		k.sim.Push(llmsim.Answer{Text: "Let me", Calls: []llmsim.Call{click("About")}, Finish: "length"}, llmsim.Answer{Text: "done"})
		result, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		assert.Equal(t, "done", result.Answer)
		assert.Len(t, result.Steps, 1)
	})
}

func TestTheContextEndsTheLoop(t *testing.T) {
	during := map[string]time.Duration{"a reply": 500 * time.Millisecond, "an action": 1450 * time.Millisecond}
	for name, after := range during {
		agent(t, thinks, func(t *testing.T, k *kit) {
			k.cache.SetMode(speccache.Off)
			ctx, stop := context.WithTimeout(t.Context(), after)
			defer stop()
			began := time.Now()
			_, err := k.ready().Answer(ctx, question, k.home)
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			assert.True(t, strings.HasPrefix(err.Error(), "target: "), err)
			assert.Equal(t, after, time.Since(began))
		})
	}
}

// A write can't be unmade: whoever ends the loop meanwhile must hear of it.
func TestWhatWasDoneWhileTheContextEndedIsInTheResult(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x := plain(t, speccache.On, func(_ context.Context, a actions.Action) (string, error) {
		if a.Name() == "buy" {
			cancel()
			return "bought", nil
		}
		return "", errTool
	})
	client := plays(func(int, openai.ChatCompletionRequest) (openai.ChatCompletionMessage, error) {
		said := does("1", "buy", "{}")
		said.ToolCalls = append(said.ToolCalls, does("2", "other", "{}").ToolCalls...)
		return said, nil
	})
	chat := target.NewChat(client, target.ChatConfig{Tools: []target.Tool{{Name: "buy"}, {Name: "other"}}})
	loop := target.Loop[string]{Session: x.Session, Chat: chat}
	var told []string
	var result target.Result[string]
	var failed error
	for e, err := range loop.Run(ctx, "what?") {
		failed = err
		if e.Step != nil {
			told = append(told, e.Step.Call.Name)
		}
		if e.Result != nil {
			result = *e.Result
		}
	}
	require.ErrorIs(t, failed, context.Canceled)
	assert.Equal(t, []string{"buy", "other"}, told)
	require.Len(t, result.Steps, 2)
	assert.Equal(t, "bought", result.Steps[0].Result.Observation)
	assert.Equal(t, 1, result.Steps[0].Number)
	assert.ErrorIs(t, result.Steps[1].Err, errTool)
}

func TestNothingIsBegunOnceTheContextHasEnded(t *testing.T) {
	x := plain(t, speccache.On, func(context.Context, actions.Action) (string, error) {
		assert.Fail(t, "it was done")
		return "", nil
	})
	client := plays(func(int, openai.ChatCompletionRequest) (openai.ChatCompletionMessage, error) {
		return does("1", "buy", "{}"), nil
	})
	loop := target.Loop[string]{Session: x.Session, Chat: target.NewChat(client, target.ChatConfig{Tools: []target.Tool{{Name: "buy"}}})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var failed error
	for e, err := range loop.Run(ctx, "what?") {
		failed = err
		if e.Reply != nil {
			cancel()
		}
	}
	assert.ErrorIs(t, failed, context.Canceled)
}

func TestTheLoopMayBeLeftAtAnyEvent(t *testing.T) {
	for n := 1; n < 10; n++ {
		agent(t, thinks, func(t *testing.T, k *kit) {
			k.sim.Push(llmsim.Answer{Text: "one", Calls: []llmsim.Call{remember("x"), click("About"), click("Ticket prices")}})
			seen := 0
			for range k.ready().Run(t.Context(), question, k.home) {
				if seen++; seen == n {
					break
				}
			}
			assert.LessOrEqual(t, seen, n)
			synctest.Wait()
			assert.Zero(t, k.sim.Stats().InFlight)
		})
	}
}

func TestALoopServesSessionsOneAfterTheOther(t *testing.T) {
	agent(t, thinks, func(t *testing.T, k *kit) {
		loop := k.ready()
		for range 2 {
			loop.Session = k.open(t, "readers")
			result, err := loop.Answer(t.Context(), question, k.home)
			require.NoError(t, err)
			assert.Equal(t, "It is 5 euros", result.Answer)
			assert.Len(t, result.Steps, 2)
		}
	})
}

var errTool = errors.New("no luck")

func TestAToolOfTheUsersNamedRememberIsTheUsers(t *testing.T) {
	x := plain(t, speccache.On, func(context.Context, actions.Action) (string, error) { return "", errTool })
	sim := llmsim.New(llmsim.Options{})
	at, err := sim.Listen()
	require.NoError(t, err)
	defer at.Close()
	sim.Push(llmsim.Answer{Calls: []llmsim.Call{remember("x")}})
	chat := target.NewChat(at.Client(), target.ChatConfig{Model: "m", Tools: []target.Tool{{Name: "remember"}}})
	loop := target.Loop[string]{Session: x.Session, Chat: chat}
	result, err := loop.Answer(t.Context(), "what?", "a text", "another")
	require.NoError(t, err)
	assert.Empty(t, result.Notes)
	require.Len(t, result.Steps, 1)
	assert.ErrorIs(t, result.Steps[0].Err, errTool)
	sent := last(sim)
	assert.Len(t, sent.Tools, 1)
	assert.Equal(t, "error: no luck", observations(sent)[0])
	assert.Equal(t, "Question: what?\n\na text\n\nanother", sent.Messages[1].Content)
}

func TestAModelThatWasOfferedNothingCanDoNothing(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		k.chat.Tools = nil
		k.sim.Push(llmsim.Answer{Calls: []llmsim.Call{click("About")}})
		result, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		assert.ErrorContains(t, result.Steps[0].Err, "there is no tool")
	})
}

func TestManyLoopsMayShareAChat(t *testing.T) {
	agent(t, thinks, func(t *testing.T, k *kit) {
		chat := k.ready().Chat
		answers := make(chan string)
		for range 8 {
			go func() {
				loop := target.Loop[*web.Page]{Session: k.open(t, "all"), Chat: chat, Show: show}
				result, err := loop.Answer(t.Context(), question, k.home)
				assert.NoError(t, err)
				answers <- result.Answer
			}()
		}
		for range 8 {
			assert.Equal(t, "It is 5 euros", <-answers)
		}
	})
}
