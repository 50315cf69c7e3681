package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/speccache"
)

// questions are what a new user may want to know.
var questions = []string{
	"How many guesses run ahead by default?",
	"Why does nothing hit when the model version changes?",
	"What happens to earlier reads after a write?",
}

// maxClicks ends a walk that leads nowhere.
const maxClicks = 8

// A tour is what both runs have in common.
type tour struct {
	site      *site
	home      string            // URL
	transport http.RoundTripper // nil for a real one
	models    *models           // nil: the reader and draft.Lexical
	think     time.Duration
	show      func(line)
}

// A trip is one run: all questions in one mode.
type trip struct {
	walks    []walk
	stats    speccache.Stats
	took     time.Duration // from the first question to the last answer
	requests int64         // that the site got
	wasted   [][]string    // paths that ran ahead and were not read, for each walk
}

// A walk is one question.
type walk struct {
	question string
	session  uint64 // its ID
	answer   string
	from     string        // the URL that it was found at
	seen     []observation // in order, the home page included
	usage    actions.Usage // of a target that is a model
}

// An observation is all that the target can see of a page.
type observation struct {
	url, title, text string
	links            []web.Link
}

func observe(p *web.Page) observation {
	return observation{url: p.URL(), title: p.Title(), text: p.Markdown(), links: p.Links()}
}

func (o observation) equal(other observation) bool {
	return o.url == other.url && o.title == other.title && o.text == other.text &&
		slices.Equal(o.links, other.links)
}

// quickstart makes both trips and tells about them.
func quickstart(ctx context.Context, opts options, stdout io.Writer) error {
	s := &site{delay: opts.delay}
	url, stop, err := listen(s)
	if err != nil {
		return err
	}
	defer stop()
	out := newStory(stdout, opts)
	t := tour{site: s, home: url + homePath, models: newModels(opts), think: opts.think, show: out.line}
	out.models = t.models
	out.begin(url, opts)
	out.arm("Without speculation: the mode is Off, every page is fetched when the target asks.")
	off, err := t.run(ctx, speccache.Off)
	if err == nil {
		err = t.models.needsTools(off)
	}
	if err != nil {
		return err
	}
	out.arm("With speculation: while the target thinks, the draft guesses three links, and they run ahead.")
	spec, err := t.run(ctx, speccache.On)
	if err != nil {
		return err
	}
	return out.end(compare(off, spec))
}

// run answers all questions in one mode. Everything about SpecCache is here
// and in walk.
func (t *tour) run(ctx context.Context, mode speccache.Mode) (*trip, error) {
	fetcher := web.New(web.Config{Transport: t.transport, Guard: web.Guard{Allow: web.Loopback()}})
	defer fetcher.Close()
	before := t.site.requests.Load()
	home, err := t.firstPage(ctx, fetcher)
	if err != nil {
		return nil, err
	}
	var log guessLog
	cache, err := speccache.New(fetcher.Environment(), speccache.Config[*web.Page]{
		Mode:      mode,
		Predictor: t.models.predictor(),
		OnEvent:   log.add,
		ShowArgs:  true, // the log wants URLs; they hold nothing private here
	})
	if err != nil {
		return nil, err
	}
	defer cache.Close()
	result, began := &trip{}, time.Now()
	for i, q := range questions {
		w, err := t.walk(ctx, cache, home, i, q)
		if err != nil {
			return nil, err
		}
		result.walks = append(result.walks, w)
	}
	result.took = time.Since(began)
	cache.Close() // every run has ended: now the figures are final
	result.stats = cache.Stats()
	result.requests = t.site.requests.Load() - before
	for _, w := range result.walks {
		result.wasted = append(result.wasted, log.wasted(w.session))
	}
	return result, nil
}

// firstPage fetches the page that every walk starts from.
func (t *tour) firstPage(ctx context.Context, fetcher *web.Fetcher) (*web.Page, error) {
	visit, err := web.Visit(t.home)
	if err != nil {
		return nil, err
	}
	return fetcher.Do(ctx, visit)
}

// walk answers a question. The session has a scope of its own, so that no
// question profits from another.
func (t *tour) walk(ctx context.Context, cache *speccache.Cache[*web.Page], home *web.Page, i int, question string) (walk, error) {
	session := cache.Open(speccache.SessionConfig[*web.Page]{Goal: question})
	defer session.Close()
	session.Observe(ctx, home) // guessing starts here
	t.show(line{number: i + 1, question: question})

	w := walk{question: question, session: session.ID(), seen: []observation{observe(home)}}
	var err error
	if t.models.acts() {
		err = t.models.walk(ctx, session, home, &w, t.show)
	} else {
		err = t.loop(ctx, session, home, &w)
	}
	return w, err
}

// loop is an agent's: look, think, act, until there is an answer. For models
// it is package target's.
func (t *tour) loop(ctx context.Context, session *speccache.Session[*web.Page], home *web.Page, w *walk) error {
	target, page := newReader(w.question, t.think), home
	for clicks := 0; ; clicks++ {
		next, err := target.decide(ctx, page)
		switch {
		case err != nil:
			return err
		case next.answer != "":
			w.answer, w.from = next.answer, page.URL()
			t.show(line{answer: next.answer, at: page.URL()})
			return nil
		case next.action == actions.Action{}, clicks == maxClicks:
			return fmt.Errorf("no answer to %q after %d clicks", w.question, clicks)
		}
		r, err := session.Run(ctx, next.action) // session.Do would return the page only
		if err != nil {
			return err
		}
		page = r.Observation
		w.seen = append(w.seen, observe(page))
		t.show(line{what: next.what, result: &r})
	}
}

// A guessLog keeps what ran ahead and what of it was read, by session. Events
// come in order on a goroutine of the cache's, the last before Close returns.
type guessLog struct {
	unread []guess
}

type guess struct {
	session uint64
	args    string
}

func (l *guessLog) add(e speccache.Event) {
	g := guess{session: e.Session, args: e.Args}
	switch {
	case e.Kind == speccache.EventAhead:
		l.unread = append(l.unread, g)
	case e.Kind == speccache.EventAction && e.Ahead:
		l.unread = slices.DeleteFunc(l.unread, func(other guess) bool { return other == g })
	}
}

// wasted returns the paths that ran ahead in a session and were not read.
func (l *guessLog) wasted(session uint64) (paths []string) {
	for _, g := range l.unread {
		var args struct{ URL string }
		if g.session == session && json.Unmarshal([]byte(g.args), &args) == nil {
			paths = append(paths, pathOf(args.URL))
		}
	}
	return paths
}

// A comparison is what the two trips come to.
type comparison struct {
	off, spec                     *trip
	sameAnswers, sameObservations bool
}

func compare(off, spec *trip) comparison {
	c := comparison{off: off, spec: spec, sameAnswers: true, sameObservations: true}
	for i, a := range off.walks {
		b := spec.walks[i]
		c.sameAnswers = c.sameAnswers && a.answer == b.answer && a.from == b.from
		c.sameObservations = c.sameObservations && slices.EqualFunc(a.seen, b.seen, observation.equal)
	}
	return c
}

// check returns an error if speculation has changed anything but times.
func (c comparison) check() error {
	switch {
	case !c.sameObservations:
		return errors.New("the two runs observed different pages")
	case !c.sameAnswers:
		return errors.New("the two runs gave different answers")
	}
	return nil
}
