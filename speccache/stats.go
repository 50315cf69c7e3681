package speccache

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// Outcome says where an observation came from.
type Outcome string

const (
	// Hit: it was there. It had run ahead to its end, or was read before.
	Hit Outcome = "hit"
	// Join: it was still running, and the target waited for the rest.
	Join Outcome = "join"
	// Miss: the target's own run brought it.
	Miss Outcome = "miss"
)

// Reason says why a lookup missed. The empty Reason belongs to a hit or join.
type Reason string

const (
	// ReasonAbsent: nobody had run it, its run ahead failed, or, for Lookup
	// alone, it is still running.
	ReasonAbsent Reason = "absent"
	// ReasonModelVersion: it was read for another model version.
	ReasonModelVersion Reason = "model version"
	// ReasonState: a write or an undeclared action came after it or overlaps.
	ReasonState Reason = "state"
	// ReasonAge: it was older than its MaxAge.
	ReasonAge Reason = "age"
	// ReasonUndeclared: no rule names the action, so it was not looked up.
	ReasonUndeclared Reason = "undeclared"
	// ReasonBypass: the action is a write or local, its context had ended
	// before, or it could not be resolved.
	ReasonBypass Reason = "bypass"
	// ReasonMode: the cache is off or closed.
	ReasonMode Reason = "mode"
)

// reasons are those for which a lookup can miss, in the order of their
// counters.
var reasons = [...]Reason{ReasonAbsent, ReasonModelVersion, ReasonState, ReasonAge, ReasonBypass, ReasonMode}

// counter numbers what is counted.
type counter int

const (
	cHits counter = iota
	cJoins
	cUnresolved
	cUndeclared
	cWrites
	cHidden // ns
	cWaited // ns
	cDrafts
	cDraftsLate
	cDraftsFailed
	cDraftsEmpty
	cDraftsSkipped
	cGuesses
	cUnresolvedGuesses
	cUndeclaredGuesses
	cRefusedGuesses
	cResidentGuesses
	cFlyingGuesses
	cFailingGuesses
	cCrowdedGuesses
	cSpeculated
	cEnded
	cEndedBytes
	cEndedTime // ns
	cFailed
	cCancelled
	cNotKept
	cUsed
	cUsedBytes
	cUsedTime // ns
	cModelCalls
	cPromptTokens
	cCachedTokens
	cOutputTokens
	cVersions
	cLimited
	cShadowLookups
	cShadowHits
	cShadowJoins
	cShadowUsed
	cShadowSpeculated
	cShadowHidden // ns
	cRenewed
	cRenewedChanged
	cRenewFailed
	cRenewSkipped
	cVerified
	cStale
	cMisses // one for each of reasons, from here on

	counters = cMisses + counter(len(reasons))
)

// counts is one owner's share of all counters: a session's until it is closed
// and its last run has ended, then its cache's.
type counts [counters]atomic.Int64

func (s *Session[O]) countMiss(r Reason) {
	s.count(cMisses+counter(slices.Index(reasons[:], r)), 1)
}

func (n *counts) addTo(sum *[counters]int64) {
	for i := range n {
		sum[i] += n[i].Load()
	}
}

// Stats is a snapshot of what a cache or a session has counted. Times are
// real ones.
type Stats struct {
	// Lookups = Hits + Joins + Misses: the target's read-only actions.
	Lookups, Hits, Joins, Misses int64
	// Ahead is how many hits and joins were the first reading of something
	// that ran ahead; the other ones were resident, as in any cache.
	Ahead int64
	// MissReasons splits Misses.
	MissReasons map[Reason]int64
	// Undeclared, Writes and Unresolved are the target's other actions: no
	// rule named them, their rule is Write, or they could not be resolved.
	Undeclared, Writes, Unresolved int64

	// Waited is the time that the target spent in Do. Hidden is the time that
	// runs ahead took, less what the target waited for them; each run counts
	// once, when it is first served.
	Waited, Hidden time.Duration

	// Drafts is how often the predictor was asked; DraftsLate of them had said
	// nothing when the target acted, DraftsFailed returned an error or
	// panicked, DraftsEmpty ended without a guess. DraftsSkipped were not
	// asked, since two earlier ones had been stopped and had not returned when
	// the target acted.
	Drafts, DraftsLate, DraftsFailed, DraftsEmpty, DraftsSkipped int64
	// DraftFailures splits DraftsFailed by class: "panic", "goexit",
	// "timeout", what errors with a method ErrorClass() string say, and
	// "other".
	DraftFailures map[string]int64
	// Usage is what the drafts cost.
	Usage actions.Usage
	// Limited is how many drafts and guesses one of the Limits has ended.
	Limited int64

	// Shadow is what would have happened while the mode was Shadow.
	Shadow ShadowStats

	// Guesses is what the drafts and Speculate proposed, and what became of
	// it. The rest ran ahead.
	Guesses GuessStats
	// Refusals counts by rule the guesses that Environment.Policy refused, those
	// that found no room at a host ("load", see Hosts, and "rate", see
	// Config.MaxAheadRate), and
	// runs ahead that ended with an error which names a rule: one with a
	// method RefusalRule() string, such as web.PolicyError. Errors without one
	// count as "other", and so does what comes after 64 different rules.
	Refusals map[string]int64

	// Speculated = running now + Used + Wasted, in runs ahead. (A session may
	// use what another one of its scope has run ahead, so that its own figures
	// need not add up.)
	Speculated, Used, Wasted int64
	// FailedAhead of these runs brought nothing to serve: CancelledAhead were
	// given up, the others ended with an error. NotKeptAhead succeeded, but by
	// Environment.Fresh only for who was waiting.
	FailedAhead, CancelledAhead, NotKeptAhead int64
	// WastedBytes and WastedTime are what the wasted runs held and took.
	WastedBytes int64
	WastedTime  time.Duration

	// Renewals is what Environment.Renew was asked in the background.
	Renewals RenewalStats

	// ModelVersions is how often a session's model version changed, the first
	// statement not counted.
	ModelVersions int64

	// StepBytes is what the steps of open sessions hold, for predictors, beside
	// what the cache keeps.
	StepBytes int64

	// Of the cache, and zero for a session: what is kept, and why finished
	// observations were not.
	Entries     int
	WindowBytes int64
	Drops       DropStats
	// Mended is how often index and main region were found to differ. Anything
	// but 0 is a fault of this package: please report it.
	Mended int64
	// EventsDropped were more than OnEvent could take.
	EventsDropped int64
}

// ShadowStats counts what the mode On would have done. The target's lookups
// are in Stats, as misses for their mode.
type ShadowStats struct {
	// Lookups is how many of the target's read-only actions there were.
	Lookups int64
	// Hits and Joins: the action had run ahead to its end or was resident; it
	// would still have been running.
	Hits, Joins int64
	// Ahead of them were guessed; Speculated is how many guesses would have
	// run.
	Ahead, Speculated int64
	// Hidden is what would not have been waited for, as each action's own run
	// took.
	Hidden time.Duration
}

// RenewalStats says what became of entries that were to be renewed.
type RenewalStats struct {
	// Renewed were asked about before they expired, or verified; Changed of them
	// had changed. Failed: there was no answer. Skipped: there was no room beside
	// runs ahead, or a limit was reached.
	Renewed, Changed, Failed, Skipped int64
	// Verified were asked about right after a hit (Config.VerifyShare); Stale of
	// them had changed.
	Verified, Stale int64
}

// StaleRate is the share of verified hits that no longer held.
func (s RenewalStats) StaleRate() float64 { return ratio(s.Stale, s.Verified) }

// GuessStats says what became of guesses.
type GuessStats struct {
	Proposed   int64 // different actions of a step
	Unresolved int64 // they name nothing in view, or not one thing
	Undeclared int64 // their rule does not let them run ahead
	Refused    int64 // by Environment.Policy
	Resident   int64 // known already
	Flying     int64 // in the air already
	Failing    int64 // the same run ahead failed a moment ago
	Crowded    int64 // all permits were taken until the target acted, or a write was going on
}

// DropStats counts finished observations that the cache has let go.
type DropStats struct {
	TooLarge int64 // for the window, an eighth of MaxBytes, or for a scope's share
	Rejected int64 // by ristretto's admission: less popular than what it has
	Evicted  int64 // by ristretto: others became more popular
	Busy     int64 // ristretto's goroutine was far behind
	Share    int64 // by its scope: it kept more than Config.MaxScopeBytes
	Other    int64 // the scope was gone, or two keys had one hash
}

// HitRate is the share of lookups that found something: (Hits + Joins) /
// Lookups. Lookups while the mode was Off or Shadow count as misses, with the
// reason mode.
func (s Stats) HitRate() float64 { return ratio(s.Hits+s.Joins, s.Lookups) }

// ReadyRate is the share of lookups that found something finished.
func (s Stats) ReadyRate() float64 { return ratio(s.Hits, s.Lookups) }

func ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func newStats(n [counters]int64) Stats {
	s := Stats{
		Hits: n[cHits], Joins: n[cJoins], Ahead: n[cUsed],
		MissReasons: map[Reason]int64{},
		Undeclared:  n[cUndeclared], Writes: n[cWrites], Unresolved: n[cUnresolved],
		Waited: time.Duration(n[cWaited]), Hidden: time.Duration(n[cHidden]),
		Drafts: n[cDrafts], DraftsLate: n[cDraftsLate],
		DraftsFailed: n[cDraftsFailed], DraftsEmpty: n[cDraftsEmpty], DraftsSkipped: n[cDraftsSkipped],
		Guesses: GuessStats{
			Proposed: n[cGuesses], Unresolved: n[cUnresolvedGuesses],
			Undeclared: n[cUndeclaredGuesses], Refused: n[cRefusedGuesses],
			Resident: n[cResidentGuesses], Flying: n[cFlyingGuesses],
			Failing: n[cFailingGuesses], Crowded: n[cCrowdedGuesses],
		},
		Usage: actions.Usage{
			Calls: int(n[cModelCalls]), PromptTokens: int(n[cPromptTokens]),
			CachedTokens: int(n[cCachedTokens]), OutputTokens: int(n[cOutputTokens]),
		},
		Speculated: n[cSpeculated], Used: n[cUsed], Wasted: max(0, n[cEnded]-n[cUsed]),
		FailedAhead: n[cFailed], CancelledAhead: n[cCancelled], NotKeptAhead: n[cNotKept],
		WastedBytes: max(0, n[cEndedBytes]-n[cUsedBytes]),
		WastedTime:  time.Duration(max(0, n[cEndedTime]-n[cUsedTime])),
		Renewals: RenewalStats{
			Renewed: n[cRenewed], Changed: n[cRenewedChanged], Failed: n[cRenewFailed],
			Skipped: n[cRenewSkipped], Verified: n[cVerified], Stale: n[cStale],
		},
		ModelVersions: n[cVersions], Limited: n[cLimited],
		Shadow: ShadowStats{
			Lookups: n[cShadowLookups], Hits: n[cShadowHits], Joins: n[cShadowJoins], Ahead: n[cShadowUsed],
			Speculated: n[cShadowSpeculated], Hidden: time.Duration(n[cShadowHidden]),
		},
	}
	for i, r := range reasons {
		if k := n[cMisses+counter(i)]; k > 0 {
			s.MissReasons[r] = k
			s.Misses += k
		}
	}
	s.Lookups = s.Hits + s.Joins + s.Misses
	return s
}
