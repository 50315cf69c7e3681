package suites

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
)

// A network leads all connections to one server, in memory, and remembers what
// was dialled and sent. It needs no ports, and works in synctest's bubbles.
type network struct {
	server *http.Server
	conns  chan net.Conn
	closed chan struct{}
	served chan struct{}

	mu      sync.Mutex // guards what follows
	dialled []string
	sent    []byte
}

func newNetwork(h http.Handler) *network {
	n := &network{
		server: &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}, conns: make(chan net.Conn),
		closed: make(chan struct{}), served: make(chan struct{}),
	}
	go func() {
		defer close(n.served)
		_ = n.server.Serve(n)
	}()
	return n
}

// transport returns net/http's own, with connections of the network. Those of
// https are not encrypted.
func (n *network) transport() *http.Transport {
	return &http.Transport{DialContext: n.dial, DialTLSContext: n.dial}
}

// close ends the server and whatever it is at.
func (n *network) close() {
	_ = n.server.Close()
	<-n.served
}

func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dialled = append(n.dialled, address)
	n.mu.Unlock()
	here, there := net.Pipe()
	select {
	case n.conns <- heard{there, n}:
		return here, nil
	case <-n.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// traffic returns what was dialled and sent so far.
func (n *network) traffic() (dialled []string, sent string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.dialled), string(n.sent)
}

// Accept, Close and Addr make the network a listener.
func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Close is called once, by the server.
func (n *network) Close() error {
	close(n.closed)
	return nil
}

func (n *network) Addr() net.Addr { return &net.TCPAddr{} }

// heard is the server's end of a connection.
type heard struct {
	net.Conn
	n *network
}

func (h heard) Read(p []byte) (int, error) {
	k, err := h.Conn.Read(p)
	h.n.mu.Lock()
	defer h.n.mu.Unlock()
	h.n.sent = append(h.n.sent, p[:k]...)
	return k, err
}
