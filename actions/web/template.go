package web

import (
	"errors"
	"fmt"
	neturl "net/url"
	"strings"

	"github.com/speccache/speccache-go/actions"
)

// A Template is a URL with a hole, and all that may fill it: what runs ahead may
// ask for by the application's word, where no page links to it. A guess must be
// one of the filled URLs exactly; a draft that picks one composes nothing. The
// zero Template has none. Templates are values, and are not changed.
type Template struct{ filled []address }

// NewTemplate makes a template of a URL such as
// "https://docs.example.org/{page}" and the values of its hole. The name in the
// braces is for readers, and may be left out. The hole is in the path or the
// query, and each value is escaped for its place: a slash in one begins no new
// part of the path.
//
// Values must be public: what fills a URL is told to its host. Take them from
// what everybody may know, such as a table of contents, and never from a
// conversation.
//
// The error says what is wrong, and may wrap a [*URLError].
func NewTemplate(url string, values ...string) (Template, error) {
	before, rest, opened := strings.Cut(url, "{")
	name, after, closed := strings.Cut(rest, "}")
	if !opened || !closed || strings.ContainsAny(name+after, "{}") {
		return Template{}, fmt.Errorf("web: template %.200q: %w", url, errHole)
	}
	if host, _ := cutOrigin(before); host == "" || strings.Contains(before, "#") {
		return Template{}, fmt.Errorf("web: template %.200q: %w", url, errHolePlace)
	}
	escape := neturl.PathEscape
	if strings.Contains(before, "?") {
		escape = neturl.QueryEscape
	}
	t := Template{make([]address, 0, len(values))}
	for _, value := range values {
		if value == "" || value == "." || value == ".." {
			return Template{}, fmt.Errorf("web: template %.200q: %w: %q", url, errFilling, value)
		}
		a, err := absolute(before + escape(value) + after)
		if err != nil {
			return Template{}, fmt.Errorf("web: template %.200q: %w", url, err)
		}
		t.filled = append(t.filled, a)
	}
	return t, nil
}

var (
	errHole      = errors.New("it needs one hole, as in https://docs.example.org/{page}")
	errHolePlace = errors.New("its hole must be in the path or the query of an http or https URL")
	errFilling   = errors.New("a value fills no part of a URL")
)

// listed makes the verdicts of what templates stand for.
func listed(templates []Template) map[actions.Action]verdict {
	verdicts := map[actions.Action]verdict{}
	for _, t := range templates {
		for _, a := range t.filled {
			verdicts[visit(a.url)] = verdict{rule: ruleOfURL(a.url), to: a, listed: true}
		}
	}
	return verdicts
}
