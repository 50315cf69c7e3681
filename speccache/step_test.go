package speccache_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
)

// watcher makes a predictor that records the states it was asked about.
func watcher(states *[]state) actions.Predictor[string] {
	var mu sync.Mutex
	return func(_ context.Context, s state) iter.Seq2[actions.Prediction, error] {
		mu.Lock()
		defer mu.Unlock()
		*states = append(*states, s)
		return guesses()(nil, s)
	}
}

func TestADraftStartsAsDoReturnsAndSeesTheStepsSoFar(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var states []state
		w := &tool{}
		c, err := speccache.New(gets(w), config{Predictor: watcher(&states)})
		assert.NoError(t, err)
		defer c.Close()
		s := c.Open(opening{Scope: "a", Goal: "find it"})
		defer s.Close()
		s.Observe(t.Context(), "home")
		synctest.Wait()
		must(t, s, get(1))
		synctest.Wait()
		last := states[len(states)-1]
		assert.Equal(t, state{Scope: "a", Goal: "find it", Session: 1, Steps: []actions.Step[string]{
			{Observation: "home"}, {Action: get(1), Observation: "saw get 1"},
		}}, last)
	})
}

func TestNobodyThinksAfterACancelledStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, s := open(t, gets(&tool{takes: time.Second}), config{Predictor: guesses(get(2))})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := s.Do(ctx, get(1))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		assert.Zero(t, s.Stats().Drafts)
	})
}

func TestParallelCallsAreOneStepInCallOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var states []state
		w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
			var seconds int
			if err := a.Decode(&seconds); err != nil {
				return "", err
			}
			if seconds == 2 {
				return "", errTool
			}
			return a.Args(), pause(ctx, time.Duration(seconds)*time.Second)
		}}
		_, s := open(t, gets(w), config{Predictor: watcher(&states)})
		var wg sync.WaitGroup
		for _, seconds := range []int{9, 1, 2, 5} {
			wg.Go(func() { s.Do(t.Context(), get(seconds)) })
			synctest.Wait()
		}
		wg.Wait()
		synctest.Wait()
		if assert.Len(t, states, 1, "the draft starts when the last call returns") {
			var seen []string
			for _, step := range states[0].Steps {
				seen = append(seen, step.Observation)
			}
			assert.Equal(t, []string{"9", "1", "5"}, seen, "failed calls observe nothing")
		}
	})
}

func TestRunAllIsOneStepAlsoWhereHitsTakeNoTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var states []state
		w := &tool{}
		e := mixed(w)
		e.Resolve = func(s state, a actions.Action) (actions.Action, error) {
			if a.Name() != "click" {
				return a, nil
			}
			page, _ := s.Last()
			return get(page + "/" + a.Args()), nil
		}
		_, s := open(t, e, config{Predictor: watcher(&states)})
		s.Observe(t.Context(), "home")
		synctest.Wait()
		for range 50 {
			results, errs := s.RunAll(t.Context(), act("click", 1), act("think", "hm"), act("click", 2), get(3))
			assert.Equal(t, make([]error, 4), errs)
			assert.Equal(t, []actions.Action{get(`home/1`), act("think", "hm"), get(`home/2`), get(3)},
				[]actions.Action{results[0].Action, results[1].Action, results[2].Action, results[3].Action})
			s.Observe(t.Context(), "home")
			synctest.Wait()
		}
		assert.EqualValues(t, 147, s.Stats().Hits)
		steps := states[len(states)-1].Steps
		n := len(steps)
		assert.Equal(t, []actions.Action{get(`home/1`), get(`home/2`), get(3), {}},
			[]actions.Action{steps[n-4].Action, steps[n-3].Action, steps[n-2].Action, steps[n-1].Action})
		results, errs := s.RunAll(t.Context())
		assert.Empty(t, results)
		assert.Empty(t, errs)
	})
}

func TestRunAllSurvivesAResolveThatPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var states []state
		e := mixed(&tool{})
		e.Resolve = func(_ state, a actions.Action) (actions.Action, error) {
			if a == act("think", "bad") {
				panic(errTool)
			}
			return a, nil
		}
		_, s := open(t, e, config{Predictor: watcher(&states)})
		assert.PanicsWithError(t, errTool.Error(), func() { s.RunAll(t.Context(), get(1), act("think", "bad")) })
		must(t, s, get(2))
		synctest.Wait()
		assert.Len(t, states, 1, "no call is left open")
	})
}

func TestRunAllRepeatsThePanicOfATool(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{on: func(_ context.Context, a actions.Action) (string, error) {
			if a == get("bad") {
				panic(errTool)
			}
			return "ok", nil
		}}
		_, s := open(t, gets(w), config{})
		assert.PanicsWithError(t, errTool.Error(), func() { s.RunAll(t.Context(), get(1), get("bad"), get(2)) })
		assert.Equal(t, speccache.Hit, must(t, s, get(2)).Outcome, "the others ran, and the session goes on")
	})
}

func TestStatesKeepTheLastStepsAndFewerObservations(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var states []state
		_, s := open(t, gets(&tool{}), config{Predictor: watcher(&states)})
		for i := range 100 {
			must(t, s, get(i))
			synctest.Wait()
			steps := states[i].Steps
			n, observations := len(steps), 0
			for j, step := range steps {
				assert.Equal(t, get(i-n+1+j), step.Action)
				if step.Observation != "" {
					observations++
				}
			}
			assert.Equal(t, "saw "+get(i).String(), steps[n-1].Observation)
			assert.True(t, n == i+1 || n >= 32 && n < 40, "%d steps", n)
			assert.True(t, observations == i+1 || observations >= 8 && observations < 40, "%d observations", observations)
			if i > 50 {
				assert.Less(t, observations, 16)
			}
		}
		assert.Equal(t, "saw get 0", states[0].Steps[0].Observation, "a state that was handed out does not change")
	})
}

func TestClicksResolveAgainstThePageInViewForTargetAndDraftAlike(t *testing.T) {
	errNoLink := errors.New("no such link")
	for _, mode := range []speccache.Mode{speccache.On, speccache.Off} {
		t.Run(mode.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &tool{}
				e := gets(w)
				e.Resolve = func(s state, a actions.Action) (actions.Action, error) {
					if a.Name() != "click" {
						return a, nil
					}
					page, ok := s.Last()
					if !ok {
						return a, errNoLink
					}
					return get(page + "/" + a.Args()), nil
				}
				_, s := open(t, e, config{Mode: mode, Predictor: guesses(act("click", "about"))})
				_, err := s.Do(t.Context(), act("click", "about"))
				assert.Same(t, errNoLink, err)
				s.Observe(t.Context(), "home")
				synctest.Wait()
				r := must(t, s, act("click", "about"))
				assert.Equal(t, get(`home/"about"`), r.Action)
				assert.Equal(t, mode == speccache.On, r.Outcome == speccache.Hit)
				assert.EqualValues(t, 1, s.Stats().Unresolved)
				assert.Contains(t, s.Explain(), "no such link")
			})
		})
	}
}

func TestBoundedTheTopThreeDifferentGuessesRunAheadByDefault(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		_, s := open(t, gets(w), config{Predictor: guesses(get(1), get(1), get(2), act("no", 1), get(2), get(3), get(4), get(5))})
		s.Observe(t.Context(), "home")
		after(time.Minute)
		assert.Equal(t, []actions.Action{get(1), get(2), get(3)}, sorted(w.ran()))
	})
}

func TestTheFirstGuessRunsWhileTheDraftStillThinks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		slow := func(ctx context.Context, s state) iter.Seq2[actions.Prediction, error] {
			return func(yield func(actions.Prediction, error) bool) {
				for i := range 3 {
					if pause(ctx, time.Second) != nil || !yield(actions.Prediction{Action: get(i)}, nil) {
						return
					}
				}
			}
		}
		_, s := open(t, gets(w), config{Predictor: slow})
		s.Observe(t.Context(), "home")
		after(2500 * time.Millisecond)
		assert.Equal(t, []actions.Action{get(0), get(1)}, w.ran())
		assert.Equal(t, speccache.Hit, must(t, s, get(0)).Outcome)
		assert.Equal(t, speccache.Join, must(t, s, get(1)).Outcome)
	})
}

func TestWhatIsThereOrInTheAirIsNotRunAheadAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Minute}
		c, s := open(t, gets(w), config{Predictor: guesses(get(1))})
		other := c.Open(opening{Scope: "test"})
		defer other.Close()
		s.Observe(t.Context(), "home")
		other.Observe(t.Context(), "home")
		synctest.Wait()
		other.Observe(t.Context(), "home again")
		after(2 * time.Minute)
		other.Observe(t.Context(), "home again")
		synctest.Wait()
		assert.Equal(t, []actions.Action{get(1)}, w.ran())
		g := c.Stats().Guesses
		assert.EqualValues(t, []int64{2, 1}, []int64{g.Flying, g.Resident})
	})
}

// nonsense are predictors that do what no predictor should.
var nonsense = map[string]actions.Predictor[string]{
	"endless duplicates": func(ctx context.Context, s state) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			for yield(actions.Prediction{Action: get(1)}, nil) {
			}
		}
	},
	"endless undeclared": func(ctx context.Context, s state) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			for i := 0; yield(actions.Prediction{Action: act("rm", i)}, nil); i++ {
			}
		}
	},
	"endless errors": func(ctx context.Context, s state) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			for yield(actions.Prediction{}, errTool) {
			}
		}
	},
	"panic": func(ctx context.Context, s state) iter.Seq2[actions.Prediction, error] { panic("draft") },
	"late panic": func(ctx context.Context, s state) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			yield(actions.Prediction{Action: get(2)}, nil)
			panic("draft")
		}
	},
	"goexit": func(ctx context.Context, s state) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) { runtime.Goexit() }
	},
	"no action": guesses(actions.Action{}),
	"yields after no": func(ctx context.Context, s state) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			for i := range 100 {
				yield(actions.Prediction{Action: get(i)}, nil)
			}
		}
	},
	"ignores its end": func(ctx context.Context, s state) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			after(time.Hour)
			yield(actions.Prediction{Action: get(1)}, nil)
		}
	},
}

func TestAPredictorGoneMadNeverHarmsTheTarget(t *testing.T) {
	for name, predict := range nonsense {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &tool{takes: time.Second}
				c, s := open(t, gets(w), config{Predictor: predict})
				for i := range 5 {
					r := must(t, s, get(fmt.Sprint("mine", i)))
					assert.Equal(t, time.Second, r.Waited)
					after(5 * time.Second)
				}
				assert.LessOrEqual(t, c.Stats().Speculated, int64(15))
				_, ahead := w.count(act("rm", 0))
				assert.Zero(t, ahead)
				c.Close()
			})
		})
	}
}

func TestDraftFailuresAreCountedAndExplained(t *testing.T) {
	for _, name := range []string{"endless errors", "panic", "late panic", "goexit"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				_, s := open(t, gets(&tool{}), config{Predictor: nonsense[name]})
				s.Observe(t.Context(), "home")
				synctest.Wait()
				assert.EqualValues(t, 1, s.Stats().DraftsFailed)
				assert.Contains(t, s.Explain(), "1 of 1 draft failed")
			})
		})
	}
}

func TestBoundedPredictorsThatIgnoreTheirEndDoNotPileUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, s := open(t, gets(&tool{}), config{Predictor: nonsense["ignores its end"]})
		for i := range 10 {
			must(t, s, get(i))
			after(time.Second)
		}
		st := s.Stats()
		assert.EqualValues(t, []int64{2, 7}, []int64{st.Drafts, st.DraftsSkipped}, "the tenth still waits")
		assert.Contains(t, s.Explain(), "obey its context")
	})
}

func TestADraftThatHadToWaitStartsWhileTheTargetStillThinks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		slow := func(_ context.Context, s state) iter.Seq2[actions.Prediction, error] {
			return func(yield func(actions.Prediction, error) bool) {
				after(5 * time.Millisecond) // it does not look at its context
				yield(actions.Prediction{Action: get(len(s.Steps))}, nil)
			}
		}
		_, s := open(t, gets(&tool{}), config{Predictor: slow})
		for i := range 4 { // the target does not think
			must(t, s, get(i))
		}
		after(time.Second) // now it does
		assert.Equal(t, speccache.Hit, must(t, s, get(4)).Outcome)
	})
}

func TestAGuessThatFailedDoesNotTakeAGoodOnesPlaceAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{on: func(ctx context.Context, a actions.Action) (string, error) {
			if a != get("live") && actions.CallFrom(ctx).Ahead {
				return "", errTool
			}
			return "ok", nil
		}}
		c, s := open(t, gets(w), config{Predictor: guesses(get("dead 1"), get("dead 2"), get("dead 3"), get("live"))})
		step := func() {
			s.Observe(t.Context(), "page")
			synctest.Wait()
		}
		step()
		step()
		runs, _ := w.count(get("dead 1"))
		assert.Equal(t, 1, runs)
		assert.EqualValues(t, 3, s.Stats().Guesses.Failing)
		assert.Equal(t, speccache.Hit, must(t, s, get("live")).Outcome)
		assert.Equal(t, "ok", must(t, s, get("dead 1")).Observation, "the target runs its own")
		c.Advance("test")
		step()
		runs, _ = w.count(get("dead 2"))
		assert.Equal(t, 2, runs, "another state, another try")
		after(time.Minute)
		step()
		runs, _ = w.count(get("dead 2"))
		assert.Equal(t, 3, runs, "and another minute")
	})
}

func TestRecordTellsPredictorsWhatTheLoopDid(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{}
		next := func(_ context.Context, s state) iter.Seq2[actions.Prediction, error] {
			var n int
			if err := s.Steps[len(s.Steps)-1].Action.Decode(&n); err != nil {
				return nil // a nil sequence is no guess
			}
			return guesses(get(n+1))(nil, s)
		}
		_, s := open(t, gets(w), config{Predictor: next})
		s.Observe(t.Context(), "the first page was not asked for")
		synctest.Wait()
		for i := range 3 {
			_, reason := s.Lookup(get(i))
			assert.Equal(t, i > 0, reason == "")
			s.Record(t.Context(), get(i), "page")
			synctest.Wait()
		}
		assert.EqualValues(t, []int64{1, 0}, []int64{s.Stats().DraftsEmpty, s.Stats().DraftsFailed})
	})
}

func TestSpeculateRunsTheCallersOwnGuessesUnderTheSameRules(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &tool{takes: time.Second}
		_, s := open(t, gets(w), config{})
		s.Speculate(t.Context(), append(many(100), act("buy", 1))...)
		synctest.Wait()
		assert.Len(t, w.ran(), 6, "twice TopN at a time")
		after(time.Minute)
		assert.Len(t, w.ran(), 64)
		assert.Equal(t, speccache.Hit, must(t, s, get("guess 63")).Outcome)
		s.Speculate(t.Context())
	})
}

func TestUsageOfDraftsIsAddedUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		predict := func(context.Context, state) iter.Seq2[actions.Prediction, error] {
			return func(yield func(actions.Prediction, error) bool) {
				yield(actions.Prediction{Action: get(1), Usage: actions.Usage{Calls: 1, PromptTokens: 500, CachedTokens: 400}}, nil)
				yield(actions.Prediction{Usage: actions.Usage{OutputTokens: 20}}, nil)
			}
		}
		_, s := open(t, gets(&tool{}), config{Predictor: predict})
		s.Observe(t.Context(), "1")
		synctest.Wait()
		s.Observe(t.Context(), "2")
		synctest.Wait()
		assert.Equal(t, actions.Usage{Calls: 2, PromptTokens: 1000, CachedTokens: 800, OutputTokens: 40}, s.Stats().Usage)
	})
}
