package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/draft"
)

// modelTimeout ends a call of a model. Small machines are slow.
const modelTimeout = 2 * time.Minute

// chat is a draft that is a language model.
func (c *Config) chat(note func(draft.ChatReport)) (predictor, error) {
	switch {
	case c.Client == nil:
		return nil, errors.New("draft chat asks a model: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own")
	case c.Profile == SlowDraft:
		return nil, errors.New("draft chat takes the time that it takes: use the profile paper or none")
	}
	return draft.Chat(c.Client, (*web.Page).View, draft.ChatConfig{
		Model: c.Draft.model, N: c.TopN, Timeout: modelTimeout, Report: note,
	}), nil
}

// tryModel asks a model about the first page before anything is measured: it
// has to be loaded by then, and what is wrong with the endpoint ends the run.
func (s *setup) tryModel(ctx context.Context) error {
	if !s.cfg.Draft.Chat() {
		return nil
	}
	guess, err := s.cfg.predictor(s.cfg.Seed, nil)
	if err != nil {
		return err
	}
	visit, err := web.Visit(s.cfg.Items[0].RootURL)
	if err != nil {
		return err
	}
	page, err := s.reference.page(ctx, visit)
	if err != nil {
		return err
	}
	first := state{Goal: s.cfg.Items[0].Question, Steps: []actions.Step[*web.Page]{{Action: visit, Observation: page}}}
	for _, err := range guess(ctx, first) {
		if err != nil {
			return fmt.Errorf("%s: %w", s.cfg.Draft, err)
		}
	}
	return ctx.Err()
}

// observed records what a predictor yields, as it comes.
func observed(inner predictor, env *actions.Environment[*web.Page]) predictor {
	return func(ctx context.Context, s state) guesses {
		return func(yield func(actions.Prediction, error) bool) {
			called := time.Now()
			p := positionOf(ctx)
			if p == nil {
				return
			}
			var all []actions.Prediction
			for guess, err := range inner(ctx, s) {
				if a, wrong := env.Resolve(s, guess.Action); err == nil && wrong == nil {
					p.yields.add(a, called)
					all = append(all, guess)
				}
				if !yield(guess, err) {
					return
				}
			}
			if ctx.Err() == nil {
				p.yields.end(all)
			}
		}
	}
}

// A tally sums up what all calls of a model were like.
type tally struct {
	mu      sync.Mutex // guards what follows
	calls   int
	tokens  int
	took    []time.Duration
	dropped map[draft.DropReason]int
	failed  map[draft.Class]int
}

func (y *tally) note(r draft.ChatReport) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.dropped == nil {
		y.dropped, y.failed = map[draft.DropReason]int{}, map[draft.Class]int{}
	}
	y.calls += r.Usage.Calls
	y.tokens += r.Usage.PromptTokens + r.Usage.OutputTokens
	for reason, n := range r.Dropped {
		y.dropped[reason] += n
	}
	switch {
	case r.Err != nil:
		y.failed[r.Class]++
	case !r.Estimated:
		y.took = append(y.took, r.Took)
	}
}

// fill writes the sums into a report.
func (y *tally) fill(r *Report) {
	r.ModelSeconds = missing
	if y == nil {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	r.DraftCalls, r.DraftTokens, r.DraftDropped, r.DraftFailed = y.calls, y.tokens, y.dropped, y.failed
	if len(y.took) > 0 {
		slices.Sort(y.took)
		r.ModelSeconds = Number(y.took[len(y.took)/2].Seconds())
	}
}
