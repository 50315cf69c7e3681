package speccache_test

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
)

// A shop has a value that puts change and gets read.
type shop struct {
	tool
	value   atomic.Int64
	getTime time.Duration
	putTime time.Duration
	fail    func() // at the end of a put, whose effect has happened by then
}

func (w *shop) env() env {
	w.on = func(ctx context.Context, a actions.Action) (string, error) {
		if a.Name() == "get" {
			seen := w.value.Load()
			return strconv.FormatInt(seen, 10), pause(ctx, w.getTime)
		}
		if err := pause(ctx, w.putTime); err != nil {
			return "", err
		}
		w.value.Add(1)
		if w.fail != nil {
			w.fail()
		}
		return "ok", pause(ctx, w.putTime)
	}
	return mixed(&w.tool)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestAWriteHidesWhatWasReadBefore(t *testing.T) {
	for _, name := range []string{"put", "undeclared"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &shop{}
				_, s := open(t, w.env(), config{})
				assert.Equal(t, "0", must(t, s, get(1)).Observation)
				assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome)
				must(t, s, act(name, 1))
				r := must(t, s, get(1))
				assert.Equal(t, "1", r.Observation)
				assert.Equal(t, speccache.ReasonState, r.Reason)
				assert.EqualValues(t, 2, r.Revision)
			})
		})
	}
}

func TestAWriteThatFailsPanicsOrExitsHidesToo(t *testing.T) {
	for name, fail := range map[string]func(){
		"panic":  func() { panic("after the effect") },
		"goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &shop{fail: fail}
				_, s := open(t, w.env(), config{})
				must(t, s, get(1))
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() { recover() }()
					s.Do(t.Context(), act("put", 1))
				}()
				<-done
				assert.Equal(t, "1", must(t, s, get(1)).Observation)
				assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome, "the write has ended: reads are shared again")
			})
		})
	}
	bubble(t, func(t *testing.T) {
		w := &shop{putTime: time.Second}
		_, s := open(t, w.env(), config{})
		must(t, s, get(1))
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond) // effect at 1 s
		defer cancel()
		_, err := s.Do(ctx, act("put", 1))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, "1", must(t, s, get(1)).Observation)
	})
}

func TestAReadThatStartedBeforeAWriteIsNotServedAfterIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &shop{getTime: 3 * time.Second}
		c, s := open(t, w.env(), config{})
		other := c.Open(opening{Scope: "test"})
		defer other.Close()
		go other.Do(t.Context(), get(1)) // reads 0 now, returns at 3 s
		synctest.Wait()
		must(t, s, act("put", 1))
		r := must(t, s, get(1)) // must not join it
		assert.Equal(t, "1", r.Observation)
		assert.Equal(t, w.getTime, r.Waited, "nor wait for it")
		after(time.Minute)
		assert.Equal(t, "1", must(t, s, get(1)).Observation, "nor may its late end publish it")
	})
}

func TestAReadThatStartsInsideAWriteIsNotServedAfterIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &shop{putTime: time.Second, getTime: 10 * time.Second}
		c, s := open(t, w.env(), config{Predictor: guesses(get(1))})
		other := c.Open(opening{Scope: "test"})
		defer other.Close()
		go other.Do(t.Context(), act("put", 1)) // takes effect at 1 s, ends at 2 s
		synctest.Wait()
		got := make(chan string)
		go func() {
			r := must(t, s, get(1)) // reads 0
			got <- r.Observation
		}()
		assert.Equal(t, "0", <-got, "the reader itself may see either")
		r := must(t, s, get(1))
		assert.Equal(t, "1", r.Observation)
	})
}

func TestNothingRunsAheadAndNothingIsSharedWhileAWriteGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &shop{putTime: time.Minute, getTime: time.Second}
		c, s := open(t, w.env(), config{Predictor: guesses(get(1))})
		other := c.Open(opening{Scope: "test"})
		defer other.Close()
		go other.Do(t.Context(), act("put", 1))
		synctest.Wait()
		s.Observe(t.Context(), "home")
		after(10 * time.Second)
		assert.Zero(t, c.Stats().Speculated)
		done := make(chan speccache.Result[string], 2)
		for range 2 {
			go func() { done <- must(t, s, get(2)) }()
		}
		assert.Equal(t, speccache.Miss, (<-done).Outcome)
		assert.Equal(t, speccache.Miss, (<-done).Outcome)
		assert.Equal(t, speccache.Miss, must(t, s, get(2)).Outcome)
		runs, _ := w.count(get(2))
		assert.Equal(t, 3, runs)
	})
}

func TestAJoinerLooksAgainWhenItWakes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &shop{getTime: 900 * time.Millisecond}
		c, s := open(t, w.env(), config{})
		leader, writer := c.Open(opening{Scope: "test"}), c.Open(opening{Scope: "test"})
		defer leader.Close()
		defer writer.Close()
		go leader.Do(t.Context(), get(1))
		synctest.Wait()
		go func() {
			after(500 * time.Millisecond)
			writer.Do(t.Context(), act("put", 1))
		}()
		after(400 * time.Millisecond)
		r := must(t, s, get(1)) // joins at 0.4 s; the write comes at 0.5 s
		assert.Equal(t, "1", r.Observation)
		assert.Equal(t, speccache.Miss, r.Outcome)
	})
}

func TestAWriteCancelsWhatRunsAheadInItsScopeOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &shop{getTime: time.Minute}
		c, s := open(t, w.env(), config{Predictor: guesses(get(1))})
		other := c.Open(opening{Scope: "elsewhere"})
		defer other.Close()
		s.Observe(t.Context(), "home")
		other.Observe(t.Context(), "home")
		synctest.Wait()
		s.Do(t.Context(), act("put", 1))
		synctest.Wait()
		// The write's scope has a new guess by now, the other one its old one.
		st := c.Stats()
		assert.EqualValues(t, 1, st.FailedAhead)
		assert.EqualValues(t, 3, st.Speculated)
	})
}

func TestAdvanceHidesWhatWasReadAndWhatIsInTheAir(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &shop{getTime: time.Second}
		c, s := open(t, w.env(), config{})
		must(t, s, get(1))
		c.Advance("elsewhere")
		assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome)
		leader := c.Open(opening{Scope: "test"})
		defer leader.Close()
		go leader.Do(t.Context(), get(2))
		after(500 * time.Millisecond)
		w.value.Add(1)
		c.Advance("test")
		assert.Equal(t, speccache.ReasonState, must(t, s, get(1)).Reason)
		assert.Equal(t, "1", must(t, s, get(2)).Observation)
	})
}

func TestASessionCanAdvanceItsOwnScope(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := open(t, (&shop{}).env(), config{})
		s := c.Open(opening{})
		defer s.Close()
		must(t, s, get(1))
		c.Advance("")
		assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome, "the public scope is another one")
		s.Advance()
		assert.Equal(t, speccache.ReasonState, must(t, s, get(1)).Reason)
	})
}

func TestAWriteInOneScopeHidesNothingInAnother(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &shop{}
		c, s := open(t, w.env(), config{})
		must(t, s, get(1))
		other := c.Open(opening{Scope: "elsewhere"})
		defer other.Close()
		must(t, other, act("put", 1))
		assert.Equal(t, speccache.Hit, must(t, s, get(1)).Outcome)
	})
}

func TestAPublicReadIsSharedByAllScopesUntilAPublicWriteOrAdvance(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &shop{}
		e := w.env()
		e.Rules["get"] = actions.Rule{Effect: actions.ReadOnly, Public: true, MaxAge: time.Minute}
		e.Rules["publish"] = actions.Rule{Effect: actions.Write, Public: true}
		c, s := open(t, e, config{})
		other := c.Open(opening{})
		defer other.Close()
		must(t, s, get(1))
		assert.Equal(t, speccache.Hit, must(t, other, get(1)).Outcome)
		must(t, s, act("put", 1)) // in its own scope only
		assert.Equal(t, speccache.Hit, must(t, other, get(1)).Outcome)
		must(t, s, act("publish", 1))
		assert.Equal(t, speccache.ReasonState, must(t, other, get(1)).Reason)
		c.Advance("")
		assert.Equal(t, speccache.ReasonState, must(t, other, get(1)).Reason)
	})
}
