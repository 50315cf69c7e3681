package suites_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shared returns the folder of the suites, or skips the test where there is
// none; CI has to have it.
func shared(t *testing.T) string {
	t.Helper()
	root := os.Getenv("SPECCACHE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared")
	}
	dir := filepath.Join(root, "suites")
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("shared data is missing: %v; set SPECCACHE_SHARED to its folder", err)
		}
		t.Skipf("no shared data: %v; set SPECCACHE_SHARED to its folder", err)
	}
	return dir
}

// write writes a file of a suite.
func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}
