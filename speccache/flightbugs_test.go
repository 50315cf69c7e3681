package speccache_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A bench has one key, get 1 of a scope of its own, that somebody flies and
// others ask for.
type bench struct {
	t     *testing.T
	c     *speccache.Cache[string]
	scope string
	// fly is what the n-th run does, from 1.
	fly func(ctx context.Context, n int) (string, error)

	mu   sync.Mutex
	runs int
}

// flown is what a run takes that nothing is wrong with: less than anybody waits.
const flown = 800 * time.Millisecond

// benches makes a cache for them.
func benches(t *testing.T, cfg config) *speccache.Cache[string] {
	c, err := speccache.New(gets(&tool{}), cfg)
	require.NoError(t, err)
	return c
}

func (b *bench) do(ctx context.Context, _ actions.Action) (string, error) {
	b.mu.Lock()
	b.runs++
	n := b.runs
	b.mu.Unlock()
	return b.fly(ctx, n)
}

func (b *bench) open() *speccache.Session[string] {
	return b.c.Open(opening{Scope: b.scope, Do: b.do})
}

// whole takes its time and succeeds.
func whole(ctx context.Context) (string, error) { return "the page", pause(ctx, flown) }

// first makes the first run go wrong, halfway, and the others succeed.
func first(wrong func()) func(context.Context, int) (string, error) {
	return func(ctx context.Context, n int) (string, error) {
		if n > 1 {
			return whole(ctx)
		}
		err := pause(ctx, flown/2)
		wrong()
		return "", err
	}
}

// dies makes the first run long in dying, when its context has ended.
func dies(ctx context.Context, n int) (string, error) {
	o, err := whole(ctx)
	if n == 1 && err != nil {
		after(flown / 2)
	}
	return o, err
}

// stuck makes the first run hang until it is cancelled.
func stuck(ctx context.Context, n int) (string, error) {
	if n == 1 {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return whole(ctx)
}

// sound is a tool without fault.
func sound(ctx context.Context, _ int) (string, error) { return whole(ctx) }

// ask asks for the key in a session of its own, and survives what comes.
func (b *bench) ask(ctx context.Context) (r speccache.Result[string], end string, err error) {
	s := b.open()
	defer s.Close()
	end = survive(func() string {
		r, err = s.Run(ctx, get(1))
		return "returned"
	})
	return r, end, err
}

// expect asks, and checks that the page comes within a time.
func (b *bench) expect(within time.Duration) speccache.Result[string] {
	began := time.Now()
	r, end, err := b.ask(context.Background())
	assert.NoError(b.t, err)
	assert.Equal(b.t, "returned", end)
	assert.Equal(b.t, "the page", r.Observation)
	assert.LessOrEqual(b.t, time.Since(began), within)
	return r
}

// crowd asks many times at once, and waits for all.
func (b *bench) crowd(n int, within time.Duration) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() { b.expect(within) })
	}
	all.Wait()
}

// bounded is the longest that a joiner may wait for what fails, with its own
// run after it.
const bounded = time.Second + flown

// ahead has a session guess the key.
func (b *bench) ahead() *speccache.Session[string] {
	s := b.open()
	s.Speculate(context.Background(), get(1))
	synctest.Wait()
	return s
}

// lead has a target fly the key, whose end comes on a channel.
func (b *bench) lead(ctx context.Context) chan string {
	end := make(chan string, 1)
	go func() {
		_, how, _ := b.ask(ctx)
		end <- how
	}()
	synctest.Wait()
	return end
}

// flightBugs are known bugs of flights that are shared, as histories that must
// end well, by the promise that each protects.
var flightBugs = []struct {
	promise string
	fly     func(ctx context.Context, n int) (string, error)
	run     func(t *testing.T, b *bench)
}{
	{"after a panic the key is alive", first(func() { panic("once") }), func(t *testing.T, b *bench) { // golang/go#33519
		led := b.lead(t.Context())
		b.crowd(3, bounded)
		assert.Equal(t, "panicked: once", <-led, "the panic is the leader's own")
		assert.Equal(t, speccache.Hit, b.expect(0).Outcome)
	}},
	{"a panic ahead wakes who joined, and is nobody's", first(func() { panic("once") }), func(t *testing.T, b *bench) { // golang/go#41133
		s := b.ahead()
		b.crowd(3, bounded)
		assert.Equal(t, speccache.Hit, b.expect(0).Outcome)
		s.Close()
	}},
	{"after Goexit the key is alive", first(runtime.Goexit), func(t *testing.T, b *bench) { // golang/go#67087
		led := b.lead(t.Context())
		b.crowd(3, bounded)
		assert.Equal(t, "exited", <-led, "the exit is the leader's own")
		assert.Equal(t, speccache.Hit, b.expect(0).Outcome)
	}},
	{"Goexit ahead wakes who joined, and is nobody's", first(runtime.Goexit), func(t *testing.T, b *bench) { // golang/go#52557
		s := b.ahead()
		b.crowd(3, bounded)
		assert.Equal(t, speccache.Hit, b.expect(0).Outcome)
		s.Close()
	}},
	{"an outdated run that ends leaves the newer one's claim", sound, func(t *testing.T, b *bench) { // golang/go#31420
		led := b.lead(t.Context())
		after(flown / 2)
		b.c.Advance(b.scope)
		newer := b.lead(t.Context())
		after(flown * 3 / 4) // the first has ended
		assert.Equal(t, speccache.Join, b.expect(flown/4).Outcome)
		assert.Equal(t, []string{"returned", "returned"}, []string{<-led, <-newer})
		assert.Equal(t, 2, b.runs)
	}},
	{"a run that somebody joins at the last moment is not cancelled as nobody's", sound, func(t *testing.T, b *bench) { // golang/go#55343
		s := b.ahead()
		var both sync.WaitGroup
		both.Go(func() { b.expect(flown) })
		both.Go(func() { s.Close() }) // gives up what nobody has joined
		both.Wait()
		assert.LessOrEqual(t, b.runs, 2)
	}},
	{"nobody joins a run whose caller has left", dies, func(t *testing.T, b *bench) { // tailscale/tailscale#18919
		ctx, cancel := context.WithCancel(t.Context())
		led := b.lead(ctx)
		after(flown / 4)
		cancel()
		synctest.Wait()
		b.expect(flown/2 + flown)
		assert.Equal(t, "returned", <-led)
	}},
	{"a joiner that leaves does not let the next one start another run", sound, func(t *testing.T, b *bench) { // janos/singleflight#4
		s := b.ahead()
		ctx, cancel := context.WithTimeout(t.Context(), flown/4)
		defer cancel()
		_, _, err := b.ask(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, speccache.Join, b.expect(flown*3/4).Outcome)
		assert.Equal(t, 1, b.runs)
		s.Close()
	}},
	{"what has ended can be found before its claim is gone", sound, func(t *testing.T, b *bench) { // maypok86/otter#152
		s := b.ahead()
		var all sync.WaitGroup
		for i := range 8 { // around the moment at which the run ends
			all.Go(func() {
				after(flown - 4 + time.Duration(i))
				b.expect(4)
			})
		}
		all.Wait()
		assert.Equal(t, 1, b.runs)
		s.Close()
	}},
	{"what waits for a permit is not joined", stuck, func(t *testing.T, b *bench) { // astral-sh/uv#20082
		hung := b.open() // and has the only one
		hung.Speculate(t.Context(), get(0))
		synctest.Wait()
		s := b.ahead() // queued
		r := b.expect(flown)
		assert.Equal(t, speccache.Miss, r.Outcome)
		assert.Equal(t, 2, b.runs)
		s.Close()
		hung.Close()
	}},
}

func TestLosslessKnownBugsOfSharedFlightsAreNotHere(t *testing.T) {
	const inOne = 10 // in one cache, which costs more to make than a history
	times := 1000
	if raced && testing.Short() {
		times = 100
	}
	for _, bug := range flightBugs {
		t.Run(bug.promise, func(t *testing.T) {
			for range times / inOne {
				bubble(t, func(t *testing.T) {
					c := benches(t, config{MaxAhead: 1})
					defer c.Close()
					for i := range inOne {
						bug.run(t, &bench{t: t, c: c, scope: fmt.Sprint(i), fly: bug.fly})
						synctest.Wait() // until the permit is back
					}
				})
				if t.Failed() {
					return
				}
			}
		})
	}
}
