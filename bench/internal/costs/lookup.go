package costs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// HotKeys is how many keys are looked up, again and again, in every cache.
const HotKeys = 4096

// LookupConfig is what Lookup may be told.
type LookupConfig struct {
	CPUs   int // as many goroutines look up at once, each with its own session
	Rounds int
}

// A LookupReport has the times of one lookup, in nanoseconds.
type LookupReport struct {
	RawRistrettoNS      float64 `json:"raw_ristretto_ns"`
	ResidentNS          float64 `json:"resident_ns"`
	StagedNS            float64 `json:"staged_ns"`
	MissNS              float64 `json:"miss_ns"`
	RawOtterNS          float64 `json:"raw_otter_ns"`
	ResidentVsRistretto float64 `json:"resident_vs_ristretto"`
	StagedVsRistretto   float64 `json:"staged_vs_ristretto"`
	ResidentVsOtter     float64 `json:"resident_vs_otter"`
	AllocsPerOp         int64   `json:"allocs_per_op"`
	BytesPerOp          float64 `json:"bytes_per_op"`
	CPUs                int     `json:"cpus"`

	// AA is the time of raw ristretto over that of another raw ristretto: how
	// far identical code differs here.
	AA                   float64 `json:"aa"`
	RistrettoBytesPerOp  float64 `json:"raw_ristretto_bytes_per_op"`
	ResidentAllocsPerOp  float64 `json:"resident_allocs_amortised"`
	RistrettoAllocsPerOp float64 `json:"raw_ristretto_allocs_amortised"`
	Rounds               int     `json:"rounds"`
}

// A reader looks up hot keys.
type reader struct {
	name string
	// prepare makes one pass of each goroutine possible. Nil: passes can be
	// repeated as they are.
	prepare func(context.Context) error
	// pass looks all keys of goroutine g up once, and returns how many were
	// not found as they should be.
	pass func(g int) (wrong int)
}

// Names of readers.
const (
	ristrettoA = "ristretto"
	ristrettoB = "ristretto again"
	otterRaw   = "otter"
	resident   = "resident"
	staged     = "staged"
	miss       = "miss"
)

// Lookup measures what Session.Lookup costs, which is what Do calls first,
// beside the bare Get of other caches.
func Lookup(ctx context.Context, cfg LookupConfig) (*LookupReport, error) {
	defer atCPUs(cfg.CPUs)()
	readers, done, err := newReaders(ctx, cfg.CPUs)
	if err != nil {
		return nil, err
	}
	defer done()
	var subjects []subject
	for _, r := range readers {
		subjects = append(subjects, r.subject(cfg.CPUs))
	}
	times, err := interleave(ctx, cfg.Rounds, subjects...)
	if err != nil {
		return nil, err
	}
	report := newLookupReport(times, cfg)
	for _, r := range readers {
		switch r.name {
		case resident:
			report.ResidentAllocsPerOp, report.BytesPerOp = r.memory()
			report.AllocsPerOp = int64(report.ResidentAllocsPerOp)
		case ristrettoA:
			report.RistrettoAllocsPerOp, report.RistrettoBytesPerOp = r.memory()
		}
	}
	return report, nil
}

func newLookupReport(times samples, cfg LookupConfig) *LookupReport {
	ristretto, otter := times.median(ristrettoA, ristrettoB), times.median(otterRaw)
	hit, first := times.median(resident), times.median(staged)
	return &LookupReport{
		RawRistrettoNS:      round(ristretto, 2),
		ResidentNS:          round(hit, 2),
		StagedNS:            round(first, 2),
		MissNS:              round(times.median(miss), 2),
		RawOtterNS:          round(otter, 2),
		ResidentVsRistretto: round(hit/ristretto, 3),
		StagedVsRistretto:   round(first/ristretto, 3),
		ResidentVsOtter:     round(hit/otter, 3),
		CPUs:                cfg.CPUs,
		AA:                  round(times.median(ristrettoA)/times.median(ristrettoB), 3),
		Rounds:              cfg.Rounds,
	}
}

// newReaders makes one reader of each kind, on caches of their own.
func newReaders(ctx context.Context, cpus int) (readers []reader, done func(), err error) {
	var closers []func()
	done = func() {
		for _, c := range closers {
			c()
		}
	}
	for _, make := range []func(context.Context, int) ([]reader, func(), error){
		rawRistretto(ristrettoA), residentAndMiss, rawOtter, stagedGuesses, rawRistretto(ristrettoB),
	} {
		some, c, err := make(ctx, cpus)
		closers = append(closers, c)
		if err != nil {
			done()
			return nil, nil, err
		}
		readers = append(readers, some...)
	}
	return readers, done, nil
}

func (r reader) subject(cpus int) subject {
	return subject{r.name, func(ctx context.Context) (float64, error) { return r.measure(ctx, cpus) }}
}

// measure returns the time of one lookup on each of the goroutines.
func (r reader) measure(ctx context.Context, cpus int) (ns float64, err error) {
	var wrong atomic.Int64
	pass := func(g int) { wrong.Add(int64(r.pass(g))) }
	if r.prepare == nil {
		together(cpus, func(g int) float64 { pass(g); return 0 }) // the others' data is in the CPU's caches
		ns = together(cpus, func(g int) float64 { return repeat(HotKeys, func() { pass(g) }) })
	} else {
		ns, err = r.measureOnce(ctx, cpus, pass)
	}
	if n := wrong.Load(); n > 0 && err == nil {
		err = fmt.Errorf("%d lookups did not find what they should", n)
	}
	return ns, err
}

// measureOnce is for passes that have to be prepared: what is timed is
// interrupted, and lasts as long together.
func (r reader) measureOnce(ctx context.Context, cpus int, pass func(g int)) (float64, error) {
	var spent float64
	passes := 0
	for spent < float64(leastBatch) {
		if err := r.prepare(ctx); err != nil {
			return 0, err
		}
		spent += together(cpus, func(g int) float64 {
			began := time.Now()
			pass(g)
			return float64(time.Since(began))
		})
		passes++
	}
	return spent / float64(passes*HotKeys), nil
}

// together runs a func on so many goroutines, which begin at the same moment,
// and returns the mean of what it returns.
func together(n int, run func(g int) float64) float64 {
	var all sync.WaitGroup
	var ready atomic.Int64
	results := make([]float64, n)
	one := func(g int) {
		ready.Add(1)
		for ready.Load() < int64(n) {
			runtime.Gosched()
		}
		results[g] = run(g)
	}
	for g := 1; g < n; g++ {
		all.Go(func() { one(g) })
	}
	one(0)
	all.Wait()
	sum := 0.0
	for _, r := range results {
		sum += r
	}
	return sum / float64(n)
}

// memory returns what a lookup allocates, over many. Caches whose readers hand
// buffers to a goroutine allocate less than once per lookup.
func (r reader) memory() (allocs, bytes float64) {
	const passes = 50
	r.pass(0)
	return allocated(passes*HotKeys, func() {
		for range passes {
			r.pass(0)
		}
	})
}

// allocated returns what one of n operations allocates.
func allocated(n int, run func()) (allocs, bytes float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	per := func(a, b uint64) float64 { return round(float64(b-a)/float64(n), 4) }
	return per(before.Mallocs, after.Mallocs), per(before.TotalAlloc, after.TotalAlloc)
}

// orders returns a list in an order for each goroutine, none of them that in
// which the cache was filled.
func orders[T any](list []T, goroutines int) [][]T {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([][]T, goroutines)
	for g := range all {
		for _, i := range r.Perm(len(list)) {
			all[g] = append(all[g], list[i])
		}
	}
	return all
}

// hotKeys are integer keys without a pattern.
func hotKeys() []uint64 {
	r := rand.New(rand.NewPCG(3, 4))
	keys := make([]uint64, HotKeys)
	for i := range keys {
		keys[i] = r.Uint64()
	}
	return keys
}

var errNotFilled = errors.New("the cache did not keep its keys")

// inChunks calls do with so many of a list at a time.
func inChunks(list []actions.Action, size int, do func([]actions.Action) error) error {
	for len(list) > 0 {
		n := min(size, len(list))
		if err := do(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}
