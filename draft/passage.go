package draft

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/speccache/speccache-go/actions"
)

// page writes the page in view and returns what was written and the choices in
// the order of their numbers. Links come before passages: they are what a model
// can choose, and take up to two thirds of the budget.
func (w *writer) page(sc scene) (string, []actions.Choice) {
	links := writer{left: w.left * 2 / 3}
	links.add("\nIts choices, nearest to the goal first:\n")
	var shown []actions.Choice
	for _, l := range sc.links {
		if !links.add(l.line(len(shown) + 1)) {
			break
		}
		shown = append(shown, l.choice)
	}
	text := writer{left: w.left - tokensOf(links.b.String()) - 16} // the last line's
	text.add("\nThe page in view:\n| " + quoted(clip(sc.page.Title, maxLabel)) + "\n")
	text.passages(sc)
	return text.b.String() + links.b.String(), shown
}

func (l linkTo) line(n int) string {
	line := fmt.Sprintf("| %d. %s", n, quoted(clip(l.choice.Label, maxLabel)))
	if l.path != "" {
		line += " (" + quoted(clip(l.path, maxShownArgs)) + ")"
	}
	if l.visited {
		line += " (visited)"
	}
	return line + "\n"
}

// A passage is a piece of a page's text.
type passage struct {
	text  string
	words []string
	at    int
	score float64
}

// passages writes those that are nearest to the goal, in reading order.
func (w *writer) passages(sc scene) {
	all := readPassages(sc.page.Text)
	count := make(map[string]int)
	for _, p := range all {
		for word := range setOf(p.words) {
			count[word]++
		}
	}
	rare := rarities(count, len(all))
	for i := range all {
		all[i].score = match(all[i].words, sc.rank.goal, rare)
	}
	slices.SortStableFunc(all, func(a, b passage) int { return cmp.Compare(b.score, a.score) })
	all = slices.DeleteFunc(all, func(p passage) bool {
		n := tokensOf(p.line())
		if n > w.left {
			return true
		}
		w.left -= n
		return false
	})
	slices.SortFunc(all, func(a, b passage) int { return cmp.Compare(a.at, b.at) })
	for _, p := range all {
		w.b.WriteString(p.line())
	}
}

func (p passage) line() string { return "| " + p.text + "\n" }

const maxPassage = 400 // bytes

// readPassages returns the pieces of a text. Links in it lose their addresses:
// models are not to choose by them.
func readPassages(text string) (all []passage) {
	lex := newLexicon()
	for line := range strings.Lines(clip(text, maxText)) {
		if plain, links := readLinks(line); len(links) > 0 {
			line = plain
		}
		for rest := quoted(line); rest != ""; {
			piece := cutAtSpace(rest, maxPassage)
			rest = strings.TrimLeft(rest[len(piece):], " ")
			if !strings.ContainsFunc(piece, wordRune) {
				continue // the rulers of a table, a row of stars
			}
			all = append(all, passage{text: piece, words: lex.words(nil, piece), at: len(all)})
		}
	}
	return all
}

// cutAtSpace returns up to n bytes of text, whole words if there are any.
func cutAtSpace(text string, n int) string {
	if len(text) <= n {
		return text
	}
	if space := strings.LastIndexByte(text[:n], ' '); space > 0 {
		return text[:space]
	}
	return strings.ToValidUTF8(text[:n], "")
}
