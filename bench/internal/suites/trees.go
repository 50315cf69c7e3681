package suites

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/speccache/speccache-go/actions/web"
)

// A tree is a test of html5lib's tree-construction: a page, and what a browser
// makes of it.
type tree struct {
	data, document string
	fragment       bool // of an element, and no page
}

// playTrees plays html5lib: a page's links are among those of the tree. Text that
// only looks like one must never be.
func playTrees(r *Result, path string, named bool) error {
	files := []string{path}
	if !named {
		files = append(glob(path, "tree-construction", "*.dat"), glob(path, "tree-construction", "*", "*.dat")...)
	}
	links := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for i, t := range treesOf(string(text)) {
			if t.fragment {
				continue
			}
			r.row(fmt.Sprintf("%s %d, %.60q", filepath.Base(file), i, t.data), "links of the tree", func() string {
				got, err := linksOf(t.data)
				want, _ := linksOf(t.links())
				links += len(got)
				switch {
				case err != nil:
					return err.Error()
				case slices.ContainsFunc(got, func(url string) bool { return !slices.Contains(want, url) }):
					return fmt.Sprintf("%.200q, of %.200q", got, want)
				}
				return "links of the tree"
			})
		}
	}
	if r.Total > 0 {
		r.note("links", fmt.Sprintf("%d in all", links))
	}
	return nil
}

// treesOf splits a file into its tests, which begin with a line "#data".
func treesOf(file string) (list []tree) {
	for _, test := range strings.Split("\n"+file, "\n#data\n")[1:] {
		data, rest, _ := strings.Cut("\n"+test, "\n#errors")
		_, document, ok := strings.Cut(rest, "\n#document\n")
		if !ok {
			continue
		}
		list = append(list, tree{strings.TrimPrefix(data, "\n"), document, strings.Contains(rest, "\n#document-fragment\n")})
	}
	return list
}

// links is a page that has the links of the tree, and its base.
func (t *tree) links() string {
	var b strings.Builder
	inside, tag := -1, "" // the template that is open, by its indent, and the element at hand
	for line := range strings.SplitSeq(t.document, "\n") {
		node, ok := strings.CutPrefix(line, "| ")
		if !ok {
			continue
		}
		node = strings.TrimLeft(node, " ")
		indent := len(line) - len(node)
		if inside >= 0 && indent <= inside {
			inside = -1
		}
		if strings.HasPrefix(node, "<") {
			tag = strings.Trim(node, "<>")
			if tag == "template" && inside < 0 {
				inside = indent
			}
			continue
		}
		value, ok := strings.CutPrefix(node, `href="`)
		if ok && inside < 0 && slices.Contains([]string{"a", "area", "base"}, tag) {
			fmt.Fprintf(&b, `<%s href="%s"></%[1]s>`, tag, html.EscapeString(strings.TrimSuffix(value, `"`)))
		}
	}
	return b.String()
}

func linksOf(doc string) (urls []string, err error) {
	page, err := web.Parse("https://site.example/", doc)
	if err != nil {
		return nil, err
	}
	for _, l := range page.Links() {
		urls = append(urls, l.URL)
	}
	return urls, nil
}
