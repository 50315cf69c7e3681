package target_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/internal/llm"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/speccache/speccache-go/target"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var hello = []target.Message{{Text: "hello"}}

// ask returns the whole reply.
func ask(ctx context.Context, c *target.Chat, messages ...target.Message) (*target.Reply, error) {
	var reply *target.Reply
	for d, err := range c.Stream(ctx, messages) {
		if err != nil {
			return nil, err
		}
		reply = d.Reply
	}
	return reply, nil
}

// whole hides that a client streams: it is what a fake or another client is.
type whole struct{ target.Completer }

func TestTheDefaultTargetIsAskedAsReasoningModelsWantIt(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		k.chat.MaxOutputTokens, k.chat.Temperature, k.chat.ReasoningEffort = 500, new(0.5), "none"
		chat := target.NewChat(k.at.Client(), k.chat)
		_, err := ask(t.Context(), chat, hello...)
		require.NoError(t, err)
		sent := last(k.sim)
		assert.Equal(t, "gpt-5-mini", sent.Model)
		assert.Equal(t, "500", sent.Field("max_completion_tokens"))
		assert.Equal(t, `"minimal"`, sent.Field("reasoning_effort"), "the nearest that it has")
		assert.Empty(t, sent.Field("max_tokens"))
		assert.Empty(t, sent.Field("temperature"))
		assert.Equal(t, target.DefaultSystem, sent.Messages[0].Content)
		assert.Equal(t, "true", sent.Field("stream"))
		require.Len(t, sent.Tools, 2)
		assert.Contains(t, sent.Field("tools"), `"parameters":{"type":"object","properties":{"url"`)
	})
}

func TestOtherModelsAreAskedForWhatTheCallerWants(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		cfg := target.ChatConfig{
			Model: "smollm2", System: "Be brief.", MaxOutputTokens: 500, Temperature: new(0.0), OneCall: true,
			Tools: []target.Tool{{Name: "list"}},
		}
		_, err := ask(t.Context(), target.NewChat(k.at.Client(), cfg), hello...)
		require.NoError(t, err)
		sent := last(k.sim)
		assert.Equal(t, "500", sent.Field("max_tokens"))
		assert.Equal(t, "0", sent.Field("temperature"), "a plain zero would be left out")
		assert.Equal(t, "false", sent.Field("parallel_tool_calls"))
		assert.Equal(t, "Be brief.", sent.Messages[0].Content)
		assert.Contains(t, sent.Field("tools"), `"parameters":{"type":"object","properties":{}}`)
	})
}

func TestAReplyComesInPiecesAndThenAsAWhole(t *testing.T) {
	opts := llmsim.Options{Latency: llmsim.Latency{Base: time.Second, PerOutput: time.Second}}
	agent(t, opts, func(t *testing.T, k *kit) {
		for _, client := range []target.Completer{k.at.Client(), whole{k.at.Client()}} {
			k.sim.Push(llmsim.Answer{Text: "four tokens here", Calls: []llmsim.Call{{ID: "x", Name: "click", Args: `{}`}}, Fingerprint: "fp"})
			var text strings.Builder
			var reply *target.Reply
			began, first := time.Now(), time.Duration(0)
			for d, err := range target.NewChat(client, k.chat).Stream(t.Context(), hello) {
				require.NoError(t, err)
				assert.Nil(t, reply, "it is the last thing")
				if d.Text != "" && first == 0 {
					first = time.Since(began)
				}
				text.WriteString(d.Text)
				reply = d.Reply
			}
			require.NotNil(t, reply)
			assert.Equal(t, "four tokens here", text.String())
			assert.Equal(t, text.String(), reply.Text)
			assert.Equal(t, []target.Call{{ID: "x", Name: "click", Args: "{}"}}, reply.Calls)
			assert.Equal(t, "tool_calls", reply.Finish)
			assert.Equal(t, "gpt-5-mini", reply.Model)
			assert.Equal(t, "fp", reply.Fingerprint)
			assert.Equal(t, "gpt-5-mini/gpt-5-mini", reply.Version)
			assert.Equal(t, 1, reply.Usage.Calls)
			if _, streams := client.(llm.Streamer); streams {
				assert.Equal(t, 2*time.Second, first)
			}
		}
	})
}

func TestLeavingAReplyCancelsItsRequest(t *testing.T) {
	opts := llmsim.Options{Latency: llmsim.Latency{PerOutput: time.Second}}
	agent(t, opts, func(t *testing.T, k *kit) {
		k.sim.Push(llmsim.Answer{Text: strings.Repeat("word", 100)})
		for d, err := range target.NewChat(k.at.Client(), k.chat).Stream(t.Context(), hello) {
			require.NoError(t, err)
			require.NotEmpty(t, d.Text)
			break
		}
		synctest.Wait()
		assert.Equal(t, 1, k.sim.Stats().Abandoned)
	})
}

// faults are all that a server can do wrong, and what becomes of it; "" is a
// whole reply all the same.
var faults = map[string]struct {
	fault llmsim.Fault
	want  llm.Class
}{
	"400":                   {llmsim.Fault{Status: 400}, llm.BadRequest},
	"401":                   {llmsim.Fault{Status: 401}, llm.Auth},
	"404":                   {llmsim.Fault{Status: 404}, llm.NotFound},
	"429":                   {llmsim.Fault{Status: 429, RetryAfter: "7"}, llm.RateLimit},
	"500":                   {llmsim.Fault{Status: 500}, llm.Server},
	"502, HTML":             {llmsim.HTMLError(502).Fault, llm.Server},
	"503, flat":             {llmsim.FlatError(503).Fault, llm.Overloaded},
	"504":                   {llmsim.Fault{Status: 504}, llm.Server},
	"529":                   {llmsim.Fault{Status: 529}, llm.Overloaded},
	"200 with an error":     {llmsim.Fault{Body: llmsim.ErrorBody}, llm.Server},
	"200, flat":             {llmsim.Fault{Body: llmsim.Flat}, llm.Server},
	"HTML with 200":         {llmsim.Fault{Body: llmsim.HTML, Type: "text/html"}, llm.Truncated},
	"no choices":            {llmsim.Fault{NoChoices: true}, llm.Truncated},
	"no finish":             {llmsim.Fault{NoFinish: true}, llm.Truncated},
	"hang":                  {llmsim.Fault{Hang: true}, llm.Timeout},
	"stall":                 {llmsim.Fault{StallAt: 2, Stall: time.Hour}, llm.Timeout},
	"cut":                   {llmsim.Fault{CutAt: 2}, llm.Truncated},
	"error in the stream":   {llmsim.Fault{CutAt: 2, Error: llmsim.ErrorEvent}, llm.Server},
	"no index":              {llmsim.Fault{NoIndex: true}, ""},
	"one index":             {llmsim.Fault{OneIndex: true}, ""},
	"one index, one chunk":  {llmsim.Fault{OneIndex: true, Chunked: true}, ""},
	"no ID":                 {llmsim.Fault{NoID: true}, ""},
	"no ID, no index":       {llmsim.Fault{NoID: true, NoIndex: true}, ""},
	"prefilled":             {llmsim.Fault{Prefilled: true}, ""},
	"empty deltas":          {llmsim.Fault{Empty: 5}, ""},
	"keep-alive":            {llmsim.Fault{Comments: 400}, ""},
	"late end":              {llmsim.Fault{LateEnd: time.Minute}, ""},
	"a late end, but short": {llmsim.Fault{LateEnd: time.Millisecond}, ""},
}

func TestEveryFaultIsAWholeReplyOrATypedError(t *testing.T) {
	for name, c := range faults {
		t.Run(name, func(t *testing.T) {
			agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
				result, err := k.suffer(t, k.at.Client(), c.fault)
				if c.want != "" {
					failed(t, c.want, err)
					assert.Empty(t, result.Steps, "nothing is done of half a reply")
					assert.Equal(t, name == "429", llm.RetryAfter(err) == 7*time.Second)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, "done", result.Answer)
				assert.Len(t, result.Steps, 2)
			})
			agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
				result, err := k.suffer(t, whole{k.at.Client()}, c.fault)
				if err != nil {
					failed(t, llm.Classify(err), err)
					assert.Empty(t, result.Steps)
					return
				}
				assert.Equal(t, "done", result.Answer)
				assert.Len(t, result.Steps, 2)
			})
		})
	}
}

// suffer answers a question through a reply with a fault.
func (k *kit) suffer(t *testing.T, client target.Completer, fault llmsim.Fault) (target.Result[*web.Page], error) {
	calls := []llmsim.Call{click("About"), click("Ticket prices")}
	k.sim.Push(llmsim.Answer{Calls: calls, Fault: fault}, llmsim.Answer{Text: "done"})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	k.loop.Chat = target.NewChat(client, k.chat)
	return k.loop.Answer(ctx, question, k.home)
}

func TestWhatIsWrongWithTheModelIsSaid(t *testing.T) {
	models := map[string]llmsim.Model{"m": {}, "bare": {NoTools: true}}
	looped(t, llmsim.Options{Key: "secret", Models: models}, func(t *testing.T, k *kit) {
		url := k.at.URL
		for name, c := range map[string]struct {
			key, url, model string
			want            llm.Class
			says            string
		}{
			"bad key":      {"wrong-key", url, "m", llm.Auth, "OPENAI_API_KEY"},
			"wrong path":   {"secret", strings.TrimSuffix(url, "/v1"), "m", llm.NotFound, "ends in /v1"},
			"wrong port":   {"secret", "http://127.0.0.1:1/v1", "m", llm.Network, "is the server up"},
			"wrong scheme": {"secret", "localhost/v1", "m", llm.Network, "base URL"},
			"no model":     {"secret", url, "n", llm.NotFound, "no such model"},
			"no tools":     {"secret", url, "bare", llm.Unsupported, "choose a model and a server that have them"},
			"other API":    {"secret", url, "gpt-6-astra", llm.Unsupported, "tool calls"},
		} {
			client := target.NewClient(c.key, c.url)
			k.chat.Model = c.model
			k.loop.Chat = target.NewChat(client, k.chat)
			_, err := k.loop.Answer(t.Context(), question, k.home)
			failed(t, c.want, err, name)
			assert.ErrorContains(t, err, c.says, name)
			assert.ErrorContains(t, err, "model "+c.model, name)
			assert.NotContains(t, err.Error(), "wrong-key", name)
			assert.NotContains(t, err.Error(), "secret", name)
		}
	})
}

func TestMistakesOfTheProgramPanicAtOnce(t *testing.T) {
	assert.PanicsWithValue(t, "target: NewChat needs a client", func() { target.NewChat(nil, target.ChatConfig{}) })
	client := openai.NewClient("")
	for says, tools := range map[string][]target.Tool{
		`target: the tool "" needs a name of up to 64 letters, digits, _ and -`:          {{}},
		`target: the tool "read page" needs a name of up to 64 letters, digits, _ and -`: {{Name: "read page"}},
		`target: two tools are named "x"`:                                                {{Name: "x"}, {Name: "y"}, {Name: "x"}},
		`target: the tool "a" needs a schema that is a JSON object`:                      {{Name: "a", Schema: []byte(`[]`)}},
		`target: the tool "b" needs a schema that is a JSON object`:                      {{Name: "b", Schema: []byte(`{`)}},
		`target: the tool "c" needs a schema that is a JSON object`:                      {{Name: "c", Schema: []byte(`null`)}},
	} {
		assert.PanicsWithValue(t, says, func() { target.NewChat(client, target.ChatConfig{Tools: tools}) })
	}
	long := strings.Repeat("x", 65)
	assert.Panics(t, func() { target.NewChat(client, target.ChatConfig{Tools: []target.Tool{{Name: long}}}) })
	assert.NotPanics(t, func() {
		target.NewChat(client, target.ChatConfig{Tools: []target.Tool{{Name: long[1:]}, {Name: "get-Page_2"}}})
	})
	_, err := (&target.Loop[string]{}).Answer(t.Context(), "what?")
	assert.ErrorContains(t, err, "target: a Loop needs")
}

func TestAClientOfOnesOwnIsEnough(t *testing.T) {
	reply, err := ask(t.Context(), target.NewChat(fake{}, target.ChatConfig{Model: "m"}), hello...)
	require.NoError(t, err)
	assert.Equal(t, "hello yourself", reply.Text)
	assert.Equal(t, "m/", reply.Version, "it does not say which model it is")
}

func TestAnErrorOfAClientOfOnesOwnHasAClass(t *testing.T) {
	for want, err := range map[target.Class]error{
		target.ClassRateLimit: &openai.APIError{HTTPStatusCode: 429, Message: "slow down"},
		target.ClassQuota:     fmt.Errorf("pool: %w", &target.Error{Class: target.ClassQuota, Advice: "the month's budget is used up"}),
		target.ClassOther:     errors.New("the pool is empty"),
	} {
		client := plays(func(int, openai.ChatCompletionRequest) (openai.ChatCompletionMessage, error) {
			return openai.ChatCompletionMessage{}, err
		})
		_, got := ask(t.Context(), target.NewChat(client, target.ChatConfig{Model: "m"}), hello...)
		failed(t, want, got)
	}
}

type fake struct{}

func (fake) CreateChatCompletion(_ context.Context, req openai.ChatCompletionRequest) (openai.ChatCompletionResponse, error) {
	if req.Stream {
		return openai.ChatCompletionResponse{}, &openai.RequestError{HTTPStatusCode: http.StatusBadRequest}
	}
	said := openai.ChatCompletionMessage{Content: req.Messages[1].Content + " yourself"}
	return openai.ChatCompletionResponse{Choices: []openai.ChatCompletionChoice{{Message: said}}}, nil
}
