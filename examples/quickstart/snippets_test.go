package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// A snippet is Go code on a page. Its attribute data-go says what it is: a
// whole "program", declarations ("decl"), or the "body" of a function.
type snippet struct {
	page, kind, code string
}

func snippets(t *testing.T) (found []snippet) {
	for _, name := range pageNames(t) {
		for _, code := range all(parsePage(t, name), "code") {
			goes := attribute(code, "class") == "language-go"
			kind := attribute(code, "data-go")
			assert.Equal(t, goes, kind != "", "%s: Go code says what it is:\n%s", name, text(code))
			if kind != "" {
				found = append(found, snippet{name, kind, verbatim(code)})
			}
		}
	}
	return found
}

func verbatim(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		b.WriteString(d.Data)
	}
	return b.String()
}

const imports = `package p
import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"strings"
	"time"
	openai "github.com/sashabaranov/go-openai"
	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/speccache"
	"github.com/speccache/speccache-go/target"
)
`

// around is what the body of a function may take for granted.
const around = `
var (
	ctx      context.Context
	question string
	request  *http.Request
	err      error
	fetcher  *web.Fetcher
	page     *web.Page
	action   actions.Action
	cache    *speccache.Cache[*web.Page]
	session  *speccache.Session[*web.Page]

	runTool    actions.Executor[string]
	choose     func(string) (actions.Action, bool)
	loop       func(context.Context, actions.Executor[string], func(string) (actions.Action, bool)) error
	nextResult actions.Predictor[string]
	use        func(*web.Page) error
	quiet      func() bool
	jars       map[string]http.CookieJar
	tokens     map[string]string
)
`

func (s snippet) source() string {
	switch s.kind {
	case "program":
		return s.code
	case "decl":
		return imports + s.code
	case "body":
		return imports + around + "func _() error {\n" + s.code + "\nreturn nil\n}"
	}
	return "package p\nvar _ int = " + s.kind // no such kind
}

func TestTheCodeOnThePagesCompiles(t *testing.T) {
	load := exportData(t)
	all := snippets(t)
	require.Greater(t, len(all), 20)
	for i, s := range all {
		t.Run(fmt.Sprintf("%s-%d", s.page, i), func(t *testing.T) {
			assert.NoError(t, compile(s, load), "%s", s.code)
		})
	}
}

// compile checks a snippet's types. Snippets that are no program need not use
// what they declare or import.
func compile(s snippet, load importer.Lookup) (err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, s.page+".go", s.source(), parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	conf := types.Config{
		Importer: importer.ForCompiler(fset, "gc", load),
		Error: func(e error) {
			if soft := e.(types.Error).Soft; !soft || s.kind == "program" {
				err = errors.Join(err, e)
			}
		},
	}
	conf.Check("p", fset, []*ast.File{file}, nil) // its error went to Error
	return err
}

// exportData asks the go command for the types of the packages that snippets
// import. The command is there wherever a test is compiled.
func exportData(t *testing.T) importer.Lookup {
	module := "github.com/speccache/speccache-go/"
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}",
		module+"actions/web", module+"draft", module+"speccache", module+"target", "log/slog", "log", "maps", "iter")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	at := map[string]string{}
	for line := range strings.Lines(string(out)) {
		pkg, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		at[pkg] = file
	}
	return func(pkg string) (io.ReadCloser, error) {
		file, ok := at[pkg]
		if !ok {
			return nil, fmt.Errorf("no package %q", pkg)
		}
		return os.Open(file)
	}
}

func TestACheckOfTypesFindsWhatIsWrong(t *testing.T) {
	load := exportData(t)
	for code, kind := range map[string]string{
		`session.Dont(ctx, action)`:                    "body",
		`cache.Open("x")`:                              "body",
		`func f() int { return "" }`:                   "decl",
		"package main\nimport \"fmt\"\nfunc main() {}": "program",
		`if {`: "body",
	} {
		assert.Error(t, compile(snippet{"wrong", kind, code}, load), code)
	}
}
