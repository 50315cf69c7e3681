package speccache_test

import (
	"context"
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

// A bench has one key, get 1, that somebody flies and others ask for.
type bench struct {
	t    *testing.T
	c    *speccache.Cache[string]
	runs int
	// fly is what the n-th run does, from 1.
	fly func(ctx context.Context, n int) (string, error)

	mu sync.Mutex
}

// flown is what a run takes that nothing is wrong with: less than anybody waits.
const flown = 800 * time.Millisecond

func newBench(t *testing.T, cfg config, fly func(ctx context.Context, n int) (string, error)) *bench {
	b := &bench{t: t, fly: fly}
	c, err := speccache.New(env{Do: b.do, Rules: actions.Reads("get")}, cfg)
	require.NoError(t, err)
	b.c = c
	return b
}

func (b *bench) do(ctx context.Context, _ actions.Action) (string, error) {
	b.mu.Lock()
	b.runs++
	n := b.runs
	b.mu.Unlock()
	return b.fly(ctx, n)
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

// ask asks for the key in a session of its own, and survives what comes.
func (b *bench) ask(ctx context.Context) (r speccache.Result[string], end string, err error) {
	s := b.c.Open(opening{Scope: "test"})
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
	s := b.c.Open(opening{Scope: "test"})
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
	run     func(t *testing.T)
}{
	{"after a panic the key is alive", func(t *testing.T) { // golang/go#33519
		b := newBench(t, config{}, first(func() { panic("once") }))
		led := b.lead(t.Context())
		b.crowd(3, bounded)
		assert.Equal(t, "panicked: once", <-led, "the panic is the leader's own")
		assert.Equal(t, speccache.Hit, b.expect(0).Outcome)
		b.c.Close()
	}},
	{"a panic ahead wakes who joined, and is nobody's", func(t *testing.T) { // golang/go#41133
		b := newBench(t, config{}, first(func() { panic("once") }))
		s := b.ahead()
		b.crowd(3, bounded)
		assert.Equal(t, speccache.Hit, b.expect(0).Outcome)
		s.Close()
		b.c.Close()
	}},
	{"after Goexit the key is alive", func(t *testing.T) { // golang/go#67087
		b := newBench(t, config{}, first(runtime.Goexit))
		led := b.lead(t.Context())
		b.crowd(3, bounded)
		assert.Equal(t, "exited", <-led, "the exit is the leader's own")
		assert.Equal(t, speccache.Hit, b.expect(0).Outcome)
		b.c.Close()
	}},
	{"Goexit ahead wakes who joined, and is nobody's", func(t *testing.T) { // golang/go#52557
		b := newBench(t, config{}, first(runtime.Goexit))
		s := b.ahead()
		b.crowd(3, bounded)
		assert.Equal(t, speccache.Hit, b.expect(0).Outcome)
		s.Close()
		b.c.Close()
	}},
	{"an outdated run that ends leaves the newer one's claim", func(t *testing.T) { // golang/go#31420
		b := newBench(t, config{}, func(ctx context.Context, _ int) (string, error) { return whole(ctx) })
		led := b.lead(t.Context()) // until 1.0 s
		after(flown / 2)
		b.c.Advance("test")
		newer := b.lead(t.Context()) // from 0.5 s to 1.5 s
		after(flown * 3 / 4)         // the first has ended
		assert.Equal(t, speccache.Join, b.expect(flown/4).Outcome)
		assert.Equal(t, []string{"returned", "returned"}, []string{<-led, <-newer})
		assert.Equal(t, 2, b.runs)
		b.c.Close()
	}},
	{"a run that somebody joins at the last moment is not cancelled as nobody's", func(t *testing.T) { // golang/go#55343
		b := newBench(t, config{}, func(ctx context.Context, _ int) (string, error) { return whole(ctx) })
		s := b.ahead()
		var both sync.WaitGroup
		both.Go(func() { b.expect(flown) })
		both.Go(func() { s.Close() }) // gives up what nobody has joined
		both.Wait()
		assert.LessOrEqual(t, b.runs, 2)
		b.c.Close()
	}},
	{"nobody joins a run whose caller has left", func(t *testing.T) { // tailscale/tailscale#18919
		b := newBench(t, config{}, func(ctx context.Context, n int) (string, error) {
			o, err := whole(ctx)
			if n == 1 && err != nil {
				after(flown / 2) // it is long in dying
			}
			return o, err
		})
		ctx, cancel := context.WithCancel(t.Context())
		led := b.lead(ctx)
		after(flown / 4)
		cancel()
		synctest.Wait()
		b.expect(flown/2 + flown)
		assert.Equal(t, "returned", <-led)
		b.c.Close()
	}},
	{"a joiner that leaves does not let the next one start another run", func(t *testing.T) { // janos/singleflight#4
		b := newBench(t, config{}, func(ctx context.Context, _ int) (string, error) { return whole(ctx) })
		s := b.ahead()
		ctx, cancel := context.WithTimeout(t.Context(), flown/4)
		defer cancel()
		_, _, err := b.ask(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, speccache.Join, b.expect(flown*3/4).Outcome)
		assert.Equal(t, 1, b.runs)
		s.Close()
		b.c.Close()
	}},
	{"what has ended can be found before its claim is gone", func(t *testing.T) { // maypok86/otter#152
		b := newBench(t, config{}, func(ctx context.Context, _ int) (string, error) { return whole(ctx) })
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
		b.c.Close()
	}},
	{"what waits for a permit is not joined", func(t *testing.T) { // astral-sh/uv#20082
		b := newBench(t, config{MaxAhead: 1}, func(ctx context.Context, n int) (string, error) {
			if n == 1 {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return whole(ctx)
		})
		hung := b.c.Open(opening{})
		hung.Speculate(t.Context(), get(0))
		synctest.Wait()
		s := b.ahead() // queued
		r := b.expect(flown)
		assert.Equal(t, speccache.Miss, r.Outcome)
		assert.Equal(t, 2, b.runs)
		s.Close()
		hung.Close()
		b.c.Close()
	}},
}

func TestLosslessKnownBugsOfSharedFlightsAreNotHere(t *testing.T) {
	times := 1000
	if raced && testing.Short() {
		times = 100
	}
	for _, bug := range flightBugs {
		t.Run(bug.promise, func(t *testing.T) {
			for range times {
				bubble(t, bug.run)
				if t.Failed() {
					return
				}
			}
		})
	}
}
