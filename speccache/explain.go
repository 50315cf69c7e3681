package speccache

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// trouble is the last of each kind that a session has met, for Explain.
// Guarded by Session.mu.
type trouble struct {
	unresolved string   // error of the target's own action
	guess      string   // error of a guess that did not resolve
	notAhead   string   // name of an action that may not run ahead
	policy     string   // refusal
	draft      string   // error
	ahead      string   // error of a run ahead that was not cancelled
	limit      string   // that was reached
	host       string   // that had no place to spare
	atOnce     int      // requests that it works on
	failures   failures // of drafts, by class
	refusals   failures // of guesses, by rule
}

// maxUndeclared is how many names of undeclared actions are remembered.
const maxUndeclared = 16

func (s *Session[O]) note(what func(*trouble)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what(&s.trouble)
}

// brief is an error's text, as long as a line. Nothing may be locked.
func brief(err error) string { return clip(textOf(err), 300) }

// textOf writes what somebody else made: an error, or what was panicked with.
// fmt survives most methods that panic, and this survives the rest.
func textOf(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%T", v)
		}
	}()
	if err, ok := v.(error); ok {
		return err.Error()
	}
	return fmt.Sprint(v)
}

// clip returns at most n bytes of a text, in memory of its own.
func clip(text string, n int) string {
	return strings.ToValidUTF8(strings.Clone(text[:min(n, len(text))]), "")
}

// metUndeclared remembers the names of undeclared actions. Sessions that do
// little else should not have to wait for it: what is known costs a load.
func (s *Session[O]) metUndeclared(a actions.Action) {
	name := cmp.Or(a.Name(), "(no action)")
	for {
		old := s.undeclared.Load()
		var names []string
		if old != nil {
			names = *old
		}
		if len(names) >= maxUndeclared || slices.Contains(names, name) {
			return
		}
		next := append(slices.Clone(names), name)
		if s.undeclared.CompareAndSwap(old, &next) {
			s.emit(Event{Kind: EventUndeclared, Action: a.Name()})
			return
		}
	}
}

// Explain says in words how the session does, and if nothing hits, why: what
// is not declared, what does not resolve, what changes, fails or is late. It
// is for people, and may quote arguments; programs read Stats.
func (s *Session[O]) Explain() string {
	st := s.Stats()
	s.mu.Lock()
	t := s.trouble
	var undeclared []string
	if names := s.undeclared.Load(); names != nil {
		undeclared = slices.Sorted(slices.Values(*names))
	}
	t.failures, t.refusals = nil, nil // st has copies
	s.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s, %s.", count(st.Lookups, "lookup"),
		count(st.Hits, "hit"), count(st.Joins, "join"), count(st.Misses, "miss"))
	if st.Speculated > 0 {
		fmt.Fprintf(&b, " %s ahead; %d of the lookups were served by one.", count(st.Speculated, "run"), st.Ahead)
	}
	b.WriteString("\n")
	causes := slices.Concat(s.explainMode(st), explainActions(st, t, undeclared), explainMisses(st), s.explainDrafts(st, t), explainGuesses(st, t, s.c.store.dropStats().TooLarge))
	if len(causes) == 0 && st.Lookups > 0 && st.Hits+st.Joins == 0 {
		causes = append(causes, "Nothing was guessed right, and nothing was read twice.")
	}
	for _, cause := range causes {
		b.WriteString("- " + cause + "\n")
	}
	return b.String()
}

// count writes a number with its noun.
func count(n int64, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// countsOf lists counts by name, the largest first.
func countsOf(counts map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, counts[name])
	}
	return strings.Join(names, ", ")
}

func (s *Session[O]) explainMode(st Stats) (causes []string) {
	switch {
	case s.c.closed.Load():
		causes = append(causes, "The cache is closed: every action runs when it is asked for.")
	case s.closed.Load():
		causes = append(causes, "The session is closed: every action runs when it is asked for.")
	case s.c.off():
		causes = append(causes, "The mode is off: every action runs when it is asked for. Turn it on with SetMode(On).")
	case s.c.shadow():
		causes = append(causes, fmt.Sprintf("The mode is shadow: nothing runs ahead or is served. With On there would have been "+
			"%s and %s, and %v less waiting.", count(st.Shadow.Hits, "hit"), count(st.Shadow.Joins, "join"), st.Shadow.Hidden.Round(time.Millisecond)))
	case st.MissReasons[ReasonMode] > 0:
		causes = append(causes, fmt.Sprintf("%s while the mode was off or shadow.", count(st.MissReasons[ReasonMode], "lookup")))
	}
	return causes
}

func explainActions(st Stats, t trouble, undeclared []string) (causes []string) {
	if len(undeclared) > 0 {
		causes = append(causes, fmt.Sprintf("Actions without a rule: %d so far (%s). They are never remembered or run ahead, "+
			"and hide what was read before them. Declare them in Environment.Rules: actions.Reads if they only read, "+
			"actions.Locals if they touch nothing but the agent, actions.Writes if they write.",
			st.Undeclared, strings.Join(undeclared, ", ")))
	}
	if st.Unresolved > 0 {
		causes = append(causes, fmt.Sprintf("Environment.Resolve refused %s of the target; the last: %s.",
			count(st.Unresolved, "action"), t.unresolved))
	}
	return causes
}

func explainMisses(st Stats) (causes []string) {
	add := func(r Reason, format string, args ...any) {
		if n := st.MissReasons[r]; n > 0 {
			causes = append(causes, fmt.Sprintf("%s for the entry's %s: ", count(n, "miss"), r)+fmt.Sprintf(format, args...))
		}
	}
	add(ReasonModelVersion, "it was read for another model version than the session's, which has changed %s. "+
		"A version should change only when the target does.", count(st.ModelVersions, "time"))
	advice := ""
	if st.Undeclared > 0 {
		advice = " Declare what does not write."
	}
	add(ReasonState, "a write, an undeclared action or Advance came after it was read, or overlaps "+
		"(by this session: %s, %s).%s", count(st.Writes, "write"), count(st.Undeclared, "undeclared action"), advice)
	add(ReasonAge, "it was older than its rule's MaxAge, or than Environment.Fresh allows, such as what a host says.")
	return causes
}

func (s *Session[O]) explainDrafts(st Stats, t trouble) (causes []string) {
	drafts := count(st.Drafts, "draft")
	switch {
	case s.over():
		return nil
	case s.c.cfg.Predictor == nil && st.Guesses.Proposed == 0 && st.Ahead == 0:
		causes = append(causes, "There is no Predictor, and Speculate was not called: nothing runs ahead.")
	case s.c.cfg.Predictor != nil && st.Drafts == 0:
		causes = append(causes, "No draft was asked yet: that happens when Do, Observe or Record returns.")
	}
	if st.DraftsFailed > 0 {
		causes = append(causes, fmt.Sprintf("%d of %s failed; the last: %s.", st.DraftsFailed, drafts, t.draft))
	}
	if st.Limited > 0 {
		causes = append(causes, fmt.Sprintf("Guessing has ended: %s.", t.limit))
	}
	if 2*st.DraftsEmpty > st.Drafts { // some pages have nothing to choose from
		causes = append(causes, fmt.Sprintf("%d of %s had no guess. Does the view that the predictor gets have choices, "+
			"and does it know the steps' actions (Record)?", st.DraftsEmpty, drafts))
	}
	if st.DraftsLate > 0 {
		causes = append(causes, fmt.Sprintf("Guesses came too late: %d of %s had said nothing when the target acted. "+
			"The draft must be faster than the target thinks.", st.DraftsLate, drafts))
	}
	if st.DraftsSkipped > 0 {
		causes = append(causes, fmt.Sprintf("%s not asked: %d earlier ones had been stopped, and had not returned when "+
			"the target acted. A Predictor must obey its context.", count(st.DraftsSkipped, "draft"), maxAsking))
	}
	return causes
}

func explainGuesses(st Stats, t trouble, tooLarge int64) (causes []string) {
	guesses := count(st.Guesses.Proposed, "guess")
	add := func(n int64, format string, args ...any) {
		if n > 0 {
			causes = append(causes, fmt.Sprintf("%d of %s ", n, guesses)+fmt.Sprintf(format, args...))
		}
	}
	add(st.Guesses.Unresolved, "did not resolve; the last: %s.", t.guess)
	add(st.Guesses.Undeclared, "may not run ahead, such as %q: only actions whose rule is ReadOnly and Ahead do.", t.notAhead)
	add(st.Guesses.Refused, "were refused by Environment.Policy; the last: %s.", t.policy)
	if len(st.Refusals) > 0 {
		causes = append(causes, fmt.Sprintf("Refusals by rule: %s.", countsOf(st.Refusals)))
	}
	add(st.Refusals[noSpare.rule()], "did not run, so as not to stand in the target's way: %s works on about %s at a time, and queues the rest.",
		t.host, count(int64(t.atOnce), "request"))
	add(st.Guesses.Failing, "were left out, since the same run ahead had failed, or brought what may not be kept, less than a minute before.")
	add(st.Refusals[noRate.rule()], "did not run, since more would have started at their hosts in a second than Config.MaxAheadRate allows.")
	add(st.Guesses.Crowded-st.Refusals[noSpare.rule()]-st.Refusals[noRate.rule()], "found no permit before the target acted, or a write was going on.")
	runs := count(st.Speculated, "run")
	if n := st.FailedAhead - st.CancelledAhead; n > 0 {
		causes = append(causes, fmt.Sprintf("%d of %s ahead failed; the last: %s.", n, runs, t.ahead))
	}
	if st.NotKeptAhead > 0 {
		causes = append(causes, fmt.Sprintf("%d of %s ahead brought what may not be kept, as Environment.Fresh says.", st.NotKeptAhead, runs))
	}
	if st.CancelledAhead > 0 {
		causes = append(causes, fmt.Sprintf("%d of %s ahead were given up, for newer guesses or after a write.", st.CancelledAhead, runs))
	}
	switch {
	case tooLarge > 0:
		causes = append(causes, fmt.Sprintf("%s of the cache's were larger than its window, an eighth of Config.MaxBytes, or than "+
			"Config.MaxScopeBytes, and were not kept.", count(tooLarge, "observation")))
	case st.Speculated > st.FailedAhead+st.NotKeptAhead && st.NotKeptAhead == 0 && st.Used == 0 && st.Hits+st.Joins == 0 &&
		st.MissReasons[ReasonAbsent] == st.Misses && st.Misses > 1: // nobody could guess the first
		causes = append(causes, "Runs ahead succeeded, but the target asked for other actions: the predictor guesses wrong.")
	}
	return causes
}
