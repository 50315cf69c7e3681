package target_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/speccache/speccache-go/speccache"
	"github.com/speccache/speccache-go/target"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// library is a site with n long pages, /p0 and so on, which the model visits
// one by one, keeping a note of each.
func library(k *kit, n int) {
	for i := range n {
		text := strings.Repeat(fmt.Sprintf("<p>Line %d of a long page.</p>\n", i), 200)
		k.site.set(fmt.Sprintf("/p%d", i), fmt.Sprintf("<title>Page %d</title>%s", i, text))
		k.sim.Push(llmsim.Answer{Calls: []llmsim.Call{
			remember(fmt.Sprintf("finding %d", i)),
			{Name: "visit", Args: fmt.Sprintf(`{"url":"%sp%d"}`, root, i)},
		}})
	}
	k.sim.Push(llmsim.Answer{Text: "done"})
	k.loop.Steps = n
}

func TestAnObservationIsCroppedToItsBudget(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		library(k, 1)
		k.loop.ObservationTokens = 100
		_, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		seen := observations(last(k.sim))[1]
		assert.Less(t, len(seen), 400)
		assert.True(t, strings.HasPrefix(seen, "Page 0\n"))
		assert.Regexp(t, `page\.\n+\[cropped: \d+ of \d+ bytes shown\]`, seen, "at a line's end")
	})
}

func TestParallelObservationsShareTheBudget(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		long := strings.Repeat("<p>Words and words.</p>", 300)
		k.site.set("/about", long)
		k.site.set("/visit", long)
		k.sim.Push(llmsim.Answer{Calls: []llmsim.Call{click("About"), click("Plan your visit")}})
		k.loop.ObservationTokens = 200
		_, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		for _, seen := range observations(last(k.sim)) {
			assert.InDelta(t, 300, len(seen), 100)
		}
	})
}

func TestCroppingNeverBreaksACharacter(t *testing.T) {
	for budget := 1; budget < 8; budget++ {
		agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
			k.loop.ObservationTokens = budget
			k.loop.Show = func(*web.Page) string { return "x" + strings.Repeat("äöü€", 30) }
			_, err := k.ready().Answer(t.Context(), question, k.home)
			require.NoError(t, err)
			assert.True(t, utf8.ValidString(k.sim.Requests()[0].Last()))
			assert.NotContains(t, k.sim.Requests()[0].Last(), "\uFFFD")
		})
	}
}

func TestThePromptStaysInItsBudgetAndOldObservationsGoFirst(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		library(k, 30)
		k.loop.ContextTokens, k.loop.ObservationTokens = 6000, 1000
		result, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		assert.Len(t, result.Notes, 30)
		changes, before := 0, ""
		for i, req := range k.sim.Requests() {
			assert.LessOrEqual(t, 4*llmsim.PromptTokens(req.ChatCompletionRequest)/3, 6000, "request %d", i)
			text := string(req.Body[:strings.LastIndex(string(req.Body), `],"tools"`)+1])
			if !strings.HasPrefix(text, strings.TrimSuffix(before, "]")) {
				changes++
			}
			before = text
		}
		assert.LessOrEqual(t, changes, 20, "what a provider has cached of the prompt stays useful")
		seen := observations(last(k.sim))
		assert.Contains(t, seen[len(seen)-1], "Page 29", "the newest is whole")
		assert.Contains(t, string(last(k.sim).Body), "dropped to make room")
		assert.NotContains(t, last(k.sim).Messages[1].Content, "Museum", "so is the first page")
	})
}

func TestNotesOutliveTheObservationsAndTheStepsThatTheyAreOf(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		library(k, 40)
		k.loop.ContextTokens, k.loop.ObservationTokens = 3000, 500
		result, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		sent := last(k.sim)
		assert.Less(t, len(sent.Messages), 60, "old steps are gone")
		assert.Contains(t, sent.Messages[1].Content, "Question: "+question+"\n\nYour notes:\n- finding 0\n- finding 1\n")
		assert.Contains(t, sent.Messages[1].Content, "finding 39")
		assert.Equal(t, "finding 0", result.Notes[0])
	})
}

func TestNotesAreChecked(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		k.sim.Push(llmsim.Answer{Calls: []llmsim.Call{
			remember("a"), remember(" a "), remember(""), {Name: "remember"}, {Name: "remember", Args: `{"note":1}`},
			remember(strings.Repeat("long", 300)),
		}})
		k.loop.ContextTokens = 3000
		result, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		assert.Equal(t, []string{"a"}, result.Notes)
		assert.Empty(t, result.Steps, "a note is no step of the session")
		need := `error: target: remember needs {"note": "what you have found"}`
		assert.Equal(t, []string{"noted", "noted", need, need, need, "error: target: there is no room for more notes"}, observations(last(k.sim)))
		assert.Zero(t, k.session.Stats().Undeclared)
	})
}

func TestAQuestionThatDoesNotFitIsAnErrorBeforeItIsSent(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		k.loop.ContextTokens = 2000
		_, err := k.ready().Answer(t.Context(), strings.Repeat("why? ", 2000), k.home)
		require.ErrorIs(t, err, target.ErrContext)
		assert.Zero(t, k.sim.Stats().Requests)
	})
}

func TestALongErrorOfAToolIsCropped(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		k.sim.Push(llmsim.Answer{Calls: []llmsim.Call{{Name: strings.Repeat("x", 200), Args: "{}"}, click(strings.Repeat("y", 2000))}})
		_, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		for _, seen := range observations(last(k.sim)) {
			assert.Less(t, len(seen), 1000)
		}
	})
}

func reads(context.Context, actions.Action) (string, error) { return "ok", nil }

// flood is a loop over a tool that can read, with a model that says one thing,
// and then that it is done. Context is that of the loop, in tokens.
func flood(t *testing.T, context int, said openai.ChatCompletionMessage) (next openai.ChatCompletionRequest, result target.Result[string]) {
	t.Helper()
	x := plain(t, speccache.On, reads)
	client := plays(func(n int, req openai.ChatCompletionRequest) (openai.ChatCompletionMessage, error) {
		if n == 1 {
			return said, nil
		}
		next = req
		return openai.ChatCompletionMessage{Content: "done"}, nil
	})
	loop := target.Loop[string]{
		Session: x.Session, ContextTokens: context,
		Chat: target.NewChat(client, target.ChatConfig{Tools: []target.Tool{{Name: "read"}}}),
	}
	result, err := loop.Answer(t.Context(), "what?")
	require.NoError(t, err)
	assert.Equal(t, "done", result.Answer)
	return next, result
}

func TestAReplyOfAnySizeIsToldToTheModelAndEndsNothing(t *testing.T) {
	huge := strings.Repeat("y", 1<<20)
	broken := openai.ChatCompletionMessage{}
	for i := range 2_000 {
		broken.ToolCalls = append(broken.ToolCalls, does(fmt.Sprint(i), "read"+huge[:100], "[").ToolCalls...)
	}
	many := openai.ChatCompletionMessage{}
	for i := range 128 {
		many.ToolCalls = append(many.ToolCalls, does(fmt.Sprint(i), "read", `{"x":"`+huge[:20_000]+`"}`).ToolCalls...)
	}
	talks := does("1", "read", `{"n":1}`)
	talks.Content = strings.Repeat("t ", 200_000)
	for name, c := range map[string]struct {
		said  openai.ChatCompletionMessage
		shown string // in the next request
	}{
		"arguments":    {does("1", "read", `{"x":"`+huge+`"}`), "too large"},
		"a name":       {does("1", huge, `{}`), "there is no tool"},
		"broken calls": {broken, "its arguments are no JSON object"},
		"many calls":   {many, "112 more calls were not made"},
		"text":         {talks, "[cropped: "},
	} {
		for _, limit := range []int{target.DefaultContextTokens, 5000} {
			t.Run(fmt.Sprintf("%s, %d", name, limit), func(t *testing.T) {
				next, _ := flood(t, limit, c.said)
				sent, err := json.Marshal(next.Messages)
				require.NoError(t, err)
				assert.Less(t, len(sent), 3*limit)
				assert.Contains(t, string(sent), c.shown)
				for _, m := range next.Messages {
					for _, call := range m.ToolCalls {
						assert.True(t, json.Valid([]byte(call.Function.Arguments)), "servers want JSON")
						assert.Regexp(t, `^[a-zA-Z0-9_-]{1,64}$`, call.Function.Name)
					}
				}
			})
		}
	}
}

func TestAReplyThatFitsIsShownToTheModelAsItIs(t *testing.T) {
	said := does("1", "read", `{"x":"`+strings.Repeat("y", 20_000)+`"}`)
	said.Content = "I read it."
	next, _ := flood(t, 0, said)
	assert.Equal(t, said.Content, next.Messages[2].Content)
	assert.Equal(t, said.ToolCalls, next.Messages[2].ToolCalls)
}

func TestANameThatTheModelMadeUpIsSentBackAsServersTakeIt(t *testing.T) {
	next, result := flood(t, 0, does("1", "read page ü?", `{}`))
	assert.Equal(t, "read_page___", next.Messages[2].ToolCalls[0].Function.Name)
	assert.Equal(t, "read page ü?", result.Steps[0].Call.Name)
}

func TestIDsCountInTheBudget(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		for i := range 10 {
			said := llmsim.Answer{}
			for n := range 16 {
				call := remember("x")
				call.ID = fmt.Sprintf("%064d", 100*i+n)
				if i%2 == 0 {
					call.ID = strings.Repeat(call.ID, 50) // which is replaced
				}
				said.Calls = append(said.Calls, call)
			}
			k.sim.Push(said)
		}
		k.loop.ContextTokens = 3500
		_, err := k.ready().Answer(t.Context(), question, k.home)
		require.NoError(t, err)
		for i, req := range k.sim.Requests() {
			size := 0
			for _, m := range req.Messages {
				size += 3*8 + len(m.Content) + len(m.ToolCallID)
				for _, call := range m.ToolCalls {
					size += 3*8 + len(call.ID) + len(call.Function.Name) + len(call.Function.Arguments)
				}
			}
			assert.Less(t, size, 3*3500, "request %d", i)
		}
	})
}
