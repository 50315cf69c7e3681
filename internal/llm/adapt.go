package llm

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// Empty stands for a message without content. Go-openai leaves out content
// that is empty, and servers refuse messages that have none.
const Empty = "(empty)"

// Content returns a text that may be a message's content: Empty for "".
func Content(s string) string {
	if strings.TrimSpace(s) == "" {
		return Empty
	}
	return s
}

// A family is what models of a kind accept. Only OpenAI's own are known; any
// other model is asked for what the caller asks for.
type family struct {
	name      *regexp.Regexp
	efforts   []string // least first; nil: none may be named
	sampling  bool     // temperature and the like may be set whatever the effort
	tools     bool     // with any effort; else only with none, if it is there
	parallel  bool     // parallel_tool_calls may be set
	responses bool     // tools need another API
}

// families lists OpenAI's, first match first. Dated names are those of their
// family, although go-openai's validator looks at some exact names only.
var families = []family{
	{name: regexp.MustCompile(`^gpt-6-(sol|luna)\b`), efforts: []string{"none", "low", "medium", "high", "xhigh", "max"}, parallel: true},
	{name: regexp.MustCompile(`^gpt-6`), efforts: []string{"low", "medium", "high", "xhigh", "max"}, responses: true},
	{name: regexp.MustCompile(`^gpt-5(\.\d+)?-(chat|search)`), tools: true, parallel: true},
	{name: regexp.MustCompile(`^gpt-5(\.\d+)?-pro`), tools: true, parallel: true},
	{name: regexp.MustCompile(`^gpt-5\.\d`), efforts: []string{"none", "low", "medium", "high", "xhigh"}, tools: true, parallel: true},
	{name: regexp.MustCompile(`^gpt-5-codex`), efforts: []string{"low", "medium", "high"}, tools: true, parallel: true},
	{name: regexp.MustCompile(`^gpt-5`), efforts: []string{"minimal", "low", "medium", "high"}, tools: true, parallel: true},
	{name: regexp.MustCompile(`^o1-(mini|preview)`)},
	{name: regexp.MustCompile(`^o[134]`), efforts: []string{"low", "medium", "high"}, tools: true},
	{name: regexp.MustCompile(`^(gpt-4|gpt-3\.5|chatgpt-)`), sampling: true, tools: true, parallel: true},
}

func familyOf(model string) (family, bool) {
	model = strings.TrimPrefix(model, "openai/") // as routers say
	i := slices.IndexFunc(families, func(f family) bool { return f.name.MatchString(model) })
	if i < 0 {
		return family{}, false
	}
	return families[i], true
}

// LeastEffort returns the reasoning effort that makes a model answer soonest,
// and "" for models that have no such choice, or are unknown.
func LeastEffort(model string) string {
	if f, ok := familyOf(model); ok && len(f.efforts) > 0 {
		return f.efforts[0]
	}
	return ""
}

// Adapt returns a request that its model accepts and that says the same as far
// as possible. Messages without content get some. A reasoning model's request
// loses what it can't have: temperature, penalties, probabilities, stop words,
// further choices. Efforts that a model lacks become the nearest that it has.
//
// Limit tokens with MaxCompletionTokens, whatever the model. An HTTPClient
// gives the limit its older name where models are not OpenAI's.
//
// The error is an *Error of class Unsupported: tools can't be dropped.
func Adapt(req openai.ChatCompletionRequest) (openai.ChatCompletionRequest, error) {
	req.Messages = filled(req.Messages)
	f, known := familyOf(req.Model)
	if !known {
		return req, nil
	}
	req.ReasoningEffort = f.effort(req)
	if err := f.refuse(req); err != nil {
		return req, err
	}
	if !f.sampling && !f.samples(req) {
		req = withoutSampling(req)
	}
	if !f.parallel {
		req.ParallelToolCalls = nil
	}
	return req, nil
}

// filled returns messages that all have content, or something in its place.
func filled(messages []openai.ChatCompletionMessage) []openai.ChatCompletionMessage {
	messages = slices.Clone(messages)
	for i := range messages {
		m := &messages[i]
		if len(m.MultiContent) == 0 && len(m.ToolCalls) == 0 && m.FunctionCall == nil && m.Refusal == "" {
			m.MultiContent = nil
			m.Content = Content(m.Content)
		}
	}
	return messages
}

// effort returns the nearest effort that the family has: the same, or the next
// above. What thinks only without tools does not think with them.
func (f family) effort(req openai.ChatCompletionRequest) string {
	if len(f.efforts) == 0 {
		return ""
	}
	if req.ReasoningEffort == "" && len(req.Tools) > 0 && f.silent() {
		return openai.ReasoningEffortNone
	}
	at := slices.Index(ladder, req.ReasoningEffort)
	if at < 0 {
		return req.ReasoningEffort
	}
	best := f.efforts[len(f.efforts)-1]
	for _, e := range slices.Backward(f.efforts) {
		if slices.Index(ladder, e) >= at {
			best = e
		}
	}
	if req.ReasoningEffort == openai.ReasoningEffortMinimal && f.efforts[0] == openai.ReasoningEffortNone {
		return openai.ReasoningEffortNone // who says minimal wants the least
	}
	return best
}

var ladder = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// silent reports whether the family takes tools with effort none only.
func (f family) silent() bool {
	return !f.tools && slices.Contains(f.efforts, openai.ReasoningEffortNone)
}

func (f family) refuse(req openai.ChatCompletionRequest) error {
	why := ""
	switch {
	case len(req.Tools) == 0 || f.tools || f.silent() && req.ReasoningEffort == openai.ReasoningEffortNone:
		return nil
	case f.responses:
		why = "takes tools through the Responses API only"
	case f.silent():
		why = fmt.Sprintf("takes tools with reasoning effort %q only", openai.ReasoningEffortNone)
	default:
		why = "takes no tools"
	}
	return &Error{Class: Unsupported, Advice: fmt.Sprintf("the model %s %s: choose another model", req.Model, why), Err: openai.ErrReasoningToolsRequireResponses}
}

// samples reports whether sampling may be set with the request's effort. The
// validator of go-openai refuses it for all of gpt-5, whatever the effort.
func (f family) samples(req openai.ChatCompletionRequest) bool {
	return f.silent() && req.ReasoningEffort == openai.ReasoningEffortNone
}

func withoutSampling(req openai.ChatCompletionRequest) openai.ChatCompletionRequest {
	req.Temperature, req.TopP, req.N = 0, 0, 0
	req.LogProbs, req.TopLogProbs, req.LogitBias = false, 0, nil
	req.PresencePenalty, req.FrequencyPenalty = 0, 0
	req.Stop = nil
	return req
}
