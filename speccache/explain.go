package speccache

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/speccache/speccache-go/actions"
)

// trouble is the last of each kind that a session has met, for Explain.
// Guarded by Session.mu.
type trouble struct {
	undeclared map[string]int // by action name
	unresolved string         // error of the target's own action
	guess      string         // error of a guess that did not resolve
	notAhead   string         // name of an action that may not run ahead
	policy     string         // refusal
	draft      string         // error
}

// maxUndeclared is how many names of undeclared actions are remembered.
const maxUndeclared = 16

func (s *Session[O]) note(what func(*trouble)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what(&s.trouble)
}

// brief is an error's text, as long as a line.
func brief(err error) string { return fmt.Sprintf("%.300s", err.Error()) }

func (s *Session[O]) metUndeclared(a actions.Action) {
	first := false
	s.note(func(t *trouble) {
		if t.undeclared == nil {
			t.undeclared = map[string]int{}
		}
		if n, known := t.undeclared[a.Name()]; known || len(t.undeclared) < maxUndeclared {
			t.undeclared[a.Name()] = n + 1
			first = !known
		}
	})
	if first {
		s.emit(Event{Kind: EventUndeclared, Action: a.Name()})
	}
}

// Explain says in words how the session does, and if nothing hits, why: what
// is not declared, what does not resolve, what changes, fails or is late. It
// is for people, and may quote arguments; programs read Stats.
func (s *Session[O]) Explain() string {
	st := s.Stats()
	s.mu.Lock()
	t := s.trouble
	t.undeclared = maps.Clone(t.undeclared)
	s.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%d lookups: %d hits, %d joins, %d misses; %d of %d runs ahead were used.\n",
		st.Lookups, st.Hits, st.Joins, st.Misses, st.Used, st.Speculated)
	causes := slices.Concat(s.explainMode(st), explainActions(st, t), explainMisses(st), s.explainDrafts(st, t), explainGuesses(st, t))
	for _, cause := range causes {
		b.WriteString("- " + cause + "\n")
	}
	if len(causes) == 0 && st.Lookups > 0 && st.Hits+st.Joins == 0 {
		b.WriteString("- Nothing was guessed right, and nothing was read twice.\n")
	}
	return b.String()
}

func (s *Session[O]) explainMode(st Stats) (causes []string) {
	switch {
	case s.c.closed.Load():
		causes = append(causes, "The cache is closed: every action runs when it is asked for.")
	case s.closed.Load():
		causes = append(causes, "The session is closed: every action runs when it is asked for.")
	case s.c.off():
		causes = append(causes, "The mode is off: every action runs when it is asked for. Turn it on with SetMode(On).")
	}
	if n := st.MissReasons[ReasonMode]; n > 0 && len(causes) == 0 {
		causes = append(causes, fmt.Sprintf("%d lookups came while the mode was off.", n))
	}
	return causes
}

func explainActions(st Stats, t trouble) (causes []string) {
	if len(t.undeclared) > 0 {
		causes = append(causes, fmt.Sprintf("Actions without a rule ran %d times (%s): they are never remembered or run ahead, "+
			"and hide what was read before them. Declare those that only read in Environment.Rules.",
			st.Undeclared, strings.Join(slices.Sorted(maps.Keys(t.undeclared)), ", ")))
	}
	if st.Unresolved > 0 {
		causes = append(causes, fmt.Sprintf("%d actions of the target could not be resolved; the last: %s.", st.Unresolved, t.unresolved))
	}
	return causes
}

func explainMisses(st Stats) (causes []string) {
	add := func(r Reason, words string) {
		if n := st.MissReasons[r]; n > 0 {
			causes = append(causes, fmt.Sprintf("%d lookups missed for their %s: %s", n, r, words))
		}
	}
	add(ReasonModelVersion, fmt.Sprintf("the entry was read for another model version, and the session's has changed %d times. "+
		"A version should change only when the target does.", st.ModelVersions))
	add(ReasonState, fmt.Sprintf("a write, an undeclared action or Advance came after the entry was read, or overlaps "+
		"(%d writes, %d undeclared actions by this session). Declare reads as such.", st.Writes, st.Undeclared))
	add(ReasonAge, "the entry was older than its rule's MaxAge.")
	return causes
}

func (s *Session[O]) explainDrafts(st Stats, t trouble) (causes []string) {
	switch {
	case s.c.cfg.Predictor == nil && st.Guesses.Proposed == 0:
		causes = append(causes, "There is no Predictor, and Speculate was not called: nothing runs ahead.")
	case s.c.cfg.Predictor != nil && st.Drafts == 0:
		causes = append(causes, "No draft was asked yet: it is when an action or Observe returns.")
	}
	if st.DraftsFailed > 0 {
		causes = append(causes, fmt.Sprintf("%d of %d drafts failed; the last: %s.", st.DraftsFailed, st.Drafts, t.draft))
	}
	if st.DraftsLate > 0 {
		causes = append(causes, fmt.Sprintf("Guesses came too late: %d of %d drafts had said nothing when the target acted. "+
			"The draft must be faster than the target.", st.DraftsLate, st.Drafts))
	}
	if st.DraftsSkipped > 0 {
		causes = append(causes, fmt.Sprintf("%d drafts were not asked: %d earlier ones had not returned although they were stopped. "+
			"A Predictor must obey its context.", st.DraftsSkipped, maxAsking))
	}
	return causes
}

func explainGuesses(st Stats, t trouble) (causes []string) {
	g := st.Guesses
	add := func(n int64, format string, args ...any) {
		if n > 0 {
			causes = append(causes, fmt.Sprintf("%d of %d guesses "+format, append([]any{n, g.Proposed}, args...)...))
		}
	}
	add(g.Unresolved, "could not be resolved; the last: %s.", t.guess)
	add(g.Undeclared, "may not run ahead, such as %q: only actions whose rule is ReadOnly and Ahead do.", t.notAhead)
	add(g.Refused, "were refused by the policy; the last: %s.", t.policy)
	add(g.Crowded, "found no permit before the target acted, or a write was going on.")
	if st.FailedAhead > 0 {
		causes = append(causes, fmt.Sprintf("%d of %d runs ahead failed, were cancelled, or may not be kept.", st.FailedAhead, st.Speculated))
	}
	if st.Speculated > 0 && st.Used == 0 && st.FailedAhead < st.Speculated {
		causes = append(causes, "Runs ahead succeeded, but the target asked for other actions: the predictor guesses wrong.")
	}
	return causes
}
