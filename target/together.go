package target

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// together runs what calls a session's Run, as one step. A step is over when no
// call is open any more, and a hit takes no time at all: left to themselves,
// one call could be over before the next one has begun, and a click would then
// mean the page that the call before it has brought. So calls begin in order,
// and none looks anything up until all have begun.
func together(ctx context.Context, runs []func(context.Context)) {
	if len(runs) == 1 {
		runs[0](ctx)
		return
	}
	open := make(chan struct{})
	ends := make([]ending, len(runs))
	var all sync.WaitGroup
	for i, run := range runs {
		g := &gate{Context: ctx, begun: make(chan struct{}), open: open}
		all.Go(func() {
			defer g.begin()
			ends[i].of(func() { run(g) })
		})
		g.await()
	}
	close(open)
	all.Wait()
	for _, end := range ends {
		end.repeat()
	}
}

// A gate is the context of a call that tells when the call has begun: a session
// does not look at its context before that, and looks at Err before it looks
// anything up. Err is held back until all calls have begun.
type gate struct {
	context.Context
	once  sync.Once
	begun chan struct{}
	open  chan struct{}
}

// patience is how long to wait for a call to begin that doesn't look at its
// context. To begin takes microseconds.
const patience = 5 * time.Millisecond

func (g *gate) await() {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-g.begun:
	case <-late.C:
	}
}

func (g *gate) begin() { g.once.Do(func() { close(g.begun) }) }

func (g *gate) Err() error {
	g.begin()
	<-g.open
	return g.Context.Err()
}

func (g *gate) Done() <-chan struct{} {
	g.begin()
	return g.Context.Done()
}

func (g *gate) Value(key any) any {
	g.begin()
	return g.Context.Value(key)
}

func (g *gate) Deadline() (time.Time, bool) {
	g.begin()
	return g.Context.Deadline()
}

// An ending is how a run ended that did not return. Tools run on the target's
// behalf: what they do to their goroutine, they do to the caller's.
type ending struct {
	abrupt   bool
	panicked any // nil: by Goexit
}

func (e *ending) of(run func()) {
	e.abrupt = true
	defer func() {
		if e.abrupt {
			e.panicked = recover()
		}
	}()
	run()
	e.abrupt = false
}

func (e *ending) repeat() {
	switch {
	case e.panicked != nil:
		panic(e.panicked)
	case e.abrupt:
		runtime.Goexit()
	}
}
