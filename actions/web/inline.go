package web

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"
)

// separate ends a line: n is 1 for a new line, 2 for a new paragraph.
func (w *writer) separate(n int) {
	if w.linkAt >= 0 && len(w.out)-w.linkAt > maxLinkText {
		w.endLink()
	}
	switch {
	case w.pre > 0:
		if w.fence {
			w.lines = max(w.lines, 1)
		}
	case w.flat():
		w.space = true
	default:
		w.settle(0)
		if l := len(w.levels); l == 0 || w.levels[l-1].begun { // else its mark is in between
			w.gap = max(w.gap, n)
		}
		w.hard = false
		w.space, w.title, w.heading = false, false, 0
	}
}

// breakLine is <br>: a line within the paragraph, the second time a paragraph.
func (w *writer) breakLine() {
	switch {
	case w.pre > 0:
		if w.fence {
			w.lines++
		}
	case w.flat() || w.title:
		w.space = true
	case w.gap == 0 && !w.fresh:
		w.separate(1)
		w.hard = true
	default:
		w.gap = 2
	}
}

// startLine ends the line before and begins one, as deep as the levels say.
func (w *writer) startLine() {
	if len(w.out) > 0 && w.gap > 0 {
		if w.gap == 1 && w.hard {
			w.out = append(w.out, "  "...)
		}
		if w.out = append(w.out, '\n'); w.gap == 2 {
			w.emptyLine()
		}
	}
	for i := range w.levels {
		l := &w.levels[i]
		if l.begun {
			w.out = append(w.out, l.rest...)
			continue
		}
		w.out = append(w.out, l.first...)
		l.begun = true
	}
	w.gap, w.hard, w.space, w.fresh = 0, false, false, true
}

// emptyLine writes a line that holds the marks of quotes only.
func (w *writer) emptyLine() {
	at := len(w.out)
	for i := range w.levels {
		if !w.levels[i].begun {
			break
		}
		w.out = append(w.out, w.levels[i].rest...)
	}
	w.out = append(w.out[:at+len(bytes.TrimRight(w.out[at:], " "))], '\n')
}

func (w *writer) indent(e *element, first, rest string) {
	if w.flat() || w.pre > 0 || len(w.levels) == maxLevels {
		return
	}
	w.levels = append(w.levels, level{first: first, rest: rest})
	e.levels = 1
}

func (w *writer) listGap() int {
	if len(w.lists) > 0 {
		return 1
	}
	return 2
}

func (w *writer) beginList(e *element, t tag) {
	w.separate(w.listGap())
	e.list = true
	w.lists = append(w.lists, list{ordered: t.atom == atom.Ol, next: max(t.n, 1)})
}

func (w *writer) beginItem(e *element) {
	w.separate(1)
	marker := "- "
	if n := len(w.lists); n > 0 {
		l := &w.lists[n-1]
		if l.begun {
			w.gap = min(w.gap, 1)
		}
		if l.ordered {
			marker = strconv.Itoa(l.next) + ". "
		}
		l.next++
		l.begun = true
	}
	w.indent(e, marker, strings.Repeat(" ", len(marker)))
}

func (w *writer) block(t tag, open bool) {
	if !w.visible() {
		return
	}
	switch t.atom {
	case atom.Br:
		w.breakLine()
	case atom.Img:
		w.text([]byte(t.alt))
	case atom.Hr:
		w.rule()
	case atom.Option, atom.Optgroup:
		w.separate(1)
	default:
		if !blocks[t.atom] {
			return
		}
		w.separate(2)
		if open && headings[t.atom] > 0 && !w.flat() {
			w.heading, w.title = headings[t.atom], true
		}
	}
}

func (w *writer) rule() {
	w.separate(2)
	if !w.flat() && w.pre == 0 {
		w.startLine()
		w.out = append(w.out, "* * *"...)
		w.separate(2)
	}
}

func (w *writer) inline(t tag, open bool) {
	by := -1
	if open {
		by = 1
	}
	switch t.atom {
	case atom.A:
		w.endLink()
		if open && w.visible() && w.pre == 0 {
			w.startLink(t.href)
		}
		return
	case atom.B, atom.Strong:
		w.bold = max(w.bold+by, 0)
	case atom.I, atom.Em:
		w.em = max(w.em+by, 0)
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		w.code = max(w.code+by, 0)
	}
	if !open {
		w.settle(w.wanted())
	}
}

// wanted returns how many of the marks that are written still count.
func (w *writer) wanted() int {
	for i := range len(w.marks) {
		if w.marks[i] == 'b' && w.bold == 0 || w.marks[i] == 'i' && w.em == 0 || w.marks[i] == 'c' && w.code == 0 {
			return i
		}
	}
	return len(w.marks)
}

// settle closes the marks from the n-th on. They are written again before
// more text, if they still count.
func (w *writer) settle(n int) {
	for len(w.marks) > n {
		last := len(w.marks) - 1
		w.out = append(w.out, markOf(w.marks[last])...)
		w.marks = w.marks[:last]
	}
}

func markOf(c byte) string {
	switch c {
	case 'b':
		return "**"
	case 'i':
		return "*"
	}
	return "`"
}

func (w *writer) mark(c byte, open int) {
	if open > 0 && strings.IndexByte(w.marks, c) < 0 {
		w.marks += string(rune(c))
		w.out = append(w.out, markOf(c)...)
	}
}

// startLink begins a link if it leads to another page. A long base could make
// short links into a text without end: what URLs may add up to is bounded, and
// links beyond that are bare text.
func (w *writer) startLink(href string) {
	if w.urls -= len(href); w.urls < 0 {
		return
	}
	url := w.resolve(href)
	if w.urls -= len(url); w.urls < 0 {
		return
	}
	w.link, w.linkAt, w.linkDepth = url, -1, w.depth
	w.around = [3]int{w.bold, w.em, w.code}
}

// resolve returns the URL that a link is written with. It remembers some, for
// navigation repeats itself.
func (w *writer) resolve(href string) string {
	const most = 1 << 10
	url, ok := w.known[href]
	if !ok {
		url = parens.Replace(w.page.follow(href))
		if w.known == nil || len(w.known) == most {
			w.known = make(map[string]string)
		}
		w.known[href] = url
	}
	return url
}

var parens = strings.NewReplacer("(", "%28", ")", "%29")

func (w *writer) endLink() {
	if w.link == "" {
		return
	}
	if w.linkAt < 0 {
		w.prepare()
	}
	w.settle(min(w.linkMarks, len(w.marks)))
	w.out = append(append(append(w.out, "]("...), w.link...), ')')
	w.link, w.linkAt = "", -1
}

// prepare writes what stands before more text.
func (w *writer) prepare() {
	switch {
	case w.gap > 0 || len(w.out) == 0:
		w.startLine()
	case w.space && !w.fresh:
		w.out = append(w.out, ' ')
	}
	w.space, w.fresh = false, false
	for ; w.heading > 0; w.heading-- {
		w.out = append(w.out, '#')
		if w.heading == 1 {
			w.out = append(w.out, ' ')
		}
	}
	if w.link != "" && w.linkAt < 0 {
		w.mark('b', min(w.bold, w.around[0]))
		w.mark('i', min(w.em, w.around[1]))
		w.mark('c', min(w.code, w.around[2]))
		w.out = append(w.out, '[')
		w.linkAt, w.linkMarks = len(w.out), len(w.marks)
	}
	w.mark('b', w.bold)
	w.mark('i', w.em)
	w.mark('c', w.code)
}

func (w *writer) text(b []byte) {
	switch {
	case !w.visible():
		return
	case w.pre > 0:
		w.verbatim(b)
		return
	}
	for len(b) > 0 && w.more() {
		n := 0
		for n < len(b) && !isSpace[b[n]] {
			n++
		}
		if n == 0 {
			w.space, b = true, b[1:]
			continue
		}
		w.prepare()
		w.word(b[:n])
		b = b[n:]
	}
}

// isSpace holds HTML's white space, and what stands for nothing.
var isSpace = [256]bool{0: true, ' ': true, '\t': true, '\n': true, '\f': true, '\r': true}

func (w *writer) word(b []byte) {
	if len(w.out)+len(b) > w.limit {
		w.limit = -1 // there is too much
		return
	}
	if w.code > 0 || !bytes.ContainsAny(b, "<>") {
		w.out = append(w.out, b...)
		return
	}
	for i := 0; i < len(b) && w.more(); i++ {
		switch b[i] {
		case '<':
			w.out = append(w.out, "&lt;"...)
		case '>':
			w.out = append(w.out, "&gt;"...)
		default:
			w.out = append(w.out, b[i])
		}
	}
}
