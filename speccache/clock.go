package speccache

import (
	"sync"
	"sync/atomic"
	"time"
)

// A clock counts from when its cache was made. Reading it exactly costs as much
// as a whole lookup, so there is a coarse reading beside the exact one, for
// ages: a load, and behind by at most margin and what the runtime's timers are
// late.
//
// The coarse reading is kept up by a timer, and only while somebody reads it: a
// cache at rest has no timer, in real as in virtual time.
type clock struct {
	base   time.Time
	coarse atomic.Int64 // of use for readers only if above 0

	mu      sync.Mutex // guards what follows, and changes of coarse
	timer   *time.Timer
	running bool
	closed  bool
}

const margin = 100 * time.Millisecond

// now is the exact reading.
func (c *clock) now() time.Duration { return time.Since(c.base) }

// about is the coarse reading.
func (c *clock) about() time.Duration {
	if now := c.coarse.Load(); now > 0 {
		return time.Duration(now)
	}
	return c.ask()
}

// ask makes the coarse reading good until the next tick.
func (c *clock) ask() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := max(1, c.now())
	if c.closed {
		return now
	}
	c.coarse.Store(int64(now))
	switch {
	case c.timer == nil:
		c.timer = time.AfterFunc(margin, c.tick)
	case !c.running:
		c.timer.Reset(margin)
	}
	c.running = true
	return now
}

// tick has the next reader ask, and if none has since the last tick it is the
// last one.
func (c *clock) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = !c.closed && c.coarse.Swap(0) > 0
	if c.running {
		c.timer.Reset(margin)
	}
}

// close stops the timer. The exact reading goes on.
func (c *clock) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.coarse.Store(0)
	if c.timer != nil {
		c.timer.Stop()
	}
}
