package speccache_test

import (
	"context"
	"fmt"
	"sync"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
)

type (
	pageEnv    = actions.Environment[*page]
	pageConfig = speccache.Config[*page]
)

// environment is the world as a cache knows it, with more or fewer functions.
func (w *world) environment() pageEnv {
	r := w.rand("environment")
	rules := actions.Reads("get", "own", "probe")
	rules["news"] = actions.Rule{Effect: actions.ReadOnly, Ahead: true, Public: true, MaxAge: time.Minute}
	rules["put"] = actions.Rule{Effect: actions.Write}
	rules["think"] = actions.Rule{Effect: actions.Local}
	rules["login"] = actions.Rule{Effect: actions.Local}
	e := pageEnv{Do: w.do, Rules: rules}
	if w.sized() {
		e.Size = func(p *page) int { return p.size }
	}
	if w.cloned() {
		e.Clone = w.clone
	}
	if w.aged() {
		e.Fresh = func(a actions.Action, _ *page) (time.Duration, bool) {
			if it := book[a]; w.rand("fresh", it.action).IntN(30) == 0 {
				panic("fresh")
			}
			return w.fresh(book[a])
		}
	}
	if w.renews() {
		e.Renew = w.renew
	}
	if r.IntN(2) == 0 {
		e.Host = func(a actions.Action) string {
			if a.Name() == "probe" {
				return ""
			}
			return a.Name()
		}
	}
	return e
}

func (w *world) renews() bool { return w.rand("renews").IntN(2) == 0 }
func (w *world) sized() bool  { return w.rand("sized").IntN(3) > 0 }
func (w *world) cloned() bool { return w.rand("cloned").IntN(3) == 0 }
func (w *world) aged() bool   { return w.rand("aged").IntN(4) == 0 }

// clone copies, and sometimes fails to.
func (w *world) clone(p *page) *page {
	w.mu.Lock()
	w.clonings++
	n := w.clonings
	w.mu.Unlock()
	if w.rand("clone", n).IntN(50) == 0 {
		panic("clone")
	}
	copied := *p
	return &copied
}

// fresh is how long an item may be served, and whether it may be kept.
func (w *world) fresh(it item) (life time.Duration, keep bool) {
	life, keep = actions.DefaultMaxAge, true
	if it.name == "news" {
		life = time.Minute
	}
	if !w.aged() {
		return life, keep
	}
	switch w.rand("life", it.action).IntN(5) {
	case 0:
		return life, false
	case 1:
		return 5 * time.Second, true
	}
	return life, keep
}

// config is a seed's configuration, apart from the mode.
func (w *world) config() pageConfig {
	r := w.rand("config")
	verify := 0.0
	if w.renews() {
		verify = w.rand("verify").Float64() / 2
	}
	return pageConfig{
		VerifyShare:     verify,
		Predictor:       w.predict,
		ModelVersion:    "model 0",
		TopN:            2 + r.IntN(3),
		MaxAhead:        []int{1, 8, 16, 16, 16, 16}[r.IntN(6)],
		MaxAheadSession: []int{0, 0, 0, 3, 8}[r.IntN(5)],
		MaxAheadHost:    []int{0, 0, 1, 3}[r.IntN(4)],
		AheadTimeout:    []time.Duration{4 * time.Second, 20 * time.Second, 0}[r.IntN(3)],
		MaxBytes:        []int64{0, 0, 1 << 20, 1 << 20, 256 << 10, 64 << 10, 16 << 10, 700}[r.IntN(8)],
		MaxScopeBytes:   []int64{0, 0, unshared, unshared, 64 << 10}[r.IntN(5)],
	}
}

// A life is what a seed leaves behind.
type life struct {
	journals [][]seen
	effects  map[string]int
	wrongs   []string
	stats    speccache.Stats
}

// run lets a seed's agents live in one cache, and in one mode.
func (w *world) run(mode speccache.Mode) (life, error) {
	cfg := w.config()
	cfg.Mode = mode
	c, err := speccache.New(w.environment(), cfg)
	if err != nil {
		return life{}, err
	}
	agents := w.enter(c)
	var living sync.WaitGroup
	for _, who := range agents {
		living.Go(func() { w.live(who, c, cfg) })
	}
	closed := w.meddle(c, agents, mode, &living)
	living.Wait()
	l := life{stats: c.Stats()} // before the probes
	if mode != speccache.Off && !closed {
		w.askForPermits(c, cfg)
	}
	c.Close()
	synctest.Wait()
	for _, who := range agents {
		l.journals = append(l.journals, who.journal)
	}
	l.effects, l.wrongs = w.effects, w.wrongs
	return l, nil
}

// enter opens the sessions: some share a scope, and actions are the same in
// all.
func (w *world) enter(c *speccache.Cache[*page]) (agents []*agent) {
	r := w.rand("agents")
	add := func(scope string, slot int) {
		who := &agent{number: len(agents), slot: slot, scope: scope, space: scope}
		if scope == "" {
			who.space = fmt.Sprint("private ", who.number)
		}
		who.session = c.Open(speccache.SessionConfig[*page]{Scope: scope, Goal: "live"})
		w.agents[who.session.ID()] = who
		agents = append(agents, who)
	}
	for slot := range 1 + r.IntN(slots) {
		add("red", slot)
	}
	add("blue", 0)
	if r.IntN(2) == 0 {
		add("", 0)
	}
	return agents
}

// meddle does at any moment what hosts may do: advance scopes, change the mode,
// close sessions and the cache. It reports whether the cache will be closed.
func (w *world) meddle(c *speccache.Cache[*page], agents []*agent, mode speccache.Mode, living *sync.WaitGroup) (closes bool) {
	r := w.rand("meddle")
	later := func(do func()) {
		at := time.Duration(1 + r.Int64N(70e9))
		living.Go(func() {
			time.Sleep(at)
			do()
		})
	}
	if r.IntN(2) == 0 {
		for _, scope := range []string{"red", "blue", "", "nobody's"} {
			later(func() { c.Advance(scope) })
		}
	}
	if r.IntN(12) == 0 && mode != speccache.Off {
		for _, m := range []speccache.Mode{speccache.Off, speccache.Shadow, speccache.On} {
			later(func() { c.SetMode(m) })
		}
	}
	if r.IntN(6) == 0 {
		who := agents[r.IntN(len(agents))]
		later(func() { who.session.Close() })
	}
	if r.IntN(8) == 0 {
		closes = true
		later(func() { c.Close() })
	}
	return closes
}

// audit checks the budget. What ristretto still thinks about when a step ends
// it has decided when the target has thought.
func (w *world) audit(c *speccache.Cache[*page], cfg pageConfig, settled bool) {
	most := cfg.MaxBytes
	if most == 0 {
		most = speccache.DefaultMaxBytes
	}
	st := c.Stats()
	if settled && st.WindowBytes > most/4 {
		w.wrong("the window holds %d bytes of %d", st.WindowBytes, most)
	}
	if settled && w.sized() && int64(st.Entries*w.size) > most {
		w.wrong("%d entries of %d bytes are kept, with a budget of %d", st.Entries, w.size, most)
	}
}

// askForPermits takes every permit there is: whatever hung has ended by then.
func (w *world) askForPermits(c *speccache.Cache[*page], cfg pageConfig) {
	time.Sleep(speccache.DefaultAheadTimeout + 10*time.Second)
	c.SetMode(speccache.On)
	for i := range cfg.MaxAhead + 1 {
		s := c.Open(speccache.SessionConfig[*page]{})
		defer s.Close()
		s.Speculate(context.Background(), catalogue["probe"][i%len(catalogue["probe"])].action)
	}
	synctest.Wait()
	w.mu.Lock()
	got := w.probes
	w.mu.Unlock()
	if got != cfg.MaxAhead {
		w.wrong("%d permits of %d are there in the end", got, cfg.MaxAhead)
	}
}
