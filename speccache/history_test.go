package speccache_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/speccache/speccache-go/actions"
	"github.com/stretchr/testify/assert"
)

// asked returns a predictor that keeps the last state it was asked about.
func asked(last *state) actions.Predictor[string] {
	return func(_ context.Context, s state) iter.Seq2[actions.Prediction, error] {
		*last = s
		return nil
	}
}

func held(s state) (observations int) {
	for _, step := range s.Steps {
		if step.Observation != "" {
			observations++
		}
	}
	return observations
}

func TestPredictorsSeeTheLastStepsAndFewerOfTheirObservations(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var last state
		_, s := open(t, gets(&tool{}), config{Predictor: asked(&last)})
		for i := range 200 {
			must(t, s, get(i))
			synctest.Wait()
			n := len(last.Steps)
			assert.Equal(t, get(i), last.Steps[n-1].Action)
			assert.Equal(t, fmt.Sprint("saw ", get(i)), last.Steps[n-1].Observation)
			assert.GreaterOrEqual(t, n, min(i+1, 32))
			assert.LessOrEqual(t, n, 40)
			assert.GreaterOrEqual(t, held(last), min(i+1, 8))
		}
		assert.LessOrEqual(t, held(last), 16)
	})
}

func TestAStateStaysAsItWasWhileTheSessionGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var last state
		_, s := open(t, gets(&tool{}), config{Predictor: asked(&last)})
		for i := range 35 {
			must(t, s, get(i))
		}
		synctest.Wait()
		then := fmt.Sprint(last.Steps)
		kept := last.Steps
		for i := range 100 {
			must(t, s, get(i))
		}
		assert.Equal(t, then, fmt.Sprint(kept))
	})
}

func TestBoundedTheStepsOfASessionHoldNoMoreBytesThanConfigured(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var last state
		big := &tool{on: func(context.Context, actions.Action) (string, error) { return strings.Repeat("x", 40<<10), nil }}
		c, s := open(t, gets(big), config{Predictor: asked(&last), StepBytes: 100 << 10})
		for i := range 50 {
			must(t, s, get(i))
			synctest.Wait()
			assert.LessOrEqual(t, c.Stats().StepBytes, int64(100<<10))
			assert.Equal(t, min(i+1, 2), held(last))
		}
		assert.Equal(t, s.Stats().StepBytes, c.Stats().StepBytes)
		assert.GreaterOrEqual(t, len(last.Steps), 32)
		s.Close()
		assert.Zero(t, c.Stats().StepBytes)
	})
}

func TestBoundedTheNewestObservationIsKeptHoweverLargeItIs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var last state
		_, s := open(t, gets(&tool{}), config{Predictor: asked(&last), StepBytes: 1})
		for i := range 5 {
			must(t, s, get(i))
			synctest.Wait()
			assert.Equal(t, 1, held(last))
			assert.NotEmpty(t, last.Steps[i].Observation)
		}
	})
}
