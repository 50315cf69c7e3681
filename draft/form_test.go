package draft_test

import (
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	prose   = "I think the agent will click About."
	inLines = "Action: click\nAction Input 1: {\"choice\": 2}\nAction Input 2: {\"button\": \"About\"}"
)

// asksFor returns the forms in which a model is asked that answers so.
func (k *talk) asksFor(t *testing.T, answers ...string) (asked []draft.Form) {
	t.Helper()
	for _, text := range answers {
		k.sim.Push(llmsim.Answer{Text: text})
		hear(t.Context(), k.predict, conference())
		asked = append(asked, k.report(t).Form)
	}
	return asked
}

// times is a list of one thing.
func times[T any](n int, v T) (all []T) {
	for range n {
		all = append(all, v)
	}
	return all
}

func TestAGarbledAnswerNowAndThenDoesNotChangeTheForm(t *testing.T) {
	k := talking(plainly, draft.ChatConfig{})
	defer k.close()
	asked := k.asksFor(t, prose, prose, three, prose, prose, three, prose, three)
	assert.Equal(t, times(8, draft.FormJSON), asked)
}

func TestAGoodAnswerCountsEvenIfItsReaderLeaves(t *testing.T) {
	k := talking(plainly, draft.ChatConfig{})
	defer k.close()
	k.asksFor(t, prose, prose)
	k.sim.Push(llmsim.Answer{Text: three})
	for range k.predict(t.Context(), conference()) {
		break
	}
	assert.Equal(t, times(3, draft.FormJSON), k.asksFor(t, prose, prose, three))
}

func TestAServerThatIgnoresSchemasIsAskedForLinesAndNowAndThenAgainForJSON(t *testing.T) {
	k := talking(plainly, draft.ChatConfig{})
	defer k.close()
	assert.Equal(t, times(3, draft.FormJSON), k.asksFor(t, times(3, prose)...))
	assert.Empty(t, k.report(t).Guesses)
	assert.Equal(t, times(100, draft.FormLines), k.asksFor(t, times(100, inLines)...))
	assert.Equal(t, 2, k.report(t).Guesses)
	assert.Empty(t, k.sim.Requests()[3].Field("response_format"))

	assert.Equal(t, []draft.Form{draft.FormJSON}, k.asksFor(t, prose), "a look whether that is still so")
	assert.Equal(t, times(100, draft.FormLines), k.asksFor(t, times(100, inLines)...))
	assert.Equal(t, times(5, draft.FormJSON), k.asksFor(t, three, prose, prose, three, three), "it is not")
}

func TestAServerThatRefusesSchemasIsAskedForLines(t *testing.T) {
	k := talking(llmsim.Options{
		Models: map[string]llmsim.Model{"small": {NoSchema: true}},
		Answer: func(llmsim.Request) llmsim.Answer { return llmsim.Answer{Text: inLines} },
	}, draft.ChatConfig{Model: "small"})
	defer k.close()
	for range 202 {
		h := hear(t.Context(), k.predict, conference())
		require.Empty(t, h.errs)
		assert.Equal(t, []actions.Action{visit("https://c.example/program"), visit("https://c.example/about")}, h.actions)
		assert.Equal(t, draft.FormLines, k.report(t).Form)
	}
	assert.Equal(t, 204, len(k.sim.Requests()), "it refuses one in a hundred")
}

func TestAFormThatWasChosenIsKeptWhateverTheAnswers(t *testing.T) {
	k := talking(plainly, draft.ChatConfig{Form: draft.FormJSON})
	defer k.close()
	assert.Equal(t, times(5, draft.FormJSON), k.asksFor(t, times(5, prose)...))
}

func TestAServerThatRefusesEverythingIsAskedOnceForEachDraft(t *testing.T) {
	k := talking(llmsim.Options{Answer: func(llmsim.Request) llmsim.Answer { return llmsim.Failed(400) }}, draft.ChatConfig{})
	defer k.close()
	for range 101 {
		require.Len(t, hear(t.Context(), k.predict, conference()).errs, 1)
	}
	assert.Len(t, k.sim.Requests(), 102, "the first one also in lines")
}

func TestARefusalAndAFailureAreNotAskedForTwiceForEver(t *testing.T) {
	k := talking(llmsim.Options{Answer: func(req llmsim.Request) llmsim.Answer {
		if req.Field("response_format") != "" {
			return llmsim.Failed(400)
		}
		return llmsim.Failed(500)
	}}, draft.ChatConfig{})
	defer k.close()
	for range 20 {
		require.Len(t, hear(t.Context(), k.predict, conference()).errs, 1)
	}
	assert.Len(t, k.sim.Requests(), 21)
}
