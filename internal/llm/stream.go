package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

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
// The request's Stream is set as needed, and usage is asked for unless the
// request has StreamOptions.
func Stream(ctx context.Context, client Completer, req openai.ChatCompletionRequest) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var err error
		if streamer, ok := client.(Streamer); ok {
			err = streamed(ctx, streamer, req, yield)
		} else {
			err = single(ctx, client, req, yield)
		}
		if err != nil && !errors.Is(err, errLeft) {
			yield(Delta{}, explainIn(ctx, err))
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
		Usage:  usageOf(&resp.Usage),
		ID:     resp.ID, Model: resp.Model, Fingerprint: resp.SystemFingerprint, ServiceTier: string(resp.ServiceTier),
	}
	for i, call := range choice.Message.ToolCalls {
		d.Calls = append(d.Calls, CallDelta{Index: i, ID: call.ID, Name: call.Function.Name, Args: call.Function.Arguments})
	}
	return d
}

// usageOf returns nil for a server that counts nothing.
func usageOf(u *openai.Usage) *actions.Usage {
	if u == nil || u.PromptTokens <= 0 && u.CompletionTokens <= 0 {
		return nil
	}
	usage := &actions.Usage{Calls: 1, PromptTokens: max(0, u.PromptTokens), OutputTokens: max(0, u.CompletionTokens)}
	if u.PromptTokensDetails != nil {
		usage.CachedTokens = min(max(0, u.PromptTokensDetails.CachedTokens), usage.PromptTokens)
	}
	return usage
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
	ended := false
	defer func() {
		if !ended {
			cancel() // there is no point in waiting for the rest
		}
		_ = stream.Close()
		cancel()
	}()
	ended, err = receive(stream.RecvRaw, yield)
	return err
}

// receive yields what comes until the stream ends. A stream also ends without
// an error if it was cut between two chunks, so an answer counts as complete
// only once it had a finish reason.
func receive(next func() ([]byte, error), yield func(Delta, error) bool) (ended bool, err error) {
	begun, finished := false, false
	for ; ; begun = true {
		text, err := next()
		switch {
		case errors.Is(err, io.EOF) && finished:
			return true, nil
		case errors.Is(err, io.EOF) && !begun:
			return false, &Error{Class: Truncated, Advice: "the server ended the stream before anything came: does it stream chat completions?", Err: io.ErrUnexpectedEOF}
		case errors.Is(err, io.EOF):
			return false, cut(io.ErrUnexpectedEOF)
		case err != nil:
			return false, broken(err)
		}
		d, err := readChunk(text)
		if err != nil {
			return false, err
		}
		finished = finished || d.Finish != ""
		if !yield(d, nil) {
			return false, errLeft
		}
	}
}

func cut(err error) *Error {
	return &Error{Class: Truncated, Advice: "the stream ended in the middle of the answer", Err: err}
}

// broken explains an error in a stream. What nobody knows ended it.
func broken(err error) error {
	if e := Explain(err); e.Class != Network {
		return e
	}
	return cut(err)
}

// A chunk is what go-openai knows of one, and what it does not.
type chunk struct {
	openai.ChatCompletionStreamResponse
	ServiceTier string          `json:"service_tier"`
	Error       json.RawMessage `json:"error"`
	Choices     []struct {
		openai.ChatCompletionStreamChoice
		Delta struct {
			openai.ChatCompletionStreamChoiceDelta
			Reasoning string `json:"reasoning"`
		} `json:"delta"`
	} `json:"choices"`
}

// readChunk reads an event. A chunk may have no choices: that of the usage is
// one. Go-openai's validator leaves other answers than the first one alone.
func readChunk(text []byte) (Delta, error) {
	var c chunk
	if err := json.Unmarshal(text, &c); err != nil {
		return Delta{}, fmt.Errorf("llm: reading the stream: %w", err)
	}
	if isComplaint(text) {
		return Delta{}, failure(0, readComplaint(text), nil)
	}
	d := Delta{Usage: usageOf(c.Usage), ID: c.ID, Model: c.Model, Fingerprint: c.SystemFingerprint, ServiceTier: c.ServiceTier}
	for _, choice := range c.Choices {
		if choice.Index == 0 {
			d.Text += choice.Delta.Content
			d.Reasoning += cmpOr(choice.Delta.ReasoningContent, choice.Delta.Reasoning)
			d.Refusal += choice.Delta.Refusal
			d.Calls = append(d.Calls, callsOf(choice.Delta.ToolCalls)...)
			d.Finish = cmpOr(d.Finish, finishOf(choice.FinishReason))
		}
	}
	if d.Finish == "error" {
		return Delta{}, failure(0, complaint{}, nil)
	}
	return d, nil
}

func finishOf(reason openai.FinishReason) string {
	if reason == openai.FinishReasonNull {
		return ""
	}
	return string(reason)
}

func callsOf(pieces []openai.ToolCall) (calls []CallDelta) {
	for _, piece := range pieces {
		c := CallDelta{Index: -1, ID: piece.ID, Name: piece.Function.Name, Args: piece.Function.Arguments}
		if piece.Index != nil {
			c.Index = max(0, *piece.Index)
		}
		calls = append(calls, c)
	}
	return calls
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
