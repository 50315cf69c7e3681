package web

import (
	"slices"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Within drawings, <svg> and <math>, markup is read by other rules: a script there
// is text with tags in it. But drawings may hold HTML, and some tags end them.

// maxDrawn bounds how many drawings within each other are told apart.
const maxDrawn = 64

// drawing reports whether what comes next is read as part of a drawing.
func (s *scanner) drawing() bool { return isDrawing(s.within()) }

// next reads the next token. CDATA is text in drawings, and in what holds HTML there.
func (s *scanner) next() html.TokenType {
	s.z.AllowCDATA(s.within() != 0 && s.within() != atom.Template)
	return s.z.Next()
}

// within returns the innermost drawing that is open, or what holds HTML in it.
func (s *scanner) within() atom.Atom {
	if len(s.drawn) == 0 {
		return 0
	}
	return s.drawn[len(s.drawn)-1]
}

func isDrawing(tag atom.Atom) bool { return tag == atom.Svg || tag == atom.Math }

// draw takes account of a tag that begins a drawing, HTML in one, or a template,
// with which ends what began in it.
func (s *scanner) draw(tag atom.Atom) {
	begins := isDrawing(tag) || holdsHTML(s.within(), tag) || tag == atom.Template && !s.drawing()
	if begins && len(s.drawn) < maxDrawn {
		s.drawn = append(s.drawn, tag)
	}
}

// drawnEnds takes account of the end of what draw has seen.
func (s *scanner) drawnEnds(tag atom.Atom) {
	for i, open := range slices.Backward(s.drawn) {
		if open == tag {
			s.drawn = s.drawn[:i]
			return
		}
	}
}

// leaveDrawing ends the drawings that are open, up to HTML that holds them.
func (s *scanner) leaveDrawing() {
	for s.drawing() {
		s.drawn = s.drawn[:len(s.drawn)-1]
	}
}

// holdsHTML reports whether an element of a drawing has HTML in it.
func holdsHTML(drawing, tag atom.Atom) bool {
	switch tag {
	case atom.ForeignObject, atom.Foreignobject, atom.Desc, atom.Title:
		return drawing == atom.Svg
	case atom.Mi, atom.Mo, atom.Mn, atom.Ms, atom.Mtext:
		return drawing == atom.Math
	}
	return false
}

// endsDrawing reports whether a tag ends a drawing that nobody has closed: the
// HTML standard's list, and what else begins a line.
func endsDrawing(tag atom.Atom) bool {
	switch tag {
	case atom.B, atom.Big, atom.Center, atom.Code, atom.Em, atom.Embed, atom.I, atom.Img,
		atom.Listing, atom.Menu, atom.Meta, atom.Nobr, atom.Ruby, atom.S, atom.Small, atom.Span,
		atom.Strong, atom.Strike, atom.Sub, atom.Sup, atom.Tt, atom.U, atom.Var:
		return true
	}
	return blocks[tag]
}
