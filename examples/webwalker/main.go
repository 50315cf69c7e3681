// Webwalker is the WebWalker agent of the SpecCache paper: a question and the
// address of a site in, an answer out. It clicks through the site as the target
// model says, while a small draft model guesses the next clicks and their pages
// are fetched ahead.
//
//	export OPENAI_API_KEY=...
//	go run ./examples/webwalker -url https://2024.aclweb.org -question "When is the welcome reception?"
//
// OPENAI_BASE_URL names any other OpenAI-compatible endpoint, up to and
// including /v1. Both models are asked there.
//
// The files, in the order to read them: walk.go puts cache, draft and target
// together, page.go is how the model reads a page, story.go tells about it.
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
	err = walk(ctx, opts, stdout, stderr)
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "webwalker: interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(stderr, "webwalker:", err)
	return exitFailed
}

type options struct {
	key, baseURL string

	question, url string
	target, draft string // models
	steps         int
	json          bool
	off           bool // no speculation
	local         bool // sites on this machine, too
}

// lexical is the draft that is no model.
const lexical = "lexical"

func parse(args []string, getenv func(string) string, stderr io.Writer) (options, error) {
	opts := options{key: getenv("OPENAI_API_KEY"), baseURL: getenv("OPENAI_BASE_URL")}
	flags := flag.NewFlagSet("webwalker", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opts.question, "question", "", "what to find out")
	flags.StringVar(&opts.url, "url", "", "the page to begin at, such as https://example.org/")
	flags.StringVar(&opts.target, "target", target.DefaultModel, "the model that chooses and answers")
	flags.StringVar(&opts.draft, "draft", draft.DefaultModel, "the model that guesses, or "+lexical+", which needs none")
	flags.IntVar(&opts.steps, "steps", target.DefaultSteps, "after how many steps to give up")
	flags.BoolVar(&opts.json, "json", false, "print one JSON object instead of the story")
	flags.BoolVar(&opts.local, "local", false, "visit sites on this machine, too: they are refused otherwise")
	flags.BoolVar(&opts.off, "no-speculation", false, "fetch each page when the target asks for it")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	if strings.EqualFold(opts.draft, lexical) {
		opts.draft = lexical
	}
	err := opts.check(flags.Args())
	if err != nil {
		fmt.Fprintf(stderr, "webwalker: %v\n", err)
	}
	return opts, err
}

func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.question == "":
		return errors.New("no question: say -question and what to find out")
	case o.url == "":
		return errors.New("no page to begin at: say -url and an address")
	case o.steps < 1:
		return fmt.Errorf("-steps is %d: at least one is needed", o.steps)
	case o.key == "" && o.baseURL == "":
		return errors.New("OPENAI_API_KEY is not set: it is the key of the models' endpoint " +
			"(or set OPENAI_BASE_URL to a server that wants none)")
	}
	return nil
}
