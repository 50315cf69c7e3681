package web

import "golang.org/x/net/html/atom"

// A survey is what must be known of a page before its text is written.
type survey struct {
	main     bool
	articles int    // that are in no other
	tables   []bool // in reading order: whether it has rows of short cells

	open   int   // articles
	within []int // tables that are open
	blocks int   // that began in the cell
}

// surveyHTML returns false if the markup is nested too deeply.
func surveyHTML(doc string) (*survey, bool) {
	s := &survey{}
	w := walk{to: s}
	ok := w.run(doc)
	return s, ok
}

func (s *survey) begin(e *element, t tag) {
	s.main = s.main || isMain(t)
	switch t.atom {
	case atom.Article:
		if s.open++; s.open == 1 {
			s.articles++
		}
	case atom.Table:
		s.complicate()
		s.within = append(s.within, len(s.tables))
		s.tables = append(s.tables, true)
	case atom.Td, atom.Th:
		s.blocks = 0
	case atom.Ul, atom.Ol, atom.Menu, atom.Blockquote, atom.Pre:
		s.complicate()
	default:
		s.countBlock(t)
	}
}

func (s *survey) end(e *element) {
	switch e.tag {
	case atom.Article:
		s.open--
	case atom.Table:
		s.within = s.within[:len(s.within)-1]
	}
}

func (s *survey) block(t tag, open bool) {
	switch {
	case t.atom == atom.Hr, headings[t.atom] > 0:
		s.complicate()
	case open:
		s.countBlock(t)
	}
}

// countBlock takes a cell of several paragraphs for layout. One paragraph is
// often wrapped in another.
func (s *survey) countBlock(t tag) {
	switch t.atom {
	case atom.P, atom.Div, atom.Br, atom.Section, atom.Article:
		if s.blocks++; s.blocks > 4 {
			s.complicate()
		}
	}
}

func (s *survey) complicate() {
	if n := len(s.within); n > 0 {
		s.tables[s.within[n-1]] = false
	}
}

func (s *survey) inline(tag, bool) {}
func (s *survey) text([]byte)      {}
func (s *survey) more() bool       { return true }

func isMain(t tag) bool { return t.atom == atom.Main || t.role == roleMain }

var headings = map[atom.Atom]int{atom.H1: 1, atom.H2: 2, atom.H3: 3, atom.H4: 4, atom.H5: 5, atom.H6: 6}
