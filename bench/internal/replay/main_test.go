package replay

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sharedItems reads items of the shared data. Where that is not to be had the
// test is skipped, but never in CI.
func sharedItems(t *testing.T, file string) Config {
	t.Helper()
	shared := os.Getenv("SPECCACHE_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "..", "shared")
	}
	dir := filepath.Join(shared, "data", "webwalkerqa")
	f, err := os.Open(filepath.Join(dir, file))
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI needs the shared data: %v", err)
		}
		t.Skipf("no shared data (set SPECCACHE_SHARED): %v", err)
	}
	defer f.Close()
	cfg := instantly()
	cfg.Items, err = ReadItems(f)
	require.NoError(t, err)
	cfg.Sites = os.DirFS(filepath.Join(dir, "sites"))
	return cfg
}

// instantly is a replay without waits.
func instantly() Config {
	cfg := DefaultConfig()
	cfg.Profile = None
	return cfg
}

// oracle is a draft that is right with probability p.
func oracle(p float64) Draft { return Draft{kind: "oracle", p: p} }
