package draft

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"

	"github.com/speccache/speccache-go/actions"
)

// What each ingredient weighs. Leaving any of them out costs accuracy on the
// recorded clicks or on the anchors of other sites; for related words it is so
// little that it may be chance. The recorded clicks were looked at when these
// were set, and they alone judge urlWeight, beyondWeight and the title: their
// accuracy is that of a fit, not of a forecast.
//
// Tried and dropped, for they helped nowhere: position on the page, the host,
// sections of a site as hubs, common prefixes of words, less weight for
// numbers, variety among the guesses.
//
// Tried on the pseudo-questions of [ranking.readAround] and dropped: other
// weights for the title, within a point; less or more weight for what the text
// in view or the texts visited say, within a point, and on questions for two
// pages better on one site and worse on the other; on top of the words around
// a link, the heading above (nothing) and the paragraph before a list (1.5
// points on one site of six).
const (
	urlWeight     = 0.7 // a word in a URL, where 1 is a word in a label
	relatedWeight = 0.3 // a related word, where 1 is the goal's own
	aroundWeight  = 0.3 // a word around a link in the text
	saidWeight    = 0.5 // a word of a page that has been visited
	beyondWeight  = 0.6 // what a visited page leads to, where 1 is in view
)

const maxGuesses = 10

// Lexical returns a predictor without a model. It ranks the choices in view by
// the words that they share with the goal, and yields the ten best.
//
// A word counts the more the fewer choices bear it, and a choice the more of
// its label the goal explains; words around its link in the text add to that.
// What the title in view and the pages visited are about counts less: the
// target needs what is still lacking. Pages that were visited are not guessed
// again, unless they lead on to one that is worth it.
//
// A state without a page has no guesses. Where the goal says nothing, guesses
// come in reading order. Confidences sum to 1 and tell guesses apart; they are
// not calibrated.
func Lexical[O any](view func(O) actions.View) actions.Predictor[O] {
	mustView("Lexical", view)
	return func(ctx context.Context, s actions.State[O]) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			if ctx.Err() != nil {
				return
			}
			for _, p := range rank(view, s) {
				if ctx.Err() != nil || !yield(p, nil) {
					return
				}
			}
		}
	}
}

func rank[O any](view func(O) actions.View, s actions.State[O]) []actions.Prediction {
	r, _, ok := survey(view, s)
	if !ok {
		return nil
	}
	return predictions(r.best())
}

// survey reads the page in view and the steps that led there. Not ok means
// that there is no page.
func survey[O any](view func(O) actions.View, s actions.State[O]) (r *ranking, v actions.View, ok bool) {
	page, at, ok := inView(s)
	if !ok {
		return nil, v, false
	}
	v = view(page)
	r = newRanking(v.Choices)
	said := r.lex.words(nil, clip(v.Title, maxLabel))
	for i, step := range s.Steps {
		p, words := r.leave(step.Action)
		said = append(said, words...)
		if p != nil && i != at && !isZero(step.Observation) {
			p.beyond = view(step.Observation).Choices
		}
	}
	r.here = addressOf(s.Steps[at].Action)
	if p := r.places[r.here.key]; p != nil {
		p.beyond = nil // it is in view
	}
	r.aim(s.Goal, said)
	r.readAround(v.Text, r.here.host)
	return r, v, true
}

// A place is where the choices lead that have one address.
type place struct {
	choices []actions.Choice
	labels  [][]string // the words of each choice
	url     []string
	at      address
	beyond  []actions.Choice // of the page, where it is known and not in view

	around   []string // words of the text, each once
	mentions int      // how often the text links here, so far

	action actions.Action // of the label that matched best
	score  float64
}

const maxLabels = 4 // of a place

type ranking struct {
	lex     *lexicon
	places  map[string]*place // by address
	order   []*place
	here    address            // of the page in view
	visited map[string]bool    // addresses
	rarity  map[string]float64 // of words that choices bear, 0 to 1
	goal    map[string]float64 // weights of the goal's own words
	label   map[string]float64 // the same, with related words

	rareAround map[string]float64 // the rarity of words around links
}

func newRanking(choices []actions.Choice) *ranking {
	r := &ranking{lex: newLexicon(), places: make(map[string]*place), visited: make(map[string]bool)}
	for _, c := range choices[:min(len(choices), maxChoices)] {
		if c.Action != (actions.Action{}) {
			r.add(c)
		}
	}
	r.weigh()
	return r
}

func (r *ranking) add(c actions.Choice) {
	at := addressOf(c.Action)
	p := r.places[at.key]
	if p == nil {
		p = &place{at: at, url: r.lex.distinct(at.text)}
		r.places[at.key] = p
		r.order = append(r.order, p)
	}
	if len(p.labels) < maxLabels {
		p.choices = append(p.choices, c)
		p.labels = append(p.labels, r.lex.distinct(clip(c.Label, maxLabel)))
	}
}

// weigh finds how rare each word is: one that every choice bears says nothing
// about any of them.
func (r *ranking) weigh() {
	count := make(map[string]int)
	for _, p := range r.order {
		for w := range setOf(slices.Concat(slices.Concat(p.labels...), p.url)) {
			count[w]++
		}
	}
	r.rarity = rarities(count, len(r.order))
}

// rarities says how rare words are that so many out of n bear, 0 to 1.
func rarities(count map[string]int, n int) map[string]float64 {
	rarity := make(map[string]float64, len(count))
	for w, c := range count {
		rarity[w] = math.Log(1+float64(n)/float64(c)) / math.Log(1+float64(n))
	}
	return rarity
}

// leave marks a place as visited and returns what it is about.
func (r *ranking) leave(a actions.Action) (*place, []string) {
	if a == (actions.Action{}) {
		return nil, nil
	}
	at := addressOf(a)
	words := r.lex.words(nil, at.text)
	r.visited[at.key] = true
	p := r.places[at.key]
	if p != nil {
		words = append(words, slices.Concat(p.labels...)...)
	}
	return p, words
}

// aim sets the weights of words: what the goal says, and has not been said.
func (r *ranking) aim(goal string, said []string) {
	goal = clip(goal, maxGoal)
	r.goal = make(map[string]float64)
	r.label = make(map[string]float64)
	for _, w := range r.lex.related(goal) {
		r.label[w] = relatedWeight
	}
	for _, w := range r.lex.words(nil, goal) {
		r.goal[w], r.label[w] = 1, 1
	}
	for w := range setOf(said) {
		r.goal[w] *= saidWeight
		r.label[w] *= saidWeight
	}
}

// best returns the places worth a guess, best first.
func (r *ranking) best() []*place {
	worth := make([]*place, 0, len(r.order))
	for _, p := range r.order {
		r.score(p)
		visited := r.visited[p.at.key]
		if visited {
			p.score = r.scoreBeyond(p)
		}
		if !visited || p.score > 0 {
			worth = append(worth, p)
		}
	}
	slices.SortStableFunc(worth, func(a, b *place) int { return cmp.Compare(b.score, a.score) })
	return worth[:min(len(worth), maxGuesses)]
}

func (r *ranking) score(p *place) {
	best := math.Inf(-1)
	for i, words := range p.labels {
		if m := match(words, r.label, r.rarity); m > best {
			best, p.action = m, p.choices[i].Action
		}
	}
	p.score = best + urlWeight*match(p.url, r.goal, r.rarity) + aroundWeight*match(p.around, r.goal, r.rareAround)
}

// scoreBeyond is the score of going back: that of the best place which the
// visited page leads to and which has not been visited itself.
func (r *ranking) scoreBeyond(p *place) float64 {
	best := 0.0
	for _, c := range p.beyond[:min(len(p.beyond), maxChoices)] {
		at := addressOf(c.Action)
		if r.visited[at.key] {
			continue
		}
		label := r.lex.distinct(clip(c.Label, maxLabel))
		url := r.lex.distinct(at.text)
		best = max(best, match(label, r.label, r.rarity)+urlWeight*match(url, r.goal, r.rarity))
	}
	return beyondWeight * best
}

// match weighs the words that are wanted, times their share of all words.
// Words that are not in view are as rare as can be.
func match(words []string, wanted, rarities map[string]float64) float64 {
	hit, all := 0.0, 0.0
	for _, w := range words {
		rarity, ok := rarities[w]
		if !ok {
			rarity = 1
		}
		hit += rarity * wanted[w]
		all += rarity
	}
	if all == 0 {
		return 0
	}
	return hit * hit / all
}

func predictions(places []*place) []actions.Prediction {
	sum := 0.0
	guesses := make([]actions.Prediction, len(places))
	for i, p := range places {
		c := math.Exp(p.score - places[0].score)
		sum += c
		guesses[i] = actions.Prediction{Action: p.action, Confidence: c, Source: "lexical"}
	}
	for i := range guesses {
		guesses[i].Confidence /= sum
	}
	return guesses
}
