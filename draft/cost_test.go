package draft_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asked is a client that does not stream, and does as it likes.
type asked func(context.Context) (openai.ChatCompletionResponse, error)

func (c asked) CreateChatCompletion(ctx context.Context, _ openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error) {
	return c(ctx)
}

// charging answers with three guesses, at a price.
func charging(u openai.Usage) asked {
	return func(context.Context) (openai.ChatCompletionResponse, error) {
		resp, err := replies(three).CreateChatCompletion(context.Background(), openai.ChatCompletionRequest{})
		resp.Usage = u
		return resp, err
	}
}

func TestWhoLeavesTheLoopEarlyHasBeenToldNearlyAllOfTheCost(t *testing.T) {
	s := reading("Wann reifen Äpfel?", strings.Repeat("Äpfel reifen im September, und Birnen ein wenig früher.\n", 50), numbered...)
	for name, page := range map[string]actions.State[actions.View]{"short": conference(), "long": s} {
		k := talking(plainly, draft.ChatConfig{}, llmsim.Answer{Text: three})
		for guess := range k.predict(t.Context(), page) {
			counted := llmsim.PromptTokens(k.sim.Requests()[0].ChatCompletionRequest)
			assert.Equal(t, 1, guess.Usage.Calls, name)
			assert.GreaterOrEqual(t, 4*guess.Usage.PromptTokens, 3*counted, name)
			assert.LessOrEqual(t, guess.Usage.PromptTokens, counted, name)
			assert.Positive(t, guess.Usage.OutputTokens, name)
			break
		}
		k.close()
	}
}

func TestWhatIsToldAddsUpToWhatTheCallHasCost(t *testing.T) {
	for name, c := range map[string]struct {
		answer llmsim.Answer
		cfg    draft.ChatConfig
	}{
		"counted":     {llmsim.Answer{Text: three}, draft.ChatConfig{}},
		"not counted": {llmsim.Answer{Text: three, NoUsage: true}, draft.ChatConfig{}},
		"in lines":    {llmsim.Answer{Text: "Action: click\nAction Input 1: {\"choice\": 1}\n", NoUsage: true}, draft.ChatConfig{Form: draft.FormLines}},
		"thought":     {llmsim.Answer{Text: three, Reasoning: strings.Repeat("hm, ", 50)}, draft.ChatConfig{}},
		"cut":         {llmsim.Answer{Text: three, Fault: llmsim.Fault{CutAt: 8}}, draft.ChatConfig{}},
		"no guess":    {llmsim.Answer{Text: `{"actions":[]}`}, draft.ChatConfig{}},
	} {
		k := talking(llmsim.Options{PromptCache: 16}, c.cfg, c.answer, c.answer)
		for range 2 { // the second time, most of the prompt is cached
			h := hear(t.Context(), k.predict, conference())
			r := k.report(t)
			assert.Equal(t, r.Usage, h.usage, name)
			for _, p := range h.all {
				assert.GreaterOrEqual(t, min(p.Usage.Calls, p.Usage.PromptTokens, p.Usage.CachedTokens, p.Usage.OutputTokens), 0, name)
			}
			if !r.Estimated {
				assert.Equal(t, k.sim.Stats().PromptTokens, len(k.reports)*h.usage.PromptTokens, name)
				assert.Equal(t, k.sim.Stats().OutputTokens, len(k.reports)*h.usage.OutputTokens, name)
				assert.Equal(t, k.sim.Stats().CachedTokens, (len(k.reports)-1)*h.usage.CachedTokens, name)
			}
		}
		k.close()
	}
}

func TestAPriceBeyondBoundsIsNotBelieved(t *testing.T) {
	for _, u := range []openai.Usage{
		{PromptTokens: math.MaxInt, CompletionTokens: math.MaxInt, PromptTokensDetails: &openai.PromptTokensDetails{CachedTokens: math.MaxInt}},
		{PromptTokens: math.MinInt, CompletionTokens: 1},
	} {
		h := hear(t.Context(), draft.Chat(charging(u), itself, draft.ChatConfig{}), conference())
		assert.Len(t, h.actions, 3)
		for _, n := range []int{h.usage.PromptTokens, h.usage.CachedTokens, h.usage.OutputTokens} {
			assert.LessOrEqual(t, n, 1<<24)
			assert.GreaterOrEqual(t, n, 0)
		}
	}
}

func TestARequestThatFailedHasItsEstimatedCostUnlessItWasRefused(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		free bool
	}{
		"timeout":   {context.DeadlineExceeded, false},
		"cut":       {errors.New("unexpected EOF"), false},
		"500":       {&openai.APIError{HTTPStatusCode: 500}, false},
		"503":       {&openai.APIError{HTTPStatusCode: 503}, false},
		"400":       {&openai.APIError{HTTPStatusCode: 400}, true},
		"401":       {&openai.APIError{HTTPStatusCode: 401}, true},
		"429":       {&openai.RequestError{HTTPStatusCode: 429}, true},
		"no server": {nil, true},
	} {
		predict := draft.Chat(asked(func(context.Context) (resp openai.ChatCompletionResponse, err error) { return resp, c.err }), itself, draft.ChatConfig{Form: draft.FormJSON})
		if c.err == nil {
			k := talking(plainly, draft.ChatConfig{})
			k.close()
			predict = draft.Chat(clientOf("http://127.0.0.1:1/v1"), itself, draft.ChatConfig{})
		}
		h := hear(t.Context(), predict, conference())
		require.Len(t, h.errs, 1, name)
		assert.Equal(t, 1, h.usage.Calls, name)
		assert.Equal(t, c.free, h.usage.PromptTokens == 0, name)
	}
}

func clientOf(url string) draft.Completer {
	cfg := openai.DefaultConfig("")
	cfg.BaseURL = url
	return openai.NewClientWithConfig(cfg)
}

// A client that does not look at its context answers when the target has long
// acted.
func TestALateAnswerHasNoGuessesButItsCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := asked(func(context.Context) (openai.ChatCompletionResponse, error) {
			time.Sleep(3 * time.Second)
			return charging(openai.Usage{PromptTokens: 1000, CompletionTokens: 100})(context.Background())
		})
		ctx, acts := context.WithTimeout(t.Context(), time.Second)
		defer acts()
		h := hear(ctx, draft.Chat(slow, itself, draft.ChatConfig{}), conference())
		assert.Empty(t, h.actions)
		assert.Equal(t, actions.Usage{Calls: 1, PromptTokens: 1000, OutputTokens: 100}, h.usage)
		assert.Len(t, h.errs, 1)

		h = hear(t.Context(), draft.Chat(slow, itself, draft.ChatConfig{Timeout: time.Second}), conference())
		assert.Empty(t, h.actions)
		assert.Equal(t, 1000, h.usage.PromptTokens)
		require.Len(t, h.errs, 1)
		e, ok := errors.AsType[*draft.Error](h.errs[0])
		require.True(t, ok)
		assert.Equal(t, draft.Class("timeout"), e.Class)
	})
}

func TestACapOnTokensEndsDraftsThatAreAlwaysLateOrSayMoreThanIsWanted(t *testing.T) {
	for name, think := range map[string]time.Duration{"late": 2 * time.Second, "more than is wanted": 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var requests atomic.Int64
			predict := draft.Chat(asked(func(context.Context) (openai.ChatCompletionResponse, error) {
				requests.Add(1)
				time.Sleep(3 * time.Second)
				return charging(openai.Usage{PromptTokens: 1000, CompletionTokens: 100})(context.Background())
			}), itself, draft.ChatConfig{})
			page := conference().Steps[0].Observation
			cache, err := speccache.New(actions.Environment[actions.View]{
				Do:    func(context.Context, actions.Action) (actions.View, error) { return page, nil },
				Rules: actions.Reads("visit"),
				View:  itself,
			}, speccache.Config[actions.View]{Predictor: predict, TopN: 2, SessionLimits: speccache.Limits{DraftTokens: 5000}})
			require.NoError(t, err)
			defer cache.Close()
			s := cache.Open(speccache.SessionConfig[actions.View]{Goal: "When?"})
			for range 50 {
				s.Observe(t.Context(), page)
				time.Sleep(think)
			}
			synctest.Wait()
			assert.LessOrEqual(t, requests.Load(), int64(7), name)
			assert.EqualValues(t, requests.Load()*1000, s.Stats().Usage.PromptTokens, name)
			assert.Positive(t, s.Stats().Limited, name)
		})
	}
}
