package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noEnv(string) string { return "" }

// fast is the quickstart at a tenth of its usual times.
func fast() options {
	return options{
		think: defaultThink / 10,
		delay: func(path string) time.Duration { return pageDelay(path) / 10 },
	}
}

func TestTheStoryIsPlainTextAndTellsEveryStep(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, quickstart(t.Context(), fast(), &out))
	text := out.String()
	assert.NotContains(t, text, "\x1b", "no colours without a terminal")
	for _, q := range questions {
		assert.Equal(t, 2, strings.Count(text, q), q)
	}
	assert.Equal(t, 2*len(questions), strings.Count(text, "\n   = "), "an answer to each question, twice")
	assert.Contains(t, text, "Side by side")
	assert.Regexp(t, `(?m)^   question \d: /\S+\.html`, text, "what was wasted, and for which question")
	assert.Equal(t, 2, strings.Count(text, "the same"))
}

func TestJSONHasExactlyTheDocumentedFields(t *testing.T) {
	var out bytes.Buffer
	opts := fast()
	opts.json = true
	require.NoError(t, quickstart(t.Context(), opts, &out))
	var r map[string]any
	d := json.NewDecoder(&out)
	require.NoError(t, d.Decode(&r))
	assert.False(t, d.More(), "one object")
	assert.ElementsMatch(t, []string{"off", "spec", "same_answers", "same_observations"}, keys(r))
	require.IsType(t, map[string]any{}, r["off"])
	require.IsType(t, map[string]any{}, r["spec"])
	off, spec := r["off"].(map[string]any), r["spec"].(map[string]any)
	assert.ElementsMatch(t, []string{"wait_seconds"}, keys(off))
	assert.ElementsMatch(t, []string{"hits", "joins", "misses", "wait_seconds", "hidden_seconds"}, keys(spec))
	assert.Equal(t, true, r["same_answers"])
	assert.Equal(t, true, r["same_observations"])
	assert.Positive(t, spec["hits"].(float64)+spec["joins"].(float64))
	assert.Positive(t, spec["hidden_seconds"])
}

func keys(m map[string]any) []string { return slices.Collect(maps.Keys(m)) }

func TestBadFlagsExitWithTwoAndSayWhy(t *testing.T) {
	for args, want := range map[string]string{
		"-nonsense":    "-nonsense",
		"-think=fast":  "fast",
		"-think=-1s":   "-think is -1s",
		"everything":   `unexpected argument "everything"`,
		"-draft=tiny":  "set OPENAI_API_KEY",
		"-json -serve": "-json and -serve exclude each other",
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, exitUsage, run(t.Context(), strings.Fields(args), noEnv, &stdout, &stderr), args)
		assert.Empty(t, stdout.String(), args)
		assert.Contains(t, stderr.String(), want, args)
	}
}

func TestHelpExitsWithZero(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Equal(t, exitOK, run(t.Context(), []string{"-h"}, noEnv, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "-serve")
}

func TestAnInterruptEndsTheRunAndTheServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	assert.Equal(t, exitInterrupted, run(ctx, nil, noEnv, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "interrupted")
	assert.Equal(t, exitOK, run(ctx, []string{"-serve"}, noEnv, &stdout, &stderr))
	assert.Contains(t, stdout.String(), "http://127.0.0.1:")
}
