package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	neturl "net/url"
	"os"
	"strings"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// Config says how a Fetcher fetches. The zero Config is a good one; fields
// that are zero or negative mean their default.
type Config struct {
	// Transport makes the requests of all scopes whose Identity has none. It is
	// the place for rate limits, and must not follow redirects itself. Nil means
	// connections of each scope's own, for HTTP/1.1 and HTTP/2, that keep to
	// Guard and ignore the proxies of the process's environment: as many as the
	// target needs, since what runs ahead is bounded by speccache's
	// Config.MaxAheadHost. Of these, 32 of a scope are kept idle, 16 per host,
	// for the 256 scopes that visited last.
	Transport http.RoundTripper

	// Guard says which addresses the fetcher's own pool connects to, for the
	// target and for runs ahead. The zero Guard refuses all that are not public,
	// this machine's among them. It has no part in a Transport of your own: use
	// its DialContext there.
	Guard Guard

	// Identity says who a scope is to hosts: its cookies and credentials. It is
	// asked at each visit and each guess, must answer at once and, for one scope,
	// always alike: with the same Jar. Scopes without a name and runs for a Public
	// rule are not asked about, and are nobody. It is called concurrently. Nil:
	// all are nobody.
	Identity func(scope string) Identity

	// Timeout bounds a visit from the first request to the last byte. Zero
	// means 90 seconds, since some sites take a minute. A context may end it
	// sooner.
	Timeout time.Duration

	// MaxBytes bounds the body of a page, decompressed, and its markup as UTF-8.
	// Zero means 8 MiB.
	MaxBytes int64

	// MaxRedirects bounds the redirects of a visit. Zero means 10; a negative
	// number means that none is followed.
	MaxRedirects int

	// UserAgent is what requests say they come from. Empty means
	// "speccache/0 (+https://github.com/speccache/speccache-go)".
	UserAgent string

	// IgnoreRobots lets runs ahead ask for what the host's robots.txt forbids
	// to the UserAgent's first product, such as "speccache", or to everybody.
	// By default each run ahead at a new scheme, host and port reads that file
	// before, which is remembered for a day. The target's own visits are never
	// subject to it. A Crawl-delay is not heeded; speccache's
	// Config.MaxAheadHost bounds what runs at once.
	IgnoreRobots bool

	// AheadHosts are hosts that runs ahead may ask although no page of the
	// session is there: "docs.example.org" for its ports 80 and 443,
	// "docs.example.org:8443" for another one, each exactly as in canonical
	// URLs. Redirects of runs ahead may lead there too. Nil: only hosts that the
	// session is on, at ports 80 and 443 and those where the target itself went.
	AheadHosts []string

	// AheadTemplates are URLs that runs ahead may ask for although no page of the
	// session links to them, each with what may fill it: see [NewTemplate]. The
	// other rules hold for them too, but that their hosts need no listing. Nil:
	// only links.
	AheadTemplates []Template

	// AheadRefuse returns the rule, as one word for counters, by which a
	// canonical URL is not asked for ahead, or "". It comes after the rules of
	// [PolicyError] and narrows them, for guesses and for redirects of runs
	// ahead. It is called concurrently. Nil refuses nothing.
	AheadRefuse func(url string) (rule string)
}

// A Fetcher reads web pages over HTTP. Each scope has connections of its own,
// and the cookies and credentials of its [Identity] only. It is safe for
// concurrent use.
type Fetcher struct {
	cfg     Config
	pools   pools
	hosts   map[string]bool            // Config.AheadHosts
	listed  map[actions.Action]verdict // Config.AheadTemplates
	origins origins
	pauses  pauses
}

// New returns a Fetcher.
func New(cfg Config) *Fetcher {
	f := &Fetcher{cfg: cfg, pools: pools{guard: cfg.Guard}, hosts: map[string]bool{}, listed: listed(cfg.AheadTemplates)}
	for _, host := range cfg.AheadHosts {
		f.hosts[host] = true
	}
	f.cfg.Timeout = positive(cfg.Timeout, 90*time.Second)
	f.cfg.MaxBytes = positive(cfg.MaxBytes, 8<<20)
	f.cfg.MaxRedirects = max(cmp.Or(cfg.MaxRedirects, 10), 0)
	f.cfg.UserAgent = cmp.Or(cfg.UserAgent, "speccache/0 (+https://github.com/speccache/speccache-go)")
	return f
}

func positive[N int | int64 | time.Duration](n, byDefault N) N {
	if n > 0 {
		return n
	}
	return byDefault
}

// Close closes idle connections, except those of transports that are not the
// fetcher's. Visits that run go on, and new ones would open connections again.
func (f *Fetcher) Close() { f.pools.close() }

// Do visits a page: it is an Executor for visit {"url": ...}. It returns a
// page only if the host sent a whole one with status 200 or 203. Other answers
// are errors: [*StatusError], [*ContentTypeError], [*URLError], and errors
// that wrap [ErrTooLarge], [ErrRedirects], [os.ErrDeadlineExceeded] for
// Config.Timeout, or what the transport and the context say.
//
// A click means nothing here: sessions resolve it against the page in view,
// and so does [Page.Click].
//
// A run ahead ([actions.Call]) sends "Sec-Purpose: prefetch", and ends with a
// [*PolicyError] where a redirect leaves the host or https, or sounds like an action.
func (f *Fetcher) Do(ctx context.Context, a actions.Action) (*Page, error) {
	switch a.Name() {
	case visitName:
	case clickName:
		return nil, errNoPage
	default:
		return nil, fmt.Errorf("web: action %.80q: a fetcher knows visit and click", a.Name())
	}
	to, err := addressOf(a)
	if err != nil {
		return nil, err
	}
	return f.fetch(ctx, to, nil)
}

// fetch visits a page, and asks only for what has changed since an old one, which
// may be nil.
func (f *Fetcher) fetch(caller context.Context, first address, old *Page) (*Page, error) {
	ctx, cancel := context.WithTimeout(caller, f.cfg.Timeout)
	defer cancel()
	to, v := first, f.as(actions.CallFrom(caller))
	var life lifetime
	for range f.cfg.MaxRedirects + 1 {
		if err := f.admit(ctx, v, to); err != nil {
			return nil, f.failed(caller, ctx, to, err)
		}
		page, next, err := f.hop(ctx, v, to, &life, old)
		switch {
		case err != nil:
			return nil, f.failed(caller, ctx, to, err)
		case page != nil:
			page.requested, page.life, page.by = first.url, life, f
			return page, nil
		}
		v.follow(to, next)
		to = next
	}
	return nil, fmt.Errorf("web: %s: stopped after %d redirects, at %s: %w",
		first.url, f.cfg.MaxRedirects, to.url, ErrRedirects)
}

// failed tells the fetcher's own deadline from the caller's.
func (f *Fetcher) failed(caller, ctx context.Context, at address, err error) error {
	if ctx.Err() == nil || caller.Err() != nil {
		return err
	}
	return fmt.Errorf("web: %s: no whole page within %v (Config.Timeout): %w",
		at.url, f.cfg.Timeout, os.ErrDeadlineExceeded)
}

// hop makes one request. It returns the page, or where to ask next.
func (f *Fetcher) hop(ctx context.Context, v *visitor, to address, life *lifetime, old *Page) (*Page, address, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asked := time.Now()
	req, err := f.newRequest(ctx, to, "text/html,application/xhtml+xml")
	if err != nil {
		return nil, address{}, fmt.Errorf("web: %s: %w", to.url, err)
	}
	condition(req, to, old)
	v.sign(req, to)
	resp, err := f.send(f.via(v), req, to)
	if err != nil {
		return nil, address{}, fmt.Errorf("web: %s: %w", to.url, err)
	}
	defer resp.Body.Close()
	if err := f.heed(ctx, v, to, resp); err != nil {
		cancel()
		return nil, address{}, err
	}
	same := notModified(resp, req, old)
	if same {
		unchanged(resp, old)
	}
	life.limit(v.judged(resp, req), asked, v.call.Ahead)
	life.private = life.private || v.carried
	if same {
		drain(resp.Body, cancel)
		return old.again(resp.Header), address{}, nil
	}
	if next, err := f.answer(ctx, resp, to); err != nil || next.url != "" {
		drain(resp.Body, cancel)
		return nil, next, err
	}
	body, err := f.read(ctx, resp)
	if err != nil {
		return nil, address{}, fmt.Errorf("web: %s: %w", to.url, err)
	}
	page, err := newPage(to, resp, body, f.cfg.MaxBytes)
	return page, address{}, err
}

// newRequest returns a request that does not say who asks.
func (f *Fetcher) newRequest(ctx context.Context, to address, accept string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.url, nil)
	if err != nil {
		return nil, err
	}
	exact(req.URL, to)
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", f.cfg.UserAgent)
	if actions.CallFrom(ctx).Ahead {
		req.Header.Set("Sec-Purpose", "prefetch")
	}
	return req, nil
}

func (f *Fetcher) send(via http.RoundTripper, req *http.Request, to address) (*http.Response, error) {
	resp, err := via.RoundTrip(req)
	if err == nil {
		f.pauses.note(to.host, resp)
	}
	return resp, err
}

// exact makes net/http ask for the path as the address has it, where it would
// escape more: the key names what was asked for.
func exact(u *neturl.URL, to address) {
	if u.RequestURI() != to.path() {
		u.Opaque, _, _ = strings.Cut(to.path(), "?")
	}
}

// answer judges a response before its body is read: it returns an error, or
// where a redirect leads, or neither if there is a page to read.
func (f *Fetcher) answer(ctx context.Context, resp *http.Response, from address) (next address, err error) {
	location := resp.Header.Get("Location")
	switch resp.StatusCode {
	case http.StatusOK, http.StatusNonAuthoritativeInfo:
		return address{}, checkType(resp, from)
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if location != "" {
			return f.redirect(ctx, from, location)
		}
	}
	return address{}, &StatusError{URL: from.url, Code: resp.StatusCode}
}

func checkType(resp *http.Response, from address) error {
	sent := resp.Header.Get("Content-Type")
	if coded(resp.Header) {
		return &ContentTypeError{URL: from.url, Type: sent, Encoding: strings.Join(resp.Header.Values("Content-Encoding"), ", ")}
	}
	switch media, _, _ := mime.ParseMediaType(sent); media {
	case "text/html", "application/xhtml+xml":
		return nil
	}
	return &ContentTypeError{URL: from.url, Type: sent}
}

// redirect returns where a redirect leads. What runs ahead was permitted for
// one host and one reading URL; a redirect can't widen that.
func (f *Fetcher) redirect(ctx context.Context, from address, location string) (address, error) {
	r, err := newResolver(from.url, "")
	if err != nil {
		return address{}, err
	}
	to, _, err := r.resolve(location)
	if err != nil {
		return address{}, fmt.Errorf("web: %s: redirect: %w", from.url, err)
	}
	if actions.CallFrom(ctx).Ahead {
		if rule := f.ruleFor(from, to); rule != "" {
			return address{}, &PolicyError{Rule: rule, URL: to.url, redirected: true}
		}
	}
	return to, nil
}

// ruleFor returns the rule by which a run ahead does not follow a redirect, or
// "".
func (f *Fetcher) ruleFor(from, to address) string {
	switch {
	case !reaches(from.host, to.host) && !f.hosts[to.host]:
		return "host"
	case downgrade(from.url, to.url):
		return "downgrade"
	}
	return f.refusal(to.url)
}

// read returns the whole body or an error.
func (f *Fetcher) read(ctx context.Context, resp *http.Response) (string, error) {
	limit := f.cfg.MaxBytes
	if resp.ContentLength > limit {
		return "", tooLarge(limit)
	}
	var body strings.Builder
	body.Grow(int(max(resp.ContentLength, 0)))
	n, err := io.Copy(&body, io.LimitReader(counted{ctx, resp.Body}, limit+1))
	switch {
	case n > limit:
		return "", tooLarge(limit)
	case err != nil:
		return "", fmt.Errorf("reading the page: %w", err)
	case resp.ContentLength >= 0 && n != resp.ContentLength:
		return "", fmt.Errorf("reading the page: %d bytes of %d: %w",
			n, resp.ContentLength, io.ErrUnexpectedEOF)
	case body.Cap()-body.Len() > body.Len()/8: // too much for what may be kept for long
		return strings.Clone(body.String()), nil
	}
	return body.String(), nil
}

// counted is a body that says what it has brought.
type counted struct {
	ctx  context.Context // of the run
	body io.Reader
}

func (c counted) Read(p []byte) (n int, err error) {
	n, err = c.body.Read(p)
	actions.Received(c.ctx, n)
	return n, err
}

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: more than %d bytes (Config.MaxBytes)", ErrTooLarge, limit)
}

func newPage(at address, resp *http.Response, body string, limit int64) (*Page, error) {
	text, err := decode(body, resp.Header.Get("Content-Type"), limit)
	if err != nil {
		return nil, fmt.Errorf("web: %s: decoding the page: %w", at.url, err)
	}
	p := &Page{
		url:    at.url,
		host:   at.host,
		status: resp.StatusCode,
		header: ownHeader(resp.Header),
		html:   text,
		bytes:  len(body),
	}
	if err := p.scan(); err != nil {
		return nil, err
	}
	return p, nil
}

// ownHeader copies what a header says about the page, and leaves out what its
// Connection line says is about the connection.
func ownHeader(h http.Header) http.Header {
	own := h.Clone()
	for _, line := range h.Values("Connection") {
		for name := range strings.SplitSeq(line, ",") {
			own.Del(strings.TrimSpace(name))
		}
	}
	return own
}

// drain reads what little is left of a body, so that its connection can be
// used again. A body that is long or slow is not worth that: its request is
// cancelled.
func drain(body io.Reader, cancel context.CancelFunc) {
	const most, longest = 64 << 10, 50 * time.Millisecond
	timer := time.AfterFunc(longest, cancel)
	defer timer.Stop()
	if _, err := io.CopyN(io.Discard, body, most); !errors.Is(err, io.EOF) {
		cancel()
	}
}
