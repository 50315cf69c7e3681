package suites

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// cacheChecks are what a request of the suite http-cache-tests may ask for. Each
// returns what is wrong, or "".
var cacheChecks = []struct {
	name string
	run  func(*cachePlayer, *cacheRequest, *cacheAnswer) string
}{
	{"expected_type", checkType},
	{"expected_request_headers", checkRequest},
	{"expected_status", checkStatus},
	{"expected_response_headers", checkHeaders},
	{"expected_response_headers_missing", checkNoHeaders},
	{"expected_response_text", checkText},
}

func checkType(_ *cachePlayer, r *cacheRequest, a *cacheAnswer) string {
	switch {
	case r.ExpectType == "cached" && (a.request != nil || a.err != nil):
		return "it was not cached"
	case r.ExpectType == "not_cached" && a.request == nil:
		return "it was cached"
	case r.ExpectType == "etag_validated" && (a.request == nil || a.request.Header.Get("If-None-Match") == ""),
		r.ExpectType == "lm_validated" && (a.request == nil || a.request.Header.Get("If-Modified-Since") == ""):
		return "it was not validated"
	}
	return ""
}

func checkRequest(_ *cachePlayer, r *cacheRequest, a *cacheAnswer) string {
	for _, h := range r.ExpectRequest {
		if a.request == nil || a.request.Header.Get(h[0].(string)) != h[1].(string) {
			return "no " + h[0].(string)
		}
	}
	return ""
}

func checkStatus(_ *cachePlayer, r *cacheRequest, a *cacheAnswer) string {
	var want int
	switch {
	case len(r.ExpectStatus) == 0:
		return ""
	case string(r.ExpectStatus) == "null" && a.err == nil:
		return "an answer"
	case string(r.ExpectStatus) == "null":
		return ""
	}
	_ = json.Unmarshal(r.ExpectStatus, &want)
	if a.code != want {
		return strconv.Itoa(a.code)
	}
	return ""
}

func checkHeaders(p *cachePlayer, r *cacheRequest, a *cacheAnswer) string {
	for _, expected := range r.ExpectHeaders {
		h, valued := expected.([]any)
		if !valued {
			h = []any{expected}
		}
		name := h[0].(string)
		got := a.header(name)
		switch len(h) {
		case 1:
			if got == "" {
				return "no " + name
			}
		case 3: // greater than
			if n, err := strconv.Atoi(got); err != nil || float64(n) <= h[2].(float64) {
				return fmt.Sprintf("%s is %q", name, got)
			}
		default:
			if want := r.value(h, p.began); got != want {
				return fmt.Sprintf("%s is %q, not %q", name, got, want)
			}
		}
	}
	return ""
}

// header returns a header of the answer. A page's Age is as it came: what has
// passed since is Result.Age, and a proxy would add the two.
func (a *cacheAnswer) header(name string) string {
	got := a.page.Header().Get(name)
	if name != "Age" || a.age == 0 {
		return got
	}
	seconds, _ := strconv.Atoi(got)
	return strconv.Itoa(seconds + int(a.age/time.Second))
}

func checkNoHeaders(_ *cachePlayer, r *cacheRequest, a *cacheAnswer) string {
	for _, name := range r.ExpectNoHeaders {
		if text, ok := name.(string); ok && a.page.Header().Get(text) != "" {
			return text
		}
	}
	return ""
}

func checkText(p *cachePlayer, r *cacheRequest, a *cacheAnswer) string {
	p.mu.Lock()
	want := p.sent[a.page.Header().Get("Server-Request-Count")]
	p.mu.Unlock()
	if r.ExpectText != nil {
		want = *r.ExpectText
	}
	if a.page != nil && a.page.HTML() != want {
		return fmt.Sprintf("%q, not %q", a.page.HTML(), want)
	}
	return ""
}
