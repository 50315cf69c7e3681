package replay

import (
	"fmt"
	"math"
)

// A Profile says how long things take, in model seconds.
type Profile string

const (
	// Paper is composed from the figures of arXiv 2510.16276: a fetch takes 6
	// s in the median and more than a minute in the tail, the target thinks
	// 19.5 s in the mean, the draft 3 s.
	Paper Profile = "paper"
	// SlowDraft is Paper with a draft that is 0.2 s slower than the target at
	// every step: speculation can't pay, and must not cost.
	SlowDraft Profile = "slow-draft"
	// None has no waits.
	None Profile = "none"
)

// ParseProfile returns the profile of a name.
func ParseProfile(name string) (Profile, error) {
	switch p := Profile(name); p {
	case Paper, SlowDraft, None:
		return p, nil
	}
	return "", fmt.Errorf("profile %q: want paper, slow-draft or none", name)
}

// The times of Paper.
const (
	fetchMedian = 6.0
	fetchSigma  = 0.8
	thinkMean   = 19.5
	thinkSigma  = 0.4
	draftTime   = 3.0
	draftBehind = 0.2 // of SlowDraft
)

// The mean of a lognormal is its median times exp(sigma^2/2).
var fetchMean = fetchMedian * math.Exp(fetchSigma*fetchSigma/2)

var (
	fetchTimes = logNormal{fetchMedian, fetchSigma}
	thinkTimes = logNormal{thinkMean * math.Exp(-thinkSigma*thinkSigma/2), thinkSigma}
)

// fetch returns how long a page takes to come; think, how long the target
// thinks before a step; draft, how long the draft does.
func (p Profile) fetch(seed uint64, item int, page string) float64 {
	if p == None {
		return 0
	}
	return fetchTimes.at(uniform(seed, keyOf("fetch", page, item)))
}

func (p Profile) think(seed uint64, item, step int) float64 {
	if p == None {
		return 0
	}
	return thinkTimes.at(uniform(seed, mix(keyOf("think", "", item), uint64(step))))
}

func (p Profile) draft(seed uint64, item, step int) float64 {
	switch p {
	case None:
		return 0
	case SlowDraft:
		return p.think(seed, item, step) + draftBehind
	}
	return draftTime
}
