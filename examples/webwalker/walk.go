package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/speccache"
	"github.com/speccache/speccache-go/target"
)

// tools are what the target is told about the actions of package web.
var tools = []target.Tool{
	{
		Name:        "click",
		Description: "Go where a button of the page in view leads.",
		Schema: json.RawMessage(`{"type":"object","properties":{"label":{"type":"string",` +
			`"description":"the button's label, exactly as listed"}},"required":["label"]}`),
	},
	{
		Name:        "visit",
		Description: "Go to a page by its URL, to go back or if several buttons have one label.",
		Schema: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string",` +
			`"description":"an absolute URL that was seen before"}},"required":["url"]}`),
	},
}

// walk answers the question. All that SpecCache needs is here.
func walk(ctx context.Context, opts options, stdout, stderr io.Writer) error {
	client := target.NewClient(opts.key, opts.baseURL)
	var guard web.Guard
	if opts.local {
		guard.Allow = web.Loopback()
	}
	fetcher := web.New(web.Config{Guard: guard})
	defer fetcher.Close()
	env := fetcher.Environment()
	cache, err := speccache.New(env, config(opts, client, env.View))
	if err != nil {
		return err
	}
	defer cache.Close()
	session := cache.Open(speccache.SessionConfig[*web.Page]{Goal: opts.question})
	defer session.Close()

	home, err := begin(ctx, session, opts.url)
	if err != nil {
		return err
	}
	loop := target.Loop[*web.Page]{
		Session: session,
		Chat:    target.NewChat(client, target.ChatConfig{Model: opts.target, Tools: tools}),
		Show:    show,
		Steps:   opts.steps,
	}
	out, began := &story{w: stdout, quiet: opts.json}, time.Now()
	for event, err := range loop.Run(ctx, opts.question, home) {
		out.tell(event)
		if event.Result != nil {
			if err == nil {
				err = acted(opts, event.Result)
			}
			r := newReport(opts, event.Result, err, session, time.Since(began))
			return r.write(opts, err, stdout, stderr, session.Explain())
		}
	}
	return nil
}

// acted returns an error for an answer that is made up: it was found nowhere.
// Many servers ignore tools that a model lacks.
func acted(opts options, result *target.Result[*web.Page]) error {
	read := func(s target.Step[*web.Page]) bool { return s.Err == nil }
	if slices.ContainsFunc(result.Steps, read) {
		return nil
	}
	return fmt.Errorf("%s has read no page: a target needs a model and a server that have tool calls", opts.target)
}

// config says who guesses.
func config(opts options, client draft.Completer, view func(*web.Page) actions.View) speccache.Config[*web.Page] {
	var cfg speccache.Config[*web.Page]
	switch {
	case opts.off:
		cfg.Mode = speccache.Off
	case opts.draft == lexical:
		cfg.Predictor = draft.Lexical(view)
	default:
		cfg.Predictor = draft.Chat(client, view, draft.ChatConfig{Model: opts.draft})
	}
	return cfg
}

// begin reads the first page. The session sees it, so guessing begins.
func begin(ctx context.Context, session *speccache.Session[*web.Page], url string) (*web.Page, error) {
	visit, err := web.Visit(url)
	if err != nil {
		return nil, err
	}
	home, err := session.Do(ctx, visit)
	if err != nil {
		return nil, fmt.Errorf("the first page can't be read: %w", err)
	}
	return home, nil
}
