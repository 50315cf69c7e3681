package draft

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"

	"github.com/speccache/speccache-go/actions"
)

const maxGuesses = 10

// Lexical returns a predictor without a model. It ranks the choices in view by
// the words of the goal, and yields the ten best.
//
// A state without a page has no guesses. Where the goal says nothing, choices
// are guessed in reading order.
func Lexical[O any](view func(O) actions.View) actions.Predictor[O] {
	mustView("Lexical", view)
	return func(ctx context.Context, s actions.State[O]) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			for _, p := range rank(ctx, view, s) {
				if ctx.Err() != nil || !yield(p, nil) {
					return
				}
			}
		}
	}
}

var tune = struct {
	Cov, URL, Hub, Visited, Done, Look, Exp, Syn, Sec float64
}{Cov: 1, URL: .5, Hub: .5, Visited: .1, Done: .5, Look: .6, Exp: .5, Syn: .5, Sec: 1}

// A place is where choices lead that have one address.
type place struct {
	action  actions.Action // of the label that matched best
	at      address
	labels  [][]string
	acts    []actions.Action
	url     []string
	score   float64
	visited bool
}

type ranking struct {
	lex    lexicon
	goal   map[string]float64 // stem to weight
	places []*place
	byKey  map[string]*place
	idf    map[string]float64
	max    float64
}

func rank[O any](ctx context.Context, view func(O) actions.View, s actions.State[O]) []actions.Prediction {
	page, ok := s.Last()
	if !ok {
		return nil
	}
	r := &ranking{lex: lexicon{}, byKey: map[string]*place{}}
	r.read(view(page).Choices)
	r.weigh()
	r.setGoal(s.Goal)
	visit(r, view, s)
	for _, p := range r.places {
		r.score(p)
	}
	r.hubs()
	slices.SortStableFunc(r.places, func(a, b *place) int { return cmp.Compare(b.score, a.score) })
	return r.predictions()
}

func (r *ranking) read(choices []actions.Choice) {
	for _, c := range choices[:min(len(choices), maxChoices)] {
		at := addressOf(c.Action)
		p := r.byKey[at.key]
		if p == nil {
			p = &place{action: c.Action, at: at, url: r.lex.words(nil, at.text)}
			r.byKey[at.key] = p
			r.places = append(r.places, p)
		}
		if len(p.labels) < 4 {
			p.labels = append(p.labels, r.lex.words(nil, clip(c.Label, maxLabel)))
			p.acts = append(p.acts, c.Action)
		}
	}
}

// weigh computes how much a word says: the fewer places bear it, the more.
func (r *ranking) weigh() {
	df := map[string]int{}
	for _, p := range r.places {
		seen := map[string]bool{}
		for _, l := range append(p.labels, p.url) {
			for _, w := range l {
				if !seen[w] {
					seen[w] = true
					df[w]++
				}
			}
		}
	}
	n := float64(len(r.places))
	r.idf = map[string]float64{}
	for w, d := range df {
		r.idf[w] = math.Log(1 + n/float64(d))
	}
	r.max = math.Log(1 + n)
}

func (r *ranking) setGoal(goal string) {
	r.goal = map[string]float64{}
	for _, w := range r.lex.words(nil, clip(goal, maxGoal)) {
		r.goal[w] = 1
	}
	for w := range r.goal {
		for _, syn := range related[w] {
			if _, ok := r.goal[syn]; !ok {
				r.goal[syn] = tune.Syn
			}
		}
	}
}

func visit[O any](r *ranking, view func(O) actions.View, s actions.State[O]) {
	done := map[string]bool{}
	for _, step := range s.Steps {
		if step.Action == (actions.Action{}) {
			continue
		}
		at := addressOf(step.Action)
		for _, w := range r.lex.words(nil, at.text) {
			done[w] = true
		}
		if p := r.byKey[at.key]; p != nil {
			p.visited = true
			for _, l := range p.labels {
				for _, w := range l {
					done[w] = true
				}
			}
		}
	}
	for w := range done {
		r.goal[w] *= 1 - tune.Done
	}
}

func (r *ranking) score(p *place) {
	url := 0.0
	seen := map[string]bool{}
	for _, w := range p.url {
		if !seen[w] {
			seen[w] = true
			url += r.goal[w] * r.idf[w]
		}
	}
	best := 0.0
	for i, l := range p.labels {
		if v := r.match(l); v > best {
			best, p.action = v, p.acts[i]
		}
	}
	p.score = best + tune.URL*r.match(p.url)
	if p.visited {
		p.score *= tune.Visited
	}
}

// match is the cosine-like overlap.
func (r *ranking) match(words []string) float64 {
	seen := map[string]bool{}
	hit, all := 0.0, 0.0
	for _, w := range words {
		if seen[w] {
			continue
		}
		seen[w] = true
		hit += r.goal[w] * r.idf[w]
		all += r.idf[w]
	}
	if all == 0 {
		return 0
	}
	return hit * math.Pow(hit/all, tune.Cov*tune.Exp)
}

func (r *ranking) hubs() {
}

func (r *ranking) predictions() []actions.Prediction {
	top := r.places[:min(len(r.places), maxGuesses)]
	if len(top) == 0 {
		return nil
	}
	sum := 0.0
	for _, p := range top {
		sum += math.Exp(p.score - top[0].score)
	}
	out := make([]actions.Prediction, len(top))
	for i, p := range top {
		out[i] = actions.Prediction{Action: p.action, Source: "lexical", Confidence: math.Exp(p.score-top[0].score) / sum}
	}
	return out
}

var related = map[string][]string{}
