package speccache_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A peek is all that an attacker saw in one try, and whether the victim had
// done what the attacker wants to know.
type peek struct {
	saw  string
	used bool
}

// auc is how well the attacker can tell, if it knows how often each peek goes
// with each answer: the chance that it finds a try with the victim more suspicious
// than one without. It learns from one half of the tries and is tried on the other.
func auc(peeks []peek) float64 {
	var halves [2][]peek
	for i, p := range peeks {
		halves[i%2] = append(halves[i%2], p)
	}
	return (tell(halves[0], halves[1]) + tell(halves[1], halves[0])) / 2
}

func tell(learned, tried []peek) float64 {
	with, all := map[string]float64{}, map[string]float64{}
	for _, p := range learned {
		all[p.saw]++
		if p.used {
			with[p.saw]++
		}
	}
	suspicion := func(p peek) float64 { return (with[p.saw] + 1) / (all[p.saw] + 2) }
	slices.SortFunc(tried, func(a, b peek) int { return cmp.Compare(suspicion(a), suspicion(b)) })
	var wins, used, unused float64
	for i := 0; i < len(tried); {
		var u, n float64 // of one suspicion
		for first := suspicion(tried[i]); i < len(tried) && suspicion(tried[i]) == first; i++ {
			if tried[i].used {
				u++
			} else {
				n++
			}
		}
		wins += u * (unused + n/2)
		used, unused = used+u, unused+n
	}
	return wins / (used * unused)
}

// tries is how often something is tried; the race detector has to make do with
// less.
func tries(n int) int {
	if raced {
		return n / 10
	}
	return n
}

func TestTheClassifierTellsWhatCanBeTold(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var nothing, everything, half []peek
	for range 10_000 {
		used := r.IntN(2) == 0
		nothing = append(nothing, peek{fmt.Sprint(r.IntN(10)), used})
		everything = append(everything, peek{fmt.Sprint(r.IntN(10), used), used})
		half = append(half, peek{fmt.Sprint(used && r.IntN(2) == 0), used})
	}
	assert.InDelta(t, 0.5, auc(nothing), 0.02)
	assert.EqualValues(t, 1, auc(everything))
	assert.InDelta(t, 0.75, auc(half), 0.02)
}

// blind and telling are the bars: what an attacker in a scope of its own may
// reach, and what one in the victim's scope has to, or the test shows nothing.
func blind(t *testing.T, peeks []peek) {
	t.Helper()
	score := auc(peeks)
	t.Logf("in another scope: AUC %.3f of %d tries", score, len(peeks))
	assert.InDelta(t, 0.5, score, 0.02)
}

func telling(t *testing.T, peeks []peek) {
	t.Helper()
	score := auc(peeks)
	t.Logf("in the same scope: AUC %.3f of %d tries", score, len(peeks))
	assert.GreaterOrEqual(t, score, 0.95)
}

// twoScopes has the attacker in a scope of its own, and then in the victim's.
func twoScopes(t *testing.T, try func(t *testing.T, attacker string) []peek) {
	t.Run("another", func(t *testing.T) { blind(t, try(t, "attacker")) })
	t.Run("the same", func(t *testing.T) { telling(t, try(t, "victim")) })
}

// A victim uses a key in one of many ways.
type victim struct {
	s       *speccache.Session[string]
	release chan struct{}
}

var errVictim = errors.New("it failed")

// uses are the ways to use a key. What failed leaves no trace in its own scope
// either.
var uses = []struct {
	name   string
	silent bool
	use    func(ctx context.Context, v *victim, a actions.Action)
}{
	{"read", false, func(ctx context.Context, v *victim, a actions.Action) { v.s.Run(ctx, a) }},
	{"read twice", false, func(ctx context.Context, v *victim, a actions.Action) { v.s.Run(ctx, a); v.s.Lookup(a) }},
	{"ran ahead", false, func(ctx context.Context, v *victim, a actions.Action) { v.s.Speculate(ctx, a) }},
	{"read after it ran ahead", false, func(ctx context.Context, v *victim, a actions.Action) {
		v.s.Speculate(ctx, a)
		synctest.Wait()
		after(time.Second)
		v.s.Run(ctx, a)
	}},
	{"in flight", false, func(ctx context.Context, v *victim, a actions.Action) {
		go v.s.Run(context.WithValue(ctx, untilReleased, v.release), a)
	}},
	{"in flight ahead, and joined", false, func(ctx context.Context, v *victim, a actions.Action) {
		ctx = context.WithValue(ctx, untilReleased, v.release)
		v.s.Speculate(ctx, a)
		synctest.Wait()
		go v.s.Run(ctx, a)
	}},
	{"read before a write", false, func(ctx context.Context, v *victim, a actions.Action) {
		v.s.Run(ctx, a)
		v.s.Run(ctx, act("put", a.Args()))
	}},
	{"read before its scope advanced", false, func(ctx context.Context, v *victim, a actions.Action) { v.s.Run(ctx, a); v.s.Advance() }},
	{"read for another model version", false, func(ctx context.Context, v *victim, a actions.Action) {
		v.s.SetModelVersion("another")
		v.s.Run(ctx, a)
		v.s.SetModelVersion("one")
	}},
	{"failed", true, func(ctx context.Context, v *victim, a actions.Action) {
		v.s.Run(context.WithValue(ctx, withError, errVictim), a)
	}},
	{"failed ahead", true, func(ctx context.Context, v *victim, a actions.Action) {
		v.s.Speculate(context.WithValue(ctx, withError, errVictim), a)
	}},
}

// What the context of a run says about how it ends.
const (
	untilReleased = ctxKey("untilReleased")
	withError     = ctxKey("fails")
)

type ctxKey string

// obedient is a tool that does what the context says, and else takes a second.
func obedient(w *tool) env {
	return env{
		Do: func(ctx context.Context, a actions.Action) (string, error) {
			if release, ok := ctx.Value(untilReleased).(chan struct{}); ok {
				w.note(ctx, a)
				<-release
				return "", errVictim
			}
			if err, ok := ctx.Value(withError).(error); ok {
				return "", err
			}
			return w.do(ctx, a)
		},
		Rules: actions.Rules{"get": {Effect: actions.ReadOnly, Ahead: true}, "put": {Effect: actions.Write}},
	}
}

// probe does all that a session can do with a key, and returns all that it can
// see: what it gets, how long that takes, and what its executor has to do.
func probe(t *testing.T, s *speccache.Session[string], w *tool, a actions.Action) string {
	var saw strings.Builder
	see := func() {
		e, reason := s.Lookup(a)
		fmt.Fprintln(&saw, e.Observation != "", e.Ahead, e.Revision(), e.Age(), e.ModelVersion(), reason)
	}
	before, runs := s.Stats(), len(w.ran())
	see()
	s.Speculate(t.Context(), a)
	synctest.Wait()
	fmt.Fprintln(&saw, len(w.ran())-runs)
	see()
	asked := time.Now()
	r, err := s.Run(t.Context(), a)
	fmt.Fprintln(&saw, r.Outcome, r.Reason, r.Ahead, r.Revision, r.Age, r.Waited, r.Hidden, err, time.Since(asked))
	see()
	runs = len(w.ran()) - runs
	st := s.Stats()
	fmt.Fprintln(&saw, runs, st.Guesses.Resident-before.Guesses.Resident, st.Guesses.Flying-before.Guesses.Flying,
		st.Guesses.Failing-before.Guesses.Failing, st.Guesses.Crowded-before.Guesses.Crowded,
		st.Used-before.Used, st.Hits-before.Hits, st.Joins-before.Joins)
	return saw.String()
}

// TestOneScopeCannotTellWhatAnotherRead has an attacker probe 10,000 keys, half
// of which the victim has used a moment ago or is using.
func TestOneScopeCannotTellWhatAnotherRead(t *testing.T) {
	twoScopes(t, func(t *testing.T, attacker string) (peeks []peek) {
		bubble(t, func(t *testing.T) {
			w := &tool{takes: time.Second}
			c, err := speccache.New(obedient(w), config{ModelVersion: "one", MaxAheadSession: 1000, MaxAhead: 10_000})
			require.NoError(t, err)
			defer c.Close()
			r := rand.New(rand.NewPCG(1, 2))
			n := 10_000
			if attacker == "victim" {
				n = 2000 // enough to see that it can tell
			}
			for i := range tries(n) {
				v := &victim{c.Open(opening{Scope: "victim"}), make(chan struct{})}
				s := c.Open(opening{Scope: attacker})
				used, how := r.IntN(2) == 0, uses[r.IntN(len(uses))]
				if used {
					how.use(t.Context(), v, get(i))
				}
				after(2 * time.Second)
				synctest.Wait()
				saw := probe(t, s, w, get(i))
				if attacker != "victim" || !how.silent {
					peeks = append(peeks, peek{saw, used})
				}
				close(v.release)
				v.s.Close()
				s.Close()
				synctest.Wait()
			}
		})
		return peeks
	})
}
