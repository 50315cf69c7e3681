package speccache

import (
	"context"
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
	runs   [4]int      // at one time: of the session, the scope, the cache, a host
	clock  *clock
	most   time.Duration // that a run may take
	flying atomic.Int32  // len(list): writes need not look when there is nothing

	// mu guards what follows and the accounts of sessions and scopes. It is
	// held for arithmetic and for cancelling contexts.
	mu    sync.Mutex
	cache account
	hosts map[string]*account // that something runs at
	list  []*flight[O]        // runs ahead, oldest first
	timer *time.Timer         // for the oldest one's end; nil while there is none
	freed chan struct{}       // closed when a run ends; nil if nobody waits for that
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
			cfg.MaxAheadSession, max(cfg.MaxAheadSession, (cfg.MaxAhead+1)/2), cfg.MaxAhead, cfg.MaxAheadHost,
		},
		hosts: map[string]*account{},
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

// start lists a run ahead, once there is room for it. If there is none it gives
// up the oldest run in the way that nobody waits for, of the same session and
// from an earlier step, whose place follows when it has ended. It fails when a
// limit is reached, or when ctx ends: the target has acted.
func (l *limiter[O]) start(ctx context.Context, f *flight[O]) (ok bool, reached *limitReached) {
	var victim *flight[O]
	for {
		l.mu.Lock()
		if ctx.Err() != nil {
			l.mu.Unlock()
			return false, nil
		}
		full, host := l.full(f)
		if !full {
			if reached = l.left(f.session, bytesAhead); reached == nil {
				reached = l.take(f.session, requestsAhead, 1)
			}
			if reached == nil {
				l.add(f)
			}
			l.mu.Unlock()
			return reached == nil, reached
		}
		if !slices.Contains(l.list, victim) { // one at a time
			victim = l.giveUpOldest(f, host)
		}
		if l.freed == nil {
			l.freed = make(chan struct{})
		}
		freed := l.freed
		l.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		}
		f.started = l.clock.now()
	}
}

// try is start for what can be left undone: it does not wait for room.
func (l *limiter[O]) try(f *flight[O]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if full, _ := l.full(f); full || l.left(f.session, bytesAhead) != nil || l.take(f.session, requestsAhead, 1) != nil {
		return false
	}
	l.add(f)
	return true
}

// full reports whether there is no room for f, and whether that is only so at
// its host. mu is held.
func (l *limiter[O]) full(f *flight[O]) (full, host bool) {
	for i, a := range l.accounts(f.session) {
		if a.runs >= l.runs[i] {
			return true, false
		}
	}
	if f.host == "" {
		return false, false
	}
	at := l.hosts[f.host]
	full = at != nil && at.runs >= l.runs[len(l.runs)-1]
	return full, full
}

// add gives f its place. mu is held.
func (l *limiter[O]) add(f *flight[O]) {
	for _, a := range l.accounts(f.session) {
		a.runs++
	}
	if f.host != "" {
		at := l.hosts[f.host]
		if at == nil {
			at = &account{}
			l.hosts[f.host] = at
		}
		at.runs++
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

// end takes a run off the list that has ended, and says what it brought.
func (l *limiter[O]) end(f *flight[O], bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spend(f.session, bytesAhead, bytes)
	l.remove(f)
}

// cancel undoes start: there is no run.
func (l *limiter[O]) cancel(f *flight[O]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spend(f.session, requestsAhead, -1)
	l.remove(f)
}

func (l *limiter[O]) remove(f *flight[O]) {
	for _, a := range l.accounts(f.session) {
		a.runs--
	}
	if f.host != "" {
		at := l.hosts[f.host]
		if at.runs--; at.runs == 0 {
			delete(l.hosts, f.host)
		}
	}
	if i := slices.Index(l.list, f); i >= 0 {
		l.list = slices.Delete(l.list, i, i+1)
	}
	l.flying.Add(-1)
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
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
