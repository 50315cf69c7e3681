package suites_test

import (
	"strings"
	"testing"

	"github.com/speccache/speccache-go/bench/internal/suites"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAllPublicSuitesPass(t *testing.T) {
	report, err := suites.Run(suites.Config{Dir: shared(t)})
	require.NoError(t, err)
	totals := map[string]int{}
	for _, s := range report.Suites {
		totals[s.Name] = s.Total
		assert.Empty(t, s.Failed, s.Name)
		assert.Equal(t, s.Total, s.Passed, s.Name)
		t.Logf("%s: %d of %d, %d notes", s.Name, s.Passed, s.Total, len(s.Notes))
	}
	assert.Equal(t, map[string]int{"ssrf": 125, "rfc8785": 10_006, "jsontestsuite": 318, "jsonrepair": 428, "json_repair": 272}, totals)
}

// What is not as a suite says is on a list, so that it can't grow unseen.
func TestWhatIsStricterThanASuiteIsListed(t *testing.T) {
	report, err := suites.Run(suites.Config{Dir: shared(t), Suites: []string{"ssrf", "jsontestsuite", "jsonrepair", "json_repair"}})
	require.NoError(t, err)
	require.Len(t, report.Suites, 4)
	assert.Len(t, report.Suites[0].Notes, 3)
	assert.Equal(t, []string{
		"y_object_duplicated_key.json: refused: duplicate name in an object",
		"y_object_duplicated_key_and_value.json: refused: duplicate name in an object",
	}, report.Suites[1].Notes)
	assert.Empty(t, report.Suites[2].Notes)
	assert.Len(t, report.Suites[3].Notes, 2)
}

// one plays a file.
func one(t *testing.T, suite, file string) *suites.Result {
	t.Helper()
	report, err := suites.Run(suites.Config{Suites: []string{suite}, File: file})
	require.NoError(t, err)
	require.Len(t, report.Suites, 1)
	return report.Suites[0]
}

// A suite that can't fail would prove nothing.
func TestRowsThatAreNotSoFail(t *testing.T) {
	for _, c := range []struct{ suite, name, text string }{
		{"ssrf", "a.jsonl", `{"kind": "ip", "value": "8.8.8.8", "expect": "deny"}`},
		{"ssrf", "a.jsonl", `{"kind": "ip", "value": "10.0.0.1", "expect": "allow"}`},
		{"ssrf", "a.jsonl", `{"kind": "cidr", "value": "8.0.0.0/6", "expect": "deny"}`},
		{"ssrf", "a.jsonl", `{"kind": "url", "value": "http://8.8.8.8/", "expect": "deny"}`},
		{"ssrf", "a.jsonl", `{"kind": "url", "value": "http://site.example/", "expect": "allow"}`},
		{"ssrf", "a.jsonl", `{"kind": "ip", "value": "nowhere", "expect": "deny"}`},
		{"ssrf", "a.jsonl", `{"kind": "name", "value": "10.0.0.1", "expect": "deny"}`},
		{"rfc8785", "a.txt", "1,6e-324"},
		{"jsontestsuite", "n_a.json", "[1]"},
		{"jsontestsuite", "y_a.json", "[1"},
	} {
		r := one(t, c.suite, write(t, c.name, c.text))
		assert.Len(t, r.Failed, 1, c.text)
		assert.Contains(t, strings.Join(r.Failed, ""), ", want ", c.text)
		assert.Zero(t, r.Passed, c.text)
	}
}

func TestAnotherFileOfASuiteIsPlayed(t *testing.T) {
	for _, c := range []struct{ suite, name, text string }{
		{"ssrf", "a.jsonl", `{"kind": "url", "value": "http://a.localhost:8080", "expect": "deny"}`},
		{"ssrf", "a.jsonl", `{"kind": "url", "value": "file:///etc/passwd", "expect": "deny"}`},
		{"ssrf", "a.jsonl", `{"kind": "ip", "value": "1.1.1.1", "expect": "allow"}`},
		{"rfc8785", "a.txt", "1,5e-324"},
		{"jsontestsuite", "y_a.json", "[1]"},
		{"jsontestsuite", "i_a.json", "[1"},
		{"jsonrepair", "a.json", `[{"input": "{a: 1}"}]`},
		{"json_repair", "a.json", `[{"input": "{\"a\": 1}"}]`},
	} {
		r := one(t, c.suite, write(t, c.name, c.text))
		assert.Equal(t, 1, r.Passed, "%s: %v", c.text, r.Failed)
	}
}

func TestWhatCanNotBeReadIsAnErrorAndNotAPass(t *testing.T) {
	for _, c := range []struct{ suite, name, text string }{
		{"ssrf", "a.jsonl", ""},
		{"ssrf", "a.jsonl", "{"},
		{"ssrf", "a.jsonl", `{"kind": "ip", "value": "10.0.0.1"}`},
		{"rfc8785", "a.txt", "5e-324"},
		{"rfc8785", "a.json", "[]"}, // no output beside it
		{"jsontestsuite", "a.json", "[]"},
		{"jsonrepair", "a.json", "[]"},
		{"jsonrepair", "a.json", `[{"expected": "1"}]`},
	} {
		_, err := suites.Run(suites.Config{Suites: []string{c.suite}, File: write(t, c.name, c.text)})
		assert.ErrorContains(t, err, c.suite, c.text)
	}
	for _, name := range suites.Names() {
		_, err := suites.Run(suites.Config{Dir: t.TempDir(), Suites: []string{name}})
		assert.ErrorContains(t, err, name)
	}
}

func TestAWrongConfigurationIsSaidSo(t *testing.T) {
	for _, cfg := range []suites.Config{
		{Suites: []string{"nothing"}},
		{File: "a.jsonl"},
		{File: "a.jsonl", Suites: []string{"ssrf", "rfc8785"}},
	} {
		_, err := suites.Run(cfg)
		assert.ErrorIs(t, err, suites.ErrConfig)
	}
}

func TestATableHasARowForEachSuiteAndForEachFailure(t *testing.T) {
	report, err := suites.Run(suites.Config{Suites: []string{"jsontestsuite"}, File: write(t, "n_a.json", "[1]")})
	require.NoError(t, err)
	failed, total := report.Failed()
	assert.Equal(t, []int{1, 1}, []int{failed, total})
	var table strings.Builder
	require.NoError(t, report.WriteTable(&table))
	assert.Regexp(t, `jsontestsuite +0 +1 +0`, table.String())
	assert.Contains(t, table.String(), "FAILED jsontestsuite: n_a.json: got an action, want a refusal")
}
