package repo_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A place is what the packages of a folder, and of those below that have no
// place of their own, may import beside the standard library.
type place struct {
	own   []string // folders of this repository; "..." is any
	third []string // modules
}

// graph is the import graph. draft and speccache do not know each other, so
// that either can be replaced.
var graph = map[string]place{
	"actions": {third: []string{"github.com/go-json-experiment/json"}},
	"actions/web": {own: []string{"actions"}, third: []string{
		"github.com/JohannesKaufmann/html-to-markdown/v2", "github.com/nlnwa/whatwg-url",
		"golang.org/x/net", "golang.org/x/text",
	}},
	"speccache": {own: []string{"actions"}, third: []string{
		"github.com/dgraph-io/ristretto/v2", "github.com/puzpuzpuz/xsync/v4", "golang.org/x/sync", "golang.org/x/time",
	}},
	"draft": {own: []string{"actions", "internal"}, third: []string{
		"github.com/kljensen/snowball", "github.com/sashabaranov/go-openai", "golang.org/x/text",
	}},
	"target": {own: []string{"actions", "speccache", "internal"}, third: []string{
		"github.com/sashabaranov/go-openai",
	}},
	"internal": {own: []string{"actions", "internal"}, third: []string{
		"github.com/sashabaranov/go-openai",
	}},
	"examples": {own: []string{"..."}, third: []string{"..."}},
	"bench":    {own: []string{"..."}, third: []string{"..."}},
}

// adapter is the place of a nested module that has none in graph.
var adapter = place{own: []string{"actions", "speccache"}, third: []string{"..."}}

// onlyTests may be imported by tests, and by nothing else.
var onlyTests = []string{"github.com/stretchr/testify", "go.uber.org/goleak"}

func TestPackagesImportOnlyWhatTheImportGraphAllows(t *testing.T) {
	modules := modules(t)
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		allowed, ok := placeOf(s.dir, modules)
		if !assert.True(t, ok, "package %s has no place in the import graph: give it one", s.dir) {
			continue
		}
		for _, spec := range s.file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			assert.True(t, allowed.permits(imported), "%s: %s may not import %s", where(spec.Pos()), s.dir, imported)
			assert.False(t, within(imported, onlyTests), "%s: only tests may import %s", where(spec.Pos()), imported)
		}
	}
}

func TestDraftAndSpeccacheDoNotKnowEachOther(t *testing.T) {
	for _, c := range []struct {
		dir, imported string
		allowed       bool
	}{
		{"draft", modulePath + "/actions", true},
		{"draft", modulePath + "/speccache", false},
		{"draft", modulePath + "/actions/web", false},
		{"speccache", modulePath + "/actions", true},
		{"speccache", modulePath + "/draft", false},
		{"actions", modulePath + "/speccache", false},
		{"actions", "golang.org/x/net/html", false},
		{"actions/web", "golang.org/x/net/html", true},
		{"target", modulePath + "/speccache", true},
		{"internal/repo", modulePath + "/speccache", false},
	} {
		p, ok := placeOf(c.dir, nil)
		require.True(t, ok)
		assert.Equal(t, c.allowed, p.permits(c.imported), "%s imports %s", c.dir, c.imported)
	}
}

// placeOf finds the nearest folder that has a place.
func placeOf(dir string, modules []string) (place, bool) {
	for at := dir; at != "."; at = filepath.ToSlash(filepath.Dir(at)) {
		if p, ok := graph[at]; ok {
			return p, true
		}
		if slices.Contains(modules, at) {
			return adapter, true
		}
	}
	return place{}, false
}

func (p place) permits(imported string) bool {
	if own, ok := strings.CutPrefix(imported, modulePath+"/"); ok {
		return slices.Contains(p.own, own) || slices.Contains(p.own, "...") ||
			slices.Contains(p.own, "internal") && strings.HasPrefix(own, "internal/")
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return true // the standard library
	}
	return slices.Contains(p.third, "...") || within(imported, p.third)
}

// within reports whether a package is in one of the modules.
func within(imported string, modules []string) bool {
	return slices.ContainsFunc(modules, func(module string) bool {
		return imported == module || strings.HasPrefix(imported, module+"/")
	})
}

// direct is what the root module may require: what every user needs. Whatever
// is heavier belongs in a module of its own.
var direct = []string{
	"github.com/JohannesKaufmann/html-to-markdown/v2",
	"github.com/dgraph-io/ristretto/v2",
	"github.com/go-json-experiment/json",
	"github.com/kljensen/snowball",
	"github.com/nlnwa/whatwg-url",
	"github.com/puzpuzpuz/xsync/v4",
	"github.com/sashabaranov/go-openai",
	"github.com/stretchr/testify",
	"go.uber.org/goleak",
	"golang.org/x/net",
	"golang.org/x/sync",
	"golang.org/x/text",
	"golang.org/x/time",
}

func TestTheRootModuleRequiresOnlyWhatEveryUserNeeds(t *testing.T) {
	for _, r := range readModule(t, ".").Require {
		if !r.Indirect {
			assert.Contains(t, direct, r.Path, "the root module requires %s directly", r.Path)
		}
	}
	assert.Empty(t, readModule(t, ".").Replace, "a replace in the root module does not reach its users")
}

func TestNestedModulesAreInTheWorkspaceAndBuildOnTheirOwn(t *testing.T) {
	workspace, err := os.ReadFile(filepath.Join(root(t), "go.work"))
	require.NoError(t, err)
	for _, dir := range modules(t) {
		if dir == "." {
			continue
		}
		assert.Contains(t, strings.Fields(string(workspace)), "./"+dir, "go.work does not use %s", dir)
		mod := readModule(t, dir)
		assert.Equal(t, modulePath+"/"+dir, mod.Module.Path)
		up, err := filepath.Rel(dir, ".")
		require.NoError(t, err)
		for _, r := range mod.Replace {
			if r.Old.Path == modulePath {
				assert.Equal(t, filepath.ToSlash(up), filepath.ToSlash(filepath.Clean(r.New.Path)), "%s replaces the root by another folder", dir)
			}
		}
		for _, r := range mod.Require {
			if r.Path == modulePath {
				assert.Equal(t, released, r.Version, "%s requires the root", dir)
				assert.NotEmpty(t, mod.Replace, "%s does not replace the root by its folder", dir)
			}
		}
	}
}

// released is the version that nested modules require the root at, and that
// .ci/run packs.
const released = "v0.1.0"

// modules returns the folders of the repository's modules.
func modules(t *testing.T) []string {
	t.Helper()
	var dirs []string
	walk(t, func(file string) {
		if filepath.Base(file) == "go.mod" {
			rel, err := filepath.Rel(root(t), filepath.Dir(file))
			require.NoError(t, err)
			dirs = append(dirs, filepath.ToSlash(rel))
		}
	})
	return dirs
}

type goMod struct {
	Module  struct{ Path string }
	Require []struct {
		Path, Version string
		Indirect      bool
	}
	Replace []struct {
		Old, New struct{ Path string }
	}
}

func readModule(t *testing.T, dir string) (m goMod) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = filepath.Join(root(t), filepath.FromSlash(dir))
	text, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &m))
	return m
}
