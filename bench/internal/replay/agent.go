package replay

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/speccache"
)

// scopeName is the one scope of an agent: what it learns on one item it may
// use on the next.
const scopeName = "replay"

// tooLong ends what hangs. It is far above the tail of the drawn times at any
// scale: a timeout that cuts the tail would make figures depend on the scale.
const tooLong = time.Hour

// An agent walks all items of one seed in one arm.
type agent struct {
	setup *setup
	seed  uint64
	arm   Arm

	origins *origins
	fetcher *web.Fetcher
	hosts   *speccache.Hosts // what its caches have learned
	guess   predictor        // the draft itself, without the time that it takes
	item    atomic.Int64     // that is walked now: fetch times depend on it
	round   int              // how often all items were walked before

	result agentResult
}

// agentResult is what one agent has measured.
type agentResult struct {
	seed  uint64
	wall  time.Duration // from an item's first request to its last observation
	first time.Duration // waiting for the items' first pages
	stats speccache.Stats
	// requests were counted at the servers; wrong observations differ from
	// what a direct fetch brings.
	requests, wrong int
	steps           []stepRecord
}

// newAgent makes an agent with servers of its own. Close it.
func newAgent(s *setup, seed uint64, arm Arm) (*agent, error) {
	a := &agent{setup: s, seed: seed, arm: arm, result: agentResult{seed: seed}}
	a.hosts = &speccache.Hosts{IgnoreLoad: arm == Heedless}
	var err error
	if a.guess, err = s.cfg.predictor(seed, s.tally.note); err != nil {
		return nil, err
	}
	a.origins, err = newOrigins(s.sites, s.cfg.ServerCapacity, func(page string) time.Duration {
		return s.scaled(s.cfg.Profile.fetch(seed, int(a.item.Load()), page))
	})
	if err != nil {
		return nil, err
	}
	a.fetcher = web.New(web.Config{Transport: a.origins, Timeout: tooLong, IgnoreRobots: true}) // recorded sites have none
	return a, nil
}

func (a *agent) close() {
	a.fetcher.Close()
	_ = a.origins.Close() // its listeners are gone either way
}

// run walks the items in file order, again and again until there are as many
// steps as were asked for.
func (a *agent) run(ctx context.Context) (agentResult, error) {
	for left := a.setup.steps; left > 0; a.round++ {
		for i := range a.setup.cfg.Items {
			if left <= 0 {
				break
			}
			n, err := a.walk(ctx, i, left)
			if err != nil {
				return a.result, err
			}
			left -= n
		}
	}
	a.result.requests = int(a.origins.requests.Load())
	return a.result, nil
}

// walk follows the paths of an item for at most so many steps, with a fresh
// cache, and then checks what it was served.
func (a *agent) walk(ctx context.Context, index, atMost int) (int, error) {
	a.item.Store(int64(index))
	w, err := newWalk(a, index, atMost)
	if err != nil {
		return 0, err
	}
	err = w.paths(ctx)
	w.session.Close()
	w.cache.Close()
	if err != nil {
		return 0, err
	}
	a.result.wall += w.last.Sub(w.began)
	a.result.stats = addStats(a.result.stats, w.cache.Stats())
	if err := w.judge(ctx); err != nil {
		return 0, err
	}
	a.result.steps = append(a.result.steps, w.steps...)
	return len(w.steps), nil
}

// addStats sums the figures of two caches that the report needs.
func addStats(a, b speccache.Stats) speccache.Stats {
	return speccache.Stats{
		Lookups: a.Lookups + b.Lookups, Hits: a.Hits + b.Hits, Joins: a.Joins + b.Joins,
		Misses: a.Misses + b.Misses, Ahead: a.Ahead + b.Ahead,
		Speculated: a.Speculated + b.Speculated, Used: a.Used + b.Used,
		Wasted: a.Wasted + b.Wasted, WastedBytes: a.WastedBytes + b.WastedBytes,
	}
}

// A walk is one item of an agent.
type walk struct {
	*agent
	index   int
	it      *Item
	atMost  int
	env     actions.Environment[*web.Page]
	arrived *arrivals
	cache   *speccache.Cache[*web.Page]
	session *speccache.Session[*web.Page]

	began, last time.Time // first request, last observation
	steps       []stepRecord
	trail       []actions.Step[*web.Page] // what the session has seen
	at          []int                     // where in the trail each step is
	positions   []*position               // of the steps
}

func newWalk(a *agent, index, atMost int) (*walk, error) {
	w := &walk{agent: a, index: index, it: &a.setup.cfg.Items[index], atMost: atMost}
	w.env = a.fetcher.Environment()
	w.arrived = newArrivals(w.env.Do)
	w.env.Do = w.arrived.Do
	cfg := speccache.Config[*web.Page]{TopN: a.setup.cfg.TopN, AheadTimeout: tooLong, Hosts: a.hosts}
	switch a.arm {
	case Off:
		cfg.Mode = speccache.Off
	case Spec, Heedless:
		cfg.Predictor = w.draft()
	}
	var err error
	if w.cache, err = speccache.New(w.env, cfg); err != nil {
		return nil, err
	}
	w.session = w.cache.Open(speccache.SessionConfig[*web.Page]{Scope: scopeName, Goal: w.it.Question})
	return w, nil
}

// draft is the predictor with the time that it takes.
func (w *walk) draft() predictor {
	switch {
	case !w.setup.cfg.Draft.Chat():
		return slowed(w.guess, 8*w.setup.cfg.TopN, &w.env, w.draftTime)
	case w.setup.cfg.Profile == None:
		return nil // the target acts at once: no model could be in time
	}
	return observed(w.guess, &w.env)
}

func (w *walk) draftTime(p *position) time.Duration {
	return w.setup.scaled(w.setup.cfg.Profile.draft(w.seed, p.item, p.step))
}

// paths walks one path after the other, each from the root page again. The
// root page is fetched once: the return to it is no step.
func (w *walk) paths(ctx context.Context) error {
	visit, err := web.Visit(w.it.RootURL)
	if err != nil {
		return fmt.Errorf("item %d: root page: %w", w.index+1, err)
	}
	w.began = time.Now()
	root, err := w.fetcher.Do(ctx, visit)
	if err != nil {
		return fmt.Errorf("item %d: root page: %w", w.index+1, err)
	}
	w.last = time.Now()
	w.result.first += w.last.Sub(w.began)
	for _, labels := range w.it.Paths {
		if err := w.path(ctx, root, labels); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) path(ctx context.Context, root *web.Page, labels []string) error {
	labels = labels[:min(len(labels), w.atMost-len(w.steps))]
	if len(labels) == 0 {
		return nil
	}
	p := w.position(labels, 0)
	w.session.Observe(withPosition(ctx, p), root)
	w.trail = append(w.trail, actions.Step[*web.Page]{Observation: root})
	seen := time.Now()
	for i := range labels {
		then := w.position(labels, i+1)
		if err := w.step(ctx, seen, p, then); err != nil {
			return err
		}
		seen, p = w.last, then
	}
	return nil
}

// position is the item's next step, or nil after the end of a path.
func (w *walk) position(labels []string, i int) *position {
	if i == len(labels) {
		return nil
	}
	return &position{item: w.index, step: len(w.steps) + min(i, 1), label: labels[i]}
}

// step lets the target think and click. The draft about the step after it
// starts as the click returns.
func (w *walk) step(ctx context.Context, seen time.Time, p, then *position) error {
	click, err := web.Click(p.label)
	if err != nil {
		return w.failed(p, err)
	}
	think := w.setup.scaled(w.setup.cfg.Profile.think(w.seed, p.item, p.step))
	if err := sleepUntil(ctx, seen.Add(think)); err != nil {
		return err
	}
	asked := time.Now()
	r, err := w.session.Run(withPosition(ctx, then), click)
	w.last = time.Now()
	if err != nil {
		return w.failed(p, err)
	}
	rec := stepRecord{
		key:     stepKey{w.seed, w.round, p.item, p.step},
		outcome: r.Outcome, hidden: r.Hidden,
		wait: w.last.Sub(asked), think: asked.Sub(seen),
		resident: w.arrived.before(r.Action, seen),
	}
	rec.draft, rec.yielded = p.yields.before(r.Action, asked)
	w.steps = append(w.steps, rec)
	w.at = append(w.at, len(w.trail))
	w.positions = append(w.positions, p)
	w.trail = append(w.trail, actions.Step[*web.Page]{Action: r.Action, Observation: r.Observation})
	return nil
}

func (w *walk) failed(p *position, err error) error {
	return fmt.Errorf("item %d (%.60q): label %q: %w", w.index+1, w.it.Question, p.label, err)
}

// judge compares what was served with direct fetches, and asks the draft what
// it would have guessed, in time or not. Both are outside of the measured
// time.
func (w *walk) judge(ctx context.Context) error {
	for i := range w.steps {
		served := w.trail[w.at[i]]
		same, err := w.setup.reference.same(ctx, served)
		if err != nil {
			return err
		}
		if !same {
			w.result.wrong++
		}
		if w.arm == Spec {
			w.steps[i].guessed = w.wouldGuess(ctx, i)
		}
	}
	return nil
}

// keptObservations is how many observations a session shows to drafts.
const keptObservations = 8

// wouldGuess asks the draft about the state before a step. A model that has
// answered in time is not asked again.
func (w *walk) wouldGuess(ctx context.Context, i int) bool {
	at := w.at[i]
	s := state{Scope: scopeName, Goal: w.it.Question, Steps: append([]actions.Step[*web.Page](nil), w.trail[:at]...)}
	for k := range max(0, at-keptObservations) {
		s.Steps[k].Observation = nil
	}
	list, known := w.positions[i].yields.whole()
	if !known {
		p := &position{item: w.index, step: i, label: w.label(i)}
		n := w.setup.cfg.TopN
		if w.setup.cfg.Draft.Chat() {
			n++ // a model has no more, and at its end it says what that cost
		}
		list = first(w.guess(withPosition(ctx, p), s), n)
	}
	return among(list, w.trail[at].Action, s, &w.env)
}

// label is the one that the item's i-th step clicks.
func (w *walk) label(i int) string {
	for _, labels := range w.it.Paths {
		if i < len(labels) {
			return labels[i]
		}
		i -= len(labels)
	}
	return ""
}
