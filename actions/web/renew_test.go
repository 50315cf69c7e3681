package web_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ahead is a context as sessions give it to renewals.
func ahead(t *testing.T) context.Context {
	return actions.WithCall(t.Context(), actions.Call{Session: 1, Ahead: true})
}

// edited is a site whose page is edited now and then, and which answers
// conditional requests.
type edited struct {
	edition  atomic.Int64
	whole    atomic.Int64 // answers with a body
	header   func(h http.Header, edition int64)
	ignorant bool // of conditions
}

func (e *edited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := e.edition.Load()
	e.header(w.Header(), n)
	tag, since := w.Header().Get("ETag"), w.Header().Get("Last-Modified")
	if !e.ignorant && (tag != "" && r.Header.Get("If-None-Match") == tag || tag == "" && since != "" && r.Header.Get("If-Modified-Since") == since) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	e.whole.Add(1)
	writeHTML(w, fmt.Sprintf("<title>edition %d</title><a href=/next>next</a>", n))
}

func TestAPageIsRenewedByAConditionalRequest(t *testing.T) {
	for name, header := range map[string]func(h http.Header, edition int64){
		"ETag":      func(h http.Header, n int64) { h.Set("ETag", fmt.Sprintf(`"v%d"`, n)) },
		"weak ETag": func(h http.Header, n int64) { h.Set("ETag", fmt.Sprintf(`W/"v%d"`, n)) },
		"Last-Modified": func(h http.Header, n int64) {
			h.Set("Last-Modified", fmt.Sprintf("Mon, 02 Jan 2006 15:04:%02d GMT", n))
		},
	} {
		t.Run(name, func(t *testing.T) {
			site := &edited{header: header}
			f, url := serve(t, site.ServeHTTP)
			a := visit(t, url)
			old, err := f.Do(t.Context(), a)
			require.NoError(t, err)
			renew := f.Environment().Renew

			p, changed, err := renew(ahead(t), a, old)
			require.NoError(t, err)
			assert.False(t, changed)
			assert.Equal(t, old.View(), p.View())
			assert.EqualValues(t, 1, site.whole.Load(), "without a body")

			site.edition.Add(1)
			p, changed, err = renew(ahead(t), a, old)
			require.NoError(t, err)
			assert.True(t, changed)
			assert.Equal(t, "edition 1", p.Title())
			assert.Equal(t, "edition 0", old.Title())
		})
	}
}

func TestAPageWithoutAValidatorIsReadAgainAndCompared(t *testing.T) {
	site := &edited{header: func(http.Header, int64) {}}
	f, url := serve(t, site.ServeHTTP)
	a := visit(t, url)
	old, err := f.Do(t.Context(), a)
	require.NoError(t, err)
	_, changed, err := f.Environment().Renew(ahead(t), a, old)
	require.NoError(t, err)
	assert.False(t, changed)
	assert.EqualValues(t, 2, site.whole.Load())
	site.edition.Add(1)
	_, changed, err = f.Environment().Renew(ahead(t), a, old)
	require.NoError(t, err)
	assert.True(t, changed)
}

// The life of what has not changed may have become shorter, or ended.
func TestARenewedPageLivesAsItsHostSaysNow(t *testing.T) {
	control := "max-age=60"
	site := &edited{header: func(h http.Header, n int64) {
		h.Set("ETag", `"same"`)
		h.Set("Cache-Control", control)
	}}
	f, url := serve(t, site.ServeHTTP)
	a := visit(t, url)
	env := f.Environment()
	old, err := f.Do(t.Context(), a)
	require.NoError(t, err)
	for _, c := range []struct {
		control string
		changed bool
		keep    bool
	}{{"max-age=60", false, true}, {"max-age=600", false, true}, {"max-age=10", true, true}, {"no-store", true, false}} {
		control = c.control
		p, changed, err := env.Renew(ahead(t), a, old)
		require.NoError(t, err)
		assert.Equal(t, c.changed, changed, c.control)
		life, keep := env.Fresh(a, p)
		assert.Equal(t, c.keep, keep, c.control)
		if c.control == "max-age=10" {
			assert.LessOrEqual(t, life.Seconds(), 10.0)
		}
		assert.Equal(t, old.HTML(), p.HTML())
	}
}

func TestARenewedPageHasTheNewHeaderButForWhatIsAboutTheBody(t *testing.T) {
	header := headerOf("ETag: \"same\"", "Content-Length: 9", "Content-Type: text/html", "X-Edition: 1", "X-Kept: 1")
	host := &answering{header: header}
	f := web.New(web.Config{Transport: host, IgnoreRobots: true})
	a := visit(t, "https://a.example/")
	old, err := f.Do(t.Context(), a)
	require.NoError(t, err)
	host.code = http.StatusNotModified
	host.header = headerOf("ETag: \"same\"", "Content-Length: 7", "Content-Encoding: br", "X-Edition: 2", "Connection: X-Hop", "X-Hop: 1")
	p, _, err := f.Environment().Renew(ahead(t), a, old)
	require.NoError(t, err)
	got := p.Header()
	got.Del("Connection")
	assert.Equal(t, headerOf("ETag: \"same\"", "Content-Length: 9", "Content-Type: text/html", "X-Edition: 2", "X-Kept: 1"), got)
}

func TestWhatMustNotRunAheadIsNotRenewedThoughTheTargetHasVisitedIt(t *testing.T) {
	var asked atomic.Int64
	f, url := serveWith(t, web.Config{
		IgnoreRobots: true,
		AheadRefuse:  func(url string) string { return map[bool]string{true: "private"}[strings.Contains(url, "/private")] },
	}, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		writeHTML(w, "<p>bye")
	})
	for path, rule := range map[string]string{"/logout": "action-like", "/private": "private"} {
		a := visit(t, url+path)
		old, err := f.Do(t.Context(), a)
		require.NoError(t, err)
		before := asked.Load()
		_, _, err = f.Environment().Renew(ahead(t), a, old)
		var refused *web.PolicyError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, rule, refused.Rule)
		assert.Equal(t, before, asked.Load())
	}
}

func TestAHostThatSaysNotModifiedUnaskedIsNotBelieved(t *testing.T) {
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			writeHTML(w, "<p>old")
			return
		}
		w.WriteHeader(http.StatusNotModified)
	})
	_, err := f.Do(t.Context(), visit(t, url))
	var status *web.StatusError
	require.ErrorAs(t, err, &status)
	elsewhere, err := f.Do(t.Context(), visit(t, url+"/elsewhere"))
	require.NoError(t, err)
	_, _, err = f.Environment().Renew(ahead(t), visit(t, url), elsewhere)
	require.ErrorAs(t, err, &status)
}

// Else the old page would be renewed for ever under the name of the new one.
func TestA304IsBelievedOnlyIfItWasAskedForAndNamesNoOtherVersion(t *testing.T) {
	const monday, tuesday = "Mon, 02 Nov 2026 08:00:00 GMT", "Tue, 03 Nov 2026 08:00:00 GMT"
	for name, c := range map[string]struct {
		whole, answer []string
		believed      bool
	}{
		"the same tag":               {[]string{`ETag: "1"`}, []string{`ETag: "1"`}, true},
		"the same tag, now weak":     {[]string{`ETag: "1"`}, []string{`ETag: W/"1"`}, true},
		"another tag":                {[]string{`ETag: "1"`}, []string{`ETag: "2"`}, false},
		"another tag, the same date": {[]string{`ETag: "1"`, "Last-Modified: " + monday}, []string{`ETag: "2"`, "Last-Modified: " + monday}, false},
		"the same tag, another date": {[]string{`ETag: "1"`, "Last-Modified: " + monday}, []string{`ETag: "1"`, "Last-Modified: " + tuesday}, true},
		"no tag":                     {[]string{`ETag: "1"`}, nil, true},
		"the same date":              {[]string{"Last-Modified: " + monday}, []string{"Last-Modified: " + monday}, true},
		"another date":               {[]string{"Last-Modified: " + monday}, []string{"Last-Modified: " + tuesday}, false},
		"a page without a validator": {nil, []string{`ETag: "1"`}, false},
	} {
		host := &answering{header: headerOf(append(c.whole, "Content-Type: text/html")...)}
		f := web.New(web.Config{Transport: host, IgnoreRobots: true})
		a := visit(t, "https://a.example/")
		old, err := f.Do(t.Context(), a)
		require.NoError(t, err)
		host.code, host.header = http.StatusNotModified, headerOf(c.answer...)
		p, _, err := f.Environment().Renew(ahead(t), a, old)
		if c.believed {
			require.NoError(t, err, name)
			assert.Equal(t, old.HTML(), p.HTML(), name)
			continue
		}
		var status *web.StatusError
		require.ErrorAs(t, err, &status, name)
	}
}

// An application that puts a function of its own in the place of Do may ask as
// somebody whom the Fetcher does not know.
func TestAPageThatSomebodyElseHasReadIsNotRenewed(t *testing.T) {
	host := &answering{header: headerOf("Content-Type: text/html")}
	f := web.New(web.Config{Transport: host, IgnoreRobots: true})
	other := web.New(web.Config{Transport: host, IgnoreRobots: true})
	a := visit(t, "https://a.example/")
	theirs, err := other.Do(t.Context(), a)
	require.NoError(t, err)
	for _, old := range []*web.Page{nil, theirs, parse(t, "https://a.example/", "<p>old")} {
		_, _, err := f.Environment().Renew(ahead(t), a, old)
		require.ErrorContains(t, err, "that this Fetcher has read itself")
	}
	mine, err := f.Do(t.Context(), a)
	require.NoError(t, err)
	mine, _, err = f.Environment().Renew(ahead(t), a, mine)
	require.NoError(t, err)
	_, _, err = f.Environment().Renew(ahead(t), a, mine)
	require.NoError(t, err, "nor is one left that was renewed")
}
