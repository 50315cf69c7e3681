package costs

import "context"

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
	// ResidentAnewNS is of actions that were made again.
	ResidentAnewNS float64 `json:"resident_anew_ns"`

	// AA is the time of raw ristretto over that of another raw ristretto: how
	// far identical code differs here.
	AA                   float64 `json:"aa"`
	RistrettoBytesPerOp  float64 `json:"raw_ristretto_bytes_per_op"`
	ResidentAllocsPerOp  float64 `json:"resident_allocs_amortised"`
	RistrettoAllocsPerOp float64 `json:"raw_ristretto_allocs_amortised"`
	Rounds               int     `json:"rounds"`
}

// Names of readers.
const (
	ristrettoA = "ristretto"
	ristrettoB = "ristretto again"
	otterRaw   = "otter"
	resident   = "resident"
	// residentAnew looks the same things up with actions that were made again,
	// as from a model's words: their arguments stand elsewhere in memory and are
	// compared byte by byte. The links of a page are the same values each time.
	residentAnew = "resident, action made anew"
	staged       = "staged"
	miss         = "miss"
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
		ResidentAnewNS:      round(times.median(residentAnew), 2),
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
	for _, open := range []func(context.Context, int) ([]reader, func(), error){
		rawRistretto(ristrettoA), residentAndMiss, rawOtter, stagedGuesses, rawRistretto(ristrettoB),
	} {
		some, c, err := open(ctx, cpus)
		closers = append(closers, c)
		if err != nil {
			done()
			return nil, nil, err
		}
		readers = append(readers, some...)
	}
	return readers, done, nil
}
