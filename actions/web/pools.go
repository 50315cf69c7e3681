package web

import (
	"container/list"
	"net/http"
	"sync"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// maxPools is how many scopes have connections. The scope whose last visit is
// longest ago loses its idle ones to a new scope, and has to connect anew.
const maxPools = 256

// How many idle connections a pool keeps in all, and to one host.
const (
	publicIdle = 256
	scopeIdle  = 32
	hostIdle   = 16
)

// A party is whose connections a pool has. The zero party is everybody, where
// no scope is known or the rule is Public.
type party struct {
	scope   string
	session uint64 // of a scope without a name
}

func partyOf(c actions.Call) party {
	switch {
	case c.Public:
		return party{}
	case c.Scope != "":
		return party{scope: c.Scope}
	}
	return party{session: c.Session}
}

// A pool is what the visits of one party share.
type pool struct {
	party     party
	transport *http.Transport
	cookies   *cookies
}

// pools remember the parties that visited last.
type pools struct {
	guard Guard

	mu    sync.Mutex // held for lookups
	known map[party]*list.Element
	order list.List // of *pool, the one used last in front
}

// of returns the pool of a party.
func (p *pools) of(who party) *pool {
	found, forgotten := p.find(who)
	if forgotten != nil {
		forgotten.transport.CloseIdleConnections()
	}
	return found
}

func (p *pools) find(who party) (found, forgotten *pool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.known[who]; e != nil {
		p.order.MoveToFront(e)
		return e.Value.(*pool), nil
	}
	if p.known == nil {
		p.known = map[party]*list.Element{}
	}
	found = &pool{who, newTransport(p.guard, who), newCookies()}
	p.known[who] = p.order.PushFront(found)
	if p.order.Len() > maxPools {
		forgotten = p.order.Remove(p.order.Back()).(*pool)
		delete(p.known, forgotten.party)
	}
	return found, forgotten
}

// close closes the idle connections of all.
func (p *pools) close() {
	p.mu.Lock()
	var all []*pool
	for e := p.order.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*pool))
	}
	p.mu.Unlock()
	for _, pool := range all {
		pool.transport.CloseIdleConnections()
	}
}

// newTransport returns a transport for many small requests to few hosts. It has
// no bound on connections, for which the target's own request would have to
// wait: what runs ahead is bounded before it gets here.
func newTransport(g Guard, who party) *http.Transport {
	idle := scopeIdle
	if who == (party{}) {
		idle = publicIdle
	}
	return &http.Transport{
		DialContext:            g.DialContext,
		TLSHandshakeTimeout:    15 * time.Second,
		MaxIdleConns:           idle,
		MaxIdleConnsPerHost:    hostIdle,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		ForceAttemptHTTP2:      true,
	}
}
