package replay

import (
	"encoding/json"
	"math"
	"time"

	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/speccache"
)

// A Number is a figure of a report. In JSON it is null where it has no value,
// such as a ratio of nothing to nothing or a comparison with an arm that did
// not run.
type Number float64

// MarshalJSON writes null for what is no number.
func (n Number) MarshalJSON() ([]byte, error) {
	if n.known() {
		return json.Marshal(float64(n))
	}
	return []byte("null"), nil
}

var missing = Number(math.NaN())

// A Report is what a replay has measured. Times are in model seconds; figures
// are pooled over all seeds and steps. replay.md defines each of them.
type Report struct {
	Items         int     `json:"items"`
	Steps         int     `json:"steps"`
	ResidentSteps int     `json:"resident_steps"`
	Seeds         int     `json:"seeds"`
	Scale         float64 `json:"scale"`
	Profile       Profile `json:"profile"`
	Draft         string  `json:"draft"`
	TopN          int     `json:"topn"`
	Depth         int     `json:"depth"`
	Capacity      int     `json:"server_capacity"` // 0: no limit

	AccuracyAtN  Number `json:"accuracy_at_n"`
	AccuracyLow  Number `json:"accuracy_low"`
	AccuracyHigh Number `json:"accuracy_high"`

	Arms map[Arm]ArmReport `json:"arms"`

	SavedSeconds        Number `json:"saved_seconds"`
	BoundSeconds        Number `json:"bound_seconds"`
	Efficiency          Number `json:"efficiency"`
	Lost                int    `json:"lost"`
	EnvReduction        Number `json:"env_reduction"`
	EnvReductionVsCache Number `json:"env_reduction_vs_cache"`
	Speedup             Number `json:"speedup"`
	SpeedupLimit        Number `json:"speedup_limit"`
	OverheadMSPerFetch  Number `json:"overhead_ms_per_fetch"`

	// Of drafts that are models: calls and tokens, of all calls, and what was
	// wrong with what the model wrote.
	DraftCalls   int                      `json:"draft_calls"`
	DraftTokens  int                      `json:"draft_tokens"`
	DraftDropped map[draft.DropReason]int `json:"draft_dropped,omitempty"`
	DraftFailed  map[draft.Class]int      `json:"draft_failed,omitempty"`

	// Clicks counts what the table tells beyond the JSON.
	Clicks ClickCounts `json:"-"`
	Walk   Walk        `json:"-"`
	Agents int         `json:"-"` // side by side
	// ModelSeconds is how long a call of a model took, in real seconds, if it
	// was not given up.
	ModelSeconds Number `json:"-"`
}

// ClickCounts says where speculation did not help, in steps of the spec arm
// that were not resident.
type ClickCounts struct {
	Trials int // clicks that the accuracy is over
	Wrong  int // the draft guessed something else
	Late   int // it would have been right, but was not in time
	Slower int // the target waited longer than without speculation, by 0.5 s or more
}

// An ArmReport is one arm's share of a Report.
type ArmReport struct {
	WallSeconds       Number `json:"wall_seconds"`
	EnvSeconds        Number `json:"env_seconds"`
	FirstPageSeconds  Number `json:"first_page_seconds"`
	Lookups           int64  `json:"lookups"`
	Hits              int64  `json:"hits"`
	Joins             int64  `json:"joins"`
	Misses            int64  `json:"misses"`
	Ahead             int64  `json:"ahead"`
	HitRate           Number `json:"hit_rate"`
	ReadyRate         Number `json:"ready_rate"`
	HiddenSeconds     Number `json:"hidden_seconds"`
	Speculated        int64  `json:"speculated"`
	Used              int64  `json:"used"`
	Wasted            int64  `json:"wasted"`
	WastedBytes       int64  `json:"wasted_bytes"`
	Requests          int    `json:"requests"`
	WrongObservations int    `json:"wrong_observations"`
}

// pooled are the sums that the comparisons are made of.
type pooled struct {
	saved, bound time.Duration
	offWaits     time.Duration // of the steps that were not resident
	specWaits    time.Duration // of the same
	offResident  time.Duration // off's waiting on the resident ones
	hidden       time.Duration
	resident     int
	lost         int
	clicks       ClickCounts
}

// pool sums over the steps of the spec arm, beside off's waiting on the same
// steps.
func pool(spec []stepRecord, off map[stepKey]time.Duration, slower time.Duration) (p pooled) {
	for i := range spec {
		s := &spec[i]
		without := off[s.key]
		if s.resident {
			p.resident++
			p.offResident += without
			continue
		}
		p.offWaits += without
		p.specWaits += s.wait
		p.hidden += s.hidden
		if s.yielded {
			p.saved += without - s.wait
			p.bound += min(without, max(0, s.think-s.draft))
		}
		p.count(s, s.wait-without >= slower)
	}
	return p
}

// count counts the ways in which a step was not helped.
func (p *pooled) count(s *stepRecord, slower bool) {
	switch {
	case s.yielded && s.outcome == speccache.Miss:
		p.lost++
	case !s.yielded && s.guessed:
		p.clicks.Late++
	case !s.yielded:
		p.clicks.Wrong++
	}
	if slower {
		p.clicks.Slower++
	}
}

// A trial is one sample of a draft's quality.
type trial struct {
	seed       uint64
	item, step int
}

// accuracy returns how many of how many clicks the draft guessed. A click
// that is walked again is no new sample, and neither is another seed if the
// guesses do not depend on it.
func accuracy(spec []stepRecord, seeded bool) (right, of int) {
	known := map[trial]bool{}
	for i := range spec {
		k := spec[i].key
		t := trial{k.seed, k.item, k.step}
		if !seeded {
			t.seed = 0
		}
		if known[t] || k.round > 0 {
			continue
		}
		known[t] = true
		of++
		if spec[i].guessed {
			right++
		}
	}
	return right, of
}

// wilson returns the 95 % interval of a share.
func wilson(right, of int) (low, high float64) {
	if of == 0 {
		return math.NaN(), math.NaN()
	}
	const z = 1.959963984540054
	n := float64(of)
	p := float64(right) / n
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, middle-half), min(1, middle+half)
}

// ratio of two figures, missing if there is nothing to compare with.
func ratio[N int64 | time.Duration](a, b N) Number {
	if b == 0 {
		return missing
	}
	return Number(float64(a) / float64(b))
}

// newReport makes the report of what the arms have measured.
func newReport(s *setup, runs map[Arm]*armRun) *Report {
	r := &Report{
		Items: len(s.cfg.Items), Seeds: s.cfg.Seeds, Scale: s.scale,
		Profile: s.cfg.Profile, Draft: s.cfg.Draft.String(), TopN: s.cfg.TopN, Depth: s.cfg.Depth,
		Capacity:           s.cfg.ServerCapacity,
		Steps:              s.steps * s.cfg.Seeds,
		OverheadMSPerFetch: Number(s.overhead.Seconds() * 1000),
		Arms:               map[Arm]ArmReport{},
		Walk:               s.walk(),
		Agents:             s.atOnce() * len(s.cfg.Arms),
	}
	for arm, run := range runs {
		r.Arms[arm] = s.armReport(run)
	}
	s.tally.fill(r)
	r.compare(s, runs)
	return r
}

func (s *setup) armReport(run *armRun) ArmReport {
	st := run.stats
	var hidden time.Duration
	for i := range run.steps {
		if !run.steps[i].resident {
			hidden += run.steps[i].hidden
		}
	}
	return ArmReport{
		WallSeconds: s.seconds(run.wall), EnvSeconds: s.seconds(run.waited()),
		FirstPageSeconds: s.seconds(run.first),
		Lookups:          st.Lookups, Hits: st.Hits, Joins: st.Joins, Misses: st.Misses, Ahead: st.Ahead,
		HitRate: ratio(st.Hits+st.Joins, st.Lookups), ReadyRate: ratio(st.Hits, st.Lookups),
		HiddenSeconds: s.seconds(hidden),
		Speculated:    st.Speculated, Used: st.Used, Wasted: st.Wasted, WastedBytes: st.WastedBytes,
		Requests: run.requests, WrongObservations: run.wrong,
	}
}

// compare fills in what compares the arms. What needs an arm that did not run
// is missing.
func (r *Report) compare(s *setup, runs map[Arm]*armRun) {
	r.AccuracyAtN, r.AccuracyLow, r.AccuracyHigh = missing, missing, missing
	r.SavedSeconds, r.BoundSeconds, r.Efficiency = missing, missing, missing
	r.EnvReduction, r.EnvReductionVsCache, r.Speedup, r.SpeedupLimit = missing, missing, missing, missing
	spec, off, cache := runs[Spec], runs[Off], runs[Cache]
	if spec == nil {
		return
	}
	right, of := accuracy(spec.steps, s.cfg.Draft.seeded())
	low, high := wilson(right, of)
	r.AccuracyAtN, r.AccuracyLow, r.AccuracyHigh = ratio(int64(right), int64(of)), Number(low), Number(high)
	if cache != nil {
		r.EnvReductionVsCache = ratio(cache.waited(), spec.waited())
	}
	var waits map[stepKey]time.Duration
	if off != nil {
		waits = off.waits()
	}
	p := pool(spec.steps, waits, s.scaled(noticeable))
	r.ResidentSteps, r.Lost, r.Clicks = p.resident, p.lost, p.clicks
	r.Clicks.Trials = of
	if off == nil {
		r.Clicks.Slower = 0
		return
	}
	r.SavedSeconds, r.BoundSeconds = s.seconds(p.saved), s.seconds(p.bound)
	r.Efficiency = ratio(p.saved, p.bound)
	r.EnvReduction = ratio(p.offWaits, p.specWaits)
	r.Speedup = ratio(off.wall, spec.wall)
	r.SpeedupLimit = ratio(off.wall, off.wall-p.bound-p.offResident)
}

// noticeable is how much longer a step must take, in model seconds, to be
// called slower.
const noticeable = 0.5
