package costs

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// The bars: what a figure may be at most.
const (
	barResident      = 0.75 // of a bare ristretto, on one CPU
	barResidentOnTwo = 0.60
	barStaged        = 0.60
	barOtter         = 1.0
	barPassthrough   = 500 // ns
	barSkeleton      = 2.0
	barPolicy        = 300  // ns
	barPagePolicy    = 1000 // µs
	barGrowth        = 1.5
	barIdle          = 4 << 10 // bytes
)

// against says whether a figure keeps its bar.
func against(x, bar float64) string {
	if x <= bar {
		return fmt.Sprintf("bar %g: kept", bar)
	}
	return fmt.Sprintf("bar %g: MISSED", bar)
}

// A table is text in columns, which are separated by tabs.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer) table { return table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

func (t table) line(format string, args ...any) { fmt.Fprintf(t.w, format+"\n", args...) }

// WriteTable writes the report for people.
func (r *LookupReport) WriteTable(w io.Writer) error {
	bar := barResident
	if r.CPUs > 1 {
		bar = barResidentOnTwo
	}
	t := newTable(w)
	t.line("lookup: ns per lookup of one of %d keys, on each of %d CPUs; medians of %d rounds", HotKeys, r.CPUs, r.Rounds)
	t.line("")
	t.line("ristretto, a bare Get\t%.1f", r.RawRistrettoNS)
	t.line("otter, a bare GetIfPresent\t%.1f", r.RawOtterNS)
	t.line("resident: read before\t%.1f\t%.3f of ristretto's\t%s", r.ResidentNS, r.ResidentVsRistretto, against(r.ResidentVsRistretto, bar))
	t.line("\t\t%.3f of otter's\t%s", r.ResidentVsOtter, against(r.ResidentVsOtter, barOtter))
	t.line("staged: ran ahead, first reading\t%.1f\t%.3f of ristretto's\t%s", r.StagedNS, r.StagedVsRistretto, against(r.StagedVsRistretto, barStaged))
	t.line("miss: nobody ran it\t%.1f", r.MissNS)
	t.line("")
	t.line("A/A, ristretto's over another one's\t%.3f\tso far identical code differs here", r.AA)
	if r.CPUs > 1 {
		t.line("goroutines ran beside each other\t%.0f %%\tof the time", 100*r.Beside)
	}
	t.line("memory of a resident lookup\t%d allocs\t%.2f B, amortised %.4f allocs", r.AllocsPerOp, r.BytesPerOp, r.ResidentAllocsPerOp)
	t.line("memory of ristretto's Get\t\t%.2f B, amortised %.4f allocs", r.RistrettoBytesPerOp, r.RistrettoAllocsPerOp)
	return t.w.Flush()
}

// WriteTable writes the report for people.
func (r *OverheadReport) WriteTable(w io.Writer) error {
	t := newTable(w)
	t.line("overhead: 2 CPUs, medians of %d rounds", r.Rounds)
	t.line("")
	t.line("passing through a session adds\t%.0f ns\t%.1f allocs\t%s", r.PassthroughNS, r.PassthroughAllocs, against(r.PassthroughNS, barPassthrough))
	t.line("a step with three guesses\t%.0f ns\t%.1f allocs", r.StepNS, r.StepAllocs)
	t.line("a skeleton of one\t%.0f ns\t%.1f allocs", r.SkeletonNS, r.SkeletonAllocs)
	t.line("step / skeleton\t%.3f\t\t%s", r.StepVsSkeleton, against(r.StepVsSkeleton, barSkeleton))
	t.line("")
	t.line("the policy's verdict on a guess\t%.0f ns\t%.1f allocs\t%s", r.PolicyNS, r.PolicyAllocs, against(r.PolicyNS, barPolicy))
	t.line("the verdicts of a page, per %d links\t%.0f µs\t\t%s", linksPerPage, r.PagePolicyUS, against(r.PagePolicyUS, barPagePolicy))
	t.line("")
	t.line("A/A, verdict / verdict\t%.3f", r.PolicyAA)
	t.line("A/A, skeleton / skeleton\t%.3f\tso far identical code differs here", r.AA)
	return t.w.Flush()
}

// WriteTable writes the report for people.
func (r *ScaleReport) WriteTable(w io.Writer) error {
	t := newTable(w)
	t.line("scale: 2 CPUs, medians of %d rounds", r.Rounds)
	t.line("")
	t.line("open sessions\tns per step\tbytes per idle session\t\tgoroutines of the cache")
	for _, p := range r.Points {
		t.line("%d\t%.0f\t%.0f\t%s\t%d", p.Sessions, p.NSPerStep, p.BytesPerIdleSession, against(p.BytesPerIdleSession, barIdle), p.Goroutines)
	}
	t.line("")
	t.line("growth, last / first\t%.3f\t%s", r.Growth, against(r.Growth, barGrowth))
	return t.w.Flush()
}
