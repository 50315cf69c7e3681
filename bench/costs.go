package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/speccache/speccache-go/bench/internal/costs"
)

// roundsFlag says how many rounds a measurement has by default.
const roundsFlag = 40

// costFlags are the flags that all measurements of costs have.
type costFlags struct {
	rounds int
	json   bool
}

func (f *costFlags) define(fs *flag.FlagSet) {
	fs.IntVar(&f.rounds, "rounds", roundsFlag, "how often each thing is measured, between the others")
	fs.BoolVar(&f.json, "json", false, "print one JSON object")
}

func (f *costFlags) parse(fs *flag.FlagSet, usage string, args []string, stdout io.Writer) error {
	if err := parse(fs, usage, args, stdout); err != nil {
		return err
	}
	if f.rounds < 1 {
		return usagef("-rounds %d: want at least 1", f.rounds)
	}
	return nil
}

const lookupUsage = `usage: go run ./bench lookup [flags]

What Session.Lookup costs, beside a bare Get of ristretto and otter, in the same
rounds. bench/costs.md says what is measured, and how.

`

// runLookup is the command lookup.
func runLookup(ctx context.Context, args []string, stdout, _ io.Writer) error {
	fs, f := flag.NewFlagSet("lookup", flag.ContinueOnError), costFlags{}
	f.define(fs)
	cpus := fs.Int("cpu", 1, "CPUs: 1 or 2; each has a goroutine that looks up")
	if err := f.parse(fs, lookupUsage, args, stdout); err != nil {
		return err
	}
	if *cpus != 1 && *cpus != 2 {
		return usagef("-cpu %d: want 1 or 2", *cpus)
	}
	report, err := costs.Lookup(ctx, costs.LookupConfig{CPUs: *cpus, Rounds: f.rounds})
	if err != nil {
		return fmt.Errorf("lookup: %w", err)
	}
	return show(stdout, report, f.json)
}

const overheadUsage = `usage: go run ./bench overhead [flags]

What a session without a predictor adds to an undeclared action; a step with three
instant guesses beside a bare skeleton of goroutines; and the verdicts of the web's
policy. bench/costs.md says what is measured, and how.

`

// runOverhead is the command overhead.
func runOverhead(ctx context.Context, args []string, stdout, _ io.Writer) error {
	fs, f := flag.NewFlagSet("overhead", flag.ContinueOnError), costFlags{}
	f.define(fs)
	if err := f.parse(fs, overheadUsage, args, stdout); err != nil {
		return err
	}
	report, err := costs.Overhead(ctx, costs.OverheadConfig{Rounds: f.rounds})
	if err != nil {
		return fmt.Errorf("overhead: %w", err)
	}
	return show(stdout, report, f.json)
}

const scaleUsage = `usage: go run ./bench scale [flags]

What an idle session holds, and what a step takes while many are open.
bench/costs.md says what is measured, and how.

`

// runScale is the command scale.
func runScale(ctx context.Context, args []string, stdout, _ io.Writer) error {
	fs, f := flag.NewFlagSet("scale", flag.ContinueOnError), costFlags{}
	f.define(fs)
	sessions := []int{100, 1000, 10_000}
	funcVar(fs, &sessions, "sessions", "100,1000,10000", "`numbers` of open sessions, one for each point", parseCounts)
	if err := f.parse(fs, scaleUsage, args, stdout); err != nil {
		return err
	}
	report, err := costs.Scale(ctx, costs.ScaleConfig{Sessions: sessions, Rounds: f.rounds})
	if err != nil {
		return fmt.Errorf("scale: %w", err)
	}
	return show(stdout, report, f.json)
}

// parseCounts parses a list of numbers, all above 0.
func parseCounts(list string) ([]int, error) {
	var counts []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return nil, errors.New("want whole numbers above 0, separated by commas")
		}
		counts = append(counts, n)
	}
	return counts, nil
}
