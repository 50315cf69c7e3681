package repo_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for dir, files := range byPackage(sources(t)) {
		said, code := false, false
		for _, s := range files {
			code = code || !s.test
			said = said || !s.test && s.file.Doc != nil
		}
		assert.True(t, said || !code, "package %s has no comment", dir)
	}
}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.file.Name.Name == "main" || strings.HasPrefix(s.dir, "internal") {
			continue
		}
		for _, decl := range s.file.Decls {
			for _, id := range undocumented(decl) {
				assert.Fail(t, where(id.Pos())+": "+id.Name+" is exported and has no comment")
			}
		}
	}
}

// undocumented returns the exported names of a declaration that no comment
// says anything about. The comment of a group covers its members.
func undocumented(decl ast.Decl) (names []*ast.Ident) {
	add := func(id *ast.Ident, comments ...*ast.CommentGroup) {
		said := slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return c.Text() != "" })
		if id.IsExported() && !said {
			names = append(names, id)
		}
	}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if receiver := receiverName(d); receiver == "" || ast.IsExported(receiver) {
			add(d.Name, d.Doc, implements(d))
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				add(s.Name, d.Doc, s.Doc, s.Comment)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					add(id, d.Doc, s.Doc, s.Comment)
				}
			}
		}
	}
	return names
}

func receiverName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	name := ""
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// implements stands in for the comment of methods whose meaning package errors
// has laid down.
func implements(d *ast.FuncDecl) *ast.CommentGroup {
	if d.Recv != nil && slices.Contains([]string{"Error", "Unwrap", "Is"}, d.Name.Name) {
		return &ast.CommentGroup{List: []*ast.Comment{{Text: "// as package errors says"}}}
	}
	return nil
}

var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)

func TestNoCommentPutsWorkOff(t *testing.T) {
	for _, s := range sources(t) {
		for _, c := range s.file.Comments {
			assert.NotRegexp(t, unfinished, c.Text(), where(c.Pos()))
		}
	}
}

func TestTestsSleepOnlyInVirtualTime(t *testing.T) {
	for _, files := range byPackage(sources(t)) {
		for _, at := range realSleeps(files) {
			assert.Fail(t, at+": a test sleeps outside of a synctest bubble: wait for what happens instead")
		}
	}
}

func TestSleepsAreFoundOutsideOfBubblesOnly(t *testing.T) {
	const head = "package p\nimport (\"testing\"; \"testing/synctest\"; \"time\")\n" +
		"func bubble(t *testing.T, run func(t *testing.T)) { synctest.Test(t, run) }\n"
	for name, c := range map[string]struct {
		text  string
		found int
	}{
		"plain":               {"func TestX(t *testing.T) { time.Sleep(1) }", 1},
		"in a bubble":         {"func TestX(t *testing.T) { synctest.Test(t, func(t *testing.T) { time.Sleep(1) }) }", 0},
		"in a wrapper":        {"func TestX(t *testing.T) { bubble(t, func(t *testing.T) { time.Sleep(1) }) }", 0},
		"beside a bubble":     {"func TestX(t *testing.T) { bubble(t, f); time.Sleep(1) }", 1},
		"helper in a bubble":  {"func TestX(t *testing.T) { bubble(t, func(t *testing.T) { nap() }) }\nfunc nap() { time.Sleep(1) }", 0},
		"helper of a helper":  {"func TestX(t *testing.T) { bubble(t, long) }\nfunc long(*testing.T) { nap() }\nfunc nap() { time.Sleep(1) }", 0},
		"helper outside too":  {"func TestX(t *testing.T) { bubble(t, func(t *testing.T) { nap() }) }\nfunc TestY(t *testing.T) { nap() }\nfunc nap() { time.Sleep(1) }", 1},
		"table for a bubble":  {"func TestX(t *testing.T) { for _, f := range []func(){func() { time.Sleep(1) }} { bubble(t, func(t *testing.T) { f() }) } }", 0},
		"table without":       {"func TestX(t *testing.T) { for _, f := range []func(){func() { time.Sleep(1) }} { f() } }", 1},
		"shadowed name":       {"func TestX(t *testing.T) { bubble(t, func(t *testing.T) { nap() }) }\nfunc TestY(t *testing.T) { nap := 1; _ = nap }\nfunc nap() { time.Sleep(1) }", 0},
		"method in a bubble":  {"type w struct{}\nfunc (w) nap() { time.Sleep(1) }\nfunc TestX(t *testing.T) { var x w; bubble(t, func(t *testing.T) { x.nap() }) }", 0},
		"helper without user": {"func nap() { time.Sleep(1) }", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := parse(t, "x_test.go", head+c.text)
			assert.Len(t, realSleeps([]source{s}), c.found)
		})
	}
}
