package draft_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A talk is a chat with a simulated model.
type talk struct {
	sim     *llmsim.Server
	at      *llmsim.Endpoint
	predict actions.Predictor[actions.View]

	mu      sync.Mutex // guards reports
	reports []draft.ChatReport
}

// talking starts a simulated model. Tests in bubbles close it themselves.
func talking(opts llmsim.Options, cfg draft.ChatConfig, answers ...llmsim.Answer) *talk {
	k := &talk{sim: llmsim.New(opts)}
	k.at = k.sim.Pipe()
	k.sim.Push(answers...)
	cfg.Report = func(r draft.ChatReport) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.reports = append(k.reports, r)
	}
	k.predict = draft.Chat(k.at.Client(), itself, cfg)
	return k
}

func (k *talk) close() { k.at.Close() }

func (k *talk) report(t testing.TB) draft.ChatReport {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	require.NotEmpty(t, k.reports)
	return k.reports[len(k.reports)-1]
}

// A said is what a predictor yielded.
type said struct {
	actions []actions.Action
	at      []time.Duration
	all     []actions.Prediction
	usage   actions.Usage
	errs    []error
}

// hear runs a predictor to its end.
func hear(ctx context.Context, p actions.Predictor[actions.View], s actions.State[actions.View]) (h said) {
	began := time.Now()
	for guess, err := range p(ctx, s) {
		if err != nil {
			h.errs = append(h.errs, err)
			continue
		}
		h.all = append(h.all, guess)
		h.usage.Calls += guess.Usage.Calls
		h.usage.PromptTokens += guess.Usage.PromptTokens
		h.usage.CachedTokens += guess.Usage.CachedTokens
		h.usage.OutputTokens += guess.Usage.OutputTokens
		if guess.Action != (actions.Action{}) {
			h.actions = append(h.actions, guess.Action)
			h.at = append(h.at, time.Since(began))
		}
	}
	return h
}

// conference is a page whose choices are nearest to the goal in this order.
func conference() actions.State[actions.View] {
	s := looking("When is the workshop deadline?",
		link("Workshop deadline", "https://c.example/deadline"),
		link("Workshop program", "https://c.example/program"),
		link("About", "https://c.example/about"),
		link("Venue", "https://c.example/venue"))
	s.Steps[0].Observation.Title = "Conference"
	return s
}

func TestChatYieldsTheChoicesThatTheModelNumbers(t *testing.T) {
	k := talking(llmsim.Options{}, draft.ChatConfig{}, llmsim.Answer{Text: `{"actions":[{"choice":1},{"choice":3},{"choice":2}]}`})
	defer k.close()
	h := hear(t.Context(), k.predict, conference())
	require.Empty(t, h.errs)
	assert.Equal(t, []actions.Action{visit("https://c.example/deadline"), visit("https://c.example/about"), visit("https://c.example/program")}, h.actions)
	assert.Equal(t, 1, h.usage.Calls)
	assert.Equal(t, k.sim.Stats().PromptTokens, h.usage.PromptTokens)
	assert.Equal(t, k.sim.Stats().OutputTokens, h.usage.OutputTokens)
}

func TestTheFirstGuessIsYieldedBeforeTheModelHasWrittenTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := talking(llmsim.Options{Latency: llmsim.Latency{Base: time.Second, PerOutput: 100 * time.Millisecond}}, draft.ChatConfig{},
			llmsim.Answer{Text: `{"actions":[{"choice":1},{"choice":3},{"choice":2}]}`})
		defer k.close()
		h := hear(t.Context(), k.predict, conference())
		require.Empty(t, h.errs)
		assert.Equal(t, []time.Duration{1600 * time.Millisecond, 2 * time.Second, 2300 * time.Millisecond}, h.at)
		assert.Equal(t, h.at[0], k.report(t).First)
	})
}

func TestAServerThatRefusesSchemasIsAskedForLinesFromThenOn(t *testing.T) {
	k := talking(llmsim.Options{
		Models: map[string]llmsim.Model{"small": {NoSchema: true}},
		Answer: func(llmsim.Request) llmsim.Answer {
			return llmsim.Answer{Text: "Action: click\nAction Input 1: {\"choice\": 2}\nAction Input 2: {\"button\": \"About\"}"}
		},
	}, draft.ChatConfig{Model: "small"})
	defer k.close()
	for range 2 {
		h := hear(t.Context(), k.predict, conference())
		require.Empty(t, h.errs)
		assert.Equal(t, []actions.Action{visit("https://c.example/program"), visit("https://c.example/about")}, h.actions)
	}
	assert.Equal(t, draft.FormLines, k.report(t).Form)
	assert.Equal(t, 3, len(k.sim.Requests()), "once refused, twice answered")
}

func TestAFailedCallYieldsOneTypedError(t *testing.T) {
	k := talking(llmsim.Options{}, draft.ChatConfig{}, llmsim.Limited(llmsim.After(7*time.Second)))
	defer k.close()
	h := hear(t.Context(), k.predict, conference())
	require.Len(t, h.errs, 1)
	e, ok := errors.AsType[*draft.Error](h.errs[0])
	require.True(t, ok)
	assert.Equal(t, draft.Class("rate limit"), e.Class)
	assert.Equal(t, 7*time.Second, e.RetryAfter)
	assert.Empty(t, h.actions)
	assert.Equal(t, actions.Usage{Calls: 1}, h.usage)
}
