package speccache

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// A Cache runs guesses ahead and remembers observations, for any number of
// sessions. It is made by New and must be closed. All methods may be called
// concurrently.
type Cache[O any] struct {
	env     actions.Environment[O]
	cfg     Config[O]
	plain   bool // actions stand for themselves, observations are shared
	renews  bool // there is an Environment.Renew
	clock   clock
	mode    atomic.Int32
	scopes  *scopes
	store   *store[O]
	limiter *limiter[O]
	tools   tools
	renewer renewer[O]
	events  *events // nil without a hook

	lastSession atomic.Uint64

	// mu makes the closed check and the wait group's Add one step, and guards
	// the sessions that are counted. No user code runs under it.
	mu       sync.Mutex
	closed   atomic.Bool
	workers  workers // what runs on the cache's goroutines
	sessions map[uint64]*Session[O]
	past     counts // of sessions that are over
	failures failures
	refusals failures
	warned   time.Duration // when a draft's failure was last logged; 0: never
	closing  sync.Once
}

// New makes a cache for an environment. It returns an error if a rule
// contradicts itself or a limit is negative.
func New[O any](env actions.Environment[O], cfg Config[O]) (*Cache[O], error) {
	if err := check(env, cfg.VerifyShare); err != nil {
		return nil, err
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	store, err := newStore[O](cfg.MaxBytes, cfg.MaxScopeBytes)
	if err != nil {
		return nil, err
	}
	c := &Cache[O]{
		env:      env,
		cfg:      cfg,
		clock:    clock{base: time.Now()},
		plain:    env.Resolve == nil && env.Clone == nil,
		renews:   env.Renew != nil,
		tools:    newTools(env.Rules),
		store:    store,
		events:   newEvents(cfg.OnEvent),
		sessions: map[uint64]*Session[O]{},
		workers:  workers{idle: make(chan func())},
	}
	c.scopes, c.limiter = newScopes(&c.clock, c.countReading, c.store.forget), newLimiter(cfg, &c.clock)
	c.renewer.c = c
	c.mode.Store(int32(cfg.Mode))
	return c, nil
}

// SessionConfig configures a session. The zero SessionConfig is a session of
// its own scope, without a goal.
type SessionConfig[O any] struct {
	// Scope names the state that the session's reads depend on: a user, a
	// tenant, a workspace. Sessions of one scope share what was read, and a
	// write of one hides the earlier reads of all. It must come from trusted
	// code. Empty: a scope of the session's own.
	Scope string

	// Goal is the question or task, for predictors.
	Goal string

	// ModelVersion is the target's. Empty: the cache's.
	ModelVersion string

	// Do replaces the environment's executor, for tools that hold something
	// of the session's own, such as a client with credentials.
	Do actions.Executor[O]
}

// Open starts a session: one run of one agent. Close it.
func (c *Cache[O]) Open(cfg SessionConfig[O]) *Session[O] {
	own := cfg.Do != nil
	if !own {
		cfg.Do = c.env.Do
	}
	if cfg.ModelVersion == "" {
		cfg.ModelVersion = c.cfg.ModelVersion
	}
	s := &Session[O]{
		c:     c,
		id:    c.lastSession.Add(1),
		goal:  cfg.Goal,
		do:    cfg.Do,
		own:   own,
		scope: c.scopes.enter(cfg.Scope),
		refs:  1,
		begun: new(atomic.Int64),
	}
	s.onChange = s.changed
	s.versions.Store(newVersions(cfg.ModelVersion))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions[s.id] = s
	return s
}

// Advance hides everything that the sessions of a scope have read so far,
// runs in flight included: call it when the scope's state has changed by other
// means than an action. The empty name stands for what is public.
func (c *Cache[O]) Advance(scope string) {
	if sc := c.scopes.find(scope); sc != nil {
		c.advance(sc)
	}
	c.emit(Event{Kind: EventAdvance, Scope: scope})
}

func (c *Cache[O]) advance(sc *scope) {
	sc.advance()
	c.killAhead(func(f *flight[O]) bool { return f.scope == sc })
}

// SetMode changes the mode. Off and Shadow cancel runs ahead that nobody waits
// for, Off stops drafts; what is kept stays, and is found again after On. A
// value that is no mode means Off.
func (c *Cache[O]) SetMode(m Mode) {
	if m < On || m > Off {
		m = Off
	}
	c.mode.Store(int32(m))
	if m == On {
		return
	}
	if m == Off {
		for _, s := range c.openSessions() {
			s.stopDrafts()
		}
	}
	c.limiter.each(func(f *flight[O]) { f.giveUp() })
}

func (c *Cache[O]) off() bool    { return Mode(c.mode.Load()) == Off }
func (c *Cache[O]) shadow() bool { return Mode(c.mode.Load()) == Shadow }

func (c *Cache[O]) openSessions() []*Session[O] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.sessions))
}

// Stats returns what was counted so far, over all sessions.
func (c *Cache[O]) Stats() Stats {
	var sum [counters]int64
	var steps int64
	for _, s := range c.openSessions() {
		s.scope.ledger.settle()
		steps += s.stepBytes()
	}
	c.scopes.public.ledger.settle()
	c.mu.Lock()
	c.past.addTo(&sum)
	for _, s := range c.sessions {
		s.tally.addTo(&sum)
	}
	failures, refusals := maps.Clone(c.failures), maps.Clone(c.refusals)
	c.mu.Unlock()
	st := newStats(sum)
	st.DraftFailures, st.Refusals = failures, refusals
	st.StepBytes = steps
	st.Entries = int(c.store.index.len.Load())
	st.WindowBytes = c.store.window.used()
	st.Drops = c.store.dropStats()
	st.Mended = c.store.main.mended.Load()
	if c.events != nil {
		st.EventsDropped = c.events.dropped.Load()
	}
	return st
}

// Close ends the cache: drafts are stopped, runs ahead are cancelled, and
// Close waits until the last of its goroutines has returned, as long as
// executors ignore that they were cancelled. After it, sessions pass through.
// It must not be called by what it waits for: executors, predictors, functions
// of the environment and OnEvent. Close is idempotent, and its error is always
// nil.
func (c *Cache[O]) Close() error {
	c.mu.Lock()
	c.closed.Store(true)
	c.mu.Unlock()
	c.closing.Do(func() {
		for _, s := range c.openSessions() {
			s.stopDrafts()
		}
		c.renewer.close()
		c.killAhead(func(*flight[O]) bool { return true })
		c.workers.busy.Wait()
		c.workers.close()
		c.limiter.close()
		c.store.main.close()
		c.clock.close()
		if c.events != nil {
			c.events.close()
		}
	})
	return nil
}

// spawn runs a function on a goroutine that Close waits for. It returns false,
// and runs nothing, once the cache is closed.
func (c *Cache[O]) spawn(run func()) bool {
	c.mu.Lock()
	if c.closed.Load() {
		c.mu.Unlock()
		return false
	}
	c.workers.busy.Add(1)
	c.mu.Unlock()
	c.workers.run(run)
	return true
}

// killAhead cancels the runs ahead that match, whether or not a target waits
// for them: what they bring can't be served any more.
func (c *Cache[O]) killAhead(match func(*flight[O]) bool) {
	c.limiter.each(func(f *flight[O]) {
		if match(f) {
			f.kill(errGivenUp)
		}
	})
}

// now reads the cache's monotonic clock.
func (c *Cache[O]) now() time.Duration { return c.clock.now() }

func (c *Cache[O]) emit(e Event) {
	if c.events == nil {
		return
	}
	e.Time = time.Now()
	c.events.send(e)
}

// describe fills in an event's action, with its arguments only if the
// configuration allows.
func (c *Cache[O]) describe(e *Event, a actions.Action) {
	e.Action = a.Name()
	if c.cfg.ShowArgs {
		e.Args = a.Args()
	}
}

// errText is the text of an error, or only its type: errors of tools and
// predictors may quote arguments.
func (c *Cache[O]) errText(err error) string {
	switch {
	case err == nil:
		return ""
	case c.cfg.ShowArgs, err == ErrNotAhead:
		return textOf(err)
	}
	return fmt.Sprintf("%T", err)
}
