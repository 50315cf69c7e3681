package repo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const modulePath = "github.com/speccache/speccache-go"

// A source is one Go file of the repository, in any of its modules.
type source struct {
	dir  string // from the repository's root, with slashes; "." is the root
	test bool
	file *ast.File
}

var fset = token.NewFileSet()

// where returns where a position is, from the repository's root.
func where(p token.Pos) string { return fset.Position(p).String() }

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "go.mod"))
	return dir
}

// walk calls do for every file that is part of the repository.
func walk(t *testing.T, do func(file string)) {
	t.Helper()
	err := filepath.WalkDir(root(t), func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			do(file)
		case d.Name() == "testdata", d.Name() == ".git", strings.HasPrefix(d.Name(), "_"):
			return fs.SkipDir
		}
		return nil
	})
	require.NoError(t, err)
}

// sources parses the repository.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	walk(t, func(file string) {
		if filepath.Ext(file) != ".go" {
			return
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		rel, err := filepath.Rel(root(t), file)
		require.NoError(t, err)
		all = append(all, parse(t, filepath.ToSlash(rel), string(text)))
	})
	require.NotEmpty(t, all)
	return all
}

func parse(t *testing.T, name, text string) source {
	t.Helper()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	require.NoError(t, err)
	return source{dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), file: file}
}

// byPackage groups sources by the folder that they are in.
func byPackage(all []source) map[string][]source {
	packages := map[string][]source{}
	for _, s := range all {
		packages[s.dir] = append(packages[s.dir], s)
	}
	return packages
}
