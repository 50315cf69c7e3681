package speccache

import (
	"time"

	"golang.org/x/time/rate"
)

// rates are how often a scope asks hosts: a bucket of tokens for each, from which
// its runs ahead take one when they start, and which its targets' own runs take
// without asking. They are guarded by limiter.mu.
type rates map[string]pace

type pace struct{ *rate.Limiter }

const (
	maxRates = 64 // of a scope; when there are more, all are full again
	// burstSeconds is for how long what was not used may be used later.
	burstSeconds = 3
)

// of returns the pace at a host.
func (r *rates) of(host string, perSecond float64) pace {
	if b, ok := (*r)[host]; ok {
		return b
	}
	if *r == nil || len(*r) >= maxRates {
		*r = rates{}
	}
	b := pace{rate.NewLimiter(rate.Limit(perSecond), max(1, int(burstSeconds*perSecond)))}
	(*r)[host] = b
	return b
}

// after returns how long there will be no token.
func (b pace) after(now time.Time) time.Duration {
	missing := 1 - b.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return max(1, time.Duration(missing/float64(b.Limit())*float64(time.Second)))
}

// owe takes a token that need not be there, down to what a burst takes to come
// back.
func (b pace) owe(now time.Time) {
	if b.TokensAt(now) > -float64(b.Burst()) {
		b.ReserveN(now, 1)
	}
}
