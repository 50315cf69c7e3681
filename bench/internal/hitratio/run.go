package hitratio

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
)

// Config is what Run may be told.
type Config struct {
	Capacities []int // of the caches, in entries
	Requests   int   // of each trace
	Seeds      int
	Seed       uint64 // the first
	EntryBytes int64  // what an entry costs, all included
}

// DefaultConfig is for the figures in hitratio.md.
func DefaultConfig() Config {
	return Config{
		Capacities: []int{200, 1000, 4000}, Requests: 100_000, Seeds: 3, Seed: 1, EntryBytes: 8 << 10,
	}
}

// ErrConfig is what Run returns for a Config that makes no sense.
var ErrConfig = errors.New("bad value")

func (c Config) check() error {
	for _, n := range c.Capacities {
		if n < 1 {
			return fmt.Errorf("%w: a capacity of %d: want at least 1", ErrConfig, n)
		}
	}
	switch {
	case len(c.Capacities) == 0:
		return fmt.Errorf("%w: no capacity", ErrConfig)
	case c.Requests < 1:
		return fmt.Errorf("%w: %d requests: want at least 1", ErrConfig, c.Requests)
	case c.Seeds < 1:
		return fmt.Errorf("%w: %d seeds: want at least 1", ErrConfig, c.Seeds)
	case c.EntryBytes < overhead+argsBytes:
		return fmt.Errorf("%w: entries of %d bytes: SpecCache counts %d for each without its observation", ErrConfig, c.EntryBytes, overhead+argsBytes)
	case c.EntryBytes > math.MaxUint32:
		return fmt.Errorf("%w: entries of %d bytes: otter takes at most %d", ErrConfig, c.EntryBytes, uint32(math.MaxUint32))
	}
	return nil
}

// A Report has the share of requests that each cache served.
type Report struct {
	Rows []Row `json:"rows"`
	// WorstVsRistretto and WorstVsOtter are the smallest lead of SpecCache's,
	// negative where it is behind.
	WorstVsRistretto float64 `json:"worst_vs_ristretto"`
	WorstVsOtter     float64 `json:"worst_vs_otter"`

	Requests   int   `json:"requests"` // of each trace and seed
	Seeds      int   `json:"seeds"`
	EntryBytes int64 `json:"entry_bytes"`
}

// A Row is one trace against caches of one size.
type Row struct {
	Trace     string  `json:"trace"`
	Capacity  int     `json:"capacity"`
	SpecCache float64 `json:"speccache"`
	Ristretto float64 `json:"ristretto"`
	Otter     float64 `json:"otter"`
	LRU       float64 `json:"lru"`
}

// Run replays all traces against all caches.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	// On one CPU, who gives it up gets it back when all others are done: so
	// caches with goroutines act at once, and always the same.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r := &Report{Requests: cfg.Requests, Seeds: cfg.Seeds, EntryBytes: cfg.EntryBytes}
	for _, t := range traces {
		for _, capacity := range cfg.Capacities {
			row, err := cfg.row(ctx, t, capacity)
			if err != nil {
				return nil, err
			}
			r.Rows = append(r.Rows, row)
		}
	}
	r.WorstVsRistretto, r.WorstVsOtter = math.Inf(1), math.Inf(1)
	for _, row := range r.Rows {
		r.WorstVsRistretto = min(r.WorstVsRistretto, round(row.SpecCache-row.Ristretto))
		r.WorstVsOtter = min(r.WorstVsOtter, round(row.SpecCache-row.Otter))
	}
	return r, nil
}

// row pools the hits over the seeds.
func (c Config) row(ctx context.Context, t trace, capacity int) (Row, error) {
	hits := map[string]int{}
	for i := range c.Seeds {
		requests := t.make(rand.New(rand.NewPCG(c.Seed+uint64(i), 0)), c.Requests, capacity)
		for name, open := range policies {
			n, err := replay(ctx, requests, open, budget{capacity, c.EntryBytes})
			if err != nil {
				return Row{}, fmt.Errorf("hitratio: %s: %w", name, err)
			}
			hits[name] += n
		}
	}
	share := func(name string) float64 { return round(float64(hits[name]) / float64(c.Seeds*c.Requests)) }
	return Row{t.name, capacity, share(Spec), share(Ristretto), share(Otter), share(LRU)}, nil
}

// replay counts the hits of one cache.
func replay(ctx context.Context, requests []int, open func(budget) (policy, error), b budget) (hits int, err error) {
	p, err := open(b)
	if err != nil {
		return 0, err
	}
	defer p.close()
	for i, thing := range requests {
		if i%1024 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if p.request(thing) {
			hits++
		}
	}
	return hits, nil
}

func round(share float64) float64 { return math.Round(share*1e4) / 1e4 }
