package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/speccache"
	"github.com/speccache/speccache-go/target"
)

// A story is told while it happens.
type story struct {
	w     io.Writer
	quiet bool
}

func (s *story) tell(e target.Event[*web.Page]) {
	switch {
	case s.quiet:
	case e.Text != "":
		fmt.Fprint(s.w, e.Text)
	case e.Reply != nil && e.Reply.Text != "":
		fmt.Fprintln(s.w)
	case e.Note != "":
		fmt.Fprintf(s.w, "  note   %s\n", e.Note)
	case e.Step != nil:
		s.step(e.Step)
	}
}

func (s *story) step(step *target.Step[*web.Page]) {
	r := step.Result
	fmt.Fprintf(s.w, "  %-5s  %s %s", r.Outcome, step.Call.Name, step.Call.Args)
	switch {
	case step.Err != nil:
		fmt.Fprintf(s.w, ": %v\n", step.Err)
	case r.Ahead:
		fmt.Fprintf(s.w, ": waited %v, hidden %v\n", round(r.Waited), round(r.Hidden))
	default:
		fmt.Fprintf(s.w, ": waited %v\n", round(r.Waited))
	}
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// A report is the end of a walk, and what -json prints.
type report struct {
	Question    string   `json:"question"`
	URL         string   `json:"url"`
	Target      string   `json:"target"`
	Draft       string   `json:"draft,omitempty"`
	Speculation bool     `json:"speculation"`
	Answer      string   `json:"answer"`
	Error       string   `json:"error,omitempty"`
	Notes       []string `json:"notes,omitempty"`
	Steps       []step   `json:"steps"`
	Seconds     float64  `json:"seconds"`
	Waited      float64  `json:"wait_seconds"`
	Hidden      float64  `json:"hidden_seconds"`
	Ahead       int64    `json:"ahead"`      // pages fetched ahead
	Used        int64    `json:"ahead_used"` // of these
	TargetUsage usage    `json:"target_usage"`
	DraftUsage  usage    `json:"draft_usage"`
}

// A usage is an actions.Usage with names for JSON.
type usage struct {
	Calls        int `json:"calls"`
	PromptTokens int `json:"prompt_tokens"`
	CachedTokens int `json:"cached_tokens"`
	OutputTokens int `json:"output_tokens"`
}

type step struct {
	Step    int     `json:"step"`
	Call    string  `json:"call"`
	URL     string  `json:"url,omitempty"`
	Outcome string  `json:"outcome,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	Waited  float64 `json:"wait_seconds"`
	Hidden  float64 `json:"hidden_seconds"`
	Error   string  `json:"error,omitempty"`
}

func newReport(opts options, result *target.Result[*web.Page], err error, session *speccache.Session[*web.Page], took time.Duration) report {
	st := session.Stats()
	r := report{
		Question: opts.question, URL: opts.url, Target: opts.target, Speculation: !opts.off,
		Answer: result.Answer, Error: text(err), Notes: result.Notes, Steps: []step{},
		Seconds: took.Seconds(), Waited: st.Waited.Seconds(), Hidden: st.Hidden.Seconds(),
		Ahead: st.Speculated, Used: st.Used,
		TargetUsage: usage(result.Usage), DraftUsage: usage(st.Usage),
	}
	if r.Speculation {
		r.Draft = opts.draft
	}
	for _, s := range result.Steps {
		r.Steps = append(r.Steps, step{
			Step: s.Number, Call: s.Call.Name + " " + s.Call.Args, URL: s.Result.Observation.URL(),
			Outcome: string(s.Result.Outcome), Reason: string(s.Result.Reason),
			Waited: s.Result.Waited.Seconds(), Hidden: s.Result.Hidden.Seconds(), Error: text(s.Err),
		})
	}
	return r
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// write prints the end of a walk and returns what the program ends with. Why
// nothing was served ahead is explained on stderr.
func (r report) write(opts options, failed error, stdout, stderr io.Writer, why string) error {
	if opts.json {
		text, err := json.MarshalIndent(r, "", "  ")
		fmt.Fprintln(stdout, string(text))
		return cmp.Or(failed, err)
	}
	if r.Speculation && r.Used == 0 && len(r.Steps) > 0 {
		fmt.Fprint(stderr, "webwalker: nothing was served ahead: ", why)
	}
	fmt.Fprintf(stdout, "\n%d calls in %.1f s: waited %.1f s for pages, %.1f s hidden; %d pages ahead, %d of them used.\n",
		len(r.Steps), r.Seconds, r.Waited, r.Hidden, r.Ahead, r.Used)
	fmt.Fprintf(stdout, "Target %s: %s.\n", r.Target, r.TargetUsage)
	if r.Draft != "" && r.DraftUsage.Calls > 0 {
		fmt.Fprintf(stdout, "Draft %s: %s.\n", r.Draft, r.DraftUsage)
	}
	return failed
}

func (u usage) String() string {
	return fmt.Sprintf("%d calls, %d tokens in (%d cached), %d out", u.Calls, u.PromptTokens, u.CachedTokens, u.OutputTokens)
}
