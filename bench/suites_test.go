package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSuitesSayWhatFailedAndExitSo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cases.jsonl")
	for _, c := range []struct {
		rows   string
		code   int
		report string
	}{
		{`{"kind": "ip", "value": "10.0.0.1", "expect": "deny"}`, 0, `{"suites":[{"name":"ssrf","passed":1,"total":1,"failed":[],"notes":[]}]}`},
		{
			`{"kind": "ip", "value": "10.0.0.1", "expect": "allow"}`, 1,
			`{"suites":[{"name":"ssrf","passed":0,"total":1,"failed":["line 1, ip 10.0.0.1: got deny, want allow"],"notes":[]}]}`,
		},
	} {
		require.NoError(t, os.WriteFile(file, []byte(c.rows), 0o666))
		var stdout, stderr strings.Builder
		code := run(t.Context(), []string{"suites", "-suite", "ssrf", "-file", file, "-json"}, &stdout, &stderr)
		assert.Equal(t, c.code, code, stderr.String())
		assert.JSONEq(t, c.report, stdout.String())
		assert.Equal(t, c.code == 1, strings.Contains(stderr.String(), "suites: 1 of 1 rows failed"))
	}
}

func TestSuitesCalledWronglyExitWith2(t *testing.T) {
	for _, args := range [][]string{{"-suite", "nothing"}, {"-file", "cases.jsonl"}, {"-nothing"}, {"ssrf"}} {
		var stdout, stderr strings.Builder
		assert.Equal(t, 2, run(t.Context(), append([]string{"suites"}, args...), &stdout, &stderr), args)
		assert.Contains(t, stderr.String(), "bench suites -h")
		assert.Empty(t, stdout.String())
	}
	var stdout, stderr strings.Builder
	assert.Equal(t, 1, run(t.Context(), []string{"suites", "-dir", t.TempDir()}, &stdout, &stderr), "there is nothing to read")
	assert.Equal(t, 0, run(t.Context(), []string{"suites", "-h"}, &stdout, &stderr))
}
