package web_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A trap answer is one that a host gives to do harm.
type trap struct {
	answer func(w http.ResponseWriter, r *http.Request)
	// err is what the visit ends with; anyError is any, and nil a page.
	err error
	// forgotten: the page is not kept.
	forgotten bool
}

var anyError = errors.New("any error")

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
		"gzip twice":               {answer: header("Content-Encoding", "gzip, gzip", ok), err: anyError},
		"unknown coding":           {answer: header("Content-Encoding", "br", ok), err: anyError},
		"gzip that is none":        {answer: header("Content-Encoding", "gzip", ok), err: anyError},
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
		"huge header":          {answer: header("X-Huge", strings.Repeat("x", 2<<20), ok), err: anyError},
		"endless header":       {answer: wire("HTTP/1.1 200 OK\r\n", "X-A: b\r\n"), err: anyError},
		"endless header line":  {answer: wire("HTTP/1.1 200 OK\r\nX-A: ", "bbbbbbbb"), err: anyError},
		"endless early hints":  {answer: wire("", "HTTP/1.1 103 Early Hints\r\n\r\n"), err: anyError},
		"endless chunk length": {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n", "0"), err: anyError},
		"endless trailer":      {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", "X-A: b\r\n"), err: anyError},
		"tiny chunks":          {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"), err: anyError},
		"no HTTP":              {answer: wire("SSH-2.0-OpenSSH_9.0\r\n", "x"), err: anyError},
		"two lengths":          {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", ""), err: anyError},
		"negative length":      {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: -1\r\n\r\nab", ""), err: anyError},
		"longer than it is":    {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8388608\r\n\r\n<p>cut", ""), err: io.ErrUnexpectedEOF},
		"longer than allowed":  {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9999999999\r\n\r\n<p>cut", ""), err: web.ErrTooLarge},
		"cut chunk":            {answer: wire("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n<p>cut", ""), err: io.ErrUnexpectedEOF},
		"half a page":          {answer: wire("HTTP/1.1 206 Partial Content\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nab", ""), err: anyError},
		"another protocol":     {answer: wire("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "x"), err: anyError},
		"status 999":           {answer: wire("HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n", ""), err: anyError},
		"redirects for ever":   {answer: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) }, err: web.ErrRedirects},
		"redirect to itself": {answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusMovedPermanently)
		}, err: web.ErrRedirects},
		"redirect with a bomb": {answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "x")
			w.WriteHeader(http.StatusFound)
			body(kind, "", "endless ", endless)(w, r)
		}, err: anyError},
		"endless error": {answer: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			body(kind, "", "endless ", endless)(w, r)
		}, err: anyError},
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
		}, err: anyError}
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

// atOnce is how often a host gives the same answer at one time: as many as run
// ahead after one step by default.
const atOnce = 3

func TestAHostileCorpusCostsLittleTimeAndAtMost64MiB(t *testing.T) {
	for name, c := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			f, url := serveWith(t, web.Config{IgnoreRobots: true, Timeout: patienceFor(c)}, c.answer)
			f.Close()
			ahead := actions.WithCall(t.Context(), actions.Call{Ahead: true})
			began := time.Now()
			var pages [atOnce]*web.Page
			var errs [atOnce]error
			live, heap := peak(t, func() {
				var all sync.WaitGroup
				for i := range atOnce {
					all.Go(func() { pages[i], errs[i] = f.Do(ahead, visit(t, fmt.Sprint(url, "/", i))) })
				}
				all.Wait()
			})
			for i := range pages {
				checkHostile(t, c, f, pages[i], errs[i])
			}
			assert.Less(t, time.Since(began), slowdown*20*time.Second)
			if live > 16<<20 {
				t.Logf("%s: peak of live memory %d MiB, of the heap %d MiB", name, live>>20, heap>>20)
			}
			assert.LessOrEqual(t, live>>20, int64(64), "MiB of live memory")
		})
	}
}

// patienceFor is short for what never ends.
func patienceFor(c trap) time.Duration {
	if errors.Is(c.err, os.ErrDeadlineExceeded) {
		return 300 * time.Millisecond
	}
	return slowdown * 15 * time.Second
}

func checkHostile(t *testing.T, c trap, f *web.Fetcher, p *web.Page, err error) {
	switch {
	case c.err != nil:
		assert.True(t, p == nil, "a page")
		if assert.True(t, err != nil, "no error") && !errors.Is(c.err, anyError) {
			assert.ErrorIs(t, err, c.err)
		}
		if !errors.Is(c.err, os.ErrDeadlineExceeded) {
			assert.NotErrorIs(t, err, os.ErrDeadlineExceeded)
		}
		assert.Less(t, len(fmt.Sprint(err)), 2000)
	case assert.NoError(t, err):
		assert.LessOrEqual(t, len(p.HTML()), 8<<20)
		v := p.View()
		assert.LessOrEqual(t, len(v.Text), 64<<10+4*len(p.HTML()))
		for _, l := range p.Links()[:min(len(p.Links()), 1000)] {
			checkLabel(t, l.Label)
		}
		_, keep := f.Environment().Fresh(actions.Action{}, p)
		assert.Equal(t, !c.forgotten, keep)
	}
}

// peak returns the most memory above what there was before that run has live, as
// the garbage collector finds it again and again, and the most that the heap's
// objects take, garbage among them.
func peak(t *testing.T, run func()) (live, heap int64) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	before, _ := inUse()
	done, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			select {
			case <-done:
				return
			default:
			}
			nowLive, nowHeap := inUse()
			live, heap = max(live, nowLive-before), max(heap, nowHeap-before)
		}
	}()
	run()
	close(done)
	<-sampled
	return live, heap
}

// inUse collects garbage and returns what is live after that, and what the heap's
// objects took before.
func inUse() (live, heap int64) {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s[:1])
	runtime.GC()
	metrics.Read(s[1:])
	return int64(s[1].Value.Uint64()), int64(s[0].Value.Uint64())
}

func TestAHostileRobotsFileCostsLittleTimeAndAtMost64MiB(t *testing.T) {
	const endless = 1 << 30
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"endless":         body("text/plain", "User-agent: *\n", "Allow: /a\n", endless),
		"an endless line": body("text/plain", "User-agent: *\nDisallow: /", "a", endless),
		"binary":          body("application/octet-stream", "", "\x00\xff\r\x1b", 200_000),
		"rules":           body("text/plain", "User-agent: *\n", "Allow:/\n", 64_000),
		"escapes":         body("text/plain", "User-agent: *\n", "Allow:/%61\n", 46_000),
		"stars":           body("text/plain", "User-agent: *\n", "Disallow: /"+strings.Repeat("*a", 500)+"$\n", 500),
		"groups":          body("text/plain", "", "User-agent: *\nDisallow: /x\n", 20_000),
		"bomb":            bomb(t),
		"redirects":       func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) },
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/robots.txt") {
					answer(w, r)
					return
				}
				writeHTML(w, "<p>page")
			}))
			defer srv.Close()
			ahead := actions.WithCall(t.Context(), actions.Call{Ahead: true})
			began := time.Now()
			live, _ := peak(t, func() {
				var all sync.WaitGroup
				for range atOnce { // as if each had a host of its own
					all.Go(func() {
						f := web.New(web.Config{Guard: web.Guard{Allow: web.Loopback()}})
						defer f.Close()
						_, err := f.Do(ahead, visit(t, srv.URL+"/"+strings.Repeat("a", 2000)))
						if e, refused := errors.AsType[*web.PolicyError](err); refused {
							assert.Equal(t, "robots", e.Rule)
						} else {
							assert.NoError(t, err)
						}
					})
				}
				all.Wait()
			})
			assert.Less(t, time.Since(began), slowdown*10*time.Second)
			assert.LessOrEqual(t, live>>20, int64(64), "MiB of live memory")
		})
	}
}
