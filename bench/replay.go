package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/speccache/speccache-go/bench/internal/replay"
	"github.com/speccache/speccache-go/target"
)

// replayFlags are the flags that are not a field of replay.Config as they
// stand.
type replayFlags struct {
	cfg          replay.Config
	items, sites string
	json         bool
	scaled       bool
	arms         bool // were named
}

// runReplay is the command replay.
func runReplay(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f, err := parseReplay(args, stdout)
	if err != nil {
		return err
	}
	if err := f.open(); err != nil {
		return err
	}
	f.cfg.Begun = func(w replay.Walk, takes time.Duration) {
		if takes >= longRun {
			fmt.Fprintf(stderr, "replay: %s: this takes about %v\n", w, takes.Round(time.Second))
		}
	}
	report, err := replay.Run(ctx, f.cfg)
	if _, refused := errors.AsType[*replay.ScaleError](err); refused && f.scaled || errors.Is(err, replay.ErrConfig) {
		return &usageError{err: err}
	}
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	return show(stdout, report, f.json)
}

// longRun is from how long on a run says at its start how long it takes.
const longRun = 5 * time.Second

func parseReplay(args []string, stdout io.Writer) (*replayFlags, error) {
	f := &replayFlags{cfg: replay.DefaultConfig()}
	fs := flag.NewFlagSet("replay", flag.ContinueOnError)
	f.define(fs)
	if err := parse(fs, replayUsage, args, stdout); err != nil {
		return nil, err
	}
	if (f.items == "") != (f.sites == "") {
		return nil, usagef("-items and -sites belong together")
	}
	if f.cfg.ServerCapacity > 0 && !f.arms {
		f.cfg.Arms = replay.AllArms
	}
	return f, nil
}

func (f *replayFlags) parseArms(list string) ([]replay.Arm, error) {
	f.arms = true
	return replay.ParseArms(list)
}

const replayUsage = `usage: go run ./bench replay [flags]

  go run ./bench replay                                    built-in items and sites, a table
  go run ./bench replay -draft oracle:0.833 -seeds 50      a draft that is right in 83.3 %
  go run ./bench replay -draft chat:gpt-4.1-mini -profile none   a model, at OPENAI_BASE_URL or OpenAI
  go run ./bench replay -items FILE.jsonl -sites FOLDER    recorded ones

bench/replay.md says what the figures mean.

`

func (f *replayFlags) define(fs *flag.FlagSet) {
	c := &f.cfg
	fs.StringVar(&f.items, "items", "", "items `file` in the schema of WebWalkerQA, one JSON object a line (default: built in)")
	fs.StringVar(&f.sites, "sites", "", "`folder` of recorded sites, one folder for each host (default: built in)")
	fs.IntVar(&c.TopN, "topn", c.TopN, "how many guesses of a step may run ahead")
	fs.IntVar(&c.Depth, "depth", c.Depth, "how many steps ahead to guess; only 1 is built")
	fs.IntVar(&c.Seeds, "seeds", c.Seeds, "number of seeds: each walks all items")
	fs.Uint64Var(&c.Seed, "seed", c.Seed, "the first seed")
	fs.IntVar(&c.Steps, "steps", c.Steps, "clicks per seed: items are repeated until there are as many (default: each item once)")
	fs.IntVar(&c.Agents, "agents", c.Agents, "agents side by side (default: as many as do not disturb the times)")
	fs.IntVar(&c.ServerCapacity, "server-capacity", 0, "how many `requests` a host works on at a time; it queues the rest and ignores that clients leave (default: all)")
	fs.BoolVar(&f.json, "json", false, "print one JSON object")
	funcVar(fs, &c.Draft, "draft", "lexical", "`name` of the draft: lexical, random, oracle:P, which is right with probability P, or chat or chat:MODEL, a model at OPENAI_BASE_URL", replay.ParseDraft)
	funcVar(fs, &c.Profile, "profile", "paper", "`name` of the times: paper, slow-draft or none", replay.ParseProfile)
	funcVar(fs, &c.Ranks, "ranks", "0.75,0.06,0.023", "`weights` with which the oracle's right guess stands first, second, ...", parseRanks)
	funcVar(fs, &c.Arms, "arms", "off,cache,spec, and heedless with -server-capacity", "`list` of what to compare", f.parseArms)
	fs.Func("scale", "real `seconds` per model second (default: the smallest at which overhead is small)", f.setScale)
}

// funcVar defines a flag with a parser of its own.
func funcVar[T any](fs *flag.FlagSet, value *T, name, byDefault, usage string, parse func(string) (T, error)) {
	fs.Func(name, usage+" (default "+byDefault+")", func(text string) error {
		v, err := parse(text)
		if err == nil {
			*value = v
		}
		return err
	})
}

func (f *replayFlags) setScale(text string) error {
	scale, err := strconv.ParseFloat(text, 64)
	if err != nil || !(scale > 0) {
		return errors.New("want a number above 0")
	}
	f.cfg.Scale, f.scaled = scale, true
	return nil
}

func parseRanks(list string) ([]float64, error) {
	var ranks []float64
	for text := range strings.SplitSeq(list, ",") {
		w, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(w >= 0) {
			return nil, fmt.Errorf("weight %q: want a number of 0 or more", text)
		}
		ranks = append(ranks, w)
	}
	return ranks, nil
}

// connect finds whom a draft that is a model asks. Without an endpoint the
// replay says what is missing.
func (f *replayFlags) connect() {
	key, base := os.Getenv("OPENAI_API_KEY"), os.Getenv("OPENAI_BASE_URL")
	if f.cfg.Draft.Chat() && (key != "" || base != "") {
		f.cfg.Client = target.NewClient(key, base)
	}
}

// open reads the items and finds the sites that the flags name.
func (f *replayFlags) open() error {
	f.connect()
	if f.items == "" {
		return nil
	}
	file, err := os.Open(f.items)
	if err != nil {
		return fmt.Errorf("replay: items: %w", err)
	}
	defer file.Close()
	if f.cfg.Items, err = replay.ReadItems(file); err != nil {
		return fmt.Errorf("replay: items: %s: %w", f.items, err)
	}
	info, err := os.Stat(f.sites)
	if err != nil {
		return fmt.Errorf("replay: sites: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("replay: sites: %s is no folder", f.sites)
	}
	f.cfg.Sites = os.DirFS(f.sites)
	return nil
}
