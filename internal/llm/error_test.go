package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/internal/llm"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatServersSayHasAClass(t *testing.T) {
	openAI := func(code, message string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":"x","param":null,"code":%q}}`, message, code)
	}
	for name, c := range map[string]struct {
		status int
		body   string
		want   llm.Class
	}{
		"OpenAI, no key":          {401, openAI("", "You didn't provide an API key."), llm.Auth},
		"OpenAI, quota":           {429, openAI("insufficient_quota", "You exceeded your current quota"), llm.Quota},
		"OpenAI, rate":            {429, openAI("rate_limit_exceeded", "Rate limit reached for requests"), llm.RateLimit},
		"OpenAI, rate and advice": {429, openAI("rate_limit_exceeded", "Rate limit reached. Visit /account/billing to add a payment method."), llm.RateLimit},
		"Gemini, each minute":     {429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check billing. Please retry in 37.2s."}}]`, llm.RateLimit},
		"OpenAI, length":          {400, openAI("context_length_exceeded", "This model's maximum context length is 8192 tokens."), llm.TooLong},
		"OpenAI, parameter":       {400, openAI("unsupported_parameter", "Unsupported parameter: 'temperature'"), llm.Unsupported},
		"OpenAI, streaming":       {400, openAI("unsupported_value", "Your organization must be verified to stream this model."), llm.Unsupported},
		"OpenAI, other":           {400, openAI("", "Invalid value: 'x'."), llm.BadRequest},
		"OpenAI, model":           {404, openAI("model_not_found", "The model `x` does not exist"), llm.NotFound},
		"OpenAI, busy":            {503, openAI("", "The engine is currently overloaded"), llm.Overloaded},
		"Anthropic, busy":         {529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Overloaded},
		"Anthropic, credit":       {400, `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, llm.Quota},
		"Gemini, key":             {400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, llm.Auth},
		"vLLM, model":             {404, `{"object":"error","message":"The model 'x' does not exist.","type":"NotFoundError","param":null,"code":404}`, llm.NotFound},
		"vLLM, tools":             {400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","code":400}`, llm.Unsupported},
		"vLLM, length":            {400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000","code":400}`, llm.TooLong},
		"llama.cpp, loading":      {503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, llm.Overloaded},
		"llama.cpp, length":       {400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, llm.TooLong},
		"llama.cpp, tools":        {500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, llm.Unsupported},
		"llama.cpp, long prompt":  {400, `{"error":{"code":400,"message":"request (6031 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":6031,"n_ctx":4096}}`, llm.TooLong},
		"llama.cpp, schema":       {400, `{"error":{"code":400,"message":"Unable to generate parser for this template. Automatic parser generation failed: JSON schema error at #/properties/a: nowhere not found","type":"invalid_request_error"}}`, llm.BadRequest},
		"llama.cpp, format":       {400, `{"error":{"code":400,"message":"response_format type must be one of \"text\" or \"json_object\", but got: nonsense","type":"invalid_request_error"}}`, llm.Unsupported},
		"a grammar that fails":    {500, `{"error":{"code":500,"message":"failed to parse grammar","type":"server_error"}}`, llm.Unsupported},
		"a schema that fails":     {500, `{"error":{"message":"Error compiling json_schema"}}`, llm.Unsupported},
		"llama-cpp-python, path":  {404, `{"detail":"Not Found"}`, llm.NotFound},
		"llama-cpp-python, input": {422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, llm.BadRequest},
		"Ollama, tools":           {400, `{"error":{"message":"registry.ollama.ai/library/gemma does not support tools","type":"api_error"}}`, llm.Unsupported},
		"Ollama, text":            {404, `{"error":"model \"x\" not found, try pulling it first"}`, llm.NotFound},
		"LiteLLM, budget":         {400, `{"error":{"message":"Budget has been exceeded! Current cost: 1","type":"budget_exceeded","code":"400"}}`, llm.Quota},
		"OpenRouter, credit":      {402, `{"error":{"message":"Insufficient credits","code":402}}`, llm.Quota},
		"a proxy":                 {413, "too large", llm.TooLong},
		"another path":            {405, "", llm.NotFound},
		"moved":                   {301, "", llm.NotFound},
		"forbidden":               {403, "", llm.Auth},
		"slow":                    {408, "", llm.Timeout},
		"not there yet":           {501, "", llm.Unsupported},
		"broken":                  {500, "", llm.Server},
		"gateway":                 {504, llmsim.HTML, llm.Server},
		"odd":                     {599, "\x00\xff", llm.Server},
		"teapot":                  {418, "null", llm.BadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
				_, err := collect(t.Context(), seen(canned(c.status, "application/json", c.body)), ask("m", "what?"))
				e := failed(t, c.want, err)
				assert.Equal(t, c.status, e.Status)
				assert.NotContains(t, e.Error(), "$")
			})
		})
	}
}

func TestErrorsOfOtherClientsHaveAClassToo(t *testing.T) {
	for want, err := range map[llm.Class]error{
		llm.Canceled:    fmt.Errorf("sending: %w", context.Canceled),
		llm.Timeout:     fmt.Errorf("sending: %w", context.DeadlineExceeded),
		llm.RateLimit:   fmt.Errorf("sending: %w", &openai.APIError{HTTPStatusCode: 429, Message: "slow down"}),
		llm.Overloaded:  &openai.RequestError{HTTPStatusCode: 503},
		llm.Truncated:   fmt.Errorf("reading: %w", io.ErrUnexpectedEOF),
		llm.Unsupported: openai.ErrReasoningModelLimitationsOther,
		llm.BadRequest:  openai.ErrContentFieldsMisused,
		llm.Network:     fmt.Errorf("dialing: %w", &net.OpError{Op: "dial", Err: errors.New("no route to host")}),
		llm.Other:       errors.New("something"),
		llm.Quota:       &llm.Error{Class: llm.Quota},
		"":              nil,
	} {
		assert.Equal(t, want, llm.Classify(err), "%v", err)
	}
	assert.Equal(t, llm.Timeout, llm.Classify(&net.DNSError{IsTimeout: true}))
	assert.Equal(t, llm.Network, llm.Classify(&net.DNSError{IsNotFound: true}))
	assert.Nil(t, llm.Explain(nil))
}

func TestAnErrorQuotesTheServerBriefly(t *testing.T) {
	_, err := collect(t.Context(), canned(400, "text/plain", "ä\n"+string(make([]byte, 1<<20))), ask("m", "what?"))
	assert.Less(t, len(err.Error()), 1000)
}

func TestWhoeverEndsARequestGetsTheReasonBack(t *testing.T) {
	both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
		piped(t, llmsim.Options{Answer: func(llmsim.Request) llmsim.Answer { return llmsim.Answer{Fault: llmsim.Fault{Hang: true}} }},
			func(t *testing.T, _ *llmsim.Server, at *llmsim.Endpoint) {
				why := errors.New("the target has acted")
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(why) })
				_, err := collect(ctx, seen(at.Client()), ask("m", "what?"))
				failed(t, llm.Canceled, err)
				require.ErrorIs(t, err, why)
				require.ErrorIs(t, err, context.Canceled)

				ctx, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				_, err = collect(ctx, seen(at.Client()), ask("m", "what?"))
				failed(t, llm.Timeout, err)
				require.ErrorIs(t, err, context.DeadlineExceeded)
			})
	})
}

func TestAnOddErrorInTheMiddleOfAnAnswerCutsIt(t *testing.T) {
	for begun, seen := range map[string]func(*openai.Client) llm.Completer{
		sse(says1):                func(c *openai.Client) llm.Completer { return c },
		`{"choices":[{"message":`: func(c *openai.Client) llm.Completer { return whole{c} },
	} {
		broken := roundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := says{status: 200}.RoundTrip(req)
			resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(begun), iotest.ErrReader(errOdd)))
			return resp, err
		})
		_, err := collect(t.Context(), seen(llm.NewClientWith(llm.Config{}, llm.Over(broken, llm.HTTPConfig{}))), ask("m", "what?"))
		failed(t, llm.Truncated, err)
		assert.ErrorIs(t, err, errOdd)
	}
}

// A context of one's own may end with an error of one's own.
func TestAnOddEndOfAContextIsACancellation(t *testing.T) {
	both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
		piped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
			sim.Push(llmsim.Answer{Fault: llmsim.Fault{Hang: true}})
			ctx := odd{t.Context(), make(chan struct{})}
			time.AfterFunc(time.Second, func() { close(ctx.done) })
			_, err := collect(ctx, seen(at.Client()), ask("m", "what?"))
			failed(t, llm.Canceled, err)
			assert.ErrorIs(t, err, errOdd)
		})
	})
}

var errOdd = errors.New("it's odd")

type odd struct {
	context.Context
	done chan struct{}
}

func (o odd) Done() <-chan struct{} { return o.done }

func (o odd) Err() error {
	select {
	case <-o.done:
		return errOdd
	default:
		return nil
	}
}

func TestAnErrorSaysHowLongTheServerAsksToWait(t *testing.T) {
	for wait, says := range map[time.Duration]string{
		0: "", time.Millisecond: "; the server asks to wait 1 s", 7 * time.Second: "; the server asks to wait 7 s", time.Hour: "; the server asks to wait 3600 s",
	} {
		err := &llm.Error{Class: llm.RateLimit, Advice: "too much", Detail: "slow down", RetryAfter: wait}
		assert.Equal(t, "llm: too much"+says+"; the server says: slow down", err.Error())
	}
}

func TestAnErrorOfSomebodyElsesStaysTheSame(t *testing.T) {
	theirs := &llm.Error{Class: llm.Quota, Advice: "the month's budget is used up"}
	client := completer(func(openai.ChatCompletionRequest) (resp openai.ChatCompletionResponse, err error) {
		return resp, theirs
	})
	_, err := collect(t.Context(), client, ask("m", "what?"))
	assert.Same(t, theirs, err)
}

func TestARedirectIsNotFollowedWithTheKey(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		to := &redirects{status: status}
		c := llm.NewClientWith(llm.Config{}, llm.Over(to, llm.HTTPConfig{}))
		_, err := collect(t.Context(), c, ask("m", "what?"))
		failed(t, llm.NotFound, err)
		assert.Equal(t, 1, to.requests)
	}
}

type redirects struct{ status, requests int }

func (r *redirects) RoundTrip(req *http.Request) (*http.Response, error) {
	r.requests++
	resp, err := says{status: r.status}.RoundTrip(req)
	resp.Header.Set("Location", "https://elsewhere.example/v1")
	return resp, err
}
