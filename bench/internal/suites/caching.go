package suites

import (
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
)

// published are the best required scores that are known, of as many as were run.
const published = "apache 141 of 160, chrome and safari 117 of 137"

// A played case is one with how it went.
type playedCase struct {
	*cacheCase
	suite string
	outcome
	left string // why it was not played, or why it does not apply; empty: it counts
}

// playCaching plays http-cache-tests. Cases that are required or optimal count;
// those that check are only tallied, since the suite has no right answer to
// them.
func playCaching(r *Result, path string, named bool) error {
	if !named {
		path = filepath.Join(path, "cache-tests.json")
	}
	var list []cacheSuite
	if err := readJSON(path, &list); err != nil {
		return err
	}
	var cases []*playedCase
	for _, suite := range list {
		for _, c := range suite.Tests {
			cases = append(cases, &playedCase{cacheCase: c, suite: suite.ID})
		}
	}
	if err := playTogether(cases); err != nil {
		return err
	}
	for _, c := range cases {
		r.cached(c)
	}
	r.sumUp(cases)
	return nil
}

// atOnce is how many cases are played at one time. Most of a case is waiting, and
// too many would be late for what lives for a second.
const atOnce = 128

func playTogether(cases []*playedCase) error {
	var all errgroup.Group
	all.SetLimit(atOnce)
	for _, c := range cases {
		if c.left = c.unplayable(); c.left != "" {
			c.left = "not played: " + c.left
			continue
		}
		all.Go(func() (err error) {
			if c.outcome, err = c.play(); c.problem != "" {
				c.left = c.excuse(c.outcome)
			}
			return err
		})
	}
	return all.Wait()
}

// cached counts a case.
func (r *Result) cached(c *playedCase) {
	id := c.suite + ", " + c.ID
	switch {
	case c.kind() != required && c.kind() != optimal:
	case c.left != "":
		r.note(id, fmt.Sprintf("%s, not counted: %s%s", c.kind(), c.left, when(c.problem != "", " ("+c.outcome.String()+")")))
	default:
		r.row(id, "a pass", func() string {
			if c.problem != "" {
				return c.outcome.String()
			}
			return "a pass"
		})
	}
}

func when(ok bool, text string) string {
	if ok {
		return text
	}
	return ""
}

// sumUp notes the figures that others publish, and those of each subject.
func (r *Result) sumUp(cases []*playedCase) {
	for _, kind := range []string{required, optimal, "check"} {
		of := tally(cases, func(c *playedCase) bool { return c.kind() == kind })
		r.note(kind, fmt.Sprintf("%d passed of %d that were played, %d in the suite%s", of.passed, of.played, of.all,
			when(kind == required, "; the best that are published: "+published)))
	}
	for _, s := range subjects {
		of := tally(cases, func(c *playedCase) bool {
			return (c.kind() == required || c.kind() == optimal) && slices.ContainsFunc(c.Requests, s.about)
		})
		r.note(s.name, fmt.Sprintf("%d passed of %d that apply, required or optimal; %d do not apply", of.passed, of.counted, of.all-of.counted))
	}
}

type tallied struct{ all, played, counted, passed int }

func tally(cases []*playedCase, in func(*playedCase) bool) (t tallied) {
	for _, c := range cases {
		if !in(c) {
			continue
		}
		t.all++
		if c.unplayable() == "" {
			t.played++
		}
		if c.left == "" {
			t.counted++
		}
		if c.left == "" && c.problem == "" {
			t.passed++
		}
	}
	return t
}
