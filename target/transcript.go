package target

import (
	"errors"
	"strings"
)

// ErrContext says that a question does not fit into Loop.ContextTokens, with
// the notes and the newest step.
var ErrContext = errors.New("target: the question, the notes and the newest step do not fit into ContextTokens")

// A transcript is the conversation so far, within a budget.
type transcript struct {
	limit    int // tokens
	question string
	views    []string // what was in view at first
	rounds   []round
	notes    notes
	cut      bool // rounds were dropped: what they noted is shown on its own
}

// A round is what the model said and what it was told then.
type round struct {
	said Message
	told []Message
}

// dropped stands for an observation that there is no room for.
const dropped = "[dropped to make room]"

// messages returns the conversation after making room. To make room changes
// what providers cache of a prompt, so there is more of it than needed, and
// it is needed seldom.
func (t *transcript) messages() ([]Message, error) {
	if t.tokens() > t.limit {
		t.makeRoom(t.limit * 3 / 4)
	}
	if t.tokens() > t.limit {
		return nil, ErrContext
	}
	return t.all(), nil
}

// makeRoom drops old observations, oldest first, and if that is not enough
// whole rounds. The newest round stays.
func (t *transcript) makeRoom(goal int) {
	old := len(t.rounds) - 1
	if old >= 0 {
		t.views = nil
	}
	for i := 0; i < old && t.tokens() > goal; i++ {
		t.rounds[i].forget()
	}
	for len(t.rounds) > 1 && t.tokens() > goal {
		t.rounds, t.cut = t.rounds[1:], true
	}
}

func (r *round) forget() {
	for i := range r.told {
		if len(r.told[i].Text) > len(dropped) {
			r.told[i].Text = dropped
		}
	}
}

func (t *transcript) all() []Message {
	all := []Message{{Text: t.opening()}}
	for _, r := range t.rounds {
		all = append(append(all, r.said), r.told...)
	}
	return all
}

func (t *transcript) tokens() int {
	n := 0
	for _, m := range t.all() {
		n += m.tokens()
	}
	return n
}

// opening is the user's message: the question, and what there is to go by. It
// is one message, since some chat templates want user and model to take turns.
func (t *transcript) opening() string {
	parts := []string{"Question: " + t.question}
	if t.cut {
		parts = append(parts, t.notes.String())
	}
	return strings.Join(append(parts, t.views...), "\n\n")
}

// add appends a round. What is said about the reply as a whole goes with the
// last observation, for the same reason.
func (t *transcript) add(said Message, told []Message, about ...string) {
	if len(told) == 0 {
		told = []Message{{}}
	}
	last := &told[len(told)-1]
	last.Text = strings.TrimSpace(strings.Join(append([]string{last.Text}, about...), "\n\n"))
	t.rounds = append(t.rounds, round{said, told})
}
