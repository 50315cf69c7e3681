package speccache

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// A renewer has entries renewed that are wanted, before they expire, so that the
// target need not wait for what it has read before. What nobody was served since
// it came is not wanted, and expires.
//
// A renewal is a run ahead as far as rules and limits go, and for the session
// that brought the entry: when that is closed, nobody is there to renew for.
// Readers of the old entry notice nothing: it is replaced, not changed.
type renewer[O any] struct {
	c *Cache[O]

	// mu guards what follows. It is held for list operations only.
	mu     sync.Mutex
	due    appointments
	timer  *time.Timer // for the first of them; nil while there was none
	closed bool
}

// An appointment is when to look after an entry. It does not lead there: what
// the cache has let go of must not be held here.
type appointment struct {
	at   time.Duration
	hash uint64
	born time.Duration
}

// Entries are renewed when renewFrom to renewTo of their life are over: the time
// in between keeps those apart that came together. What lives for less than
// shortLife is not renewed.
const (
	renewFrom = 0.75
	renewTo   = 0.85
	shortLife = time.Second
)

// maxAppointments bounds the list: beyond it, nothing new is renewed.
const maxAppointments = 1 << 16

// mayRenew reports whether what f brings may be renewed: Environment.Renew knows
// nothing of a session's own executor, such as its credentials.
func (c *Cache[O]) mayRenew(f *flight[O]) bool {
	return c.renews && f.rule.Ahead && !f.session.own
}

// expect makes an appointment for an entry that can be found.
func (r *renewer[O]) expect(e *entry[O]) {
	life := e.expires - e.born
	if life < shortLife {
		return
	}
	at := e.born + time.Duration((renewFrom+(renewTo-renewFrom)*rand.Float64())*float64(life))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.due) >= maxAppointments {
		return
	}
	heap.Push(&r.due, appointment{at, e.key.hash(), e.born})
	if r.due[0].at == at {
		r.wait(at)
	}
}

// wait sets the timer. mu is held.
func (r *renewer[O]) wait(at time.Duration) {
	left := at - r.c.now()
	if r.timer == nil {
		r.timer = time.AfterFunc(left, func() { r.c.spawn(r.look) }) // asks Environment.Host, and Close waits
	} else {
		r.timer.Reset(left)
	}
}

// look looks after all entries whose time has come.
func (r *renewer[O]) look() {
	over := false
	defer func() {
		if !over { // Environment.Host has called Goexit
			r.c.spawn(r.look)
		}
	}()
	for next, ok := r.next(); ok; next, ok = r.next() {
		e := r.c.store.index.load(next.hash)
		if e != nil && e.born == next.born && e.wanted.Load() {
			r.renew(e, false)
		}
	}
	over = true
}

// next takes the first appointment off the list, or waits for its time.
func (r *renewer[O]) next() (next appointment, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.due) == 0 {
		return next, false
	}
	if next = r.due[0]; next.at > r.c.now() {
		r.wait(next.at)
		return next, false
	}
	heap.Pop(&r.due)
	return next, true
}

// served notes that an entry is wanted. Some are asked about at once.
func (r *renewer[O]) served(e *entry[O]) {
	if !e.wanted.Load() {
		e.wanted.Store(true)
	}
	if share := r.c.cfg.VerifyShare; share > 0 && e.renewable && rand.Float64() < share {
		r.renew(e, true)
	}
}

// renew asks about an entry, if its session is still there and speculation has
// room for it.
func (r *renewer[O]) renew(e *entry[O], verify bool) {
	c := r.c
	c.mu.Lock()
	s := c.sessions[e.session]
	c.mu.Unlock()
	host := c.hostOf(e.key.action) // before anything is held: it may call Goexit
	if s == nil || !s.serving() || !s.accept(e.key.version, e.session) ||
		!e.renewing.CompareAndSwap(false, true) {
		return
	}
	if !s.hold() {
		e.renewing.Store(false)
		return
	}
	f := r.flight(s, e, host)
	if !f.stamp.quiet() || e.why(f.started) != "" || !c.limiter.try(f) {
		s.count(cRenewSkipped, 1)
		e.renewing.Store(false)
		s.release()
		return
	}
	if !c.spawn(func() { defer s.release(); r.run(f, e, verify) }) {
		c.limiter.cancel(f)
		s.release()
	}
}

// flight makes the run ahead that a renewal is to limits, writes and Close.
func (r *renewer[O]) flight(s *Session[O], e *entry[O], host string) *flight[O] {
	f := &flight[O]{
		key: e.key, scope: e.scope, session: s, rule: r.c.tools.of(e.key.action),
		stamp: e.scope.stamp(), started: r.c.now(),
		guess: &guess{source: "renewal", step: s.begun.Load(), steps: s.begun},
	}
	f.host = host
	f.ctx = &endable{Context: s.tagged(context.Background(), true, f.rule.public()), run: f}
	return f
}

// An answer is what Environment.Renew says.
type answer[O any] struct {
	o       O
	changed bool
}

// run asks, and puts the answer in the entry's place.
func (r *renewer[O]) run(f *flight[O], old *entry[O], verify bool) {
	c := r.c
	var bytes int64
	defer func() {
		old.renewing.Store(false)
		f.ctx.end(errGivenUp)
		c.limiter.end(f, bytes)
	}()
	if !f.session.wanted(f) {
		f.giveUp() // whoever saw to that may not have seen f
	}
	ask := func() (answer[O], error) {
		o, changed, err := c.env.Renew(f.ctx, f.key.action, old.observation)
		return answer[O]{o, changed}, err
	}
	try(ask, func(e ending[answer[O]]) {
		bytes = r.settle(f, old, e, verify)
	})
}

// settle counts an answer and publishes what it says. It returns the bytes that
// were read.
func (r *renewer[O]) settle(f *flight[O], old *entry[O], e ending[answer[O]], verify bool) (bytes int64) {
	c, s := r.c, f.session
	err := f.blame(e.err)
	var fresh *entry[O]
	if err == nil {
		if !e.o.changed {
			e.o.o = old.observation
		}
		fresh, err = c.makeEntry(&flight[O]{
			key: f.key, scope: f.scope, session: s, rule: f.rule, stamp: f.stamp, started: f.started,
		}, e.o.o)
	}
	ev := Event{Kind: EventRenewal, Err: c.errText(err), Changed: e.o.changed && err == nil}
	if err != nil {
		s.count(cRenewFailed, 1)
	} else {
		s.count(cRenewed, 1)
		if verify {
			s.count(cVerified, 1)
		}
		if e.o.changed {
			bytes = fresh.size
			s.count(cRenewedChanged, 1)
			if verify {
				s.count(cStale, 1)
			}
		}
		fresh.same = !e.o.changed
		r.publish(f, old, fresh)
		ev.Revision = fresh.revision
	}
	if c.events != nil {
		c.describe(&ev, f.key.action)
		s.emit(ev)
	}
	return bytes
}

// publish puts what is renewed into the cache, unless the state has changed
// meanwhile. What may not be kept any more is dropped.
func (r *renewer[O]) publish(f *flight[O], old, fresh *entry[O]) {
	c := r.c
	if f.stamp != f.scope.stamp() || c.closed.Load() {
		return
	}
	if fresh.unkept {
		if !fresh.same {
			c.store.drop(old, dropDead)
		}
		return
	}
	if c.store.publish(fresh) {
		r.expect(fresh)
	}
	if c.closed.Load() {
		c.store.drop(fresh, dropClosed)
	}
}

// close ends the appointments. Renewals that run are cancelled as runs ahead are.
func (r *renewer[O]) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed, r.due = true, nil
	if r.timer != nil {
		r.timer.Stop()
	}
}

// appointments is a heap of them, the next one first.
type appointments []appointment

func (a appointments) Len() int           { return len(a) }
func (a appointments) Less(i, j int) bool { return a[i].at < a[j].at }
func (a appointments) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *appointments) Push(x any)        { *a = append(*a, x.(appointment)) }
func (a *appointments) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}
