package web_test

import (
	"encoding/json"
	neturl "net/url"
	"os"
	"strings"
	"testing"

	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOnePageHasOneKey(t *testing.T) {
	want := visit(t, "https://site.example/a/b?q=1")
	for _, url := range []string{
		"HTTPS://SITE.example/a/b?q=1", "https://site.example:443/a/b?q=1", "https://site.example/a/b?q=1#frag",
		" https://site.example/a/./c/../b?q=1\n", "https:site.example/a/b?q=1", `https:\\site.example\a\b?q=1`,
		"https://site.exam\tple/a/b?q=1", "https://site。example/a/b?q=1", "https://s%69te.example/a/%2e/b?q=1",
	} {
		assert.Equal(t, want, visit(t, url), url)
	}
	assert.Equal(t, `{"url":"https://site.example/a/b?q=1"}`, want.Args())
	for _, url := range []string{
		"http://site.example/a/b?q=1", "https://site.example/a/b/?q=1", "https://site.example/a/b?q=1&",
		"https://site.example/A/b?q=1", "https://site.example./a/b?q=1", "https://site.example/a/b?q=%31",
	} {
		assert.NotEqual(t, want, visit(t, url), url)
	}
}

func TestAURLThatIsNotForReadingIsRefused(t *testing.T) {
	for url, reason := range map[string]string{
		"":                               "begin with https://",
		"/relative":                      "begin with https://",
		"localhost:8080":                 "begin with https://",
		"javascript:alert(1)":            "only http and https",
		"data:text/html,x":               "only http and https",
		"file:///etc/passwd":             "only http and https",
		"about:blank":                    "only http and https",
		"blob:https://a.example/1":       "only http and https",
		"view-source:https://a.example/": "only http and https",
		"ws://a.example/":                "only http and https",
		"https://user@a.example/":        "names a user",
		"https://user:pw@a.example/":     "names a user",
		"https://a.example\\@b.example/": "", // a path, as in browsers
		"https://a.example/@b":           "",
		"https://[::1":                   "does not parse",
		"https://a b/":                   "does not parse",
		"https://a.example:99999/":       "does not parse",
		"https://1.2.3.4.5/":             "does not parse",
		"https://a.example/%zz":          "net/http can't",
		"https://a.example/" + strings.Repeat("a", 9000): "too long",
		"https://" + strings.Repeat("a", 2000) + "/":     "too long",
		"https://a.example/" + strings.Repeat("a/", 300): "too long",
		"https://a.example//b|":                          "taken for a host",
		"https://ma\u1E9Ee.example/":                     "two ways", // Unicode has changed its mind
		"https://ma%e1%Ba%9ee.example/":                  "two ways",
		"https://\u2260/":                                "two ways", // becomes what does not parse
	} {
		_, err := web.Visit(url)
		if reason == "" {
			assert.NoError(t, err, url)
			continue
		}
		var e *web.URLError
		if assert.ErrorAs(t, err, &e, url) {
			assert.Equal(t, url, e.URL)
			assert.ErrorContains(t, err, reason)
			assert.Less(t, len(err.Error()), 700)
		}
	}
}

func TestAURLWithoutASchemeIsToldInAFewWords(t *testing.T) {
	for url, want := range map[string]string{
		"example.org":         `web: URL "example.org": begin with https://`,
		"example.org:8080/x":  `web: URL "example.org:8080/x": begin with https://`,
		"https://1.2.3.4.5/":  `web: URL "https://1.2.3.4.5/": it does not parse: An IPv4 address has more than four parts`,
		"https://a.example/%": `web: URL "https://a.example/%": net/http can't ask for it: invalid URL escape "%"`,
	} {
		_, err := web.Visit(url)
		assert.EqualError(t, err, want)
	}
	_, err := web.Visit("example.org")
	var e *web.URLError
	require.ErrorAs(t, err, &e)
	assert.ErrorContains(t, e.Err, "missing a scheme", "the parser's error is wrapped")
	assert.ErrorIs(t, err, e.Err)
}

func TestAURLErrorDoesNotShowAPassword(t *testing.T) {
	for _, url := range []string{
		"https://user:secret@a.example/x", "https://user:sec/secret@a.example/", "user:secret@a.example",
		"//user:secret@a.example", "HTTPS:user:secret@a.example", `https:\\user:secret@a.example`, "ftp://user:secret@a.example",
		"https://secret@@a.example/", "https://user:secret@[::1", "user@secret:secret@a.example/x?y=z@w",
	} {
		_, err := web.Visit(url)
		if assert.Error(t, err, url) {
			assert.NotContains(t, err.Error(), "secret", url)
			assert.Contains(t, err.Error(), "@", url)
		}
	}
}

func TestNumbersAreReadAsTheHostsThatTheyAre(t *testing.T) {
	for _, url := range []string{"http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://①②⑦.0.0.1/"} {
		assert.Equal(t, visit(t, "http://127.0.0.1/"), visit(t, url), url)
	}
	assert.Equal(t, visit(t, "http://[::1]/"), visit(t, "http://[0:0::0:1]:80/"))
}

type wptCase struct {
	Input, Href, Hash string
	Base              *string
	Failure           bool
}

func wptCases(t testing.TB) (cases []wptCase) {
	data, err := os.ReadFile(shared(t, "suites", "wpt-url", "urltestdata.json"))
	require.NoError(t, err)
	var raw []json.RawMessage
	require.NoError(t, json.Unmarshal(data, &raw))
	for _, r := range raw {
		var c wptCase
		if r[0] == '{' && json.Unmarshal(r, &c) == nil {
			cases = append(cases, c)
		}
	}
	return cases
}

// canonical returns what the package makes of a case, or "".
func (c wptCase) canonical() string {
	if c.Base != nil {
		_, got, _ := web.Resolve(*c.Base, "", c.Input)
		return got
	}
	a, err := web.Visit(c.Input)
	var args struct{ URL string }
	if err != nil || a.Decode(&args) != nil {
		return ""
	}
	return args.URL
}

// unknownToParser are valid URLs that the parser refuses. That is safe: they
// are not visited.
var unknownToParser = map[string]bool{
	"http://a.b.c.xn--pokxncvks/": true, "http://10.0.0.xn--pokxncvks/": true, "https://xn--/": true,
}

func TestWebPlatformURLsAreCanonicalOrRefused(t *testing.T) {
	kept := map[bool]int{}
	for _, c := range wptCases(t) {
		got := c.canonical()
		want := strings.TrimSuffix(strings.TrimSuffix(c.Href, c.Hash), "#")
		switch onPurpose := c.refused(); {
		case got != "":
			assert.False(t, c.Failure || onPurpose, "%q became %q", c.Input, got)
			assert.Equal(t, want, got, c.Input)
			assert.Equal(t, got, wptCase{Input: got}.canonical(), "not canonical")
		case !c.Failure && !onPurpose && !strings.Contains(c.Input, "@"): // even an empty user
			assert.True(t, unknownToParser[want], "%q is refused, and is %q", c.Input, want)
		}
		kept[got != ""]++
	}
	t.Logf("%d kept, %d refused", kept[true], kept[false])
	assert.Greater(t, kept[true], 150)
}

// refused reports whether the package refuses the case on purpose: for its
// scheme, for a user, or because net/http can't ask for it.
func (c wptCase) refused() bool {
	u, err := neturl.Parse(strings.TrimSuffix(c.Href, c.Hash))
	return !c.Failure && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil)
}

func TestTheShortCutForPlainPathsChangesNothing(t *testing.T) {
	quick := 0
	check := func(base, ref string) {
		q, s, err := web.Resolve(base, "", ref)
		if err == nil {
			assert.Equal(t, s, q, "%q on %q", ref, base)
		}
		if web.IsPlain(ref) {
			quick++
		}
	}
	for _, c := range wptCases(t) {
		check(home, c.Input)
		if c.Base != nil {
			check(*c.Base, c.Input)
		}
	}
	fromSuite := quick
	links := 0
	recordedPages(t, func(url, html string) {
		for part := range strings.SplitSeq(html, `href="`) {
			ref, _, _ := strings.Cut(part, `"`)
			links++
			check(url, ref)
		}
	})
	assert.NotZero(t, fromSuite)
	t.Logf("%d references of the suite and %d of %d on recorded pages are plain", fromSuite, quick-fromSuite, links)
}

func TestTheShortCutIsRightForEveryByte(t *testing.T) {
	for c := range 128 {
		for _, format := range []string{"/a_b", "/_", "/_b/c", "/a?b_c", "/%_0", "/%2_", "/%25_", "/a/_./b", "/%2e_", "/?_", "/a#_"} {
			ref := strings.ReplaceAll(format, "_", string(rune(c)))
			q, s, err := web.Resolve(home, "", ref)
			require.NoError(t, err)
			assert.Equal(t, s, q, "%q", ref)
		}
	}
}

func TestTheShortCutIsRightForEveryHost(t *testing.T) {
	for _, host := range []string{
		"a.b", "a1.example", "1a.example", "a-b.example", "a--b.example", "-a.example", "a-.example", "xn--a.example", "xn--nxasmq6b.example",
		"1.2.3.4", "1.2.3", "0x7f.1", "a.0x7f", "a.1", "a.1a", "a..b", ".a.b", "a.b.", "localhost", "a.", "a_b.example", "A.example", "",
		strings.Repeat("a", 63) + ".example", strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 126) + "b", strings.Repeat("a.", 127) + "b",
		"a.example:80", "a.example:443", "a.example:8080", "u@a.example", "a.b%2e", "a.xn", "a.example-1", "a.b-c",
	} {
		for _, ref := range []string{"https://" + host + "/x?y=z#f", "http://" + host + "/x", "https://" + host, "//" + host + "/x"} {
			q, s, err := web.Resolve(home, "", ref)
			require.NoError(t, err)
			assert.Equal(t, s, q, "%q", ref)
		}
	}
}

// Whoever has an action can run it: its URL is within the limits, too.
func TestWhatIsTooLongOnceItIsCanonicalIsRefused(t *testing.T) {
	for name, url := range map[string]string{
		"escapes": "https://a.example/" + strings.Repeat("\x7f", 3000),
		"slashes": "https://a.example" + strings.Repeat("/a", 300),
	} {
		_, err := web.Visit(url)
		var bad *web.URLError
		require.ErrorAs(t, err, &bad, name)
	}
	page := parse(t, "https://a.example/", `<a href="`+strings.Repeat("/a", 300)+`">deep</a><a href="`+strings.Repeat("\x7f", 3000)+`">long</a><a href=/b>plain</a>`)
	require.Len(t, page.Links(), 1)
	for _, l := range page.Links() {
		_, err := web.Visit(l.URL)
		assert.NoError(t, err)
	}
}
