package web

import (
	"bytes"

	"golang.org/x/net/html/atom"
)

const (
	maxLevels   = 16      // of lists and quotes; what is deeper is not indented further
	maxLinkText = 4 << 10 // bytes; a link that is longer ends with its paragraph
	maxColspan  = 16
)

// A writer makes Markdown of a walk, from front to back, and gives up when it
// is longer than it may be. What it holds beside its text does not grow with
// the page. Text is not escaped but for angle brackets: it is read by models,
// which should find labels as they are.
type writer struct {
	page  *Page
	plan  *survey
	whole bool // the text around the main part too
	out   []byte
	limit int
	urls  int               // bytes that URLs may still take
	known map[string]string // URLs by href

	skip   int  // elements that are open and no text
	inner  int  // open elements that the text stands in: <main>
	inRoot bool // or there is no root
	done   bool // with the root
	table  int  // tables so far

	lists []list

	gap   int  // line ends to write before more text
	hard  bool // the line is broken within its paragraph
	space bool // a space is to be written before more text
	fresh bool // nothing is written in this line or cell
	title bool // the line is a heading

	levels  []level
	heading int // marks to write before more text

	bold, em, code int    // how many are open
	marks          string // that are written, the first one opened first

	link      string // the URL of the open link, or ""
	linkAt    int    // where its text begins; -1 before there is any
	linkMarks int    // marks that were written before it
	around    [3]int // bold, em and code where it began
	linkDepth int    // elements that were open when it began
	depth     int

	cells cells
	pre   int
	fence bool // of <pre> is written
	lines int  // ends of lines in <pre> to write before more text
}

type list struct {
	ordered, begun bool
	next           int
}

// A level is an item of a list, or a quote.
type level struct {
	first, rest string
	begun       bool
}

// cells are where a table is that has rows of short cells.
type cells struct {
	active, row, cell bool
	head              bool // the first row has a <th>
	rows, columns     int
	rowAt             int // where the row begins
	span              int // of the cell
}

// write returns a page's Markdown, or false if there is no reasonable one.
func (p *Page) write(plan *survey, whole bool) (string, bool) {
	w := &writer{page: p, plan: plan, whole: whole, limit: p.text, linkAt: -1, fresh: true}
	w.out = make([]byte, 0, p.text+256)
	w.urls = urlBudget(p.html)
	w.inRoot = whole || !plan.main && plan.articles != 1
	walk := walk{to: w}
	ok := walk.run(p.html)
	w.endLink()
	w.settle(0)
	return string(bytes.TrimSpace(w.out)), ok
}

func (w *writer) more() bool    { return len(w.out) <= w.limit }
func (w *writer) visible() bool { return w.skip == 0 && w.inRoot }

// flat reports whether what would begin a line is within one.
func (w *writer) flat() bool { return w.cells.cell || w.linkAt >= 0 }

func (w *writer) begin(e *element, t tag) {
	w.depth++
	w.place(e, t)
	if t.atom == atom.Table {
		w.table++
	}
	if !w.visible() {
		return
	}
	switch t.atom {
	case atom.Ul, atom.Ol, atom.Menu:
		w.beginList(e, t)
	case atom.Li:
		w.beginItem(e)
	case atom.Blockquote:
		w.separate(2)
		w.indent(e, "> ", "> ")
	case atom.Pre:
		w.beginPre(e)
	case atom.Table:
		w.beginTable(e)
	case atom.Tr, atom.Tbody, atom.Thead, atom.Tfoot:
		w.beginRow()
	case atom.Td, atom.Th:
		w.beginCell(e, t)
	default:
		if blocks[t.atom] {
			w.separate(2)
		}
	}
}

func (w *writer) end(e *element) {
	if w.depth--; w.depth < w.linkDepth {
		w.endLink()
	}
	switch {
	case e.list:
		w.lists = w.lists[:len(w.lists)-1]
		w.separate(w.listGap())
	case e.cell:
		w.endCell()
	case e.pre:
		w.endPre()
	case e.table:
		w.endRow()
		w.cells = cells{}
		w.separate(2)
	case !w.visible():
	case e.tag == atom.Li:
		w.separate(1)
	case w.cells.active && rows[e.tag]:
		w.endRow()
	case blocks[e.tag]:
		w.separate(2)
	}
	w.levels = w.levels[:len(w.levels)-e.levels]
	w.leave(e)
}

var rows = set(atom.Tr, atom.Tbody, atom.Thead, atom.Tfoot)

// leave undoes what place did.
func (w *writer) leave(e *element) {
	if e.skip {
		w.skip--
	}
	if e.inner {
		w.inner--
	}
	if e.root {
		w.inRoot, w.done = false, true
	}
}

// place finds out whether an element is part of the text.
func (w *writer) place(e *element, t tag) {
	root := isMain(t) || !w.plan.main && t.atom == atom.Article
	if root && w.skip == 0 && !w.inRoot && !w.done {
		w.inRoot, e.root = true, true
	}
	e.skip = isNoise(t.atom) || w.inRoot && !w.whole && !e.root && w.isFrame(t)
	e.inner = isMain(t) || t.atom == atom.Article || t.atom == atom.Section
	if e.skip {
		w.skip++
	}
	if e.inner {
		w.inner++
	}
}

// isFrame finds what stands around the text. Headers and footers of articles
// are text, as within reports.
func (w *writer) isFrame(t tag) bool {
	switch t.atom {
	case atom.Nav:
		return true
	case atom.Header, atom.Footer:
		return w.inner == 0
	}
	return t.role == roleFrame
}

func isNoise(a atom.Atom) bool {
	switch a {
	case atom.Template, atom.Svg, atom.Object, atom.Audio, atom.Video, atom.Canvas:
		return true
	}
	return false
}
