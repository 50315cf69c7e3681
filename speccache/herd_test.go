package speccache_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
)

// A herd is a thousand targets that join one run.
const herd = 1000

// leads are the ways in which the run that all have joined may end: for those,
// it comes from the first run, or from what is done to it meanwhile.
var leads = map[string]struct {
	first   func(ctx context.Context) (string, error)
	disturb func(c *speccache.Cache[string], leave context.CancelFunc)
	shared  bool // it succeeds
}{
	"succeeds": {first: whole, shared: true},
	"fails": {first: func(ctx context.Context) (string, error) {
		pause(ctx, flown/2)
		return "half a page", errTool
	}},
	"panics": {first: func(ctx context.Context) (string, error) {
		pause(ctx, flown/2)
		panic("the first run")
	}},
	"exits": {first: func(ctx context.Context) (string, error) {
		pause(ctx, flown/2)
		runtime.Goexit()
		return "", nil
	}},
	"is cancelled": {first: whole, disturb: func(_ *speccache.Cache[string], leave context.CancelFunc) { leave() }},
	"is outdated":  {first: whole, disturb: func(c *speccache.Cache[string], _ context.CancelFunc) { c.Advance("test") }},
}

func TestLosslessAThousandJoinersShareASuccessAndNothingElse(t *testing.T) {
	for name, lead := range leads {
		for _, ahead := range []bool{false, true} {
			if ahead && name == "is cancelled" {
				continue // no caller can end a run ahead by leaving
			}
			t.Run(fmt.Sprintf("%s, ahead %v", name, ahead), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					b := &bench{t: t, c: benches(t, config{}), scope: "test"}
					b.fly = func(ctx context.Context, n int) (string, error) {
						if n == 1 {
							return lead.first(ctx)
						}
						err := pause(ctx, flown)
						return fmt.Sprint("page of run ", n), err
					}
					defer b.c.Close()
					ctx, leave := context.WithCancel(t.Context())
					defer leave()
					if ahead {
						defer b.ahead().Close()
					} else {
						b.lead(ctx)
					}
					if lead.disturb != nil {
						time.AfterFunc(flown/2, func() { lead.disturb(b.c, leave) })
					}
					pages := b.herd()
					if lead.shared {
						assert.Equal(t, 1, b.runs)
						assert.Equal(t, map[string]int{"the page": herd}, pages)
						return
					}
					assert.Equal(t, 1+herd, b.runs)
					assert.Len(t, pages, herd, "each its own")
				})
			})
		}
	}
}

// herd has all ask at once, none of whom may get an error or wait too long, and
// returns what they got.
func (b *bench) herd() map[string]int {
	var all sync.WaitGroup
	pages := map[string]int{}
	began := time.Now()
	for range herd {
		all.Go(func() {
			r, end, err := b.ask(context.Background())
			assert.NoError(b.t, err)
			assert.Equal(b.t, "returned", end)
			assert.LessOrEqual(b.t, time.Since(began), bounded)
			b.mu.Lock()
			defer b.mu.Unlock()
			pages[r.Observation]++
		})
	}
	all.Wait()
	return pages
}

func TestLosslessJoinersThatLeaveTakeNobodyWithThem(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := &bench{t: t, c: benches(t, config{}), scope: "test", fly: sound}
		defer b.c.Close()
		defer b.ahead().Close()
		var all sync.WaitGroup
		for i := range herd {
			all.Go(func() {
				if i%2 == 0 {
					b.expect(flown)
					return
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				timer := time.AfterFunc(time.Duration(i)*flown/(2*herd), func() { cancel(errTool) })
				defer timer.Stop()
				_, _, err := b.ask(ctx)
				assert.ErrorIs(t, err, errTool)
			})
		}
		all.Wait()
		assert.Equal(t, 1, b.runs)
	})
}

func TestLosslessWhoeverAsksWhileTheFirstRunEndsCausesNoOther(t *testing.T) {
	for range 100 {
		bubble(t, func(t *testing.T) {
			b := &bench{t: t, c: benches(t, config{}), scope: "test", fly: sound}
			defer b.c.Close()
			b.lead(t.Context())
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					after(flown)
					b.expect(0)
				})
			}
			all.Wait()
			assert.Equal(t, 1, b.runs)
			synctest.Wait()
		})
	}
}
