package llmsim

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/internal/llm"
)

// An Endpoint is where a Server can be reached.
type Endpoint struct {
	URL string // the base URL, up to and including /v1

	key      string
	dial     func(context.Context, string, string) (net.Conn, error)
	server   *http.Server
	handlers handlers
	serving  sync.WaitGroup

	mu      sync.Mutex // guards clients
	clients []*llm.HTTPClient
}

// Listen serves on loopback.
func (s *Server) Listen() (*Endpoint, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return s.serve(l, "http://"+l.Addr().String()+"/v1", nil), nil
}

// Pipe serves without a network: connections are net.Pipe, which may be used in
// a synctest bubble. Only clients with Dial of the endpoint reach it.
func (s *Server) Pipe() *Endpoint {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	return s.serve(p, "http://llmsim.example/v1", p.dial)
}

func (s *Server) serve(l net.Listener, url string, dial func(context.Context, string, string) (net.Conn, error)) *Endpoint {
	e := &Endpoint{URL: url, key: s.opts.Key, dial: dial}
	e.server = &http.Server{ConnState: s.ConnState, ConnContext: withConn, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e.handlers.enter() {
			defer e.handlers.leave()
			breakClosed(r.Context())
			s.ServeHTTP(w, r)
		}
	})}
	e.serving.Go(func() { _ = e.server.Serve(l) })
	return e
}

// Config returns how to reach the endpoint, with the right key.
func (e *Endpoint) Config() llm.Config {
	return llm.Config{Key: e.key, BaseURL: e.URL, HTTP: llm.HTTPConfig{Dial: e.dial}}
}

// Client returns a client of the endpoint. Its connections end with it.
func (e *Endpoint) Client() *openai.Client {
	cfg := e.Config()
	return llm.NewClientWith(cfg, e.HTTP(cfg.HTTP))
}

// HTTP returns an HTTPClient that reaches the endpoint, and whose connections
// end with it.
func (e *Endpoint) HTTP(cfg llm.HTTPConfig) *llm.HTTPClient {
	cfg.Dial = e.dial
	c := llm.NewHTTPClient(cfg)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.clients = append(e.clients, c)
	return c
}

// Transport returns a plain transport that reaches the endpoint.
func (e *Endpoint) Transport() *http.Transport {
	return &http.Transport{DialContext: e.dial}
}

// Close breaks all connections and waits until nothing is served.
func (e *Endpoint) Close() {
	_ = e.server.Close()
	e.serving.Wait()
	e.handlers.end()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.clients {
		c.CloseIdleConnections()
	}
}

type connKey struct{}

// withConn lets requests know what became of their connection.
func withConn(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, new(atomic.Bool))
}

// leaveClosed lets the next request on a connection find it closed.
func leaveClosed(ctx context.Context) {
	if closed, ok := ctx.Value(connKey{}).(*atomic.Bool); ok {
		closed.Store(true)
	}
}

// breakClosed ends a request on a connection that was left closed. As far as
// the client can tell, nobody has read it.
func breakClosed(ctx context.Context) {
	if closed, ok := ctx.Value(connKey{}).(*atomic.Bool); ok && closed.Load() {
		panic(http.ErrAbortHandler)
	}
}

// handlers counts the requests that are being served. Unlike with a WaitGroup,
// they may come while somebody waits for their end.
type handlers struct {
	mu    sync.Mutex // guards what follows
	n     int
	ended chan struct{} // nil: not ending
}

func (h *handlers) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended != nil {
		return false
	}
	h.n++
	return true
}

func (h *handlers) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n--
	if h.ended != nil && h.n == 0 {
		close(h.ended)
	}
}

// end lets nobody in any more and waits until all have left.
func (h *handlers) end() { <-h.ending() }

func (h *handlers) ending() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended == nil {
		h.ended = make(chan struct{})
		if h.n == 0 {
			close(h.ended)
		}
	}
	return h.ended
}
