package repo_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// block returns the README's first code block in a language that holds a text.
func block(t *testing.T, language, holds string) string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	require.NoError(t, err)
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(readme, -1) {
		if bytes.Contains(m[1], []byte(holds)) {
			return string(m[1])
		}
	}
	require.Fail(t, "the README has no such block", "%s with %q", language, holds)
	return ""
}

func TestTheProgramOfTheREADMERunsInAScratchModuleAndHits(t *testing.T) {
	scratch := t.TempDir()
	program := block(t, "go", "package main")
	require.NoError(t, os.WriteFile(filepath.Join(scratch, "main.go"), []byte(program), 0o666))
	// Known sums spare a question to the network.
	sums, err := os.ReadFile(filepath.Join(root(t), "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(scratch, "go.sum"), sums, 0o666))

	var out string
	for line := range strings.Lines(block(t, "sh", "go mod init")) {
		line = strings.Replace(line, "=../speccache-go", "="+root(t), 1)
		out = command(t, scratch, strings.Fields(line)...)
	}
	assert.Contains(t, out, ": miss, waited ", "the first page has to be fetched")
	assert.Regexp(t, `: hit, waited \d+.*, hidden [1-9]`, out)
	assert.NotContains(t, out, "joins, 3 misses")
}

// command runs a program of the README as on a user's machine: outside of the
// workspace. Modules come from the module cache as far as they are there.
func command(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cache := strings.TrimSpace(goEnv(t, "GOMODCACHE"))
	proxy := "file://" + filepath.ToSlash(filepath.Join(cache, "cache", "download")) + "," + strings.TrimSpace(goEnv(t, "GOPROXY"))
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOPROXY="+proxy)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s%s", strings.Join(args, " "), out, stderr.String())
	return string(out)
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	require.NoError(t, err)
	return string(out)
}

func TestTheREADMENamesTheCommandsThatCIRuns(t *testing.T) {
	ci, err := os.ReadFile(filepath.Join(root(t), ".ci", "run"))
	require.NoError(t, err)
	for _, line := range []string{"go run ./examples/quickstart", "go test work"} {
		assert.Contains(t, block(t, "sh", line), line)
		assert.Contains(t, string(ci), line)
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

func TestLinksBetweenFilesLeadSomewhere(t *testing.T) {
	walk(t, func(file string) {
		if filepath.Ext(file) != ".md" {
			return
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range link.FindAllSubmatch(text, -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(file), filepath.FromSlash(string(m[1]))))
			assert.NoError(t, err, "%s links to %s", filepath.Base(file), m[1])
		}
	})
}
