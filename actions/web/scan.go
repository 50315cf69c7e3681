package web

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxToken bounds a tag, a text, or a script, in bytes. With one more, the
// tokenizer would double its buffer.
const maxToken = 4<<20 - 1

// A scan is what a page needs before anybody reads it. It is taken from the
// stream of tokens, at a third of what building the tree would cost.
type scan struct {
	title  string
	base   string // of the first <base href>
	links  []anchor
	text   int // bytes of text, about
	tags   int // start tags
	blocks int // of which begin a line
}

// An anchor is a link as it stands in the markup.
type anchor struct {
	href     string
	label    string
	download bool
	acts     bool // its markup says that choosing it does something
}

// scanHTML reads a page's markup once, or to one link more than there may be.
// Links in comments, scripts and templates are none.
//
// The error says that a tag or text is too long: the tokenizer would need thrice
// as much memory for it.
func scanHTML(doc string) (scan, error) {
	s := scanner{z: html.NewTokenizer(strings.NewReader(doc))}
	s.z.SetMaxBuf(maxToken)
	for len(s.out.links) <= maxLinks {
		switch t := s.next(); t {
		case html.ErrorToken:
			if errors.Is(s.z.Err(), html.ErrBufferExceeded) {
				return s.out, fmt.Errorf("%w: a tag or text in it takes more than %d bytes", ErrTooLarge, maxToken)
			}
			s.endLink()
			return s.out, nil
		case html.TextToken:
			s.readText()
		case html.StartTagToken, html.SelfClosingTagToken:
			s.startTag(t == html.SelfClosingTagToken)
		case html.EndTagToken:
			s.endTag()
		}
	}
	return s.out, nil
}

type scanner struct {
	z   *html.Tokenizer
	out scan

	raw       atom.Atom   // the element whose text is not the page's: <script>
	templates int         // <template> elements that are open
	drawn     []atom.Atom // drawings that are open, and what holds HTML in them

	open      bool // a link is open
	link      anchor
	text, alt []byte // in the open link
	aria, tip string // its aria-label and title
	hasTitle  bool   // the page's <title> was read
}

func (s *scanner) readText() {
	switch {
	case s.raw == atom.Title, s.within() == atom.Title:
		s.readTitle(string(s.z.Text()))
	case s.legible():
		s.out.text += len(s.z.Raw())
		if s.open && len(s.text) < 4*maxLabel {
			s.text = append(s.text, s.z.Text()...)
		}
	}
}

// legible reports whether text that comes next is the page's.
func (s *scanner) legible() bool { return s.raw == 0 && s.within() != atom.Title }

// readTitle takes the page's title, or the name of a drawing in a link.
func (s *scanner) readTitle(text string) {
	switch {
	case s.open && s.within() != 0:
		s.addAlt(text)
	case s.within() == 0 && !s.hasTitle:
		s.out.title = cleanLabel(text)
		s.hasTitle = true
	}
}

func (s *scanner) addAlt(text string) {
	if s.open && len(s.alt) < 4*maxLabel {
		s.alt = append(append(s.alt, ' '), text...)
	}
}

func (s *scanner) startTag(selfClosing bool) {
	name, more := s.z.TagName()
	tag := atom.Lookup(name)
	s.out.tags++
	if blocks[tag] {
		s.out.blocks++
		s.separate()
	}
	if s.drawing() && (endsDrawing(tag) || tag == atom.Font && more) {
		s.leaveDrawing()
	}
	if s.drawing() {
		s.z.NextIsNotRawText()
	}
	switch tag {
	case atom.A:
		s.endLink()
		s.startLink(more)
	case atom.Area:
		s.area(more)
	case atom.Base:
		s.readBase(more)
	case atom.Img:
		if s.open {
			s.addAlt(s.attribute(more, "alt"))
		}
	default:
		s.enter(tag, selfClosing)
	}
}

// enter keeps account of the elements whose content is read differently.
func (s *scanner) enter(tag atom.Atom, selfClosing bool) {
	if selfClosing && (s.drawing() || tag == atom.Svg || tag == atom.Math) {
		return // only there does the slash count
	}
	switch tag {
	case atom.Svg, atom.Math, atom.ForeignObject, atom.Foreignobject, atom.Desc,
		atom.Mi, atom.Mo, atom.Mn, atom.Ms, atom.Mtext:
		s.draw(tag)
	case atom.Template:
		s.templates++
		s.draw(tag)
	case atom.Title:
		if s.draw(tag); s.within() != atom.Title {
			s.raw = tag
		}
	case atom.Script, atom.Style, atom.Noscript, atom.Textarea,
		atom.Iframe, atom.Noembed, atom.Noframes:
		s.raw = tag
	}
}

func (s *scanner) endTag() {
	name, _ := s.z.TagName()
	tag := atom.Lookup(name)
	if tag == s.raw {
		s.raw = 0
	}
	switch tag {
	case atom.A:
		s.endLink()
	case atom.Svg, atom.Math, atom.ForeignObject, atom.Foreignobject, atom.Desc,
		atom.Mi, atom.Mo, atom.Mn, atom.Ms, atom.Mtext, atom.Title:
		s.drawnEnds(tag)
	case atom.Template:
		s.templates = max(s.templates-1, 0)
		s.drawnEnds(tag)
	default:
		if tag == atom.P || tag == atom.Br { // which alone of end tags does
			s.leaveDrawing()
		}
		if blocks[tag] {
			s.separate()
		}
	}
}

// separate keeps the words of neighbouring blocks in a link apart.
func (s *scanner) separate() {
	if s.open {
		s.text = append(s.text, ' ')
	}
}

func (s *scanner) startLink(more bool) {
	if s.templates > 0 {
		return
	}
	s.link, s.aria, s.tip = anchor{}, "", ""
	s.text, s.alt = s.text[:0], s.alt[:0]
	for more {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		switch string(key) {
		case "href":
			if !s.open { // of two attributes, the first one counts
				s.open, s.link.href = true, string(value)
			}
		case "download":
			s.link.download = true
		case "aria-label":
			s.aria = string(value)
		case "title":
			s.tip = string(value)
		default:
			s.link.acts = s.link.acts || attributeActs(key, value)
		}
	}
}

// endLink names the open link by what a reader sees, or else is told.
func (s *scanner) endLink() {
	if !s.open {
		return
	}
	s.open = false
	for _, text := range []string{string(s.text), string(s.alt), s.aria, s.tip} {
		if s.link.label = cleanLabel(text); s.link.label != "" {
			break
		}
	}
	s.out.links = append(s.out.links, s.link)
}

// area reads a link of an image map. It has no content.
func (s *scanner) area(more bool) {
	var link anchor
	found := false
	for more {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		switch string(key) {
		case "href":
			if !found {
				found, link.href = true, string(value)
			}
		case "alt":
			link.label = cleanLabel(string(value))
		case "download":
			link.download = true
		default:
			link.acts = link.acts || attributeActs(key, value)
		}
	}
	if found && s.templates == 0 {
		s.out.links = append(s.out.links, link)
	}
}

func (s *scanner) readBase(more bool) {
	if href := s.attribute(more, "href"); s.out.base == "" && s.templates == 0 {
		s.out.base = href
	}
}

// attribute returns the value of an attribute of the tag at hand, or "".
func (s *scanner) attribute(more bool, name string) string {
	for more {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		if string(key) == name {
			return string(value)
		}
	}
	return ""
}

// blocks are the elements that begin a line of their own.
var blocks = func() map[atom.Atom]bool {
	set := map[atom.Atom]bool{}
	for _, a := range []atom.Atom{
		atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Br,
		atom.Caption, atom.Dd, atom.Div, atom.Dl, atom.Dt, atom.Fieldset,
		atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2,
		atom.H3, atom.H4, atom.H5, atom.H6, atom.Head, atom.Header, atom.Hr,
		atom.Li, atom.Main, atom.Nav, atom.Ol, atom.Option, atom.P, atom.Pre,
		atom.Section, atom.Table, atom.Tbody, atom.Td, atom.Tfoot, atom.Th,
		atom.Thead, atom.Tr, atom.Ul,
	} {
		set[a] = true
	}
	return set
}()
