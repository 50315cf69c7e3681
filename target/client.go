package target

import (
	"cmp"
	"fmt"
	"strings"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/internal/llm"
)

// A Completer answers chat requests. It is all that this package wants of a
// client: [*openai.Client] is one, as is any other type with its
// CreateChatCompletion. Replies stream if it has CreateChatCompletionStream too.
type Completer = llm.Completer

// NewClient returns a client of an OpenAI-compatible endpoint that keeps
// connections for many requests at once, knows how long a server asks to wait,
// and names what went wrong. The base URL goes up to and including /v1; "" is
// OpenAI's. Nothing is retried, but for a request that met a closed connection.
func NewClient(key, baseURL string) *openai.Client {
	return llm.NewClient(llm.Config{Key: key, BaseURL: baseURL})
}

// An Error says why there is no whole reply, whatever client made it. Its
// fields are Class, the HTTP Status or 0, an Advice for people, the server's
// own words as Detail, RetryAfter, and the cause Err.
//
//	if e, ok := errors.AsType[*target.Error](err); ok && e.Class == "rate limit" {
type Error = llm.Error

// A Class is the kind of an [Error], a few words for programs and reports:
// canceled, timeout, auth, not found, rate limit, quota, overloaded, server,
// bad request, unsupported, prompt length, truncated, garbled answer, network.
type Class = llm.Class

// A replyError is an Error in this package's words.
type replyError struct {
	model string
	tools bool // were offered
	err   *Error
}

func (e *replyError) Error() string {
	text := strings.TrimPrefix(e.err.Error(), "llm: ")
	if e.tools && e.err.Class == llm.Unsupported {
		text = "a target needs tool calls, choose a model and a server that have them: " + cmp.Or(e.err.Detail, e.err.Advice)
	}
	return fmt.Sprintf("target: model %s: %s", e.model, text)
}

func (e *replyError) Unwrap() error { return e.err }
