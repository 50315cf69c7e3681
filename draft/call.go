package draft

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/internal/llm"
)

// A call is one question to the model, from prompt to report. It has one
// request, or two if the first one's form was refused.
type call struct {
	*chat
	prompt prompt
	yield  func(actions.Prediction, error) bool
	left   bool // the consumer has left the loop: it must not be called again
	began  time.Time

	form    Form
	parser  parser
	answer  answer // to the last request
	asked   int    // requests
	told    actions.Usage
	seen    map[actions.Action]bool
	first   time.Duration
	dropped map[DropReason]int
	err     error
}

// An answer is what is known of one beside its text.
type answer struct {
	served string
	finish string
	tokens int            // in its text, as estimated
	tenths int            // of a token, at least
	usage  *actions.Usage // nil: the server has not said
	after  int            // bytes after the last guess that is wanted
}

// maxAfter is how much text is waited for, once there are N guesses, to learn
// what they cost.
const maxAfter = 64 // bytes

func (k *call) request(form Form) openai.ChatCompletionRequest {
	req := openai.ChatCompletionRequest{
		Model: k.cfg.Model,
		Messages: []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleSystem, Content: k.prompt.system(form)},
			{Role: openai.ChatMessageRoleUser, Content: k.prompt.user},
		},
		MaxCompletionTokens: k.cfg.MaxOutputTokens,
		ReasoningEffort:     llm.LeastEffort(k.cfg.Model),
	}
	switch t := k.cfg.Temperature; {
	case t == 0:
		req.Temperature = llm.Zero
	case t > 0:
		req.Temperature = float32(t)
	}
	if form == FormJSON {
		req.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: "next_actions", Schema: k.catalog.schema, Strict: k.catalog.strict,
			},
		}
	}
	return req
}

// ask sends one request and yields the guesses in its answer.
func (k *call) ask(ctx context.Context, form Form) error {
	k.form, k.parser, k.answer = form, newParser(form), answer{}
	req, err := llm.Adapt(k.request(form))
	if err != nil {
		return err
	}
	k.asked++
	defer k.learn()
	for d, err := range llm.Stream(ctx, k.client, req) {
		if err != nil {
			return err
		}
		k.note(d)
		if ctx.Err() != nil { // the client does not obey: what it cost is told, and no guess about the past
			return ctx.Err()
		}
		k.take(k.parser.write(d.Text))
		if k.left {
			return nil
		}
		if k.enough(d) {
			break
		}
	}
	return k.end()
}

// learn notes whether the server has kept to the form, as far as it has said
// anything.
func (k *call) learn() {
	if k.form == FormJSON && (k.parser.began() || k.parser.ended()) {
		k.forms.answered(k.parser.began())
	}
}

func (k *call) note(d llm.Delta) {
	k.answer.served = cmp.Or(d.Model, k.answer.served)
	k.answer.finish = cmp.Or(d.Finish, k.answer.finish)
	k.answer.tokens += tokensOf(d.Text) + tokensOf(d.Reasoning)
	k.answer.tenths += tenths(d.Text) + tenths(d.Reasoning)
	if d.Usage != nil {
		k.answer.usage = believed(*d.Usage)
	}
	if d.Refusal != "" && k.dropped[DropRefused] == 0 {
		k.drop(DropRefused)
	}
}

// enough reports whether there is nothing more to wait for. An answer that is
// about to end is read to its end, where the usage is.
func (k *call) enough(d llm.Delta) bool {
	if len(k.seen) >= k.cfg.N {
		k.answer.after += len(d.Text)
	}
	return k.parser.ended() || k.answer.after > maxAfter
}

// take yields those proposals that are actions, as long as somebody waits.
func (k *call) take(proposals []proposal) {
	for _, p := range proposals {
		if k.left || k.prompt.menu.ended() {
			return
		}
		a, why := k.prompt.menu.resolve(p)
		switch {
		case why != "":
			k.drop(why)
		case k.seen[a]:
			k.drop(DropDuplicate)
		case len(k.seen) >= k.cfg.N:
			k.drop(DropLimit)
		default:
			k.guess(a)
		}
	}
}

func (k *call) drop(why DropReason) { k.dropped[why]++ }

func (k *call) guess(a actions.Action) {
	if len(k.seen) == 0 {
		k.first = time.Since(k.began)
	}
	k.tell(actions.Prediction{Action: a, Confidence: prior(len(k.seen))}, k.soFar())
	k.seen[a] = true
}

// prior is how likely a guess is to be right, going by its rank.
func prior(rank int) float64 {
	switch rank {
	case 0:
		return 0.5
	case 1:
		return 0.2
	}
	return 0.1 / float64(uint64(1)<<min(rank-2, 62))
}

// end reads the end of an answer.
func (k *call) end() error {
	if k.answer.finish != "" {
		k.take(k.parser.end())
	}
	if k.answer.finish == string(openai.FinishReasonLength) && len(k.seen) == 0 {
		return &llm.Error{Class: llm.Truncated, Advice: fmt.Sprintf("the answer reached %d tokens before its first action: raise MaxOutputTokens", k.cfg.MaxOutputTokens)}
	}
	return nil
}

// conclude tells what the call cost, and how it failed. That the target has
// acted is no failure.
func (k *call) conclude(ctx context.Context, err error) {
	if err == nil && !k.left {
		err = k.unusable()
	}
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		k.err = &failure{llm.Explain(err)}
	}
	if !k.left {
		k.tell(actions.Prediction{}, k.usage())
	}
	if !k.left && k.err != nil {
		k.left = !k.yield(actions.Prediction{}, k.err)
	}
}

func (k *call) report(sc scene) {
	if k.cfg.Report == nil {
		return
	}
	r := ChatReport{
		Model: k.cfg.Model, Served: k.answer.served, Form: k.form,
		Shown: len(k.prompt.menu.shown), Choices: len(sc.page.Choices),
		Guesses: len(k.seen), Dropped: k.dropped,
		Usage: k.usage(), Estimated: k.answer.usage == nil,
		First: k.first, Took: time.Since(k.began),
		Err: k.err,
	}
	r.Class = llm.Classify(k.err)
	k.cfg.Report(r)
}
