package draft_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/draft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLexicalGuessesMostClicksOnRecordedSitesWithinThree(t *testing.T) {
	predictor := draft.Lexical((*web.Page).View)
	var count, random tally
	for _, q := range questions(t, "items.jsonl") {
		s := actions.State[*web.Page]{Goal: q.Question}
		for _, path := range q.Paths {
			s = step(t, s, visit(q.Root))
			for _, label := range clicks(path) {
				next := find(t, s, label)
				count.add(slices.IndexFunc(guessed(t, predictor, s), leadsTo(next)))
				for seed := range uint64(20) {
					chance := draft.Random((*web.Page).View, seed, 3)
					random.add(slices.IndexFunc(guessed(t, chance, s), leadsTo(next)))
				}
				s = step(t, s, next)
			}
		}
	}
	require.Equal(t, 16, count.n)
	random.log(t, "random, recorded sites")
	assert.GreaterOrEqual(t, count.log(t, "lexical, recorded sites"), 0.70)
}

// The independent check: no page is known, but every anchor text that any
// question of a site clicks on. Which of them answers this question?
func TestLexicalPicksTheAnchorOfItsOwnQuestionAmongThoseOfTheSite(t *testing.T) {
	all := questions(t, "all-questions.jsonl")
	for _, lang := range []string{"en", "zh"} {
		var count tally
		for _, q := range all {
			if q.Lang == lang {
				pickAnchors(t, &count, q, anchorsFor(all, q.Root))
			}
		}
		at3 := count.log(t, "lexical, anchors, "+lang)
		assert.Greater(t, at3, 0.40, "random is 0.10")
	}
}

// pickAnchors walks a question's paths over one page that bears all anchors.
func pickAnchors(t *testing.T, count *tally, q question, anchors []string) {
	page := actions.View{}
	for _, a := range anchors {
		page.Choices = append(page.Choices, anchor(a))
	}
	s := looking(q.Question, page.Choices...)
	seen := map[string]bool{}
	for _, path := range q.Paths {
		for _, label := range clicks(path) {
			if !seen[label] {
				right := anchor(label).Action
				count.add(slices.Index(guessed(t, lexical(), s), right))
			}
			seen[label] = true
			last := &s.Steps[len(s.Steps)-1]
			last.Observation = actions.View{} // what it links to is not known
			s.Steps = append(s.Steps, actions.Step[actions.View]{Action: anchor(label).Action, Observation: page})
		}
	}
}

// anchor is a choice whose action says nothing.
func anchor(label string) actions.Choice {
	return actions.Choice{Label: label, Action: actions.Must("click", map[string]int{fmt.Sprintf("%x", label): 1})}
}

// anchorsFor returns the distinct anchors of a site, filled up to 30 with
// those of other sites, in an order that tells nothing.
func anchorsFor(all []question, root string) []string {
	var own, others []string
	for _, q := range all {
		for _, path := range q.Paths {
			if q.Root == root {
				own = append(own, clicks(path)...)
			} else {
				others = append(others, clicks(path)...)
			}
		}
	}
	rng := rand.New(rand.NewPCG(uint64(len(root)), 7))
	slices.Sort(own)
	own = slices.Compact(own)
	for len(own) < 30 {
		if a := others[rng.IntN(len(others))]; !slices.Contains(own, a) {
			own = append(own, a)
		}
	}
	rng.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
	return own
}

// step returns the state after an action, with the recorded page in view.
func step(t testing.TB, s actions.State[*web.Page], a actions.Action) actions.State[*web.Page] {
	s.Steps = append(s.Steps, actions.Step[*web.Page]{Action: a, Observation: recorded(t, a)})
	return s
}

// recorded reads the page that an action visits, by the rule in the data's
// README.
func recorded(t testing.TB, a actions.Action) *web.Page {
	t.Helper()
	address := urlOf(t, a)
	u, err := url.Parse(address)
	require.NoError(t, err)
	base := filepath.Join(shared(t, "data", "webwalkerqa", "sites"), u.Host, filepath.Clean(u.Path))
	for _, name := range []string{filepath.Join(base, "index.html"), base + ".html", base} {
		if html, err := os.ReadFile(name); err == nil {
			p, err := web.Parse(address, string(html))
			require.NoError(t, err)
			return p
		}
	}
	t.Fatalf("%s is not recorded", address)
	return nil
}

func urlOf(t testing.TB, a actions.Action) string {
	var args struct{ URL string }
	require.NoError(t, a.Decode(&args))
	return args.URL
}

// leadsTo compares pages, not URLs: a closing slash makes no other page.
func leadsTo(a actions.Action) func(actions.Action) bool {
	page := func(a actions.Action) string { return strings.TrimRight(a.Args(), `/"}`) }
	return func(b actions.Action) bool { return page(a) == page(b) }
}

// find returns the action of the choice that bears a label.
func find(t testing.TB, s actions.State[*web.Page], label string) actions.Action {
	t.Helper()
	page, _ := s.Last()
	for _, c := range page.View().Choices {
		if folded(c.Label) == folded(label) {
			return c.Action
		}
	}
	t.Fatalf("no link %q on %s", label, page.URL())
	return actions.Action{}
}

// folded leaves letters and digits.
func folded(label string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, label)
}
