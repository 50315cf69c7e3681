package speccache

import (
	"sort"
	"time"
)

// A load is what a host's answers say about how many requests it works on at
// one time.
//
// A host that works on fewer answers in the order in which it was asked: with n
// at a time, what it answers is one of the n oldest. So an answer to one with n
// older ones before it shows that the host works on more than n, however long
// its pages take. That none does is no proof, but evidence: of m requests that
// are worked on at once, each is the next to be answered with a chance of about
// 1/m. doubt is the ratio of the two likelihoods, that the host works on no more
// than was shown and that it works on all, over the answers so far. A host that
// works on all drives it above k with a chance of about 1/k (Ville's inequality).
//
// The chances are equal only for requests of about the same age: what has just
// begun can't be answered yet. So an answer is compared with those that began with
// it. Requests that come at the same moment have no order, though. Runs ahead
// therefore start a little apart at each host.
type load struct {
	since time.Time // when it knew nothing
	shown int       // requests that it works on at one time, by what was seen
	more  int       // answers that showed more
	doubt float64

	quickest time.Duration // answer
	last     time.Time     // start of a run ahead
	answers  [8]time.Time  // the last ones, in a ring
	next     int

	hidden, delayed time.Duration // waiting, by runs ahead, since it queues
	untried         int           // answers since the last place was given away
}

const (
	enoughDoubt = 128
	// enoughMore answers show that a host works on one more. One could be due to
	// requests that have overtaken each other on their way.
	enoughMore = 2
	// lessDoubt is what one of them does to the doubt.
	lessDoubt = 8
	// memory is after how long all is learned anew: hosts change.
	memory = time.Hour
	// tryAgain is after how many answers a guess takes the last place although
	// that did not pay: it may pay again.
	tryAgain = 16
	// How far apart runs ahead start at a host.
	minApart, maxApart = time.Millisecond, 100 * time.Millisecond
)

func newLoad(now time.Time) load { return load{since: now, shown: 1, doubt: 1} }

// apart is how far apart runs ahead start: a small part of what an answer takes.
func (l *load) apart() time.Duration { return min(max(l.quickest/16, minApart), maxApart) }

// answer takes account of the host's answer to one of its requests, which are
// given oldest first.
func (l *load) answer(which int, all []*errand, now time.Time) {
	l.untried++
	from, to := l.peers(which, all)
	// Of these, what comes next if it works on no more than was shown.
	among := sort.Search(to-from, func(i int) bool { return l.older(from+i, all) >= l.shown })
	switch {
	case max(l.older(which, all), l.together(now)) >= l.shown:
		l.doubt = max(1, l.doubt/lessDoubt)
		if l.more++; l.more == enoughMore {
			l.shown, l.more, l.doubt = l.shown+1, 0, 1
		}
	case l.doubt < enoughDoubt:
		if l.doubt *= float64(to-from) / float64(among); l.doubt >= enoughDoubt {
			l.hidden, l.delayed = 0, 0
		}
	}
	if took := now.Sub(all[which].began); l.quickest == 0 || took < l.quickest {
		l.quickest = took
	}
	l.answers[l.next] = now
	l.next = (l.next + 1) % len(l.answers)
}

// peers returns the requests that began at about the same time as one.
func (l *load) peers(which int, all []*errand) (from, to int) {
	began := all[which].began
	first, last := began.Add(-l.quickest/2), began.Add(l.quickest/2)
	from = sort.Search(which, func(i int) bool { return !all[i].began.Before(first) })
	to = which + sort.Search(len(all)-which, func(i int) bool { return all[which+i].began.After(last) })
	return from, to
}

// older returns how many requests certainly came before one.
func (l *load) older(which int, all []*errand) int {
	latest := all[which].began.Add(-l.apart() / 2)
	return sort.Search(which, func(i int) bool { return all[i].began.After(latest) })
}

// together returns how many of the last answers came so shortly before now that
// no work can have begun after them: what comes now was worked on together with
// them. It serves hosts whose answers all take equally long, and so never
// overtake.
func (l *load) together(now time.Time) (n int) {
	for _, at := range l.answers {
		if !at.IsZero() && now.Sub(at) < l.quickest/4 {
			n++
		}
	}
	return n
}

// queues reports whether the host is taken to work on no more than was shown.
func (l *load) queues(now time.Time) bool {
	if now.Sub(l.since) >= memory {
		*l = newLoad(now)
	}
	return l.doubt >= enoughDoubt
}

// spares reports whether the host has room for one more run ahead beside so many
// requests. The last place, which the target would need, is for the draft's
// first guess, and only if that pays.
func (l *load) spares(requests int, first bool, now time.Time) bool {
	switch free := l.shown - requests; {
	case !l.queues(now), free > 1:
		return true
	case free < 1, !first:
		return false
	}
	return l.hidden >= l.delayed || l.untried >= tryAgain
}
