package suites

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
)

const (
	allowed   = "allowed"
	forbidden = "forbidden"
)

// A robotsRow is an object of the suite robots.
type robotsRow struct {
	Test, Robots, Agent, URL string
	Allowed                  *bool
	GoogleOnly               bool `json:"google_only"`
}

// playRobots asks a fetcher ahead for a page of a host that has the row's
// robots.txt. Rows that are Google's alone are noted and not counted.
func playRobots(r *Result, path string, named bool) error {
	if !named {
		path = filepath.Join(path, "cases.json")
	}
	var rows []robotsRow
	if err := readJSON(path, &rows); err != nil {
		return err
	}
	googles, differ, says := 0, 0, map[robotsRow]*bool{} // without the answer
	for _, row := range rows {
		says[row.question()] = row.Allowed
	}
	for i, row := range rows {
		if row.Allowed == nil {
			return fmt.Errorf("%s: row %d does not say whether it is allowed", path, i)
		}
		id := fmt.Sprintf("row %d, %s: %s asks for %s", i, row.Test, row.Agent, row.URL)
		if same := says[row.asAsked().question()]; row.URL != row.asAsked().URL && same != nil && *same != *row.Allowed {
			r.note(id, "asked for, and judged, as "+row.asAsked().URL)
			row.Allowed = same
		}
		want := forbidden
		if *row.Allowed {
			want = allowed
		}
		got := func() string { return obeyed(row) }
		if !row.GoogleOnly {
			r.row(id, want, got)
			continue
		}
		googles++
		if is := contained(got); is != want {
			differ++
			r.note(id, fmt.Sprintf("%s, and %s by Google alone", is, want))
		}
	}
	if googles > 0 {
		r.note("google_only", fmt.Sprintf("%d of %d as Google says; they are not counted", googles-differ, googles))
	}
	return nil
}

// question is a row without its name and answer.
func (row robotsRow) question() robotsRow {
	return robotsRow{Robots: row.Robots, Agent: row.Agent, URL: row.URL}
}

// asAsked is the row with the URL that a host would be asked for. The suite has
// rows of URLs that nobody can ask for as they are, since they are not escaped.
func (row robotsRow) asAsked() robotsRow {
	var args struct{ URL string }
	if a, err := web.Visit(row.URL); err == nil && a.Decode(&args) == nil {
		row.URL = args.URL
	}
	return row
}

// obeyed says what becomes of a run ahead under a row's rules.
func obeyed(row robotsRow) string {
	a, err := web.Visit(row.URL)
	if err != nil { // a path, or nothing
		a, err = web.Visit("http://robots.example/" + strings.TrimPrefix(row.URL, "/"))
	}
	if err != nil {
		return err.Error()
	}
	asked := 0
	f := web.New(web.Config{UserAgent: row.Agent, Transport: answers(func(r *http.Request) (kind, body string) {
		if r.URL.Path == "/robots.txt" {
			return "text/plain", row.Robots
		}
		asked++
		return "text/html", "<p>hi</p>"
	})})
	_, err = f.Do(actions.WithCall(context.Background(), actions.Call{Ahead: true}), a)
	rule := ""
	if e, ok := errors.AsType[*web.PolicyError](err); ok {
		rule = e.Rule
	}
	switch {
	case err == nil && asked == 1:
		return allowed
	case rule == "robots" && asked == 0:
		return forbidden
	}
	return fmt.Sprintf("%d requests and error %v", asked, err)
}

// answers is a transport that asks nobody: it says what a host answers.
type answers func(*http.Request) (kind, body string)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	kind, body := a(r)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Request: r,
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}
