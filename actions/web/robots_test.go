package web_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pathOf returns what rules are asked about: path and query of a URL.
func pathOf(url string) string {
	_, rest, found := strings.Cut(url, "://")
	if !found {
		rest = url
	}
	rest, _, _ = strings.Cut(rest, "#")
	if i := strings.IndexAny(rest, "/?;"); i >= 0 {
		return "/" + strings.TrimPrefix(rest[i:], "/")
	}
	return "/"
}

func TestRobotsRulesAreReadAsRFC9309Says(t *testing.T) {
	text, err := os.ReadFile(shared(t, "suites", "robotstxt", "cases.json"))
	require.NoError(t, err)
	var cases []struct {
		Test, Robots, Agent, URL string
		Allowed                  bool
		GoogleOnly               bool `json:"google_only"`
	}
	require.NoError(t, json.Unmarshal(text, &cases))
	held, all := map[bool]int{}, map[bool]int{}
	for _, c := range cases {
		all[c.GoogleOnly]++
		got := web.RobotsAllow(c.Robots, c.Agent, pathOf(c.URL))
		if got == c.Allowed {
			held[c.GoogleOnly]++
		} else if !c.GoogleOnly {
			assert.Equal(t, c.Allowed, got, "%s: %s asks for %s: %q", c.Test, c.Agent, c.URL, c.Robots)
		} else {
			t.Logf("Google alone: %s: %s asks for %s: %q", c.Test, c.Agent, c.URL, c.Robots)
		}
	}
	assert.Equal(t, 72, all[false])
	assert.Equal(t, 72, held[false])
	t.Logf("RFC 9309: %d of %d; Google's own: %d of %d", held[false], all[false], held[true], all[true])
}

func TestTheOddLinesOfARobotsFile(t *testing.T) {
	for _, c := range []struct {
		robots, path string
		allowed      bool
	}{
		{"", "/x", true},
		{"User-agent: *\nDisallow: /x", "/robots.txt", true},
		{"\uFEFFUser-agent: *\rDisallow: /x\r\nDisallow: /y", "/y", false},
		{"User-agent: *\nDisallow: /x # why\n", "/x/y", false},
		{"User-agent: SpecCache/2.0\nDisallow: /x", "/x", false},
		{"User-agent: speccachebot\nDisallow: /x", "/x", true},
		{"User-agent: *\nDisallow: /\n\nUser-agent: speccache\nDisallow:\n", "/x", true},
		{"User-agent: speccache\nSitemap: /s\nUser-agent: other\nDisallow: /x", "/x", false},
		{"User-agent: *\nDisallow: /a*b$", "/a/x/b", false},
		{"User-agent: *\nDisallow: /a*b$", "/a/b/c", true},
		{"User-agent: *\nDisallow: /a*b*b$", "/ab", true},
		{"User-agent: *\nDisallow: /a$b", "/a", true},
		{"User-agent: *\nDisallow: /*?q=", "/s?q=1", false},
		{"User-agent: *\nDisallow: /%c3%a9", "/%C3%A9", false},
		{"User-agent: *\nDisallow: /é", "/%c3%a9", false},
		{"User-agent: *\nDisallow: /secret", "/%73ecret", false},
		{"User-agent: *\nDisallow: /%73ecret", "/secret", false},
		{"User-agent: *\nDisallow: /%73ecret/$", "/s%65cret/", false},
		{"User-agent: *\nDisallow: /a%2Fb", "/a/b", true},
		{"User-agent: *\nDisallow: /a/b", "/a%2fb", true},
		{"User-agent: *\nDisallow: /\nAllow: /%61", "/%61", true},
		{"User-agent: *\nDisallow: /x\nAllow: /x", "/x", true},
		{"User-agent: *\nAllow: /x\nDisallow: /x/y", "/x/y/z", false},
		{"User-agent: *\nDisallow: /other", "/" + strings.Repeat("a", 2<<10), false},
		{"<html>User-agent: *<br>Disallow: /</html>", "/x", true},
	} {
		assert.Equal(t, c.allowed, web.RobotsAllow(c.robots, "speccache", c.path), "%q: %.40s", c.robots, c.path)
	}
	for agent, want := range map[string]string{
		"speccache/0 (+https://x)": "speccache", "My-Bot_x 1": "My-Bot_x", "": "", "/1": "", "Mozilla/5.0 (compatible)": "Mozilla",
	} {
		assert.Equal(t, want, web.Product(agent), agent)
	}
}

func TestTheWorstRobotsFileIsReadAndAskedSoon(t *testing.T) {
	path := "/" + strings.Repeat("a", 2<<10-1)
	for name, line := range map[string]string{"stars": "allow:*a*b\n", "agents": "user-agent:*\n", "one pattern": "a*", "escapes": "allow:%61*b%62*c\n"} {
		text := "user-agent:*\ndisallow:/" + strings.Repeat(line, 500<<10/len(line))
		began := time.Now()
		web.RobotsAllow(text, "speccache", path)
		took := time.Since(began)
		t.Logf("%s: %v", name, took)
		assert.Less(t, took, 2*time.Second, name)
	}
}

func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /x*y$\n", "speccache", "/xzy")
	f.Add("\uFEFFuser-agent speccache\rallow: /%aA\r\ndisallow: *", "speccache", "/%AA")
	f.Fuzz(func(t *testing.T, text, product, path string) {
		allowed := web.RobotsAllow(text, product, path)
		assert.True(t, allowed || path != "/robots.txt")
		assert.Equal(t, allowed, web.RobotsAllow(text+"\n# the end\n", product, path), "a comment")
		assert.True(t, web.RobotsAllow("", product, path))
		if len(path) <= 2<<10 && path != "/robots.txt" {
			assert.False(t, web.RobotsAllow("user-agent: *\ndisallow: *\n", product, path))
		}
	})
}
