package target_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/internal/llm"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/speccache/speccache-go/speccache"
	"github.com/speccache/speccache-go/target"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fetch is how long each page takes.
const fetch = 100 * time.Millisecond

// A site is a web of pages, by path. It counts requests.
type site struct {
	mu    sync.Mutex // guards what follows
	pages map[string]string
	asked []string
}

const (
	root     = "https://museum.example/"
	question = "What does the ticket cost on Sundays?"
)

func museum() *site {
	return &site{pages: map[string]string{
		"/":        `<title>Museum</title><p><a href="/about">About</a> <a href="/visit">Plan your visit</a> <a href="/ticket">Ticket prices</a></p>`,
		"/about":   `<title>About</title><p>Old. <a href="/">Museum</a> <a href="/team">Details</a></p>`,
		"/team":    `<title>Team</title><p>Ann and Bob.</p>`,
		"/visit":   `<title>Visit</title><p>Open at ten. <a href="/way">Details</a></p>`,
		"/way":     `<title>Way</title><p>By tram.</p>`,
		"/ticket":  `<title>Tickets</title><p>See <a href="/sundays">Sundays</a></p>`,
		"/sundays": `<title>Sundays</title><p>ANSWER: 5 euros</p>`,
	}}
}

func (s *site) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, req.URL.Path)
	s.mu.Unlock()
	select {
	case <-time.After(fetch):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	resp := &http.Response{StatusCode: 200, ContentLength: -1, Header: http.Header{"Content-Type": {"text/html"}}, Request: req}
	s.mu.Lock()
	html, ok := s.pages[req.URL.Path]
	s.mu.Unlock()
	if !ok {
		resp.StatusCode = 404
	}
	resp.Body = io.NopCloser(strings.NewReader(html))
	return resp, nil
}

func (s *site) set(path, html string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = html
}

// requested returns the paths that were asked for, in order.
func (s *site) requested() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// parameter is the schema of a tool with one string.
func parameter(name string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%[1]q]}`, name))
}

var tools = []target.Tool{
	{Name: "visit", Description: "Visit a URL.", Schema: parameter("url")},
	{Name: "click", Description: "Click a link.", Schema: parameter("label")},
}

func show(p *web.Page) string { return p.Title() + "\n" + p.Markdown() }

// A kit is an agent with everything around it.
type kit struct {
	sim     *llmsim.Server
	at      *llmsim.Endpoint
	site    *site
	cache   *speccache.Cache[*web.Page]
	session *speccache.Session[*web.Page]
	home    *web.Page
	chat    target.ChatConfig
	loop    target.Loop[*web.Page]
}

// ready makes the loop's chat of what the test left in k.
func (k *kit) ready() *target.Loop[*web.Page] {
	k.loop.Chat = target.NewChat(k.at.Client(), k.chat)
	return &k.loop
}

// executor is one in front of the kit's session.
func (k *kit) executor() target.Executor[*web.Page] {
	return target.Executor[*web.Page]{Session: k.session, Tools: tools}
}

// open opens another session that has the home page in view.
func (k *kit) open(t *testing.T, scope string) *speccache.Session[*web.Page] {
	t.Helper()
	s := k.cache.Open(speccache.SessionConfig[*web.Page]{Scope: scope, Goal: question})
	t.Cleanup(func() { _ = s.Close() })
	s.Observe(t.Context(), k.home)
	return s
}

// agent runs a test in virtual time, with a model that reads and clicks unless
// opts say otherwise.
func agent(t *testing.T, opts llmsim.Options, test func(t *testing.T, k *kit)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim := llmsim.New(opts)
		at := sim.Pipe()
		defer at.Close()
		staged(t, sim, at, test)
	})
}

// looped runs a test on loopback.
func looped(t *testing.T, opts llmsim.Options, test func(t *testing.T, k *kit)) {
	t.Helper()
	sim := llmsim.New(opts)
	at, err := sim.Listen()
	require.NoError(t, err)
	defer at.Close()
	staged(t, sim, at, test)
}

func staged(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint, test func(t *testing.T, k *kit)) {
	t.Helper()
	k := &kit{sim: sim, at: at, site: museum(), chat: target.ChatConfig{Tools: tools}}
	env := web.New(web.Config{Transport: k.site, IgnoreRobots: true}).Environment()
	var err error
	k.cache, err = speccache.New(env, speccache.Config[*web.Page]{
		Predictor: draft.Lexical(env.View),
		Hosts:     &speccache.Hosts{IgnoreLoad: true}, // guesses start at one moment, then
	})
	require.NoError(t, err)
	defer func() { _ = k.cache.Close() }()
	k.home, err = web.Parse(root, k.site.pages["/"])
	require.NoError(t, err)
	k.session = k.open(t, "")
	k.loop = target.Loop[*web.Page]{Session: k.session, Show: show}
	test(t, k)
}

var (
	answerInPage = regexp.MustCompile(`ANSWER: (.*)`)
	linkInPage   = regexp.MustCompile(`\[([^\]]+)\]\(`)
)

// walker is a model that reads the page in view: it answers if the answer is
// there, and else clicks the first link that has a word of the question.
func walker(req llmsim.Request) llmsim.Answer {
	if found := answerInPage.FindStringSubmatch(req.Last()); found != nil {
		return llmsim.Answer{Text: "It is " + found[1]}
	}
	asked := strings.ToLower(req.Messages[1].Content[:len("Question: "+question)])
	for _, link := range linkInPage.FindAllStringSubmatch(req.Last(), -1) {
		for word := range strings.FieldsSeq(strings.ToLower(link[1])) {
			if strings.Contains(asked, word) {
				return llmsim.Answer{Text: "Let me see.", Calls: []llmsim.Call{click(link[1])}}
			}
		}
	}
	return llmsim.Answer{Text: "I don't know."}
}

func click(label string) llmsim.Call {
	args, _ := json.Marshal(map[string]string{"label": label})
	return llmsim.Call{Name: "click", Args: string(args)}
}

func remember(note string) llmsim.Call {
	args, _ := json.Marshal(map[string]string{"note": note})
	return llmsim.Call{Name: "remember", Args: string(args)}
}

// thinks is a walker that takes its time, so that guesses are ahead of it.
var thinks = llmsim.Options{Answer: walker, Latency: llmsim.Latency{Base: time.Second, PerOutput: 10 * time.Millisecond}}

// failed asserts that an error wraps an *Error of a class, in this package's
// words.
func failed(t testing.TB, want llm.Class, err error, what ...any) {
	t.Helper()
	var e *target.Error
	if assert.ErrorAs(t, err, &e, what...) {
		assert.Equal(t, want, e.Class, "%v: %v", what, err)
		assert.True(t, strings.HasPrefix(err.Error(), "target: "), err.Error())
		assert.NotContains(t, err.Error(), "llm: ")
	}
}

// observations are what a request shows of tools, in order.
func observations(req llmsim.Request) (all []string) {
	for _, m := range req.Messages {
		if m.Role == "tool" {
			all = append(all, m.Content)
		}
	}
	return all
}

func last(sim *llmsim.Server) llmsim.Request {
	all := sim.Requests()
	return all[len(all)-1]
}

// plays is a client of one's own: the n-th reply, from 1. Each names its model.
func plays(reply func(n int, req openai.ChatCompletionRequest) (openai.ChatCompletionMessage, error)) target.Completer {
	return &player{reply: reply}
}

type player struct {
	n     int
	reply func(int, openai.ChatCompletionRequest) (openai.ChatCompletionMessage, error)
	model func(n int) string // nil: "m"
	usage openai.Usage
}

func (p *player) CreateChatCompletion(_ context.Context, req openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error) {
	p.n++
	resp := openai.ChatCompletionResponse{Model: "m", Usage: p.usage}
	if p.model != nil {
		resp.Model = p.model(p.n)
	}
	said, err := p.reply(p.n, req)
	resp.Choices = []openai.ChatCompletionChoice{{Message: said}}
	return resp, err
}

// does is a message that calls a tool.
func does(id, name, args string) openai.ChatCompletionMessage {
	call := openai.ToolCall{ID: id, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: name, Arguments: args}}
	return openai.ChatCompletionMessage{ToolCalls: []openai.ToolCall{call}}
}

func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}
