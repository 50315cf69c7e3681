package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/speccache/speccache-go/actions"
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
	silent     int // replies that said nothing
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
			return r.outOfSteps()
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
			if failed, ok := errors.AsType[*replyError](err); ok {
				r.spend(failed.usage)
			}
			return nil, err
		}
		if d.Text != "" && !r.tell(Event[O]{Text: d.Text}) {
			return nil, errLeft
		}
		reply = d.Reply
	}
	r.result.Replies++
	r.spend(reply.Usage)
	if reply.Version != "" {
		r.Session.SetModelVersion(reply.Version)
	}
	if !r.tell(Event[O]{Reply: reply}) {
		return nil, errLeft
	}
	return reply, nil
}

func (r *run[O]) spend(u actions.Usage) {
	sum := &r.result.Usage
	sum.Calls = plus(sum.Calls, u.Calls)
	sum.PromptTokens = plus(sum.PromptTokens, u.PromptTokens)
	sum.CachedTokens = plus(sum.CachedTokens, u.CachedTokens)
	sum.OutputTokens = plus(sum.OutputTokens, u.OutputTokens)
}

// plus adds counts, which are never negative, without an overflow.
func plus(a, b int) int { return a + min(b, math.MaxInt-a) }

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
	if r.result.Answer == "" {
		r.silent++
	}
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

func (r *run[O]) outOfSteps() error {
	if r.silent > 0 {
		return fmt.Errorf("%w: %d (Loop.Steps); the model wrote nothing, %d times", ErrSteps, r.steps, r.silent)
	}
	return fmt.Errorf("%w: %d, raise Loop.Steps", ErrSteps, r.steps)
}

// warning says what is odd about a run as a whole.
func (r *run[O]) warning() string {
	read := slices.ContainsFunc(r.result.Steps, func(s Step[O]) bool { return s.Err == nil })
	switch {
	case read || r.result.Replies == 0 || len(r.executor.Tools) == 0:
		return ""
	case len(r.result.Steps) == 0:
		return "the model called no tool, so that it has read nothing but what was in view at first: if that is not enough, " +
			"choose a model and a server that have tool calls"
	}
	return fmt.Sprintf("the model has read nothing but what was in view at first: none of its %d calls brought an observation", len(r.result.Steps))
}

// maxCalls bounds the calls of one reply that are done. A model that repeats
// itself writes hundreds.
const maxCalls = 16

// act does what a reply asks for.
func (r *run[O]) act(ctx context.Context, reply *Reply, left int) error {
	if err := ctx.Err(); err != nil { // nothing is begun that nobody waits for
		return fmt.Errorf("target: %w", err)
	}
	calls := reply.Calls[:min(maxCalls, len(reply.Calls))]
	told, err := r.do(ctx, calls)
	if err != nil {
		return err
	}
	about := slices.Clone(reply.Dropped)
	if more := len(reply.Calls) - len(calls); more > 0 {
		about = append(about, fmt.Sprintf("%d more calls were not made: make at most %d at once.", more, maxCalls))
	}
	about = []string{crop(strings.Join(about, "\n\n"), r.room)}
	switch {
	case left == 0:
		about = append(about, "No step is left: answer now, from what you have found.")
	case len(calls) == 0 && about[0] == "":
		about = append(about, "You said nothing: call a tool, or answer.")
	}
	r.transcript.add(r.said(reply.Text, calls), told, about...)
	return nil
}

// said is what the model is shown of what it said: as much as of observations.
// Arguments that are too long are not cut, for servers want JSON.
func (r *run[O]) said(text string, calls []Call) Message {
	m := Message{Model: true, Text: text, Calls: slices.Clone(calls)}
	for i := range m.Calls {
		m.Calls[i].Name = legal(m.Calls[i].Name)
	}
	if m.tokens() <= r.room {
		return m
	}
	share := r.room / (1 + len(calls))
	m.Text = crop(m.Text, share)
	for i := range m.Calls {
		if args := &m.Calls[i].Args; tokens(*args) > share {
			*args = fmt.Sprintf(`{"cropped":"%d bytes"}`, len(*args))
		}
	}
	return m
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
	for i, step := range r.step(ctx, todo) {
		told[at[i]].Text = crop(r.read(step), r.room/len(todo))
		if !r.tell(Event[O]{Step: &step}) {
			return nil, errLeft
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	return told, nil
}

// step runs calls. What was done is in the result whatever happens then: the
// context may have ended meanwhile, or the consumer leave.
func (r *run[O]) step(ctx context.Context, calls []Call) []Step[O] {
	steps := r.executor.DoAll(ctx, calls...)
	for i := range steps {
		steps[i].Number = r.result.Replies
	}
	r.result.Steps = append(r.result.Steps, steps...)
	return steps
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
