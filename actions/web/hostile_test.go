//go:build !race

// Race builds take ten times as long, and show nothing of time and memory.

package web_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
)

// atOnce is how often a host gives the same answer at one time: as many as run
// ahead after one step by default.
const atOnce = 3

func TestAHostileCorpusCostsLittleTimeAndAtMost64MiB(t *testing.T) {
	for name, c := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			f, url := serveWith(t, web.Config{IgnoreRobots: true, Timeout: patienceFor(c)}, c.answer)
			ahead := actions.WithCall(t.Context(), actions.Call{Ahead: true})
			began := time.Now()
			var pages [atOnce]*web.Page
			var errs [atOnce]error
			live, heap := peak(t, func() {
				var all sync.WaitGroup
				for i := range atOnce {
					all.Go(func() { pages[i], errs[i] = f.Do(ahead, visit(t, fmt.Sprint(url, "/", i))) })
				}
				all.Wait()
			})
			for i := range pages {
				checkHostile(t, c, f, pages[i], errs[i])
			}
			assert.Less(t, time.Since(began), slowdown*20*time.Second)
			if live > 16<<20 {
				t.Logf("%s: peak of live memory %d MiB, of the heap %d MiB", name, live>>20, heap>>20)
			}
			assert.LessOrEqual(t, live>>20, int64(64), "MiB of live memory")
		})
	}
}

// patienceFor is short for what never ends.
func patienceFor(c trap) time.Duration {
	if errors.Is(c.err, os.ErrDeadlineExceeded) {
		return 300 * time.Millisecond
	}
	return slowdown * 15 * time.Second
}

func checkHostile(t *testing.T, c trap, f *web.Fetcher, p *web.Page, err error) {
	switch {
	case c.err != nil:
		assert.True(t, p == nil, "a page")
		if assert.True(t, err != nil, "no error") && !errors.Is(c.err, errAny) {
			assert.ErrorIs(t, err, c.err)
		}
		if !errors.Is(c.err, os.ErrDeadlineExceeded) {
			assert.NotErrorIs(t, err, os.ErrDeadlineExceeded)
		}
		assert.Less(t, len(fmt.Sprint(err)), 2000)
	case assert.NoError(t, err):
		assert.LessOrEqual(t, len(p.HTML()), 8<<20)
		v := p.View()
		assert.LessOrEqual(t, len(v.Text), 64<<10+4*len(p.HTML()))
		for _, l := range p.Links()[:min(len(p.Links()), 1000)] {
			checkLabel(t, l.Label)
		}
		_, keep := f.Environment().Fresh(actions.Action{}, p)
		assert.Equal(t, !c.forgotten, keep)
	}
}

// peak returns the most memory above what there was before that run has live, as
// the garbage collector finds it again and again, and the most that the heap's
// objects take, garbage among them.
func peak(t *testing.T, run func()) (live, heap int64) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	before, _ := inUse()
	done, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			select {
			case <-done:
				return
			default:
			}
			nowLive, nowHeap := inUse()
			live, heap = max(live, nowLive-before), max(heap, nowHeap-before)
		}
	}()
	run()
	close(done)
	<-sampled
	return live, heap
}

// inUse collects garbage and returns what is live after that, and what the heap's
// objects took before.
func inUse() (live, heap int64) {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s[:1])
	runtime.GC()
	metrics.Read(s[1:])
	return int64(s[1].Value.Uint64()), int64(s[0].Value.Uint64())
}

func TestAHostileRobotsFileCostsLittleTimeAndAtMost64MiB(t *testing.T) {
	const endless = 1 << 30
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"endless":         body("text/plain", "User-agent: *\n", "Allow: /a\n", endless),
		"an endless line": body("text/plain", "User-agent: *\nDisallow: /", "a", endless),
		"binary":          body("application/octet-stream", "", "\x00\xff\r\x1b", 200_000),
		"rules":           body("text/plain", "User-agent: *\n", "Allow:/\n", 64_000),
		"escapes":         body("text/plain", "User-agent: *\n", "Allow:/%61\n", 46_000),
		"stars":           body("text/plain", "User-agent: *\n", "Disallow: /"+strings.Repeat("*a", 500)+"$\n", 500),
		"groups":          body("text/plain", "", "User-agent: *\nDisallow: /x\n", 20_000),
		"bomb":            bomb(t),
		"redirects":       func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) },
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/robots.txt") {
					answer(w, r)
					return
				}
				writeHTML(w, "<p>page")
			}))
			defer srv.Close()
			ahead := actions.WithCall(t.Context(), actions.Call{Ahead: true})
			began := time.Now()
			live, _ := peak(t, func() {
				var all sync.WaitGroup
				for range atOnce { // as if each had a host of its own
					all.Go(func() {
						f := web.New(web.Config{Guard: web.Guard{Allow: web.Loopback()}})
						defer f.Close()
						_, err := f.Do(ahead, visit(t, srv.URL+"/"+strings.Repeat("a", 2000)))
						if e, refused := errors.AsType[*web.PolicyError](err); refused {
							assert.Equal(t, "robots", e.Rule)
						} else {
							assert.NoError(t, err)
						}
					})
				}
				all.Wait()
			})
			assert.Less(t, time.Since(began), slowdown*10*time.Second)
			assert.LessOrEqual(t, live>>20, int64(64), "MiB of live memory")
		})
	}
}
