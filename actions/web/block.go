package web

import (
	"bytes"
	"strings"

	"golang.org/x/net/html/atom"
)

func (w *writer) beginPre(e *element) {
	if w.pre == 0 {
		w.endLink()
		w.separate(2)
		if w.flat() {
			return
		}
	}
	e.pre = true
	w.pre++
}

func (w *writer) endPre() {
	if w.pre--; w.pre > 0 {
		return
	}
	if w.fence {
		w.gap = 1
		w.startLine()
		w.out = append(w.out, "```"...)
	}
	w.fence, w.lines = false, 0
	w.separate(2)
}

// verbatim writes text of <pre>, from the first line that is not empty on.
func (w *writer) verbatim(b []byte) {
	for w.more() {
		line, rest, ended := bytes.Cut(b, []byte("\n"))
		if line = bytes.TrimRight(line, "\r"); len(line) > 0 {
			w.beginVerbatim()
			w.out = append(w.out, line...)
		}
		if !ended {
			return
		}
		if b = rest; w.fence {
			w.lines++
		}
	}
}

func (w *writer) beginVerbatim() {
	if !w.fence {
		w.startLine()
		w.out = append(w.out, "```"...)
		w.fence, w.lines = true, 1
	}
	for ; w.lines > 1 && w.more(); w.lines-- {
		w.out = append(w.out, '\n')
		w.emptyLine()
		w.out = w.out[:len(w.out)-1]
	}
	if w.lines == 1 {
		w.gap, w.lines = 1, 0
		w.startLine()
	}
}

func (w *writer) beginTable(e *element) {
	w.separate(2)
	if w.plan.tables[w.table-1] && !w.flat() && w.pre == 0 && w.link == "" {
		e.table = true
		w.cells = cells{active: true}
	}
}

func (w *writer) beginRow() {
	if w.cells.active {
		w.endRow()
		return
	}
	w.separate(2)
}

// endRow is also called where there is none.
func (w *writer) endRow() {
	if !w.cells.row {
		return
	}
	c := &w.cells
	c.row = false
	if c.rows++; c.rows == 1 {
		w.underline()
	}
	w.gap = 1
}

// underline makes the first row the head of its table, or writes an empty one
// above it, for Markdown has no table without a head.
func (w *writer) underline() {
	c := &w.cells
	line := "|" + strings.Repeat("---|", c.columns)
	w.gap = 1
	if c.head {
		w.startLine()
		w.out = append(w.out, line...)
		return
	}
	row := string(w.out[c.rowAt:])
	w.out = append(append(w.out[:c.rowAt], '|'), strings.Repeat(" |", c.columns)...)
	for _, next := range []string{line, row} {
		w.gap = 1
		w.startLine()
		w.out = append(w.out, next...)
	}
}

func (w *writer) beginCell(e *element, t tag) {
	w.settle(0)
	w.bold, w.em, w.code = 0, 0, 0
	if !w.cells.active || w.pre > 0 {
		w.separate(2)
		return
	}
	if !w.cells.row {
		w.separate(2 - min(w.cells.rows, 1))
		w.startLine()
		w.cells.rowAt = len(w.out)
		w.out = append(w.out, '|')
		w.cells.row, w.cells.columns = true, 0
	}
	w.cells.head = w.cells.head || e.tag == atom.Th
	w.out = append(w.out, ' ')
	w.cells.cell, w.cells.span = true, min(max(t.n, 1), maxColspan)
	w.fresh, w.space, e.cell = true, false, true
}

func (w *writer) endCell() {
	w.endLink()
	w.settle(0)
	c := &w.cells
	c.cell = false
	c.columns += c.span
	w.out = append(w.out, strings.Repeat(" |", c.span)...)
	w.space = false
}
