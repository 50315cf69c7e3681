package speccache

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/speccache/speccache-go/actions"
)

// An endable is the context of a draft or a run ahead: the values of another
// one, and an end of its own. It is what context.WithCancelCause makes, at a
// third of the price: a step has four, and most of them nobody waits for and
// nobody derives another from. context.Cause does not see its cause.
type endable struct {
	context.Context // which never ends

	cause atomic.Pointer[ended] // nil until it ends
	done  signal
	asked signal // set when a target waits for the run

	run interface{ receive(bytes int) } // nil for a draft

	// mu guards after and is held for nothing else. What is in it is called
	// once, when the context ends; the context package asks for that.
	mu    sync.Mutex
	after map[*func()]struct{}
}

// end ends the context, unless it has ended.
func (c *endable) end(why *ended) {
	if !c.cause.CompareAndSwap(nil, why) {
		return
	}
	c.done.set()
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := range c.after {
		go (*f)() // as context.AfterFunc promises: it may wait for whoever ends this
	}
	c.after = nil
}

// Err returns what the cause is a kind of.
func (c *endable) Err() error {
	if why := c.cause.Load(); why != nil {
		return why.kind
	}
	return nil
}

// why returns the cause, or nil before the end.
func (c *endable) why() error {
	if why := c.cause.Load(); why != nil {
		return why
	}
	return nil
}

// ended is why a draft or a run ahead was ended.
type ended struct {
	text string
	kind error // Canceled or DeadlineExceeded of package context
}

func (e *ended) Error() string { return e.text }
func (e *ended) Unwrap() error { return e.kind }

var (
	errActed        = &ended{"speccache: the target has acted", context.Canceled}
	errGivenUp      = &ended{"speccache: the run ahead was given up", context.Canceled}
	errTooSlow      = &ended{"speccache: the run ahead took longer than Config.AheadTimeout", context.DeadlineExceeded}
	errDraftTooSlow = &ended{"speccache: the draft took longer than Config.AheadTimeout", context.DeadlineExceeded}
)

func (c *endable) Done() <-chan struct{} { return c.done.wait() }

// Value is what executors ask: see actions.Asked and actions.Received.
func (c *endable) Value(key any) any {
	switch key {
	case actions.AskedKey{}:
		return c.asked.wait()
	case actions.ReceivedKey{}:
		if c.run != nil {
			return c.run.receive
		}
	}
	return c.Context.Value(key)
}

// AfterFunc is what the context package looks for in contexts that are not its
// own. Without it, each context derived from this one would cost a goroutine.
func (c *endable) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause.Load() != nil {
		go f()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = map[*func()]struct{}{}
	}
	c.after[&f] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.after[&f]
		delete(c.after, &f)
		return waiting
	}
}

// String keeps whoever prints a context away from its fields.
func (c *endable) String() string { return "speccache.endable" }
