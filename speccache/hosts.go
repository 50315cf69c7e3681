package speccache

import (
	"slices"
	"sync"
	"time"
)

// Hosts is what caches have learned of the hosts that they ask: how many
// requests each works on at one time. One that works on few and queues the
// rest would let the target wait behind what runs ahead. There, guesses run
// only as far as they leave a place free for the target, and they take the last
// one only while that has hidden more waiting than it caused. The others wait,
// and are dropped when the target acts: Stats.Refusals counts them as "load".
//
// Each cache has Hosts of its own, unless Config.Hosts says which: caches that
// ask the same hosts should share one, and one that lives for a single task
// learns nothing otherwise. The zero Hosts knows nothing yet. It is safe for
// concurrent use and must not be copied.
type Hosts struct {
	// IgnoreLoad lets guesses run however few requests a host works on at a
	// time. It is for hosts of your own, and for measurements. It must not
	// change while a cache uses the Hosts.
	IgnoreLoad bool

	// mu guards what follows and every host. It is held for arithmetic only, and
	// may be taken under limiter.mu.
	mu    sync.Mutex
	known map[string]*host
}

// maxHosts is how many hosts are remembered, at which nothing runs, and lookIdle
// how many are looked at for one to forget: all may be busy, and the target waits.
const (
	maxHosts = 1024
	lookIdle = 32
)

// A host is asked by targets and by runs ahead.
type host struct {
	ahead   int       // runs ahead
	errands []*errand // that it has not answered, oldest first
	stuck   []*errand // the target's, behind runs ahead that hold all the places
	turns   turns     // of runs ahead that wait for a place
	load    load
}

// An errand is a run that asks a host, from its start to its end.
type errand struct {
	hosts *Hosts
	at    *host
	ahead bool
	began time.Time
}

// Capacity returns how many requests a host, as Environment.Host names it, works
// on at one time, as far as its answers have shown; and whether it seems to
// queue what comes beyond. Until it does, guesses are not held back. Of a host that
// is not known it works on 0; that of web.Fetcher is "host" or "host:port", as in
// canonical URLs.
func (h *Hosts) Capacity(name string) (atOnce int, queues bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.known[name]
	if at == nil {
		return 0, false
	}
	return at.load.shown, at.load.queues(time.Now())
}

// of returns a host, and remembers it. mu is held.
func (h *Hosts) of(name string) *host {
	at := h.known[name]
	if at != nil {
		return at
	}
	if h.known == nil {
		h.known = map[string]*host{}
	}
	look := lookIdle
	for old, idle := range h.known {
		if len(h.known) < maxHosts || look == 0 {
			break
		}
		if len(idle.errands) == 0 && idle.turns.waiting.Len() == 0 {
			delete(h.known, old)
		}
		look--
	}
	at = &host{load: newLoad(time.Now())}
	h.known[name] = at
	return at
}

// call begins an errand of the target's, which asks nobody.
func (h *Hosts) call(name string) *errand {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, now := h.of(name), time.Now()
	e := at.add(h, false, now)
	if at.ahead > 0 && at.load.queues(now) && len(at.errands) > at.load.shown {
		at.stuck = append(at.stuck, e)
	}
	return e
}

// A refusal says why a run ahead can't begin its errand yet.
type refusal struct {
	at     *host         // that has no place for it
	turn   *turn         // there, if it is to wait
	after  time.Duration // or how soon it may ask again
	loaded bool          // there is a place, but not to spare
}

// enter begins an errand of a run ahead, if there is room for it beside at most
// so many others. If not, it may wait for its turn.
func (h *Hosts) enter(name string, most int, first, wait bool) (*errand, refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, now := h.of(name), time.Now()
	l := &at.load
	after := l.apart() - now.Sub(l.last)
	switch {
	case !h.spares(at, most, first, now):
		no := refusal{at: at, loaded: at.ahead < most}
		if wait {
			no.turn = at.turns.wait(func(now time.Time) bool { return h.spares(at, most, first, now) })
		}
		return nil, no
	case h.IgnoreLoad:
	case after > 0:
		return nil, refusal{after: after}
	default:
		l.last = now
		if l.shown-len(at.errands) <= 1 {
			l.untried = 0
		}
	}
	return at.add(h, true, now), refusal{}
}

// spares reports whether a host has room for one more run ahead. mu is held.
func (h *Hosts) spares(at *host, most int, first bool, now time.Time) bool {
	return at.ahead < most && (h.IgnoreLoad || at.load.spares(len(at.errands), first, now))
}

// leave gives a turn back: it was taken, or is not waited for any more.
func (h *Hosts) leave(at *host, n *turn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at.turns.leave(n, time.Now())
}

func (at *host) add(h *Hosts, ahead bool, now time.Time) *errand {
	e := &errand{hosts: h, at: at, ahead: ahead, began: now}
	at.errands = append(at.errands, e)
	if ahead {
		at.ahead++
	}
	return e
}

// end says that a run has ended, and whether the host has answered it: what
// failed or was given up says nothing about the host. A nil errand asks no host
// that is known.
func (e *errand) end(answered bool) {
	if e == nil {
		return
	}
	h, at := e.hosts, e.at
	h.mu.Lock()
	defer h.mu.Unlock()
	now, i := time.Now(), slices.Index(at.errands, e)
	if answered {
		at.load.answer(i, at.errands, now)
	}
	at.errands = slices.Delete(at.errands, i, i+1)
	if e.ahead {
		at.ahead--
	}
	for _, other := range at.stuck {
		if other != e {
			at.load.delayed += now.Sub(other.began)
		}
	}
	at.stuck = nil
	at.turns.call(now)
}

// hid says how much waiting a run ahead has hidden from the target.
func (e *errand) hid(d time.Duration) {
	if e == nil || d <= 0 {
		return
	}
	e.hosts.mu.Lock()
	defer e.hosts.mu.Unlock()
	e.at.load.hidden += d
	e.at.turns.call(time.Now())
}
