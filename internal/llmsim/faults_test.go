package llmsim_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/internal/llm"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// whole hides that a client streams.
type whole struct{ llm.Completer }

var (
	said = llmsim.Answer{
		Text: "I look at it.", Reasoning: "what is it?",
		Calls: []llmsim.Call{{ID: "a", Name: "visit", Args: `{"url":"/one"}`}, {ID: "b", Name: "visit", Args: `{"url":"/two"}`}},
	}
	heard = []llm.Call{{ID: "a", Name: "visit", Args: `{"url":"/one"}`}, {ID: "b", Name: "visit", Args: `{"url":"/two"}`}}
)

// faults are all that may go wrong. Streamed and Whole are the class of the
// error; "" is a full result.
var faults = map[string]struct {
	fault           llmsim.Fault
	streamed, whole llm.Class
}{
	"none":                        {},
	"429 in seconds":              {llmsim.Fault{Status: 429, RetryAfter: "2"}, llm.RateLimit, llm.RateLimit},
	"429 with a date":             {llmsim.Fault{Status: 429, RetryAfter: llmsim.Until(2 * time.Second)}, llm.RateLimit, llm.RateLimit},
	"500":                         {llmsim.Fault{Status: 500}, llm.Server, llm.Server},
	"501":                         {llmsim.Fault{Status: 501}, llm.Unsupported, llm.Unsupported},
	"502":                         {llmsim.Fault{Status: 502}, llm.Server, llm.Server},
	"503":                         {llmsim.Fault{Status: 503}, llm.Overloaded, llm.Overloaded},
	"504":                         {llmsim.Fault{Status: 504}, llm.Server, llm.Server},
	"529":                         {llmsim.Fault{Status: 529}, llm.Overloaded, llm.Overloaded},
	"flat":                        {llmsim.FlatError(500).Fault, llm.Server, llm.Server},
	"HTML 502":                    {llmsim.HTMLError(502).Fault, llm.Server, llm.Server},
	"HTML 200":                    {llmsim.HTMLError(200).Fault, llm.Truncated, llm.Garbled},
	"200 with an error":           {llmsim.Fault{Body: llmsim.ErrorBody}, llm.Server, llm.Server},
	"200 with a flat error":       {llmsim.Fault{Body: llmsim.Flat}, llm.Server, llm.Server},
	"empty choices":               {llmsim.Fault{NoChoices: true}, llm.Truncated, llm.Garbled},
	"no index":                    {fault: llmsim.Fault{NoIndex: true}},
	"one index":                   {fault: llmsim.Fault{OneIndex: true}},
	"one index in one chunk":      {fault: llmsim.Fault{OneIndex: true, Chunked: true}},
	"prefilled arguments":         {fault: llmsim.Fault{Prefilled: true}},
	"empty deltas":                {fault: llmsim.Fault{Empty: 3}},
	"comments":                    {fault: llmsim.Fault{Comments: 500}},
	"no finish":                   {llmsim.Fault{NoFinish: true}, llm.Truncated, ""},
	"cut at the first event":      {llmsim.Fault{CutAt: 1}, llm.Truncated, llm.Truncated},
	"cut in the middle":           {llmsim.Fault{CutAt: 8}, llm.Truncated, llm.Truncated},
	"an error in the middle":      {llmsim.Fault{CutAt: 8, Error: llmsim.ErrorEvent}, llm.Server, llm.Truncated},
	"a short stall":               {fault: llmsim.Fault{StallAt: 5, Stall: 30 * time.Millisecond}},
	"a stall before the first":    {llmsim.Fault{Stall: time.Hour}, llm.Timeout, llm.Timeout},
	"a long stall":                {llmsim.Fault{StallAt: 5, Stall: time.Hour}, llm.Timeout, llm.Timeout},
	"a late end":                  {fault: llmsim.Fault{LateEnd: 5 * time.Millisecond}},
	"an end that does not come":   {fault: llmsim.Fault{LateEnd: time.Hour}},
	"hang":                        {llmsim.Fault{Hang: true}, llm.Timeout, llm.Timeout},
	"a body that is cut":          {llmsim.Fault{Body: `{"choices":[{"mess`}, llm.Truncated, llm.Truncated},
	"a body of another kind":      {llmsim.Fault{Body: `[1,2]`}, llm.Truncated, llm.Garbled},
	"an empty body with a status": {llmsim.Fault{Status: 500, Body: " "}, llm.Server, llm.Server},
}

func TestEachFaultIsATypedErrorOrAFullResult(t *testing.T) {
	for name, c := range faults {
		t.Run(name, func(t *testing.T) {
			t.Run("virtual time", func(t *testing.T) {
				piped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
					suffer(t, sim, at.Client(), c.fault, c.streamed, time.Minute)
					suffer(t, sim, whole{at.Client()}, c.fault, c.whole, time.Minute)
				})
			})
			t.Run("loopback", func(t *testing.T) {
				deadline := 10 * time.Second
				if c.whole == llm.Timeout {
					deadline = 200 * time.Millisecond
				}
				looped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
					suffer(t, sim, at.Client(), c.fault, c.streamed, deadline)
					suffer(t, sim, whole{at.Client()}, c.fault, c.whole, deadline)
				})
			})
		})
	}
}

// suffer asks with a fault, and once more without: what went wrong leaves
// nothing behind.
func suffer(t *testing.T, sim *llmsim.Server, c llm.Completer, fault llmsim.Fault, want llm.Class, deadline time.Duration) {
	t.Helper()
	bad := said
	bad.Fault = fault
	sim.Push(bad, said)
	for _, want := range []llm.Class{want, ""} {
		if want == "" {
			deadline = time.Minute // there is nothing to wait for
		}
		ctx, stop := context.WithTimeout(t.Context(), deadline)
		began := time.Now()
		a, err := collect(ctx, c, ask("m", "what?"))
		stop()
		assert.Less(t, time.Since(began), deadline+5*time.Second)
		if want != "" {
			var e *llm.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, want, e.Class, err.Error())
			assert.Empty(t, a.Calls)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, said.Text, a.Text)
		assert.Equal(t, said.Reasoning, a.Reasoning)
		assert.Equal(t, heard, a.Calls)
		assert.Empty(t, a.Dropped)
	}
}

func TestRefusalsHaveTheirStatus(t *testing.T) {
	models := map[string]llmsim.Model{"m": {}, "bare": {NoTools: true, NoSchema: true}}
	opts := llmsim.Options{Key: "k", Models: models, Strict: true}
	tools, schema, empty := ask("bare", "what?"), ask("bare", "what?"), ask("m", "")
	tools.Tools = []openai.Tool{{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: "visit"}}}
	schema.ResponseFormat = &openai.ChatCompletionResponseFormat{
		Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
		JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "n", Schema: openai.ChatCompletionMessage{Content: "x"}},
	}
	piped(t, opts, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
		for _, c := range []struct {
			req    openai.ChatCompletionRequest
			status int
		}{{ask("n", "what?"), 404}, {tools, 400}, {schema, 400}, {empty, 400}, {ask("m", "what?"), 0}} {
			_, err := collect(t.Context(), at.Client(), c.req)
			assert.Equal(t, c.status, statusOf(err), "%v", err)
		}
		cfg := at.Config()
		cfg.Key = "other"
		_, err := collect(t.Context(), llm.NewClientWith(cfg, at.HTTP(llm.HTTPConfig{})), ask("m", "what?"))
		assert.Equal(t, http.StatusUnauthorized, statusOf(err))

		list, err := at.Client().ListModels(t.Context())
		require.NoError(t, err)
		require.Len(t, list.Models, 2)
		assert.Equal(t, "bare", list.Models[0].ID)
	})
}

func statusOf(err error) int {
	if e := llm.Explain(err); e != nil {
		return e.Status
	}
	return 0
}
