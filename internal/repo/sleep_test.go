package repo_test

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
)

// realSleeps returns the places where tests of one folder call time.Sleep in
// real time. Virtual is what stands in a call of synctest.Test or of a function
// around it, what only such places mention, and, beside such a call, composite
// literals and variables: tables of what a bubble runs.
func realSleeps(files []source) (places []string) {
	packages := map[string][]*ast.File{}
	for _, s := range files {
		if s.test {
			packages[s.file.Name.Name] = append(packages[s.file.Name.Name], s.file)
		}
	}
	for _, s := range files { // tests in the package itself need its types
		if tests := packages[s.file.Name.Name]; !s.test && len(tests) > 0 {
			packages[s.file.Name.Name] = append(tests, s.file)
		}
	}
	for name, files := range packages {
		b := read(name, files)
		for b.grow() {
		}
		for _, sleep := range b.sleeps {
			if !b.virtual(sleep) {
				places = append(places, where(sleep.pos))
			}
		}
	}
	return places
}

// A mention is a name in the body of a declaration.
type mention struct {
	what types.Object // nil for time.Sleep
	in   types.Object // the function or variable
	of   ast.Node     // its declaration
	pos  token.Pos
}

type bubbles struct {
	info     types.Info
	sleeps   []mention
	mentions map[types.Object][]mention
	wrappers map[types.Object]bool // functions that call synctest.Test
	inner    map[types.Object]bool // what only bubbles mention
}

// read finds mentions, wrappers and sleeps. Imports stay unresolved: only what
// the package itself declares matters.
func read(name string, files []*ast.File) *bubbles {
	b := &bubbles{
		info:     types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}},
		mentions: map[types.Object][]mention{},
		wrappers: map[types.Object]bool{},
		inner:    map[types.Object]bool{},
	}
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	_, _ = conf.Check(name, fset, files, &b.info) // errors are those of imports
	for _, file := range files {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				b.readDecl(b.info.Defs[d.Name], d)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok {
						b.readDecl(b.info.Defs[v.Names[0]], v)
					}
				}
			}
		}
	}
	return b
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

func (b *bubbles) readDecl(in types.Object, node ast.Node) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr:
			if is(x, "time", "Sleep") {
				b.sleeps = append(b.sleeps, mention{nil, in, node, x.Pos()})
			}
			if is(x, "synctest", "Test") {
				b.wrappers[in] = true
			}
		case *ast.Ident:
			if used := b.info.Uses[x]; used != nil && used != in {
				b.mentions[used] = append(b.mentions[used], mention{used, in, node, x.Pos()})
			}
		}
		return true
	})
}

// grow adds to inner what has become known; it returns false once that is
// nothing.
func (b *bubbles) grow() (grown bool) {
	for o, mentions := range b.mentions {
		all := !b.inner[o]
		for _, m := range mentions {
			all = all && b.virtual(m)
		}
		if all {
			b.inner[o], grown = true, true
		}
	}
	return grown
}

// virtual reports whether what is mentioned runs in a bubble.
func (b *bubbles) virtual(m mention) bool {
	if b.inner[m.in] {
		return true
	}
	_, data := m.what.(*types.Var)
	beside, inside := false, false
	ast.Inspect(m.of, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CallExpr:
			opens := b.opens(x)
			beside = beside || opens
			inside = inside || opens && x.Lparen < m.pos && m.pos < x.Rparen
		case *ast.CompositeLit:
			data = data || x.Pos() < m.pos && m.pos < x.End()
		}
		return true
	})
	return inside || beside && data
}

// opens reports whether a call runs its arguments in a bubble.
func (b *bubbles) opens(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return is(f, "synctest", "Test")
	case *ast.Ident:
		return b.wrappers[b.info.Uses[f]]
	}
	return false
}

func is(x *ast.SelectorExpr, pkg, name string) bool {
	id, ok := x.X.(*ast.Ident)
	return ok && id.Name == pkg && x.Sel.Name == name
}
