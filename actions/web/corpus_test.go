//go:build !race

// Race builds take ten times as long, and show nothing of time and memory.

package web_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/require"
)

// A trap answer is one that a host gives to do harm.
type trap struct {
	answer func(w http.ResponseWriter, r *http.Request)
	// err is what the visit ends with; errAny is any, and nil a page.
	err error
	// forgotten: the page is not kept.
	forgotten bool
}

var errAny = errors.New("any error")

const kind = "text/html; charset=utf-8"

// body answers with a page that is made of one text, many times.
func body(contentType, before, text string, n int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, before)
		block := strings.Repeat(text, min(n, 1000))
		for left := n; left > 0; left -= 1000 {
			if _, err := io.WriteString(w, block[:min(left, 1000)*len(text)]); err != nil {
				return
			}
		}
	}
}

// wire answers with bytes of which net/http knows nothing: the first ones, and
// others until the client has enough.
func wire(first, more string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, err = io.WriteString(conn, first)
		for block := strings.Repeat(more, 1000); block != "" && err == nil; {
			_, err = io.WriteString(conn, block)
		}
	}
}

func header(key, value string, next func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(key, value)
		next(w, r)
	}
}

// bomb answers with a gigabyte of zeros in a megabyte.
func bomb(t testing.TB) func(http.ResponseWriter, *http.Request) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	require.NoError(t, err)
	_, err = z.Write(make([]byte, 16<<20))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return header("Content-Encoding", "gzip", body(kind, "", packed.String(), 64))
}

func page(text string) func(http.ResponseWriter, *http.Request) { return body(kind, "", text, 1) }

func corpus(t testing.TB) map[string]trap {
	const whole, endless = 8 << 20, 1 << 30
	ok := page("<p>page")
	all := map[string]trap{
		"gzip bomb":                {answer: bomb(t), err: web.ErrTooLarge},
		"gzip twice":               {answer: header("Content-Encoding", "gzip, gzip", ok), err: errAny},
		"unknown coding":           {answer: header("Content-Encoding", "br", ok), err: errAny},
		"gzip that is none":        {answer: header("Content-Encoding", "gzip", ok), err: errAny},
		"endless body":             {answer: body(kind, "<p>", "endless ", endless), err: web.ErrTooLarge},
		"endless zeros":            {answer: body(kind, "", "\x00", endless), err: web.ErrTooLarge},
		"whole limit":              {answer: body(kind, "", "<p>page", whole/7)},
		"whole limit, one text":    {answer: body(kind, "<p>", "A page. ", whole/8-1), err: web.ErrTooLarge},
		"whole limit, one script":  {answer: body(kind, "<script>", "a page. ", whole/8-1), err: web.ErrTooLarge},
		"half the limit, one text": {answer: body(kind, "<p>", "A page. ", whole/16-100)},
		"whole limit, legacy":      {answer: body("text/html; charset=windows-1252", "", "\x80", whole), err: web.ErrTooLarge},
		"whole limit, not UTF-8":   {answer: body(kind, "", "\xffa", whole/2), err: web.ErrTooLarge},
		"whole limit, UTF-16":      {answer: body("text/html; charset=utf-16le", "", "\x2d\x4e", whole/2), err: web.ErrTooLarge},
		"slow body": {answer: func(w http.ResponseWriter, r *http.Request) {
			writeHTML(w, "<p>slow")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, err: os.ErrDeadlineExceeded},
		"slow header":          {answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, err: os.ErrDeadlineExceeded},
		"huge header":          {answer: header("X-Huge", strings.Repeat("x", 2<<20), ok), err: errAny},
		"endless header":       {answer: wire("HTTP/1.1 200 OK\r\n", "X-A: b\r\n"), err: errAny},
		"endless header line":  {answer: wire("HTTP/1.1 200 OK\r\nX-A: ", "bbbbbbbb"), err: errAny},
		"endless early hints":  {answer: wire("", "HTTP/1.1 103 Early Hints\r\n\r\n"), err: errAny},
		"endless chunk length": {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n", "0"), err: errAny},
		"endless trailer":      {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", "X-A: b\r\n"), err: errAny},
		"tiny chunks":          {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"), err: errAny},
		"no HTTP":              {answer: wire("SSH-2.0-OpenSSH_9.0\r\n", "x"), err: errAny},
		"two lengths":          {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", ""), err: errAny},
		"negative length":      {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: -1\r\n\r\nab", ""), err: errAny},
		"longer than it is":    {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8388608\r\n\r\n<p>cut", ""), err: io.ErrUnexpectedEOF},
		"longer than allowed":  {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9999999999\r\n\r\n<p>cut", ""), err: web.ErrTooLarge},
		"cut chunk":            {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n<p>cut", ""), err: io.ErrUnexpectedEOF},
		"half a page":          {answer: wire("HTTP/1.1 206 Partial Content\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nab", ""), err: errAny},
		"another protocol":     {answer: wire("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "x"), err: errAny},
		"status 999":           {answer: wire("HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n", ""), err: errAny},
		"redirects for ever":   {answer: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) }, err: web.ErrRedirects},
		"redirect to itself": {answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusMovedPermanently)
		}, err: web.ErrRedirects},
		"redirect with a bomb": {answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "x")
			w.WriteHeader(http.StatusFound)
			body(kind, "", "endless ", endless)(w, r)
		}, err: errAny},
		"endless error": {answer: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			body(kind, "", "endless ", endless)(w, r)
		}, err: errAny},
		"100,000 links":         {answer: page(many(100_000, `<a href="/p/%d">Link %d</a>`)), err: web.ErrTooLarge},
		"50,000 links":          {answer: page(many(50_000, `<a href="/p/%d">Link %d</a>`))},
		"links, relative, long": {answer: page(`<base href="/` + strings.Repeat("long", 1500) + `/">` + many(50_000, `<a href="%d">Link %d</a>`)), err: web.ErrTooLarge},
		"links, all the same":   {answer: body(kind, "", "<a href=/>a</a>", 50_000)},
		"links, none closed":    {answer: body(kind, "", "<a href=/x>a<b><i>", 50_000)},
		"links within labels":   {answer: body(kind, "<a href=/>", "<b>long label</b> ", 300_000)},
		"attributes":            {answer: body(kind, "<a ", "a=b ", 500_000)},
		"a link's script":       {answer: body(kind, `<a href=/x onclick="`, "a ", 2_000_000)},
		"scripts of links":      {answer: body(kind, "", `<a href=/x onclick="aB">`, 50_000)},
		"nesting":               {answer: body(kind, "", "<div>", 50_000)},
		"nesting of lists":      {answer: body(kind, "", "<ul><li>", 30_000)},
		"nesting of tables":     {answer: body(kind, "", "<table><tr><td>", 17_000)},
		"nesting of formats":    {answer: body(kind, "", "<b><p>", 40_000)},
		"drawings":              {answer: body(kind, "", "<svg><math>", 25_000)},
		"entities":              {answer: body(kind, "<p>", "&NotEqualTilde;", 100_000)},
		"an open comment":       {answer: body(kind, "<!--", "-- > <!-- ", 100_000)},
		"labels": {answer: page("<a href=/x>\u202ecod.exe\x00\x1b[31m &lt;script&gt;<script>alert(1)</script>\u2028\u200b\ufeff" +
			strings.Repeat("\u0301", 5000) + "</a><title>\x07\u2066t\r\nX: y</title>")},
		"utf-7":        {answer: body("text/html; charset=utf-7", "", "+ADw-a href=/x+AD4-", 1000)},
		"utf-16, odd":  {answer: body("text/html; charset=utf-16be", "\xfe\xff", "\xd8\x00\x00", 1001)},
		"iso-2022-jp":  {answer: body("text/html; charset=iso-2022-jp", "", "\x1b$B\xff\x1b(<a", 1000)},
		"iso-2022-kr":  {answer: body("text/html; charset=iso-2022-kr", "", "<a href=/x>\x1b$)C", 1000)},
		"replacement":  {answer: body("text/html; charset=replacement", "", "<a href=/x>", 1000)},
		"gb18030":      {answer: body("text/html; charset=gb18030", "", "\x81\x30\x81", 1000)},
		"no charset":   {answer: body(`text/html; charset="`+strings.Repeat("a", 1000)+`"`, "", "<a href=/x>", 1000)},
		"content type": {answer: body("text/html; "+strings.Repeat("a=b; ", 1000), "", "x", 10)},
	}
	for i, value := range []string{"max-age", "max-age=\xff", `no-cache="`, "=", ",,,;", "max-age=1e9; private", "no-store x", strings.Repeat("a,", 10_000) + "no-store"} {
		all[fmt.Sprint("Cache-Control ", i)] = trap{answer: header("Cache-Control", value, ok), forgotten: true}
	}
	for i, location := range []string{"http://[::1", "javascript:alert(1)", "//", "http://a\x00b/", "data:text/html,x", "http://127.0.0.1:99999/", "http://u:p@127.0.0.1/", "\\\\x", strings.Repeat("/", 9000), "%zz://x"} {
		all[fmt.Sprint("Location ", i)] = trap{answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusFound)
		}, err: errAny}
	}
	all["URLs"] = trap{answer: func(w http.ResponseWriter, _ *http.Request) {
		for _, url := range []string{
			"http://", "http://[", "http://%00/", "http://a b/", "//\\x", "javascript:x", "data:,", "file:///etc/passwd", "http://1.2.3.4.5/", "http://xn--/",
			"http://\u3002/", "http://a\u202e.example/", strings.Repeat("../", 5000), "?" + strings.Repeat("&", 9000), "http://" + strings.Repeat("a.", 5000), "#", "http:///x", "https:x",
		} {
			_, _ = fmt.Fprintf(w, `<a href="%s">x</a>`, url)
		}
	}}
	return all
}
