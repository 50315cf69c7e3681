package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/speccache/speccache-go/bench/internal/replay"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// call runs the command.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

var (
	reportFields = []string{
		"items", "steps", "resident_steps", "seeds", "scale", "profile", "draft", "topn", "depth",
		"accuracy_at_n", "accuracy_low", "accuracy_high", "arms", "saved_seconds", "bound_seconds",
		"efficiency", "lost", "env_reduction", "env_reduction_vs_cache", "speedup", "speedup_limit",
		"overhead_ms_per_fetch", "draft_calls", "draft_tokens", "server_capacity",
	}
	armFields = []string{
		"wall_seconds", "env_seconds", "first_page_seconds", "lookups", "hits", "joins", "misses",
		"ahead", "hit_rate", "ready_rate", "hidden_seconds", "speculated", "used", "wasted",
		"wasted_bytes", "requests", "wrong_observations",
	}
)

func TestReplayPrintsOneJSONObjectWithTheFieldsOfTheContract(t *testing.T) {
	code, stdout, stderr := call(t, "replay", "-profile", "none", "-draft", "oracle:0.833", "-seeds", "2", "-json")
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr)
	var report map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	assert.ElementsMatch(t, reportFields, slices.Collect(maps.Keys(report)))
	for field, want := range map[string]any{
		"items": 6.0, "steps": 38.0, "seeds": 2.0, "scale": 1.0, "profile": "none",
		"draft": "oracle:0.833", "topn": 3.0, "depth": 1.0,
	} {
		assert.Equal(t, want, report[field], field)
	}
	arms, ok := report["arms"].(map[string]any)
	require.True(t, ok)
	require.Len(t, arms, 3)
	for name, arm := range arms {
		fields, ok := arm.(map[string]any)
		require.True(t, ok)
		assert.ElementsMatch(t, armFields, slices.Collect(maps.Keys(fields)), name)
		assert.EqualValues(t, 0, fields["wrong_observations"], name)
	}
}

func TestReplayPrintsATableThatSaysWhatIsRealAndWhereItDidNotHelp(t *testing.T) {
	code, stdout, _ := call(t, "replay", "-profile", "none", "-arms", "off,spec")
	require.Zero(t, code)
	for _, text := range []string{"real: HTTP", "Composed", "env_reduction", "speedup", "did not help", "wasted", "wrong guess"} {
		assert.Contains(t, stdout, text)
	}
	assert.NotContains(t, stdout, "\ncache ", "that arm did not run")
}

func TestACallThatIsWrongEndsWithStatus2AndSaysWhy(t *testing.T) {
	for why, args := range map[string][]string{
		"no command":                   {},
		"unknown command":              {"replya"},
		"-nope":                        {"replay", "-nope"},
		"unexpected":                   {"replay", "lexical"},
		"only depth 1":                 {"replay", "-depth", "2"},
		"oracle:1.5":                   {"replay", "-draft", "oracle:1.5"},
		"paper, slow-draft":            {"replay", "-profile", "fast"},
		"off, cache, spec or heedless": {"replay", "-arms", "on"},
		"above 0":                      {"replay", "-scale", "-1"},
		"allowed is":                   {"replay", "-scale", "0.0001"},
		"weight":                       {"replay", "-ranks", "1,x"},
		"topn 0":                       {"replay", "-topn", "0"},
		"seeds 0":                      {"replay", "-seeds", "0"},
		"belong together":              {"replay", "-items", "x.jsonl"},
		"server capacity -1":           {"replay", "-server-capacity", "-1"},
	} {
		code, stdout, stderr := call(t, args...)
		assert.Equal(t, 2, code, why)
		assert.Empty(t, stdout, why)
		assert.Contains(t, stderr, why)
		if len(args) > 1 {
			assert.Contains(t, stderr, "\nrun \"go run ./bench replay -h\"", why)
		}
	}
}

func TestALongRunSaysFirstHowLongItTakes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	errs := interrupt{cancel: cancel}
	code := run(ctx, []string{"replay", "-seeds", "500"}, io.Discard, &errs)
	assert.Equal(t, 1, code)
	assert.Regexp(t, `^replay: 6 items, 500 seeds, 9500 clicks in all: this takes about \d+`, errs.String())
}

// interrupt is a writer that ends a run with the first line that it is told.
type interrupt struct {
	bytes.Buffer
	cancel func()
}

func (w *interrupt) Write(line []byte) (int, error) {
	w.cancel()
	return w.Buffer.Write(line)
}

func TestAReplayThatFailsEndsWithStatus1AndSaysWhy(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	bad := write("bad.jsonl", "{\"Question\":\"q\",\"root_url\":7}\n")
	good := write("good.jsonl", `{"Question":"q","root_url":"https://a.example/","golden_path":["root->A"]}`)
	for why, args := range map[string][]string{
		"missing.jsonl": {"-items", filepath.Join(dir, "missing.jsonl"), "-sites", dir},
		"line 1: field": {"-items", bad, "-sites", dir},
		"nosuchfolder":  {"-items", good, "-sites", filepath.Join(dir, "nosuchfolder")},
		"a.example":     {"-items", good, "-sites", dir},
		"is no folder":  {"-items", good, "-sites", good},
	} {
		code, _, stderr := call(t, append([]string{"replay"}, args...)...)
		assert.Equal(t, 1, code, why)
		assert.Contains(t, stderr, why)
	}
}

func TestHelpIsNoError(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"-h"}, {"replay", "-h"}} {
		code, stdout, stderr := call(t, args...)
		assert.Zero(t, code)
		assert.Contains(t, stdout, "usage")
		assert.NotContains(t, stdout, "-draft P")
		assert.Empty(t, stderr)
	}
}

// BenchmarkReplay walks a part of the built-in items with the paper's times,
// at the smallest scale that this machine allows. The times per operation say
// nothing: the metrics do.
func BenchmarkReplay(b *testing.B) {
	for _, name := range []string{"oracle:0.833", "lexical"} {
		b.Run(name, func(b *testing.B) {
			cfg := replay.DefaultConfig()
			cfg.Seeds, cfg.Steps = 4, 5
			var err error
			cfg.Draft, err = replay.ParseDraft(name)
			require.NoError(b, err)
			var r *replay.Report
			for b.Loop() {
				r, err = replay.Run(b.Context(), cfg)
				require.NoError(b, err)
			}
			report(b, r)
		})
	}
}

func report(b *testing.B, r *replay.Report) {
	spec := r.Arms[replay.Spec]
	for unit, n := range map[string]replay.Number{
		"hit_rate": spec.HitRate, "accuracy": r.AccuracyAtN,
		"env_reduction": r.EnvReduction, "env_reduction_vs_cache": r.EnvReductionVsCache,
		"efficiency": r.Efficiency, "saved_s": r.SavedSeconds, "speedup": r.Speedup,
		"lost": replay.Number(r.Lost), "wrong_observations": replay.Number(spec.WrongObservations),
	} {
		b.ReportMetric(float64(n), unit)
	}
}
