package llmsim

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A session is one request with its answer, on the way to the client.
type session struct {
	req     Request
	model   Model
	answer  Answer
	latency Latency
	factor  float64 // by which its time differs
	prompt  int     // tokens
	cached  int     // of these
	output  int
}

func (s *Server) session(req Request, model Model, answer Answer) *session {
	d := &session{req: req, model: model, latency: s.opts.Latency}
	if answer.Latency != nil {
		d.latency = *answer.Latency
	}
	d.factor = s.jitter(req.Number, d.latency.Jitter)
	text := prompt(req.ChatCompletionRequest)
	d.prompt = Tokens(text)
	d.cached = s.cached(req.Model, text)
	d.answer = cropped(answer, req.Limit())
	d.output = d.answer.tokens()
	return d
}

// cropped ends an answer at a limit of tokens, as a model would.
func cropped(a Answer, limit int) Answer {
	if limit <= 0 || a.tokens() <= limit {
		a.Finish = cmp.Or(a.Finish, finish(a))
		return a
	}
	a.Finish = "length"
	for _, text := range []*string{&a.Reasoning, &a.Refusal, &a.Text} {
		*text = crop(*text, &limit)
	}
	a.Calls = append([]Call(nil), a.Calls...)
	for i := range a.Calls {
		a.Calls[i].Name = crop(a.Calls[i].Name, &limit)
		a.Calls[i].Args = crop(a.Calls[i].Args, &limit)
		if limit == 0 {
			a.Calls = a.Calls[:i+1]
			break
		}
	}
	return a
}

func crop(text string, limit *int) string {
	tokens := pieces(text)
	tokens = tokens[:min(len(tokens), *limit)]
	*limit -= len(tokens)
	return strings.Join(tokens, "")
}

func finish(a Answer) string {
	if len(a.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

// ahead is how long it takes until the first token.
func (d *session) ahead() time.Duration {
	return d.scaled(d.latency.Base + time.Duration(d.prompt-d.cached)*d.latency.PerPrompt)
}

func (d *session) scaled(t time.Duration) time.Duration {
	return time.Duration(float64(t) * d.factor)
}

// deliver takes the time that the answer takes and sends it, or what is left of
// it.
func (s *Server) deliver(w http.ResponseWriter, r *http.Request, d *session) {
	err := d.send(w, r)
	s.count(func(stats *Stats) {
		stats.PromptTokens += d.prompt
		stats.CachedTokens += d.cached
		stats.OutputTokens += d.output
		if err != nil {
			stats.Abandoned++
		} else {
			stats.Answered++
		}
	})
	f := d.answer.Fault
	if f.Closed {
		leaveClosed(r.Context())
	}
	if err == nil && (f.Drop || f.CutAt > 0 && f.Error == "") {
		panic(http.ErrAbortHandler) // that is how a handler breaks a connection
	}
}

func (d *session) send(w http.ResponseWriter, r *http.Request) error {
	ctx, fault := r.Context(), d.answer.Fault
	if fault.Hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if err := wait(ctx, d.ahead()); err != nil {
		return err
	}
	switch {
	case fault.Drop:
		return nil
	case fault.Status != 0 || fault.Body != "":
		d.output = 0
		fault.send(w)
		return nil
	case d.req.Stream:
		return d.stream(ctx, w)
	}
	return d.whole(ctx, w)
}

func (f Fault) send(w http.ResponseWriter) {
	status := cmp.Or(f.Status, http.StatusOK)
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	if f.Body == "" {
		complain(w, status, "", http.StatusText(status))
		return
	}
	w.Header().Set("Content-Type", cmp.Or(f.Type, "application/json"))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(f.Body))
}

// whole sends an answer in one.
func (d *session) whole(ctx context.Context, w http.ResponseWriter) error {
	if err := wait(ctx, d.scaled(time.Duration(d.output)*d.latency.PerOutput)+d.answer.Fault.Stall); err != nil {
		return err
	}
	text, _ := json.Marshal(d.response())
	w.Header().Set("Content-Type", "application/json")
	if d.answer.Fault.CutAt > 0 {
		text = text[:len(text)/2]
	}
	_, _ = w.Write(text)
	_ = http.NewResponseController(w).Flush()
	return wait(ctx, d.answer.Fault.LateEnd)
}

func (d *session) response() map[string]any {
	v := d.envelope("chat.completion")
	message := map[string]any{"role": "assistant", "content": d.answer.Text}
	for name, text := range map[string]string{"reasoning_content": d.answer.Reasoning, "refusal": d.answer.Refusal} {
		if text != "" {
			message[name] = text
		}
	}
	if len(d.answer.Calls) > 0 {
		calls := []any{}
		for i, c := range d.answer.Calls {
			call := d.begin(i, c)
			delete(call, "index")
			call["function"] = map[string]any{"name": c.Name, "arguments": c.Args}
			calls = append(calls, call)
		}
		message["tool_calls"], message["content"] = calls, orNull(d.answer.Text)
	}
	v["choices"] = []any{}
	if !d.answer.Fault.NoChoices {
		v["choices"] = []any{map[string]any{"index": 0, "message": message, "finish_reason": d.answer.Finish}}
	}
	if !d.answer.NoUsage {
		v["usage"] = d.usage()
	}
	return v
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// envelope is what all chunks and the response have.
func (d *session) envelope(object string) map[string]any {
	v := map[string]any{
		"id":      fmt.Sprintf("chatcmpl-%d", d.req.Number),
		"object":  object,
		"created": time.Now().Unix(),
		"model":   cmp.Or(d.answer.Model, d.model.Served, d.req.Model),
	}
	for name, value := range map[string]string{
		"system_fingerprint": cmp.Or(d.answer.Fingerprint, d.model.Fingerprint),
		"service_tier":       cmp.Or(d.answer.ServiceTier, string(d.req.ServiceTier)),
	} {
		if value != "" {
			v[name] = value
		}
	}
	return v
}

func (d *session) usage() map[string]any {
	usage := map[string]any{"prompt_tokens": d.prompt, "completion_tokens": d.output, "total_tokens": d.prompt + d.output}
	if !d.answer.NoDetails {
		usage["prompt_tokens_details"] = map[string]any{"cached_tokens": d.cached}
		usage["completion_tokens_details"] = map[string]any{"reasoning_tokens": Tokens(d.answer.Reasoning)}
	}
	return usage
}

// begin is the first piece of a tool call.
func (d *session) begin(i int, c Call) map[string]any {
	fault := d.answer.Fault
	args := ""
	if fault.Prefilled {
		args = "{}"
	}
	call := map[string]any{"index": i, "type": "function", "id": cmp.Or(c.ID, fmt.Sprintf("call_%d_%d", d.req.Number, i))}
	call["function"] = map[string]any{"name": c.Name, "arguments": args}
	if fault.NoID {
		delete(call, "id")
	}
	return d.indexed(call)
}

func (d *session) more(i int, args string) map[string]any {
	return d.indexed(map[string]any{"index": i, "function": map[string]any{"arguments": args}})
}

func (d *session) indexed(call map[string]any) map[string]any {
	switch {
	case d.answer.Fault.NoIndex:
		delete(call, "index")
	case d.answer.Fault.OneIndex:
		call["index"] = 0
	}
	return call
}
