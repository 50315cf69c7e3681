package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAVisitReturnsTheWholePage(t *testing.T) {
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Test", "yes")
		writeHTML(w, `<title> A
			page </title><p>Hello</p><a href="next?a=1#frag">Next</a>`)
	})
	p, err := f.Do(t.Context(), visit(t, url+"/dir/index.html#top"))
	require.NoError(t, err)
	assert.Equal(t, url+"/dir/index.html", p.URL())
	assert.Equal(t, url+"/dir/index.html", p.Requested())
	assert.Equal(t, 200, p.Status())
	assert.Equal(t, "A page", p.Title())
	assert.Contains(t, p.Markdown(), "Hello")
	assert.Equal(t, len(p.HTML()), p.Bytes())
	assert.Equal(t, "yes", p.Header().Get("X-Test"))
	require.Len(t, p.Links(), 1)
	link := p.Links()[0]
	assert.Equal(t, "Next", link.Label)
	assert.Equal(t, url+"/dir/next?a=1", link.URL)
	assert.Equal(t, visit(t, link.URL), link.Action)
}

func TestFiftyVisitsInARowUseOneConnection(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"pages": func(w http.ResponseWriter, r *http.Request) { writeHTML(w, "<p>hi</p>") },
		"chunked pages": func(w http.ResponseWriter, r *http.Request) {
			writeHTML(w, "<p>hi</p>")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "<p>more</p>")
		},
		"failures": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, strings.Repeat("sorry ", 1000), http.StatusNotFound)
		},
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/to" {
				http.Redirect(w, r, "/to", http.StatusFound)
				return
			}
			writeHTML(w, "<p>hi</p>")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var opened atomic.Int32
			srv := httptest.NewUnstartedServer(handler)
			srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					opened.Add(1)
				}
			}
			srv.Start()
			defer srv.Close()
			f := web.New(web.Config{Guard: web.Guard{Allow: web.Loopback()}})
			defer f.Close()
			for i := range 50 {
				_, err := f.Do(t.Context(), visit(t, srv.URL+"/"+strconv.Itoa(i)))
				assert.Equal(t, name == "failures", err != nil, err)
			}
			assert.EqualValues(t, 1, opened.Load())
		})
	}
}

func TestARequestSaysWhoAsksAndWhetherItRunsAhead(t *testing.T) {
	seen := make(chan *http.Request, 10)
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		if r.URL.Path == "/hop" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		writeHTML(w, "<p>hi</p>")
	})
	_, err := f.Do(t.Context(), visit(t, url))
	require.NoError(t, err)
	r := <-seen
	assert.Equal(t, http.MethodGet, r.Method)
	assert.Equal(t, "speccache/0 (+https://github.com/speccache/speccache-go)", r.UserAgent())
	assert.Contains(t, r.Header.Get("Accept"), "text/html")
	assert.Empty(t, r.Header.Get("Sec-Purpose"))

	_, err = f.Do(actions.WithCall(t.Context(), actions.Call{Ahead: true}), visit(t, url+"/hop"))
	require.NoError(t, err)
	for range 2 { // on every hop
		r = <-seen
		assert.Equal(t, "prefetch", r.Header.Get("Sec-Purpose"))
		assert.Empty(t, r.Cookies())
		assert.Empty(t, r.Header.Get("Authorization"))
	}

	f, url = serveWith(t, web.Config{UserAgent: "mine/1"}, func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		writeHTML(w, "")
	})
	_, err = f.Do(t.Context(), visit(t, url))
	require.NoError(t, err)
	assert.Equal(t, "mine/1", (<-seen).UserAgent())
}

func TestAnAnswerThatIsNoPageIsATypedErrorAndNeverAPage(t *testing.T) {
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(code)
		if code >= 200 && code != 204 && code != 304 {
			_, _ = io.WriteString(w, "<p>not the page</p>")
		}
	})
	for _, code := range []int{
		201, 202, 204, 205, 206, 226, 300, 301, 302, 303, 304, 305, 307, 308,
		400, 401, 403, 404, 407, 408, 410, 418, 425, 429, 451, 500, 501, 502, 503, 504, 599,
	} {
		p, err := f.Do(t.Context(), visit(t, url+"/"+strconv.Itoa(code)))
		var e *web.StatusError
		if assert.ErrorAs(t, err, &e, code) {
			assert.Equal(t, code, e.Code)
			assert.Contains(t, err.Error(), strconv.Itoa(code))
			assert.Contains(t, err.Error(), url)
		}
		assert.Nil(t, p, code)
	}
	p, err := f.Do(t.Context(), visit(t, url+"/203"))
	require.NoError(t, err)
	assert.Equal(t, 203, p.Status())
}

func TestWhatIsNotHTMLIsNoPage(t *testing.T) {
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("t"))
		if enc := r.URL.Query().Get("e"); enc != "" {
			w.Header().Set("Content-Encoding", enc)
		}
		_, _ = io.WriteString(w, "<p>hi</p>")
	})
	for _, kind := range []string{"", "text/plain", "application/pdf", "image/png", "application/json", "nonsense", "text/htmlx"} {
		_, err := f.Do(t.Context(), visit(t, url+"/?t="+kind))
		var e *web.ContentTypeError
		if assert.ErrorAs(t, err, &e, kind) {
			assert.Equal(t, kind, e.Type)
			assert.Contains(t, err.Error(), "choose another link")
		}
	}
	for _, kind := range []string{"text/html", "TEXT/HTML%3bcharset=utf-8", "application/xhtml%2bxml"} {
		_, err := f.Do(t.Context(), visit(t, url+"/?t="+kind))
		assert.NoError(t, err, kind)
	}
	_, err := f.Do(t.Context(), visit(t, url+"/?t=text/html&e=br"))
	var e *web.ContentTypeError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "br", e.Encoding)
}

func TestABodyOverTheLimitIsAnErrorNotAPart(t *testing.T) {
	zeros := bytes.Repeat([]byte("<p>aaaaaaaa"), 1<<20/10)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 20 {
		_, _ = z.Write(zeros)
	}
	require.NoError(t, z.Close())
	require.Less(t, bomb.Len(), 200<<10)

	f, url := serveWith(t, web.Config{MaxBytes: 1 << 20}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		case "/endless":
			for {
				if _, err := w.Write(zeros); err != nil {
					return
				}
			}
		case "/announced":
			w.Header().Set("Content-Length", "1048577")
			_, _ = w.Write(zeros)
		case "/exact":
			_, _ = w.Write(bytes.Repeat([]byte("a"), 1<<20))
		}
	})
	for _, path := range []string{"/bomb", "/endless", "/announced"} {
		p, err := f.Do(t.Context(), visit(t, url+path))
		assert.ErrorIs(t, err, web.ErrTooLarge, path)
		assert.ErrorContains(t, err, "Config.MaxBytes", path)
		assert.Nil(t, p)
	}
	p, err := f.Do(t.Context(), visit(t, url+"/exact"))
	require.NoError(t, err)
	assert.Equal(t, 1<<20, p.Bytes())
}

func TestACompressedPageCountsAsWhatItHolds(t *testing.T) {
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, strings.Repeat("<p>text</p>", 1000))
		if r.URL.Path == "/cut" {
			_ = z.Flush() // and no trailer
			return
		}
		_ = z.Close()
	})
	p, err := f.Do(t.Context(), visit(t, url))
	require.NoError(t, err)
	assert.Equal(t, 11000, p.Bytes())
	_, err = f.Do(t.Context(), visit(t, url+"/cut"))
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestATruncatedBodyIsAnError(t *testing.T) {
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		head := "Content-Length: 100\r\n\r\n<p>part"
		if r.URL.Path == "/chunked" {
			head = "Transfer-Encoding: chunked\r\n\r\n7\r\n<p>part\r\n"
		}
		_, _ = buf.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + head)
		_ = buf.Flush()
	})
	for _, path := range []string{"/length", "/chunked"} {
		p, err := f.Do(t.Context(), visit(t, url+path))
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF, path)
		assert.Nil(t, p)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestATransportOfOnesOwnIsUsedAndNotTrustedWithTheLength(t *testing.T) {
	var asked []string
	f := web.New(web.Config{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.String())
		if r.URL.Path == "/down" {
			return nil, errors.New("no route")
		}
		return &http.Response{
			StatusCode: 200, ContentLength: 9, Request: r,
			Header: http.Header{"Content-Type": {"text/html"}},
			Body:   io.NopCloser(strings.NewReader("<p>hi" + strings.TrimPrefix(r.URL.Path, "/"))),
		}, nil
	})})
	p, err := f.Do(t.Context(), visit(t, "https://host.example/</p>"))
	require.NoError(t, err)
	assert.Equal(t, 9, p.Bytes())
	_, err = f.Do(t.Context(), visit(t, "https://host.example/"))
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = f.Do(t.Context(), visit(t, "https://host.example/down"))
	assert.ErrorContains(t, err, "no route")
	assert.ErrorContains(t, err, "https://host.example/down")
	assert.Len(t, asked, 3)
	f.Close()
}

func TestARedirectedPageKnowsBothItsURLs(t *testing.T) {
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a":
			w.Header().Set("Location", "b/#frag")
			w.WriteHeader(http.StatusPermanentRedirect)
		case "/b/":
			writeHTML(w, `<a href="c">C</a>`)
		}
	})
	p, err := f.Do(t.Context(), visit(t, url+"/a"))
	require.NoError(t, err)
	assert.Equal(t, url+"/b/", p.URL())
	assert.Equal(t, url+"/a", p.Requested())
	assert.Equal(t, url+"/b/c", p.Links()[0].URL)
}

func TestRedirectsEndSomewhere(t *testing.T) {
	hops := 0
	handler := func(w http.ResponseWriter, r *http.Request) {
		hops++
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if n == 0 {
			writeHTML(w, "<p>arrived</p>")
			return
		}
		http.Redirect(w, r, "/"+strconv.Itoa(n-1), http.StatusFound)
	}
	f, url := serve(t, handler)
	_, err := f.Do(t.Context(), visit(t, url+"/10"))
	assert.NoError(t, err)
	hops = 0
	p, err := f.Do(t.Context(), visit(t, url+"/11"))
	assert.ErrorIs(t, err, web.ErrRedirects)
	assert.Nil(t, p)
	assert.Equal(t, 11, hops)

	none, url := serveWith(t, web.Config{MaxRedirects: -1}, handler)
	_, err = none.Do(t.Context(), visit(t, url+"/1"))
	assert.ErrorIs(t, err, web.ErrRedirects)
	_, err = none.Do(t.Context(), visit(t, url+"/0"))
	assert.NoError(t, err)
}

func TestARedirectStaysOnTheWeb(t *testing.T) {
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.WriteHeader(http.StatusFound)
	})
	for _, to := range []string{
		"file:///etc/passwd", "javascript:alert(1)", "data:text/html,hi", "ftp://host/", "about:blank",
		"http://user:pw@127.0.0.1/", "http://[::1", "http://%31%32%37.0.0.1:99999/",
	} {
		p, err := f.Do(t.Context(), visit(t, url+"/?to="+strings.ReplaceAll(to, "%", "%25")))
		var e *web.URLError
		assert.ErrorAs(t, err, &e, to)
		assert.Nil(t, p)
	}
}

func TestARunAheadDoesNotFollowARedirectThatItWasNotPermitted(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writeHTML(w, "<p>other host</p>")
	}))
	defer other.Close()
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/out":
			http.Redirect(w, r, "/logout", http.StatusFound)
		default:
			writeHTML(w, "<p>hi</p>")
		}
	})
	ahead := actions.WithCall(t.Context(), actions.Call{Ahead: true})
	for path, rule := range map[string]string{"/away": "host", "/out": "action-like"} {
		_, err := f.Do(ahead, visit(t, url+path))
		var e *web.PolicyError
		if assert.ErrorAs(t, err, &e, path) {
			assert.Equal(t, rule, e.Rule)
			assert.Equal(t, rule == "host", strings.Contains(err.Error(), "a redirect leads there"))
		}
		_, err = f.Do(t.Context(), visit(t, url+path)) // the target may
		assert.NoError(t, err, path)
	}
}

func TestARunAheadDoesNotFollowARedirectOutOfHTTPS(t *testing.T) {
	var asked []string
	f := web.New(web.Config{IgnoreRobots: true, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.String())
		if r.URL.Path == "/x" {
			return answer(r, http.StatusOK, nil), nil
		}
		to := map[string]string{"/down": "http://site.example/x", "/up": "https://site.example/x"}[r.URL.Path]
		return answer(r, http.StatusFound, http.Header{"Location": {to}}), nil
	})})
	ahead := actions.WithCall(t.Context(), actions.Call{Ahead: true})
	_, err := f.Do(ahead, visit(t, "https://site.example/down"))
	var e *web.PolicyError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "downgrade", e.Rule)
	assert.Equal(t, []string{"https://site.example/down"}, asked)
	_, err = f.Do(ahead, visit(t, "http://site.example/up"))
	require.NoError(t, err)
	_, err = f.Do(t.Context(), visit(t, "https://site.example/down")) // the target may
	require.NoError(t, err)
}

func TestARedirectLeadsARunAheadToTheWebsOwnPortsAndToNoOther(t *testing.T) {
	f := web.New(web.Config{IgnoreRobots: true, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if to := r.URL.Query().Get("to"); to != "" {
			return answer(r, http.StatusFound, http.Header{"Location": {to}}), nil
		}
		return answer(r, http.StatusOK, nil), nil
	})})
	ahead := actions.WithCall(t.Context(), actions.Call{Ahead: true})
	for to, rule := range map[string]string{
		"http://site.example/": "", "https://site.example/": "", "http://site.example:8080/": "",
		"http://site.example:8443/": "host", "http://other.example/": "host",
	} {
		_, err := f.Do(ahead, visit(t, "http://site.example:8080/?to="+neturl.QueryEscape(to)))
		e, refused := errors.AsType[*web.PolicyError](err)
		if !assert.Equal(t, rule != "", refused, "%s: %v", to, err) || !refused {
			continue
		}
		assert.Equal(t, rule, e.Rule, to)
	}
}

func answer(r *http.Request, code int, h http.Header) *http.Response {
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", "text/html")
	return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader("<p>hi")), ContentLength: -1, Request: r}
}

func TestASlowPageEndsWithItsContext(t *testing.T) {
	for _, path := range []string{"/head", "/body", "/failure"} {
		t.Run(path, func(t *testing.T) {
			begun := make(chan struct{})
			f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/body":
					writeHTML(w, "<p>slow")
					w.(http.Flusher).Flush()
				case "/failure":
					w.WriteHeader(http.StatusInternalServerError)
					w.(http.Flusher).Flush()
				}
				close(begun)
				<-r.Context().Done()
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				<-begun
				if path != "/failure" {
					cancel()
				}
			}()
			p, err := f.Do(ctx, visit(t, url+path))
			assert.Nil(t, p)
			if path == "/failure" { // its body is not worth waiting for
				var e *web.StatusError
				assert.ErrorAs(t, err, &e)
				return
			}
			assert.ErrorIs(t, err, context.Canceled)
		})
	}
}

func TestTheFetchersTimeoutIsNotMistakenForTheCallers(t *testing.T) {
	f, url := serveWith(t, web.Config{Timeout: 20 * time.Millisecond},
		func(w http.ResponseWriter, r *http.Request) {
			writeHTML(w, "<p>slow")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
	_, err := f.Do(t.Context(), visit(t, url))
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.NotErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err, "Config.Timeout")

	f, url = serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = f.Do(ctx, visit(t, url))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestTheURLIsAskedForExactlyAsItIsInTheKey(t *testing.T) {
	asked := make(chan string, 1)
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.RequestURI
		writeHTML(w, "")
	})
	for _, path := range []string{
		"/", "/?", "/a|b", "/a|b?c|d", "/[x]", "/a%2Fb", "/a%2fb", "/~(x)!*';:@&=+$,", "//double//", "/a?b?c", "/?q='x'", "/%E4%B8%AD",
		"/caf\u00e9", "/a^b", "/a b", "/x\"y", "/?q=a\\b",
	} {
		a, err := web.Visit(url + path)
		require.NoError(t, err, path)
		p, err := f.Do(t.Context(), a)
		require.NoError(t, err, path)
		assert.Equal(t, p.URL(), url+<-asked, path)
	}
}

func TestOnlyVisitsAreDone(t *testing.T) {
	f := web.New(web.Config{Guard: web.Guard{Allow: web.Loopback()}})
	_, err := f.Do(t.Context(), click(t, "Calls"))
	assert.ErrorContains(t, err, "Page.Click")
	assert.ErrorContains(t, err, "session")
	_, err = f.Do(t.Context(), actions.Must("search", nil))
	assert.ErrorContains(t, err, `"search"`)
	_, err = f.Do(t.Context(), actions.Action{})
	assert.Error(t, err)
	for _, args := range []string{`{}`, `[]`, `"x"`, `{"url":1}`, `{"url":"nowhere"}`} {
		a, err := actions.Parse("visit", args)
		require.NoError(t, err)
		_, err = f.Do(t.Context(), a)
		assert.ErrorContains(t, err, "web: ", args)
	}
}

func TestAClosedPortIsTheTransportsError(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	_, err := web.New(web.Config{Guard: web.Guard{Allow: web.Loopback()}}).Do(t.Context(), visit(t, srv.URL))
	var op *net.OpError
	assert.ErrorAs(t, err, &op)
}

func TestProxiesOfTheProcessAreNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	var hosts []string
	f, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hosts = append(hosts, r.Host)
		writeHTML(w, "")
	})
	_, err := f.Do(t.Context(), visit(t, url))
	require.NoError(t, err)
	assert.Equal(t, []string{strings.TrimPrefix(url, "http://")}, hosts)
}
