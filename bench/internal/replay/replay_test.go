package replay

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryServedObservationIsThatOfADirectFetchInEveryArm(t *testing.T) {
	for _, name := range []string{"lexical", "random", "oracle:0.833"} {
		cfg := instantly()
		cfg.Seeds = 3
		var err error
		cfg.Draft, err = ParseDraft(name)
		require.NoError(t, err)
		r, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.Equal(t, 3*19, r.Steps)
		require.Len(t, r.Arms, 3)
		for arm, a := range r.Arms {
			assert.Zero(t, a.WrongObservations, arm)
			assert.EqualValues(t, 3*19, a.Lookups, arm)
			assert.Equal(t, a.Lookups, a.Hits+a.Joins+a.Misses, arm)
			assert.Equal(t, a.Speculated, a.Used+a.Wasted, arm)
		}
		assert.Zero(t, r.Arms[Off].Hits+r.Arms[Off].Speculated+r.Arms[Cache].Speculated)
		assert.Positive(t, r.Arms[Cache].Hits, "the museum's items come back to some pages")
	}
}

func TestAPageThatDiffersFromADirectFetchIsWrong(t *testing.T) {
	page := func(url, html string) *web.Page {
		p, err := web.Parse(url, html)
		require.NoError(t, err)
		return p
	}
	const url, html = "https://a.example/", "<title>A</title><p>one <a href=/b>b</a>"
	assert.True(t, samePage(page(url, html), page(url, html)))
	assert.False(t, samePage(page(url, html), page(url+"b", html)))
	assert.False(t, samePage(page(url, html), page(url, strings.Replace(html, "one", "two", 1))))
}

func TestSharedGoldenPathsAreWalkedToTheirEndsInEveryArm(t *testing.T) {
	for file, clicks := range map[string]int{"items.jsonl": 16, "items-long.jsonl": 0} {
		cfg := sharedItems(t, file)
		cfg.Draft = oracle(0.833)
		assertEnds(t, cfg)
		if clicks == 0 {
			cfg.Arms = []Arm{Spec} // many pages: it takes its time under the race detector
		}
		r, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		if clicks > 0 {
			assert.Equal(t, clicks, r.Steps)
		}
		for arm, a := range r.Arms {
			assert.Zero(t, a.WrongObservations, arm)
			assert.EqualValues(t, r.Steps, a.Lookups, arm)
		}
		t.Logf("%s: %d clicks, %d arms", file, r.Steps, len(r.Arms))
	}
}

// assertEnds walks each path alone and compares where it ends.
func assertEnds(t *testing.T, cfg Config) {
	s, err := newSetup(t.Context(), cfg)
	require.NoError(t, err)
	defer s.reference.close()
	bare := func(text string) string {
		u, err := url.Parse(text)
		require.NoError(t, err)
		return u.Host + strings.TrimSuffix(u.Path, "/")
	}
	for i, it := range cfg.Items {
		for k, path := range it.Paths {
			one := Item{RootURL: it.RootURL, Paths: [][]string{path}}
			visits, err := s.reference.walk(t.Context(), i, &one)
			require.NoError(t, err)
			page, err := s.reference.page(t.Context(), visits[len(visits)-1])
			require.NoError(t, err)
			assert.Equal(t, bare(it.Ends[k]), bare(page.URL()), "item %d, path %v", i+1, path)
		}
	}
}

func TestBuiltInGoldenPathsEndWhereTheItemsSay(t *testing.T) { assertEnds(t, instantly()) }

func TestWithPaperTimesARightDraftIsInTimeAndNothingIsLost(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Draft, cfg.Steps, cfg.Arms = oracle(1), 3, []Arm{Off, Spec}
	r, err := Run(t.Context(), cfg)
	require.NoError(t, err)
	assert.EqualValues(t, 3, r.Arms[Spec].Hits+r.Arms[Spec].Joins)
	assert.Zero(t, r.Lost)
	assert.EqualValues(t, 1, r.AccuracyAtN)
	assert.Greater(t, float64(r.EnvReduction), 1.0)
	assert.Greater(t, float64(r.SavedSeconds), 0.0)
}

func TestADraftThatIsSlowerThanTheTargetSpeculatesNothing(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Draft, cfg.Profile, cfg.Steps, cfg.Arms = oracle(1), SlowDraft, 1, []Arm{Spec}
	cfg.Scale = 0.1 // 20 ms between target and draft
	var r *Report
	for range 3 { // a machine that stalls for longer wakes both at once
		var err error
		r, err = Run(t.Context(), cfg)
		require.NoError(t, err)
		if r.Clicks.Late == 1 {
			break
		}
	}
	assert.Equal(t, 1, r.Clicks.Late)
	assert.Zero(t, r.Arms[Spec].Speculated)
	assert.EqualValues(t, 1, r.AccuracyAtN, "accuracy is about quality, not about time")
}

func TestStepsRepeatOrCutTheItems(t *testing.T) {
	for _, steps := range []int{1, 19, 45} {
		cfg := instantly()
		cfg.Steps, cfg.Seeds = steps, 2
		r, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.Equal(t, 2*steps, r.Steps)
		assert.EqualValues(t, 2*steps, r.Arms[Spec].Lookups)
		assert.Equal(t, min(steps, 19), r.Clicks.Trials)
	}
}

func TestAPathThatCannotBeWalkedNamesItemAndLabel(t *testing.T) {
	cfg := instantly()
	cfg.Items[1].Paths = [][]string{{"Visit us", "Gift shop"}}
	_, err := Run(t.Context(), cfg)
	assert.ErrorContains(t, err, "item 2")
	assert.ErrorContains(t, err, `"Gift shop"`)
}

func TestAHostWithoutARecordedSiteIsNamed(t *testing.T) {
	cfg := instantly()
	cfg.Items[0].host = "other.example"
	_, err := Run(t.Context(), cfg)
	assert.ErrorContains(t, err, "other.example")
}

func TestAConfigThatContradictsItselfIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"depth 2":         func(c *Config) { c.Depth = 2 },
		"topn 0":          func(c *Config) { c.TopN = 0 },
		"seeds 0":         func(c *Config) { c.Seeds = 0 },
		"steps":           func(c *Config) { c.Steps = -1 },
		"ranks":           func(c *Config) { c.TopN, c.Ranks = 1, []float64{1, 1} },
		"rank":            func(c *Config) { c.Draft, c.Ranks = oracle(0.5), []float64{0} },
		"no arms":         func(c *Config) { c.Arms = nil },
		"server capacity": func(c *Config) { c.ServerCapacity = -1 },
		"no items":        func(c *Config) { c.Items = nil },
		"below 2^32":      func(c *Config) { c.Seed = 1 << 32 },
	} {
		cfg := instantly()
		spoil(&cfg)
		_, err := Run(t.Context(), cfg)
		assert.ErrorIs(t, err, ErrConfig, name)
		assert.ErrorContains(t, err, name)
	}
}

func TestTheScaleIsTheSmallestAtWhichOverheadIsSmall(t *testing.T) {
	for overhead, want := range map[time.Duration]float64{
		2500 * time.Microsecond: 0.02, 6 * time.Millisecond: 0.05, 20 * time.Millisecond: 0.1,
		40 * time.Millisecond: 0.2, 100 * time.Millisecond: 0.5, 200 * time.Millisecond: 1,
	} {
		got, err := chooseScale(0, overhead)
		require.NoError(t, err)
		assert.Equal(t, want, got, overhead)
	}
	got, err := chooseScale(0.03, time.Millisecond)
	require.NoError(t, err)
	assert.Equal(t, 0.03, got, "a larger one is allowed")

	_, err = chooseScale(0.02, 20*time.Millisecond)
	assert.ErrorContains(t, err, "0.1", "it names the allowed one")
	_, err = chooseScale(0, time.Second)
	assert.ErrorContains(t, err, "any scale")
}

func TestAgentsSideBySideAreFewerWhereAStepIsShort(t *testing.T) {
	few := chooseAgents(Paper, 0.02, 10*time.Millisecond, 3)
	many := chooseAgents(Paper, 0.2, 10*time.Millisecond, 3)
	assert.LessOrEqual(t, few, many)
	assert.GreaterOrEqual(t, few, 3)
	assert.Equal(t, 3, chooseAgents(None, 1, time.Millisecond, 3))
}

func TestASlowedDraftYieldsWhenItsTimeIsOverAndNotAfterItsContext(t *testing.T) {
	act := actions.Must("visit", map[string]string{"url": "https://a.example/"})
	inner := func(context.Context, state) guesses {
		return func(yield func(actions.Prediction, error) bool) { yield(actions.Prediction{Action: act}, nil) }
	}
	env := web.New(web.Config{}).Environment()
	const takes = 30 * time.Millisecond
	p := &position{}
	guess := slowed(inner, 3, &env, func(*position) time.Duration { return takes })
	began := time.Now()
	for range guess(withPosition(t.Context(), p), state{}) {
		assert.GreaterOrEqual(t, time.Since(began), takes)
	}
	took, ok := p.yields.before(act, time.Now())
	assert.True(t, ok)
	assert.GreaterOrEqual(t, took, takes)
	_, ok = p.yields.before(act, began)
	assert.False(t, ok, "not before the ask")

	ctx, cancel := context.WithCancel(withPosition(t.Context(), p))
	cancel()
	for range guess(ctx, state{}) {
		assert.Fail(t, "a guess about the past")
	}
	for range guess(t.Context(), state{}) {
		assert.Fail(t, "a guess after the end of a path")
	}
}
