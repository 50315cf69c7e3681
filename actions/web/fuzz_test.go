package web_test

import (
	"net/http"
	neturl "net/url"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func FuzzParse(f *testing.F) {
	for _, html := range []string{
		"", "text", `<title>T</title><a href=/a>A</a>`, `<base href="//h/"><a href="b?c#d">B <img alt=i></a>`,
		`<svg><title>x</title><a href=/s>`, `<a href="javascript:x">y</a><area href=/z alt=q>`,
		`<template><a href=/t>t</a></template><table><tr><td><a href=x>a<td>b</table>`, "<a href=x>\x00\xff\u202e</a>",
		`<table><td><ul><li><pre>a<a href=/x><b>c</table><ol start=9><li>d</ol><blockquote>e<br><br><hr>f</main>`,
		`<nav><main><h1>a<a href=/q>b</h1></nav><table><tr><th colspan=3>c<td>d</tr>e<td><my-x>f</my-x></pre>`,
		`<plaintext><a href=x>`, `<math><mi><script>`, `<!--><a href=/c>c`,
	} {
		f.Add("https://site.example/dir/", html)
	}
	f.Fuzz(func(t *testing.T, url, html string) {
		p, err := web.Parse(url, html)
		if err != nil {
			assert.Nil(t, p)
			return
		}
		checkPage(t, p)
	})
}

// checkPage asserts what holds for every page.
func checkPage(t *testing.T, p *web.Page) {
	t.Helper()
	checkLabel(t, p.Title())
	for _, l := range p.Links() {
		checkLabel(t, l.Label)
		again, err := web.Visit(l.URL)
		require.NoError(t, err, l.URL)
		require.Equal(t, l.Action, again)
		if l.Label == "" {
			continue
		}
		if a, err := p.Click(l.Label); err == nil {
			u, _ := neturl.Parse(l.URL)
			require.True(t, strings.HasPrefix(u.Scheme, "http"))
			require.Equal(t, "visit", a.Name())
		}
	}
	v := p.View()
	require.True(t, utf8.ValidString(v.Text))
	require.LessOrEqual(t, len(v.Text), 64<<10+4*len(p.HTML()))
	require.Equal(t, strings.TrimSpace(v.Text), v.Text)
	require.LessOrEqual(t, len(v.Choices), len(p.Links()))
	require.GreaterOrEqual(t, p.Size(), len(p.HTML())+len(v.Text))
}

func checkLabel(t *testing.T, label string) {
	t.Helper()
	require.True(t, utf8.ValidString(label))
	require.LessOrEqual(t, len(label), 1024)
	require.Equal(t, strings.Join(strings.Fields(label), " "), label)
	require.NotContains(t, label, "\u202e")
	require.Equal(t, -1, strings.IndexFunc(label, unicode.IsControl))
}

func FuzzVisit(f *testing.F) {
	for _, url := range []string{
		"https://site.example/a?b#c", "HTTP://h:80", `https:\\h\x`, "https://ü.example/é", "http://0x7f.1/", "http://[::1]:8/",
		"https://h/%2e%2e/x|y", "https://u:p@h/", "//h", "data:,", "https://h/\t\n ",
		"https:a/" + strings.Repeat("\x7f", 3000),
	} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		a, err := web.Visit(url)
		if err != nil {
			return
		}
		var args struct{ URL string }
		require.NoError(t, a.Decode(&args))
		u, err := neturl.Parse(args.URL)
		require.NoError(t, err)
		require.Nil(t, u.User)
		require.NotEmpty(t, u.Host)
		require.Empty(t, u.Fragment)
		again, err := web.Visit(args.URL)
		require.NoError(t, err)
		require.Equal(t, a, again)
	})
}

// FuzzHost asserts that the host that a visit is counted under is the one that
// it asks.
func FuzzHost(f *testing.F) {
	for _, url := range []string{
		"https://site.example/", "http://site.example:8080/a", "https://site.example:443/", "http://127.0.0.1:08/", "http://0x7f.1/",
		"http://1.2.3.4/", "http://1.2.3.4:65536/", "http://[::1]:8080/", "https://xn--/", "http://a.example:+8/", `http://h\u0061.example/`,
		"http://h.example:8/\t/", "http://h.example:\t8/", "http://a.b/#@c.d/", "https://SITE.example/", "http:///h.example/", "https://a.example\\b/",
	} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		a, err := actions.New("visit", map[string]string{"url": url})
		if err != nil {
			return
		}
		if quick, slow := web.Host(a); slow != "" {
			require.Equal(t, slow, quick)
		}
	})
}

func FuzzResolve(f *testing.F) {
	for _, ref := range []string{"/a", "/a/../b", "//h/x", "/%2e/", "/a?b=c#d", "https://site.example/x", "https://site.example", `/\h`, "/'?'"} {
		f.Add("https://site.example/dir/page", "", ref)
	}
	f.Fuzz(func(t *testing.T, page, base, ref string) {
		if quick, slow, err := web.Resolve(page, base, ref); err == nil {
			require.Equal(t, slow, quick, "%q on %q", ref, page)
		}
	})
}

func FuzzClick(f *testing.F) {
	f.Add("Call for Papers", " call FOR\npapers")
	f.Add("Straße", "STRASSE")
	f.Add("\u212a", "k")
	f.Add("a\u00adb\x00", "ab")
	f.Fuzz(func(t *testing.T, label, clicked string) {
		escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", "\r", " ", "\x00", " ")
		p, err := web.Parse(home, `<a href=/x>`+escape.Replace(label)+`</a>`)
		require.NoError(t, err)
		require.Len(t, p.Links(), 1)
		_, err = p.Click(clicked)
		a, errClick := web.Click(clicked)
		if err != nil || errClick != nil {
			return
		}
		var args struct{ Label string }
		require.NoError(t, a.Decode(&args))
		assert.True(t, strings.EqualFold(p.Links()[0].Label, args.Label), "%q %q", label, clicked)
	})
}

func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		"", "caf\xe9", "\xef\xbb\xbfx", "\xff\xfea", `<meta charset=gbk>` + "\xd6", `<?xml version="1.0" encoding="euc-kr"?>` + "\xc7", "<\x00?\x00x\x00",
		strings.Repeat(" ", 1100) + `<meta charset=big5>` + "\xa4", "\x1b$B\xff", `<META http-equiv=x content="charset=utf-16">` + "\xff",
	} {
		f.Add(body, "text/html")
		f.Add(body, "text/html; charset=iso-2022-jp")
	}
	const limit = 4 << 10
	f.Fuzz(func(t *testing.T, body, kind string) {
		text, err := web.Decode(body, kind, limit)
		if err != nil {
			require.ErrorIs(t, err, web.ErrTooLarge)
			return
		}
		require.True(t, utf8.ValidString(text))
		if len(text) > len(body) {
			require.LessOrEqual(t, len(text), limit)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{"", "0", "-1", "120", "99999999999999999999", " 5 ", "1.5", "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 9999 08:49:37 GMT"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		pause := web.Pause(value)
		require.GreaterOrEqual(t, pause, time.Second)
		require.LessOrEqual(t, pause, 10*time.Minute)
		if at, ok := web.Date(value); ok {
			again, ok := web.Date(at.UTC().Format(http.TimeFormat))
			require.True(t, ok, value)
			require.True(t, at.Equal(again), value)
		}
	})
}
