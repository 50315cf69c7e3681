package draft_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// crossing runs a session with a chat as its draft. Each run ahead is sent to
// ahead as it starts.
func crossing(t *testing.T, predict actions.Predictor[actions.View]) (s *speccache.Session[actions.View], cache *speccache.Cache[actions.View], ahead chan actions.Action) {
	t.Helper()
	ahead = make(chan actions.Action, 10)
	page := conference().Steps[0].Observation
	env := actions.Environment[actions.View]{
		Rules: actions.Reads("visit"),
		View:  itself,
		Do: func(ctx context.Context, a actions.Action) (actions.View, error) {
			if actions.CallFrom(ctx).Ahead {
				ahead <- a
			}
			return page, nil
		},
	}
	cache, err := speccache.New(env, speccache.Config[actions.View]{Predictor: predict})
	require.NoError(t, err)
	s = cache.Open(speccache.SessionConfig[actions.View]{Goal: "When is the workshop deadline?"})
	return s, cache, ahead
}

func TestARunAheadStartsWhileTheModelStillWrites(t *testing.T) {
	sim := llmsim.New(llmsim.Options{Latency: llmsim.Latency{PerOutput: 10 * time.Millisecond}})
	sim.Push(llmsim.Answer{Text: three})
	at, err := sim.Listen()
	require.NoError(t, err)
	defer at.Close()
	s, cache, ahead := crossing(t, draft.Chat(at.Client(), itself, draft.ChatConfig{}))
	defer cache.Close()
	_, err = s.Do(t.Context(), visit("https://c.example/"))
	require.NoError(t, err)
	assert.Equal(t, visit("https://c.example/deadline"), <-ahead)
	stats := sim.Stats()
	assert.Equal(t, 1, stats.InFlight, "the answer is still being written")
	assert.Zero(t, stats.Answered)
	assert.Equal(t, visit("https://c.example/about"), <-ahead)
	assert.Equal(t, visit("https://c.example/program"), <-ahead)
}

func TestARunAheadStartsBeforeTheLastTokenInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := llmsim.New(llmsim.Options{Latency: llmsim.Latency{PerOutput: time.Second}})
		sim.Push(llmsim.Answer{Text: three})
		at := sim.Pipe()
		defer at.Close()
		s, cache, ahead := crossing(t, draft.Chat(at.Client(), itself, draft.ChatConfig{}))
		defer cache.Close()
		_, err := s.Do(t.Context(), visit("https://c.example/"))
		require.NoError(t, err)
		began := time.Now()
		for _, after := range []time.Duration{6, 10, 13} {
			<-ahead
			assert.Equal(t, after*time.Second, time.Since(began))
		}
		synctest.Wait() // the answer ends
		r, err := s.Run(t.Context(), visit("https://c.example/about"))
		require.NoError(t, err)
		assert.Equal(t, speccache.Hit, r.Outcome)
		stats := cache.Stats()
		assert.Equal(t, actions.Usage{Calls: 1, PromptTokens: sim.Stats().PromptTokens, OutputTokens: sim.Stats().OutputTokens}, stats.Usage)
		assert.Zero(t, stats.DraftsFailed)
	})
}

func TestAFailingModelCostsTheTargetNothingAndIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := llmsim.New(llmsim.Options{Answer: func(llmsim.Request) llmsim.Answer { return llmsim.Failed(500) }})
		at := sim.Pipe()
		defer at.Close()
		s, cache, ahead := crossing(t, draft.Chat(at.Client(), itself, draft.ChatConfig{}))
		defer cache.Close()
		began := time.Now()
		for range 3 {
			_, err := s.Do(t.Context(), visit("https://c.example/"))
			require.NoError(t, err)
			assert.Zero(t, time.Since(began))
			synctest.Wait()
		}
		assert.Empty(t, ahead)
		stats := cache.Stats()
		assert.EqualValues(t, 3, stats.DraftsFailed)
		assert.EqualValues(t, 3, stats.DraftFailures["server"])
		assert.Equal(t, 3, stats.Usage.Calls)
		assert.Positive(t, stats.Usage.PromptTokens, "a server that fails may have read the prompt")
	})
}

func TestWhyNothingThatAModelWroteIsUsableIsSaidWhereFailuresAre(t *testing.T) {
	for text, says := range map[string]string{
		"I would click About.":                                 "the model wrote nothing usable: malformed 1",
		`{"actions":[{"choice":9},{"choice":0},{"tool":"x"}]}`: "the model wrote nothing usable: arguments 1, choice out of range 2",
	} {
		synctest.Test(t, func(t *testing.T) {
			sim := llmsim.New(llmsim.Options{Answer: func(llmsim.Request) llmsim.Answer { return llmsim.Answer{Text: text} }})
			at := sim.Pipe()
			defer at.Close()
			s, cache, _ := crossing(t, draft.Chat(at.Client(), itself, draft.ChatConfig{}))
			defer cache.Close()
			_, err := s.Do(t.Context(), visit("https://c.example/"))
			require.NoError(t, err)
			synctest.Wait()
			assert.EqualValues(t, 1, cache.Stats().DraftFailures["unusable"])
			assert.Contains(t, s.Explain(), says)
		})
	}
}
