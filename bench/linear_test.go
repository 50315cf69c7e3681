package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What an operation of a history does to one register. A register holds a
// number, and each change gives it the next one.
type deed int

const (
	reads   deed = iota // and returns a number
	writes              // by an action that is a Write or undeclared
	changes             // by other means, of which the cache does not know yet
	hides               // Advance, or a write to another register of the scope
)

// span is what a read of a register may return: the latest number, and back
// to the oldest that nothing has hidden yet.
type span struct{ oldest, latest int }

// registers says what is legal, one after the other. A write hides what came
// before in the same moment: that is promise 5.
var registers = porcupine.Model{
	Init: func() any { return span{} },
	Step: func(state, in, out any) (bool, any) {
		s, n := state.(span), out.(int)
		switch in.(deed) {
		case reads:
			return s.oldest <= n && n <= s.latest, s
		case writes:
			return n == s.latest+1, span{n, n}
		case changes:
			return n == s.latest+1, span{s.oldest, n}
		}
		return true, span{s.latest, s.latest}
	},
	DescribeOperation: func(in, out any) string {
		return fmt.Sprint([...]string{"read", "write", "change", "hide"}[in.(deed)], " ", out)
	},
}

// place is where a register is: in a scope, or public.
type place struct {
	scope string
	key   int
}

const public = "public"

// A world has registers that one tool reads and writes, and the history of
// what its clients did to them.
type world struct {
	clock  atomic.Int64 // orders calls and returns: virtual time stands still too often
	slow   bool         // runs take their time
	cache  *speccache.Cache[int]
	script *script

	mu      sync.Mutex
	numbers map[place]int
	wrote   map[int]int // by write: the number that it gave to its register
	history map[place][]porcupine.Operation
}

// A script is a world's source of chance.
type script struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (s *script) n(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.IntN(n)
}

// order is what an action says: which register, and for writes the number of
// the operation, by which its effect is found.
type order struct{ Key, Op int }

const keys, filler = 2, 1000

var errTool = errors.New("the tool has failed")

// do is the tool: reads see the register at one moment of their run, writes
// have their effect at one moment, and some of both end badly.
func (w *world) do(ctx context.Context, a actions.Action) (int, error) {
	var o order
	if err := a.Decode(&o); err != nil {
		return 0, err
	}
	at := place{actions.CallFrom(ctx).Scope, o.Key}
	if a.Name() == "see" || a.Name() == "publish" {
		at.scope = public
	}
	if err := w.pause(ctx); err != nil {
		return 0, err
	}
	n := w.touch(at, a, o)
	if err := w.pause(ctx); err != nil {
		return n, err
	}
	return n, w.end(actions.CallFrom(ctx).Ahead)
}

func (w *world) touch(at place, a actions.Action, o order) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.Name() != "get" && a.Name() != "see" {
		w.numbers[at]++
		w.wrote[o.Op] = w.numbers[at]
	}
	return w.numbers[at]
}

// end is how a run ends: most well, runs ahead less so.
func (w *world) end(ahead bool) error {
	chance := 30
	if ahead {
		chance = 8
	}
	switch w.script.n(chance) {
	case 0:
		return errTool
	case 1:
		panic(errTool)
	}
	return nil
}

// pause lets others run, and in slow worlds some virtual time pass: some runs
// take longer than a join waits.
func (w *world) pause(ctx context.Context) error {
	runtime.Gosched()
	if !w.slow || w.script.n(2) == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(time.Duration(1+w.script.n(1500)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// note adds to a register's history what began at call and ends now. What a
// write does to its register it hides in the others of its scope.
func (w *world) note(client int, at place, d deed, call int64, n int) {
	ret := w.clock.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range keys {
		to, what := place{at.scope, key}, d
		if key != at.key {
			if d == reads || d == changes {
				continue
			}
			what = hides
		}
		w.history[to] = append(w.history[to], porcupine.Operation{ClientId: client, Input: what, Call: call, Output: n, Return: ret})
	}
}

// A client does one thing after the other.
type client struct {
	*world
	id int
	s  *speccache.Session[int]
}

func (c *client) live() {
	for i := range 24 {
		switch c.script.n(20) {
		default:
			c.read("get", place{c.scope(), c.script.n(keys)})
		case 0, 1:
			c.read("see", place{public, c.script.n(keys)})
		case 2, 3, 4:
			c.lookup("get", place{c.scope(), c.script.n(keys)})
		case 5:
			c.lookup("see", place{public, c.script.n(keys)})
		case 6, 7:
			c.write([]string{"put", "undeclared"}[c.script.n(2)], place{c.scope(), c.script.n(keys)}, 100*c.id+i)
		case 8:
			c.write("publish", place{public, c.script.n(keys)}, 100*c.id+i)
		case 9:
			c.change(place{[]string{c.scope(), public}[c.script.n(2)], c.script.n(keys)})
		case 10, 11:
			c.evict()
		case 12, 13, 14:
			c.s.Speculate(context.Background(), actions.Must("get", order{Key: c.script.n(keys)}), actions.Must("see", order{Key: c.script.n(keys)}))
		}
		c.pause(context.Background())
	}
}

func (c *client) scope() string { return []string{"a", "b"}[c.id%2] }

// read runs a read, which its caller may leave.
func (c *client) read(name string, at place) {
	ctx := context.Background()
	if c.script.n(10) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.script.n(1000))*time.Millisecond)
		defer cancel()
	}
	call := c.clock.Add(1)
	if n, err := c.try(ctx, actions.Must(name, order{Key: at.key})); err == nil {
		c.note(c.id, at, reads, call, n)
	}
}

func (c *client) lookup(name string, at place) {
	call := c.clock.Add(1)
	if e, missed := c.s.Lookup(actions.Must(name, order{Key: at.key})); missed == "" {
		c.note(c.id, at, reads, call, e.Observation)
	}
}

// write counts if it had its effect, however it ended.
func (c *client) write(name string, at place, op int) {
	call := c.clock.Add(1)
	_, err := c.try(context.Background(), actions.Must(name, order{at.key, op}))
	c.mu.Lock()
	n, done := c.wrote[op]
	c.mu.Unlock()
	if done || err == nil {
		c.note(c.id, at, writes, call, n)
	}
}

// change changes a register behind the cache's back, and tells it afterwards.
func (c *client) change(at place) {
	call := c.clock.Add(1)
	c.mu.Lock()
	c.numbers[at]++
	n := c.numbers[at]
	c.mu.Unlock()
	c.note(c.id, at, changes, call, n)
	c.pause(context.Background())
	call = c.clock.Add(1)
	if at.scope == public {
		c.cache.Advance("")
	} else {
		c.cache.Advance(at.scope)
	}
	c.note(c.id, at, hides, call, 0)
}

// evict reads more than the cache holds.
func (c *client) evict() {
	first := filler * (1 + c.script.n(10))
	for i := range 12 {
		_, _ = c.try(context.Background(), actions.Must("get", order{Key: first + i}))
	}
}

func (c *client) try(ctx context.Context, a actions.Action) (n int, err error) {
	defer func() {
		if recover() != nil {
			err = errTool
		}
	}()
	return c.s.Do(ctx, a)
}

// live lets eight clients loose in two scopes; some share a session.
func (w *world) live(t *testing.T) speccache.Stats {
	rules := actions.Reads("get")
	rules["see"] = actions.Rule{Effect: actions.ReadOnly, Ahead: true, Public: true, MaxAge: time.Hour}
	rules["put"] = actions.Rule{Effect: actions.Write}
	rules["publish"] = actions.Rule{Effect: actions.Write, Public: true}
	var err error
	w.cache, err = speccache.New(
		actions.Environment[int]{Do: w.do, Rules: rules, Size: func(int) int { return 100 }},
		speccache.Config[int]{MaxBytes: 20 << 10, AheadTimeout: 10 * time.Second},
	)
	require.NoError(t, err)
	sessions := map[int]*speccache.Session[int]{}
	var wg sync.WaitGroup
	for id := range 8 {
		scope := []string{"a", "b"}[id%2]
		if id < 6 {
			sessions[id] = w.cache.Open(speccache.SessionConfig[int]{Scope: scope})
		} else {
			sessions[id] = sessions[id-2]
		}
		wg.Go((&client{w, id, sessions[id]}).live)
	}
	wg.Wait()
	for _, s := range sessions {
		s.Close()
	}
	w.cache.Close()
	return w.cache.Stats()
}

// check returns how many registers' histories are not what the model allows,
// and how many could not be told in ten seconds.
func (w *world) check(t *testing.T) (illegal, unknown, operations int) {
	for at, history := range w.history {
		operations += len(history)
		switch porcupine.CheckOperationsTimeout(registers, history, 10*time.Second) {
		case porcupine.Illegal:
			illegal++
			w.show(t, at)
		case porcupine.Unknown:
			unknown++
		}
	}
	return illegal, unknown, operations
}

func (w *world) show(t *testing.T, at place) {
	history := w.history[at]
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	for _, o := range history {
		t.Logf("%v client %d [%d, %d] %s", at, o.ClientId, o.Call, o.Return, registers.DescribeOperation(o.Input, o.Output))
	}
}

func TestLinearizableWhatIsServedIsWhatTheRegisterHeldAtThatMoment(t *testing.T) {
	var illegal, unknown, operations int
	var sum speccache.Stats
	for seed := range uint64(histories) {
		w := &world{
			slow: seed%2 == 0, script: &script{r: rand.New(rand.NewPCG(seed, 2))},
			numbers: map[place]int{}, wrote: map[int]int{}, history: map[place][]porcupine.Operation{},
		}
		synctest.Test(t, func(t *testing.T) {
			st := w.live(t)
			sum.Lookups += st.Lookups
			sum.Hits += st.Hits
			sum.Joins += st.Joins
			sum.Used += st.Used
			sum.Writes += st.Writes + st.Undeclared
			sum.Drops.Rejected += st.Drops.Rejected
			sum.Drops.Evicted += st.Drops.Evicted
		})
		i, u, n := w.check(t)
		illegal, unknown, operations = illegal+i, unknown+u, operations+n
		require.Zero(t, illegal, "seed %d", seed)
	}
	assert.Zero(t, unknown)
	assert.Greater(t, sum.Hits+sum.Joins, sum.Lookups/10, "else it means nothing")
	assert.Positive(t, min(sum.Joins, sum.Used, sum.Writes, sum.Drops.Rejected+sum.Drops.Evicted))
	t.Logf("%d histories, %d operations on registers: %d illegal, %d unknown", histories, operations, illegal, unknown)
	t.Logf("%d lookups: %d hits, %d joins, %d first readings of runs ahead; %d writes; %d evicted, %d rejected",
		sum.Lookups, sum.Hits, sum.Joins, sum.Used, sum.Writes, sum.Drops.Evicted, sum.Drops.Rejected)
}

// The model must refuse what a cache without promise 5 would serve.
func TestTheModelOfRegistersRefusesWhatIsStale(t *testing.T) {
	op := func(call, ret int64, d deed, n int) porcupine.Operation {
		return porcupine.Operation{Input: d, Call: call, Output: n, Return: ret}
	}
	for name, c := range map[string]struct {
		history []porcupine.Operation
		legal   bool
	}{
		"old after a write":           {[]porcupine.Operation{op(1, 2, writes, 1), op(3, 4, reads, 0)}, false},
		"old beside a write":          {[]porcupine.Operation{op(1, 4, writes, 1), op(2, 3, reads, 0)}, true},
		"new, then old":               {[]porcupine.Operation{op(1, 6, writes, 1), op(2, 3, reads, 1), op(4, 5, reads, 0)}, false},
		"old after a change":          {[]porcupine.Operation{op(1, 2, changes, 1), op(3, 4, reads, 0)}, true},
		"old after it was told":       {[]porcupine.Operation{op(1, 2, changes, 1), op(3, 4, hides, 0), op(5, 6, reads, 0)}, false},
		"what nobody wrote":           {[]porcupine.Operation{op(1, 2, reads, 1)}, false},
		"a write that does not count": {[]porcupine.Operation{op(1, 2, writes, 1), op(3, 4, writes, 1)}, false},
	} {
		assert.Equal(t, c.legal, porcupine.CheckOperations(registers, c.history), name)
	}
}
