package suites

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// ErrConfig is the caller's mistake: a suite that there is none of, or a file
// without the one suite that it is of.
var ErrConfig = errors.New("wrong configuration")

// Config says what to play.
type Config struct {
	Dir    string   // the folder that has a folder for each suite
	Suites []string // their names, or those of their folders; nil: all
	File   string   // instead of the files of the one suite in Suites; empty: none
}

// A Report is what came of it, in the order of [Names].
type Report struct {
	Suites []*Result `json:"suites"`
}

// A Result is what came of one suite.
type Result struct {
	Name   string   `json:"name"`
	Passed int      `json:"passed"`
	Total  int      `json:"total"`
	Failed []string `json:"failed"` // "ROW: got THIS, want THAT"

	// Notes name the rows that passed although SpecCache does not do what the
	// suite itself says, each with the reason.
	Notes []string `json:"notes"`
}

// An adapter plays one suite, from a folder that has its name unless it says
// otherwise. Path is a file that the caller named, or that folder if named is
// false.
type adapter struct {
	name   string
	play   func(r *Result, path string, named bool) error
	folder string
}

var adapters = []adapter{
	{name: "ssrf", play: playAddresses},
	{name: "rfc8785", play: playCanonical},
	{name: "jsontestsuite", play: playParsing},
	{name: "jsonrepair", play: playBroken},
	{name: "json_repair", play: playBroken},
	{name: "robots", play: playRobots, folder: "robotstxt"},
	{name: "wpt-url", play: playURLs},
	{name: "http-cache-tests", play: playCaching},
	{name: "asb", play: playTools},
	{name: "bipia", play: playStrings},
	{name: "html5lib", play: playTrees},
}

// Names returns the names of all suites.
func Names() []string {
	var names []string
	for _, a := range adapters {
		names = append(names, a.name)
	}
	return names
}

// Run plays suites. Rows that fail are in the report; the error says that a suite
// could not be read, or is [ErrConfig].
func Run(cfg Config) (*Report, error) {
	for _, name := range cfg.Suites {
		if !slices.ContainsFunc(adapters, func(a adapter) bool { return a.is(name) }) {
			return nil, fmt.Errorf("%w: no suite %q: want one of %s", ErrConfig, name, strings.Join(Names(), ", "))
		}
	}
	if cfg.File != "" && len(cfg.Suites) != 1 {
		return nil, fmt.Errorf("%w: a file is of one suite, which has to be named", ErrConfig)
	}
	report := &Report{}
	for _, a := range adapters {
		if len(cfg.Suites) > 0 && !slices.ContainsFunc(cfg.Suites, a.is) {
			continue
		}
		r, err := a.run(cfg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		report.Suites = append(report.Suites, r)
	}
	return report, nil
}

// is reports whether a suite goes by a name: its own, or its folder's.
func (a adapter) is(name string) bool { return name == a.name || a.folder != "" && name == a.folder }

func (a adapter) run(cfg Config) (*Result, error) {
	r := &Result{Name: a.name, Failed: []string{}, Notes: []string{}}
	path := cfg.File
	if path == "" {
		path = filepath.Join(cfg.Dir, cmp.Or(a.folder, a.name))
	}
	if err := a.play(r, path, cfg.File != ""); err != nil {
		return nil, err
	}
	if r.Total == 0 { // would pass whatever the code does
		return nil, fmt.Errorf("%s has no rows", path)
	}
	return r, nil
}

// row plays one row: got says what SpecCache makes of it.
func (r *Result) row(id, want string, got func() string) {
	r.Total++
	if is := contained(got); is != want {
		r.Failed = append(r.Failed, fmt.Sprintf("%s: got %s, want %s", id, is, want))
		return
	}
	r.Passed++
}

// note says why a row is not asked for what the suite says.
func (r *Result) note(id, why string) { r.Notes = append(r.Notes, id+": "+why) }

// contained makes of a panic one row that fails.
func contained(got func() string) (is string) {
	defer func() {
		if p := recover(); p != nil {
			is = fmt.Sprintf("a panic: %v", p)
		}
	}()
	return got()
}

// Failed returns how many rows failed, and of how many.
func (r *Report) Failed() (failed, total int) {
	for _, s := range r.Suites {
		failed += s.Total - s.Passed
		total += s.Total
	}
	return failed, total
}

// WriteTable writes the report for people, with notes if it is of one suite.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %7s %7s %7s\n", "suite", "passed", "total", "notes")
	for _, s := range r.Suites {
		fmt.Fprintf(&b, "%-16s %7d %7d %7d\n", s.Name, s.Passed, s.Total, len(s.Notes))
	}
	for _, s := range r.Suites {
		for _, f := range s.Failed {
			fmt.Fprintf(&b, "FAILED %s: %s\n", s.Name, f)
		}
	}
	if len(r.Suites) == 1 {
		for _, n := range r.Suites[0].Notes {
			fmt.Fprintf(&b, "note: %s\n", n)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
