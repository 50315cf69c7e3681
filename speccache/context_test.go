package speccache_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

type tag struct{}

// derived is what executors make of their context.
type derived struct {
	own, timed, cancelled, grouped context.Context
	told                           chan struct{} // closed by an AfterFunc
	stopped                        func() bool   // stops another one
}

func derive(ctx context.Context) (d derived, done func()) {
	d.own, d.told = ctx, make(chan struct{})
	var ends [2]context.CancelFunc
	d.timed, ends[0] = context.WithTimeout(ctx, time.Hour)
	d.cancelled, ends[1] = context.WithCancel(context.WithValue(ctx, tag{}, "inner"))
	_, d.grouped = errgroup.WithContext(ctx)
	context.AfterFunc(ctx, func() { close(d.told) })
	d.stopped = context.AfterFunc(d.cancelled, func() { panic("it was stopped") })
	return d, func() { ends[0](); ends[1]() }
}

// Executors and their libraries treat the context of a run ahead as any other.
func TestWhatIsDerivedFromTheContextOfARunAheadEndsWithIt(t *testing.T) {
	for name, end := range map[string]func(c interface{ Close() error }, s interface{ Advance() }){
		"given up": func(_ interface{ Close() error }, s interface{ Advance() }) { s.Advance() },
		"closed":   func(c interface{ Close() error }, _ interface{ Advance() }) { c.Close() },
		"too slow": func(interface{ Close() error }, interface{ Advance() }) { after(time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var mu sync.Mutex
				var all []derived
				w := &tool{on: func(ctx context.Context, _ actions.Action) (string, error) {
					d, done := derive(ctx)
					defer done()
					assert.Equal(t, "outer", ctx.Value(tag{}))
					assert.Equal(t, "inner", d.cancelled.Value(tag{}))
					_, limited := ctx.Deadline()
					assert.False(t, limited)
					assert.True(t, d.stopped())
					mu.Lock()
					all = append(all, d)
					mu.Unlock()
					<-d.timed.Done()
					return "", d.timed.Err()
				}}
				c, s := open(t, gets(w), config{AheadTimeout: 30 * time.Second})
				caller, leave := context.WithTimeout(context.WithValue(t.Context(), tag{}, "outer"), time.Hour)
				s.Speculate(caller, many(3)...)
				synctest.Wait()
				leave() // which is nothing to them
				synctest.Wait()
				require.Len(t, all, 3)
				for _, d := range all {
					require.NoError(t, d.own.Err())
				}
				end(c, s)
				synctest.Wait()
				want := context.Canceled
				if name == "too slow" {
					want = context.DeadlineExceeded
				}
				for _, d := range all {
					assert.Equal(t, want, d.own.Err())
					assert.Equal(t, want, context.Cause(d.own))
					for _, child := range []context.Context{d.own, d.timed, d.cancelled, d.grouped} {
						<-child.Done()
						assert.Error(t, child.Err())
					}
					<-d.told
					late, cancel := context.WithCancel(d.own)
					<-late.Done()
					cancel()
					again := make(chan struct{})
					context.AfterFunc(d.own, func() { close(again) })
					<-again
				}
			})
		})
	}
}

func TestTheContextOfARunAheadEndsWhenItHasLanded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var kept context.Context
		w := &tool{on: func(ctx context.Context, _ actions.Action) (string, error) {
			kept = ctx
			return "page", nil
		}}
		_, s := open(t, gets(w), config{})
		s.Speculate(t.Context(), get(1))
		synctest.Wait()
		assert.ErrorIs(t, kept.Err(), context.Canceled, "as that of a handler that has returned")
		assert.Contains(t, kept.(interface{ String() string }).String(), "speccache")
	})
}

// Libraries derive contexts and stop listening from many goroutines.
func TestContextsOfRunsAheadMayBeDerivedFromAnywhere(t *testing.T) {
	const many = 50
	release := make(chan struct{})
	var all sync.WaitGroup
	w := &tool{on: func(ctx context.Context, _ actions.Action) (string, error) {
		for i := range many {
			all.Go(func() {
				child, cancel := context.WithCancel(ctx)
				defer cancel()
				stop := context.AfterFunc(child, func() {})
				if i%2 == 0 {
					stop()
					return
				}
				<-child.Done()
			})
		}
		<-release
		return "page", nil
	}}
	c, s := open(t, gets(w), config{})
	s.Speculate(t.Context(), get(1), get(2))
	require.Eventually(t, func() bool { runs, _ := w.count(get(2)); return runs == 1 }, wait, tick)
	s.Advance()
	close(release)
	require.NoError(t, c.Close())
	all.Wait()
}
