package draft

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/speccache/speccache-go/actions"
)

// An OracleConfig says how often an [Oracle] is right, and what right is.
type OracleConfig[O any] struct {
	// View shows an observation's choices, from which wrong guesses are taken.
	View func(O) actions.View

	// Next returns what the target does next: the action, and the item and
	// step whose verdict is drawn. Not ok means that nothing follows: no guess.
	Next func(actions.State[O]) (item string, step int, next actions.Action, ok bool)

	// P is the probability that one of the guesses is right, from 0 to 1.
	P float64

	// Seed numbers the repetition. Use consecutive seeds: for every step the
	// share of right verdicts over any K consecutive seeds is within about
	// log(K)/K of P. Within one seed, steps are independent draws.
	Seed uint64

	// Ranks are the weights of the right guess standing first, second and so
	// on, normalised. Nil means 0.75, 0.06, 0.023.
	Ranks []float64

	// N is the number of guesses, at least as many as there are Ranks. Zero
	// means one for each rank.
	N int
}

var defaultRanks = []float64{0.75, 0.06, 0.023}

// Oracle returns a predictor that is right with probability P, for tests and
// benchmarks. The verdict depends on seed, item and step alone: it is the same
// in every arm of an experiment, at every depth and on every call.
//
// Other guesses are distinct choices in view, none of them the right one. If
// there are too few, the right guess moves up.
//
// Confidence is the true probability of the rank: P times its weight.
func Oracle[O any](cfg OracleConfig[O]) (actions.Predictor[O], error) {
	if cfg.Ranks == nil {
		cfg.Ranks = defaultRanks
	}
	if cfg.N == 0 {
		cfg.N = len(cfg.Ranks)
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	o := &oracle[O]{cfg: cfg, share: shares(cfg.Ranks, cfg.P)}
	return o.predict, nil
}

func (c OracleConfig[O]) validate() error {
	switch {
	case c.View == nil || c.Next == nil:
		return fmt.Errorf("draft: an oracle needs View and Next")
	case !(c.P >= 0 && c.P <= 1):
		return fmt.Errorf("draft: oracle's P is %v: it must be 0 to 1", c.P)
	case c.N < len(c.Ranks):
		return fmt.Errorf("draft: oracle with %d ranks and %d guesses", len(c.Ranks), c.N)
	}
	sum := 0.0
	for _, w := range c.Ranks {
		if !(w >= 0) {
			return fmt.Errorf("draft: oracle's rank weight %v: it must be 0 or more", w)
		}
		sum += w
	}
	if sum == 0 || math.IsInf(sum, 0) {
		return fmt.Errorf("draft: oracle's rank weights sum to %v", sum)
	}
	return nil
}

// shares returns the probability of each rank.
func shares(ranks []float64, p float64) []float64 {
	sum := 0.0
	for _, w := range ranks {
		sum += w
	}
	share := make([]float64, len(ranks))
	for i, w := range ranks {
		share[i] = p * w / sum
	}
	return share
}

type oracle[O any] struct {
	cfg   OracleConfig[O]
	share []float64 // of each rank; they sum to P
}

func (o *oracle[O]) predict(ctx context.Context, s actions.State[O]) iter.Seq2[actions.Prediction, error] {
	return func(yield func(actions.Prediction, error) bool) {
		item, step, next, ok := o.cfg.Next(s)
		if !ok {
			return
		}
		for i, a := range o.guesses(choicesIn(o.cfg.View, s), item, step, next) {
			p := actions.Prediction{Action: a, Source: "oracle"}
			if i < len(o.share) {
				p.Confidence = o.share[i]
			}
			if ctx.Err() != nil || !yield(p, nil) {
				return
			}
		}
	}
}

// guesses returns the wrong guesses with the right one at its rank, if any.
func (o *oracle[O]) guesses(choices []actions.Choice, item string, step int, next actions.Action) []actions.Action {
	draw := mix(hashString(0, item), uint64(step))
	wrong := sample(choices, next, o.cfg.N, mix(draw, o.cfg.Seed))
	rank := o.rank(draw)
	if rank < 0 {
		return wrong
	}
	rank = min(rank, len(wrong))
	guesses := append(wrong[:rank:rank], next)
	guesses = append(guesses, wrong[rank:]...)
	return guesses[:min(len(guesses), o.cfg.N)]
}

// rank returns where the right guess stands, or -1 for nowhere. Steps of the
// golden ratio cover the interval evenly however many are taken, so verdicts
// and ranks are stratified over seeds without knowing how many there will be.
// The step's own hash is the offset: steps are independent of each other.
func (o *oracle[O]) rank(draw uint64) int {
	const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	u := float64((draw+o.cfg.Seed*golden)>>11) / (1 << 53)
	for i, share := range o.share {
		if u < share {
			return i
		}
		u -= share
	}
	return -1
}
