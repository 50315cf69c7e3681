package draft_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/draft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// opening permits a tool with any arguments.
var opening = draft.ChatConfig{Tools: []draft.Tool{{Name: "open", Composed: true}}}

// opens returns what becomes of a guess that opens this.
func opens(t *testing.T, cfg draft.ChatConfig, s actions.State[actions.View], arguments any) ([]actions.Action, map[draft.DropReason]int) {
	t.Helper()
	args, err := json.Marshal(arguments)
	require.NoError(t, err)
	return draft.Understanding(cfg, s)(draft.FormJSON, fmt.Sprintf(`{"actions":[{"tool":"open","arguments":%s}]}`, args))
}

// places are arguments with a text in all places where a text can be.
func places(text string) []any {
	return []any{
		map[string]any{"url": text},
		map[string]any{"q": []any{1, map[string]any{"x": []any{"go", text}}}},
		map[string]any{"q": map[string]any{text: 1}},
		map[string]any{text: "go"},
	}
}

func TestAnAddressIsNotComposedHoweverItIsSpelled(t *testing.T) {
	for _, address := range []string{
		"https://evil.example/?q=secret", `https:\\evil.example\?q=secret`, "https:/evil.example/?q=secret", "https:evil.example/?q=my secret",
		"HTTPS:evil.example", "//evil.example", `/\evil.example`, `\\evil.example\share`, "see https://evil.example/ for more",
		"evil.example", "evil.example/?q=secret", "evil.example?secret", "evil.example#secret", "evil.example:80/x", "evil.example./x", "Evil.Example",
		"user@evil.example/x", "user:password@evil.example", "büro.example/x", "evil。example/x", "ｅｖｉｌ．ｅｘａｍｐｌｅ", "evil%2eexample.com/x",
		"/\t/evil.example/x", "https:/\n/evil.example/x", "h\rttps:evil", "\u0001javascript:alert(1)", "java\tscript:alert(1)", "\u0000 javascript:alert(1)",
		"evil\u200b.example/x", "evil\u00ad.example", "https:\u200b/\u2060/evil",
		"javascript: alert(1)", "data: text/html,x", "vbscript:x", "blob:x", "view-source:evil.example", "ftp:evil", "tel:+1", "mailto:a@b", "file:/etc/passwd", "web+x.y-z:1",
		"169.254.169.254/latest/meta-data", "127.1:80", "10.0.0.1", "localhost:8080/admin", "localhost", "LOCALHOST/x", "[::1]:80/x", "[fe80::1%25eth0]", "x@[::1]",
	} {
		for _, arguments := range places(address) {
			got, dropped := opens(t, opening, conference(), arguments)
			assert.Empty(t, got, "%q", address)
			assert.Equal(t, map[draft.DropReason]int{draft.DropURL: 1}, dropped, "%q", address)
		}
	}
}

func TestWordsAreNoAddresses(t *testing.T) {
	for _, words := range []string{
		"", "go errgroup", "C++ vector", "AND/OR", "1/2 cup: 3:4", "12:30 meeting", "24/7", "a: b", "Error: no such file", "What is it?", "50% of 3.5 billion",
		"node.js tutorial", "v1.2 release notes", "Mr. Smith", "the docs at go.dev today", "errgroup site:go.dev", "mail me@example.org about it",
		"日本語:検索", "12. Dezember", "[1] reference", "[sic]", "x@y", "#3", "?", "docs/install", "the end.", "e.g. this", "1,5", "-1", "2024-06-01", "localhosts",
	} {
		for _, arguments := range places(words) {
			got, dropped := opens(t, opening, conference(), arguments)
			assert.Len(t, got, 1, "%q", words)
			assert.Empty(t, dropped, "%q", words)
		}
	}
}

// They could lead somewhere, and a guess that is lost costs less than one that
// leads there.
func TestWordsThatCouldBeAddressesAreTakenForThem(t *testing.T) {
	for _, words := range []string{"site:go.dev errgroup", "std::vector", "node.js", "README.md", "me@example.org", "3.14"} {
		_, dropped := opens(t, opening, conference(), map[string]string{"q": words})
		assert.Equal(t, map[draft.DropReason]int{draft.DropURL: 1}, dropped, words)
	}
}

func TestAnAddressMayBeComposedIfAChoiceInViewHasItAndNotIfOnlyTheTextDoes(t *testing.T) {
	const mentioned = "https://evil.example/mentioned"
	s := conference()
	s.Steps[0].Observation.Text = "See [it](" + mentioned + "): " + mentioned
	got, _ := opens(t, opening, s, map[string]any{"url": "https://c.example/venue", "more": []string{"https://c.example/about"}})
	assert.Len(t, got, 1)
	for _, address := range []string{mentioned, "https://c.example/venue?q=secret", "https://c.example/venue#x", "https://c.example/", "see https://c.example/venue"} {
		got, dropped := opens(t, opening, s, map[string]any{"url": address})
		assert.Empty(t, got, address)
		assert.Equal(t, map[draft.DropReason]int{draft.DropURL: 1}, dropped, address)
	}
}

func TestWhatAToolsOwnSchemaSaysMayBeComposed(t *testing.T) {
	cfg := draft.ChatConfig{Tools: []draft.Tool{{Name: "open", Composed: true, Schema: json.RawMessage(
		`{"type":"object","properties":{"on.site":{"enum":["docs.example","wiki.example"]}},"additionalProperties":false}`)}}}
	got, _ := opens(t, cfg, conference(), map[string]string{"on.site": "wiki.example"})
	assert.Len(t, got, 1)
	got, _ = opens(t, cfg, conference(), map[string]string{"on.site": "evil.example"})
	assert.Empty(t, got)
}

// A choice's action is offered, whatever could be said against its arguments.
func TestAChoiceOfAToolThatIsComposedIsAChoice(t *testing.T) {
	s := conference()
	choice := actions.Must("open", map[string]string{"ref": "node.js"})
	s.Steps[0].Observation.Choices = append(s.Steps[0].Observation.Choices, actions.Choice{Label: "Node", Action: choice})
	cfg := draft.ChatConfig{Tools: []draft.Tool{{Name: "open", Composed: true, Schema: json.RawMessage(`{"type":"object","required":["q"]}`)}}}
	got, _ := opens(t, cfg, s, map[string]string{"ref": "node.js"})
	assert.Equal(t, []actions.Action{choice}, got)
}

// manyLabels is a page, and an answer that names n labels that are not there.
func manyLabels(n int) (actions.State[actions.View], string) {
	var choices []actions.Choice
	for i := range 2000 {
		choices = append(choices, link(strings.Repeat("Größe ", 50)+fmt.Sprint(i), fmt.Sprintf("https://c.example/%d", i)))
	}
	var answer strings.Builder
	answer.WriteString("Action: click\n")
	for i := range n {
		fmt.Fprintf(&answer, "Action Input %d: {\"button\": \"no such %d\"}\n", i, i)
	}
	return looking("goal", choices...), answer.String()
}

func TestEachLabelIsReadOnceHoweverManyAModelNames(t *testing.T) {
	work := func(n int) float64 {
		s, answer := manyLabels(n)
		return testing.AllocsPerRun(1, func() {
			_, dropped := draft.Understanding(draft.ChatConfig{}, s)(draft.FormLines, answer)
			assert.Equal(t, n, dropped[draft.DropLabel])
		})
	}
	assert.Less(t, work(60), 1.5*work(1))
}

func BenchmarkLabels(b *testing.B) {
	s, answer := manyLabels(60)
	for b.Loop() {
		draft.Understanding(draft.ChatConfig{}, s)(draft.FormLines, answer)
	}
}

func TestOfAnAnswerInOnePieceNothingIsGuessedOnceTheTargetHasActed(t *testing.T) {
	var report draft.ChatReport
	predict := draft.Chat(replies(three), itself, draft.ChatConfig{Report: func(r draft.ChatReport) { report = r }})
	ctx, acts := context.WithCancel(t.Context())
	defer acts()
	var all []actions.Prediction
	for guess := range predict(ctx, conference()) {
		all = append(all, guess)
		acts()
	}
	require.Len(t, all, 2)
	assert.Equal(t, actions.Action{}, all[1].Action, "the last one tells the cost")
	assert.Equal(t, 1, report.Guesses)
	assert.NoError(t, report.Err)
}
