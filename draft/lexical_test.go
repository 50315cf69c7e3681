package draft_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/draft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const site = "https://conf.example"

var menu = []actions.Choice{
	link("Home", site+"/"),
	link("Venue", site+"/venue/"),
	link("Registration", site+"/registration/"),
	link("Sponsors", site+"/sponsors/"),
	link("Calls", site+"/calls/papers/"),
	link("Call for Tutorial Proposals", site+"/calls/tutorials/"),
	link("Committees", site+"/people/"),
}

func TestLexicalRanksTheChoiceThatTheGoalNamesFirst(t *testing.T) {
	for _, test := range []struct{ goal, url string }{
		{"Which company sponsored the conference?", "/sponsors/"},
		{"How many tutorials were proposed?", "/calls/tutorials/"},
		{"How much does it cost to register?", "/registration/"},
		{"Where does it take place?", "/venue/"},
		{"Who is the chair?", "/people/"},
	} {
		t.Run(test.goal, func(t *testing.T) {
			all := guesses(t, lexical(), looking(test.goal, menu...))
			assert.Equal(t, visit(site+test.url), all[0].Action)
		})
	}
}

func TestLexicalReadsURLsWhereLabelsSayNothing(t *testing.T) {
	s := looking("the visa requirements", link("here", site+"/travel/hotels"), link("here", site+"/travel/visa%20rules"))
	assert.Equal(t, visit(site+"/travel/visa%20rules"), guessed(t, lexical(), s)[0])
}

func TestLexicalReadsOtherArgumentsThanURLs(t *testing.T) {
	open := func(name string) actions.Choice {
		return actions.Choice{Action: actions.Must("open", map[string]any{"tool \"x\"": name, "n": 3})}
	}
	s := looking(`price of "fresh" apples`, open("pears"), open("\"apples\"\n"), open("plums"))
	assert.Equal(t, open("\"apples\"\n").Action, guessed(t, lexical(), s)[0])
}

func TestLexicalMatchesChineseByPairsOfCharacters(t *testing.T) {
	s := looking("四川大学学术讲座的报告人是谁？",
		link("学院概况", site+"/1"), link("师资队伍", site+"/2"), link("学术报告", site+"/3"), link("招生就业", site+"/4"))
	assert.Equal(t, visit(site+"/3"), guessed(t, lexical(), s)[0])
}

func TestLexicalDoesNotGuessThePageInViewOrPagesVisited(t *testing.T) {
	s := looking("sponsors and venue", menu...)
	page := s.Steps[0].Observation
	s.Steps = append(s.Steps,
		actions.Step[actions.View]{Action: visit(site + "/sponsors"), Observation: actions.View{Title: "S"}},
		actions.Step[actions.View]{Action: visit(site + "/venue/#map"), Observation: page})
	all := guessed(t, lexical(), s)
	assert.Len(t, all, len(menu)-2)
	assert.NotContains(t, all, visit(site+"/sponsors/"), "visited, but for the closing slash")
	assert.NotContains(t, all, visit(site+"/venue/"), "in view, but for the fragment")
}

func TestLexicalGoesBackToAPageThatLeadsOn(t *testing.T) {
	calls := actions.View{Title: "Calls", Choices: []actions.Choice{
		link("Papers", site+"/calls/papers/"), link("Student Grants", site+"/calls/g/")}}
	s := looking("When is the deadline for student grants?", menu...)
	root := s.Steps[0]
	root.Action = visit(site + "/")
	s.Steps = append(s.Steps, actions.Step[actions.View]{Action: visit(site + "/calls/papers/"), Observation: calls}, root)
	assert.Equal(t, visit(site+"/calls/papers/"), guessed(t, lexical(), s)[0])

	s.Steps = append(s.Steps, actions.Step[actions.View]{Action: visit(site + "/calls/g/"), Observation: calls}, root)
	assert.NotContains(t, guessed(t, lexical(), s), visit(site+"/calls/papers/"), "nothing there is left to see")
}

func TestLexicalTurnsToWhatTheGoalStillLacks(t *testing.T) {
	tutorials, sponsors := link("Tutorials", site+"/a"), link("Sponsors, friends, media, press", site+"/b")
	more := link("Tutorial rooms", site+"/c")
	s := looking("Which tutorials are there, and which sponsors?", tutorials, more, sponsors)
	require.Equal(t, []actions.Action{tutorials.Action, more.Action, sponsors.Action}, guessed(t, lexical(), s))

	s.Steps = append(s.Steps, actions.Step[actions.View]{Action: tutorials.Action, Observation: s.Steps[0].Observation})
	assert.Equal(t, sponsors.Action, guessed(t, lexical(), s)[0])
}

func TestLexicalDiscountsWhatThePageInViewIsAbout(t *testing.T) {
	s := looking("Game Fest winners", link("Game Fest", site+"/a"), link("Winners", site+"/b"))
	require.Equal(t, visit(site+"/a"), guessed(t, lexical(), s)[0])
	s.Steps[0].Observation.Title = "Game Fest"
	assert.Equal(t, visit(site+"/b"), guessed(t, lexical(), s)[0])
}

func TestLexicalGuessesAnAddressOnceByTheLabelThatFits(t *testing.T) {
	s := looking("discounted registration",
		link("Registration", site+"/registration"), link("Discounted registration", site+"/registration#discount"),
		link("Registration", site+"/registration/"))
	assert.Equal(t, []actions.Action{visit(site + "/registration#discount")}, guessed(t, lexical(), s))
}

func TestLexicalKeepsReadingOrderWhereTheGoalSaysNothing(t *testing.T) {
	all := guesses(t, lexical(), looking("", menu...))
	require.Len(t, all, len(menu))
	for i, guess := range all {
		assert.Equal(t, menu[i].Action, guess.Action)
		assert.InDelta(t, 1/float64(len(menu)), guess.Confidence, 1e-9)
	}
}

func TestLexicalYieldsAtMostTenGuessesWithFallingConfidences(t *testing.T) {
	var choices []actions.Choice
	for i := range 30 {
		choices = append(choices, link(fmt.Sprintf("Report %d of the year", i), fmt.Sprintf("%s/%d", site, i)))
	}
	all := guesses(t, lexical(), looking("report 7", choices...))
	require.Len(t, all, 10)
	sum, last := 0.0, 1.0
	for _, guess := range all {
		assert.Equal(t, "lexical", guess.Source)
		assert.LessOrEqual(t, guess.Confidence, last)
		assert.Positive(t, guess.Confidence)
		last = guess.Confidence
		sum += guess.Confidence
	}
	assert.InDelta(t, 1, sum, 1e-9)
}

func TestLexicalSaysTheSameEachTime(t *testing.T) {
	s := looking("call for tutorial sponsors", menu...)
	first := guesses(t, lexical(), s)
	for range 20 {
		require.Equal(t, first, guesses(t, lexical(), s))
	}
}

func TestLexicalHasNoGuessesWithoutAPage(t *testing.T) {
	assert.Empty(t, guesses(t, lexical(), actions.State[actions.View]{Goal: "x"}))
	assert.Empty(t, guesses(t, lexical(), looking("x")))
	assert.Empty(t, guesses(t, lexical(), looking("x", actions.Choice{Label: "x"})), "a choice without an action")
}

func TestLexicalSeesThePageBeforeAStepThatFailed(t *testing.T) {
	s := looking("sponsors", menu...)
	s.Steps = append(s.Steps, actions.Step[actions.View]{Action: visit(site + "/sponsors/")})
	all := guessed(t, lexical(), s)
	assert.Len(t, all, len(menu)-1)
	assert.NotContains(t, all, visit(site+"/sponsors/"))
}

func TestPredictorsStopWhenTheyAreTold(t *testing.T) {
	s := looking("sponsors", menu...)
	for name, p := range map[string]actions.Predictor[actions.View]{
		"lexical": lexical(), "random": draft.Random(itself, 1, 3), "oracle": oracle(t, 1, 1),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			n := 0
			for range p(ctx, s) {
				n++
				cancel()
			}
			assert.Equal(t, 1, n, "the context has ended")
			for range p(ctx, s) {
				n++
			}
			assert.Equal(t, 1, n, "the context had ended before")
			for range p(context.Background(), s) {
				break // a predictor that went on would panic
			}
		})
	}
}

func TestPredictorsNeedAView(t *testing.T) {
	assert.PanicsWithValue(t, "draft: Lexical needs a view function", func() { draft.Lexical[string](nil) })
	assert.PanicsWithValue(t, "draft: Random needs a view function", func() { draft.Random[string](nil, 1, 1) })
}

// The bound is on what is read, so the test asserts on what a page can
// influence: not on the clock.
func TestLexicalReadsNoMoreThanItsLimits(t *testing.T) {
	huge := strings.Repeat("needle ", 1<<18)
	choices := make([]actions.Choice, 100_000)
	for i := range choices {
		choices[i] = link(fmt.Sprint("a", i, " b", i, " c", i), fmt.Sprint(site, "/", i))
	}
	choices[0].Label = strings.Repeat("x", 1<<20) + " needle"
	choices[1] = actions.Choice{Label: huge, Action: actions.Must("open", map[string]string{"x": huge[:1<<19]})}
	choices[99_999].Label = "needle"
	s := looking("needle "+huge, choices...)
	s.Steps[0].Observation.Text = huge
	all := guessed(t, lexical(), s)
	assert.Len(t, all, 10)
	assert.NotContains(t, all, choices[99_999].Action, "the thousandth choice is the last one")
	allocs := testing.AllocsPerRun(1, func() { guesses(t, lexical(), s) })
	assert.Less(t, allocs, 200_000.0)
}

func FuzzLexical(f *testing.F) {
	f.Add("Where is ACL 2024?", "Venue", "Committee\xff", "https://a.example/%zz/../x?y=1#z")
	f.Add("什么时间？", "学术报告", "日", `\"`)
	f.Add("", "", "", "://")
	f.Add("ing's eed ''' y's", "İıſK", "\u0301\u0301", "https://")
	f.Fuzz(func(t *testing.T, goal, one, two, value string) {
		a, err := actions.New("visit", map[string]string{"url": value})
		if err != nil {
			t.Skip(err)
		}
		s := looking(goal, actions.Choice{Label: one, Action: a}, actions.Choice{Label: two, Action: a},
			link(two, site+"/b"), link(one, site+"/c"))
		s.Steps[0].Observation.Title = two
		s.Steps[0].Observation.Text = goal + "[" + one + "](" + site + "/b) " + two + "\n" + one + "](" + value + ")"
		s.Steps = append(s.Steps, actions.Step[actions.View]{Action: visit(site + "/c"), Observation: s.Steps[0].Observation})
		all := guesses(t, lexical(), s)
		require.NotEmpty(t, all)
		last := 1.0
		for _, guess := range all {
			require.False(t, math.IsNaN(guess.Confidence))
			require.Greater(t, guess.Confidence, 0.0)
			require.LessOrEqual(t, guess.Confidence, last)
			last = guess.Confidence
		}
		require.Equal(t, all, guesses(t, lexical(), s))
	})
}

func BenchmarkLexical(b *testing.B) {
	var choices []actions.Choice
	var text strings.Builder
	for i := range 200 {
		label := fmt.Sprintf("Proceedings number %d about subject%d", i, i%40)
		url := fmt.Sprintf("%s/section%d/page-of-subject-%d", site, i%9, i)
		choices = append(choices, link(label, url))
		fmt.Fprintf(&text, "- Part%d of what is new: see [%s](%s), which says more on matter%d. ", i%50, label, url, i%70)
		text.WriteString(strings.Repeat("Words of a page. ", 7) + "\n")
	}
	s := looking("Who gave the keynote about subject17, and when is the deadline of proceedings 30?", choices...)
	s.Steps[0].Observation.Text = text.String()
	require.InDelta(b, 50_000, text.Len(), 6_000)
	p := lexical()
	b.ReportAllocs()
	for b.Loop() {
		for range p(context.Background(), s) {
		}
	}
}
