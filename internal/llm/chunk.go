package llm

import (
	"encoding/json"
	"fmt"
)

// A chunk is an event of a stream, as far as it is used: what nobody asks for
// can't make an answer unreadable.
type chunk struct {
	ID          lenient[string] `json:"id"`
	Model       lenient[string] `json:"model"`
	Fingerprint lenient[string] `json:"system_fingerprint"`
	ServiceTier lenient[string] `json:"service_tier"`
	Usage       lenient[usage]  `json:"usage"`
	Choices     []struct {
		Index  lenient[int]    `json:"index"`
		Finish lenient[string] `json:"finish_reason"`
		Delta  struct {
			Content          string          `json:"content"`
			Refusal          string          `json:"refusal"`
			ReasoningContent lenient[string] `json:"reasoning_content"`
			Reasoning        lenient[string] `json:"reasoning"`
			Calls            []callPiece     `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
}

type callPiece struct {
	Index    lenient[*int]   `json:"index"`
	ID       lenient[string] `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// readChunk reads an event. A chunk may have no choices: that of the usage is
// one. Other answers than the first one are left alone.
func readChunk(text []byte) (Delta, error) {
	var c chunk
	if err := json.Unmarshal(text, &c); err != nil {
		return Delta{}, fmt.Errorf("llm: reading the stream: %w", err)
	}
	if isComplaint(text) {
		return Delta{}, failure(0, readComplaint(text), nil)
	}
	d := Delta{
		Usage: c.Usage.value.count(), ID: c.ID.value, Model: c.Model.value,
		Fingerprint: c.Fingerprint.value, ServiceTier: c.ServiceTier.value,
	}
	for _, choice := range c.Choices {
		if choice.Index.value == 0 {
			d.Text += choice.Delta.Content
			d.Reasoning += cmpOr(choice.Delta.ReasoningContent.value, choice.Delta.Reasoning.value)
			d.Refusal += choice.Delta.Refusal
			d.Calls = append(d.Calls, callsOf(choice.Delta.Calls)...)
			d.Finish = cmpOr(d.Finish, finishOf(choice.Finish.value))
		}
	}
	if d.Finish == "error" {
		return Delta{}, failure(0, complaint{}, nil)
	}
	return d, nil
}

func finishOf(reason string) string {
	if reason == "null" { // some servers write it as a text
		return ""
	}
	return reason
}

func callsOf(pieces []callPiece) (calls []CallDelta) {
	for _, piece := range pieces {
		c := CallDelta{Index: -1, ID: piece.ID.value, Name: piece.Function.Name, Args: piece.Function.Arguments}
		if i := piece.Index.value; i != nil {
			c.Index = max(0, *i)
		}
		calls = append(calls, c)
	}
	return calls
}
