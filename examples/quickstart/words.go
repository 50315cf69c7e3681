package main

import (
	"regexp"
	"strings"
	"unicode"
)

// stopWords say nothing about what a question is about.
var stopWords = wordSet(`a an and any are as at be been but by can did do does
	for from had happen happened happens has have how i if in into is it its many
	me much my no not of on or so some than that the their them then there these
	this those to was were what when where which who why will with you your`)

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

// terms returns the stems of the words that carry a text's meaning.
func terms(text string) map[string]bool {
	set := map[string]bool{}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for _, w := range words {
		if !stopWords[w] {
			set[stem(w)] = true
		}
	}
	return set
}

// stem is as crude as it looks, and enough for one site: no plural, and the
// first five letters.
func stem(word string) string {
	if len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") {
		word = word[:len(word)-1]
	}
	return word[:min(len(word), 5)]
}

// shared counts what is in both sets.
func shared(a, b map[string]bool) (n int) {
	for w := range a {
		if b[w] {
			n++
		}
	}
	return n
}

// markdownLink finds [label](url).
var markdownLink = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)[^)]*\)`)

// lines returns a page's lines of prose. Code is none.
func lines(markdown string) (prose []string) {
	code := false
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			code = !code
		} else if line != "" && !code {
			prose = append(prose, line)
		}
	}
	return prose
}

// sentences returns what a page states: no headings, no questions, and no
// list of links, which only promise that another page says something.
func sentences(markdown string) (list []string) {
	for _, line := range lines(markdown) {
		text := strings.TrimLeft(line, "-*> ")
		if strings.HasPrefix(text, "#") || strings.HasPrefix(text, "[") {
			continue
		}
		text = markdownLink.ReplaceAllString(text, "$1")
		text = strings.NewReplacer("**", "", "`", "").Replace(text)
		for _, s := range splitSentences(text) {
			if !strings.HasSuffix(s, "?") {
				list = append(list, s)
			}
		}
	}
	return list
}

// sentenceEnd is a mark followed by a space and a capital.
var sentenceEnd = regexp.MustCompile(`[.!?] +\p{Lu}`)

func splitSentences(text string) (list []string) {
	for {
		at := sentenceEnd.FindStringIndex(text)
		if at == nil {
			return append(list, strings.TrimSpace(text))
		}
		list = append(list, text[:at[0]+1])
		text = strings.TrimSpace(text[at[0]+1:])
	}
}
