package web_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var recordedHosts = []string{"2023.aclweb.org", "2024.aclweb.org"}

// recorded serves the recorded sites under their own names.
func recorded(t testing.TB) *web.Fetcher {
	t.Helper()
	sites := shared(t, "data", "webwalkerqa", "sites")
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serveRecorded(w, r, filepath.Join(sites, filepath.Clean("/"+r.Host)))
	}))
	t.Cleanup(srv.Close)
	pool := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, srv.Listener.Addr().String())
		},
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, // the names are other people's
		MaxIdleConnsPerHost: 4,
	}
	t.Cleanup(pool.CloseIdleConnections)
	return web.New(web.Config{Transport: pool})
}

// serveRecorded follows the rule in the data's README: P/index.html, P.html,
// P, and a redirect to P/ for the first.
func serveRecorded(w http.ResponseWriter, r *http.Request, site string) {
	name := filepath.Join(site, filepath.Clean("/"+r.URL.Path))
	if data, err := os.ReadFile(filepath.Join(name, "index.html")); err == nil {
		if !strings.HasSuffix(r.URL.Path, "/") {
			http.Redirect(w, r, r.URL.EscapedPath()+"/", http.StatusMovedPermanently)
			return
		}
		writeHTML(w, string(data))
		return
	}
	for _, name := range []string{name + ".html", name} {
		if data, err := os.ReadFile(name); err == nil {
			writeHTML(w, string(data))
			return
		}
	}
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusNotFound)
	data, _ := os.ReadFile(filepath.Join(site, "404.html"))
	_, _ = w.Write(data)
}

type item struct {
	RootURL    string   `json:"root_url"`
	GoldenPath []string `json:"golden_path"`
	Ends       []string `json:"source_website"`
}

func items(t *testing.T, file string) (list []item) {
	t.Helper()
	f, err := os.Open(shared(t, "data", "webwalkerqa", file))
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var it item
		require.NoError(t, json.Unmarshal(lines.Bytes(), &it))
		list = append(list, it)
	}
	require.NoError(t, lines.Err())
	return list
}

func TestEveryRecordedPathIsWalkedClickByClickToItsEnd(t *testing.T) {
	f := recorded(t)
	for file, paths := range map[string]int{"items.jsonl": 12, "items-long.jsonl": 60} {
		walked, clicks := 0, 0
		for _, it := range items(t, file) {
			for i, path := range it.GoldenPath {
				walked++
				clicks += walk(t, f, it.RootURL, path, it.Ends[i])
			}
		}
		assert.Equal(t, paths, walked, file)
		t.Logf("%s: %d paths, %d clicks", file, walked, clicks)
	}
}

// walk follows a path as a session would, and checks that a draft that
// guessed each click would have been allowed to run it ahead.
func walk(t *testing.T, f *web.Fetcher, root, path, end string) (clicks int) {
	t.Helper()
	env := f.Environment()
	page, err := f.Do(t.Context(), visit(t, root))
	require.NoError(t, err)
	s := actions.State[*web.Page]{Steps: []actions.Step[*web.Page]{{Observation: page}}}
	for _, label := range strings.Split(path, "->")[1:] {
		a, err := env.Resolve(s, click(t, label))
		if !assert.NoError(t, err, "%s: %s", root, path) {
			return clicks
		}
		assert.NoError(t, env.Policy(s, a), path)
		page, err = f.Do(t.Context(), a)
		if !assert.NoError(t, err, path) {
			return clicks
		}
		assert.NotEmpty(t, page.Title(), page.URL())
		assert.NotEmpty(t, page.Markdown(), page.URL())
		s.Steps = append(s.Steps, actions.Step[*web.Page]{Action: a, Observation: page})
		clicks++
	}
	want, err := url.Parse(end)
	require.NoError(t, err)
	assert.Equal(t, want.Host+strings.TrimSuffix(want.Path, "/"), bare(t, page.URL()), path)
	return clicks
}

func bare(t *testing.T, canonical string) string {
	u, err := url.Parse(canonical)
	require.NoError(t, err)
	return u.Host + strings.TrimSuffix(u.Path, "/")
}

// recordedPages calls each with the URL and markup of all recorded pages.
func recordedPages(t testing.TB, each func(url, html string)) {
	t.Helper()
	for _, host := range recordedHosts {
		site := shared(t, "data", "webwalkerqa", "sites", host)
		require.NoError(t, filepath.WalkDir(site, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(name) != ".html" {
				return err
			}
			data, err := os.ReadFile(name)
			rel, _ := filepath.Rel(site, name)
			each("https://"+host+"/"+filepath.ToSlash(strings.TrimSuffix(rel, "index.html")), string(data))
			return err
		}))
	}
}

func TestARecordedPageHasATitleATextAndChoicesThatMostlyMayRunAhead(t *testing.T) {
	pages, choices, refused := 0, 0, map[string]int{}
	recordedPages(t, func(url, html string) {
		p := parse(t, url, html)
		pages++
		v := p.View()
		assert.NotEmpty(t, v.Title, url)
		assert.NotEmpty(t, v.Text, url)
		s := actions.State[*web.Page]{Steps: []actions.Step[*web.Page]{{Observation: p}}}
		env := web.New(web.Config{}).Environment()
		for _, c := range v.Choices {
			choices++
			if err := env.Policy(s, c.Action); err != nil {
				var e *web.PolicyError
				require.ErrorAs(t, err, &e)
				refused[e.Rule]++
				if e.Rule == "action-like" {
					t.Log(url, err)
				}
			}
		}
	})
	assert.Equal(t, 94, pages)
	assert.Zero(t, refused["provenance"])
	assert.Zero(t, refused["scheme"])
	t.Logf("%d choices, refused: %v", choices, refused)
}
