package suites

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A cacheSuite is an object of the suite http-cache-tests; its schema says what
// the fields mean.
type cacheSuite struct {
	ID    string
	Tests []*cacheCase
}

type cacheCase struct {
	ID          string
	Kind        string
	CDNOnly     bool `json:"cdn_only"`
	BrowserSkip bool `json:"browser_skip"`
	Requests    []*cacheRequest
}

type cacheRequest struct {
	Method          string          `json:"request_method"`
	RequestHeaders  [][]any         `json:"request_headers"`
	RequestBody     string          `json:"request_body"`
	Query           string          `json:"query_arg"`
	File            string          `json:"filename"`
	Cache           string          `json:"cache"`
	Interim         [][]any         `json:"interim_responses"`
	ExpectInterim   [][]any         `json:"expected_interim_responses"`
	Status          []any           `json:"response_status"`
	Headers         [][]any         `json:"response_headers"`
	Body            json.RawMessage `json:"response_body"`
	Pause           float64         `json:"response_pause"`
	Disconnect      bool            `json:"disconnect"`
	OldDates        []string        `json:"rfc850date"`
	PauseAfter      bool            `json:"pause_after"`
	Setup           bool            `json:"setup"`
	SetupTests      []string        `json:"setup_tests"`
	ExpectType      string          `json:"expected_type"`
	ExpectStatus    json.RawMessage `json:"expected_status"`
	ExpectHeaders   []any           `json:"expected_response_headers"`
	ExpectNoHeaders []any           `json:"expected_response_headers_missing"`
	ExpectRequest   [][]any         `json:"expected_request_headers"`
	ExpectText      *string         `json:"expected_response_text"`
	MagicIMS        bool            `json:"magic_ims"`
}

const (
	required = "required"
	optimal  = "optimal"
)

// kind is required where the case does not say.
func (c *cacheCase) kind() string {
	if c.Kind == "" {
		return required
	}
	return c.Kind
}

// unplayable says why a case can't be played: it needs what no fetch of a page
// does or shows.
func (c *cacheCase) unplayable() string {
	for _, r := range c.Requests {
		switch {
		case c.CDNOnly:
			return "for content delivery networks"
		case r.Method == http.MethodHead:
			return "HEAD"
		case r.Cache != "":
			return "fetch's cache modes"
		case r.MagicIMS:
			return "dates that a script rewrites"
		case len(r.ExpectInterim) > 0:
			return "interim answers"
		}
	}
	return ""
}

// subjects are what no cache may get wrong, and how to tell that a case is about
// it.
var subjects = []struct {
	name  string
	about func(*cacheRequest) bool
}{
	{"no-store and private", func(r *cacheRequest) bool {
		return r.answers("cache-control", "no-store") || r.answers("cache-control", "private") || r.answers("cache-control", "no-cache")
	}},
	{"authorization", func(r *cacheRequest) bool { return has(r.RequestHeaders, "authorization", "") }},
	{"vary", func(r *cacheRequest) bool { return r.answers("vary", "") }},
	{"partial", func(r *cacheRequest) bool {
		return has(r.RequestHeaders, "range", "") || len(r.Status) > 0 && r.Status[0] == float64(http.StatusPartialContent)
	}},
	{"invalidation", func(r *cacheRequest) bool { return !r.reads() }},
}

// reads reports whether the request is a visit.
func (r *cacheRequest) reads() bool { return r.Method == "" || r.Method == http.MethodGet }

func (r *cacheRequest) answers(name, value string) bool { return has(r.Headers, name, value) }

// has reports whether a header of these lines holds a value, in any case.
func has(lines [][]any, name, value string) bool {
	return slices.ContainsFunc(lines, func(h []any) bool {
		text, _ := h[1].(string)
		return strings.EqualFold(h[0].(string), name) && strings.Contains(strings.ToLower(text), value)
	})
}

// excuse says why a case that did not pass does not apply here, or "". What is
// asked of the host again is always right, if not always the fastest.
func (c *cacheCase) excuse(o outcome) string {
	r := o.at
	validated := strings.HasSuffix(r.ExpectType, "_validated")
	switch {
	case o.asked && slices.ContainsFunc(c.Requests, isRange):
		return "ranges of a page are asked of the host"
	case o.asked && (has(r.RequestHeaders, "if-none-match", "") || has(r.RequestHeaders, "if-modified-since", "")):
		return "who sends a validator asks in a scope of its own"
	case o.check == "expected_type" && validated && o.asked:
		return "what is stale is asked for anew, without a validator"
	case o.check == "expected_type" && r.ExpectType == "cached" && o.asked && c.kind() == optimal:
		return "asked for anew"
	case o.check == "expected_type" && r.ExpectType == "cached" && o.asked && o.setup:
		return "to be set up, it has to be kept, and is asked for anew"
	case c.BrowserSkip && slices.ContainsFunc(c.Requests, isForShared):
		return "for shared caches, says the suite, and not for private ones"
	}
	return ""
}

func isRange(r *cacheRequest) bool { return has(r.RequestHeaders, "range", "") }

func isForShared(r *cacheRequest) bool {
	return r.answers("cache-control", "s-maxage") || r.answers("cache-control", "private")
}

// value writes a header's value: numbers are seconds from now on in dates.
func (r *cacheRequest) value(h []any, now time.Time) string {
	seconds, ok := h[1].(float64)
	if !ok {
		text, _ := h[1].(string)
		return text
	}
	name := strings.ToLower(h[0].(string))
	if !slices.Contains([]string{"date", "expires", "last-modified", "if-modified-since"}, name) {
		return strconv.Itoa(int(seconds))
	}
	format := http.TimeFormat
	if slices.ContainsFunc(r.OldDates, func(old string) bool { return strings.EqualFold(old, name) }) {
		format = "Monday, 02-Jan-06 15:04:05 GMT"
	}
	return now.UTC().Add(time.Duration(seconds) * time.Second).Format(format)
}
