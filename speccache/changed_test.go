package speccache_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
)

// A site shows who is logged in. A read of "login" logs the next one in, which no
// rule says.
type loginSite struct {
	tool
	user    atomic.Int64
	getTime time.Duration
}

var login = get("login")

func (w *loginSite) env() env {
	w.on = func(ctx context.Context, a actions.Action) (string, error) {
		seen := w.user.Load()
		if a == login {
			seen = w.user.Add(1)
			actions.Changed(ctx)
		}
		return strconv.FormatInt(seen, 10), pause(ctx, w.getTime)
	}
	return gets(&w.tool)
}

func TestARunThatSaysSoHidesWhatWasReadBeforeAndIsNotKeptItself(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &loginSite{}
		c, s := open(t, w.env(), config{})
		other := c.Open(opening{Scope: "elsewhere"})
		defer other.Close()
		must(t, s, get(1))
		must(t, other, get(1))
		assert.Equal(t, "1", must(t, s, login).Observation)
		r := must(t, s, get(1))
		assert.Equal(t, speccache.ReasonState, r.Reason)
		assert.Equal(t, "1", r.Observation)
		assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome, "from then on it is kept")
		assert.Equal(t, "2", must(t, s, login).Observation, "the page of the login is not")
		assert.Equal(t, speccache.Hit, must(t, other, get(1)).Outcome, "no other scope is concerned")
	})
}

func TestNobodyJoinsARunThatBeganBeforeTheChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &loginSite{getTime: 800 * time.Millisecond}
		c, s := open(t, w.env(), config{Predictor: guesses(get(1))})
		user := c.Open(opening{Scope: "test"})
		defer user.Close()
		s.Observe(t.Context(), "home") // get(1) runs ahead, and saw 0
		leader := c.Open(opening{Scope: "test"})
		defer leader.Close()
		go leader.Do(t.Context(), get(2)) // a target's own run, too
		synctest.Wait()
		joined := make(chan speccache.Result[string])
		go func() { joined <- must(t, s, get(2)) }()
		synctest.Wait()
		go user.Do(t.Context(), login)
		synctest.Wait()
		assert.Equal(t, "1", (<-joined).Observation, "who had joined looks again")
		assert.Equal(t, "1", must(t, s, get(1)).Observation, "what ran ahead is dropped")
		assert.EqualValues(t, 1, c.Stats().FailedAhead)
	})
}

func TestAPublicRunSaysSoForAllScopes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &loginSite{}
		e := w.env()
		e.Rules["get"] = actions.Rule{Effect: actions.ReadOnly, Public: true, MaxAge: time.Minute}
		c, s := open(t, e, config{})
		other := c.Open(opening{})
		defer other.Close()
		must(t, s, get(1))
		must(t, s, login)
		assert.Equal(t, speccache.ReasonState, must(t, other, get(1)).Reason)
	})
}

func TestARunOfAClosedSessionSaysSoToItsScope(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &loginSite{}
		c, s := open(t, w.env(), config{})
		closed := c.Open(opening{Scope: "test"})
		closed.Close()
		must(t, s, get(1))
		must(t, closed, login)
		assert.Equal(t, speccache.ReasonState, must(t, s, get(1)).Reason)
	})
}

func TestARunKnowsWhetherItsRuleIsPublic(t *testing.T) {
	bubble(t, func(t *testing.T) {
		calls := make(chan actions.Call, 100)
		w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
			calls <- actions.CallFrom(ctx)
			return "", nil
		}}
		e := mixed(w)
		e.Rules["get"] = actions.Rule{Effect: actions.ReadOnly, Ahead: true, Public: true, MaxAge: time.Minute}
		e.Rules["put"] = actions.Rule{Effect: actions.Write, Public: true}
		e.Renew = func(ctx context.Context, _ actions.Action, o string) (string, bool, error) {
			calls <- actions.CallFrom(ctx)
			return o, false, nil
		}
		c, s := open(t, e, config{})
		public := func() bool { synctest.Wait(); return (<-calls).Public }
		must(t, s, get(1))
		assert.True(t, public())
		s.Speculate(t.Context(), get(2))
		assert.True(t, public())
		must(t, s, get(1)) // wanted, so it is renewed
		after(time.Minute)
		assert.True(t, public(), "a renewal")
		must(t, s, act("peek", 1))
		assert.False(t, public())
		must(t, s, act("put", 1))
		assert.False(t, public(), "a write may use what its scope may")
		c.SetMode(speccache.Off)
		must(t, s, get(3))
		assert.True(t, public(), "whether anything is kept is no matter")
	})
}
