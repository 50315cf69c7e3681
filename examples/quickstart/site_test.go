package main

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// pageNames returns the site's pages, as paths without a slash before them.
func pageNames(t *testing.T) (names []string) {
	site, err := fs.Sub(files, "site")
	require.NoError(t, err)
	require.NoError(t, fs.WalkDir(site, ".", func(name string, d fs.DirEntry, err error) error {
		if path.Ext(name) == ".html" {
			names = append(names, name)
		}
		return err
	}))
	return names
}

func parsePage(t *testing.T, name string) *html.Node {
	f, err := files.Open("site/" + name)
	require.NoError(t, err)
	defer f.Close()
	doc, err := html.Parse(f)
	require.NoError(t, err)
	return doc
}

// all returns the elements with a tag below n, in reading order.
func all(n *html.Node, tag string) (found []*html.Node) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == tag {
			found = append(found, d)
		}
	}
	return found
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// linksOf returns where a page's elements lead, as names of files in the site,
// and the fragments.
func linksOf(t *testing.T, name string, root *html.Node) (to [][2]string) {
	base := &url.URL{Path: "/" + name}
	for _, a := range append(all(root, "a"), all(root, "link")...) {
		href := attribute(a, "href")
		u, err := base.Parse(href)
		require.NoError(t, err, "%s: %s", name, href)
		if u.Scheme != "" {
			continue
		}
		assert.False(t, strings.HasPrefix(href, "/"), "%s: %s is not relative", name, href)
		to = append(to, [2]string{strings.TrimPrefix(u.Path, "/"), u.Fragment})
	}
	return to
}

func TestEveryInternalLinkLeadsSomewhere(t *testing.T) {
	for _, name := range pageNames(t) {
		for _, to := range linksOf(t, name, parsePage(t, name)) {
			_, err := fs.Stat(files, "site/"+to[0])
			require.NoError(t, err, "%s links to %s", name, to[0])
			if to[1] != "" {
				assert.True(t, hasID(parsePage(t, to[0]), to[1]), "%s links to %s#%s", name, to[0], to[1])
			}
		}
	}
}

func hasID(doc *html.Node, id string) bool {
	for d := range doc.Descendants() {
		if attribute(d, "id") == id {
			return true
		}
	}
	return false
}

func TestEveryPageIsWithinThreeClicksOfHome(t *testing.T) {
	near := map[string]bool{"index.html": true}
	for range 3 {
		for name := range near {
			for _, to := range linksOf(t, name, parsePage(t, name)) {
				if path.Ext(to[0]) == ".html" {
					near[to[0]] = true
				}
			}
		}
	}
	for _, name := range pageNames(t) {
		assert.True(t, near[name], name)
	}
}

func TestEveryPageHasOneTitleOneHeadingAndAMain(t *testing.T) {
	titles := map[string]string{}
	for _, name := range pageNames(t) {
		doc := parsePage(t, name)
		for _, tag := range []string{"title", "h1", "main", "nav"} {
			require.Len(t, all(doc, tag), 1, "%s: <%s>", name, tag)
		}
		title := text(all(doc, "title")[0])
		assert.NotEmpty(t, title, name)
		assert.Empty(t, titles[title], "%s has the title of another page", name)
		titles[title] = name
		assert.Len(t, all(all(doc, "main")[0], "h1"), 1, "%s: the heading is in <main>", name)
		assert.Empty(t, all(doc, "script"), "%s: it reads without scripts", name)
		assert.Equal(t, "en", attribute(all(doc, "html")[0], "lang"), name)
	}
}

func TestEveryPageHasTheSameNavigation(t *testing.T) {
	want := linksOf(t, "index.html", all(parsePage(t, "index.html"), "nav")[0])
	for _, name := range pageNames(t) {
		assert.Equal(t, want, linksOf(t, name, all(parsePage(t, name), "nav")[0]), name)
	}
}

func TestTheMarkupIsBalanced(t *testing.T) {
	for _, name := range pageNames(t) {
		raw, err := fs.ReadFile(files, "site/"+name)
		require.NoError(t, err)
		assert.Empty(t, unbalanced(string(raw)), name)
	}
}

// unbalanced returns the first tag that is not closed where it should be, for
// browsers would guess what was meant.
func unbalanced(doc string) string {
	var open []string
	void := map[string]bool{"meta": true, "link": true}
	z := html.NewTokenizer(strings.NewReader(doc))
	for {
		switch t := z.Next(); t {
		case html.ErrorToken:
			return strings.Join(open, " ")
		case html.StartTagToken:
			if name, _ := z.TagName(); !void[string(name)] {
				open = append(open, string(name))
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				return "</" + string(name) + ">"
			}
			open = open[:len(open)-1]
		}
	}
}

func TestTheSiteAnswersLikeAWebSite(t *testing.T) {
	s := &site{delay: noDelay}
	for target, want := range map[string]struct {
		code int
		kind string
	}{
		"/":                  {http.StatusFound, ""},
		"/index.html":        {http.StatusOK, "text/html; charset=utf-8"},
		"/guides/index.html": {http.StatusOK, "text/html; charset=utf-8"},
		"/style.css":         {http.StatusOK, "text/css; charset=utf-8"},
		"/nothing.html":      {http.StatusNotFound, "text/html; charset=utf-8"},
		"/guides":            {http.StatusNotFound, ""},
		"/../main.go":        {http.StatusNotFound, ""},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		assert.Equal(t, want.code, w.Code, target)
		if want.kind != "" {
			assert.Equal(t, want.kind, w.Header().Get("Content-Type"), target)
		}
	}
}

func TestAPageThatIsNotThereLinksHome(t *testing.T) {
	w := httptest.NewRecorder()
	(&site{delay: noDelay}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/guides/nothing.html", nil))
	assert.Equal(t, http.StatusNotFound, w.Code)
	body := w.Body.String()
	assert.Empty(t, unbalanced(body))
	doc, err := html.Parse(strings.NewReader(body))
	require.NoError(t, err)
	links := all(doc, "a")
	require.Len(t, links, 1)
	assert.Equal(t, homePath, attribute(links[0], "href"))
}
