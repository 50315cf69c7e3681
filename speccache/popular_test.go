package speccache_test

import (
	"math/rand/v2"
	"testing"

	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
)

// Every other read is of a hot set that would fill half of the cache, between
// them goes a loop over twice as much as it holds: only who knows what is read
// often keeps the hot set.
func TestWhatIsReadOftenStaysThroughALoop(t *testing.T) {
	const size, room = 10 << 10, 200
	c, s := open(t, gets(pages(size-1<<9)), config{MaxScopeBytes: unshared, MaxBytes: room * size})
	rnd := rand.New(rand.NewPCG(1, 2))
	hits, asked := 0, 0
	for i := range 8000 {
		must(t, s, act("get", []int{i % (2 * room)}))
		r := must(t, s, get(rnd.IntN(room/2)))
		if i > 4000 { // ristretto has learned
			asked++
			if r.Outcome == speccache.Hit {
				hits++
			}
		}
		if i%20 == 0 {
			speccache.Settle(c)
		}
	}
	t.Logf("%d of %d", hits, asked)
	if !raced { // then ristretto loses what it is told: it keeps that in a sync.Pool
		assert.Greater(t, float64(hits)/float64(asked), 0.85)
	}
	speccache.CheckStore(t, c)
}
