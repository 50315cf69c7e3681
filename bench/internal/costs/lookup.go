package costs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
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

	// Beside is the share of chunks in which all goroutines ran at the same
	// moment; others count only where there are none. It is 1 on one CPU.
	Beside float64 `json:"beside"`
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
	// prepare makes it possible to look all keys up once. Nil: they can be
	// looked up again and again.
	prepare func(context.Context) error
	// chunk looks up the i-th chunk of the keys of goroutine g, and returns how
	// many were not found as they should be.
	chunk func(g, i int) (wrong int)
}

// The hot keys are looked up in chunks, which are timed one by one.
const (
	chunkKeys = 512
	chunks    = HotKeys / chunkKeys
)

// chunkOf returns the i-th chunk of a list of hot keys.
func chunkOf[K any](keys []K, i int) []K { return keys[i*chunkKeys:][:chunkKeys] }

// pass looks up all keys of a goroutine, once.
func (r reader) pass(g int) (wrong int) {
	for i := range chunks {
		wrong += r.chunk(g, i)
	}
	return wrong
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
	var seen concurrency
	for _, r := range readers {
		subjects = append(subjects, r.subject(cfg.CPUs, &seen))
	}
	times, err := interleave(ctx, cfg.Rounds, subjects...)
	if err != nil {
		return nil, err
	}
	report := newLookupReport(times, cfg)
	report.Beside = seen.share()
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

func (r reader) subject(cpus int, seen *concurrency) subject {
	return subject{r.name, func(ctx context.Context) (float64, error) { return r.measure(ctx, cpus, seen) }}
}

// measure returns the time of one lookup on each of the goroutines.
func (r reader) measure(ctx context.Context, cpus int, seen *concurrency) (ns float64, err error) {
	var wrong atomic.Int64
	once := func(g, i int) { wrong.Add(int64(r.chunk(g, i))) }
	if r.prepare == nil {
		together(cpus, chunks, once) // what the others left is out of the CPUs' caches
	}
	var all, good []step
	for began := time.Now(); len(all) == 0 || time.Since(began) < longestSample; {
		if r.prepare != nil {
			err = r.prepare(ctx)
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return 0, err
		}
		steps := together(cpus, chunks, once)
		all, good = append(all, steps...), append(good, beside(steps)...)
		if _, spent := times(good); spent >= float64(leastBatch) {
			break
		}
	}
	if n := wrong.Load(); n > 0 {
		return 0, fmt.Errorf("%d lookups did not find what they should", n)
	}
	seen.steps, seen.good = seen.steps+len(all), seen.good+len(good)
	if len(good) == 0 {
		good = all
	}
	chunk, _ := times(good)
	return chunk / chunkKeys, nil
}

// longestSample is after how long a sample ends that does not add up to
// leastBatch, where goroutines run beside each other only now and then.
const longestSample = 20 * leastBatch

// A concurrency counts how often goroutines really ran beside each other.
type concurrency struct{ steps, good int }

func (c concurrency) share() float64 { return round(float64(c.good)/float64(c.steps), 3) }

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
