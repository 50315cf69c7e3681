// Quickstart shows SpecCache at work, without a key and without a network; if
// you name models, target and draft are language models.
//
// It serves SpecCache's documentation over loopback HTTP, with the delays of
// a usual web site, and lets a reader answer three questions by clicking
// through it: first without speculation, then with. Then it compares both.
//
//	go run ./examples/quickstart          # watch it
//	go run ./examples/quickstart -json    # the figures, for machines
//	go run ./examples/quickstart -serve   # read the documentation in a browser
//
//	export OPENAI_API_KEY=...             # or, for a server of your own,
//	export OPENAI_BASE_URL=http://localhost:8080/v1
//	go run ./examples/quickstart -target gpt-5-mini -draft gpt-4.1-mini
//	go run ./examples/quickstart -target reader -draft qwen3-0.6b -think 5s
//
// Either may be what it is without an endpoint: -target reader, which needs no
// tool calls of a model and always does the same, or -draft lexical. A reader
// that thinks for less time than the model takes to guess is served nothing.
//
// Models are asked only if -target or -draft names one, whatever is exported.
//
// The files, in the order to read them: run.go is an agent's loop with a
// session in it, reader.go is the target, site.go is the web, and models.go has
// the language models.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/target"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// run is main with everything that it depends on as arguments.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	opts, err := parse(args, getenv, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage // parse has said why
	}
	return opts.run(ctx, stdout, stderr)
}

// run does what the options say.
func (o options) run(ctx context.Context, stdout, stderr io.Writer) int {
	var err error
	if o.serve {
		err = serveOnly(ctx, stdout)
	} else {
		err = quickstart(ctx, o, stdout)
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

	key, baseURL  string // of the models' endpoint
	target, draft string // models, or readerName and lexical
}

// What target and draft are called that are no models.
const (
	readerName = "reader"
	lexical    = "lexical"
)

func (o options) endpoint() bool { return o.key != "" || o.baseURL != "" }

// models reports whether there are any.
func (o options) models() bool {
	return o.endpoint() && (o.target != readerName || o.draft != lexical)
}

const defaultThink = 400 * time.Millisecond

func parse(args []string, getenv func(string) string, stderr io.Writer) (options, error) {
	opts := options{delay: pageDelay, key: getenv("OPENAI_API_KEY"), baseURL: getenv("OPENAI_BASE_URL")}
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&opts.json, "json", false, "print one JSON object instead of the story")
	flags.BoolVar(&opts.serve, "serve", false, "serve the documentation until interrupted, and print where")
	flags.DurationVar(&opts.think, "think", defaultThink, "how long the reader thinks about each page")
	flags.StringVar(&opts.target, "target", target.DefaultModel, "the `model` that clicks and answers, if -target or -draft is given, or "+readerName+", which is none")
	flags.StringVar(&opts.draft, "draft", draft.DefaultModel, "the `model` that guesses, if -target or -draft is given, or "+lexical+", which is none")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, name := range []*string{&opts.target, &opts.draft} {
		if lower := strings.ToLower(*name); lower == readerName || lower == lexical {
			*name = lower
		}
	}
	named := given["target"] && opts.target != readerName || given["draft"] && opts.draft != lexical
	if !named { // an exported key is no order to spend money
		opts.key, opts.baseURL = "", ""
	}
	err := opts.check(flags.Args(), given)
	if err != nil {
		fmt.Fprintf(stderr, "quickstart: %v\n", err)
		flags.Usage()
	}
	return opts, err
}

func (o options) check(rest []string, given map[string]bool) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.think < 0:
		return fmt.Errorf("-think is %v: nobody thinks for a negative time", o.think)
	case o.json && o.serve:
		return errors.New("-json and -serve exclude each other")
	case !o.endpoint() && (given["target"] && o.target != readerName || given["draft"] && o.draft != lexical):
		return errors.New("-target and -draft name models: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own")
	case given["think"] && o.endpoint() && o.target != readerName:
		return errors.New("-think is for the reader, models think as long as they do: leave out -target, or add -target " + readerName)
	}
	return nil
}
