package draft

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// Limits on what is read of a view, so that a hostile page costs little.
const (
	maxGoal    = 4 << 10   // bytes
	maxLabel   = 256       // bytes
	maxWord    = 32        // bytes; what is longer is no word
	maxChoices = 1000      // in reading order
	maxWords   = 20 * 1000 // in one prediction; the rest is not read
)

// A lexicon turns text into words, and remembers stems: pages repeat
// themselves. It lives as long as one prediction.
type lexicon struct {
	stems map[string]string // "" for a stop word
	left  int               // how many words may still be read
}

func newLexicon() *lexicon {
	return &lexicon{stems: make(map[string]string), left: maxWords}
}

// words appends the words of text, lower case and stemmed, without stop words.
// Chinese, Japanese and Korean have no spaces: there, every two characters
// that follow each other are a word.
func (l *lexicon) words(dst []string, text string) []string {
	for start := 0; start < len(text) && l.left > 0; {
		r, size := utf8.DecodeRuneInString(text[start:])
		switch {
		case !wordRune(r):
			start += size
		case ideographic(r):
			end := span(text, start, ideographic)
			dst = l.bigrams(dst, text[start:end])
			start = end
		default:
			end := span(text, start, func(r rune) bool { return wordRune(r) && !ideographic(r) })
			dst = l.add(dst, text[start:end])
			start = end
		}
	}
	return dst
}

// distinct returns the words of text, each once.
func (l *lexicon) distinct(text string) []string {
	words := l.words(nil, text)
	return appendNew(words[:0], words)
}

// appendNew appends the words that are not in dst yet.
func appendNew(dst, words []string) []string {
	for _, w := range words {
		if !slices.Contains(dst, w) {
			dst = append(dst, w)
		}
	}
	return dst
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf { // most are
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

func ideographic(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// span returns where the run of runes that are in ends.
func span(text string, start int, in func(rune) bool) int {
	for i, r := range text[start:] {
		if !in(r) {
			return start + i
		}
	}
	return len(text)
}

func (l *lexicon) bigrams(dst []string, run string) []string {
	_, first := utf8.DecodeRuneInString(run)
	if first == len(run) {
		return l.add(dst, run)
	}
	for first < len(run) {
		_, second := utf8.DecodeRuneInString(run[first:])
		dst = l.add(dst, run[:first+second])
		run, first = run[first:], second
	}
	return dst
}

func (l *lexicon) add(dst []string, word string) []string {
	if l.left--; l.left < 0 || len(word) > maxWord {
		return dst
	}
	stem, ok := l.stems[word]
	if !ok {
		if lower := strings.ToLower(word); !stopWords[lower] {
			stem = english.Stem(lower, true)
		}
		l.stems[word] = stem
	}
	if stem == "" {
		return dst
	}
	return append(dst, stem)
}

// related returns the words that links may bear which answer the goal. Stop
// words count: "where" asks for a venue.
func (l *lexicon) related(goal string) []string {
	var words []string
	for word := range strings.FieldsFuncSeq(strings.ToLower(goal), func(r rune) bool { return !wordRune(r) }) {
		if len(word) <= maxWord {
			words = append(words, relatedWords[english.Stem(word, true)]...)
		}
	}
	return words
}

// clip cuts text to at most n bytes.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:n]
}

var stopWords = setOf(strings.Fields(`a an the this that these those it its they them their he him his she her we us
	our you your i my and or but nor if than then as of in on at to for from by with without into onto about between
	during after before over under per via is are was were be been being do does did done has have had having can could
	will would shall should may might must not no so such also other another each both any all some more most many much
	what which who whom whose where when why how there here please find
	http https www com html htm php index aspx jsp`))

func setOf(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}
