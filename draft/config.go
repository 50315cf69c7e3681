package draft

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/internal/llm"
)

// A Completer answers chat requests. It has one method, CreateChatCompletion,
// with the request and response of github.com/sashabaranov/go-openai, whose
// Client is one. A Completer that also has CreateChatCompletionStream is asked
// to stream; from others, guesses come when all are written.
type Completer = llm.Completer

// An Error says what went wrong with a call of a model. It is in the chain of
// the error that a predictor yields:
//
//	if e, ok := errors.AsType[*draft.Error](err); ok && e.Class == "rate limit" {
type Error = llm.Error

// A Class is the kind of an [Error], a few words for programs and reports:
// canceled, timeout, auth, not found, rate limit, quota, overloaded, server,
// bad request, unsupported, prompt length, truncated, garbled answer, network;
// and unusable, if the model wrote nothing but what was dropped.
type Class = llm.Class

// DefaultModel is the draft where none is named. It goes with gpt-5-mini as
// target.
const DefaultModel = "gpt-4.1-mini"

// A ChatConfig says what to ask a model for. The zero ChatConfig asks
// [DefaultModel] for 3 choices of the page in view.
type ChatConfig struct {
	// Model to ask. "": DefaultModel.
	Model string

	// N is how many actions one call may return. 0 or less: 3.
	N int

	// Tools that the target has, beside the choices of a page. Nil: guesses
	// are choices of the page in view, and nothing else.
	Tools []Tool

	// Form of the answer. FormAuto, the zero value, finds out what the server
	// can.
	Form Form

	// MaxPromptTokens is the size to which a prompt is cropped. A token is
	// taken as 4 letters or spaces, 2 signs, or one digit; what is not ASCII is
	// a token each. Leave room for the answer in the model's context. 0 or
	// less: 4,000.
	MaxPromptTokens int

	// MaxOutputTokens ends answers that go on. 0 or less: what N actions take,
	// 48 tokens each, and 64 more; 1,000 more for models that can't but think,
	// as far as their names are known. Raise it for others, or have their
	// thinking switched off: thoughts count.
	MaxOutputTokens int

	// Temperature of sampling. 0: none, the likeliest actions. Less than 0:
	// the server's default. Models that can't have any get none.
	Temperature float64

	// Timeout of one call. The predictor's context ends it sooner. 0 or less:
	// 30 s.
	Timeout time.Duration

	// Report is called at the end of each call that was sent, on the
	// predictor's goroutine, so concurrently for concurrent sessions. Nil: no
	// reports.
	Report func(ChatReport)
}

// A Tool is what the target can do beside following a page's choices. Naming one
// also shows the model the arguments of past steps with it, cut and without the
// queries of addresses.
type Tool struct {
	Name        string // of its actions
	Description string // for the model; may be empty

	// Schema of the arguments, a JSON schema for an object. Nil: any object.
	// Servers hold a model to it if, in all of its objects,
	// additionalProperties is false and all properties are required.
	Schema json.RawMessage

	// Composed permits guesses with arguments that the draft makes up, such as
	// a search's words. They leave the process without the target having asked:
	// permit it for tools of your own that only read.
	//
	// Arguments with an address in them are dropped even then, in whatever
	// spelling, unless the very address is in the arguments of a choice in view,
	// or in the Schema. That it stands in the page's text is not enough: anybody
	// may have written it there. Some words are taken for addresses too, such as
	// "site:go.dev errgroup", and "node.js" alone.
	//
	// Without Composed the draft is told of the tool, but only choices of the
	// page are guessed.
	Composed bool
}

// A Form is how a model writes actions down.
type Form string

// The forms of answers.
const (
	// FormAuto is FormJSON, and FormLines for the next 100 calls if the server
	// refuses structured output, or ignores it three times in a row.
	FormAuto Form = ""

	// FormJSON is structured output:
	// {"actions":[{"choice":3},{"tool":"search","arguments":{…}}]}.
	FormJSON Form = "json"

	// FormLines is for servers without it: a line "Action: click", and then
	// lines such as `Action Input 1: {"choice": 3}`. Choices may also be named
	// by label, {"button": "About"}.
	FormLines Form = "lines"
)

// A DropReason says why something that a model wrote is no guess.
type DropReason string

// The reasons for dropping.
const (
	DropMalformed DropReason = "malformed"           // not the JSON or the lines that were asked for; never repaired
	DropTool      DropReason = "unknown tool"        // there is none of this name whose arguments may be composed
	DropChoice    DropReason = "choice out of range" // no such number
	DropLabel     DropReason = "label"               // not in view, or of choices that differ
	DropURL       DropReason = "composed address"    // not in a choice of the page in view
	DropArguments DropReason = "arguments"           // not those that the tool takes, or fields that no action has
	DropDuplicate DropReason = "duplicate"           // guessed before in this call
	DropLimit     DropReason = "limit"               // too many, too large or too deep
	DropRefused   DropReason = "refused"             // the model won't answer
)

// A ChatReport says how one call went.
type ChatReport struct {
	Model   string // as asked for
	Served  string // as the server names it; "" if it did not answer
	Form    Form   // the one that was asked for last
	Choices int    // on the page in view
	Shown   int    // of these, as far as the budget goes, each address once

	Guesses int                // that were yielded
	Dropped map[DropReason]int // what else the model wrote

	Usage     actions.Usage
	Estimated bool // the server did not say what it cost, or not yet

	First time.Duration // until the first guess; 0 if there was none
	Took  time.Duration

	Class Class // of Err; "" if there is none
	Err   error // as yielded; nil if the target has acted meanwhile
}

func (c ChatConfig) withDefaults() ChatConfig {
	c.Model = cmp.Or(c.Model, DefaultModel)
	c.N = positive(c.N, 3)
	c.MaxPromptTokens = positive(c.MaxPromptTokens, 4000)
	c.MaxOutputTokens = positive(c.MaxOutputTokens, c.outputTokens())
	c.Timeout = positive(c.Timeout, 30*time.Second)
	return c
}

func positive[T int | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

func (c ChatConfig) outputTokens() int {
	n := 64 + 48*c.N
	if effort := llm.LeastEffort(c.Model); effort != "" && effort != "none" {
		n += 1000
	}
	return n
}
