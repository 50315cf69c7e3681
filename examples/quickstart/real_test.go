package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/speccache"
	"github.com/speccache/speccache-go/target"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The one test that asks a model that is not simulated, and the one that CI
// lets skip. It is about the conversation with the server and not about how
// clever the model is, so that the smallest will do: what is right or hits is
// logged, and not asked for.
func TestARealServerDraftsAndAnswers(t *testing.T) {
	base := os.Getenv("SPECCACHE_OPENAI_BASE_URL")
	if base == "" {
		t.Skip("SPECCACHE_OPENAI_BASE_URL is not set: it is the base URL of an OpenAI-compatible server, " +
			"up to and including /v1; SPECCACHE_OPENAI_MODEL and SPECCACHE_OPENAI_KEY go with it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	r := meet(ctx, t, base)
	t.Run("draft", r.drafts)
	t.Run("draft of the reader", r.runsAhead)
	t.Run("target", r.answers)
}

// A real model, and the page that it looks at first.
type real struct {
	ctx     context.Context
	client  *openai.Client
	model   string
	fetcher *web.Fetcher
	visit   actions.Action
	home    *web.Page
}

func meet(ctx context.Context, t *testing.T, base string) *real {
	r := &real{ctx: ctx, client: target.NewClient(cmp.Or(os.Getenv("SPECCACHE_OPENAI_KEY"), "none"), base)}
	if r.model = os.Getenv("SPECCACHE_OPENAI_MODEL"); r.model == "" {
		list, err := r.client.ListModels(ctx)
		require.NoError(t, err, "SPECCACHE_OPENAI_MODEL names the model where the server has no list")
		require.NotEmpty(t, list.Models)
		r.model = list.Models[0].ID
	}
	r.fetcher = web.New(web.Config{Transport: direct{&site{delay: noDelay}}})
	var err error
	r.visit, err = web.Visit("http://docs.example" + homePath)
	require.NoError(t, err)
	r.home, err = r.fetcher.Do(ctx, r.visit)
	require.NoError(t, err)
	return r
}

// predict is the model as a draft.
func (r *real) predict(report func(draft.ChatReport)) actions.Predictor[*web.Page] {
	return draft.Chat(r.client, (*web.Page).View, draft.ChatConfig{
		Model: r.model, MaxPromptTokens: 1500, Timeout: 5 * time.Minute, Report: report,
	})
}

func (r *real) drafts(t *testing.T) {
	var told draft.ChatReport
	state := actions.State[*web.Page]{Goal: questions[0], Steps: []actions.Step[*web.Page]{{Action: r.visit, Observation: r.home}}}
	for guess, err := range r.predict(func(c draft.ChatReport) { told = c })(r.ctx, state) {
		require.NoError(t, err)
		if guess.Action != (actions.Action{}) {
			assert.Contains(t, choices(r.home), guess.Action, "a guess is a choice in view")
		}
	}
	t.Logf("%s, %s: %d guesses, dropped %v, %+v, first after %v, all after %v",
		told.Served, told.Form, told.Guesses, told.Dropped, told.Usage, told.First, told.Took)
	assert.Empty(t, told.Class)
	assert.Positive(t, told.Usage.PromptTokens)
	assert.Positive(t, told.Usage.OutputTokens)
}

// runsAhead lets the reader answer a question. It thinks until the draft has
// said all, so that a slow machine changes nothing.
func (r *real) runsAhead(t *testing.T) {
	reports := make(chan draft.ChatReport, 1+maxClicks)
	cache, err := speccache.New(r.fetcher.Environment(), speccache.Config[*web.Page]{
		Predictor: r.predict(func(c draft.ChatReport) { reports <- c }),
	})
	require.NoError(t, err)
	defer cache.Close()
	session := cache.Open(speccache.SessionConfig[*web.Page]{Goal: questions[0]})
	session.Observe(r.ctx, r.home)
	target, page := newReader(questions[0], 0), r.home
	for range maxClicks {
		next, err := target.decide(r.ctx, page)
		require.NoError(t, err)
		if next.answer != "" {
			t.Logf("answer %q\n%s", next.answer, session.Explain())
			return
		}
		r.heard(t, reports)
		served, err := session.Run(r.ctx, next.action)
		require.NoError(t, err)
		t.Logf("%s: %s", next.what, served.Outcome)
		direct, err := r.fetcher.Do(r.ctx, served.Action)
		require.NoError(t, err)
		page = served.Observation
		assert.True(t, observe(direct).equal(observe(page)), "what was served is what the site says")
	}
	t.Fatal("the reader needs no model to answer, and has not")
}

func (r *real) heard(t *testing.T, reports <-chan draft.ChatReport) {
	select {
	case told := <-reports:
		require.NoError(t, told.Err)
		t.Logf("%d guesses, dropped %v, %d tokens, %v", told.Guesses, told.Dropped, tokens(told.Usage), told.Took)
	case <-r.ctx.Done():
		t.Fatal(r.ctx.Err())
	}
}

// answers takes any end that a model may come to for one. That there is one, and
// what it cost, is the conversation's.
func (r *real) answers(t *testing.T) {
	cache, err := speccache.New(r.fetcher.Environment(), speccache.Config[*web.Page]{Predictor: r.predict(nil)})
	require.NoError(t, err)
	defer cache.Close()
	session := cache.Open(speccache.SessionConfig[*web.Page]{Goal: questions[0]})
	session.Observe(r.ctx, r.home)
	loop := target.Loop[*web.Page]{
		Session: session, Show: read, Steps: 3, ContextTokens: 3000, ObservationTokens: 500,
		Chat: target.NewChat(r.client, target.ChatConfig{Model: r.model, Tools: tools, MaxOutputTokens: 100}),
	}
	result, err := loop.Answer(r.ctx, questions[0], r.home)
	t.Logf("answer %q, error %v, %d replies, %d steps, %+v\n%s",
		result.Answer, err, result.Replies, len(result.Steps), result.Usage, session.Explain())
	switch {
	case unsupported(err):
		t.Log("this model has no tools: it can be a draft only")
		return
	case tooSmall(err):
	default:
		require.NoError(t, err)
		assert.NotEmpty(t, result.Answer)
	}
	assert.Positive(t, result.Usage.PromptTokens)
	assert.Positive(t, result.Usage.OutputTokens)
}

func choices(p *web.Page) (list []actions.Action) {
	for _, c := range p.View().Choices {
		list = append(list, c.Action)
	}
	return list
}

// tooSmall reports whether an error is the model's, and not the
// conversation's: it goes round in circles or rambles.
func tooSmall(err error) bool {
	return errors.Is(err, target.ErrSteps) || errors.Is(err, target.ErrLength) ||
		errors.Is(err, target.ErrRefused) || errors.Is(err, target.ErrContext)
}

func unsupported(err error) bool {
	e, ok := errors.AsType[*target.Error](err)
	return ok && e.Class == "unsupported"
}
