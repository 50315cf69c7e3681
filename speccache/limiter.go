package speccache

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A limiter bounds what speculation costs: runs at one time, and draft calls,
// draft tokens, runs and bytes in all. There is one, and one lock, so that each
// cost is counted for a session, its scope, the host and the cache, or for none
// of them. The target's own runs never ask it: no guess can be in their way.
type limiter[O any] struct {
	limits [3]limitsOf // of the session, the scope, the cache
	runs   [3]int      // at one time: of the session, the scope, the cache
	atHost int         // and at a host
	rate   float64     // of runs, a second, of a scope at a host
	hosts  *Hosts
	clock  *clock
	most   time.Duration // that a run may take
	flying atomic.Int32  // len(list): writes need not look when there is nothing

	// mu guards what follows and the accounts of sessions and scopes. It is
	// held for arithmetic and for cancelling contexts.
	mu    sync.Mutex
	cache account
	list  []*flight[O] // runs ahead, oldest first
	timer *time.Timer  // for the oldest one's end; nil while there is none
	turns turns        // of those that wait for a permit
}

// limitsOf are the limits of one kind of owner.
type limitsOf struct {
	owner string
	most  [resources]int64
}

// An account is what one owner has used.
type account struct {
	runs int // now
	used [resources]int64
	told [resources]bool // that the limit is reached
}

// A limitReached says which, and whether that is news.
type limitReached struct {
	limitsOf
	resource resource
	first    bool
}

func newLimiter[O any](cfg Config[O], c *clock) *limiter[O] {
	return &limiter[O]{
		clock: c, most: cfg.AheadTimeout,
		limits: [...]limitsOf{
			{"session", cfg.SessionLimits.all()}, {"scope", cfg.ScopeLimits.all()}, {"cache", cfg.CacheLimits.all()},
		},
		// No scope gets all, or its hung runs would end everybody's speculation.
		runs: [...]int{
			cfg.MaxAheadSession, max(cfg.MaxAheadSession, (cfg.MaxAhead+1)/2), cfg.MaxAhead,
		},
		atHost: cfg.MaxAheadHost, rate: cfg.MaxAheadRate, hosts: cfg.Hosts,
	}
}

func (l *limiter[O]) accounts(s *Session[O]) [3]*account {
	return [...]*account{&s.account, &s.scope.account, &l.cache}
}

// take takes n of a resource from all accounts, or from none if one has less
// left, or nothing. mu is held.
func (l *limiter[O]) take(s *Session[O], r resource, n int64) *limitReached {
	accounts := l.accounts(s)
	for i, a := range accounts {
		if a.used[r] > l.limits[i].most[r]-max(n, 1) {
			first := !a.told[r]
			a.told[r] = true
			return &limitReached{l.limits[i], r, first}
		}
	}
	for _, a := range accounts {
		a.used[r] += n
	}
	return nil
}

// left fails if nothing is left of a resource. mu is held.
func (l *limiter[O]) left(s *Session[O], r resource) *limitReached { return l.take(s, r, 0) }

// spend counts what can't be refused any more, up to what a counter holds. mu
// is held.
func (l *limiter[O]) spend(s *Session[O], r resource, n int64) {
	for _, a := range l.accounts(s) {
		if a.used[r] += n; n > 0 && a.used[r] < 0 {
			a.used[r] = maxUsed
		}
	}
}

// ask takes a draft call, if there is also something left of what it is for.
func (l *limiter[O]) ask(s *Session[O]) *limitReached {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range []resource{draftTokens, requestsAhead, bytesAhead} {
		if reached := l.left(s, r); reached != nil {
			return reached
		}
	}
	return l.take(s, draftCalls, 1)
}

// foresee takes a run of Shadow mode.
func (l *limiter[O]) foresee(s *Session[O]) *limitReached {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.take(s, shadowRuns, 1)
}

// unask undoes ask.
func (l *limiter[O]) unask(s *Session[O]) { l.use(s, draftCalls, -1) }

func (l *limiter[O]) use(s *Session[O], r resource, n int64) {
	if n == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spend(s, r, n)
}

// try is start for what can be left undone: it does not wait for room.
func (l *limiter[O]) try(f *flight[O]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	full, reached := l.enter(f, false)
	l.leave(full)
	return full.short == room && reached == nil
}

// full reports whether a session can have no more runs now. mu is held.
func (l *limiter[O]) full(s *Session[O]) bool {
	for i, a := range l.accounts(s) {
		if a.runs >= l.runs[i] {
			return true
		}
	}
	return false
}

// enter gives f its place, if there is room and no limit is reached, or else a
// turn, if it may wait. mu is held.
func (l *limiter[O]) enter(f *flight[O], wait bool) (space, *limitReached) {
	if l.full(f.session) {
		return space{short: noPermit, turn: l.turns.wait(func(time.Time) bool { return !l.full(f.session) })}, nil
	}
	var tokens pace
	var now time.Time
	if f.host != "" {
		now = time.Now()
		tokens = f.session.scope.rates.of(f.host, l.rate, now)
		if after := tokens.after(now); after > 0 {
			return space{short: noRate, after: after}, nil
		}
		if full := l.enterHost(f, wait); full.short != room {
			return full, nil
		}
	}
	reached := l.left(f.session, bytesAhead)
	if reached == nil {
		reached = l.take(f.session, requestsAhead, 1)
	}
	if reached != nil {
		f.errand.end(false)
		return space{}, reached
	}
	if f.host != "" {
		tokens.AllowN(now, 1)
	}
	l.add(f)
	return space{}, nil
}

// enterHost takes f's place at its host. mu is held.
func (l *limiter[O]) enterHost(f *flight[O], wait bool) space {
	e, no := l.hosts.enter(f.host, l.atHost, f.guess.rank == 1, wait)
	switch {
	case no.loaded:
		return space{short: noSpare, at: no.at, turn: no.turn}
	case no.after > 0:
		return space{short: noRate, after: no.after}
	case e == nil:
		return space{short: noPermit, at: no.at, turn: no.turn}
	}
	f.errand = e
	return space{}
}

// call takes account of a run of the target's own, which never waits.
func (l *limiter[O]) call(s *Session[O], host string) *errand {
	l.mu.Lock()
	now := time.Now()
	s.scope.rates.of(host, l.rate, now).owe(now)
	l.mu.Unlock()
	return l.hosts.call(host)
}

// add lists f. mu is held.
func (l *limiter[O]) add(f *flight[O]) {
	for _, a := range l.accounts(f.session) {
		a.runs++
	}
	l.list = append(l.list, f)
	l.flying.Add(1)
	if l.timer == nil {
		l.timer = time.AfterFunc(l.most, l.expire)
	}
}

// expire ends the runs that have had their time. One timer does for all, since
// they are listed by age: a timer each would cost as much as a run's other
// bookkeeping.
func (l *limiter[O]) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.now()
	for _, f := range l.list {
		if left := f.started + l.most - now; left > 0 {
			if l.timer != nil {
				l.timer.Reset(left)
			}
			return
		}
		f.kill(errTooSlow)
	}
	l.timer = nil
}

// close stops the timer. Nothing runs ahead any more.
func (l *limiter[O]) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

func (l *limiter[O]) giveUpOldest(f *flight[O], host bool) *flight[O] {
	for _, old := range l.list {
		if old.session == f.session && old.guess.step < f.guess.step && (!host || old.host == f.host) && old.giveUp() {
			return old
		}
	}
	return nil
}

// receive counts what arrives of a run ahead. When that is more than there was
// left, the run is given up.
func (l *limiter[O]) receive(f *flight[O], bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.received += bytes
	l.spend(f.session, bytesAhead, bytes)
	for i, a := range l.accounts(f.session) {
		if a.used[bytesAhead] > l.limits[i].most[bytesAhead] {
			f.giveUp()
		}
	}
}

// end takes a run off the list that has ended, and says what it brought.
func (l *limiter[O]) end(f *flight[O], bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spend(f.session, bytesAhead, max(0, bytes-f.received))
	l.remove(f, f.entry != nil)
}

// cancel undoes start: there is no run.
func (l *limiter[O]) cancel(f *flight[O]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spend(f.session, requestsAhead, -1)
	l.remove(f, false)
}

// remove takes f off the list. mu is held.
func (l *limiter[O]) remove(f *flight[O], answered bool) {
	for _, a := range l.accounts(f.session) {
		a.runs--
	}
	if f.errand != nil { // its end would need more stack than all before
		f.errand.end(answered)
	}
	if i := slices.Index(l.list, f); i >= 0 {
		l.list = slices.Delete(l.list, i, i+1)
	}
	l.flying.Add(-1)
	l.turns.call(time.Now())
}

// each calls do for every run ahead. Whoever adds one looks afterwards whether
// it is still wanted.
func (l *limiter[O]) each(do func(*flight[O])) {
	if l.flying.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.list {
		do(f)
	}
}
