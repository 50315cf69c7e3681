package web

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// How long runs ahead leave a host alone that answered 429 or 503: as long as
// its Retry-After says, between these, and else a default.
const (
	minPause     = time.Second
	maxPause     = 10 * time.Minute
	defaultPause = 30 * time.Second
)

// maxPauses is how many hosts are remembered to be busy.
const maxPauses = 1024

// pauses are until when hosts are left alone by runs ahead. The target's own
// visits are not: it sees the host's answer, and decides for itself.
type pauses struct {
	mu    sync.Mutex // held for lookups and arithmetic
	until map[string]time.Time
}

// note takes account of an answer.
func (p *pauses) note(host string, resp *http.Response) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return
	}
	until := time.Now().Add(pauseOf(resp.Header.Get("Retry-After")))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = map[string]time.Time{}
	}
	if until.After(p.until[host]) {
		p.until[host] = until
	}
	if len(p.until) > maxPauses {
		p.forget()
	}
}

// forget drops the pause that ends first. It holds p.mu.
func (p *pauses) forget() {
	first := ""
	for host, until := range p.until {
		if first == "" || until.Before(p.until[first]) {
			first = host
		}
	}
	delete(p.until, first)
}

// pauseOf reads a Retry-After, which is a number of seconds or a date.
func pauseOf(retryAfter string) time.Duration {
	retryAfter = strings.TrimSpace(retryAfter)
	pause, ok := deltaSeconds(retryAfter)
	if !ok {
		at, ok := parseDate(retryAfter)
		if !ok {
			return defaultPause
		}
		pause = time.Until(at)
	}
	return min(max(pause, minPause), maxPause)
}

// busy reports whether a host is to be left alone.
func (p *pauses) busy(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, ok := p.until[host]
	if ok && time.Until(until) <= 0 {
		delete(p.until, host)
		ok = false
	}
	return ok
}
