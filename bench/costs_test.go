package main

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// printed runs a command and returns the JSON object that it prints.
func printed(t *testing.T, args ...string) map[string]any {
	t.Helper()
	code, stdout, stderr := call(t, append(args, "-json")...)
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr)
	var report map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	return report
}

func fieldsOf(report map[string]any) []string { return slices.Collect(maps.Keys(report)) }

func TestLookupPrintsOneJSONObjectWithTheFieldsOfTheContract(t *testing.T) {
	r := printed(t, "lookup", "-rounds", "1")
	assert.ElementsMatch(t, []string{
		"raw_ristretto_ns", "resident_ns", "staged_ns", "miss_ns", "raw_otter_ns",
		"resident_vs_ristretto", "staged_vs_ristretto", "resident_vs_otter",
		"allocs_per_op", "bytes_per_op", "cpus",
		"aa", "beside", "rounds", "resident_anew_ns", "resident_allocs_amortised", "raw_ristretto_bytes_per_op", "raw_ristretto_allocs_amortised",
	}, fieldsOf(r))
	assert.EqualValues(t, 1, r["cpus"])
	assert.EqualValues(t, 1, r["beside"])
	assert.EqualValues(t, 0, r["allocs_per_op"])
}

func TestOverheadPrintsOneJSONObjectWithTheFieldsOfTheContract(t *testing.T) {
	assert.ElementsMatch(t, []string{
		"passthrough_ns", "step_ns", "step_allocs", "step_vs_skeleton",
		"skeleton_ns", "skeleton_allocs", "direct_ns", "passthrough_allocs", "aa", "rounds",
		"policy_ns", "policy_allocs", "page_policy_us", "policy_aa",
	}, fieldsOf(printed(t, "overhead", "-rounds", "1")))
}

func TestScalePrintsOneJSONObjectWithTheFieldsOfTheContract(t *testing.T) {
	r := printed(t, "scale", "-rounds", "1", "-sessions", "3, 6")
	assert.ElementsMatch(t, []string{"points", "growth", "rounds"}, fieldsOf(r))
	points, ok := r["points"].([]any)
	require.True(t, ok)
	require.Len(t, points, 2)
	for i, n := range []float64{3, 6} {
		point, ok := points[i].(map[string]any)
		require.True(t, ok)
		assert.ElementsMatch(t, []string{"sessions", "ns_per_step", "bytes_per_idle_session", "goroutines"}, fieldsOf(point))
		assert.InDelta(t, n, point["sessions"], 0)
	}
}

func TestHitRatioPrintsOneJSONObjectWithARowForEachTraceAndSize(t *testing.T) {
	r := printed(t, "hitratio", "-requests", "200", "-seeds", "1", "-entries", "20")
	assert.ElementsMatch(t, []string{
		"rows", "worst_vs_ristretto", "worst_vs_otter", "requests", "seeds", "entry_bytes",
	}, fieldsOf(r))
	rows, ok := r["rows"].([]any)
	require.True(t, ok)
	require.NotEmpty(t, rows)
	row, ok := rows[0].(map[string]any)
	require.True(t, ok)
	assert.ElementsMatch(t, []string{"trace", "capacity", "speccache", "ristretto", "otter", "lru"}, fieldsOf(row))
}

func TestTheMeasurementsPrintTables(t *testing.T) {
	for text, args := range map[string][]string{
		"A/A":                  {"lookup", "-rounds", "1"},
		"step / skeleton":      {"overhead", "-rounds", "1"},
		"growth, last / first": {"scale", "-rounds", "1", "-sessions", "2"},
		"lead over ristretto":  {"hitratio", "-requests", "200", "-seeds", "1", "-entries", "20"},
	} {
		code, stdout, stderr := call(t, args...)
		assert.Zero(t, code, stderr)
		assert.Contains(t, stdout, text)
	}
}

func TestAWrongCallOfAMeasurementEndsWithStatus2AndSaysWhy(t *testing.T) {
	for why, args := range map[string][]string{
		"-cpu 3: want 1 or 2":         {"lookup", "-cpu", "3"},
		"-rounds 0: want":             {"overhead", "-rounds", "0"},
		"want whole numbers above 0":  {"scale", "-sessions", "100,x"},
		"-sessions: want whole":       {"scale", "-sessions", ""},
		"-entries: want whole":        {"hitratio", "-entries", "0"},
		"entries of 100 bytes":        {"hitratio", "-size", "100"},
		"0 requests":                  {"hitratio", "-requests", "0"},
		"unexpected argument \"x\"":   {"lookup", "x"},
		"flag provided but not defin": {"scale", "-cpu", "1"},
	} {
		code, stdout, stderr := call(t, args...)
		assert.Equal(t, 2, code, why)
		assert.Empty(t, stdout, why)
		assert.Contains(t, stderr, why)
		assert.Contains(t, stderr, "\nrun \"go run ./bench "+args[0]+" -h\"", why)
	}
}

func TestTheMeasurementsHaveHelp(t *testing.T) {
	for _, name := range []string{"lookup", "overhead", "scale", "hitratio"} {
		code, stdout, stderr := call(t, name, "-h")
		assert.Zero(t, code, name)
		assert.Empty(t, stderr, name)
		assert.Contains(t, stdout, "usage: go run ./bench "+name)
		assert.Contains(t, stdout, "-json")
	}
}
