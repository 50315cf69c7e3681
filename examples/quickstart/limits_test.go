package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// cells returns the rows of the tables in the main part of a page that follow
// a heading, by their first cell. The empty heading is the page's own.
func cells(t *testing.T, name, heading string) map[string][]string {
	under, rows := "", map[string][]string{}
	for d := range all(parsePage(t, name), "main")[0].ChildNodes() {
		switch d.Data {
		case "h2":
			under = text(d)
		case "table":
			if under == heading {
				addRows(rows, d)
			}
		}
	}
	require.NotEmpty(t, rows, "%s: no table below %q", name, heading)
	return rows
}

func addRows(rows map[string][]string, table *html.Node) {
	for _, tr := range all(table, "tr")[1:] {
		var row []string
		for _, td := range all(tr, "td") {
			row = append(row, text(td))
		}
		rows[text(all(tr, "th")[0])] = row
	}
}

func names(rows map[string][]string) []string { return slices.Sorted(maps.Keys(rows)) }

// fieldsOf returns the names of a struct's exported fields.
func fieldsOf[T any]() (names []string) {
	for f := range reflect.TypeFor[T]().Fields() {
		if f.IsExported() {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestTheReferenceNamesEveryField(t *testing.T) {
	const limits = "guides/limits.html"
	assert.Equal(t, fieldsOf[speccache.Config[string]](), names(cells(t, limits, "speccache.Config")))
	assert.Equal(t, fieldsOf[web.Config](), names(cells(t, limits, "web.Config")))
	assert.Equal(t, fieldsOf[speccache.Config[string]](), names(cells(t, "reference/config.html", "")))
	assert.Equal(t, fieldsOf[speccache.SessionConfig[string]](), names(cells(t, "reference/session.html", "")))
	assert.Equal(t, fieldsOf[actions.Environment[string]](), names(cells(t, "reference/environment.html", "")))
	assert.Equal(t, fieldsOf[actions.Rule](), names(cells(t, "reference/environment.html", "Rule")))
}

func TestTheReferenceNamesEveryStatAndEventField(t *testing.T) {
	assert.Subset(t, wordsOf(t, "reference/stats.html"), fieldsOf[speccache.Stats]())
	assert.Subset(t, wordsOf(t, "reference/stats.html"), fieldsOf[speccache.ShadowStats]())
	assert.Subset(t, wordsOf(t, "reference/events.html"), fieldsOf[speccache.Event]())
	assert.Subset(t, wordsOf(t, "guides/limits.html"), fieldsOf[speccache.Limits]())
}

// wordsOf returns the words in the main part of a page.
func wordsOf(t *testing.T, name string) (words []string) {
	for d := range all(parsePage(t, name), "main")[0].Descendants() {
		if d.Type == html.TextNode {
			words = append(words, strings.FieldsFunc(d.Data, func(r rune) bool { return !unicode.IsLetter(r) })...)
		}
	}
	return words
}

func TestTheStatedDefaultsAreTheRealOnes(t *testing.T) {
	config := cells(t, "guides/limits.html", "speccache.Config")
	for field, want := range map[string]string{
		"Mode":            "On",
		"TopN":            fmt.Sprint(speccache.DefaultTopN),
		"MaxAhead":        fmt.Sprint(speccache.DefaultMaxAhead),
		"MaxAheadSession": "2 × TopN",
		"MaxAheadHost":    fmt.Sprint(speccache.DefaultMaxAheadHost),
		"MaxAheadRate":    fmt.Sprint(speccache.DefaultMaxAheadRate),
		"AheadTimeout":    fmt.Sprintf("%.0f minutes", speccache.DefaultAheadTimeout.Minutes()),
		"MaxBytes":        fmt.Sprintf("%d MiB", speccache.DefaultMaxBytes>>20),
		"MaxScopeBytes":   "half of MaxBytes",
		"ShowArgs":        "false",
		"SessionLimits":   "10,000 draft calls, 10 million draft tokens, 30,000 requests ahead, 1 GiB ahead",
		"ScopeLimits":     "ten times as much",
		"CacheLimits":     "a thousand times as much",
	} {
		assert.Equal(t, want, config[field][0], field)
	}
	one := speccache.Limits{DraftCalls: 10_000, DraftTokens: 10_000_000, RequestsAhead: 30_000, BytesAhead: 1 << 30}
	assert.Equal(t, one, speccache.DefaultSessionLimits)
	assert.Equal(t, times(10, one), speccache.DefaultScopeLimits)
	assert.Equal(t, times(1000, one), speccache.DefaultCacheLimits)
	assert.Equal(t, speccache.On, speccache.Config[string]{}.Mode)

	limits := text(all(parsePage(t, "guides/limits.html"), "main")[0])
	for _, says := range []string{
		fmt.Sprintf("at most %d guesses of one step run ahead", speccache.DefaultTopN),
		fmt.Sprintf("MaxAge is %.0f minutes", actions.DefaultMaxAge.Minutes()),
		fmt.Sprintf("a name of at most %d bytes", actions.MaxName),
		fmt.Sprintf("arguments of at most %d MiB and %d levels", actions.MaxArgs>>20, actions.MaxDepth),
	} {
		assert.Contains(t, limits, says)
	}
	assert.Equal(t, 5*time.Minute, actions.DefaultMaxAge, "freshness.html says five minutes")
}

func times(n int64, l speccache.Limits) speccache.Limits {
	return speccache.Limits{DraftCalls: n * l.DraftCalls, DraftTokens: n * l.DraftTokens, RequestsAhead: n * l.RequestsAhead, BytesAhead: n * l.BytesAhead}
}

func TestEveryReasonAndEventKindHasItsRow(t *testing.T) {
	reasons := cells(t, "concepts/outcomes.html", "Why an action missed")
	for _, r := range []speccache.Reason{
		speccache.ReasonAbsent, speccache.ReasonModelVersion, speccache.ReasonState, speccache.ReasonAge,
		speccache.ReasonUndeclared, speccache.ReasonBypass, speccache.ReasonMode,
	} {
		assert.Contains(t, reasons, string(r))
	}
	kinds := cells(t, "reference/events.html", "")
	for _, k := range []speccache.EventKind{
		speccache.EventAction, speccache.EventAhead, speccache.EventLanded, speccache.EventRefused,
		speccache.EventDraft, speccache.EventLimit, speccache.EventUndeclared, speccache.EventModelVersion, speccache.EventAdvance,
	} {
		assert.Contains(t, kinds, string(k))
	}
}
