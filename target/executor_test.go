package target_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/speccache/speccache-go/speccache"
	"github.com/speccache/speccache-go/target"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestACallBecomesTheActionThatItMeans(t *testing.T) {
	x := target.Executor[string]{Tools: append(tools[:2:2],
		target.Tool{Name: "list"},
	)}
	for _, c := range []struct{ name, args, want string }{
		{"click", `{"label": "About"}`, `click {"label":"About"}`},
		{"click", `{"button": "About"}`, `click {"label":"About"}`},
		{"click", `{"button":"a","label":"b"}`, `click {"button":"a","label":"b"}`},
		{"visit", ` {"url":"https://a.example/"} `, `visit {"url":"https://a.example/"}`},
		{"visit", `{"button":"About"}`, `visit {"button":"About"}`},
		{"list", ``, `list {}`},
		{"list", " \n", `list {}`},
		{"list", `null`, `list {}`},
		{"list", `{}`, `list {}`},
	} {
		a, err := x.Action(target.Call{Name: c.name, Args: c.args})
		require.NoError(t, err, c.args)
		assert.Equal(t, c.want, a.String())
	}
}

func TestAToolWithButtonsOfItsOwnKeepsThem(t *testing.T) {
	x := target.Executor[string]{Tools: []target.Tool{{Name: "click", Schema: parameter("button")}}}
	a, err := x.Action(target.Call{Name: "click", Args: `{"button":"left"}`})
	require.NoError(t, err)
	assert.Equal(t, `click {"button":"left"}`, a.String())
}

func TestWhatIsNoActionIsAnErrorForTheModelAndRunsNothing(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		x := k.executor()
		for _, c := range []struct{ name, args, says string }{
			{"fly", `{}`, "use one of visit, click"},
			{"", `{}`, "use one of visit, click"},
			{"click", `{"label":`, "one JSON object"},
			{"click", `About`, "one JSON object"},
			{"click", `"About"`, "one JSON object"},
			{"click", `["About"]`, "one JSON object"},
			{"click", `{"label":"a","label":"b"}`, "duplicate"},
			{"click", `{"label":"a"} {"label":"b"}`, "one JSON object"},
			{"click", "{\"label\":\"\xff\"}", "UTF-8"},
			{"click", strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), "nested"},
			{"visit", `{"url":"` + strings.Repeat("x", actions.MaxArgs) + `"}`, "too large"},
		} {
			step := x.Do(t.Context(), target.Call{ID: "1", Name: c.name, Args: c.args})
			require.ErrorContains(t, step.Err, c.says)
			assert.True(t, strings.HasPrefix(step.Err.Error(), "target: "))
			assert.Zero(t, step.Result)
			assert.Equal(t, "1", step.Call.ID)
		}
		st := k.session.Stats()
		assert.Zero(t, st.Lookups+st.Undeclared+st.Unresolved)
	})
}

func TestWithoutToolsEveryNameIsAnAction(t *testing.T) {
	a, err := target.Executor[string]{}.Action(target.Call{Name: "anything"})
	require.NoError(t, err)
	assert.Equal(t, "anything {}", a.String())
}

func TestTheCacheIsAskedBeforeTheTool(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		time.Sleep(time.Second) // the draft guesses all three links of the home page
		before := k.site.requested()
		step := k.executor().Do(t.Context(), target.Call{Name: "click", Args: `{"button":"Ticket prices"}`})
		require.NoError(t, step.Err)
		assert.Equal(t, speccache.Hit, step.Result.Outcome)
		assert.Equal(t, "Tickets", step.Result.Observation.Title())
		assert.Zero(t, step.Result.Waited)
		assert.Equal(t, fetch, step.Result.Hidden)
		assert.Contains(t, before, "/ticket")
	})
}

// Both pages have a link Details. Whether the first call is a hit or not, the
// second one means a link of the page that the model saw.
func TestParallelCallsMeanThePageInViewWhateverHits(t *testing.T) {
	for _, wait := range []time.Duration{0, fetch / 2, time.Second} {
		agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
			time.Sleep(wait)
			began := time.Now()
			steps := k.executor().DoAll(t.Context(),
				target.Call{ID: "a", Name: "click", Args: `{"label":"About"}`},
				target.Call{ID: "b", Name: "click", Args: `{"label":"Details"}`},
				target.Call{ID: "c", Name: "oops"},
				target.Call{ID: "d", Name: "click", Args: `{"label":"Plan your visit"}`},
			)
			assert.Equal(t, max(0, fetch-wait), time.Since(began), "they run concurrently")
			for i, id := range []string{"a", "b", "c", "d"} {
				assert.Equal(t, id, steps[i].Call.ID)
			}
			require.NoError(t, steps[0].Err)
			assert.Equal(t, "About", steps[0].Result.Observation.Title())
			assert.ErrorContains(t, steps[1].Err, "no link on https://museum.example/ is labelled")
			assert.ErrorContains(t, steps[2].Err, "no tool")
			require.NoError(t, steps[3].Err)

			// The last one in call order is in view now.
			step := k.executor().Do(t.Context(), target.Call{Name: "click", Args: `{"label":"Details"}`})
			require.NoError(t, step.Err)
			assert.Equal(t, "Way", step.Result.Observation.Title())
		})
	}
}

func TestParallelCallsAreOneStepForTheDraft(t *testing.T) {
	agent(t, llmsim.Options{}, func(t *testing.T, k *kit) {
		time.Sleep(time.Second)
		before := k.session.Stats().Drafts
		k.executor().DoAll(t.Context(),
			target.Call{Name: "click", Args: `{"label":"About"}`},
			target.Call{Name: "click", Args: `{"label":"Plan your visit"}`},
			target.Call{Name: "click", Args: `{"label":"Ticket prices"}`},
		)
		assert.EqualValues(t, 3, k.session.Stats().Hits)
		assert.Equal(t, before+1, k.session.Stats().Drafts)
	})
}

// plain is a cache over tools that pay no heed to their context.
func plain(t *testing.T, mode speccache.Mode, do actions.Executor[string]) target.Executor[string] {
	t.Helper()
	cache, err := speccache.New(actions.Environment[string]{Do: do, Rules: actions.Reads("read")}, speccache.Config[string]{Mode: mode})
	require.NoError(t, err)
	t.Cleanup(func() { _ = cache.Close() })
	s := cache.Open(speccache.SessionConfig[string]{})
	t.Cleanup(func() { _ = s.Close() })
	return target.Executor[string]{Session: s}
}

func TestToolsThatIgnoreTheirContextRunConcurrentlyToo(t *testing.T) {
	for _, mode := range []speccache.Mode{speccache.On, speccache.Off} {
		bubble(t, func(t *testing.T) {
			x := plain(t, mode, func(_ context.Context, a actions.Action) (string, error) {
				time.Sleep(time.Second)
				return a.Args(), nil
			})
			began := time.Now()
			steps := x.DoAll(t.Context(), target.Call{Name: "read", Args: `{"n":1}`}, target.Call{Name: "read", Args: `{"n":2}`})
			assert.Equal(t, `{"n":1}`, steps[0].Result.Observation)
			assert.Equal(t, `{"n":2}`, steps[1].Result.Observation)
			assert.Less(t, time.Since(began), 1100*time.Millisecond)
		})
	}
}

func TestTheEndOfTheContextReachesParallelCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := plain(t, speccache.On, func(ctx context.Context, _ actions.Action) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		for _, step := range x.DoAll(ctx, target.Call{Name: "read"}, target.Call{Name: "read", Args: `{"n":2}`}) {
			assert.ErrorIs(t, step.Err, context.DeadlineExceeded)
		}
	})
}

func TestAPanicInAParallelCallIsTheCallers(t *testing.T) {
	for _, calls := range []int{1, 3} {
		ended := 0
		x := plain(t, speccache.On, func(_ context.Context, a actions.Action) (string, error) {
			if a.Args() == `{"n":0}` {
				panic(errors.New("broken"))
			}
			return "", nil
		})
		all := []target.Call{{Name: "read", Args: `{"n":0}`}, {Name: "read", Args: `{"n":1}`}, {Name: "read", Args: `{"n":2}`}}
		assert.PanicsWithError(t, "broken", func() { x.DoAll(t.Context(), all[:calls]...) })
		for range x.DoAll(t.Context(), all[1:]...) {
			ended++
		}
		assert.Equal(t, 2, ended, "the session goes on")
	}
}

func TestGoexitInAParallelCallIsTheCallers(t *testing.T) {
	x := plain(t, speccache.On, func(context.Context, actions.Action) (string, error) {
		runtime.Goexit()
		return "", nil
	})
	returned, done := false, make(chan struct{})
	go func() {
		defer close(done)
		x.DoAll(context.Background(), target.Call{Name: "read"}, target.Call{Name: "other"})
		returned = true
	}()
	<-done
	assert.False(t, returned)
}

func FuzzActionIsAnObjectOrAnError(f *testing.F) {
	for _, args := range []string{``, `{}`, `{"button":"About"}`, `{"button":{"label":1}}`, `[1]`, `{"label":`, "{\"button\":\"\xff\"}", `null`} {
		f.Add("click", args)
	}
	f.Fuzz(func(t *testing.T, name, args string) {
		a, err := target.Executor[string]{}.Action(target.Call{Name: name, Args: args})
		if err != nil {
			assert.Zero(t, a)
			return
		}
		assert.Equal(t, name, a.Name())
		assert.True(t, strings.HasPrefix(a.Args(), "{"), a.Args())
		again, err := actions.Parse(a.Name(), a.Args())
		require.NoError(t, err)
		assert.Equal(t, a, again, "the same call is the same key")
	})
}
