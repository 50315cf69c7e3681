package web

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The markup is a stranger's, and the libraries that parse and convert it make
// much of little: an unclosed <b> stands in every later block, a table pads its
// cells, a list indents its lines. These limits are far above what real pages
// need; a page beyond them loses its structure, and keeps its text.
const (
	maxMarkup     = 1 << 20 // bytes that are parsed as a tree
	maxTags       = 50_000  // in them
	maxUnclosed   = 500_000 // formatting elements, summed over all blocks
	maxContainers = 6       // lists and quotes within each other
	maxLevels     = 48      // of elements; what is deeper is text
	maxStart      = 100_000 // of a numbered list
)

// formatting are the elements that HTML parsers open again in the next block
// if nobody closed them.
var formatting = map[atom.Atom]bool{
	atom.A: true, atom.B: true, atom.Big: true, atom.Code: true, atom.Em: true,
	atom.Font: true, atom.I: true, atom.Nobr: true, atom.S: true, atom.Small: true,
	atom.Strike: true, atom.Strong: true, atom.Tt: true, atom.U: true,
}

// parsable reports whether a document is worth a tree.
func parsable(doc string) bool {
	if len(doc) > maxMarkup {
		return false
	}
	z := html.NewTokenizer(strings.NewReader(doc))
	tags, open, unclosed := 0, 0, 0
	for {
		t := z.Next()
		switch t {
		case html.ErrorToken:
			return true
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
		default:
			continue
		}
		name, _ := z.TagName()
		switch tag := atom.Lookup(name); {
		case !formatting[tag]:
			unclosed += open
		case t == html.EndTagToken:
			open = max(open-1, 0)
		default:
			open++
		}
		if tags++; tags > maxTags || unclosed > maxUnclosed {
			return false
		}
	}
}

// tame takes out of a tree what would make its text many times longer than the
// page. The children of n are levels deep, in so many lists and quotes.
func tame(n *html.Node, levels, containers int) {
	join(n)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode {
			continue
		}
		strip(c)
		inside := containers
		switch c.DataAtom {
		case atom.Blockquote, atom.Ul, atom.Ol, atom.Menu, atom.Pre:
			if inside++; inside > maxContainers {
				rename(c, atom.Div)
			}
		case atom.Table:
			if !tabular(c) {
				untable(c)
			}
		}
		if levels >= maxLevels {
			flatten(c)
		} else {
			tame(c, levels+1, inside)
		}
	}
}

// join drops the comments among n's children and makes one text of neighbours:
// the converter appends them one by one.
func join(n *html.Node) {
	var run *html.Node // the first of neighbouring texts
	var text strings.Builder
	end := func() {
		if run != nil {
			run.Data = text.String()
		}
		run = nil
		text.Reset()
	}
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch c.Type {
		case html.TextNode:
			text.WriteString(c.Data)
			if run == nil {
				run = c
			} else {
				n.RemoveChild(c)
			}
		case html.CommentNode:
			n.RemoveChild(c)
		default:
			end()
		}
		c = next
	}
	end()
}

// strip takes an element's attributes, but for a link's address, which rewrite
// has seen to, and a numbered list's start.
func strip(n *html.Node) {
	if n.DataAtom == atom.A {
		return
	}
	start, err := strconv.Atoi(attr(n, "start"))
	n.Attr = nil
	if n.DataAtom == atom.Ol && err == nil && start >= 0 && start <= maxStart {
		n.Attr = []html.Attribute{{Key: "start", Val: strconv.Itoa(start)}}
	}
}

// flatten replaces what is in an element by its text.
func flatten(n *html.Node) {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
			b.WriteByte(' ')
		}
	}
	for n.FirstChild != nil {
		n.RemoveChild(n.FirstChild)
	}
	n.AppendChild(&html.Node{Type: html.TextNode, Data: b.String()})
}

func rename(n *html.Node, tag atom.Atom) { n.DataAtom, n.Data = tag, tag.String() }

// tabular reports whether a table may stay one: it holds no other table, and
// padded to its widest cell it is not many times as long as its text.
func tabular(table *html.Node) bool {
	rows, cells, most, widest, text, width := 0, 0, 0, 0, 0, 0
	for n := range table.Descendants() {
		switch {
		case n.DataAtom == atom.Table:
			return false
		case n.DataAtom == atom.Tr:
			rows++
			cells = 0
		case n.DataAtom == atom.Td, n.DataAtom == atom.Th:
			cells++
			width = 0
			most = max(most, cells)
		case n.Type == html.TextNode:
			text += len(n.Data)
			width += len(n.Data)
			widest = max(widest, width)
		}
	}
	return rows*most*(widest+3) <= 4<<10+8*text
}

// untable makes lines of a table's rows, and of those of the tables within.
func untable(table *html.Node) {
	rename(table, atom.Div)
	for n := range table.Descendants() {
		switch n.DataAtom {
		case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Caption, atom.Tr:
			rename(n, atom.Div)
		case atom.Td, atom.Th:
			rename(n, atom.Span)
			n.AppendChild(&html.Node{Type: html.TextNode, Data: " "})
		}
	}
}
