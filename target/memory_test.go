package target_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/internal/llmsim"
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
