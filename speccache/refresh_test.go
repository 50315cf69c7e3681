package speccache_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A feed is what renewals ask. The zero feed says that nothing has changed.
type feed struct {
	mu    sync.Mutex
	asked []time.Duration // since began
	began time.Time
	say   func(ctx context.Context, o string) (string, bool, error)
}

func (f *feed) renew(ctx context.Context, _ actions.Action, o string) (string, bool, error) {
	f.mu.Lock()
	f.asked = append(f.asked, time.Since(f.began))
	say := f.say
	f.mu.Unlock()
	if say != nil {
		return say(ctx, o)
	}
	return "", false, nil
}

func (f *feed) times() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// renewing is an environment whose observations live for a minute.
func renewing(w *tool, f *feed) env {
	f.began = time.Now()
	e := gets(w)
	e.Rules = actions.Rules{"get": {Effect: actions.ReadOnly, Ahead: true, MaxAge: time.Minute}, "put": {Effect: actions.Write}}
	e.Renew = f.renew
	return e
}

func TestWhatIsWantedIsRenewedBeforeItExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, f := &tool{}, &feed{}
		c, s := open(t, renewing(w, f), config{})
		must(t, s, get(1))
		for range 20 { // ten minutes
			after(30 * time.Second)
			r := must(t, s, get(1))
			assert.Equal(t, speccache.Hit, r.Outcome)
			assert.EqualValues(t, 1, r.Revision, "it has not changed")
			assert.LessOrEqual(t, r.Age, time.Minute)
			assert.Equal(t, "saw "+get(1).String(), r.Observation)
		}
		runs, _ := w.count(get(1))
		assert.Equal(t, 1, runs)
		st := c.Stats()
		assert.InDelta(t, 12, st.Renewals.Renewed, 2, "once in about 48 seconds")
		assert.Zero(t, st.Renewals.Changed+st.Renewals.Failed+st.Renewals.Skipped)
		assert.Zero(t, st.Ahead, "a renewal hides nothing that was predicted")
		assert.GreaterOrEqual(t, f.asked[0], 45*time.Second)
		assert.LessOrEqual(t, f.asked[0], 51*time.Second)
	})
}

func TestWhatNobodyAskedForAgainExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, f := &tool{}, &feed{}
		_, s := open(t, renewing(w, f), config{})
		must(t, s, get(1))
		must(t, s, get(1))
		must(t, s, get("read once"))
		after(10 * time.Minute)
		assert.Equal(t, 1, f.times(), "the one that was read again, and that once")
		r := must(t, s, get(1))
		assert.Equal(t, speccache.ReasonAge, r.Reason)
	})
}

func TestARenewalThatBringsSomethingNewIsTheNextRevision(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, f := &tool{}, &feed{say: func(_ context.Context, o string) (string, bool, error) { return o + "!", true, nil }}
		c, s := open(t, renewing(w, f), config{})
		must(t, s, get(1))
		old := must(t, s, get(1))
		after(55 * time.Second)
		r := must(t, s, get(1))
		assert.Equal(t, speccache.Hit, r.Outcome)
		assert.Equal(t, old.Observation+"!", r.Observation)
		assert.EqualValues(t, 2, r.Revision)
		assert.Less(t, r.Age, 15*time.Second, "its age is that of the renewal")
		assert.EqualValues(t, 1, c.Stats().Renewals.Changed)
		speccache.CheckStore(t, c)
	})
}

func TestARenewalThatFailsLeavesTheEntryAsItIs(t *testing.T) {
	for name, say := range map[string]func(context.Context, string) (string, bool, error){
		"error":  func(context.Context, string) (string, bool, error) { return "half", true, errors.New("502") },
		"panic":  func(context.Context, string) (string, bool, error) { panic("lost") },
		"goexit": func(context.Context, string) (string, bool, error) { runtime.Goexit(); return "", false, nil },
		"hang": func(ctx context.Context, _ string) (string, bool, error) {
			<-ctx.Done()
			return "half", true, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w, f := &tool{}, &feed{say: say}
				c, s := open(t, renewing(w, f), config{AheadTimeout: 5 * time.Second})
				must(t, s, get(1))
				first := must(t, s, get(1))
				after(59 * time.Second)
				r := must(t, s, get(1))
				assert.Equal(t, speccache.Hit, r.Outcome)
				assert.Equal(t, first.Observation, r.Observation)
				after(2 * time.Second)
				assert.Equal(t, speccache.ReasonAge, must(t, s, get(1)).Reason)
				assert.EqualValues(t, 1, c.Stats().Renewals.Failed)
				assert.Zero(t, c.Stats().Renewals.Renewed)
				must(t, s, get(2)) // there is still room for the target, and for guesses
				s.Speculate(t.Context(), get(3))
				synctest.Wait()
				assert.Equal(t, speccache.Hit, must(t, s, get(3)).Outcome)
			})
		})
	}
}

func TestAWriteDuringARenewalHidesItsAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		answer := make(chan struct{})
		w, f := &tool{}, &feed{say: func(ctx context.Context, o string) (string, bool, error) {
			<-answer // it does not even look at its context
			return o, false, nil
		}}
		_, s := open(t, renewing(w, f), config{})
		must(t, s, get(1))
		must(t, s, get(1))
		after(52 * time.Second)
		require.Equal(t, 1, f.times())
		must(t, s, act("put", 1))
		close(answer)
		synctest.Wait()
		assert.Equal(t, speccache.ReasonState, must(t, s, get(1)).Reason)
	})
}

func TestNothingIsRenewedForWhoIsGoneOrMayNotRunAhead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, f := &tool{}, &feed{}
		e := renewing(w, f)
		e.Rules["only asked"] = actions.Rule{Effect: actions.ReadOnly, MaxAge: time.Minute}
		c, s := open(t, e, config{})
		twice := func(s *speccache.Session[string], a actions.Action) {
			must(t, s, a)
			must(t, s, a)
		}
		twice(s, act("only asked", 1))
		own := c.Open(opening{Scope: "own", Do: w.do}) // whose credentials Renew does not have
		twice(own, get("own"))
		gone := c.Open(opening{Scope: "gone"})
		twice(gone, get("gone"))
		require.NoError(t, gone.Close())
		dead := c.Open(opening{})
		twice(dead, get("dead"))
		require.NoError(t, dead.Close())
		after(10 * time.Minute)
		assert.Zero(t, f.times())
		require.NoError(t, own.Close())
	})
}

func TestRenewalsKeepToTheLimitsOfRunsAhead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, f := &tool{}, &feed{}
		c, s := open(t, renewing(w, f), config{SessionLimits: speccache.Limits{RequestsAhead: 3}})
		for i := range 5 {
			must(t, s, get(i))
			must(t, s, get(i))
		}
		after(55 * time.Second)
		assert.Equal(t, 3, f.times())
		assert.EqualValues(t, 2, c.Stats().Renewals.Skipped)
	})
}

func TestHungRenewalsDelayNeitherTheTargetNorClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{}
		f := &feed{say: func(ctx context.Context, _ string) (string, bool, error) {
			<-ctx.Done()
			return "", false, ctx.Err()
		}}
		c, s := open(t, renewing(w, f), config{})
		for i := range 50 {
			must(t, s, get(i))
			must(t, s, get(i))
		}
		after(55 * time.Second)
		require.NotZero(t, f.times())
		began := time.Now()
		for i := range 100 {
			must(t, s, get(i))
		}
		assert.Zero(t, time.Since(began))
		require.NoError(t, c.Close())
		assert.Zero(t, time.Since(began))
	})
}

func TestVerifiedHitsTellTheStaleRate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var n atomic.Int64
		w, f := &tool{}, &feed{}
		f.say = func(_ context.Context, o string) (string, bool, error) { return o, n.Add(1)%4 == 0, nil }
		c, s := open(t, renewing(w, f), config{VerifyShare: 1})
		must(t, s, get(1))
		for range 40 {
			after(time.Second)
			assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome)
			synctest.Wait()
		}
		st := c.Stats().Renewals
		assert.EqualValues(t, 40, st.Verified)
		assert.InDelta(t, 0.25, st.StaleRate(), 0.001)
		assert.Equal(t, st, s.Stats().Renewals)
	})
}

func TestSomeHitsAreVerifiedIfAShareIsAskedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, f := &tool{}, &feed{}
		c, s := open(t, renewing(w, f), config{VerifyShare: 0.2, MaxAheadSession: 100})
		must(t, s, get(1))
		for range 500 {
			must(t, s, get(1))
			synctest.Wait()
		}
		assert.InDelta(t, 100, c.Stats().Renewals.Verified, 40)
	})
}

func TestAShareThatCannotBeVerifiedIsAnError(t *testing.T) {
	_, err := speccache.New(gets(&tool{}), config{VerifyShare: 0.1})
	require.ErrorContains(t, err, "Environment.Renew")
	for _, share := range []float64{-0.1, 1.1, nan()} {
		_, err = speccache.New(renewing(&tool{}, &feed{}), config{VerifyShare: share})
		require.ErrorContains(t, err, "VerifyShare")
	}
}

func nan() float64 { zero := 0.0; return zero / zero }
