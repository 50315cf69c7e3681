package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// errLeft ends a run whose consumer has left the loop.
var errLeft = errors.New("target: the loop was left")

// A run is one question on its way to its answer.
type run[O any] struct {
	*Loop[O]
	executor   Executor[O]
	tools      []Tool // what the model is offered
	notes      bool   // remember is the loop's own
	steps      int
	room       int // tokens, for the observations of a step
	transcript transcript
	result     Result[O]
	tell       func(Event[O]) bool
}

func (l *Loop[O]) begin(question string, inView []O) *run[O] {
	cfg := l.Chat.cfg
	r := &run[O]{Loop: l, tools: slices.Clone(cfg.Tools), steps: cmp.Or(l.Steps, DefaultSteps)}
	r.executor = Executor[O]{Session: l.Session, Tools: append([]Tool{}, cfg.Tools...)} // no tools is not any
	if !slices.ContainsFunc(r.tools, func(t Tool) bool { return t.Name == noteName }) {
		r.notes = true
		r.tools = append(r.tools, noteTool)
	}
	limit := cmp.Or(l.ContextTokens, DefaultContextTokens)
	r.room = min(cmp.Or(l.ObservationTokens, DefaultObservationTokens), limit/4)
	r.transcript = transcript{
		limit:    limit - perMessage - tokens(cfg.System) - toolTokens(r.tools),
		question: question,
		notes:    notes{limit: limit / 8},
	}
	for _, o := range inView {
		r.transcript.views = append(r.transcript.views, crop(l.show(o), r.room/len(inView)))
	}
	return r
}

func (l *Loop[O]) show(o O) string {
	if l.Show == nil {
		return fmt.Sprint(o)
	}
	return l.Show(o)
}

// walk thinks and acts by turns.
func (r *run[O]) walk(ctx context.Context) error {
	for left := r.steps; ; left-- {
		reply, err := r.think(ctx)
		if err != nil {
			return err
		}
		answered, err := r.conclude(reply)
		if answered || err != nil {
			return err
		}
		if left <= 0 {
			return fmt.Errorf("%w: %d", ErrSteps, r.steps)
		}
		if err := r.act(ctx, reply, left-1); err != nil {
			return err
		}
	}
}

// think gets a reply. The model that has written it is known before anything
// of it is done.
func (r *run[O]) think(ctx context.Context) (*Reply, error) {
	messages, err := r.transcript.messages()
	if err != nil {
		return nil, err
	}
	var reply *Reply
	for d, err := range r.Chat.stream(ctx, messages, r.tools) {
		if err != nil {
			return nil, err
		}
		if d.Text != "" && !r.tell(Event[O]{Text: d.Text}) {
			return nil, errLeft
		}
		reply = d.Reply
	}
	r.count(reply)
	if reply.Version != "" {
		r.Session.SetModelVersion(reply.Version)
	}
	if !r.tell(Event[O]{Reply: reply}) {
		return nil, errLeft
	}
	return reply, nil
}

func (r *run[O]) count(reply *Reply) {
	u := &r.result.Usage
	r.result.Replies++
	u.Calls += reply.Usage.Calls
	u.PromptTokens += reply.Usage.PromptTokens
	u.CachedTokens += reply.Usage.CachedTokens
	u.OutputTokens += reply.Usage.OutputTokens
}

// conclude reports whether a reply is the answer. A reply that says nothing is
// none, and one that was cut short is an error.
func (r *run[O]) conclude(reply *Reply) (answered bool, err error) {
	switch {
	case len(reply.Calls) > 0:
		return false, nil
	case reply.Refusal != "":
		return false, fmt.Errorf("%w: %.500s", ErrRefused, reply.Refusal)
	case reply.Finish == "content_filter":
		return false, fmt.Errorf("%w: the provider's filter stopped it", ErrRefused)
	case len(reply.Dropped) > 0:
		return false, nil
	case reply.Finish == "length":
		return false, r.cut()
	}
	r.result.Answer = strings.TrimSpace(reply.Text)
	return r.result.Answer != "", nil
}

// cut says which limit to raise. That the half of an answer is none is for the
// caller's sake: its end may take back what it begins with.
func (r *run[O]) cut() error {
	if limit := r.Chat.cfg.MaxOutputTokens; limit > 0 {
		return fmt.Errorf("%w: raise ChatConfig.MaxOutputTokens, which is %d", ErrLength, limit)
	}
	return fmt.Errorf("%w, which is the server's or the end of the model's context: raise that, or lower Loop.ContextTokens", ErrLength)
}

// maxCalls bounds the calls of one reply that are done. A model that repeats
// itself writes hundreds.
const maxCalls = 16

// act does what a reply asks for.
func (r *run[O]) act(ctx context.Context, reply *Reply, left int) error {
	told, err := r.do(ctx, reply.Calls[:min(maxCalls, len(reply.Calls))])
	if err != nil {
		return err
	}
	for _, call := range reply.Calls[len(told):] {
		told = append(told, Message{CallID: call.ID, Text: "error: too many calls at once: this one was not made"})
	}
	about := slices.Clone(reply.Dropped)
	switch {
	case left == 0:
		about = append(about, "No step is left: answer now, from what you have found.")
	case len(reply.Calls) == 0 && len(about) == 0:
		about = append(about, "You said nothing: call a tool, or answer.")
	}
	r.transcript.add(reply, told, about...)
	return nil
}

// do runs the calls of a step and returns what the model is told, in order.
// Notes are made at once; they need no environment.
func (r *run[O]) do(ctx context.Context, calls []Call) ([]Message, error) {
	told := make([]Message, len(calls))
	var todo []Call
	var at []int
	for i, call := range calls {
		told[i].CallID = call.ID
		if !r.notes || call.Name != noteName {
			todo, at = append(todo, call), append(at, i)
			continue
		}
		text, err := r.note(call)
		if err != nil {
			return nil, err
		}
		told[i].Text = text
	}
	for i, step := range r.executor.DoAll(ctx, todo...) {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("target: %w", err)
		}
		step.Number = r.result.Replies
		r.result.Steps = append(r.result.Steps, step)
		told[at[i]].Text = crop(r.read(step), r.room/len(todo))
		if !r.tell(Event[O]{Step: &step}) {
			return nil, errLeft
		}
	}
	return told, nil
}

// note makes a note and returns what the model is told about it.
func (r *run[O]) note(call Call) (string, error) {
	note, err := r.transcript.notes.add(call)
	if err != nil {
		return failure(err), nil
	}
	if !r.tell(Event[O]{Note: note}) {
		return "", errLeft
	}
	return "noted", nil
}

// read is what the model reads of a step.
func (r *run[O]) read(step Step[O]) string {
	if step.Err != nil {
		return failure(step.Err)
	}
	return r.show(step.Result.Observation)
}

// maxFailure bounds what an error tells the model: its text may be a page.
const maxFailure = 1_000 // tokens

func failure(err error) string { return "error: " + crop(err.Error(), maxFailure) }
