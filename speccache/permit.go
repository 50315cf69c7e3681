package speccache

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// permits bounds the runs ahead. Only guesses need one: the target's own runs
// never ask, so that no guess can be in their way.
type permits[O any] struct {
	max, maxScope, maxSession int

	held atomic.Int32 // runs in flying: writes need not look when there are none

	// mu guards what follows and the field ahead of each session and scope. It
	// is held for arithmetic and for cancelling contexts.
	mu     sync.Mutex
	taken  int
	flying []*flight[O]  // oldest first
	freed  chan struct{} // closed and replaced when a permit comes back
}

func newPermits[O any](total, session int) *permits[O] {
	// No scope gets all, or its hung runs would end everybody's speculation.
	return &permits[O]{
		max: total, maxScope: max(session, (total+1)/2), maxSession: session,
		freed: make(chan struct{}),
	}
}

// acquire takes a permit for a guess of session s that its draft made at the
// given step. If there is none it gives up the session's oldest run from an
// earlier step that nobody waits for, whose permit follows when the run has
// ended. It fails when ctx ends: the target has acted.
func (p *permits[O]) acquire(ctx context.Context, s *Session[O], step int64) bool {
	var victim *flight[O]
	for {
		p.mu.Lock()
		if ctx.Err() != nil {
			p.mu.Unlock()
			return false
		}
		if p.taken < p.max && s.scope.ahead < p.maxScope && s.ahead < p.maxSession {
			p.taken++
			s.scope.ahead++
			s.ahead++
			p.mu.Unlock()
			return true
		}
		if !slices.Contains(p.flying, victim) { // one at a time
			victim = p.giveUpOldest(s, step)
		}
		freed := p.freed
		p.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		}
	}
}

func (p *permits[O]) giveUpOldest(s *Session[O], step int64) *flight[O] {
	for _, f := range p.flying {
		if f.session == s && f.guess.step < step && f.giveUp() {
			return f
		}
	}
	return nil
}

// release gives back a permit of session s that no run came of.
func (p *permits[O]) release(s *Session[O]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free(s)
}

func (p *permits[O]) free(s *Session[O]) {
	p.taken--
	s.scope.ahead--
	s.ahead--
	close(p.freed)
	p.freed = make(chan struct{})
}

// add lists a run, so that it can be given up.
func (p *permits[O]) add(f *flight[O]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flying = append(p.flying, f)
	p.held.Add(1)
}

// remove takes a run that has landed off the list, and its permit back.
func (p *permits[O]) remove(f *flight[O]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held.Add(-1)
	p.flying = slices.DeleteFunc(p.flying, func(g *flight[O]) bool { return g == f })
	p.free(f.session)
}

// each calls do for every run ahead. Whoever adds one looks afterwards whether
// it is still wanted.
func (p *permits[O]) each(do func(*flight[O])) {
	if p.held.Load() == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.flying {
		do(f)
	}
}
