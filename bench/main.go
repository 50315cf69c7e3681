// Command bench measures SpecCache. Each experiment is a subcommand:
//
//	go run ./bench replay -json
//
// It exits with 2 if it was called wrongly, and with 1 if it failed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
)

// A command is one experiment.
type command struct {
	name, about string
	run         func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

var commands = []command{
	{"replay", "agents walk recorded sites, with and without speculation", runReplay},
	{"lookup", "what a lookup costs, beside the bare Get of other caches", runLookup},
	{"overhead", "what a session adds to an action, and a step to its goroutines", runOverhead},
	{"scale", "what open sessions cost", runScale},
	{"hitratio", "how much of what was read is found again, beside other caches", runHitRatio},
	{"suites", "public test suites of addresses, JSON, URLs, robots.txt, HTTP caching and attacks", runSuites},
}

// A usageError is the caller's mistake. Its text ends with where to read how
// to call.
type usageError struct {
	err     error
	command string // or ""
}

func (e *usageError) Error() string {
	if e.command == "" {
		return e.err.Error()
	}
	return fmt.Sprintf("%s: %v\nrun \"go run ./bench %s -h\" to see its flags", e.command, e.err, e.command)
}

func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

// parse parses a command's arguments, which are flags only. Asked for help it
// prints usage and the flags.
func parse(fs *flag.FlagSet, usage string, args []string, stdout io.Writer) error {
	fs.SetOutput(io.Discard) // the error says it all
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		return err
	case err != nil:
		return usagef("%w", err)
	case fs.NArg() > 0:
		return usagef("unexpected argument %q", fs.Arg(0))
	}
	return nil
}

// A tabler is a report.
type tabler interface{ WriteTable(io.Writer) error }

// show prints a report as a table, or as one JSON object.
func show(stdout io.Writer, report tabler, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(stdout).Encode(report)
	}
	return report.WriteTable(stdout)
}

func main() {
	// Collecting garbage less often disturbs the measured times less.
	debug.SetGCPercent(400)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run does what the arguments say and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	default:
		fmt.Fprintf(stderr, "bench: %v\n", err)
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return 2
	}
	return 1
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		help(stderr)
		return usagef("no command")
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		help(stdout)
		return nil
	}
	for _, c := range commands {
		if c.name == args[0] {
			err := c.run(ctx, args[1:], stdout, stderr)
			if wrong, ok := errors.AsType[*usageError](err); ok {
				wrong.command = c.name
			}
			return err
		}
	}
	help(stderr)
	return usagef("unknown command %q", args[0])
}

func help(w io.Writer) {
	fmt.Fprintln(w, "usage: go run ./bench COMMAND [flags]; COMMAND -h lists its flags")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.about)
	}
}
