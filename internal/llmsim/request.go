package llmsim

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	openai "github.com/sashabaranov/go-openai"
)

// A Request is what a policy sees.
type Request struct {
	openai.ChatCompletionRequest
	Number int         // in order of arrival, from 1
	Header http.Header // as received
	Body   []byte      // as received
}

// Last returns the content of the last message.
func (r Request) Last() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Content
}

// Field returns a field of the body, as JSON; "" if it is not there.
func (r Request) Field(name string) string {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(r.Body, &fields)
	return string(fields[name])
}

// Limit returns the most tokens that an answer may have, by either name; 0 is
// no limit.
func (r Request) Limit() int {
	var limits struct {
		Old int `json:"max_tokens"`
		New int `json:"max_completion_tokens"`
	}
	_ = json.Unmarshal(r.Body, &limits)
	return max(limits.Old, limits.New)
}

// Tokens is the number of tokens in a text: one for each 4 characters begun.
func Tokens(text string) int {
	return (utf8.RuneCountInString(text) + 3) / 4
}

// PromptTokens is the number of tokens in a request's prompt.
func PromptTokens(r openai.ChatCompletionRequest) int { return Tokens(prompt(r)) }

// prompt is the text that a model would read.
func prompt(r openai.ChatCompletionRequest) string {
	var b strings.Builder
	if len(r.Tools) > 0 {
		tools, _ := json.Marshal(r.Tools)
		b.Write(tools)
	}
	for _, m := range r.Messages {
		b.WriteString("\n<|" + m.Role + "|>\n" + m.Content)
		for _, part := range m.MultiContent {
			b.WriteString(part.Text)
		}
		for _, call := range m.ToolCalls {
			b.WriteString(call.Function.Name + call.Function.Arguments)
		}
	}
	return b.String()
}

// pieces cuts a text into its tokens.
func pieces(text string) (tokens []string) {
	runes := []rune(text)
	for len(runes) > 0 {
		n := min(4, len(runes))
		tokens = append(tokens, string(runes[:n]))
		runes = runes[n:]
	}
	return tokens
}
