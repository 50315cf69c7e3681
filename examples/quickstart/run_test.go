package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// direct answers requests without a network, so that all of a run happens in
// a bubble, where time is exact.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// bothTrips runs the quickstart at its usual times.
func bothTrips(t *testing.T) comparison {
	s := &site{delay: pageDelay}
	tour := tour{
		site: s, home: "http://docs.example" + homePath, transport: direct{s},
		think: defaultThink, show: func(line) {},
	}
	off, err := tour.run(t.Context(), speccache.Off)
	require.NoError(t, err)
	spec, err := tour.run(t.Context(), speccache.On)
	require.NoError(t, err)
	return compare(off, spec)
}

func TestSpeculationChangesTimesAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := bothTrips(t)
		require.NoError(t, c.check())
		assert.True(t, c.sameAnswers)
		assert.True(t, c.sameObservations)
		off, spec := c.off.stats, c.spec.stats
		assert.Zero(t, off.Hits+off.Joins+off.Speculated, "off is a pass-through")
		assert.Equal(t, off.Lookups, spec.Lookups)
		assert.Positive(t, spec.Hits)
		assert.Less(t, spec.Waited, off.Waited)
		assert.Equal(t, off.Waited, spec.Waited+spec.Hidden, "what was not waited was hidden")
		assert.Equal(t, spec.Hits+spec.Joins, spec.Ahead, "nothing but speculation has hit")
	})
}

func TestEveryQuestionTakesAFewClicksAndFindsWhatThePagesSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := bothTrips(t)
		want := []struct{ from, says string }{
			{"/guides/limits.html", "at most 3 guesses"},
			{"/concepts/model-versions.html", "nothing can hit"},
			{"/concepts/scopes.html", "hides all earlier reads"},
		}
		require.Len(t, c.off.walks, len(want))
		for i, w := range c.off.walks {
			clicks := len(w.seen) - 1
			assert.GreaterOrEqual(t, clicks, 2, w.question)
			assert.LessOrEqual(t, clicks, 4, w.question)
			assert.Equal(t, want[i].from, pathOf(w.from), w.question)
			assert.Contains(t, w.answer, want[i].says, w.question)
		}
	})
}

func TestTheWaitWithoutSpeculationIsTheSumOfThePagesDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := bothTrips(t)
		var sum time.Duration
		for _, w := range c.off.walks {
			for _, o := range w.seen[1:] {
				sum += pageDelay(pathOf(o.url))
			}
		}
		assert.Equal(t, sum, c.off.stats.Waited)
	})
}

func TestAQuestionThatNoPageAnswersIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := questions
		defer func() { questions = old }()
		questions = []string{"Which colour has the chancellor's bicycle?"}
		s := &site{delay: noDelay}
		tour := tour{site: s, home: "http://docs.example" + homePath, transport: direct{s}, show: func(line) {}}
		_, err := tour.run(t.Context(), speccache.On)
		require.ErrorContains(t, err, "no answer")
	})
}

func TestDelaysAreStatedAndDeterministic(t *testing.T) {
	different := map[time.Duration]bool{}
	for _, name := range pageNames(t) {
		d := pageDelay("/" + name)
		assert.GreaterOrEqual(t, d, minDelay)
		assert.LessOrEqual(t, d, maxDelay)
		assert.Equal(t, d, pageDelay("/"+name))
		different[d] = true
	}
	assert.Greater(t, len(different), 10)
}
