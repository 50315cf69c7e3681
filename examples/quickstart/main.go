// Quickstart shows SpecCache at work, without a key and without a network.
//
// It serves SpecCache's documentation over loopback HTTP, with the delays of
// a usual web site, and lets a reader answer three questions by clicking
// through it: first without speculation, then with. Then it compares both.
//
//	go run ./examples/quickstart          # watch it
//	go run ./examples/quickstart -json    # the figures, for machines
//	go run ./examples/quickstart -serve   # read the documentation in a browser
//
// The files, in the order to read them: run.go is an agent's loop with a
// session in it, reader.go is the target, site.go is the web.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// run is main with everything that it depends on as arguments.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage // parse has said why
	case opts.serve:
		err = serveOnly(ctx, stdout)
	default:
		err = quickstart(ctx, opts, stdout)
	}
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "quickstart: interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(stderr, "quickstart:", err)
	return exitFailed
}

type options struct {
	json  bool
	serve bool
	think time.Duration
	delay func(path string) time.Duration // of the site's pages
}

const defaultThink = 400 * time.Millisecond

func parse(args []string, stderr io.Writer) (opts options, err error) {
	opts.delay = pageDelay
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&opts.json, "json", false, "print one JSON object instead of the story")
	flags.BoolVar(&opts.serve, "serve", false, "serve the documentation until interrupted, and print where")
	flags.DurationVar(&opts.think, "think", defaultThink, "how long the reader thinks about each page")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case opts.think < 0:
		err = fmt.Errorf("-think is %v: nobody thinks for a negative time", opts.think)
	case opts.json && opts.serve:
		err = errors.New("-json and -serve exclude each other")
	}
	if err != nil {
		fmt.Fprintf(stderr, "quickstart: %v\n", err)
		flags.Usage()
	}
	return opts, err
}
