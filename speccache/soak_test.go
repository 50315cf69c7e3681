package speccache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// soaked is how many actions the soak test runs.
func soaked() int {
	switch {
	case raced && testing.Short():
		return 20_000
	case raced, testing.Short():
		return 100_000
	}
	return 1_000_000
}

// A soak is what agents do for very long, in real time, with a tool that takes
// none but lets others in.
type soak struct {
	c     *speccache.Cache[string]
	asked atomic.Int64
	most  int64
}

func soakTool(_ context.Context, a actions.Action) (string, error) {
	runtime.Gosched()
	switch h := a.Hash() % 16; {
	case a.Name() == "put":
	case h == 0:
		panic("soak")
	case h == 1:
		return "", errTool
	}
	return a.Args(), nil
}

// soakGuesses are the pages that a draft guesses after each step.
func soakGuesses(_ context.Context, s state) iterSeq {
	return func(yield func(actions.Prediction, error) bool) {
		n := int(s.Session)*7 + len(s.Steps)
		if n%16 != 0 { // most steps have none, for a guess costs more than all the rest
			return
		}
		for i := range 3 {
			if !yield(actions.Prediction{Action: soakPages[(n+i)%len(soakPages)]}, nil) {
				return
			}
		}
		if n%64 == 0 {
			yield(actions.Prediction{}, errTool)
		}
	}
}

var (
	soakPages = func() (list []actions.Action) {
		for i := range 5000 {
			list = append(list, get(i))
		}
		return list
	}()
	soakWrite = act("put", 1)
)

// live is one agent after the other until enough has been asked for.
func (k *soak) live(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 11))
	for k.asked.Load() < k.most {
		scope := ""
		switch r.IntN(4) {
		case 0, 1:
			scope = fmt.Sprint("once ", seed, r.Uint64()) // is forgotten
		case 2:
			scope = fmt.Sprint("shared ", r.IntN(8))
		}
		s := k.c.Open(opening{Scope: scope})
		near := r.IntN(len(soakPages))
		for range 100 {
			k.act(r, s, scope, near)
		}
		s.Close()
	}
}

func (k *soak) act(r *rand.Rand, s *speccache.Session[string], scope string, near int) {
	a := soakPages[(near+r.IntN(20))%len(soakPages)]
	ctx := context.Background()
	switch r.IntN(100) {
	case 0:
		a = soakWrite
	case 1:
		k.c.Advance(scope)
	case 2:
		s.SetModelVersion(fmt.Sprint(r.IntN(3)))
	case 3:
		ended, cancel := context.WithCancel(ctx)
		cancel()
		ctx = ended
	case 4, 5, 6:
		survive(func() string { s.RunAll(ctx, a, a, soakPages[r.IntN(len(soakPages))]); return "" })
		k.asked.Add(3)
		return
	case 7:
		s.Speculate(ctx, a, soakPages[r.IntN(len(soakPages))])
		for range 10 { // the target thinks, in its way
			runtime.Gosched()
		}
	case 8, 9, 10, 11:
		if e, reason := s.Lookup(a); reason == "" {
			s.Record(ctx, a, e.Observation)
		}
	}
	func() {
		defer func() { recover() }()
		o, err := s.Do(ctx, a)
		if err == nil && o != a.Args() {
			panic("a wrong page")
		}
	}()
	k.asked.Add(1)
}

// until runs agents side by side until so much has been asked for in all.
func (k *soak) until(asked int64) {
	k.most = asked
	var all sync.WaitGroup
	for seed := range uint64(4) {
		all.Go(func() { k.live(seed + uint64(asked)) })
	}
	all.Wait()
}

// heap is what is held after garbage was collected.
func heap() int64 {
	var m runtime.MemStats
	for range 3 { // what finalizers and pools let go of goes with a later one
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// descriptors is how many files are open, where the system can tell, without
// those by which the runtime waits for others, which it opens when it first has
// a timer.
func descriptors() (n int) {
	const open = "/proc/self/fd"
	list, _ := os.ReadDir(open)
	for _, fd := range list {
		if what, err := os.Readlink(filepath.Join(open, fd.Name())); err == nil && !strings.HasPrefix(what, "anon_inode:") {
			n++
		}
	}
	return n
}

func TestBoundedAMillionActionsLeaveNothingBehind(t *testing.T) {
	goroutines, files := runtime.NumGoroutine(), descriptors()
	k := &soak{}
	e := env{Do: soakTool, Rules: actions.Reads("get")}
	e.Rules["put"] = actions.Rule{Effect: actions.Write}
	c, err := speccache.New(e, config{Predictor: soakGuesses, MaxBytes: 1 << 20, ModelVersion: "0"})
	require.NoError(t, err)
	k.c = c
	n := int64(soaked())
	k.until(n / 2)
	half := heap()
	k.until(n)
	growth := heap() - half
	st := c.Stats()
	assert.Less(t, growth, int64(2<<20))
	assert.Zero(t, speccache.Counted(c), "sessions that are counted still")
	c.Close()
	// One more is the one that looks.
	assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+1 }, wait, tick, "goroutines: %d before", goroutines)
	assert.Equal(t, files, descriptors())
	t.Logf("%d actions: %d hits, %d joins, %d misses, %d writes, %d runs ahead (%d failed); the heap grew by %d KiB",
		k.asked.Load(), st.Hits, st.Joins, st.Misses, st.Writes, st.Speculated, st.FailedAhead, growth>>10)
	for what, n := range map[string]int64{"hits": st.Hits, "joins": st.Joins, "misses": st.Misses, "writes": st.Writes, "failures": st.FailedAhead} {
		assert.Positive(t, n, "else it means nothing: %s", what)
	}
}
