package suites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
)

// An urlRow is an object of the suite wpt-url: of urltestdata.json, or, with an
// output, of toascii.json.
type urlRow struct {
	Input   *string
	Base    *string
	Failure bool
	Href    string
	Hash    string
	Output  json.RawMessage // null: it has to fail; absent: it is a URL's row
}

// playURLs makes visits of URLs and performs them, and compares what was dialled
// and asked for with what the visit says.
func playURLs(r *Result, path string, named bool) error {
	files := []string{path}
	if !named {
		files = []string{filepath.Join(path, "urltestdata.json"), filepath.Join(path, "toascii.json")}
	}
	s := newSurfer()
	defer s.close()
	for _, file := range files {
		var raw []json.RawMessage
		if err := readJSON(file, &raw); err != nil {
			return err
		}
		for i, text := range raw {
			if text[0] != '{' {
				continue // a comment
			}
			var row urlRow
			if err := json.Unmarshal(text, &row); err != nil || row.Input == nil {
				return fmt.Errorf("%s: row %d has no input that can be read: %w", file, i, err)
			}
			r.url(fmt.Sprintf("%s %d, %.80q", filepath.Base(file), i, *row.Input), row, s)
		}
	}
	if r.Total > 0 {
		r.note("visits", fmt.Sprintf("%d, and whatever else is a URL was refused", s.visited))
	}
	return nil
}

// url plays a row. What is refused although it is a URL is safe, and noted.
func (r *Result) url(id string, row urlRow, s *surfer) {
	want := row.canonical()
	r.row(id, want, func() string {
		got := s.surf(row)
		if got == refused && want != refused {
			r.note(id, "refused, and is "+want)
			return want
		}
		return got
	})
}

// canonical is what the suite says that a row becomes: a page's URL, without a
// fragment, or a refusal.
func (row *urlRow) canonical() string {
	if row.Output != nil {
		var host string
		if json.Unmarshal(row.Output, &host) != nil || host == "" {
			return refused
		}
		return "https://" + host + "/x"
	}
	scheme, _, _ := strings.Cut(row.Href, ":")
	if row.Failure || scheme != "http" && scheme != "https" {
		return refused
	}
	return strings.TrimSuffix(strings.TrimSuffix(row.Href, row.Hash), "#")
}

// visit makes the row's action as an agent would: of a URL, or of a link on a page
// with that base.
func (row *urlRow) visit() (actions.Action, error) {
	switch {
	case row.Output != nil:
		return web.Visit("https://" + *row.Input + "/x")
	case row.Base == nil:
		return web.Visit(*row.Input)
	}
	at, base := *row.Base, ""
	if _, err := web.Visit(at); err != nil {
		at, base = "http://page.example/", `<base href="`+html.EscapeString(at)+`">`
		if scheme, _, _ := strings.Cut(*row.Base, ":"); scheme == "data" || scheme == "javascript" {
			return web.Visit(*row.Input) // they can't be a page's base
		}
	}
	page, err := web.Parse(at, base+`<a href="`+html.EscapeString(*row.Input)+`">it</a>`)
	if err != nil {
		return actions.Action{}, err
	}
	if len(page.Links()) == 0 {
		return actions.Action{}, errors.New("no link")
	}
	return page.Links()[0].Action, nil
}

// A surfer visits pages of a network whose server notes what it was asked.
type surfer struct {
	net   *network
	pool  *http.Transport
	fetch *web.Fetcher
	asked []string // by request: host and request URI; one request at a time

	visited int // as their keys say
}

func newSurfer() *surfer {
	s := &surfer{}
	s.net = newNetwork(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked = append(s.asked, r.Host+r.RequestURI)
		w.Header().Set("Content-Type", "text/html")
	}))
	s.pool = s.net.transport()
	s.pool.DisableKeepAlives = true // each visit dials
	s.fetch = web.New(web.Config{Transport: s.pool})
	return s
}

func (s *surfer) close() {
	s.pool.CloseIdleConnections()
	s.net.close()
}

// surf returns the key of a row's visit, or a refusal, or says how what was
// dialled or asked for differs from the key.
func (s *surfer) surf(row urlRow) string {
	a, err := row.visit()
	if err != nil {
		return refused
	}
	var args struct{ URL string }
	if err := a.Decode(&args); err != nil {
		return err.Error()
	}
	s.asked = nil
	before, _ := s.net.traffic()
	if _, err := s.fetch.Do(context.Background(), a); err != nil {
		return fmt.Sprintf("%s, which can't be visited: %v", args.URL, err)
	}
	dialled, _ := s.net.traffic()
	scheme, rest, _ := strings.Cut(args.URL, "://")
	host, _, _ := strings.Cut(rest, "/")
	switch dialled = dialled[len(before):]; {
	case len(dialled) != 1 || dialled[0] != dialling(scheme, host):
		return fmt.Sprintf("%s, for which %q was dialled", args.URL, dialled)
	case len(s.asked) != 1 || s.asked[0] != rest:
		return fmt.Sprintf("%s, for which %q was asked", args.URL, s.asked)
	}
	s.visited++
	return args.URL
}

// dialling is what is dialled for a host of a key.
func dialling(scheme, host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	port := map[string]string{"http": "80", "https": "443"}[scheme]
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}
