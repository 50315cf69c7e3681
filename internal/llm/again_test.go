package llm_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/internal/llm"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Llama.cpp's server promises to keep a connection, and closes it after each
// stream without a word. A request that is on its way by then is lost.
func TestAKeptConnectionThatTheServerHasClosedFailsNoRequest(t *testing.T) {
	both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
		for name, run := range map[string]func(*testing.T, llmsim.Options, func(*testing.T, *llmsim.Server, *llmsim.Endpoint)){
			"pipe": piped, "loopback": looped,
		} {
			t.Run(name, func(t *testing.T) {
				run(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
					client := seen(at.Client())
					for range 5 {
						sim.Push(llmsim.Answer{Text: "ok", Fault: llmsim.Fault{Closed: true}})
						a, err := collect(t.Context(), client, ask("m", "what?"))
						require.NoError(t, err)
						assert.Equal(t, "ok", a.Text)
					}
					assert.Equal(t, 5, sim.Stats().Requests, "the server has read each once")
				})
			})
		}
	})
}

func TestARequestThatAServerMayHaveReadIsSentOnce(t *testing.T) {
	both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
		piped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
			client := seen(at.Client())
			broken := llmsim.Answer{Fault: llmsim.Fault{Drop: true}}
			sim.Push(broken)
			_, err := collect(t.Context(), client, ask("m", "on a new connection"))
			e := failed(t, llm.Network, err)
			assert.Contains(t, e.Advice, "closed the connection")
			assert.Equal(t, 1, sim.Stats().Requests)

			late := broken
			late.Latency = &llmsim.Latency{Base: 10 * time.Second}
			sim.Push(llmsim.Answer{Text: "ok"}, late)
			_, err = collect(t.Context(), client, ask("m", "what?"))
			require.NoError(t, err)
			synctest.Wait()
			_, err = collect(t.Context(), client, ask("m", "on a kept connection, after some work"))
			failed(t, llm.Network, err)
			assert.Equal(t, 3, sim.Stats().Requests)
		})
	})
}

func TestARequestIsSentTwiceAtMost(t *testing.T) {
	both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
		piped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
			client := seen(at.Client())
			broken := llmsim.Answer{Fault: llmsim.Fault{Drop: true}}
			sim.Push(llmsim.Answer{Text: "ok"}, broken, broken, broken)
			_, err := collect(t.Context(), client, ask("m", "what?"))
			require.NoError(t, err)
			synctest.Wait()
			_, err = collect(t.Context(), client, ask("m", "what?"))
			failed(t, llm.Network, err)
			assert.Equal(t, 3, sim.Stats().Requests)
		})
	})
}

func TestATimeoutIsNoReasonToSendARequestAgain(t *testing.T) {
	both(t, func(t *testing.T, seen func(*openai.Client) llm.Completer) {
		piped(t, llmsim.Options{}, func(t *testing.T, sim *llmsim.Server, at *llmsim.Endpoint) {
			client := seen(llm.NewClientWith(at.Config(), at.HTTP(llm.HTTPConfig{HeaderTimeout: 100 * time.Millisecond})))
			sim.Push(llmsim.Answer{Text: "ok"}, llmsim.Answer{Fault: llmsim.Fault{Hang: true}})
			_, err := collect(t.Context(), client, ask("m", "what?"))
			require.NoError(t, err)
			synctest.Wait()
			_, err = collect(t.Context(), client, ask("m", "what?"))
			failed(t, llm.Timeout, err)
			assert.Equal(t, 2, sim.Stats().Requests)
		})
	})
}

func TestARequestWhoseAnswerHasBegunIsSentOnce(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"ok"}}]}`))
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if assert.NoError(t, err) {
			_, _ = conn.Write([]byte("HTTP/1.1 200 O"))
			_ = conn.Close()
		}
	}))
	defer server.Close()
	doer := llm.NewHTTPClient(llm.HTTPConfig{})
	defer doer.CloseIdleConnections()
	client := whole{llm.NewClientWith(llm.Config{BaseURL: server.URL}, doer)}
	_, err := collect(t.Context(), client, ask("m", "what?"))
	require.NoError(t, err)
	_, err = collect(t.Context(), client, ask("m", "what?"))
	failed(t, llm.Network, err)
	assert.Equal(t, int32(2), requests.Load())
}
