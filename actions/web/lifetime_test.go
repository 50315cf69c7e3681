package web_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answering is a transport that answers every request alike, after a while.
type answering struct {
	code    int
	header  http.Header
	after   time.Duration
	request http.Header // as if a transport below had added it
	asked   int
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked++
	<-time.After(a.after)
	sent := r.Clone(r.Context())
	for name, values := range a.request {
		sent.Header[name] = values
	}
	h := a.header.Clone()
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "text/html")
	}
	return &http.Response{
		StatusCode: max(a.code, http.StatusOK), Header: h, Request: sent, ContentLength: -1,
		Body: io.NopCloser(strings.NewReader("<p>hi</p>")),
	}, nil
}

// headerOf makes a header of lines.
func headerOf(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

// at writes a date in the bubbles' time, which begins at midnight of
// 2000-01-01.
func at(seconds int) string {
	return time.Date(2000, 1, 1, 0, 0, seconds, 0, time.UTC).Format(http.TimeFormat)
}

func TestAPagesLifeIsCountedAsRFC9111Says(t *testing.T) {
	const never, unlimited = time.Duration(-1), time.Duration(0)
	for name, c := range map[string]struct {
		want  time.Duration
		lines []string
	}{
		"nothing is said":               {unlimited, nil},
		"max-age":                       {60 * time.Second, []string{"Cache-Control: max-age=60"}},
		"Age counts":                    {50 * time.Second, []string{"Cache-Control: max-age=60", "Age: 10"}},
		"Date counts":                   {40 * time.Second, []string{"Cache-Control: max-age=60", "Date: " + at(-20)}},
		"the older of Age and Date":     {30 * time.Second, []string{"Cache-Control: max-age=60", "Age: 30", "Date: " + at(-20)}},
		"a Date to come is no age":      {60 * time.Second, []string{"Cache-Control: max-age=60", "Date: " + at(20)}},
		"as old as it may be":           {never, []string{"Cache-Control: max-age=60", "Age: 60"}},
		"the first Age":                 {50 * time.Second, []string{"Cache-Control: max-age=60", "Age: 10, 20"}},
		"an Age that is no number":      {60 * time.Second, []string{"Cache-Control: max-age=60", "Age: old"}},
		"Expires":                       {90 * time.Second, []string{"Expires: " + at(90), "Date: " + at(0)}},
		"Expires goes by Date":          {100 * time.Second, []string{"Expires: " + at(190), "Date: " + at(90)}},
		"Expires without a Date":        {88 * time.Second, []string{"Expires: " + at(90)}}, // the answer took 2
		"Expires is over":               {never, []string{"Expires: " + at(-1), "Date: " + at(0)}},
		"Expires is no date":            {never, []string{"Expires: 0"}},
		"Expires twice":                 {never, []string{"Expires: " + at(90), "Expires: " + at(90)}},
		"max-age is before Expires":     {60 * time.Second, []string{"Cache-Control: max-age=60", "Expires: 0"}},
		"s-maxage is for others":        {unlimited, []string{"Cache-Control: s-maxage=60"}},
		"a tenth of Last-Modified":      {100 * time.Second, []string{"Last-Modified: " + at(-1000), "Date: " + at(0)}},
		"less its age":                  {80 * time.Second, []string{"Last-Modified: " + at(-1000), "Date: " + at(0), "Age: 20"}},
		"modified just now":             {30 * time.Second, []string{"Last-Modified: " + at(-1), "Date: " + at(0)}},
		"modified in the future":        {30 * time.Second, []string{"Last-Modified: " + at(99), "Date: " + at(0)}},
		"max-age is before a heuristic": {5 * time.Second, []string{"Cache-Control: max-age=5", "Last-Modified: " + at(-1000)}},
		"must-revalidate":               {5 * time.Second, []string{"Cache-Control: max-age=5, must-revalidate"}},
		"must-understand with no-store": {never, []string{"Cache-Control: must-understand, no-store, max-age=5"}},
		"no-cache for a field":          {never, []string{`Cache-Control: max-age=5, no-cache="Set-Cookie"`}},
		"old hosts' no-cache":           {never, []string{"Pragma: no-cache"}},
		"Cache-Control is before that":  {5 * time.Second, []string{"Pragma: no-cache", "Cache-Control: max-age=5"}},
		"Clear-Site-Data for caches":    {never, []string{`Clear-Site-Data: "cookies", "cache"`}},
		"Clear-Site-Data for all":       {never, []string{`Clear-Site-Data: "*"`}},
		"Clear-Site-Data for cookies":   {unlimited, []string{`Clear-Site-Data: "cookies"`}},
		"Set-Cookie":                    {5 * time.Second, []string{"Set-Cookie: a=b", "Cache-Control: max-age=5"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := web.New(web.Config{Transport: &answering{header: headerOf(c.lines...), after: 2 * time.Second}})
			maxAge, keep := fresh(t, f, t.Context(), "https://a.example/")
			assert.Equal(t, c.want != never, keep, name)
			assert.Equal(t, max(c.want, 0), maxAge, name)
		})
	}
}

func TestATemporaryRedirectIsBelievedForShortUnlessItSaysHowLong(t *testing.T) {
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Cache-Control"] = r.URL.Query()["c"]
		switch r.URL.Path {
		case "/302":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/301":
			http.Redirect(w, r, "/", http.StatusMovedPermanently)
		default:
			writeHTML(w, "<p>hi</p>")
		}
	})
	for path, want := range map[string]time.Duration{
		"/302": 30 * time.Second, "/302?c=max-age=90": 90 * time.Second, "/301": 0, "/301?c=max-age=9": 9 * time.Second,
	} {
		maxAge, keep := fresh(t, f, t.Context(), url+path)
		assert.True(t, keep, path)
		assert.Equal(t, want, maxAge, path)
	}
}

func TestAPageForOneClientIsNotSharedByAPublicRule(t *testing.T) {
	authorized := headerOf("Authorization: Bearer x")
	for name, c := range map[string]struct {
		private bool
		header  http.Header
		request http.Header
	}{
		"nothing is said":               {false, headerOf(), nil},
		"private":                       {true, headerOf("Cache-Control: private"), nil},
		"private for a field":           {true, headerOf(`Cache-Control: private="Set-Cookie"`), nil},
		"a cookie":                      {true, headerOf("Set-Cookie: a=b"), nil},
		"credentials":                   {true, headerOf(), authorized},
		"a cookie was sent":             {true, headerOf(), headerOf("Cookie: a=b")},
		"credentials, by leave":         {false, headerOf("Cache-Control: public"), authorized},
		"credentials, by other leave":   {false, headerOf("Cache-Control: must-revalidate"), authorized},
		"credentials, by another leave": {false, headerOf("Cache-Control: s-maxage=9"), authorized},
	} {
		transport := &answering{header: c.header, request: c.request}
		f := web.New(web.Config{Transport: transport})
		env, a := f.Environment(), visit(t, "https://a.example/")
		page, err := f.Do(t.Context(), a)
		require.NoError(t, err)
		assert.Equal(t, c.private, page.Private(), name)
		_, keep := env.Fresh(a, page)
		assert.True(t, keep, "%s: in its own scope it may be kept", name)

		for _, public := range []bool{true, false} {
			transport.asked = 0
			env.Rules = actions.Rules{"visit": {Effect: actions.ReadOnly, Public: public, MaxAge: time.Minute}}
			cache, err := speccache.New(env, speccache.Config[*web.Page]{})
			require.NoError(t, err)
			for range 2 {
				s := cache.Open(speccache.SessionConfig[*web.Page]{Scope: "one"})
				_, err = s.Do(t.Context(), a)
				require.NoError(t, err)
				s.Close()
			}
			want := 1
			if public && c.private {
				want = 2
			}
			assert.Equal(t, want, transport.asked, "%s: public %v", name, public)
			require.NoError(t, cache.Close())
		}
	}
	var none *web.Page
	assert.False(t, none.Private())
}

func TestWhatVariesByCredentialsThatWereSentIsNotKept(t *testing.T) {
	for request, want := range map[string]bool{"": true, "Cookie: a=b": false, "Authorization: x": false} {
		for _, vary := range []string{"Vary: Cookie", "Vary: Accept, authorization"} {
			f := web.New(web.Config{Transport: &answering{header: headerOf(vary), request: headerOf(request)}})
			_, keep := fresh(t, f, context.Background(), "https://a.example/")
			assert.Equal(t, want, keep, "%s for %s", vary, request)
		}
	}
}

func TestWhatIsSaidOfAConnectionIsNoPartOfThePage(t *testing.T) {
	f := web.New(web.Config{Transport: &answering{header: headerOf("Connection: x-hop, close", "X-Hop: 1", "X-Own: 2")}})
	p, err := f.Do(t.Context(), visit(t, "https://a.example/"))
	require.NoError(t, err)
	assert.Empty(t, p.Header().Get("X-Hop"))
	assert.Equal(t, "2", p.Header().Get("X-Own"))
}

func TestCacheControlIsReadByItsGrammarAndDoubtsForbid(t *testing.T) {
	type read struct {
		forbidden, private, shareable, stated bool
		maxAge                                time.Duration
	}
	for line, want := range map[string]read{
		"":                               {},
		" , ,, ":                         {},
		"max-age=5":                      {stated: true, maxAge: 5 * time.Second},
		`max-age="5"`:                    {stated: true, maxAge: 5 * time.Second},
		`max-age="\5"`:                   {stated: true, maxAge: 5 * time.Second},
		"MAX-AGE=5,max-age=3 ,max-age=4": {stated: true, maxAge: 3 * time.Second},
		"max-age=5, max-age=x":           {stated: true},
		"max-age":                        {stated: true},
		"max-age=-5":                     {stated: true},
		"max-age=+5":                     {stated: true},
		"max-age=5.5":                    {stated: true},
		"max-age=0x5":                    {stated: true},
		"max-age='5'":                    {stated: true},
		"max-age=99999999999999999999":   {stated: true, maxAge: 1 << 31 * time.Second},
		`x="max-age=5, no-store"`:        {},
		`x="a\"b, no-store", private`:    {private: true},
		"public, s-maxage=0":             {shareable: true},
		"NO-STORE":                       {forbidden: true},
		`no-cache="a, b", private="c"`:   {forbidden: true, private: true},
		"x-no-store, no-storage":         {},
		"max-age = 5":                    {forbidden: true},
		"max-age=5; private":             {forbidden: true},
		"max-age=":                       {forbidden: true},
		"=5":                             {forbidden: true},
		`x="no end`:                      {forbidden: true},
		`x="y"z`:                         {forbidden: true},
		"é":                              {forbidden: true},
	} {
		var got read
		got.forbidden, got.private, got.shareable, got.stated, got.maxAge = web.CacheControl(line)
		if got.forbidden {
			got.stated, got.maxAge, want.stated, want.maxAge = false, 0, false, 0
		}
		assert.Equal(t, want, got, line)
	}
}

func FuzzCacheControl(f *testing.F) {
	for _, line := range []string{`max-age=5, no-cache="a, b"`, `x="\"", private`, "public;max-age", ",,", "no-store=\"", "s-maxage=1,MAX-AGE=0"} {
		f.Add(line, "max-age=9")
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		forbidden, private, _, stated, maxAge := web.CacheControl(one)
		both, privateToo, _, statedToo, shorter := web.CacheControl(one, two)
		assert.True(t, both || !forbidden, "another line lifts what one forbids")
		assert.True(t, privateToo || !private)
		assert.True(t, !stated || statedToo && shorter <= maxAge)
		assert.True(t, maxAge >= 0 && maxAge <= 1<<31*time.Second)
		plain := !strings.ContainsAny(one, "\"\\")
		if plain && strings.Contains(","+strings.ToLower(strings.Map(unspaced, one))+",", ",no-store,") {
			assert.True(t, forbidden, "no-store is overlooked")
		}
	})
}

// unspaced removes white space.
func unspaced(r rune) rune {
	if r == ' ' || r == '\t' {
		return -1
	}
	return r
}
