package llm_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/internal/llm"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask returns a request that asks one thing.
func ask(model, what string) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{
		Model:    model,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: what}},
	}
}

var tools = []openai.Tool{{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
	Name: "visit", Parameters: map[string]any{"type": "object"},
}}}

// whole hides that a client streams.
type whole struct{ llm.Completer }

func collect(ctx context.Context, c llm.Completer, req openai.ChatCompletionRequest) (llm.Answer, error) {
	return llm.Collect(llm.Stream(ctx, c, req))
}

// piped runs a test with a server in virtual time.
func piped(t *testing.T, opts llmsim.Options, run func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim := llmsim.New(opts)
		at := sim.Pipe()
		defer at.Close()
		run(t, sim, at)
	})
}

// looped runs a test with a server on loopback.
func looped(t *testing.T, opts llmsim.Options, run func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint)) {
	t.Helper()
	sim := llmsim.New(opts)
	at, err := sim.Listen()
	require.NoError(t, err)
	defer at.Close()
	run(t, sim, at)
}

// both runs a test with a client that streams, and with one that doesn't.
func both(t *testing.T, run func(t *testing.T, seen func(*openai.Client) llm.Completer)) {
	t.Helper()
	t.Run("streamed", func(t *testing.T) { run(t, func(c *openai.Client) llm.Completer { return c }) })
	t.Run("whole", func(t *testing.T) { run(t, func(c *openai.Client) llm.Completer { return whole{c} }) })
}

// plain returns a client of an endpoint as go-openai makes it.
func plain(t *testing.T, at *llmsim.Endpoint) *openai.Client {
	t.Helper()
	cfg := openai.DefaultConfig("")
	cfg.BaseURL = at.URL
	transport := at.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	cfg.HTTPClient = &http.Client{Transport: transport}
	return openai.NewClientWithConfig(cfg)
}

// canned is a client of a server that always says the same.
func canned(status int, kind, body string) *openai.Client {
	return llm.NewClientWith(llm.Config{}, llm.Over(says{status, kind, body}, llm.HTTPConfig{}))
}

type says struct {
	status     int
	kind, body string
}

func (s says) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: s.status, Status: http.StatusText(s.status), Request: req,
		Header: http.Header{"Content-Type": {s.kind}},
		Body:   io.NopCloser(strings.NewReader(s.body)),
	}, nil
}

// failed asserts that an error is an *Error of a class.
func failed(t testing.TB, want llm.Class, err error, what ...any) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !assert.ErrorAs(t, err, &e, what...) {
		return &llm.Error{}
	}
	assert.Equal(t, want, e.Class, "%v: %v", what, err)
	assert.True(t, strings.HasPrefix(err.Error(), "llm: "), err.Error())
	return e
}
