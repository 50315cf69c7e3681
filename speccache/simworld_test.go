package speccache_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// A page is an observation that a reader could scribble on.
type page struct {
	text string
	size int
}

// An item is an action as the world knows it. Pages of all are the same for
// every session of a scope; a session's own pages show how often it has
// written, whoever reads them.
type item struct {
	action actions.Action
	name   string // "get", "own", "news", "put", "undeclared", "think", "login", "probe"
	slot   int    // of "own": whose
	n      int
}

const slots = 3 // agents of one scope

// catalogue are all items, and book finds them by their action.
var catalogue = func() map[string][]item {
	all := map[string][]item{}
	add := func(name string, slot, n int) {
		a := act(name, n)
		if name == "own" {
			a = act(name, []int{slot, n})
		}
		all[name] = append(all[name], item{a, name, slot, n})
	}
	for name, many := range map[string]int{"get": 10, "news": 3, "put": 3, "undeclared": 3, "think": 1, "login": 1, "probe": 17} {
		for n := range many {
			add(name, 0, n)
		}
	}
	for i := range slots * ownPages {
		add("own", i/ownPages, i%ownPages)
	}
	return all
}()

const ownPages = 6

var book = func() map[actions.Action]item {
	byAction := map[actions.Action]item{}
	for _, items := range catalogue {
		for _, it := range items {
			byAction[it.action] = it
		}
	}
	return byAction
}()

// A place is where a session's writes take effect.
type place struct {
	space string
	slot  int
}

// A target is an item as one space has it.
type sight struct {
	space string
	it    item
}

// A world is one seed's tools. What an action returns depends on the action and
// on what its own session has written, and on nothing else: a run with
// speculation must observe exactly what one without does.
type world struct {
	seed uint64
	bake bool // own pages show their owner's model version, too
	size int  // of a page

	mu       sync.Mutex
	agents   map[uint64]*agent // by session
	writes   map[place]int     // that have taken effect
	models   map[place]int
	effects  map[string]int // by place and action: runs that began, and that took effect
	air      map[sight]aloft
	rose     map[sight]time.Time        // when a run ahead began last
	lasted   map[string][]time.Duration // successful runs, by name
	ahead    int                        // runs so far
	wrongs   []string
	probes   int // that run now
	clonings int
}

// aloft is what is in the air of one item.
type aloft struct{ runs, slow int }

func newWorld(seed uint64) *world {
	w := &world{
		seed: seed, agents: map[uint64]*agent{}, writes: map[place]int{}, models: map[place]int{},
		effects: map[string]int{}, air: map[sight]aloft{}, rose: map[sight]time.Time{}, lasted: map[string][]time.Duration{},
	}
	r := w.rand("world")
	w.bake = r.IntN(2) == 0
	w.size = []int{100, 1000, 4000}[r.IntN(3)]
	return w
}

// rand is a source of its own for each question, so that the answers do not
// depend on the order in which goroutines ask.
func (w *world) rand(question ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, question...)
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// wrong notes what must never happen.
func (w *world) wrong(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrongs = append(w.wrongs, fmt.Sprintf(format, args...))
}

// A fault is what is wrong with a run.
type fault int

const (
	none fault = iota
	fails
	panics
	exits
	slow
	truncates // it ignores its end and returns half of something
	hangs     // until it is cancelled
)

// draw makes two runs in ten faulty.
func draw(r *rand.Rand, faults ...fault) fault {
	if r.IntN(10) >= 2 {
		return none
	}
	return faults[r.IntN(len(faults))]
}

// A truth is what a run brings that nobody cuts short.
type truth struct {
	fault fault
	takes time.Duration
	text  string
}

func (w *world) truth(space string, it item) truth {
	w.mu.Lock()
	defer w.mu.Unlock()
	owner := place{space, it.slot}
	t := truth{text: fmt.Sprintf("%s/%s %d", space, it.name, it.n)}
	if it.name == "own" {
		t.text = fmt.Sprintf("%s/own %d.%d after %d writes", space, it.slot, it.n, w.writes[owner])
		if w.bake {
			t.text += fmt.Sprintf(" for model %d", w.models[owner])
		}
	}
	r := w.rand("truth", t.text)
	t.takes = time.Duration(50e6 + r.Int64N(2450e6))
	if t.fault = draw(r, fails, fails, panics, exits, slow, truncates); t.fault == slow {
		t.takes *= 10
	}
	return t
}

// end is how a run ends that nobody cuts short, as agents note it.
func (t truth) end() string {
	switch t.fault {
	case fails:
		return "failed: " + errWorld.Error() + " with half of " + t.text
	case panics:
		return "panicked: " + t.text
	case exits:
		return "exited"
	}
	return "saw " + t.text
}

var errWorld = errors.New("the world says no")

// spaceOf is whose page somebody sees.
func spaceOf(a *agent, it item) string {
	if it.name == "news" {
		return "public"
	}
	return a.space
}

// do is the environment's executor.
func (w *world) do(ctx context.Context, a actions.Action) (*page, error) {
	call := actions.CallFrom(ctx)
	w.mu.Lock()
	who := w.agents[call.Session]
	w.mu.Unlock()
	it, known := book[a]
	if !known { // a hostile draft asks for what nobody else does
		it = item{action: a, name: a.Name()}
	}
	switch {
	case it.name == "probe":
		return w.probe(ctx)
	case who == nil || call.Scope != who.scope:
		w.wrong("%v ran for session %d in scope %q", a, call.Session, call.Scope)
		return nil, errWorld
	case it.name == "get", it.name == "own", it.name == "news":
		return w.read(ctx, who, it, call.Ahead)
	case call.Ahead:
		w.wrong("%v ran ahead", a)
	case it.name == "think":
		return &page{text: "thought"}, nil
	case it.name == "login":
		return w.login(ctx, who)
	}
	return w.write(ctx, who, it)
}

func (w *world) probe(ctx context.Context) (*page, error) {
	w.count(1)
	defer w.count(-1)
	<-ctx.Done()
	return nil, ctx.Err()
}

func (w *world) count(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.probes += n
}

// cut is the error of a run whose context has ended.
func cut(ctx context.Context) error {
	return fmt.Errorf("world: %w: %w", ctx.Err(), context.Cause(ctx))
}

func (w *world) read(ctx context.Context, who *agent, it item, ahead bool) (*page, error) {
	t := w.truth(spaceOf(who, it), it)
	bad := none
	if ahead {
		bad = w.misfortune()
	}
	s := sight{spaceOf(who, it), it}
	if ahead {
		w.mu.Lock()
		w.rose[s] = time.Now()
		w.mu.Unlock()
	}
	w.rise(s, 1, bad == slow)
	defer w.rise(s, -1, bad == slow)
	began := time.Now()
	switch bad {
	case fails:
		return &page{text: "garbage"}, errors.Join(errWorld, pause(ctx, t.takes/2))
	case panics:
		panic("ahead")
	case exits:
		runtime.Goexit()
	case slow:
		t.takes *= 10
	case hangs:
		<-ctx.Done()
		return nil, cut(ctx)
	case truncates:
		<-ctx.Done()
		return &page{text: "half of " + t.text}, nil
	}
	p, err := w.show(ctx, t)
	if err == nil && ctx.Err() == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lasted[it.name] = append(w.lasted[it.name], time.Since(began))
	}
	return p, err
}

// renew asks whether a page is still what the world would show.
func (w *world) renew(ctx context.Context, a actions.Action, old *page) (*page, bool, error) {
	call := actions.CallFrom(ctx)
	w.mu.Lock()
	who := w.agents[call.Session]
	w.mu.Unlock()
	it := book[a]
	if who == nil || call.Scope != who.scope || !call.Ahead {
		w.wrong("%v was renewed for session %d in scope %q", a, call.Session, call.Scope)
		return nil, false, errWorld
	}
	t := w.truth(spaceOf(who, it), it)
	switch w.misfortune() {
	case fails:
		return &page{text: "garbage"}, true, errors.Join(errWorld, pause(ctx, t.takes/2))
	case panics:
		panic("renewal")
	case exits:
		runtime.Goexit()
	case slow:
		t.takes *= 10
	case hangs:
		<-ctx.Done()
		return nil, false, cut(ctx)
	case truncates:
		<-ctx.Done()
		return &page{text: "half of " + t.text}, true, nil
	}
	p, err := w.show(ctx, t)
	if err != nil {
		return nil, false, err
	}
	return p, p.text != old.text || t.takes%2 == 0, nil // hosts say so of what is the same, too
}

// show takes its time, and ends as the truth says.
func (w *world) show(ctx context.Context, t truth) (*page, error) {
	if pause(ctx, t.takes) != nil {
		if t.fault == truncates {
			return &page{text: "half of " + t.text, size: w.size}, nil
		}
		return nil, cut(ctx)
	}
	switch t.fault {
	case fails:
		return &page{text: "half of " + t.text}, errWorld
	case panics:
		panic(t.text)
	case exits:
		runtime.Goexit()
	}
	return &page{text: t.text, size: w.size}, nil
}

// misfortune is what befalls runs ahead only, each time anew.
func (w *world) misfortune() fault {
	w.mu.Lock()
	w.ahead++
	n := w.ahead
	w.mu.Unlock()
	return draw(w.rand("misfortune", n), fails, panics, exits, slow, truncates, hangs)
}

func (w *world) rise(s sight, n int, slowly bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.air[s]
	a.runs += n
	if slowly {
		a.slow += n
	}
	w.air[s] = a
}

// patience is how long one may wait for what is in the air: as long as 95 of
// 100 runs took, give or take what a histogram does not tell, or one second
// while there are too few.
func (w *world) patience(name string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	took := slices.Sorted(slices.Values(w.lasted[name]))
	if len(took) < 18 {
		return time.Second
	}
	p95 := took[min(len(took)-1, len(took)*95/100+2)]
	return max(time.Second, p95*5/4)
}

// login changes what its own session's pages show, though no rule says so.
func (w *world) login(ctx context.Context, who *agent) (*page, error) {
	at := place{who.space, who.slot}
	w.mu.Lock()
	r := w.rand("login", at, w.writes[at])
	w.mu.Unlock()
	if pause(ctx, time.Duration(50e6+r.Int64N(950e6))) != nil {
		return nil, cut(ctx)
	}
	w.mu.Lock()
	w.writes[at]++
	w.effects[fmt.Sprint("login ", at)]++
	w.mu.Unlock()
	actions.Changed(ctx)
	return &page{text: "logged in"}, nil
}

// write has its effect half-way, whatever becomes of it then.
func (w *world) write(ctx context.Context, who *agent, it item) (*page, error) {
	at := place{who.space, who.slot}
	w.mu.Lock()
	w.effects[fmt.Sprint("began ", at, it.action)]++
	r := w.rand("write", at, it.action, w.writes[at])
	w.mu.Unlock()
	bad := draw(r, fails, panics, exits, slow, truncates)
	takes := time.Duration(50e6 + r.Int64N(2450e6))
	if bad == slow {
		takes *= 10
	}
	if pause(ctx, takes/2) != nil {
		return nil, cut(ctx)
	}
	w.mu.Lock()
	w.writes[at]++
	w.effects[fmt.Sprint("done ", at, it.action)]++
	w.mu.Unlock()
	return w.show(ctx, truth{bad, takes / 2, fmt.Sprintf("%s/%s %d done", who.space, it.name, it.n)})
}
