package web

import (
	"context"
	"sync"
)

// gates let a number of visits into each host at one time.
type gates struct {
	size int

	mu    sync.Mutex // guards hosts and what they hold
	hosts map[string]*gate
}

type gate struct {
	seats chan struct{}
	users int // inside or waiting; without any there is no gate
}

// enter waits until there is room. Whoever was let in calls leave.
func (g *gates) enter(ctx context.Context, host string) (leave func(), err error) {
	at := g.use(host)
	select {
	case at.seats <- struct{}{}:
		return func() {
			<-at.seats
			g.release(host, at)
		}, nil
	case <-ctx.Done():
		g.release(host, at)
		return nil, ctx.Err()
	}
}

func (g *gates) use(host string) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.hosts[host]
	if at == nil {
		if g.hosts == nil {
			g.hosts = make(map[string]*gate)
		}
		at = &gate{seats: make(chan struct{}, g.size)}
		g.hosts[host] = at
	}
	at.users++
	return at
}

func (g *gates) release(host string, at *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at.users--; at.users == 0 {
		delete(g.hosts, host)
	}
}
