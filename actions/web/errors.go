package web

import (
	"errors"
	"fmt"
	"net/http"
	neturl "net/url"
	"regexp"
	"strings"

	whatwgerrors "github.com/nlnwa/whatwg-url/errors"
)

var (
	// ErrTooLarge says that a body is longer than Config.MaxBytes, or that its
	// links add up to too much. A page that was cut off would be a wrong
	// observation, so there is none.
	ErrTooLarge = errors.New("the page is too large")

	// ErrRedirects says that a page was not found within
	// Config.MaxRedirects redirects.
	ErrRedirects = errors.New("too many redirects")
)

var (
	errNoPage = errors.New("web: click needs a page in view: visit a page first, " +
		"and click through a session or Page.Click")
	errNoLabel = errors.New(`web: click needs {"label": "the text of a link"}`)
	errNoURL   = errors.New(`web: visit needs {"url": "https://..."}`)
)

// A URLError is a URL that is not visited: it does not parse, is not http or
// https, or could be read as two different hosts.
type URLError struct {
	URL    string // as it was given
	Reason string // what is wrong with it
	Err    error  // the parser's error; may be nil
}

// Error says what is wrong, without a user or password that the URL names.
func (e *URLError) Error() string {
	msg := fmt.Sprintf("web: URL %.200q: %s", withoutUser(e.URL), e.Reason)
	if why := cause(e.Err); why != "" && e.Reason != reasonRelative {
		msg += ": " + why
	}
	return msg
}

// cause returns what a parser says, without the URL that it repeats.
func cause(err error) string {
	if e, ok := errors.AsType[*whatwgerrors.ValidationError](err); ok {
		return string(e.Type())
	}
	if e, ok := errors.AsType[*neturl.Error](err); ok {
		err = e.Err
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// withoutUser leaves out what stands before the last @ of a URL that was
// refused: more than a user and password perhaps, and never less.
func withoutUser(url string) string {
	end := len(url)
	if i := strings.IndexAny(url, "?#"); i >= 0 {
		end = i
	}
	at := strings.LastIndexByte(url[:end], '@')
	if at < 0 {
		return url
	}
	scheme, rest := cutScheme(url)
	if !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, `\`) {
		return "..." + url[at:]
	}
	return scheme + "://..." + url[at:]
}

func (e *URLError) Unwrap() error { return e.Err }

// A StatusError is an answer that holds no page: any status but 200 and 203,
// apart from the redirects that were followed.
type StatusError struct {
	URL  string // that answered, after redirects
	Code int    // HTTP status code
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("web: %s: status %d %s: %s",
		e.URL, e.Code, http.StatusText(e.Code), advice(e.Code))
}

func advice(code int) string {
	switch {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return "the page wants a permission that this fetcher does not carry"
	case code == http.StatusNotFound, code == http.StatusGone:
		return "there is no such page, choose another link"
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		return "the host is busy, ask again later and less often"
	case code >= 500:
		return "the host failed, ask again later"
	case code >= 300 && code < 400:
		return "the redirect can't be followed"
	case code >= 200 && code < 300:
		return "the answer is not a whole page"
	}
	return "the host refuses the request, choose another link"
}

// A ContentTypeError is an answer that is not HTML, or is coded in a way that
// nobody asked for.
type ContentTypeError struct {
	URL      string // that answered, after redirects
	Type     string // its Content-Type, as sent
	Encoding string // its Content-Encoding, if that is the problem
}

func (e *ContentTypeError) Error() string {
	if e.Encoding != "" {
		return fmt.Sprintf("web: %s: content encoding %.80q: only what the transport decodes can be read",
			e.URL, e.Encoding)
	}
	return fmt.Sprintf("web: %s: content type %.80q: only HTML is a page, choose another link", e.URL, e.Type)
}

// A LabelError is a click that names no page, or more than one.
type LabelError struct {
	Label     string
	Page      string // the URL of the page in view
	Ambiguous bool   // several pages have links with this label

	// Choices are what the click could mean, at most 20: the URLs that an
	// ambiguous label stands for, or else the page's labels, nearest first.
	Choices []string

	more int // choices that were left out
}

func (e *LabelError) Error() string {
	var b strings.Builder
	switch {
	case e.Ambiguous:
		fmt.Fprintf(&b, "web: label %.80q on %s leads to different pages: visit one of ", e.Label, e.Page)
	case len(e.Choices) == 0:
		fmt.Fprintf(&b, "web: no link on %s is labelled %.80q: it has no links", e.Page, e.Label)
	default:
		fmt.Fprintf(&b, "web: no link on %s is labelled %.80q: click one of ", e.Page, e.Label)
	}
	for i, c := range e.Choices {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%.200q", c)
	}
	if e.more > 0 {
		fmt.Fprintf(&b, " and %d more", e.more)
	}
	return b.String()
}

// A PolicyError is a guess that may not run ahead. The target may still visit
// the URL: it chooses, a draft only picks.
type PolicyError struct {
	// Rule is what forbids it, as one word for counters: "scheme" (not http
	// or https, or no URL at all), "provenance" (no page of the session links
	// to it, and no template has it), "host" (no page of the session is on its
	// host and port, or on its host if that port is 80 or 443),
	// "downgrade" (only by https, and this is http),
	// "action-like" (it sounds like doing rather than reading, by the words of
	// its URL or what the page says of the link, or it may work only once), "download" (the link offers a file), "in view" (it
	// is the page that the target looks at), "unresolved" (no visit), "robots"
	// (the host's robots.txt does not allow it, or could not be read),
	// "backoff" (the host answered 429 or 503 a moment ago), "credentials" (the
	// target would send cookies or credentials there, which its scope does not
	// lend), "cookie" (the answer changes the scope's cookies), or what
	// Config.AheadRefuse says.
	Rule string
	URL  string

	redirected bool // a redirect led there
}

// Error says what the rule means. The URL is shown as it is, except that one
// which may work only once is shown without the values in its query.
func (e *PolicyError) Error() string {
	url := e.URL
	switch e.Rule {
	case "scheme":
		url = withoutUser(url)
	case "action-like":
		path, query, _ := strings.Cut(url, "?")
		if query != "" {
			url = path + "?" + values.ReplaceAllString(query, "=...")
		}
	}
	msg := fmt.Sprintf("web: %.200q may not run ahead: rule %q", url, e.Rule)
	if means := e.means(); means != "" {
		msg += ": " + means
	}
	return msg
}

// RefusalRule returns Rule, by which speccache counts refusals.
func (e *PolicyError) RefusalRule() string { return e.Rule }

var values = regexp.MustCompile(`=[^&;]+`)

func (e *PolicyError) means() string {
	if e.redirected && e.Rule == "host" {
		return "a redirect leads there from another host"
	}
	return meanings[e.Rule]
}

var meanings = map[string]string{
	"scheme":      "it is no http or https URL",
	"provenance":  "no page that the session remembers links to it",
	"host":        "no page that the session remembers is on its host and port, and Config.AheadHosts does not list it",
	"downgrade":   "it is http, and the session reads its host by https",
	"action-like": "its URL or link sounds like doing rather than reading, or it may work only once",
	"download":    "the link offers a file",
	"in view":     "it is the page that the target looks at",
	"unresolved":  "it is no visit of a URL",
	"robots":      "its host's robots.txt does not allow it, or could not be read",
	"backoff":     "its host was busy, and is left alone for a while",
	"credentials": "the target sends cookies or credentials there, and Identity.Lend does not let runs ahead have them",
	"cookie":      "its answer changes the scope's cookies, which only the target's own visit may",
}
