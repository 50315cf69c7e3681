package web

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLabel bounds labels and titles, in bytes. What is longer is a paragraph
// that somebody made a link of; it is cut, on the page and in a click alike.
const maxLabel = 1024

// cleanLabel returns text as a reader sees it in one line: white space and
// control characters are one space, marks that nobody sees are left out.
func cleanLabel(text string) string {
	var b strings.Builder
	b.Grow(min(len(text), maxLabel))
	space := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space = b.Len() > 0
			continue
		case invisible(r):
			continue
		}
		if b.Len()+utf8.RuneLen(r)+1 > maxLabel {
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// invisible reports whether a character shows nothing and may stand anywhere:
// soft hyphens, zero-width spaces, and the marks that turn the direction of
// text, with which one label can be made to look like another.
func invisible(r rune) bool {
	switch {
	case r == 0xad, r == 0x200b, r == 0x200e, r == 0x200f, r == 0xfeff,
		r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x2064, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}

// foldLabel returns the key of a clean label: labels have the same key exactly
// if [strings.EqualFold] says that they are equal.
func foldLabel(label string) string {
	return strings.Map(foldRune, label)
}

// foldRune returns the least character that r is folded with.
func foldRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return r - 'a' + 'A'
	case r < utf8.RuneSelf:
		return r
	}
	least := r
	for s := unicode.SimpleFold(r); s != r; s = unicode.SimpleFold(s) {
		least = min(least, s)
	}
	return least
}

// A nearness measures how much of a label occurs in others, by pairs of
// neighbouring characters.
type nearness map[[2]rune]bool

func newNearness(label string) nearness {
	n := nearness{}
	for pair := range pairs(label) {
		n[pair] = true
	}
	return n
}

// to returns a number from 0 to 1.
func (n nearness) to(label string) float64 {
	common, all := 0, len(n)
	for pair := range pairs(label) {
		all++
		if n[pair] {
			common++
		}
	}
	return 2 * float64(common) / float64(max(all, 1))
}

// pairs calls yield for the neighbouring characters of a label's key, of
// which the first hundred tell enough.
func pairs(label string) func(yield func([2]rune) bool) {
	return func(yield func([2]rune) bool) {
		last, n := ' ', 0
		for _, r := range label {
			r = foldRune(r)
			if n++; n > 100 || !yield([2]rune{last, r}) {
				return
			}
			last = r
		}
	}
}
