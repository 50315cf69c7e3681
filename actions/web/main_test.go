package web_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/metrics"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server and a fetcher that knows nothing of it, and asks for
// what it is told to alone.
func serve(t testing.TB, h http.HandlerFunc) (*web.Fetcher, string) {
	t.Helper()
	return serveWith(t, web.Config{IgnoreRobots: true}, h)
}

func serveWith(t testing.TB, cfg web.Config, h http.HandlerFunc) (*web.Fetcher, string) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	cfg.Guard.Allow = web.Loopback()
	f := web.New(cfg)
	t.Cleanup(f.Close) // first, for the server waits for idle connections
	return f, srv.URL
}

func writeHTML(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(body))
}

func visit(t testing.TB, url string) actions.Action {
	t.Helper()
	a, err := web.Visit(url)
	require.NoError(t, err)
	return a
}

func click(t testing.TB, label string) actions.Action {
	t.Helper()
	a, err := web.Click(label)
	require.NoError(t, err)
	return a
}

func parse(t testing.TB, url, html string) *web.Page {
	t.Helper()
	p, err := web.Parse(url, html)
	require.NoError(t, err)
	return p
}

// shared returns a file or folder of the shared data, or skips the test where
// there is none. In CI there must be.
func shared(t testing.TB, path ...string) string {
	t.Helper()
	root := os.Getenv("SPECCACHE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
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

// allocated returns the bytes that the process has allocated so far.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
