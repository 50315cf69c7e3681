package web

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// How long a robots.txt is believed: RFC 9309 asks for no more than a day. One
// that could not be read forbids everything for a while.
const (
	robotsAge     = 24 * time.Hour
	robotsFailure = time.Minute

	robotsTimeout   = 10 * time.Second // of fetching one
	robotsRedirects = 5
)

// Limits on what is remembered of robots.txt files.
const (
	maxOrigins     = 1024
	maxOriginBytes = 16 << 20 // of their rules
)

// origins remember what the origins that runs ahead asked say in their
// robots.txt, those asked last.
type origins struct {
	mu    sync.Mutex // held for lookups and arithmetic
	known map[site]*list.Element
	order list.List // of *origin, the one asked last in front
	bytes int
}

// A site is an origin, a scheme, host and port, as somebody reaches it.
type site struct {
	origin string
	scope  string // that has a transport of its own, or ""
}

// site returns where a visitor reads an address's robots.txt. That is the same for
// everybody, without credentials, and one scope's reading is good for others: but
// not for who reaches hosts in another way.
func (v *visitor) site(to address) site {
	s := site{origin: to.origin()}
	if v.id.Transport != nil {
		s.scope = v.call.Scope
	}
	return s
}

// An origin is what is known of a site.
type origin struct {
	site site
	turn chan struct{} // whoever puts something in fetches its robots.txt

	said said // guarded by origins.mu
}

// said is what an origin's robots.txt says, for a time.
type said struct {
	rules  robots
	closed bool      // nothing may be asked
	until  time.Time // when that is over; zero if nothing is known
}

func (s *said) allows(path string) (allowed, known bool) {
	known = time.Until(s.until) > 0
	return known && !s.closed && s.rules.allows(path), known
}

// of returns an origin, and remembers it.
func (o *origins) of(at site) *origin {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e := o.known[at]; e != nil {
		o.order.MoveToFront(e)
		return e.Value.(*origin)
	}
	if o.known == nil {
		o.known = map[site]*list.Element{}
	}
	at.origin = strings.Clone(at.origin) // it may be part of a long URL
	r := &origin{site: at, turn: make(chan struct{}, 1)}
	o.known[at] = o.order.PushFront(r)
	o.trim()
	return r
}

// trim forgets what was not asked for longest. It holds o.mu.
func (o *origins) trim() {
	for o.order.Len() > maxOrigins || o.bytes > maxOriginBytes && o.order.Len() > 1 {
		last := o.order.Remove(o.order.Back()).(*origin)
		delete(o.known, last.site)
		o.bytes -= last.said.rules.size()
	}
}

// learn takes what an origin's robots.txt says.
func (o *origins) learn(r *origin, rules robots, closed bool, age time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e := o.known[r.site]; e != nil && e.Value == r { // else it was forgotten
		o.bytes += rules.size() - r.said.rules.size()
	}
	r.said = said{rules, closed, time.Now().Add(age)}
	o.trim()
}

// ask returns what an origin that is known says about a path.
func (o *origins) ask(r *origin, path string) (allowed, known bool) {
	o.mu.Lock()
	said := r.said
	o.mu.Unlock()
	return said.allows(path)
}

// forbidden reports whether a path is known to be forbidden.
func (o *origins) forbidden(at site, path string) bool {
	var said said
	o.mu.Lock()
	if e := o.known[at]; e != nil {
		said = e.Value.(*origin).said
	}
	o.mu.Unlock()
	allowed, known := said.allows(path)
	return known && !allowed
}

// origin returns the scheme, host and port of an address.
func (a address) origin() string {
	scheme := len("http://")
	if secure(a.url) {
		scheme = len("https://")
	}
	return a.url[:scheme+len(a.host)]
}

// obeyRobots returns an error if an origin's robots.txt does not let a run
// ahead ask for an address. Whoever is first at an origin fetches the file, in
// its own time. As soon as a target waits for the run, the file is none of its
// business any more, and nobody waits for it.
func (f *Fetcher) obeyRobots(ctx context.Context, v *visitor, to address) error {
	r, asked := f.origins.of(v.site(to)), actions.Asked(ctx)
	allowed, known := f.origins.ask(r, to.path())
	if !known {
		select {
		case r.turn <- struct{}{}:
			defer func() { <-r.turn }()
		case <-asked:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("web: %s: %w", to.url, ctx.Err())
		}
		if allowed, known = f.origins.ask(r, to.path()); !known {
			f.fetchRobots(ctx, asked, f.viaAll(v), r)
			allowed, known = f.origins.ask(r, to.path())
		}
	}
	switch {
	case allowed || isClosed(asked):
		return nil
	case ctx.Err() != nil && !known:
		return fmt.Errorf("web: %s: %w", to.url, ctx.Err())
	}
	return &PolicyError{Rule: "robots", URL: to.url}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// fetchRobots learns what an origin's robots.txt says, unless the run ends or
// a target waits for it.
func (f *Fetcher) fetchRobots(run context.Context, asked <-chan struct{}, via http.RoundTripper, r *origin) {
	ctx, cancel := context.WithTimeout(run, robotsTimeout)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-asked:
			cancel()
		case <-ctx.Done():
		}
	}()
	defer func() {
		cancel()
		<-watched
	}()
	text, code, err := f.readRobots(ctx, via, r.site.origin)
	switch {
	case err != nil && (run.Err() != nil || isClosed(asked)): // which says nothing
	case err != nil, code >= 500, code == http.StatusTooManyRequests:
		f.origins.learn(r, robots{}, true, robotsFailure)
	case code >= 400: // there is none
		f.origins.learn(r, robots{}, false, robotsAge)
	default:
		f.origins.learn(r, parseRobots(text, productOf(f.cfg.UserAgent)), false, robotsAge)
	}
}

// readRobots follows redirects on the origin's host that any run ahead might
// follow: one that leaves it would take runs ahead to a host that nobody visits.
func (f *Fetcher) readRobots(ctx context.Context, via http.RoundTripper, origin string) (text string, code int, err error) {
	to, err := absolute(origin + "/robots.txt")
	for hops := 0; err == nil; hops++ {
		var next address
		text, code, next, err = f.hopRobots(ctx, via, to)
		switch {
		case err != nil || next.url == "":
			return text, code, err
		case hops == robotsRedirects:
			return "", http.StatusNotFound, nil // RFC 9309, section 2.3.1.2
		case bareHost(next.host) != bareHost(to.host) || f.ruleFor(to, next) != "":
			return "", 0, fmt.Errorf("web: %s: redirect to %s", to.url, next.url)
		}
		to = next
	}
	return "", 0, err
}

// bareHost returns a host without its port.
func bareHost(host string) string {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return host[:i]
	}
	return host
}

func (f *Fetcher) hopRobots(ctx context.Context, via http.RoundTripper, to address) (text string, code int, next address, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := f.newRequest(ctx, to, "text/plain")
	if err != nil {
		return "", 0, address{}, err
	}
	resp, err := f.send(via, req, to)
	if err != nil {
		return "", 0, address{}, err
	}
	defer resp.Body.Close()
	code = resp.StatusCode
	if location := resp.Header.Get("Location"); code >= 300 && code < 400 && location != "" {
		drain(resp.Body, cancel)
		base, err := newResolver(to.url, "")
		if err != nil {
			return "", code, address{}, err
		}
		next, _, err = base.resolve(location)
		return "", code, next, err
	}
	if code < 200 || code >= 300 {
		drain(resp.Body, cancel)
		return "", max(code, http.StatusBadRequest), address{}, nil
	}
	if code == http.StatusPartialContent || coded(resp.Header) { // rules that nobody sees
		cancel()
		return "", code, address{}, fmt.Errorf("web: %s: %w", to.url, errUnreadable)
	}
	if text, err = readStart(counted{ctx, resp.Body}); strings.HasPrefix(text, "\xFF\xFE") || strings.HasPrefix(text, "\xFE\xFF") {
		err = errUnreadable // UTF-16
	}
	return text, code, address{}, err
}

var errUnreadable = errors.New("a robots.txt that is not whole, or not UTF-8")

// readStart reads as much of a robots.txt as counts, in whole lines.
func readStart(body io.Reader) (string, error) {
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(body, maxRobots+1))
	text := b.String()
	if n > maxRobots {
		text = text[:strings.LastIndexAny(text, "\r\n")+1]
	}
	return text, err
}
