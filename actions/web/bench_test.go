package web_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/require"
)

// article is a page of some 200 KB: 800 links, one in eight to another host,
// in as many paragraphs.
func article() string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html><head><title>Article</title></head><body><nav><a href="/">Home</a></nav><main>`)
	for i := range 800 {
		href := fmt.Sprintf("/wiki/Some_Topic_%d", i)
		if i%8 == 0 {
			href = fmt.Sprintf("https://host%d.example/ref?id=%d#s", i%16, i)
		}
		fmt.Fprintf(&b, `<p class="text" id="p%d">Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor
			incididunt ut <b>labore</b> et dolore <a href="%s" title="Topic">Topic number %d</a>, magna aliqua.</p>`, i, href, i)
	}
	b.WriteString(`</main><footer>Footer</footer></body></html>`)
	return b.String()
}

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct{ name, html string }{{"links=800", article()}, {"links=40", many(40, `<p>text %d <a href="/p/%d">a link</a></p>`)}} {
		b.Run(fmt.Sprintf("%s/kB=%d", c.name, len(c.html)>>10), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := web.Parse(home, c.html); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParseRecorded parses all recorded pages; time is per page.
func BenchmarkParseRecorded(b *testing.B) {
	type doc struct{ url, html string }
	var docs []doc
	bytes := 0
	recordedPages(b, func(url, html string) {
		docs = append(docs, doc{url, html})
		bytes += len(html)
	})
	b.SetBytes(int64(bytes / len(docs)))
	for i := 0; b.Loop(); i++ {
		d := docs[i%len(docs)]
		if _, err := web.Parse(d.url, d.html); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkView(b *testing.B) {
	html := article()
	for b.Loop() {
		p, err := web.Parse(home, html)
		require.NoError(b, err)
		_ = p.View()
	}
}

// BenchmarkVisit is a fetch over loopback, page and all, and beside it the
// same fetch by net/http alone.
func BenchmarkVisit(b *testing.B) {
	for _, c := range []struct{ name, html string }{
		{"links=800", article()},
		{"links=50", strings.Repeat("<p>"+strings.Repeat("word ", 100)+"</p>", 360) + many(50, `<a href="/p/%d">link %d</a>`)},
	} {
		f, url := serve(b, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(c.html)))
			writeHTML(w, c.html)
		})
		name := fmt.Sprintf("%s/kB=%d", c.name, len(c.html)>>10)
		b.Run(name, func(b *testing.B) {
			a := visit(b, url)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Do(b.Context(), a); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("bare/"+name, func(b *testing.B) {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for b.Loop() {
				resp, err := client.Get(url)
				require.NoError(b, err)
				_, err = io.ReadAll(resp.Body)
				require.NoError(b, err)
				_ = resp.Body.Close()
			}
		})
	}
}

func BenchmarkPolicy(b *testing.B) {
	p, err := web.Parse(home, article())
	require.NoError(b, err)
	s := actions.State[*web.Page]{Steps: []actions.Step[*web.Page]{{Observation: p}}}
	guess, env := p.Links()[700].Action, environment()
	b.ReportAllocs()
	for b.Loop() {
		if err := env.Policy(s, guess); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolveClick(b *testing.B) {
	p, err := web.Parse(home, article())
	require.NoError(b, err)
	s := actions.State[*web.Page]{Steps: []actions.Step[*web.Page]{{Observation: p}}}
	a, env := click(b, "topic number 700"), environment()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := env.Resolve(s, a); err != nil {
			b.Fatal(err)
		}
	}
}
