package speccache

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// rates are how often a scope asks hosts: a bucket of tokens for each, from which
// its runs ahead take one when they start, and which its targets' own runs take
// without asking. They are guarded by limiter.mu.
type rates map[string]pace

type pace struct{ *rate.Limiter }

const (
	maxRates = 64 // of a scope that are not full; all hosts beyond share one
	theRest  = "" // which is no host's name
	// burstSeconds is for how long what was not used may be used later.
	burstSeconds = 3
)

// of returns the pace at a host.
func (r *rates) of(host string, perSecond float64, now time.Time) pace {
	if b, ok := (*r)[host]; ok {
		return b
	}
	if *r == nil {
		*r = rates{}
	}
	if len(*r) >= maxRates {
		r.forget(now)
	}
	if len(*r) >= maxRates {
		host = theRest
		if b, ok := (*r)[host]; ok {
			return b
		}
	}
	burst := max(1, min(burstSeconds*perSecond, math.MaxInt32))
	b := pace{rate.NewLimiter(rate.Limit(perSecond), int(burst))}
	(*r)[host] = b
	return b
}

// forget lets go of the full buckets, which are as good as new ones.
func (r rates) forget(now time.Time) {
	for host, b := range r {
		if b.TokensAt(now) >= float64(b.Burst()) {
			delete(r, host)
		}
	}
}

// after returns how long there will be no token. Whoever waits for longer than
// an hour may ask again then.
func (b pace) after(now time.Time) time.Duration {
	missing := 1 - b.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	seconds := min(missing/float64(b.Limit()), time.Hour.Seconds())
	return max(1, time.Duration(seconds*float64(time.Second)))
}

// owe takes a token that need not be there, down to what a burst takes to come
// back.
func (b pace) owe(now time.Time) {
	if b.TokensAt(now) > -float64(b.Burst()) {
		b.ReserveN(now, 1)
	}
}
