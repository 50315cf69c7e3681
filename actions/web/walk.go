package web

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxDepth bounds the elements that are open at one time, but for those that
// no text depends on. Real pages stay far below.
const maxDepth = 256

// A walk goes through the markup as it stands, once, and keeps the elements
// that are open. No tree is built: a tree can be hundreds of times as large as
// the markup that asks for it, since elements are closed, opened again and
// moved where they are misplaced.
type walk struct {
	z       *html.Tokenizer
	to      visitor
	stack   []element
	raw     atom.Atom // the element whose text is not the page's: <script>
	foreign int       // <svg> and <math> elements that are open
	missed  map[miss]bool
}

// A miss is an end that closes nothing as long as the same elements are open:
// looking for each again would take as long as the stack is deep.
type miss struct {
	tag    atom.Atom
	name   string
	within scope
}

// A visitor is told what a walk meets. It ends the walk with false.
type visitor interface {
	begin(e *element, t tag) // an element of the stack
	end(e *element)
	inline(t tag, open bool) // what changes only how text looks
	block(t tag, open bool)  // what only begins and ends lines
	text(b []byte)
	more() bool
}

// An element is open, with what its visitor noted for its end.
type element struct {
	tag   atom.Atom
	scope scope
	name  string // of an element that HTML does not know

	skip, root, inner, list, table, cell, pre bool

	levels int // that it added
}

// A tag is a start tag with the attributes that matter here. All others are
// left out, so that nothing else can.
type tag struct {
	atom atom.Atom
	href string // of <a>
	alt  string // of <img>
	role role
	n    int // start, colspan; 0 if there is none
}

type role uint8

const (
	roleNone role = iota
	roleMain
	roleFrame // what stands around the text
)

// run returns false if the markup is nested too deeply, or the visitor ended
// the walk.
func (w *walk) run(doc string) bool {
	w.z = html.NewTokenizer(strings.NewReader(doc))
	for w.to.more() && len(w.stack) <= maxDepth {
		switch t := w.z.Next(); t {
		case html.ErrorToken:
			w.pop(0)
			return w.to.more()
		case html.TextToken:
			if w.raw == 0 {
				w.to.text(w.z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			w.start(t == html.SelfClosingTagToken)
		case html.EndTagToken:
			w.close()
		}
	}
	return false
}

func (w *walk) start(selfClosing bool) {
	name, more := w.z.TagName()
	t := tag{atom: atom.Lookup(name)}
	var unknown string
	if t.atom == 0 {
		unknown = string(name)
	}
	if blocks[t.atom] {
		w.leaveForeign()
	}
	if w.foreign > 0 {
		w.z.NextIsNotRawText()
	}
	w.attributes(&t, more)
	if selfClosing && (w.foreign > 0 || t.atom == atom.Svg || t.atom == atom.Math) {
		return // only there does the slash count
	}
	w.imply(t.atom)
	switch k := kinds[t.atom]; {
	case k == hidden:
		w.raw = t.atom
	case k == inline && t.role == roleNone:
		w.to.inline(t, true)
	case k == line || k == void:
		w.to.block(t, true)
	default:
		w.push(t, unknown)
	}
}

func (w *walk) push(t tag, name string) {
	if t.atom == atom.Svg || t.atom == atom.Math {
		w.foreign++
	}
	clear(w.missed)
	w.stack = append(w.stack, element{tag: t.atom, scope: scopes[t.atom], name: name})
	w.to.begin(&w.stack[len(w.stack)-1], t)
}

// leaveForeign ends an unclosed drawing, as browsers do.
func (w *walk) leaveForeign() {
	for i := 0; w.foreign > 0 && i < len(w.stack); i++ {
		if e := w.stack[i].tag; e == atom.Svg || e == atom.Math {
			w.pop(i)
			w.raw = 0
		}
	}
}

func (w *walk) attributes(t *tag, more bool) {
	for more {
		var key, value []byte
		key, value, more = w.z.TagAttr()
		switch string(key) {
		case "role":
			t.role = roleOf(value)
		case "href":
			if t.atom == atom.A && t.href == "" {
				t.href = string(value)
			}
		case "alt":
			if t.atom == atom.Img && t.alt == "" {
				t.alt = string(value)
			}
		case "start", "colspan":
			if len(value) <= 6 {
				n, _ := strconv.Atoi(string(value)) // what is no number counts as none
				t.n = max(n, 0)
			}
		}
	}
}

func roleOf(value []byte) role {
	switch string(value) {
	case "main":
		return roleMain
	case "navigation", "banner", "contentinfo":
		return roleFrame
	}
	return roleNone
}

// imply closes what a start tag ends without saying so.
func (w *walk) imply(a atom.Atom) {
	switch a {
	case atom.Li:
		w.closeWithin(items, a, a)
	case atom.Td, atom.Th:
		w.closeWithin(cellsOf, atom.Td, atom.Th)
	case atom.Tr:
		w.closeWithin(rowsOf, a, a)
	case atom.Tbody, atom.Thead, atom.Tfoot:
		if !w.closeWithin(rowsOf, atom.Tbody, atom.Thead) && !w.closeWithin(rowsOf, atom.Tfoot, atom.Tfoot) {
			w.closeWithin(rowsOf, atom.Tr, atom.Tr)
		}
	}
}

func (w *walk) close() {
	name, _ := w.z.TagName()
	a := atom.Lookup(name)
	if a != 0 && a == w.raw {
		w.raw = 0
		return
	}
	within := rest
	switch a {
	case 0:
		w.closeNamed(string(name))
		return
	case atom.Table:
		within = templates
	case atom.Tr, atom.Td, atom.Th, atom.Tbody, atom.Thead, atom.Tfoot:
		within = rowsOf
	}
	switch k := kinds[a]; {
	case k == inline && w.closeWithin(within, a, a):
	case k == inline:
		w.to.inline(tag{atom: a}, false)
	case k == line || a == atom.Br:
		w.to.block(tag{atom: a}, false)
	case k == other:
		w.closeWithin(within, a, a)
	}
}

// closeWithin closes the nearest open element of one of two tags, unless it is
// beyond an element that bounds the scope, and says whether it found one.
func (w *walk) closeWithin(within scope, a, b atom.Atom) bool {
	return w.closeNearest(miss{tag: a, within: within}, func(e *element) bool { return e.tag == a || e.tag == b })
}

func (w *walk) closeNamed(name string) {
	w.closeNearest(miss{name: name, within: rest}, func(e *element) bool { return e.name == name })
}

func (w *walk) closeNearest(m miss, is func(*element) bool) bool {
	if w.missed[m] {
		return false
	}
	for i := len(w.stack) - 1; i >= 0; i-- {
		e := &w.stack[i]
		if is(e) {
			w.pop(i)
			return true
		}
		if e.scope&m.within != 0 {
			break
		}
	}
	const most = 1 << 10
	if w.missed == nil || len(w.missed) == most {
		w.missed = make(map[miss]bool)
	}
	w.missed[m] = true
	return false
}

// pop closes the elements from the i-th on.
func (w *walk) pop(i int) {
	clear(w.missed)
	for len(w.stack) > i {
		e := &w.stack[len(w.stack)-1]
		if e.tag == atom.Svg || e.tag == atom.Math {
			w.foreign--
		}
		w.to.end(e)
		w.stack = w.stack[:len(w.stack)-1]
	}
}

func set(atoms ...atom.Atom) map[atom.Atom]bool {
	s := make(map[atom.Atom]bool, len(atoms))
	for _, a := range atoms {
		s[a] = true
	}
	return s
}

// A scope is bounded by some elements: beyond them a tag closes nothing.
type scope uint8

const (
	rest scope = 1 << iota
	templates
	rowsOf
	cellsOf
	items
)

// scopes are those that an element bounds.
var scopes = map[atom.Atom]scope{
	atom.Template: rest | templates | rowsOf | cellsOf | items,
	atom.Table:    rest | rowsOf | cellsOf | items,
	atom.Tr:       cellsOf,
	atom.Td:       rest | items,
	atom.Th:       rest | items,
	atom.Ul:       items,
	atom.Ol:       items,
	atom.Menu:     items,
}

// A kind says how a walk deals with an element.
type kind uint8

const (
	other  kind = iota // goes on the stack
	hidden             // its text is not the page's
	inline             // changes how text looks
	line               // begins and ends a line
	void               // has no content
)

var kinds = func() map[atom.Atom]kind {
	m := make(map[atom.Atom]kind)
	for k, atoms := range map[kind][]atom.Atom{
		hidden: {atom.Script, atom.Style, atom.Noscript, atom.Title, atom.Textarea, atom.Iframe, atom.Noembed, atom.Noframes},
		inline: {
			atom.A, atom.B, atom.Strong, atom.I, atom.Em, atom.Code, atom.Kbd, atom.Samp, atom.Tt, atom.Font,
			atom.U, atom.S, atom.Strike, atom.Big, atom.Small, atom.Nobr, atom.Sub, atom.Sup, atom.Mark, atom.Del, atom.Ins,
		},
		line: {
			atom.P, atom.Dt, atom.Dd, atom.Option, atom.Optgroup, atom.Html, atom.Head, atom.Body,
			atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6,
		},
		void: {
			atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Frame, atom.Hr, atom.Img, atom.Input, atom.Keygen,
			atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr,
		},
	} {
		for _, a := range atoms {
			m[a] = k
		}
	}
	return m
}()
