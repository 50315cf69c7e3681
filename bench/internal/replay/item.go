package replay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
)

// An Item is a question with the click paths that lead to its answer.
type Item struct {
	Question string
	RootURL  string
	Paths    [][]string // labels to click, from the root page on
	Ends     []string   // the page at the end of each path, if the file says so
	host     string
}

// clicks returns how many clicks the item's paths have.
func (it *Item) clicks() (n int) {
	for _, p := range it.Paths {
		n += len(p)
	}
	return n
}

// record is an Item as WebWalkerQA writes it.
type record struct {
	Question   string   `json:"Question"`
	RootURL    string   `json:"root_url"`
	GoldenPath []string `json:"golden_path"`
	Ends       []string `json:"source_website"`
}

// maxLine bounds one line of an items file.
const maxLine = 16 << 20

// ReadItems reads items, one JSON object a line. Empty lines are skipped. An
// error names the line and, where there is one, the field.
func ReadItems(r io.Reader) ([]Item, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var items []Item
	n := 0
	for lines.Scan() {
		n++
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		it, err := parseItem(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		items = append(items, it)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	if len(items) == 0 {
		return nil, errors.New("no items")
	}
	return items, nil
}

func parseItem(line []byte) (Item, error) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && t.Field != "" {
			return Item{}, fmt.Errorf("field %s: a JSON %s stands where %v is expected", t.Field, t.Value, t.Type)
		}
		return Item{}, fmt.Errorf("no JSON object: %w", err)
	}
	root, err := url.Parse(r.RootURL)
	switch {
	case strings.TrimSpace(r.Question) == "":
		return Item{}, errors.New("field Question: missing or empty")
	case err != nil || root.Host == "" || root.Scheme != "http" && root.Scheme != "https":
		return Item{}, fmt.Errorf("field root_url: %q is no absolute http or https URL", r.RootURL)
	case len(r.GoldenPath) == 0:
		return Item{}, errors.New("field golden_path: missing or empty")
	}
	it := Item{Question: r.Question, RootURL: r.RootURL, Ends: r.Ends, host: strings.ToLower(root.Host)}
	for i, path := range r.GoldenPath {
		labels, err := splitPath(path)
		if err != nil {
			return Item{}, fmt.Errorf("field golden_path[%d]: %w", i, err)
		}
		it.Paths = append(it.Paths, labels)
	}
	return it, nil
}

// splitPath returns the labels of a path like "root->Calls->Papers". A bare
// ">" is a part of its label.
func splitPath(path string) ([]string, error) {
	parts := strings.Split(path, "->")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	if parts[0] != "root" || len(parts) < 2 {
		return nil, fmt.Errorf("%q is not of the form root->label->label", path)
	}
	for _, label := range parts[1:] {
		if label == "" {
			return nil, fmt.Errorf("%q has an empty label", path)
		}
	}
	return parts[1:], nil
}
