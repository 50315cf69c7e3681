package target

import (
	"cmp"
	"fmt"
	"strings"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/internal/llm"
)

// A Completer answers chat requests. It is all that this package wants of a
// client, and [*openai.Client] is one:
//
//	CreateChatCompletion(context.Context, openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error)
//
// Replies stream if the client has CreateChatCompletionStream too. Only
// *openai.Client and what wraps one can have it, since nobody else can make its
// result; replies of other clients come in one piece. An error that is or wraps
// an *openai.APIError gets its class from that, one that is or wraps an [*Error]
// is that one, and what nobody knows is of class other.
type Completer = llm.Completer

// NewClient returns a client of an OpenAI-compatible endpoint that keeps
// connections for many requests at once, knows how long a server asks to wait,
// and names what went wrong. The base URL goes up to and including /v1; "" is
// OpenAI's. Nothing is retried, but for a request that met a closed connection.
//
// Don't print the client: it is go-openai's, and fmt shows its key. No [*Error]
// shows it.
func NewClient(key, baseURL string) *openai.Client {
	return llm.NewClient(llm.Config{Key: key, BaseURL: baseURL})
}

// An Error says why there is no whole reply, whatever client made it. It has
// the fields
//
//	Class      Class         // the kind, for programs
//	Status     int           // of HTTP; 0 if there was none
//	Advice     string        // what happened and what to do, for people
//	Detail     string        // the server's own words, cut; they may quote the request
//	RetryAfter time.Duration // what the server asked for; 0: nothing
//	Err        error         // the cause; may be nil
//
// and is found with errors.AsType:
//
//	if e, ok := errors.AsType[*target.Error](err); ok && e.Class == target.ClassRateLimit {
type Error = llm.Error

// A Class is the kind of an [Error], a few words for programs and reports.
type Class = llm.Class

// The classes of errors.
const (
	ClassCanceled    Class = llm.Canceled    // the caller's context was cancelled
	ClassTimeout     Class = llm.Timeout     // a deadline or one of the transport's limits
	ClassAuth        Class = llm.Auth        // the key is missing, wrong or not allowed to
	ClassNotFound    Class = llm.NotFound    // no such model, or a wrong base URL
	ClassRateLimit   Class = llm.RateLimit   // too much at once; see RetryAfter
	ClassQuota       Class = llm.Quota       // the credit or a spend cap is used up
	ClassOverloaded  Class = llm.Overloaded  // the server is up, and busy or loading
	ClassServer      Class = llm.Server      // the server failed
	ClassBadRequest  Class = llm.BadRequest  // the server can't make sense of it
	ClassUnsupported Class = llm.Unsupported // model or server lack a feature, such as tools
	ClassTooLong     Class = llm.TooLong     // the prompt does not fit the model
	ClassTruncated   Class = llm.Truncated   // the reply stops in the middle
	ClassGarbled     Class = llm.Garbled     // the reply is not one
	ClassNetwork     Class = llm.Network     // no connection, or a broken one
	ClassOther       Class = llm.Other       // an error of a client that nobody here knows
)

// A replyError is an Error in this package's words.
type replyError struct {
	model string
	tools bool // were offered
	err   *Error
	usage actions.Usage // what it cost all the same
}

func (e *replyError) Error() string {
	text := strings.TrimPrefix(e.err.Error(), "llm: ")
	if e.tools && e.err.Class == llm.Unsupported {
		text = "a target needs tool calls, choose a model and a server that have them: " + cmp.Or(e.err.Detail, e.err.Advice)
	}
	return fmt.Sprintf("target: model %s: %s", e.model, text)
}

func (e *replyError) Unwrap() error { return e.err }
