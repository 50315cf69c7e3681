package replay

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// Scales are those that a default is chosen from.
var Scales = []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1}

// What the overhead of a fetch may be, as a share of the median fetch: more,
// and the figures would be about this machine and not about the profile.
const maxOverhead = 0.05

// How the overhead is measured: the median of so many fetches, in the calmest
// of so many rounds. A machine that is busy for a moment is not slow.
const (
	overheadFetches = 30
	overheadRounds  = 3
)

// overhead measures how long a fetch takes that is not delayed, from the call
// to the parsed page.
func overhead(ctx context.Context, r *reference, pages []actions.Action) (time.Duration, error) {
	best := time.Duration(0)
	for range overheadRounds {
		var took []time.Duration
		for i := range overheadFetches {
			began := time.Now()
			if _, err := r.fetcher.Do(ctx, pages[i%len(pages)]); err != nil {
				return 0, err
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		if median := took[len(took)/2]; best == 0 || median < best {
			best = median
		}
	}
	return best, nil
}

// A ScaleError refuses a scale at which overhead would blur the figures.
type ScaleError struct {
	Scale, Allowed float64 // Allowed is 0 if there is none
	Overhead       time.Duration
}

// Error names the allowed scale.
func (e *ScaleError) Error() string {
	ms := float64(e.Overhead) / float64(time.Millisecond)
	if e.Allowed == 0 {
		return fmt.Sprintf("a fetch has %.1f ms of overhead here: too much for a replay at any scale up to 1", ms)
	}
	return fmt.Sprintf("scale %g is too small: the smallest that is allowed is %g, since a fetch has %.1f ms of overhead here",
		e.Scale, e.Allowed, ms)
}

// chooseScale returns the asked scale if it is no smaller than what the
// overhead allows, and for 0 the smallest allowed one.
func chooseScale(asked float64, overhead time.Duration) (float64, error) {
	i := slices.IndexFunc(Scales, func(s float64) bool {
		return overhead.Seconds() < maxOverhead*fetchMedian*s
	})
	switch {
	case i < 0:
		return 0, &ScaleError{Scale: asked, Overhead: overhead}
	case asked == 0:
		return Scales[i], nil
	case asked < Scales[i]:
		return 0, &ScaleError{Scale: asked, Allowed: Scales[i], Overhead: overhead}
	}
	return asked, nil
}

// How busy agents may keep the processors with what is not measured, and what
// they are taken to do: one agent makes about so many fetches in each step.
const (
	maxBusy        = 0.08
	fetchesPerStep = 4
	maxAgents      = 24
)

// chooseAgents returns how many agents may run side by side without
// disturbing each other's times. Without waits they would only disturb.
func chooseAgents(p Profile, scale float64, overhead time.Duration, arms int) int {
	if p == None {
		return arms
	}
	step := (thinkMean + fetchMedian) * scale
	busy := fetchesPerStep * overhead.Seconds() / step
	agents := maxBusy * float64(runtime.GOMAXPROCS(0)) / busy
	return max(arms, min(int(agents), maxAgents))
}
