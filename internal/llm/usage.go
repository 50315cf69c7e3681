package llm

import (
	"encoding/json"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/actions"
)

// A lenient is a field that an answer can do without: a value of the wrong kind
// is as good as none, and no reason to refuse the answer.
type lenient[T any] struct{ value T }

// UnmarshalJSON never fails.
func (l *lenient[T]) UnmarshalJSON(text []byte) error {
	var v T
	if json.Unmarshal(text, &v) == nil {
		l.value = v
	}
	return nil
}

// A usage is what a server says that an answer has cost. Servers written in
// languages without integers send 12.0.
type usage struct {
	Prompt  lenient[float64] `json:"prompt_tokens"`
	Output  lenient[float64] `json:"completion_tokens"`
	Details lenient[struct {
		Cached lenient[float64] `json:"cached_tokens"`
	}] `json:"prompt_tokens_details"`
}

// count returns nil for a server that counts nothing.
func (u usage) count() *actions.Usage {
	prompt, output := tokens(u.Prompt.value), tokens(u.Output.value)
	if prompt+output == 0 {
		return nil
	}
	return &actions.Usage{
		Calls: 1, PromptTokens: prompt, OutputTokens: output,
		CachedTokens: min(tokens(u.Details.value.Cached.value), prompt),
	}
}

// maxTokens is more than any call takes. What servers say beyond it is wrong,
// and must not use up a budget, or overflow a sum, for good.
const maxTokens = 1 << 24

func tokens(n float64) int { return int(max(0, min(n, maxTokens))) }

// usageOf reads what go-openai has read.
func usageOf(known openai.Usage) usage {
	var u usage
	u.Prompt.value, u.Output.value = float64(known.PromptTokens), float64(known.CompletionTokens)
	if d := known.PromptTokensDetails; d != nil {
		u.Details.value.Cached.value = float64(d.CachedTokens)
	}
	return u
}

// openAI is a usage that go-openai can read.
func (u usage) openAI() openai.Usage {
	counted := u.count()
	if counted == nil {
		return openai.Usage{}
	}
	return openai.Usage{
		PromptTokens: counted.PromptTokens, CompletionTokens: counted.OutputTokens, TotalTokens: counted.PromptTokens + counted.OutputTokens,
		PromptTokensDetails: &openai.PromptTokensDetails{CachedTokens: counted.CachedTokens},
	}
}
