package target

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/internal/llm"
)

// DefaultModel is the target of the SpecCache paper.
const DefaultModel = "gpt-5-mini"

// DefaultSystem is the system prompt of a Chat that has none of its own.
const DefaultSystem = `You answer a question by acting with tools, and from nothing but what you observe.
Act until you know the answer. Make several calls at once if they do not depend on each other.
Old observations are dropped when space runs out, so keep what matters as a note.
Then answer in a sentence or two, without calling a tool. If the answer can't be found, say so.`

// ChatConfig says which model a Chat asks, and how.
type ChatConfig struct {
	Model  string // "": DefaultModel
	System string // the system prompt; "": DefaultSystem
	Tools  []Tool // that the model may call

	// MaxOutputTokens limits a reply, with the thoughts of a reasoning model.
	// 0: as the server does.
	MaxOutputTokens int

	// ReasoningEffort is how much a reasoning model thinks: "none", "minimal",
	// "low", "medium", "high". Models get the nearest that they know, and
	// those that don't reason get none. "": the model's default.
	ReasoningEffort string

	// Temperature is not sent to models that refuse it. Nil: the model's.
	Temperature *float64

	// OneCall asks for one tool call at a time.
	OneCall bool

	// Version returns the model version that a reply stands for, and "" for a
	// reply that says nothing about it: a client with a fallback must return
	// that for the fallback's replies, or each outage would cost all entries.
	// So must a host that sets the ModelVersion of its sessions or cache
	// itself, for all replies: what the first one says would be a change.
	//
	// Nil: "Model/served", the name above and the one that the server reported
	// last, if any. A served name that is new counts at once. One
	// that was there before counts again after eight replies in a row, for
	// behind some names several models take turns.
	Version func(Reply) string

	// FingerprintVersions makes the provider's fingerprint of the serving
	// configuration part of the model version, once three replies in a row had
	// the same: providers alternate between several. Off, it is in Reply only.
	FingerprintVersions bool
}

// A Chat is a target model behind an OpenAI-compatible endpoint. It is safe for
// concurrent use, and meant to be shared: it finds out from all replies which
// model is served.
type Chat struct {
	client   Completer
	cfg      ChatConfig
	versions versions
}

// NewChat returns a Chat. It panics without a client, and on tools that servers
// refuse: two of one name, a name that is none, a schema that is no JSON object.
func NewChat(client Completer, cfg ChatConfig) *Chat {
	if client == nil {
		panic("target: NewChat needs a client")
	}
	cfg.Tools = slices.Clone(cfg.Tools)
	check(cfg.Tools)
	cfg.Model = cmp.Or(cfg.Model, DefaultModel)
	cfg.System = cmp.Or(cfg.System, DefaultSystem)
	c := &Chat{client: client, cfg: cfg}
	c.versions.fingerprints = cfg.FingerprintVersions
	return c
}

// A Message is one of a conversation: the model's, the answer to a tool call, or
// else the user's.
type Message struct {
	Text   string
	Model  bool   // the model wrote it
	Calls  []Call // that the model wrote with it
	CallID string // the call that it answers
}

// A Reply is a whole one.
type Reply struct {
	Text    string
	Refusal string // why the model won't answer
	Calls   []Call
	Dropped []string // what was wrong with calls that can't be read
	Finish  string   // why it ended: "stop", "length", "tool_calls", …
	Usage   actions.Usage

	ID          string
	Model       string // as served, which may differ from what was asked for
	Fingerprint string
	Version     string // for Session.SetModelVersion, up to 256 bytes; "": it says nothing
}

// A Delta is a piece of a reply: some of its text, or, as the last one, Reply.
type Delta struct {
	Text  string
	Reply *Reply
}

// Stream asks for the reply to a conversation and yields it as it comes. Unless
// the loop is left, the last thing is the whole reply or an error, which wraps
// an [*Error]. Leaving the loop cancels the request.
func (c *Chat) Stream(ctx context.Context, messages []Message) iter.Seq2[Delta, error] {
	return c.stream(ctx, messages, c.cfg.Tools)
}

func (c *Chat) stream(ctx context.Context, messages []Message, tools []Tool) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		left := false
		pass := func(d llm.Delta) bool {
			left = d.Text != "" && !yield(Delta{Text: d.Text}, nil)
			return !left
		}
		answer, err := c.ask(ctx, messages, tools, pass)
		switch {
		case left:
		case err != nil:
			yield(Delta{}, &replyError{model: c.cfg.Model, tools: len(tools) > 0, err: llm.Explain(err), usage: answer.Usage})
		default:
			yield(Delta{Reply: c.reply(answer)}, nil)
		}
	}
}

// ask sends a request and passes deltas on until that is no longer wanted.
func (c *Chat) ask(ctx context.Context, messages []Message, tools []Tool, pass func(llm.Delta) bool) (llm.Answer, error) {
	req, err := llm.Adapt(c.request(messages, tools))
	if err != nil {
		return llm.Answer{}, err
	}
	return llm.Collect(func(yield func(llm.Delta, error) bool) {
		for d, err := range llm.Stream(ctx, c.client, req) {
			if !yield(d, err) || err == nil && !pass(d) {
				return
			}
		}
	})
}

func (c *Chat) reply(a llm.Answer) *Reply {
	r := &Reply{
		Text: a.Text, Refusal: a.Refusal, Finish: a.Finish, Usage: a.Usage,
		ID: a.ID, Model: a.Model, Fingerprint: a.Fingerprint,
	}
	for _, call := range a.Calls {
		r.Calls = append(r.Calls, Call(call))
	}
	for _, d := range a.Dropped {
		r.Dropped = append(r.Dropped, strings.TrimPrefix(d.Error(), "llm: "))
	}
	r.Version = c.version(*r)
	return r
}

func (c *Chat) request(messages []Message, tools []Tool) openai.ChatCompletionRequest {
	req := openai.ChatCompletionRequest{
		Model:               c.cfg.Model,
		Messages:            []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleSystem, Content: c.cfg.System}},
		MaxCompletionTokens: c.cfg.MaxOutputTokens,
		ReasoningEffort:     c.cfg.ReasoningEffort,
	}
	if t := c.cfg.Temperature; t != nil {
		req.Temperature = cmp.Or(float32(*t), llm.Zero)
	}
	for _, m := range messages {
		req.Messages = append(req.Messages, m.wire())
	}
	for _, t := range tools {
		req.Tools = append(req.Tools, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.schema()},
		})
	}
	if c.cfg.OneCall && len(tools) > 0 {
		req.ParallelToolCalls = false
	}
	return req
}

func (m Message) wire() openai.ChatCompletionMessage {
	w := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: m.Text, ToolCallID: m.CallID}
	switch {
	case m.CallID != "":
		w.Role = openai.ChatMessageRoleTool
	case m.Model:
		w.Role = openai.ChatMessageRoleAssistant
	}
	for _, call := range m.Calls {
		w.ToolCalls = append(w.ToolCalls, openai.ToolCall{
			ID: call.ID, Type: openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: call.Name, Arguments: call.Args},
		})
	}
	return w
}
