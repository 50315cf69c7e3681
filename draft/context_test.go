package draft_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/stretchr/testify/assert"
)

// reading is the state of an agent that has visited a page with this text.
func reading(goal, text string, choices ...actions.Choice) actions.State[actions.View] {
	s := looking(goal, choices...)
	s.Steps[0].Action = visit(site + "/")
	s.Steps[0].Observation.Text = text
	return s
}

var numbered = []actions.Choice{link("One", site+"/1"), link("Two", site+"/2"), link("Three", site+"/3")}

func TestLexicalReadsWhatTheTextSaysAroundALink(t *testing.T) {
	for name, text := range map[string]string{
		"a sentence": "See [Two](" + site + "/2) for pears.\n\nSee [Three](" + site + "/3) for how to grow apples.",
		"a list":     "- [One](" + site + "/1): pears\n- [Three](" + site + "/3): apples\n",
		"a table":    "| [One](" + site + "/1) | pears |\n| [Three](" + site + "/3#fresh) | apples |\n",
		"one line":   strings.Repeat("pears ", 50) + "[Two](" + site + "/2)" + strings.Repeat(" pears", 50) + " apples: [Three](" + site + "/3).",
	} {
		t.Run(name, func(t *testing.T) {
			s := reading("Who grows apples?", text, numbered...)
			assert.Equal(t, visit(site+"/3"), guessed(t, lexical(), s)[0])
		})
	}
}

func TestLexicalTrustsALabelMoreThanTheTextAroundALink(t *testing.T) {
	s := reading("Who grows apples?", "Apples grow here: [One]("+site+"/1).", append(numbered, link("Apples", site+"/4"))...)
	all := guessed(t, lexical(), s)
	assert.Equal(t, []actions.Action{visit(site + "/4"), visit(site + "/1")}, all[:2])
}

func TestLexicalReadsNoTextAroundLinksToOtherHosts(t *testing.T) {
	const other = "https://other.example/"
	s := reading("Who grows apples?", "Apples grow [elsewhere]("+other+").", append(numbered, link("elsewhere", other))...)
	assert.Equal(t, numbered[0].Action, guessed(t, lexical(), s)[0])

	s.Steps[0].Action = actions.Action{} // handed in: its host is not known
	assert.Equal(t, visit(other), guessed(t, lexical(), s)[0])
}

func TestLexicalReadsABoundedPartOfAText(t *testing.T) {
	far := "apples " + strings.Repeat("x ", 101) + "[One](" + site + "/1)\n"
	third := strings.Repeat("[Two]("+site+"/2)\n", 2) + "[Two](" + site + "/2) apples\n"
	late := strings.Repeat("pears\n", 11_000) + "[Three](" + site + "/3) apples\n"
	s := reading("apples", far+third+late, numbered...)
	for i, guess := range guesses(t, lexical(), s) {
		assert.Equal(t, numbered[i].Action, guess.Action)
		assert.InDelta(t, 1.0/3, guess.Confidence, 1e-9, "nothing was found")
	}
}

func TestLexicalReadsPagesBeyondHoweverMuchTheTextSays(t *testing.T) {
	var choices []actions.Choice
	var text strings.Builder
	for i := range 900 {
		choices = append(choices, link("x", fmt.Sprint(site, "/", i)))
		fmt.Fprintf(&text, "a b c d [x](%s/%d) e f g h ", site, i)
	}
	s := reading("apples", text.String(), choices...)
	root := s.Steps[0]
	orchard := actions.View{Choices: []actions.Choice{link("Apples", site+"/apples")}}
	s.Steps = append(s.Steps, actions.Step[actions.View]{Action: choices[800].Action, Observation: orchard}, root)
	assert.Equal(t, choices[800].Action, guessed(t, lexical(), s)[0])
}

func TestLexicalCopesWithTextThatIsNoMarkdown(t *testing.T) {
	for _, text := range []string{
		"](", "](\n", "[](", "[]()", "[x](https://", "](" + site + "/1)", "[[x](y](" + site + "/1) z)", "[\xff](\xff)",
		strings.Repeat("](", 1<<20), strings.Repeat("[", 1<<20) + "](" + site + "/1)", strings.Repeat("[x]("+site+"/1)", 1<<15),
		"[One](" + site + "/1)" + strings.Repeat("苹", 200), strings.Repeat("苹", 200) + "[One](" + site + "/1)",
	} {
		s := reading("apples", text, numbered...)
		assert.Len(t, guesses(t, lexical(), s), 3, fmt.Sprintf("%.40q", text))
	}
}
