package speccache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// A flight is one run of an action: claimed, in the air, settled. Flights
// belong to the cache. One that runs ahead has its own context, and no caller
// can end it by leaving; a target's own run has its caller's.
type flight[O any] struct {
	key     key
	scope   *scope
	session *Session[O]
	rule    *tool
	stamp   stamp
	guess   *guess    // nil for a target's own run
	room    *entry[O] // for what a run ahead brings
	started time.Duration

	interest atomic.Int32 // of targets: see below
	short    shortage     // why it had to wait for its place

	// Of runs ahead.
	host   string
	errand *errand // there
	// received are the bytes that the executor has said to have read. Guarded by
	// limiter.mu.
	received int64
	ctx      *endable

	// Written once, before done is closed.
	done  signal
	entry *entry[O] // nil if there is nothing to serve
	err   error
	took  time.Duration
}

// What targets have to do with a flight. A flight that was given up is never
// joined, and one that was joined is never given up for a newer guess.
const (
	unjoined int32 = iota
	joined
	givenUp
)

// maxSource is how many bytes of a predictor's name are kept.
const maxSource = 64

// joinable reports whether f brings what could be served.
func (f *flight[O]) joinable() bool {
	return f.stamp == f.scope.stamp() && f.interest.Load() != givenUp
}

// join marks f as wanted. It fails if f was given up.
func (f *flight[O]) join() bool {
	first := f.interest.CompareAndSwap(unjoined, joined)
	if first && f.ctx != nil {
		f.ctx.asked.set()
	}
	return first || f.interest.Load() == joined
}

// ended is closed when f is cancelled or out of time. A target's own run never
// says so.
func (f *flight[O]) ended() <-chan struct{} {
	if f.ctx == nil {
		return nil
	}
	return f.ctx.Done()
}

// bytes are what f has brought.
func (f *flight[O]) bytes() int64 {
	if f.entry == nil {
		return 0
	}
	return f.entry.size
}

// receive is what actions.Received calls.
func (f *flight[O]) receive(bytes int) {
	f.session.c.limiter.receive(f, int64(max(0, bytes)))
}

// giveUp cancels f unless somebody waits for it.
func (f *flight[O]) giveUp() bool {
	if !f.interest.CompareAndSwap(unjoined, givenUp) {
		return false
	}
	f.ctx.end(errGivenUp)
	return true
}

// kill cancels f although somebody may wait for it: it can't be served, or has
// had its time.
func (f *flight[O]) kill(why *ended) {
	f.interest.Store(givenUp)
	f.ctx.end(why)
}

// A signal is a channel that is closed, and not made before somebody waits for
// it: for most flights nobody does.
type signal struct{ c atomic.Pointer[chan struct{}] }

var closed = func() *chan struct{} {
	c := make(chan struct{})
	close(c)
	return &c
}()

func (s *signal) set() {
	if c := s.c.Swap(closed); c != nil {
		close(*c)
	}
}

func (s *signal) isSet() bool { return s.c.Load() == closed }

func (s *signal) wait() <-chan struct{} {
	if c := s.c.Load(); c != nil {
		return *c
	}
	c := make(chan struct{})
	if s.c.CompareAndSwap(nil, &c) {
		return c
	}
	return *s.c.Load()
}

var errAborted = errors.New("speccache: the executor panicked or called runtime.Goexit")

// settle records how a run ended that had ctx. A success that may be kept is
// published before the claim on its key ends; a failure ends the claim before
// anybody is told. Then those who wait wake up, whatever the environment's
// functions do meanwhile.
func (c *Cache[O]) settle(ctx context.Context, f *flight[O], o O, err error) {
	f.took = c.now() - f.started
	f.err = errAborted // if a Goexit unwinds what follows
	defer c.conclude(f)
	if err == nil && ctx.Err() != nil {
		// It ignored its end: what it returned may be half of something.
		err = f.blame(context.Cause(ctx))
	}
	if err == nil {
		f.rule.latency.observe(f.took)
		f.entry, err = c.makeEntry(f, o)
	}
	f.err = err
	e := f.entry
	if e == nil || e.unkept || !f.stamp.quiet() || f.stamp != f.scope.stamp() || c.closed.Load() {
		return
	}
	if f.guess != nil {
		f.scope.ledger.add(f.guess) // before it is found: who reads it is counted from then on
	}
	switch published := c.store.publish(e); {
	case published && e.renewable:
		c.renewer.expect(e)
	case !published && f.guess != nil:
		f.scope.ledger.withdraw(f.guess)
	}
	if c.closed.Load() { // meanwhile: a target's own run is not waited for
		c.store.drop(e, dropClosed)
	}
}

// conclude counts f if it ran ahead, ends its claim, and wakes who waits.
func (c *Cache[O]) conclude(f *flight[O]) {
	if f.guess != nil {
		f.session.countEnd(f)
	}
	c.store.flights.release(f)
	f.done.set()
}

// makeEntry asks the environment what it knows about an observation. What
// panics there is not kept; the target has its observation all the same.
func (c *Cache[O]) makeEntry(f *flight[O], o O) (e *entry[O], err error) {
	if e = f.room; e == nil {
		e = &entry[O]{}
	}
	e.key, e.stamp, e.scope = f.key, f.stamp, f.scope
	e.born, e.session, e.guess = f.started, f.session.id, f.guess
	e.renewable = c.mayRenew(f)
	life := lifeOf(f.rule)
	defer func() {
		if r := recover(); r != nil {
			e, err = nil, fmt.Errorf("speccache: Environment.Fresh or Clone panicked: %s", textOf(r))
		}
	}()
	if c.env.Fresh != nil {
		maxAge, keep := c.env.Fresh(f.key.action, o)
		e.unkept = !keep || maxAge < 0
		if maxAge > 0 {
			life = min(life, maxAge)
		}
	}
	if f.rule.Public {
		p, ok := any(o).(interface{ Private() bool })
		e.unkept = e.unkept || ok && p.Private()
	}
	e.expires = f.started + min(life, math.MaxInt64-f.started)
	e.observation = o
	if c.env.Clone != nil {
		e.observation = c.env.Clone(o)
	}
	e.size = c.sizeOf(o) + int64(len(f.key.action.Args())) + entryCost
	if g := e.guess; g != nil {
		g.took, g.size, g.reading = f.took, e.size, &e.reading
	} else {
		e.reading.take(counted)
	}
	return e, nil
}

// lifeOf is how long what an action brings may be served.
func lifeOf(rule *tool) time.Duration { return cmp.Or(rule.MaxAge, actions.DefaultMaxAge) }

// unsized is what an observation is taken to hold if nobody says.
const unsized = 16 << 10

// sizeOf is an observation's size, as far as that matters: what is too large to
// be kept is no larger, so that sums do not overflow.
func (c *Cache[O]) sizeOf(o O) (size int64) {
	defer func() {
		if recover() != nil {
			size = unsized
		}
	}()
	n := unsized
	if c.env.Size != nil {
		n = c.env.Size(o)
	} else {
		switch v := any(o).(type) {
		case string:
			n = len(v)
		case []byte:
			n = len(v)
		}
	}
	return min(max(0, int64(n)), c.store.largest()+1)
}

// An ending is how an executor returned, or failed to.
type ending[O any] struct {
	o        O
	err      error
	panicked any
	exited   bool // by runtime.Goexit
}

// try runs an executor to its end, whatever that is, and hands it to then. It
// calls then exactly once, also while a Goexit unwinds.
func try[O any](run func() (O, error), then func(ending[O])) {
	e := ending[O]{exited: true, err: errAborted}
	defer func() {
		if e.exited {
			if r := recover(); r != nil {
				e.exited, e.panicked = false, r
			}
		}
		then(e)
	}()
	o, err := run()
	e = ending[O]{o: o, err: err}
}

// repeat does in the caller what an executor did on another goroutine.
func (e ending[O]) repeat() (O, error) {
	switch {
	case e.panicked != nil:
		panic(e.panicked)
	case e.exited:
		runtime.Goexit()
	}
	return e.o, e.err
}

// fly runs a target's action on its goroutine, as f.
func (s *Session[O]) fly(ctx context.Context, f *flight[O]) (O, error) {
	var o O
	err := errAborted
	// A panic or Goexit goes on to the caller, whose own it is.
	defer func() { s.c.settle(ctx, f, o, err) }()
	o, err = s.execute(ctx, f.key.action, f.rule)
	return o, err
}

// await waits for f as long as promise 6 allows. Then it runs the action
// beside f, and takes what succeeds first: it returns the ending of that run
// unless f came first. A context that ends is an error.
func (s *Session[O]) await(ctx context.Context, f *flight[O]) (beside *ending[O], err error) {
	if f.done.isSet() { // prefer what is there already
		return nil, nil
	}
	patience := time.NewTimer(s.c.patience(f))
	defer patience.Stop()
	select {
	case <-f.done.wait():
		return nil, nil
	case <-f.ended(): // nothing good will come of it, whenever it returns
		return nil, nil
	case <-ctx.Done():
		return nil, waitError(ctx, f.key.action)
	case <-patience.C:
		return s.race(ctx, f), nil
	}
}

// race runs f's action beside it, on a goroutine of the cache's with a child
// of the caller's context. A failure of that run is the target's at once; it
// returns nil if f succeeds before.
func (s *Session[O]) race(ctx context.Context, f *flight[O]) *ending[O] {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan ending[O], 1)
	beside := s.newFlight(f.key, f.rule, s.c.now())
	run := func() (O, error) { return s.execute(ctx, f.key.action, f.rule) }
	started := s.c.spawn(func() {
		try(run, func(e ending[O]) {
			defer func() { ended <- e }()
			s.c.settle(ctx, beside, e.o, e.err)
		})
	})
	if !started { // the cache is closed: the caller passes through
		return nil
	}
	select {
	case e := <-ended:
		return &e
	case <-f.done.wait():
	}
	if s.usable(f) {
		return nil
	}
	e := <-ended
	return &e
}

// usable reports whether a flight has settled and may be served now.
func (s *Session[O]) usable(f *flight[O]) bool {
	return f.done.isSet() && f.entry != nil && s.accept(f.key.version, f.session.id) && f.entry.why(s.c.now()) == ""
}

// patience is how long a target waits for f: what the action takes in 95 of
// 100 runs, less the time that f has had.
func (c *Cache[O]) patience(f *flight[O]) time.Duration {
	p95, known := f.rule.latency.p95()
	if !known {
		return time.Second
	}
	return max(0, p95-(c.now()-f.started))
}

func waitError(ctx context.Context, a actions.Action) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return fmt.Errorf("speccache: waiting for %q: %w", a.Name(), err)
	}
	return fmt.Errorf("speccache: waiting for %q: %w: %w", a.Name(), err, cause)
}
