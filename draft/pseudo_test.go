package draft_test

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A pseudo-question asks on one page, in words of another one to which its
// text links, for the way there. Nobody wrote it with an answer in mind, so it
// is harder than a question; it is here to compare, not to forecast.
func TestLexicalFindsMoreLinksInTextsByReadingThem(t *testing.T) {
	recorded := func(t *testing.T, host string) string { return shared(t, "data", "webwalkerqa", "sites", host) }
	for host, dir := range map[string]func(t *testing.T, host string) string{
		"2023.aclweb.org": recorded,
		"2024.aclweb.org": recorded,
		"docs.example":    func(*testing.T, string) string { return filepath.Join("..", "examples", "quickstart", "site") },
	} {
		t.Run(host, func(t *testing.T) {
			pages := readSite(t, host, dir(t, host))
			rng := rand.New(rand.NewPCG(5, 9))
			var with, without tally
			for _, from := range slices.Sorted(maps.Keys(pages)) {
				for _, c := range pages[from].Choices {
					to := pageOf(urlOf(t, c.Action))
					if to == from || !strings.Contains(pages[from].Text, "]("+urlOf(t, c.Action)) {
						continue
					}
					for range 5 {
						if goal := pseudoQuestion(rng, pages[to].Text); goal != "" {
							s := looking(goal, pages[from].Choices...)
							s.Steps[0].Action = visit(from)
							without.add(slices.IndexFunc(guessed(t, lexical(), s), leadsTo(c.Action)))
							s.Steps[0].Observation.Text = pages[from].Text
							with.add(slices.IndexFunc(guessed(t, lexical(), s), leadsTo(c.Action)))
						}
					}
				}
			}
			require.Greater(t, with.n, 50)
			assert.Greater(t, with.log(t, "with the text"), without.log(t, "without"))
		})
	}
}

// pageOf leaves out of a URL what makes no other page.
func pageOf(url string) string {
	url, _, _ = strings.Cut(url, "#")
	return strings.TrimRight(url, "/")
}

// readSite returns the view of every page below a folder, by its URL.
func readSite(t *testing.T, host, dir string) map[string]actions.View {
	pages := make(map[string]actions.View)
	files := os.DirFS(dir)
	require.NoError(t, fs.WalkDir(files, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".html" {
			return err
		}
		html, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		at := "https://" + host + "/" + strings.TrimSuffix(name, "index.html")
		p, err := web.Parse(at, string(html))
		if err == nil {
			pages[pageOf(at)] = p.View()
		}
		return err
	}))
	return pages
}

var (
	markdownLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	sentenceEnd  = regexp.MustCompile(`[.?!]\s+|\n+|\|`)
)

// pseudoQuestion returns one to three sentences of a text without two words in
// five, or "" if there are too few.
func pseudoQuestion(rng *rand.Rand, text string) string {
	var sentences [][]string
	for _, s := range sentenceEnd.Split(markdownLink.ReplaceAllString(text, "$1"), -1) {
		if words := strings.Fields(s); len(words) >= 6 && len(words) <= 40 {
			sentences = append(sentences, words)
		}
	}
	if len(sentences) < 3 {
		return ""
	}
	var words []string
	for range 1 + rng.IntN(3) {
		words = append(words, sentences[rng.IntN(len(sentences))]...)
	}
	return strings.Join(slices.DeleteFunc(words, func(string) bool { return rng.Float64() < 0.4 }), " ")
}
