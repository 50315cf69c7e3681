package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/speccache"
)

// A line is one thing that happened: a question, an action or an answer.
type line struct {
	number   int
	question string
	what     string
	result   *speccache.Result[*web.Page]
	failure  string // in the place of a result
	answer   string
	at       string // the URL of the answer
}

// A story writes what happens for people, or at the end one JSON object for
// machines.
type story struct {
	w      io.Writer
	json   bool
	colour bool
	models *models // nil: there are none
}

func newStory(w io.Writer, opts options) *story {
	return &story{w: w, json: opts.json, colour: isTerminal(w) && os.Getenv("NO_COLOR") == ""}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

func (s *story) printf(format string, args ...any) {
	if !s.json {
		fmt.Fprintf(s.w, format, args...)
	}
}

// ANSI codes.
const (
	bold   = "1"
	green  = "32"
	yellow = "33"
	dim    = "2"
)

func (s *story) paint(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s *story) begin(url string, opts options) {
	who := "A reader"
	if s.models.acts() {
		who = opts.target
	}
	s.printf("%s answers %d questions by clicking through SpecCache's documentation,\n"+
		"which is served at %s, each page %v to %v after it is asked for.\n",
		who, len(questions), url, minDelay, maxDelay)
	if !s.models.acts() {
		s.printf("It thinks %v about each page.\n", opts.think)
	}
	if s.models != nil {
		s.printf("The draft is %s. Models are asked at %s.\n", opts.draft, opts.host())
		return
	}
	s.printf("Nothing here is a language model: the reader goes by the text around links,\n" +
		"the draft by their labels and URLs. Neither knows the way.\n")
}

func (s *story) arm(title string) {
	s.printf("\n%s\n", s.paint(bold, title))
}

// line tells one thing as it happens.
func (s *story) line(l line) {
	switch {
	case l.question != "":
		s.printf("\n%d. %s\n", l.number, l.question)
	case l.answer != "":
		s.printf("   %s %s\n", s.paint(bold, "= "+l.answer), s.paint(dim, "("+pathOf(l.at)+")"))
	case l.failure != "":
		s.printf("   %-38s %s\n", l.what, l.failure)
	default:
		s.step(l.what, l.result)
	}
}

func (s *story) step(what string, r *speccache.Result[*web.Page]) {
	outcome := fmt.Sprintf("%-4s", r.Outcome)
	switch r.Outcome {
	case speccache.Hit:
		outcome = s.paint(green, outcome)
	case speccache.Join:
		outcome = s.paint(yellow, outcome)
	}
	hidden := ""
	if r.Hidden > 0 {
		hidden = fmt.Sprintf(", %.2f s hidden", r.Hidden.Seconds())
	}
	s.printf("   %-38s %s  %.2f s waited%s\n", what, outcome, r.Waited.Seconds(), hidden)
}

// end tells the comparison. It returns an error if there is something wrong
// with it.
func (s *story) end(c comparison) error {
	if s.json {
		if err := s.writeJSON(c); err != nil {
			return err
		}
		return s.check(c)
	}
	s.table(c)
	s.waste(c.spec)
	if s.models != nil {
		s.models.cost(s, c)
	}
	return s.check(c)
}

func (s *story) check(c comparison) error {
	if s.models != nil {
		return s.models.check(c)
	}
	return c.check()
}

func (s *story) table(c comparison) {
	off, spec := c.off.stats, c.spec.stats
	s.printf("\n%s\n\n", s.paint(bold, "Side by side"))
	s.printf("   %-28s %9s %9s\n", "", "off", "on")
	rows := []struct {
		name    string
		off, on string
	}{
		{"clicks", count(off.Lookups), count(spec.Lookups)},
		{"seconds waited", seconds(off.Waited), seconds(spec.Waited)},
		{"seconds hidden", seconds(off.Hidden), seconds(spec.Hidden)},
		{"seconds in all, thinking too", seconds(c.off.took), seconds(c.spec.took)},
		{"hits", count(off.Hits), count(spec.Hits)},
		{"joins", count(off.Joins), count(spec.Joins)},
		{"misses", count(off.Misses), count(spec.Misses)},
		{"requests to the site", count(c.off.requests), count(c.spec.requests)},
	}
	for _, r := range rows {
		s.printf("   %-28s %9s %9s\n", r.name, r.off, r.on)
	}
	s.printf("   %-28s %19s\n", "answers", sameness(c.sameAnswers))
	s.printf("   %-28s %19s\n", "observations", sameness(c.sameObservations))
}

// waste tells what the draft has guessed wrong: what it cost to be faster.
func (s *story) waste(t *trip) {
	st := t.stats
	s.printf("\nOf %d pages that ran ahead %d were read; %d were wasted: %.1f s of loading, %d KB.\n",
		st.Speculated, st.Used, st.Wasted, st.WastedTime.Seconds(), st.WastedBytes>>10)
	for i, paths := range t.wasted {
		if len(paths) > 0 {
			s.printf("   question %d: %s\n", i+1, strings.Join(paths, " "))
		}
	}
}

func count(n int64) string           { return fmt.Sprint(n) }
func seconds(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()) }
func sameness(same bool) string {
	if same {
		return "the same"
	}
	return "DIFFERENT"
}

func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Path
}

// report is what -json prints.
type report struct {
	Off struct {
		WaitSeconds float64 `json:"wait_seconds"`
	} `json:"off"`
	Spec struct {
		Hits          int64   `json:"hits"`
		Joins         int64   `json:"joins"`
		Misses        int64   `json:"misses"`
		WaitSeconds   float64 `json:"wait_seconds"`
		HiddenSeconds float64 `json:"hidden_seconds"`
	} `json:"spec"`
	SameAnswers      bool `json:"same_answers"`
	SameObservations bool `json:"same_observations"`

	// Of models only. Tokens of the target are those of the run spec.
	Target       string           `json:"target,omitempty"`
	Draft        string           `json:"draft,omitempty"`
	TargetTokens int              `json:"target_tokens,omitempty"`
	DraftTokens  int              `json:"draft_tokens,omitempty"`
	DraftCalls   int              `json:"draft_calls,omitempty"`
	DraftsLate   int64            `json:"drafts_late,omitempty"`
	DraftsFailed map[string]int64 `json:"drafts_failed,omitempty"`

	DraftDropped map[draft.DropReason]int `json:"draft_dropped,omitempty"`
}

func (s *story) writeJSON(c comparison) error {
	var r report
	st := c.spec.stats
	r.Off.WaitSeconds = c.off.stats.Waited.Seconds()
	r.Spec.Hits, r.Spec.Joins, r.Spec.Misses = st.Hits, st.Joins, st.Misses
	r.Spec.WaitSeconds, r.Spec.HiddenSeconds = st.Waited.Seconds(), st.Hidden.Seconds()
	r.SameAnswers, r.SameObservations = c.sameAnswers, c.sameObservations
	if m := s.models; m != nil {
		r.Target, r.Draft, r.TargetTokens = m.target, m.draft, tokens(c.spec.usage())
		r.DraftTokens, r.DraftCalls, r.DraftsFailed = tokens(st.Usage), st.Usage.Calls, st.DraftFailures
		r.DraftsLate, r.DraftDropped = st.DraftsLate, m.drops()
	}
	return json.NewEncoder(s.w).Encode(r)
}
