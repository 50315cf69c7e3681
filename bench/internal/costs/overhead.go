package costs

import (
	"context"
	"errors"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
)

// OverheadConfig is what Overhead may be told.
type OverheadConfig struct{ Rounds int }

// An OverheadReport says what a session adds to the work itself. Times are in
// nanoseconds.
type OverheadReport struct {
	PassthroughNS  float64 `json:"passthrough_ns"`
	StepNS         float64 `json:"step_ns"`
	StepAllocs     float64 `json:"step_allocs"`
	StepVsSkeleton float64 `json:"step_vs_skeleton"`

	PolicyNS     float64 `json:"policy_ns"`
	PolicyAllocs float64 `json:"policy_allocs"`
	PagePolicyUS float64 `json:"page_policy_us"`

	SkeletonNS        float64 `json:"skeleton_ns"`
	SkeletonAllocs    float64 `json:"skeleton_allocs"`
	DirectNS          float64 `json:"direct_ns"`
	PassthroughAllocs float64 `json:"passthrough_allocs"`
	// AA is the time of the skeleton over that of the same one again.
	AA float64 `json:"aa"`
	// PolicyAA is the same for verdicts.
	PolicyAA float64 `json:"policy_aa"`
	Rounds   int     `json:"rounds"`
}

// Names of subjects.
const (
	direct    = "the executor alone"
	through   = "the executor through a session"
	steps     = "steps"
	skeletonA = "skeleton"
	skeletonB = "skeleton again"
	policyA   = "verdicts"
	policyB   = "verdicts again"
	pageRules = "the verdicts of a page"
)

// stepsPerBatch is how many steps one sample is the median of.
const stepsPerBatch = 500

// Overhead measures what a session without a predictor adds to an undeclared
// action, how long a step with three instant guesses takes, and what the verdicts
// of the web's policy cost.
func Overhead(ctx context.Context, cfg OverheadConfig) (*OverheadReport, error) {
	defer atCPUs(2)()
	pass, err := newPassage()
	if err != nil {
		return nil, err
	}
	defer pass.cache.Close()
	walk, err := newWalk()
	if err != nil {
		return nil, err
	}
	defer walk.cache.Close()
	read, err := newReading(ctx)
	if err != nil {
		return nil, err
	}
	times, err := interleave(ctx, cfg.Rounds,
		subject{skeletonA, skeletons},
		subject{direct, pass.direct},
		subject{through, pass.through},
		subject{policyA, read.judge},
		subject{steps, walk.measure},
		subject{policyB, read.judge},
		subject{pageRules, read.judgePage},
		subject{skeletonB, skeletons},
	)
	if err != nil {
		return nil, err
	}
	report := newOverheadReport(times, cfg)
	report.PassthroughAllocs, report.PolicyAllocs = pass.memory(ctx), read.memory()
	report.StepAllocs, report.SkeletonAllocs, err = walk.memory(ctx)
	return report, err
}

func newOverheadReport(times samples, cfg OverheadConfig) *OverheadReport {
	skeleton := times.median(skeletonA, skeletonB)
	return &OverheadReport{
		PassthroughNS:  round(times.median(through)-times.median(direct), 1),
		StepNS:         round(times.median(steps), 0),
		StepVsSkeleton: round(times.median(steps)/skeleton, 3),
		PolicyNS:       round(times.median(policyA, policyB), 1),
		PagePolicyUS:   round(times.median(pageRules)/1000, 1),
		PolicyAA:       round(times.median(policyA)/times.median(policyB), 3),
		SkeletonNS:     round(skeleton, 0),
		DirectNS:       round(times.median(direct), 1),
		AA:             round(times.median(skeletonA)/times.median(skeletonB), 3),
		Rounds:         cfg.Rounds,
	}
}

// A passage is a session that an undeclared action passes through.
type passage struct {
	cache   *speccache.Cache[*page]
	session *speccache.Session[*page]
	action  actions.Action
}

func newPassage() (*passage, error) {
	c, err := speccache.New(actions.Environment[*page]{Do: instantly, Rules: rules}, config())
	if err != nil {
		return nil, err
	}
	s := c.Open(speccache.SessionConfig[*page]{Scope: "bench"})
	return &passage{c, s, action(submit, 1)}, nil
}

func (p *passage) direct(ctx context.Context) (float64, error) {
	return calls(ctx, instantly, p.action)
}

func (p *passage) through(ctx context.Context) (float64, error) {
	return calls(ctx, p.session.Do, p.action)
}

// memory returns what an action through the session allocates.
func (p *passage) memory(ctx context.Context) float64 {
	allocs, _ := allocated(callsPerChunk, func() { pass(ctx, p.session.Do, p.action) })
	return round(allocs, 1)
}

const callsPerChunk = 200

// pass calls an executor, and returns the last error.
func pass(ctx context.Context, do actions.Executor[*page], a actions.Action) (err error) {
	for range callsPerChunk {
		if _, failed := do(ctx, a); failed != nil {
			err = failed
		}
	}
	return err
}

// calls returns the time of one call of an executor.
func calls(ctx context.Context, do actions.Executor[*page], a actions.Action) (ns float64, err error) {
	ns = repeat(callsPerChunk, func() { err = errors.Join(err, pass(ctx, do, a)) })
	return ns, err
}

// A walk is a session whose steps are measured. Each action of its target was
// guessed in the step before. The cache has the default limits, and is full
// after a thousand observations.
type walk struct {
	*stepper
	session *speccache.Session[*page]
}

func newWalk() (*walk, error) {
	st, err := newStepper(speccache.DefaultMaxBytes, nil)
	if err != nil {
		return nil, err
	}
	return &walk{st, st.cache.Open(speccache.SessionConfig[*page]{Scope: "bench"})}, nil
}

// prepare makes the moves of n steps.
func (w *walk) prepare(n int) {
	last := w.now
	w.stepper.prepare(n)
	for i := range w.plan {
		if last.guesses != nil {
			w.plan[i].action = last.guesses[0]
		}
		last = w.plan[i]
	}
}

func (w *walk) measure(ctx context.Context) (float64, error) {
	w.prepare(stepsPerBatch)
	return w.steps(ctx)
}

func (w *walk) steps(ctx context.Context) (ns float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return timed(stepsPerBatch, func() (time.Duration, error) { return w.step(ctx, w.session) })
}

// memory returns what a step, and a skeleton, allocates.
func (w *walk) memory(ctx context.Context) (step, skeleton float64, err error) {
	w.prepare(stepsPerBatch)
	step, _ = allocated(stepsPerBatch, func() { _, err = w.steps(ctx) })
	skeleton, _ = allocated(stepsPerBatch, func() { skeletons(ctx) })
	return round(step, 1), round(skeleton, 1), err
}
