package replay

import (
	"time"

	"github.com/speccache/speccache-go/speccache"
)

// A stepKey says which step this is: the same one in all arms.
type stepKey struct {
	seed              uint64
	round, item, step int
}

// A stepRecord is what was measured about one click.
type stepRecord struct {
	key     stepKey
	outcome speccache.Outcome
	hidden  time.Duration // as the engine counts it
	wait    time.Duration // the target's
	think   time.Duration // as it turned out
	draft   time.Duration // from the predictor's call to the right guess, if yielded

	resident bool // the page was there before the step began
	yielded  bool // the draft guessed the action before the target asked
	guessed  bool // it is among the draft's first guesses, in time or not
}

// armRun is what the agents of one arm have measured.
type armRun struct {
	agentResult
}

// add pools the figures of an agent.
func (r *armRun) add(a agentResult) {
	r.wall += a.wall
	r.first += a.first
	r.stats = addStats(r.stats, a.stats)
	r.requests += a.requests
	r.wrong += a.wrong
	r.steps = append(r.steps, a.steps...)
}

// waits returns the waiting of each step.
func (r *armRun) waits() map[stepKey]time.Duration {
	waits := make(map[stepKey]time.Duration, len(r.steps))
	for i := range r.steps {
		waits[r.steps[i].key] = r.steps[i].wait
	}
	return waits
}

// waited returns the waiting of all steps.
func (r *armRun) waited() (sum time.Duration) {
	for i := range r.steps {
		sum += r.steps[i].wait
	}
	return sum
}
