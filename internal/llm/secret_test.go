package llm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/internal/llm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const myKey = `my-"own"/key+1`

// shown is all that an error may show: its text, those of its chain, and what
// errors.As finds of go-openai's.
func shown(err error) string {
	var all []string
	for e := err; e != nil; e = errors.Unwrap(e) {
		all = append(all, fmt.Sprintf("%v", e), fmt.Sprintf("%+v", e))
	}
	if api, ok := errors.AsType[*openai.APIError](err); ok {
		all = append(all, api.Message, api.Type, api.HTTPStatus, api.Error())
	}
	if req, ok := errors.AsType[*openai.RequestError](err); ok {
		all = append(all, string(req.Body), req.HTTPStatus, req.Error())
	}
	return strings.Join(all, "\n")
}

// quoted is JSON text in which each character is escaped.
func quoted(text string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `\u%04X`, r)
	}
	return b.String()
}

func TestAnErrorNeverShowsAKey(t *testing.T) {
	inJSON, _ := json.Marshal(myKey)
	plain := strings.Trim(string(inJSON), `"`)
	for name, c := range map[string]says{
		"as text":                 {401, "text/plain", "unknown token " + myKey},
		"in OpenAI's form":        {401, "application/json", `{"error":{"message":"bad ` + plain + `"}}`},
		"as it was sent":          {401, "application/json", `{"error":{"message":"bad Authorization: Bearer ` + plain + `"}}`},
		"escaped":                 {401, "application/json", `{"error":{"message":"bad ` + quoted(myKey) + `","type":"` + quoted(myKey) + `"}}`},
		"escaped, flat":           {401, "application/json", `{"object":"error","message":"bad ` + quoted(myKey) + `"}`},
		"as a success":            {200, "application/json", `{"error":{"message":"bad ` + plain + `"}}`},
		"as an event":             {200, "text/event-stream", sse(begins, says1, `{"error":{"message":"bad `+plain+`"}}`)},
		"as the first event":      {200, "text/event-stream", sse(`{"error":{"message":"bad ` + quoted(myKey) + `"}}`)},
		"as a flat event":         {200, "text/event-stream", sse(begins, `{"object":"error","message":"bad `+plain+`"}`)},
		"where the text is cut":   {401, "text/plain", strings.Repeat("x", 290) + myKey},
		"cut, as an event":        {200, "text/event-stream", sse(`{"error":{"message":"` + strings.Repeat("x", 290) + plain + `"}}`)},
		"with something in it":    {401, "text/plain", myKey[:4] + "\x00\x1b" + myKey[4:]},
		"another one of OpenAI's": {401, "text/plain", "Incorrect API key provided: sk-proj-abcdefgh12345. You can find yours at …"},
		"another one of Google's": {401, "text/plain", "API key not valid: AIzaSyA1234567890abcdef"},
		"another one in a header": {401, "text/plain", "bad header Authorization: Bearer abcdef.ghi"},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
				client := llm.NewClientWith(llm.Config{Key: myKey}, llm.Over(c, llm.HTTPConfig{}))
				_, err := collect(t.Context(), seen(client), ask("m", "what?"))
				require.Error(t, err)
				assert.NotRegexp(t, `my-"own|abcdef|1234|\\u00`, shown(err))
				if llm.Explain(err).Detail != "" && c.kind != "" && !strings.Contains(name, "cut") {
					assert.Contains(t, err.Error(), "[key]")
				}
			})
		})
	}
}

func TestTheClientAloneNeverShowsAKeyEither(t *testing.T) {
	for _, over := range []http.RoundTripper{
		says{401, "application/json", `{"error":{"message":"bad my-own-key \u001b"}}`},
		says{200, "application/json", `{"error":{"message":"bad my-own-key \u001b"}}`},
		breaks{errors.New("malformed HTTP response: my-own-key \x1b")},
	} {
		client := llm.NewClientWith(llm.Config{Key: "my-own-key"}, llm.Over(over, llm.HTTPConfig{}))
		_, err := client.CreateChatCompletion(t.Context(), ask("m", "what?"))
		assert.ErrorContains(t, err, "[key]")
		assert.NotContains(t, shown(err), "my-own-key")
		assert.NotContains(t, shown(err), "\x1b")
	}
}

// breaks is a connection that fails.
type breaks struct{ err error }

func (b breaks) RoundTrip(*http.Request) (*http.Response, error) { return nil, b.err }

func TestTheErrorOfAConnectionNeverShowsAKey(t *testing.T) {
	cause := fmt.Errorf("malformed HTTP response %q: %w", "my-own-key", io.ErrNoProgress)
	client := llm.NewClientWith(llm.Config{Key: "my-own-key"}, llm.Over(breaks{cause}, llm.HTTPConfig{}))
	_, err := collect(t.Context(), client, ask("m", "what?"))
	failed(t, llm.Network, err)
	assert.NotContains(t, shown(err), "my-own-key")
	assert.ErrorIs(t, err, io.ErrNoProgress, "it is still known what happened")

	phrase := roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := says{status: 401, body: "{}"}.RoundTrip(req)
		resp.Status = "401 bad my-own-key"
		return resp, err
	})
	_, err = collect(t.Context(), llm.NewClientWith(llm.Config{Key: "my-own-key"}, llm.Over(phrase, llm.HTTPConfig{})), ask("m", "what?"))
	failed(t, llm.Auth, err)
	assert.NotContains(t, shown(err), "my-own-key")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestWhatStandsForNoKeyIsNotTakenForOne(t *testing.T) {
	for _, key := range []string{"", "k", "EMPTY", "no-key"} {
		text := `the key EMPTY or no-key is bad: k, "k"`
		client := llm.NewClientWith(llm.Config{Key: key}, llm.Over(says{401, "text/plain", text}, llm.HTTPConfig{}))
		_, err := collect(t.Context(), client, ask("m", "what?"))
		assert.ErrorContains(t, err, text)
	}
}

func TestAnErrorSaysNothingToATerminal(t *testing.T) {
	for _, c := range []says{
		{400, "application/json", `{"error":{"message":"bad \u001b[2J\u001b]0;owned\u0007 \u009b2J \u202e\r\nend"}}`},
		{400, "application/json", `{"object":"error","message":"bad \u001b[2J\u001b]0;owned\u0007 \u009b2J \u202e\r\nend"}`},
		{400, "text/plain", "bad \x1b[2J\x1b]0;owned\a \u009b2J \u202e\r\nend"},
		{200, "text/event-stream", sse(`{"error":{"message":"bad \u001b[2J\u001b]0;owned\u0007 \u009b2J \u202e\r\nend"}}`)},
	} {
		_, err := collect(t.Context(), canned(c.status, c.kind, c.body), ask("m", "what?"))
		assert.ErrorContains(t, err, "bad [2J]0;owned 2J end")
		assert.False(t, strings.ContainsAny(shown(err), "\x1b\a\r\u009b\u202e"), "%q", shown(err))
	}
}

func TestAnErrorNeverShowsThePasswordOfABaseURL(t *testing.T) {
	for _, url := range []string{
		"http://user:hunter2pw@127.0.0.1:1/v1", "http://user:hunter2pw@127.0.0.1:x/v1", "http://user:hunter2pw/@127.0.0.1:1/v1",
		"http://user:hunter2pw#@127.0.0.1/v1", "http://user:hunter2pw%zz@127.0.0.1/v1", "http://us er:hunter2pw@127.0.0.1/v1",
		"http://127.0.0.1:1/v1?key=hunter2pw", "http://user:hunter2pw@127.0.0.1\x7f/v1",
	} {
		doer := llm.NewHTTPClient(llm.HTTPConfig{})
		_, err := collect(t.Context(), llm.NewClientWith(llm.Config{BaseURL: url}, doer), ask("m", "what?"))
		failed(t, llm.Network, err, url)
		assert.NotContains(t, shown(err), "hunter2", url)
		doer.CloseIdleConnections()
	}
	echo := roundTripper(func(req *http.Request) (*http.Response, error) {
		return says{401, "text/plain", "bad Authorization: " + req.Header.Get("Authorization") + " of hunter2pw"}.RoundTrip(req)
	})
	client := llm.NewClientWith(llm.Config{BaseURL: "http://user:hunter2pw@127.0.0.1/v1"}, llm.Over(echo, llm.HTTPConfig{}))
	_, err := collect(t.Context(), client, ask("m", "what?"))
	failed(t, llm.Auth, err)
	assert.ErrorContains(t, err, "bad Authorization: Basic [key] of [key]")
}
