package llm

import (
	"context"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// A Completer answers chat requests; *openai.Client is one.
type Completer interface {
	CreateChatCompletion(context.Context, openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error)
}

// A Streamer is a Completer that also streams; *openai.Client is one.
type Streamer interface {
	CreateChatCompletionStream(context.Context, openai.ChatCompletionRequest) (*openai.ChatCompletionStream, error)
}

// Config says where a model is served. The zero Config is OpenAI without a key.
type Config struct {
	Key     string     // "": none is sent
	BaseURL string     // up to and including /v1; "": OpenAI's
	Org     string     // OpenAI-Organization; "": none is sent
	HTTP    HTTPConfig // how connections are made
}

// emptyMessagesLimit is how many lines without data go-openai accepts between
// two events. Servers that let clients wait send them as a sign of life, so the
// context and not their number ends the wait.
const emptyMessagesLimit = 1 << 20

// NewClient returns a go-openai client with connections of its own; see
// NewHTTPClient.
func NewClient(cfg Config) *openai.Client {
	return NewClientWith(cfg, NewHTTPClient(cfg.HTTP))
}

// NewClientWith is NewClient with connections that clients share. It does not
// look at cfg.HTTP.
func NewClientWith(cfg Config, doer openai.HTTPDoer) *openai.Client {
	c := openai.DefaultConfig(cfg.Key)
	if cfg.BaseURL != "" {
		c.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	}
	c.OrgID = cfg.Org
	c.HTTPClient = doer
	c.EmptyMessagesLimit = emptyMessagesLimit
	return openai.NewClientWithConfig(c)
}
