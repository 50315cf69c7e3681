package llmsim

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// An event is a chunk of a stream with the number of tokens that it took.
type event struct {
	data   string
	tokens int
}

// stream sends an answer as server-sent events, at the model's pace.
func (d *session) stream(ctx context.Context, w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "text/event-stream")
	fault := d.answer.Fault
	write(w, strings.Repeat(": keep-alive\n\n", fault.Comments))
	for i, e := range d.events() {
		if fault.CutAt > 0 && i == fault.CutAt {
			write(w, fault.Error+"\n\n")
			return nil
		}
		pause := d.scaled(time.Duration(e.tokens) * d.latency.PerOutput)
		if fault.Stall > 0 && i == fault.StallAt {
			pause += fault.Stall
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
		write(w, "data: "+e.data+"\n\n")
	}
	return wait(ctx, fault.LateEnd)
}

func write(w http.ResponseWriter, text string) {
	_, _ = w.Write([]byte(text))
	_ = http.NewResponseController(w).Flush()
}

// events are all chunks of an answer.
func (d *session) events() (events []event) {
	add := func(delta map[string]any, tokens int) { events = append(events, event{d.chunk(delta, ""), tokens}) }
	add(map[string]any{"role": "assistant", "content": ""}, 0)
	for range d.answer.Fault.Empty {
		add(map[string]any{}, 0)
	}
	d.texts(add)
	d.calls(add)
	if d.answer.Fault.NoFinish {
		return events
	}
	events = append(events, event{d.chunk(map[string]any{}, d.answer.Finish), 0})
	if d.req.StreamOptions != nil && d.req.StreamOptions.IncludeUsage && !d.answer.NoUsage {
		events = append(events, event{d.closing(), 0})
	}
	return append(events, event{"[DONE]", 0})
}

func (d *session) texts(add func(map[string]any, int)) {
	for _, part := range []struct{ name, text string }{
		{"reasoning_content", d.answer.Reasoning}, {"refusal", d.answer.Refusal}, {"content", d.answer.Text},
	} {
		for _, token := range pieces(part.text) {
			add(map[string]any{part.name: token}, 1)
		}
	}
}

// calls adds the pieces of tool calls: one chunk for each, or all in one.
func (d *session) calls(add func(map[string]any, int)) {
	var together []any
	tokens := 0
	piece := func(p map[string]any, n int) {
		if !d.answer.Fault.Chunked {
			add(map[string]any{"tool_calls": []any{p}}, n)
			return
		}
		together, tokens = append(together, p), tokens+n
	}
	for i, c := range d.answer.Calls {
		if d.answer.Fault.NoIndex { // servers without an index send calls whole
			whole := d.begin(i, c)
			whole["function"] = map[string]any{"name": c.Name, "arguments": c.Args}
			piece(whole, Tokens(c.Name)+Tokens(c.Args))
			continue
		}
		piece(d.begin(i, c), Tokens(c.Name))
		for _, args := range pieces(c.Args) {
			piece(d.more(i, args), 1)
		}
	}
	if len(together) > 0 {
		add(map[string]any{"tool_calls": together}, tokens)
	}
}

func (d *session) chunk(delta map[string]any, finish string) string {
	v := d.envelope("chat.completion.chunk")
	v["choices"] = []any{}
	if !d.answer.Fault.NoChoices {
		v["choices"] = []any{map[string]any{"index": 0, "delta": delta, "finish_reason": orNull(finish)}}
	}
	return encode(v)
}

// closing is the chunk of the usage, which has no choices.
func (d *session) closing() string {
	v := d.envelope("chat.completion.chunk")
	v["choices"] = []any{}
	v["usage"] = d.usage()
	return encode(v)
}

func encode(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
