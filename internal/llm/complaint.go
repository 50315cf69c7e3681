package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// A complaint is what a server says about a request that it did not answer.
type complaint struct {
	Code, Type, Param, Message string
}

// readComplaint reads the body of an error, in the forms that servers have:
// OpenAI's {"error": {…}}, the same in a list (Gemini), flat (vLLM), a plain
// text as error (Ollama) or detail (FastAPI), or no JSON at all.
func readComplaint(body []byte) complaint {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var fields map[string]any
	if json.Unmarshal(body, &fields) != nil {
		return complaint{Message: plain(body)}
	}
	if inner, ok := fields["error"].(map[string]any); ok {
		fields = inner
	}
	return complaint{
		Code:    text(fields["code"]),
		Type:    text(fields["type"]),
		Param:   text(fields["param"]),
		Message: cmpOr(text(fields["message"]), text(fields["error"]), text(fields["detail"])),
	}
}

// text returns a JSON value as a person would write it.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return fmt.Sprint(int(v))
	}
	encoded, _ := json.Marshal(v)
	return string(encoded)
}

func cmpOr(texts ...string) string {
	i := slices.IndexFunc(texts, func(s string) bool { return s != "" })
	if i < 0 {
		return ""
	}
	return texts[i]
}

var tags = regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>|<[^>]*>`)

// plain returns what a page of HTML says.
func plain(body []byte) string {
	return tags.ReplaceAllString(string(body), " ")
}

// failure explains a status and the words that came with it. Status 0 is an
// error in an answer that began as a success.
func failure(status int, c complaint, err error) *Error {
	e := &Error{Class: classOf(status, c), Status: status, Detail: c.Message, Err: err}
	e.Advice = advice(e.Class, c)
	if status != 0 {
		e.Advice = strings.Replace(e.Advice, "$", fmt.Sprintf(" (%d)", status), 1)
	}
	e.Advice = strings.Replace(e.Advice, "$", "", 1)
	return e
}

// classOf finds the class of a failure. Words come before numbers, for servers
// use the same status for different things.
func classOf(status int, c complaint) Class {
	if status == 0 {
		status = statusOf(c.Code)
	}
	words := strings.ToLower(c.Code + " " + c.Type + " " + c.Message)
	refused := status == 0 || status/100 == 4 || status == http.StatusInternalServerError
	for _, w := range wording {
		if refused && (w.status == 0 || status == 0 || w.status == status) && w.says.MatchString(words) {
			return w.class
		}
	}
	if class, ok := byStatus[status]; ok {
		return class
	}
	switch {
	case status == 0, status >= 500:
		return Server
	case status/100 == 3:
		return NotFound
	}
	return BadRequest
}

// statusOf reads a status that a server sends as an error's code.
func statusOf(code string) (status int) {
	if len(code) == 3 {
		_, _ = fmt.Sscan(code, &status)
	}
	return status
}

var byStatus = map[int]Class{
	http.StatusUnauthorized:          Auth,
	http.StatusForbidden:             Auth,
	http.StatusPaymentRequired:       Quota,
	http.StatusNotFound:              NotFound,
	http.StatusMethodNotAllowed:      NotFound,
	http.StatusRequestTimeout:        Timeout,
	http.StatusRequestEntityTooLarge: TooLong,
	http.StatusTooManyRequests:       RateLimit,
	http.StatusNotImplemented:        Unsupported,
	http.StatusServiceUnavailable:    Overloaded,
	529:                              Overloaded,
}

// wording is what servers say, in lower case, where the status says too little.
var wording = []struct {
	status int // 0: any refusal
	says   *regexp.Regexp
	class  Class
}{
	{http.StatusTooManyRequests, regexp.MustCompile(`rate_limit_exceeded|(retry|try again) in \d`), RateLimit},
	{0, regexp.MustCompile(`insufficient_quota|billing|credit balance|(budget|spend|quota)\w* (has been )?(exceeded|limit)|budget_exceeded`), Quota},
	{0, regexp.MustCompile(`invalid_api_key|(incorrect|invalid) api key|api key not valid|authentication_error`), Auth},
	{0, regexp.MustCompile(`rate_limit|rate limit|too many requests`), RateLimit},
	{0, regexp.MustCompile(`context_length|exceed_context|context (length|size|window)|maximum context|prompt is too long|input is too long|too many tokens`), TooLong},
	{0, regexp.MustCompile(`model_not_found|model .*(not found|does not exist)`), NotFound},
	{0, regexp.MustCompile(`overloaded|loading model|server_is_busy`), Overloaded},
	{http.StatusBadRequest, regexp.MustCompile(`unsupported|n[o']t support|requires? --|response_format|tool_choice|json_schema|must be verified`), Unsupported},
	{http.StatusUnprocessableEntity, regexp.MustCompile(`unsupported|n[o']t support|response_format|tool_choice|json_schema`), Unsupported},
	{http.StatusInternalServerError, regexp.MustCompile(`does not support|n[o']t supported|requires? --|\bgrammar|json_schema|response_format`), Unsupported},
}

// advice says what happened and what to do; $ stands for the status.
func advice(class Class, c complaint) string {
	switch class {
	case Auth:
		return "the key was refused$: check OPENAI_API_KEY, and that it may use this model"
	case NotFound:
		if strings.Contains(strings.ToLower(c.Message+c.Code), "model") {
			return "no such model$: check its name; GET /v1/models lists what the server has"
		}
		return "no such path$: is the base URL right? it usually ends in /v1"
	case RateLimit:
		return "the rate limit is reached$: wait, or send less at once"
	case Quota:
		return "the quota or spend cap is used up$: check billing and limits"
	case Overloaded:
		return "the server is overloaded or still loading the model$: wait"
	case Unsupported:
		return "the model or server does not support this request$: another model, or no tools and no structured output"
	case TooLong:
		return "the prompt is too long for the model$: lower MaxPromptTokens of the draft or ContextTokens of the loop, or give the model more context"
	case Timeout:
		return "the server ran out of time$"
	case BadRequest:
		return "the server did not accept the request$"
	default:
		return "the server failed$"
	}
}
