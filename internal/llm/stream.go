package llm

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/actions"
)

// A Delta is a piece of an answer. Each field but the last four is what is new;
// those are repeated or empty.
type Delta struct {
	Text      string
	Reasoning string // thoughts that the server shows, in whatever field
	Refusal   string // why the model won't answer
	Calls     []CallDelta
	Finish    string         // why the answer ends, once; "stop", "length", "tool_calls", …
	Usage     *actions.Usage // what it cost, once; nil where the server doesn't say

	ID          string // of the answer
	Model       string // as served, which may differ from what was asked for
	Fingerprint string // of the configuration that served it
	ServiceTier string
}

// A CallDelta is a piece of a tool call. Calls puts the pieces together.
type CallDelta struct {
	Index int // -1: the server doesn't say
	ID    string
	Name  string
	Args  string
}

// Stream sends a request and yields the answer as it comes: in pieces if the
// client streams, else in one. Unless the loop is left, the last thing is
// either the end of a complete answer, which had a Finish, or one *Error with
// an empty Delta. Leaving the loop cancels the request.
//
// An answer that has had its Finish is complete, whatever comes then. What may
// still come, its usage, is waited for up to three seconds.
//
// The request's Stream is set as needed, and usage is asked for unless the
// request has StreamOptions.
func Stream(ctx context.Context, client Completer, req openai.ChatCompletionRequest) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		var known secrets
		ctx, cancel := context.WithCancel(context.WithValue(ctx, secretsKey{}, &known))
		defer cancel()
		var err error
		if streamer, ok := client.(Streamer); ok {
			err = streamed(ctx, streamer, req, yield)
		} else {
			err = single(ctx, client, req, yield)
		}
		if err != nil && !errors.Is(err, errLeft) {
			yield(Delta{}, known.finish(explainIn(ctx, err)))
		}
	}
}

// errLeft ends a request whose consumer has left the loop.
var errLeft = errors.New("llm: the loop was left")

func single(ctx context.Context, client Completer, req openai.ChatCompletionRequest, yield func(Delta, error) bool) error {
	req.Stream, req.StreamOptions = false, nil
	resp, err := client.CreateChatCompletion(ctx, req)
	if err != nil {
		return err
	}
	if len(resp.Choices) == 0 {
		return noChoices()
	}
	if !yield(whole(resp), nil) {
		return errLeft
	}
	return nil
}

func noChoices() *Error {
	return &Error{Class: Garbled, Advice: "the server answered without choices: is this a chat model?"}
}

// whole returns a response as one Delta. One without a finish reason ends where
// it ends: there is nothing that could follow.
func whole(resp openai.ChatCompletionResponse) Delta {
	choice := resp.Choices[0]
	d := Delta{
		Text: choice.Message.Content, Reasoning: choice.Message.ReasoningContent, Refusal: choice.Message.Refusal,
		Finish: cmpOr(string(choice.FinishReason), "stop"),
		Usage:  usageOf(resp.Usage).count(),
		ID:     resp.ID, Model: resp.Model, Fingerprint: resp.SystemFingerprint, ServiceTier: string(resp.ServiceTier),
	}
	for i, call := range choice.Message.ToolCalls {
		d.Calls = append(d.Calls, CallDelta{Index: i, ID: call.ID, Name: call.Function.Name, Args: call.Function.Arguments})
	}
	return d
}

func streamed(ctx context.Context, client Streamer, req openai.ChatCompletionRequest, yield func(Delta, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	req.Stream = true
	if req.StreamOptions == nil {
		req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	stream, err := client.CreateChatCompletionStream(ctx, req)
	if err != nil {
		cancel()
		return err
	}
	r := &receiver{next: stream.RecvRaw, cancel: cancel, left: maxRest}
	defer func() {
		if !r.ended {
			cancel() // there is no point in waiting for what is left
		}
		_ = stream.Close()
		cancel()
	}()
	return r.receive(yield)
}

// maxRest is how long the rest of a finished answer is waited for. Some servers
// leave the connection open, without a word or with signs of life, and others
// break it.
const maxRest = 3 * time.Second

// A receiver reads a stream.
type receiver struct {
	next     func() ([]byte, error)
	cancel   func() // ends next
	left     time.Duration
	finished bool // the answer had its finish reason
	ended    bool // there is nothing more to read
}

// receive yields what comes until the stream ends. A stream also ends without
// an error if it was cut between two chunks, so an answer counts as complete
// only once it had a finish reason. Then, it does for good: what goes wrong
// later can only cost its usage.
func (r *receiver) receive(yield func(Delta, error) bool) error {
	for begun := false; ; begun = true {
		d, err := r.read()
		switch {
		case err != nil && r.finished:
			r.ended = errors.Is(err, io.EOF)
			return nil
		case errors.Is(err, io.EOF) && !begun:
			return &Error{Class: Truncated, Advice: "the server ended the stream before anything came: does it stream chat completions?", Err: io.ErrUnexpectedEOF}
		case errors.Is(err, io.EOF):
			return cut(io.ErrUnexpectedEOF)
		case err != nil:
			return err
		}
		if !yield(d, nil) {
			return errLeft
		}
	}
}

// read reads a chunk. Some servers give a finish reason with each: as long as
// an answer goes on, there is time for more of it.
func (r *receiver) read() (Delta, error) {
	text, err := r.wait()
	if err != nil {
		return Delta{}, broken(err)
	}
	d, err := readChunk(text)
	r.finished = r.finished || d.Finish != ""
	if d.Text != "" || d.Reasoning != "" || d.Refusal != "" || len(d.Calls) > 0 {
		r.left = maxRest
	}
	return d, err
}

// wait waits for a chunk, behind a finish for as long as is left.
func (r *receiver) wait() ([]byte, error) {
	if !r.finished {
		return r.next()
	}
	began := time.Now()
	late := time.AfterFunc(r.left, r.cancel)
	defer func() {
		late.Stop()
		r.left -= time.Since(began)
	}()
	return r.next()
}

func cut(err error) *Error {
	return &Error{Class: Truncated, Advice: "the stream ended in the middle of the answer", Err: err}
}

// broken explains an error in a stream. What nobody knows cut it; io.EOF may be
// its end.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return err
	}
	if e := explain(err); e.Class != Network && e.Class != Other {
		return e
	}
	return cut(err)
}

// An Answer is a whole one.
type Answer struct {
	Text, Reasoning, Refusal string
	Calls                    []Call
	Dropped                  []*CallError // tool calls that are none, or ambiguous
	Finish                   string
	Usage                    actions.Usage // Calls is 1, even where the server doesn't count
	ID                       string
	Model                    string
	Fingerprint              string
	ServiceTier              string
}

// Collect puts the deltas of a Stream together. With an error it returns what
// came before it, without tool calls: they may lack their end.
func Collect(deltas iter.Seq2[Delta, error]) (Answer, error) {
	a := Answer{Usage: actions.Usage{Calls: 1}}
	var text, reasoning, refusal strings.Builder
	var calls Calls
	var failed error
	for d, err := range deltas {
		failed = err
		text.WriteString(d.Text)
		reasoning.WriteString(d.Reasoning)
		refusal.WriteString(d.Refusal)
		calls.Add(d.Calls...)
		a.note(d)
	}
	a.Text, a.Reasoning, a.Refusal = text.String(), reasoning.String(), refusal.String()
	if failed == nil {
		a.Calls, a.Dropped = calls.Done()
	}
	return a, failed
}

// note keeps what a delta says about the answer as a whole.
func (a *Answer) note(d Delta) {
	if d.Usage != nil {
		a.Usage = *d.Usage
	}
	a.Finish = cmpOr(d.Finish, a.Finish)
	a.ID = cmpOr(d.ID, a.ID)
	a.Model = cmpOr(d.Model, a.Model)
	a.Fingerprint = cmpOr(d.Fingerprint, a.Fingerprint)
	a.ServiceTier = cmpOr(d.ServiceTier, a.ServiceTier)
}
