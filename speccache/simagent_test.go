package speccache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
)

// An agent has a session, and does what its seed has planned.
type agent struct {
	number  int    // of the seed's agents
	slot    int    // of its scope's
	scope   string // as given to Open
	space   string // what its observations name
	next    atomic.Int64
	session *speccache.Session[*page]
	journal []seen
}

// A manner is how an agent takes a step.
type manner int

const (
	alone  manner = iota
	found         // Lookup, then Run if it must
	all           // RunAll
	spread        // calls on goroutines, each at its own moment
)

// A plan is one step of a target.
type plan struct {
	how    manner
	asks   []ask
	think  time.Duration // before it
	change bool          // the state changes by other means, which Advance tells
	model  bool          // the target is another one from now on
	hint   bool          // the agent speculates on its own
	// The step's context ends after this time; before it begins if that is
	// negative, and not at all if it is 0. By a deadline, or by hand.
	ends   time.Duration
	byHand bool
}

type ask struct {
	it    item
	after time.Duration // the step's begin
}

const planned = 13 // steps of an agent

func (w *world) plan(who *agent, step int) plan {
	r := w.rand("plan", who.number, step)
	p := plan{
		think:  time.Duration(300e6 + r.Int64N(4700e6)),
		change: r.IntN(30) == 0, model: r.IntN(30) == 0, hint: r.IntN(10) == 0,
		byHand: r.IntN(2) == 0,
	}
	calls := 1
	switch r.IntN(12) {
	case 0:
		p.how = found
	case 1:
		p.how, calls = all, 2+r.IntN(2)
	case 2:
		p.how, calls = spread, 2+r.IntN(2)
	}
	writes := false
	for range calls {
		a := ask{it: w.choose(who, step)}
		switch r.IntN(40) {
		case 0:
			a.it, writes = pick(r, "put"), true
		case 1:
			a.it, writes = pick(r, "undeclared"), true
		case 2:
			a.it = pick(r, "think")
		case 3: // a read beside it may see either
			if p.how == alone {
				a.it = pick(r, "login")
			}
		}
		step += planned // another choice
		if p.how == spread {
			a.after = time.Duration(1 + r.Int64N(1000e6))
		}
		p.asks = append(p.asks, a)
	}
	if writes {
		p.asks = once(p.asks)
	}
	if r.IntN(10) == 0 && p.how != found {
		p.ends = time.Duration(r.Int64N(3000e6)) - 300*time.Millisecond
	}
	return p
}

// choose picks what an agent reads, often what it has read before.
func (w *world) choose(who *agent, step int) item {
	r := w.rand("choose", who.number, step)
	if step%planned > 2 && r.IntN(5) < 3 { // again
		return w.choose(who, step-1-r.IntN(3))
	}
	switch n := r.IntN(10); {
	case n < 5:
		return catalogue["own"][who.slot*ownPages+r.IntN(ownPages)]
	case n < 6:
		return pick(r, "news")
	}
	return pick(r, "get")
}

// once drops repeated asks for a session's own pages. The second of two that
// overlap a write may see that or not, as it may if the first one fails and it
// has to look again: both would be right.
func once(list []ask) (kept []ask) {
	known := map[actions.Action]bool{}
	for _, a := range list {
		if a.it.name != "own" || !known[a.it.action] {
			kept = append(kept, a)
		}
		known[a.it.action] = true
	}
	return kept
}

// seen is what an agent notes about one call.
type seen struct {
	ask     string
	end     string
	truth   string // how a run would have ended that nobody cuts short, if the call reads
	half    string // how one would end that ignores that it is cut short
	ends    time.Duration
	waited  time.Duration
	slack   time.Duration // how much longer than alone it may wait for what it joins
	clumsy  bool          // what it joined may come and then not be copied
	hinted  bool          // the agent may have begun to run it ahead this very moment
	whole   bool          // the end is that of another call of the same RunAll
	outcome speccache.Outcome
}

// live takes all steps.
func (w *world) live(who *agent, c *speccache.Cache[*page], cfg pageConfig) {
	who.session.Observe(context.Background(), &page{text: "home"})
	for step := range planned {
		p := w.plan(who, step)
		time.Sleep(p.think)
		w.audit(c, cfg, true)
		who.next.Store(int64(step + 1))
		w.prepare(who, p)
		who.journal = append(who.journal, w.step(who, p, step)...)
		w.audit(c, cfg, false)
	}
	who.session.Close()
}

// prepare does what happens between steps.
func (w *world) prepare(who *agent, p plan) {
	at := place{who.space, who.slot}
	if p.change {
		w.mu.Lock()
		w.writes[at]++
		w.mu.Unlock()
		who.session.Advance()
	}
	if p.model {
		w.mu.Lock()
		w.models[at]++
		m := w.models[at]
		w.mu.Unlock()
		who.session.SetModelVersion(fmt.Sprint("model ", m))
	}
	if p.hint {
		who.session.Speculate(context.Background(), p.asks[0].it.action, catalogue["get"][0].action)
	}
}

// errStep is why a step's context has ended: its own reason, so that nobody
// gets an end that it did not cause.
type errStep struct{ agent, step int }

func (e errStep) Error() string { return fmt.Sprintf("step %d of agent %d is over", e.step, e.agent) }

func (p plan) context(why error) (context.Context, context.CancelFunc) {
	switch {
	case p.ends == 0:
		return context.WithCancel(context.Background())
	case p.ends > 0 && !p.byHand:
		return context.WithTimeoutCause(context.Background(), p.ends, why)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	if p.ends < 0 {
		cancel(why)
		return ctx, func() {}
	}
	timer := time.AfterFunc(p.ends, func() { cancel(why) })
	return ctx, func() { timer.Stop(); cancel(nil) }
}

func (w *world) step(who *agent, p plan, number int) []seen {
	why := errStep{who.number, number}
	ctx, cancel := p.context(why)
	defer cancel()
	list := make([]seen, len(p.asks))
	if p.how == all {
		w.runAll(ctx, who, p, list, why)
		return list
	}
	var calls sync.WaitGroup
	for i, a := range p.asks {
		list[i] = seen{ends: p.ends, hinted: p.hint}
		calls.Go(func() {
			if a.after > 0 { // also if the step is over by then
				time.Sleep(a.after)
				if p.ends > 0 {
					list[i].ends = max(-1, p.ends-a.after)
				}
			}
			w.one(ctx, who, p.how, a.it, &list[i], why)
		})
	}
	calls.Wait()
	return list
}

// ask notes what may come of a call that begins now.
func (w *world) ask(who *agent, it item, n *seen) {
	n.ask = it.action.String()
	if it.name != "get" && it.name != "own" && it.name != "news" {
		return
	}
	t := w.truth(spaceOf(who, it), it)
	n.truth = t.end()
	if t.fault == truncates {
		n.half = "saw half of " + t.text
	}
	w.mu.Lock()
	air := w.air[sight{spaceOf(who, it), it}]
	w.mu.Unlock()
	if air.runs > 0 || n.hinted {
		n.slack = w.patience(it.name)
		n.clumsy = w.cloned()
	}
}

// late notes that a run ahead began at the very moment of the ask, as when the
// step itself has set a permit free: it may have been joined.
func (w *world) late(who *agent, it item, began time.Time, n *seen) (same bool) {
	w.mu.Lock()
	same = w.rose[sight{spaceOf(who, it), it}].Equal(began)
	w.mu.Unlock()
	if same {
		n.slack, n.clumsy = max(n.slack, w.patience(it.name)), w.cloned()
	}
	return same
}

// one runs one action and notes what came of it.
func (w *world) one(ctx context.Context, who *agent, how manner, it item, n *seen, why error) {
	w.ask(who, it, n)
	slow := w.slowAir(who, it)
	began := time.Now()
	n.end = survive(func() string {
		if how == found {
			if e, reason := who.session.Lookup(it.action); reason == "" {
				n.outcome = speccache.Hit
				end := ending(ctx, e.Observation, nil, why)
				who.session.Record(ctx, it.action, e.Observation)
				w.scribble(e.Observation)
				return end
			}
		}
		r, err := who.session.Run(ctx, it.action)
		n.outcome = r.Outcome
		return w.check(ctx, it, r, err, why)
	})
	n.waited = time.Since(began)
	slow = w.late(who, it, began, n) || slow // nobody knows how it was going to be
	switch {
	case n.outcome == speccache.Hit, n.outcome == speccache.Join && !slow:
		n.slack = 0 // it was there, or came in time
	case n.slack > 0:
		n.slack = max(n.slack, w.patience(it.name))
	}
	if n.outcome == speccache.Hit && n.waited > 0 {
		w.wrong("a hit on %s took %v", n.ask, n.waited)
	}
}

func (w *world) slowAir(who *agent, it item) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.air[sight{spaceOf(who, it), it}].slow > 0
}

// runAll runs a step's actions together; what one's panic leaves of the others
// is theirs, too.
func (w *world) runAll(ctx context.Context, who *agent, p plan, list []seen, why error) {
	var asked []actions.Action
	twice := map[actions.Action]bool{}
	for i, a := range p.asks {
		list[i].ends, list[i].hinted = p.ends, p.hint
		w.ask(who, a.it, &list[i])
		if twice[a.it.action] { // it joins the other one, which may fail
			list[i].slack = max(list[i].slack, w.patience(a.it.name))
			list[i].clumsy = w.cloned()
		}
		twice[a.it.action] = true
		asked = append(asked, a.it.action)
	}
	began := time.Now()
	whole := survive(func() string {
		results, errs := who.session.RunAll(ctx, asked...)
		for i, r := range results {
			list[i].outcome = r.Outcome
			list[i].end = w.check(ctx, p.asks[i].it, r, errs[i], why)
		}
		return ""
	})
	var sum seen
	for i, n := range list {
		w.late(who, p.asks[i].it, began, &n)
		sum.slack, sum.clumsy = max(sum.slack, n.slack), sum.clumsy || n.clumsy
	}
	for i := range list {
		n := &list[i]
		n.slack, n.clumsy, n.waited = sum.slack, sum.clumsy, time.Since(began)
		if n.whole = whole != ""; n.whole {
			n.end = whole
		}
	}
}

// survive runs a call on a goroutine of its own, which may panic or exit.
func survive(call func() string) (end string) {
	done := make(chan struct{})
	end = "exited"
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				end = fmt.Sprint("panicked: ", r)
			}
		}()
		end = call()
	}()
	<-done
	return end
}

// check looks at a result for what must not be, and says how the call ended.
func (w *world) check(ctx context.Context, it item, r speccache.Result[*page], err, why error) string {
	life, kept := w.fresh(it)
	if r.Outcome == speccache.Hit && (!kept || r.Age > life) {
		w.wrong("a hit on %v at the age of %v, where life is %v and kept %v", it.action, r.Age, life, kept)
	}
	end := ending(ctx, r.Observation, err, why)
	w.scribble(r.Observation)
	return end
}

// scribble does what a reader may do where observations are cloned.
func (w *world) scribble(p *page) {
	if p != nil && w.cloned() {
		p.text = "scribbled on"
	}
}

// ending says how a call ended.
func ending(ctx context.Context, o *page, err, why error) string {
	switch {
	case err == nil && o != nil:
		return "saw " + o.text
	case err == nil:
		return "saw nothing"
	case errors.Is(err, why) && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return "cut"
	case o == nil:
		return "failed: " + err.Error()
	}
	return "failed: " + err.Error() + " with " + o.text
}
