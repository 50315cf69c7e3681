package actions_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parse makes an action called "a" from JSON text that has to be good.
func parse(t testing.TB, args string) actions.Action {
	t.Helper()
	a, err := actions.Parse("a", args)
	require.NoError(t, err, "%.200q", args)
	return a
}

// refused asserts that an error is an InvalidError with a problem.
func refused(t testing.TB, want actions.Problem, err error, what ...any) {
	t.Helper()
	var invalid *actions.InvalidError
	if assert.ErrorAs(t, err, &invalid, what...) {
		assert.Equal(t, want, invalid.Problem, "%v: %v", what, err)
		assert.ErrorContains(t, err, "actions: ")
	}
}

// shared returns a file or folder of the shared data, or skips the test where
// there is none; CI has to have it.
func shared(t testing.TB, path ...string) string {
	t.Helper()
	root := os.Getenv("SPECCACHE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	name := filepath.Join(append([]string{root}, path...)...)
	if _, err := os.Stat(name); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("shared data is missing: %v; set SPECCACHE_SHARED to its folder", err)
		}
		t.Skipf("no shared data: %v; set SPECCACHE_SHARED to its folder", err)
	}
	return name
}

// folder returns the files of a shared folder by name.
func folder(t testing.TB, path ...string) map[string]string {
	t.Helper()
	dir := shared(t, path...)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	files := make(map[string]string)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		files[e.Name()] = string(data)
	}
	require.NotEmpty(t, files)
	return files
}
