package speccache_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
)

func TestThousandsOfSessionsAreOpenAtOnceAndIdleOnesHaveNoGoroutine(t *testing.T) {
	const crowd = 5000
	bubble(t, func(t *testing.T) {
		w := &tool{takes: 300 * time.Millisecond}
		c, _ := open(t, gets(w), config{Predictor: guesses(get("next")), MaxAhead: crowd})
		before := runtime.NumGoroutine()
		sessions := make([]*speccache.Session[string], crowd)
		var all sync.WaitGroup
		for i := range sessions {
			s := c.Open(opening{Scope: fmt.Sprint("scope ", i%100)})
			sessions[i] = s
			all.Go(func() {
				r := must(t, s, get(i))
				assert.Equal(t, "saw "+get(i).String(), r.Observation)
				assert.LessOrEqual(t, r.Waited, w.takes)
			})
		}
		all.Wait()
		after(time.Minute)
		assert.LessOrEqual(t, runtime.NumGoroutine(), before+5, "of %d idle sessions", crowd)
		assert.LessOrEqual(t, speccache.Counted(c), crowd+1)
		ready := 0
		for _, s := range sessions {
			if must(t, s, get("next")).Outcome == speccache.Hit {
				ready++
			}
			s.Close()
		}
		assert.Equal(t, crowd, ready, "each has its guess")
		synctest.Wait()
		assert.Equal(t, 1, speccache.Counted(c), "the closed ones are gone")
	})
}
