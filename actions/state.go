package actions

import (
	"context"
	"iter"
)

// A Step is an action with what the target observed. The action is the
// resolved one. The first page of a session was handed in, not asked for: its
// step has the zero Action.
type Step[O any] struct {
	Action      Action
	Observation O
}

// A State is what is known when the target starts to think: the goal and the
// steps so far, oldest first. Sessions keep at least the last 32 steps, and the
// observations of at least the last 8; before that, Observation is O's zero
// value.
type State[O any] struct {
	Scope   string
	Goal    string
	Session uint64
	Steps   []Step[O]
}

// Last returns the newest observation: the page in view.
func (s State[O]) Last() (o O, ok bool) {
	if len(s.Steps) == 0 {
		return o, false
	}
	return s.Steps[len(s.Steps)-1].Observation, true
}

// A Prediction is a guess at what the target does next.
type Prediction struct {
	Action     Action
	Confidence float64 // 0 to 1; 0 means unstated
	Source     string  // which predictor, for reports
	Usage      Usage   // what it cost; on the first guess of a model call
}

// Usage is what a model call cost.
type Usage struct {
	Calls        int
	PromptTokens int // of these, CachedTokens at a lower price
	CachedTokens int
	OutputTokens int
}

// A Predictor guesses the target's next actions, best first. Each guess is
// acted on as it is yielded, while the predictor still works on the next one.
// The sequence ends when the context does: the target has acted, and guesses
// about the past are worthless. An error says that something failed; it is
// counted, and never reaches the target.
type Predictor[O any] func(context.Context, State[O]) iter.Seq2[Prediction, error]
