package llmsim

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// pipes is a listener whose connections are pipes.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- newBuffered(server):
		return client, nil
	case <-p.closed:
		return nil, errors.New("llmsim: connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "pipe" }
func (address) String() string  { return "llmsim.example" }

// A buffered is the server's end of a pipe. As with sockets, and unlike with
// plain pipes, a client that is busy does not hold up the server, and what was
// written before Close arrives.
type buffered struct {
	net.Conn
	queue  chan []byte
	closed chan struct{}
	once   sync.Once
}

func newBuffered(conn net.Conn) *buffered {
	b := &buffered{Conn: conn, queue: make(chan []byte, 1<<12), closed: make(chan struct{})}
	go b.pump() // until either end is closed
	return b
}

func (b *buffered) Write(p []byte) (int, error) {
	select {
	case <-b.closed:
		return 0, io.ErrClosedPipe
	case b.queue <- append([]byte(nil), p...):
		return len(p), nil
	}
}

func (b *buffered) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

func (b *buffered) pump() {
	defer func() {
		_ = b.Close()
		_ = b.Conn.Close()
	}()
	for {
		select {
		case p := <-b.queue:
			if _, err := b.Conn.Write(p); err != nil {
				return
			}
		case <-b.closed:
			b.flush()
			return
		}
	}
}

// flush writes what is left.
func (b *buffered) flush() {
	for len(b.queue) > 0 {
		if _, err := b.Conn.Write(<-b.queue); err != nil {
			return
		}
	}
}
