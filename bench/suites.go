package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/speccache/speccache-go/bench/internal/suites"
)

const suitesUsage = `usage: go run ./bench suites [flags]

Plays public test suites against SpecCache's own code: addresses, JSON, URLs,
robots.txt, HTTP caching, pages, and attacks on what reads them. It exits with 1
if a row fails. bench/suites.md says what is asked of each. The table of one suite
is followed by its notes.

`

// runSuites is the command suites.
func runSuites(_ context.Context, args []string, stdout, _ io.Writer) error {
	fs, cfg := flag.NewFlagSet("suites", flag.ContinueOnError), suites.Config{}
	shared := cmp.Or(os.Getenv("SPECCACHE_SHARED"), "../shared")
	fs.StringVar(&cfg.Dir, "dir", filepath.Join(shared, "suites"), "`folder` that has a folder for each suite")
	funcVar(fs, &cfg.Suites, "suite", "all", "`names` of suites: "+strings.Join(suites.Names(), ","), func(list string) ([]string, error) {
		return strings.Split(list, ","), nil
	})
	fs.StringVar(&cfg.File, "file", "", "another `file` of the suite that -suite names, instead of its own")
	asJSON := fs.Bool("json", false, "print one JSON object")
	if err := parse(fs, suitesUsage, args, stdout); err != nil {
		return err
	}
	report, err := suites.Run(cfg)
	if errors.Is(err, suites.ErrConfig) {
		return &usageError{err: err}
	}
	if err != nil {
		return fmt.Errorf("suites: %w", err)
	}
	if err := show(stdout, report, *asJSON); err != nil {
		return fmt.Errorf("suites: %w", err)
	}
	if failed, total := report.Failed(); failed > 0 {
		return fmt.Errorf("suites: %d of %d rows failed", failed, total)
	}
	return nil
}
