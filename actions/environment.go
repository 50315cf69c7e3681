package actions

import (
	"context"
	"time"
)

// An Executor runs an action and returns what the target observes. It is what
// an agent has without SpecCache, and a session's Do is one again.
//
// An executor whose actions may run ahead must be safe for concurrent use and
// should obey its context: a guess that nobody wants any more is cancelled.
type Executor[O any] func(context.Context, Action) (O, error)

// An Environment is how actions are run and what is known about doing so: one
// value, made by whoever owns the tools. Only Do is needed. Its functions are
// called concurrently, and never under a lock of SpecCache.
type Environment[O any] struct {
	// Do runs an action.
	Do Executor[O]

	// Rules says which actions may be remembered, and which may run ahead.
	// Nil: none.
	Rules Rules

	// Resolve makes an action that depends on what is in view into one that
	// does not: click "Calls" becomes visit {url}. It is called for the target
	// and for guesses alike; an error is the target's answer, and the end of a
	// guess. Rules apply to what it returns. Nil: actions stand for themselves.
	Resolve func(State[O], Action) (Action, error)

	// Policy returns an error if a guess may not run ahead, here and now. It
	// comes after Rules, and narrows them. The target's own actions are not
	// asked about. Nil: Rules suffice.
	Policy func(State[O], Action) error

	// Host names what an action asks, such as a web site's host: runs ahead at
	// one host are bounded together. The empty name is not bounded. It is asked
	// about the target's own actions too, just before they run, and must be
	// quick. Nil: nothing is bounded.
	Host func(Action) string

	// View shows an observation to predictors: hand it to theirs, as in
	// draft.Lexical(env.View). A cache does not look. Nil: there is none.
	View func(O) View

	// Size returns the bytes that an observation holds in memory. Nil: the
	// length of strings and byte slices, 16 KiB for anything else.
	Size func(O) int

	// Clone copies an observation, so that no caller can change what another
	// one gets. Nil: observations are read-only, and shared.
	Clone func(O) O

	// Fresh says how long an observation may be served, and whether it may be
	// kept at all. A maxAge of 0 or above the rule's means the rule's. Nil:
	// the rule decides.
	Fresh func(Action, O) (maxAge time.Duration, keep bool)

	// Renew asks whether an observation still holds, such as by a conditional
	// request: if not, it returns the new one and changed. It is called in the
	// background, before what is wanted expires, for actions that may run ahead,
	// and its context says so ([Call]). It must ask as Do does: with the same
	// credentials, to the same host. An error leaves everything as it is. Nil:
	// what expires is read anew when the target asks.
	Renew func(ctx context.Context, a Action, o O) (renewed O, changed bool, err error)
}

// A View is what a predictor may know about an observation.
type View struct {
	Title   string
	Text    string   // the main text; Markdown where it has structure
	Choices []Choice // what can be done next, in reading order
}

// A Choice is an action that an observation offers.
type Choice struct {
	Label  string
	Action Action
}
