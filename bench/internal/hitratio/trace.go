package hitratio

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// A trace makes a stream of requests: n of them, which are numbers of things,
// for caches that hold so many things.
type trace struct {
	name string
	make func(r *rand.Rand, n, capacity int) []int
}

// things is how many different ones the zipf traces are about.
const things = 20_000

var traces = []trace{
	{"zipf 0.7", zipfTrace(0.7)},
	{"zipf 0.9", zipfTrace(0.9)},
	{"zipf 1.1", zipfTrace(1.1)},
	{"hot set and loop", hotAndLoop},
	{"agent revisits", revisits},
}

// A zipf draws numbers below n, of which the k-th is drawn 1/k^skew as often as
// the first. The package rand has one for skews above 1 only.
type zipf []float64 // cumulated weights

func newZipf(n int, skew float64) zipf {
	z, sum := make(zipf, n), 0.0
	for k := range z {
		sum += math.Pow(float64(k+1), -skew)
		z[k] = sum
	}
	return z
}

func (z zipf) draw(r *rand.Rand) int {
	return sort.SearchFloat64s(z, r.Float64()*z[len(z)-1])
}

func zipfTrace(skew float64) func(r *rand.Rand, n, capacity int) []int {
	z := newZipf(things, skew)
	return func(r *rand.Rand, n, _ int) []int {
		list := make([]int, n)
		for i := range list {
			list[i] = z.draw(r)
		}
		return list
	}
}

// hotAndLoop is every other request for something out of a hot set of half the
// cache, and between them a loop over twice as much as the cache holds, always
// in the same order.
func hotAndLoop(r *rand.Rand, n, capacity int) []int {
	hot, loop := max(1, capacity/2), 2*capacity
	list, at := make([]int, n), 0
	for i := range list {
		if r.IntN(2) == 0 {
			list[i] = r.IntN(hot)
			continue
		}
		list[i] = hot + at
		at = (at + 1) % loop
	}
	return list
}

// What the agents of revisits do.
const (
	agents       = 8 // at one time
	sites        = 100
	pagesPerSite = 200
	linksPerPage = 8
	walkSteps    = 15   // of a task, on average
	backClicks   = 0.25 // share of clicks that go back to the page before
	returns      = 0.10 // share that go to some page that was seen in this task
)

// revisits is agents that walk on sites. A task begins at a site's first page;
// popular sites have more tasks, and the upper links of a page are clicked more
// often. Agents take turns at random.
func revisits(r *rand.Rand, n, _ int) []int {
	web := newWeb(r)
	walkers := make([]walker, agents)
	list := make([]int, n)
	for i := range list {
		list[i] = walkers[r.IntN(agents)].click(r, web)
	}
	return list
}

// A web is sites of pages, which are numbered over all sites, and their links.
type web struct {
	links   [][]int
	popular zipf // sites
	upper   zipf // links of a page
}

func newWeb(r *rand.Rand) *web {
	w := &web{popular: newZipf(sites, 0.8), upper: newZipf(linksPerPage, 1)}
	pages := newZipf(pagesPerSite, 0.8) // some are linked from everywhere
	for page := range sites * pagesPerSite {
		first := page / pagesPerSite * pagesPerSite
		links := make([]int, linksPerPage)
		for i := range links {
			links[i] = first + pages.draw(r)
		}
		w.links = append(w.links, links)
	}
	return w
}

// A walker is an agent at its task.
type walker struct {
	seen []int // pages, in order; the last one is in view
}

// click goes to another page, in a new task if the old one is done.
func (w *walker) click(r *rand.Rand, web *web) int {
	var page int
	switch x := r.Float64(); {
	case len(w.seen) == 0 || r.IntN(walkSteps) == 0:
		w.seen = nil
		page = web.popular.draw(r) * pagesPerSite
	case x < backClicks && len(w.seen) > 1:
		page = w.seen[len(w.seen)-2]
	case x < backClicks+returns:
		page = w.seen[r.IntN(len(w.seen))]
	default:
		page = web.links[w.seen[len(w.seen)-1]][web.upper.draw(r)]
	}
	w.seen = append(slices.Clip(w.seen), page)
	return page
}
