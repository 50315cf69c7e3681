package web

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// renew asks whether a page still is what its host would send: with the
// validators that came with it, if there are any, so that an unchanged page costs
// no body. It is asked in the background, so what must not run ahead is not
// renewed either, though the target has visited it.
func (f *Fetcher) renew(ctx context.Context, a actions.Action, old *Page) (*Page, bool, error) {
	to, err := addressOf(a)
	if err != nil {
		return nil, false, err
	}
	if old == nil || old.by != f {
		return nil, false, errNotMine
	}
	if rule := f.refusal(to.url); rule != "" {
		return nil, false, &PolicyError{Rule: rule, URL: to.url}
	}
	p, err := f.fetch(ctx, to, old)
	if err != nil {
		return nil, false, err
	}
	same := p.url == old.url && p.html == old.html && !p.life.stricter(old.life)
	return p, !same, nil
}

// errNotMine is why a page is not renewed that another executor has read: it may
// have asked as somebody else.
var errNotMine = errors.New("web: only pages that this Fetcher has read itself are renewed by it")

// refusal returns the rule by which a URL is never asked for ahead, or "".
func (f *Fetcher) refusal(url string) string {
	if rule := ruleOfURL(url); rule != "" {
		return rule
	}
	return f.refuses(url)
}

// refuses returns the rule by which the application refuses a URL, or "".
func (f *Fetcher) refuses(url string) string {
	if f.cfg.AheadRefuse == nil {
		return ""
	}
	return f.cfg.AheadRefuse(url)
}

// condition makes a request one for what has changed since an old page, if that
// was found at this very address.
func condition(req *http.Request, to address, old *Page) {
	if old == nil || old.url != to.url {
		return
	}
	if tag := old.header.Get("ETag"); tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	if since := old.header.Get("Last-Modified"); since != "" {
		req.Header.Set("If-Modified-Since", since)
	}
}

// notModified reports whether an answer says that the old page still is what the
// host would send. A host is believed that was asked, and does not name another
// version in the same breath: else what is old would be renewed again and again
// under the new one's name.
func notModified(resp *http.Response, req *http.Request, old *Page) bool {
	asked := req.Header.Get("If-None-Match") != "" || req.Header.Get("If-Modified-Since") != ""
	if resp.StatusCode != http.StatusNotModified || !asked {
		return false
	}
	if was, is := old.header.Get("ETag"), resp.Header.Get("ETag"); was != "" && is != "" {
		return strings.TrimPrefix(was, "W/") == strings.TrimPrefix(is, "W/") // which is enough: RFC 9110, section 8.8.3.2
	}
	was, is := old.header.Get("Last-Modified"), resp.Header.Get("Last-Modified")
	return was == "" || is == "" || was == is
}

// unchanged makes an answer 304 into the one that it stands for: RFC 9111,
// section 4.3.4. What it says about the body is about its own, which is empty.
func unchanged(resp *http.Response, old *Page) {
	header, news := old.header.Clone(), ownHeader(resp.Header)
	for _, name := range []string{"Content-Length", "Content-Encoding", "Content-Range"} {
		news.Del(name)
	}
	maps.Copy(header, news)
	resp.Header, resp.StatusCode = header, old.status
}

// again returns the same page with a header and a life of its own.
func (p *Page) again(header http.Header) *Page {
	return &Page{
		url: p.url, requested: p.requested, host: p.host, status: p.status, header: header,
		html: p.html, bytes: p.bytes, text: p.text, title: p.title, links: p.links, urls: p.urls, refs: p.refs,
	}
}

// stricter reports whether a page may not be served for as long as another one.
func (l lifetime) stricter(other lifetime) bool {
	const slack = 5 * time.Second // hosts have clocks of whole seconds, and caches before them
	return l.none || l.private != other.private || l.maxAge > 0 && (other.maxAge == 0 || l.maxAge < other.maxAge-slack)
}
