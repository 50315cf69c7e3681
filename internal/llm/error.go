package llm

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// A Class says what kind of failure an error is. It is what reports count.
type Class string

// The classes of errors.
const (
	Canceled    Class = "canceled"       // the caller's context was cancelled
	Timeout     Class = "timeout"        // a deadline or one of the transport's limits
	Auth        Class = "auth"           // the key is missing, wrong or not allowed to
	NotFound    Class = "not found"      // no such model, or a wrong base URL
	RateLimit   Class = "rate limit"     // too much at once; see RetryAfter
	Quota       Class = "quota"          // the credit or a spend cap is used up
	Overloaded  Class = "overloaded"     // the server is up, and busy or loading
	Server      Class = "server"         // the server failed
	BadRequest  Class = "bad request"    // the server can't make sense of it
	Unsupported Class = "unsupported"    // model or server lack a feature, such as tools
	TooLong     Class = "prompt length"  // the prompt does not fit the model
	Truncated   Class = "truncated"      // the answer stops in the middle
	Garbled     Class = "garbled answer" // the answer is not one
	Network     Class = "network"        // no connection, or a broken one
	Other       Class = "other"          // an error of a client that nobody here knows
)

// An Error says what went wrong with a request.
type Error struct {
	Class      Class
	Status     int           // of HTTP; 0 if there was none
	Advice     string        // what happened and what to do, for people
	Detail     string        // the server's own words, cut; they may quote the request
	RetryAfter time.Duration // what the server asked for; 0: nothing
	Err        error         // the cause; may be nil
}

func (e *Error) Error() string {
	text := "llm: " + e.Advice
	if e.RetryAfter > 0 {
		text += fmt.Sprintf("; the server asks to wait %d s", (e.RetryAfter+time.Second-1)/time.Second)
	}
	if e.Detail != "" {
		text += "; the server says: " + e.Detail
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// ErrorClass returns the class: speccache counts failed drafts by it.
func (e *Error) ErrorClass() string { return string(e.Class) }

// Classify returns an error's class, whatever client made it; "" for nil.
func Classify(err error) Class {
	if err == nil {
		return ""
	}
	return Explain(err).Class
}

// RetryAfter returns how long the server asked to wait, and 0 if it did not.
func RetryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}

// Explain returns the *Error in an error's chain, or makes one. Nil stays nil.
func Explain(err error) *Error {
	var known *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	}
	return new(secrets).finish(explain(err))
}

// explain is Explain of an error whose secrets are still to be hidden.
func explain(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	for _, explain := range []func(error) *Error{ofContext, ofStatus, ofClient, ofAnswer, ofNetwork} {
		if e := explain(err); e != nil {
			return e
		}
	}
	return &Error{Class: Other, Advice: "the request failed: " + err.Error(), Err: err}
}

// explainIn is explain for a request whose context may have ended: what fails
// because of that can look like anything, and so can the context's own error.
func explainIn(ctx context.Context, err error) *Error {
	ended := ctx.Err()
	if ended == nil {
		return explain(err)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, ended) {
		ended = fmt.Errorf("%w: %w", ended, cause)
	}
	if e := ofContext(ended); e != nil {
		return e
	}
	return &Error{Class: Canceled, Advice: "the request was cancelled", Err: ended}
}

func ofContext(err error) *Error {
	var slow net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return &Error{Class: Canceled, Advice: "the request was cancelled", Err: withoutURL(err)}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Class: Timeout, Advice: "no complete answer before the deadline", Err: withoutURL(err)}
	case errors.As(err, &slow) && slow.Timeout():
		return &Error{Class: Timeout, Advice: "the server took too long to answer: is it up, and is the model loaded?", Err: withoutURL(err)}
	}
	return nil
}

// ofStatus explains what go-openai makes of HTTP statuses. Only bodies of
// OpenAI's form become an APIError; any other is a RequestError, whose Err may
// be nil.
func ofStatus(err error) *Error {
	var api *openai.APIError
	var req *openai.RequestError
	switch {
	case errors.As(err, &api):
		return failure(api.HTTPStatusCode, complaint{
			Code: fmt.Sprint(orEmpty(api.Code)), Type: api.Type, Param: deref(api.Param), Message: api.Message,
		}, err)
	case errors.As(err, &req):
		return failure(req.HTTPStatusCode, readComplaint(req.Body), err)
	}
	return nil
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// refusals are the errors of go-openai's own checks, made before anything is
// sent.
var refusals = []error{
	openai.ErrReasoningEffortUnsupported, openai.ErrReasoningToolsRequireResponses,
	openai.ErrReasoningSamplingUnsupported, openai.ErrReasoningModelMaxTokensDeprecated,
	openai.ErrReasoningModelLimitationsLogprobs, openai.ErrReasoningModelLimitationsOther,
	openai.ErrChatCompletionInvalidModel, openai.ErrChatCompletionStreamNotSupported,
}

func ofClient(err error) *Error {
	for _, refusal := range refusals {
		if errors.Is(err, refusal) {
			return &Error{Class: Unsupported, Advice: "the client refused to send this to this model: " + refusal.Error(), Err: err}
		}
	}
	var marshal *json.MarshalerError
	var unknown *json.UnsupportedTypeError
	if errors.Is(err, openai.ErrContentFieldsMisused) || errors.As(err, &marshal) || errors.As(err, &unknown) {
		return &Error{Class: BadRequest, Advice: "the request can't be encoded", Err: err}
	}
	return nil
}

func ofAnswer(err error) *Error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	var connection *url.Error
	switch {
	case errors.As(err, &connection):
		return nil // it broke before there was an answer
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, net.ErrClosed):
		return &Error{Class: Truncated, Advice: "the connection ended in the middle of the answer", Err: err}
	case errors.Is(err, openai.ErrTooManyEmptyStreamMessages):
		return &Error{Class: Garbled, Advice: "the stream has hardly any data: raise the client's EmptyMessagesLimit", Err: err}
	case errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input":
		return &Error{Class: Truncated, Advice: "the answer stops in the middle", Err: err}
	case errors.As(err, &syntax), errors.As(err, &kind), errors.Is(err, errTooLarge):
		return &Error{Class: Garbled, Advice: "the answer is not what an OpenAI-compatible server sends: is the base URL right? it usually ends in /v1", Err: err}
	}
	return nil
}

func ofNetwork(err error) *Error {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var failed *net.OpError
	e := &Error{Class: Network, Err: withoutURL(err)}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Advice = "connection refused: is the server up, and is the base URL's port right?"
	case errors.As(err, &dns):
		e.Advice = "no such host: is the base URL right, and is there a network?"
	case errors.As(err, &cert):
		e.Advice = "the server's certificate is not trusted"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		e.Advice = "the server does not speak TLS: does the base URL begin with http://?"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		e.Advice = "the server closed the connection without an answer"
	case isURL(err):
		e.Advice = "the request could not be sent: is the base URL right? it looks like https://host/v1: " + e.Err.Error()
	case errors.As(err, &failed):
		e.Advice = "the connection failed: " + err.Error()
	default:
		return nil
	}
	return e
}

func isURL(err error) bool {
	var u *url.Error
	return errors.As(err, &u)
}

var errUnreadable = errors.New("it can't be read")

// withoutURL returns what is wrong without saying where: URLs may hold keys. Of
// one that it can't read, net/url quotes what it takes for the port, and that is
// a part of the password where that has a / or # in it.
func withoutURL(err error) error {
	var u *url.Error
	switch {
	case !errors.As(err, &u):
		return err
	case u.Op == "parse":
		return errUnreadable
	}
	return withoutURL(u.Err)
}
