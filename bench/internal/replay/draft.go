package replay

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/draft"
)

type (
	state     = actions.State[*web.Page]
	predictor = actions.Predictor[*web.Page]
	guesses   = iter.Seq2[actions.Prediction, error]
)

// A Draft names a predictor: lexical, random, oracle:P with the probability of
// being right, or chat:MODEL.
type Draft struct {
	kind  string
	p     float64
	model string
}

// Chat reports whether the draft is a language model. It needs Config.Client,
// and takes the time that it takes.
func (d Draft) Chat() bool { return d.kind == "chat" }

// ParseDraft returns the draft of a name.
func ParseDraft(name string) (Draft, error) {
	kind, p, has := strings.Cut(name, ":")
	switch {
	case (kind == "lexical" || kind == "random") && !has:
		return Draft{kind: kind}, nil
	case kind == "oracle" && has:
		p, err := strconv.ParseFloat(p, 64)
		if err == nil && p >= 0 && p <= 1 {
			return Draft{kind: kind, p: p}, nil
		}
		return Draft{}, fmt.Errorf("draft %q: P must be a probability from 0 to 1", name)
	case kind == "chat" && !has:
		return Draft{kind: kind, model: draft.DefaultModel}, nil
	case kind == "chat" && p != "":
		return Draft{kind: kind, model: p}, nil
	}
	return Draft{}, fmt.Errorf("draft %q: want lexical, random, oracle:P, chat or chat:MODEL", name)
}

// String returns the draft's name.
func (d Draft) String() string {
	switch d.kind {
	case "oracle":
		return "oracle:" + strconv.FormatFloat(d.p, 'g', -1, 64)
	case "chat":
		return "chat:" + d.model
	}
	return d.kind
}

// seeded reports whether guesses depend on the seed. If they do not, a click
// that is walked with several seeds is one sample of the draft's quality.
func (d Draft) seeded() bool { return d.kind != "lexical" && d.kind != "chat" }

// predictor makes the predictor of one agent. A model's calls are told to note.
func (c *Config) predictor(seed uint64, note func(draft.ChatReport)) (predictor, error) {
	switch c.Draft.kind {
	case "lexical":
		return draft.Lexical((*web.Page).View), nil
	case "random":
		return draft.Random((*web.Page).View, seed, c.TopN), nil
	case "chat":
		return c.chat(note)
	}
	return c.oracle(seed)
}

func (c *Config) oracle(seed uint64) (predictor, error) {
	cfg := draft.OracleConfig[*web.Page]{
		View: (*web.Page).View, P: c.Draft.p, Seed: seed, Ranks: c.Ranks, N: c.TopN,
		Next: func(state) (string, int, actions.Action, bool) { return "", 0, actions.Action{}, false },
	}
	if _, err := draft.Oracle(cfg); err != nil {
		return nil, err
	}
	return func(ctx context.Context, s state) guesses {
		cfg := cfg
		cfg.Next = func(s state) (string, int, actions.Action, bool) { return next(positionOf(ctx), s) }
		oracle, err := draft.Oracle(cfg)
		if err != nil {
			return func(yield func(actions.Prediction, error) bool) { yield(actions.Prediction{}, err) }
		}
		return oracle(ctx, s)
	}, nil
}

// next is what the oracle knows: which label comes next, on the page in view.
func next(p *position, s state) (item string, step int, a actions.Action, ok bool) {
	page, ok := s.Last()
	if p == nil || !ok {
		return "", 0, a, false
	}
	a, err := page.Click(p.label)
	return strconv.Itoa(p.item), p.step, a, err == nil
}

// A position is a step that the target is going to take. It travels in the
// context of the call before it, whose values the draft's context has: so
// there is no doubt which step a draft is about, however late it is.
type position struct {
	item, step int
	label      string
	yields     yields
}

type positionKey struct{}

func withPosition(ctx context.Context, p *position) context.Context {
	return context.WithValue(ctx, positionKey{}, p)
}

// positionOf returns nil after the end of a path, where nothing is to guess.
func positionOf(ctx context.Context) *position {
	p, _ := ctx.Value(positionKey{}).(*position)
	return p
}

// first returns up to n guesses. The draft is given no more, so that it does
// not work for nothing.
func first(g guesses, n int) []actions.Prediction {
	var list []actions.Prediction
	for p, err := range g {
		if err == nil && p.Action != (actions.Action{}) {
			list = append(list, p)
		}
		if len(list) == n {
			break
		}
	}
	return list
}

// among reports whether an action is one of some guesses, as the environment
// resolves them.
func among(list []actions.Prediction, a actions.Action, s state, env *actions.Environment[*web.Page]) bool {
	return slices.ContainsFunc(list, func(p actions.Prediction) bool {
		resolved, err := env.Resolve(s, p.Action)
		return err == nil && resolved == a
	})
}
