package target

import (
	"context"
	"errors"
	"iter"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
)

// Defaults of a Loop, where a field is zero.
const (
	DefaultSteps             = 10
	DefaultContextTokens     = 100_000
	DefaultObservationTokens = 8_000
)

var (
	// ErrSteps says that there is no answer within Loop.Steps. The text says
	// how often the model wrote nothing, if it did.
	ErrSteps = errors.New("target: no answer within the step limit")

	// ErrLength says that a reply without a call stopped at a limit of tokens,
	// so that it is no answer. Its text was the last Event's with a Reply.
	ErrLength = errors.New("target: the reply was cut at the limit of its tokens")

	// ErrRefused says that the model won't answer; the text says why.
	ErrRefused = errors.New("target: the model refuses to answer")
)

// A Loop is an agent: it lets a model choose actions and does them, until the
// model answers. Session and Chat are needed. Make one for each run, as cheap
// as it is, with a session of its own; all may share a Chat.
type Loop[O any] struct {
	// Session runs the actions. Its goal, for the draft, should be the
	// question.
	Session *speccache.Session[O]

	// Chat is the target, with its tools. The loop adds one, remember, unless
	// there is one by that name: see the package's comment on memory.
	Chat *Chat

	// Show is an observation as the model reads it: what matters most first,
	// for it may be cropped. Nil: as fmt.Sprint has it.
	Show func(O) string

	// Steps is how many replies may ask for actions; one more may answer. 0:
	// DefaultSteps.
	Steps int

	// ContextTokens bounds the prompt. 0: DefaultContextTokens. A token is
	// taken for 3 bytes, which is on the safe side.
	//
	// ObservationTokens bounds what one step shows, shared by its parallel
	// calls. 0: DefaultObservationTokens. It is at most a quarter of
	// ContextTokens.
	ContextTokens     int
	ObservationTokens int
}

// An Event is what happens in a loop; one of its fields is set.
type Event[O any] struct {
	Text   string     // a piece of what the model says, as it comes
	Reply  *Reply     // what the model has said as a whole
	Note   string     // the model remembers this
	Step   *Step[O]   // an action has ended
	Result *Result[O] // the end, and the last event
}

// A Result is what a loop came to.
type Result[O any] struct {
	Answer  string    // "" if there is an error
	Steps   []Step[O] // all that was done, also in the step in which the context ended
	Notes   []string
	Replies int
	Usage   actions.Usage // of the target, with calls that failed; that of drafts is in Session.Stats

	// Warning says, for people, why the answer may be worth little: the model
	// called none of its tools, or no call brought an observation. Models and
	// servers without tool calls answer from memory, or write calls as text.
	// "": there is nothing to say.
	Warning string
}

// Answer answers a question: it is Run for those who only want its end. With an
// error the result holds what there was until then.
func (l *Loop[O]) Answer(ctx context.Context, question string, inView ...O) (result Result[O], err error) {
	for e, failed := range l.Run(ctx, question, inView...) {
		err = failed
		if e.Result != nil {
			result = *e.Result
		}
	}
	return result, err
}

// Run answers a question and yields what happens meanwhile. What is in view at
// first is what the session has seen already, by Do or Observe.
//
// The last event has the Result, and the error if there is one: ErrSteps,
// ErrContext, ErrLength, ErrRefused, one that wraps an [*Error], or the end of
// the context. What goes wrong with an action is for the model to read, and ends
// nothing. Leaving the loop cancels what is going on.
func (l *Loop[O]) Run(ctx context.Context, question string, inView ...O) iter.Seq2[Event[O], error] {
	return func(yield func(Event[O], error) bool) {
		if l.Session == nil || l.Chat == nil {
			yield(Event[O]{Result: &Result[O]{}}, errors.New("target: a Loop needs a Session and a Chat"))
			return
		}
		r := l.begin(question, inView)
		r.tell = func(e Event[O]) bool { return yield(e, nil) }
		err := r.walk(ctx)
		if !errors.Is(err, errLeft) {
			r.result.Notes, r.result.Warning = r.transcript.notes.all, r.warning()
			yield(Event[O]{Result: &r.result}, err)
		}
	}
}
