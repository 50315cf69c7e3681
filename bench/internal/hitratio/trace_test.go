package hitratio

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func TestATraceIsAFunctionOfItsSeed(t *testing.T) {
	for _, tr := range traces {
		a, b := tr.make(seeded(1), 500, 50), tr.make(seeded(1), 500, 50)
		assert.Len(t, a, 500, tr.name)
		assert.Equal(t, a, b, tr.name)
		assert.NotEqual(t, a, tr.make(seeded(2), 500, 50), tr.name)
	}
}

func TestZipfDrawsByRank(t *testing.T) {
	z, r := newZipf(10, 1), seeded(1)
	var counts [10]float64
	const n = 100_000
	for range n {
		counts[z.draw(r)]++
	}
	assert.InEpsilon(t, 2, counts[0]/counts[1], 0.05)
	assert.InEpsilon(t, 10, counts[0]/counts[9], 0.1)
}

func TestTheLoopIsLargerThanTheCacheAndTheHotSetSmaller(t *testing.T) {
	const capacity = 100
	hot, loop, last := map[int]bool{}, map[int]bool{}, -1
	for _, thing := range hotAndLoop(seeded(1), 10_000, capacity) {
		if thing < capacity/2 {
			hot[thing] = true
			continue
		}
		loop[thing] = true
		at := thing - capacity/2
		assert.Equal(t, (last+1)%(2*capacity), at, "always in the same order")
		last = at
	}
	assert.Len(t, hot, capacity/2)
	assert.Len(t, loop, 2*capacity)
}

func TestAgentsFollowLinksGoBackAndReturn(t *testing.T) {
	r := seeded(1)
	web, linked, back, again := newWeb(r), 0, 0, 0
	var w walker
	for range 10_000 {
		before := w.seen
		page := w.click(r, web)
		if len(before) == 0 || len(w.seen) == 1 {
			assert.Zero(t, page%pagesPerSite, "a task begins at a site's first page")
			continue
		}
		here := before[len(before)-1]
		assert.Equal(t, here/pagesPerSite, page/pagesPerSite, "a task stays on its site")
		switch {
		case len(before) > 1 && page == before[len(before)-2]:
			back++
		case slices.Contains(web.links[here], page):
			linked++
		default:
			assert.Contains(t, before, page)
			again++
		}
	}
	assert.Greater(t, linked, back)
	assert.Greater(t, back, again)
	assert.Positive(t, again)
}
