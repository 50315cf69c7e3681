package replay

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteTable writes a report for people, the cases in which speculation did
// not help included.
func (r *Report) WriteTable(w io.Writer) error {
	t := &table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.line("replay: %s; profile %s, scale %g, draft %s, top %d, depth %d; %s side by side",
		r.Walk, r.Profile, r.Scale, r.Draft, r.TopN, r.Depth, plural(r.Agents, "agent"))
	r.writeReal(t)
	if r.Capacity > 0 {
		t.line("Each host works on %s at a time, queues the rest, and does not notice that a client leaves. heedless: spec that does not adapt to that.", plural(r.Capacity, "request"))
	}
	t.line("overhead of one fetch and parse: %s ms. Times below are in model seconds.", r.OverheadMSPerFetch.text(2))
	t.line("")
	r.writeArms(t)
	if _, ok := r.Arms[Spec]; ok {
		r.writeGain(t)
		r.writeCost(t)
		r.writeModel(t)
	}
	return t.close()
}

// model reports whether the draft was one.
func (r *Report) model() bool { return strings.HasPrefix(r.Draft, "chat:") }

func (r *Report) writeReal(t *table) {
	const from = "Composed from the paper's figures (arXiv 2510.16276): the times of fetch"
	switch {
	case !r.model():
		t.line("real: HTTP over loopback, HTML, concurrency, the cache. %s, think and draft.", from)
	case r.Profile == None:
		t.line("real: HTTP over loopback, HTML, concurrency, the cache, the model. The target acts at once, before any model could guess: it is asked about each click afterwards.")
	default:
		t.line("real: HTTP over loopback, HTML, concurrency, the cache, the model and its time; the profile's draft time is not added. %s and think.", from)
		if r.Scale != 1 {
			t.line("At scale %g one real second of the model counts as %.0f: for figures of time, use -scale 1.", r.Scale, 1/r.Scale)
		}
	}
}

// writeModel writes what a draft that is a model has cost.
func (r *Report) writeModel(t *table) {
	if !r.model() {
		return
	}
	t.line("")
	t.line("the model")
	t.line("calls\t%d\t%s s each; those that the target did not wait for are given up, and asked again for the accuracy", r.DraftCalls, r.ModelSeconds.text(2))
	t.line("tokens\t%d\t%s per step, prompts included", r.DraftTokens, ratio(int64(r.DraftTokens), int64(r.Steps)).text(0))
	if len(r.DraftDropped) == 0 {
		t.line("dropped\tnone\tof what the model wrote")
	}
	for _, reason := range slices.Sorted(maps.Keys(r.DraftDropped)) {
		t.line("dropped\t%d\t%s", r.DraftDropped[reason], reason)
	}
	for _, class := range slices.Sorted(maps.Keys(r.DraftFailed)) {
		t.line("failed\t%d\t%s", r.DraftFailed[class], class)
	}
}

func (r *Report) writeArms(t *table) {
	t.line("arm\twall\twaiting\tfirst pages\thits\tjoins\tmisses\tahead\thit rate\tready rate\thidden\trequests\twrong")
	for _, arm := range AllArms {
		a, ok := r.Arms[arm]
		if !ok {
			continue
		}
		t.line("%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%d\t%d", arm,
			a.WallSeconds.text(1), a.EnvSeconds.text(1), a.FirstPageSeconds.text(1),
			a.Hits, a.Joins, a.Misses, a.Ahead, a.HitRate.text(3), a.ReadyRate.text(3),
			a.HiddenSeconds.text(1), a.Requests, a.WrongObservations)
	}
	t.line("")
}

// above1 is the efficiency above which the table explains how that can be.
const above1 = 1.02

// writeGain writes what was gained. What has no value, since an arm did not
// run or nobody waited, is left out.
func (r *Report) writeGain(t *table) {
	if r.EnvReduction.known() {
		t.line("env_reduction\t%s\twaiting without / with speculation, %s left out",
			r.EnvReduction.text(2), plural(r.ResidentSteps, "resident step"))
	}
	if r.EnvReductionVsCache.known() {
		t.line("env_reduction_vs_cache\t%s\twaiting with a plain cache / with speculation, all steps", r.EnvReductionVsCache.text(2))
	}
	if r.Speedup.known() {
		t.line("speedup\t%s\tof the whole run; hiding what one step's thinking can hide gives %s", r.Speedup.text(3), r.SpeedupLimit.text(3))
	}
	if r.Efficiency.known() {
		t.line("saved\t%s\tof %s that one step's thinking can hide: efficiency %s",
			r.SavedSeconds.text(1), r.BoundSeconds.text(1), r.Efficiency.text(3))
	}
	if r.AccuracyAtN.known() {
		t.line("accuracy@%d\t%s\t95 %% interval %s to %s, over %s", r.TopN,
			r.AccuracyAtN.text(3), r.AccuracyLow.text(3), r.AccuracyHigh.text(3), plural(r.Clicks.Trials, "click"))
	}
	switch {
	case r.Profile == None:
		t.line("The profile none has no waits to hide: ratios of times are noise.")
	case r.Efficiency > above1:
		t.line("Efficiency is above 1 where a page was guessed at an earlier step and was still loading when this one began: its head start is longer than the one step that the bound counts.")
	}
	t.line("")
}

// writeCost writes what speculation cost, and where it did not help.
func (r *Report) writeCost(t *table) {
	spec, c := r.Arms[Spec], r.Clicks
	t.line("where it did not help")
	t.line("wrong guess\t%d\tclicks that the draft did not foresee", c.Wrong)
	t.line("late guess\t%d\tclicks that it foresaw, but not before the target asked", c.Late)
	t.line("lost\t%d\tclicks that it foresaw in time, and that missed all the same", r.Lost)
	if off, ok := r.Arms[Off]; ok {
		t.line("slower\t%d\tclicks that took %g s or more longer than without speculation", c.Slower, noticeable)
		t.line("requests\t%s\ttimes as many as without", ratio(int64(spec.Requests), int64(off.Requests)).text(2))
	}
	t.line("wasted\t%d\tof %d runs ahead were never served: %.1f MB", spec.Wasted, spec.Speculated, float64(spec.WastedBytes)/1e6)
	t.line("wrong observations\t%d\tserved pages that differ from a direct fetch", spec.WrongObservations)
}

// plural writes a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// known reports whether a number has a value.
func (n Number) known() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// text writes a number with so many decimals, or a dash for none.
func (n Number) text(decimals int) string {
	if !n.known() {
		return "-"
	}
	return fmt.Sprintf("%.*f", decimals, float64(n))
}

// A table is lines of cells, with the first error that writing them had.
type table struct {
	w   *tabwriter.Writer
	err error
}

func (t *table) line(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format+"\n", args...)
	}
}

func (t *table) close() error {
	if t.err != nil {
		return t.err
	}
	return t.w.Flush()
}
