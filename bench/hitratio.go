package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/speccache/speccache-go/bench/internal/hitratio"
)

const hitRatioUsage = `usage: go run ./bench hitratio [flags]

How much of what was read is found again, beside ristretto, otter and LRU with as
many bytes, on traces that are made. It takes about half a minute.
bench/hitratio.md says what is compared, and how.

`

// runHitRatio is the command hitratio.
func runHitRatio(ctx context.Context, args []string, stdout, _ io.Writer) error {
	fs, cfg := flag.NewFlagSet("hitratio", flag.ContinueOnError), hitratio.DefaultConfig()
	funcVar(fs, &cfg.Capacities, "entries", "200,1000,4000", "`numbers` of entries that caches have room for", parseCounts)
	fs.IntVar(&cfg.Requests, "requests", cfg.Requests, "requests of a trace")
	fs.IntVar(&cfg.Seeds, "seeds", cfg.Seeds, "how many traces of each kind")
	fs.Uint64Var(&cfg.Seed, "seed", cfg.Seed, "the first seed")
	fs.Int64Var(&cfg.EntryBytes, "size", cfg.EntryBytes, "what an entry costs, in `bytes`, all included")
	asJSON := fs.Bool("json", false, "print one JSON object")
	if err := parse(fs, hitRatioUsage, args, stdout); err != nil {
		return err
	}
	report, err := hitratio.Run(ctx, cfg)
	if errors.Is(err, hitratio.ErrConfig) {
		return &usageError{err: err}
	}
	if err != nil {
		return fmt.Errorf("hitratio: %w", err)
	}
	return show(stdout, report, *asJSON)
}
