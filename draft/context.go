package draft

import (
	"slices"
	"strings"
)

// Limits on what is read of a text.
const (
	maxText     = 64 << 10 // bytes
	maxAround   = 200      // bytes on either side of a link, in its line
	maxMentions = 2        // of a place
)

// readAround finds what the text says around its links: in Markdown, a
// paragraph, an item of a list and a row of a table are one line each. Words
// that the choice bears itself tell nothing new.
//
// Links to other hosts than the page's own are left out, for texts are full of
// them and walks seldom go there. Without a host, all links count.
//
// Measured on pseudo-questions: up to three sentences of a page with two words
// in five left out, asked where that page is one link away. Accuracy@3 without
// text, and what text adds, in points with a 95 % interval clustered by page:
//
//	site              questions  without  all links   links in the text
//	2023.aclweb.org        2940     37.0   0.0 ± 0.3      2.4 ± 1.8
//	2024.aclweb.org        2065     31.6   0.2 ± 0.5      6.7 ± 7.3
//	our own docs           1098     28.6  -0.1 ± 6.1     16.3 ± 4.8
//	Rust reference         1632     51.2   2.4 ± 1.0      2.9 ± 1.2
//	Cargo book             1228     43.1   6.2 ± 2.3      7.1 ± 2.6
//	Rust book               478     62.1   4.4 ± 2.8      9.1 ± 5.5
//
// The Rust book had no part in the choice. With links to other hosts, the first
// row loses about 1.0 ± 0.9. Any weight from 0.1 to 0.5 gives about the same.
func (r *ranking) readAround(text, host string) {
	places := make(map[string]*place, len(r.order))
	for _, p := range slices.Backward(r.order) {
		if host == "" || p.at.host == host {
			places[p.at.url] = p
		}
	}
	delete(places, "")
	if len(places) == 0 {
		return
	}
	spare := r.lex.left / 2 // for what is read later
	r.lex.left -= spare
	count := make(map[string]int)
	var words []string
	for line := range strings.Lines(clip(text, maxText)) {
		plain, links := readLinks(line)
		for _, l := range links {
			p := places[l.url]
			if p == nil || p.mentions == maxMentions {
				continue
			}
			p.mentions++
			words = r.lex.words(words[:0], plain[max(0, l.start-maxAround):l.start])
			words = r.lex.words(words, clip(plain[l.end:], maxAround))
			for _, w := range words {
				if !p.bears(w) && !slices.Contains(p.around, w) {
					p.around = append(p.around, w)
					count[w]++
				}
			}
		}
	}
	r.lex.left += spare
	r.rareAround = rarities(count, len(r.order))
}

func (p *place) bears(word string) bool {
	return slices.Contains(p.url, word) ||
		slices.ContainsFunc(p.labels, func(label []string) bool { return slices.Contains(label, word) })
}

// A textLink is where a link's label stands in a line, and where it leads.
type textLink struct {
	start, end int
	url        string // "": it is relative
}

// readLinks returns a line of Markdown with labels in the place of its links.
// It takes time in proportion to the line, whatever that is.
func readLinks(line string) (plain string, links []textLink) {
	var b strings.Builder
	for {
		middle := strings.Index(line, "](")
		if middle < 0 {
			break
		}
		size := strings.IndexAny(line[middle:], ") \n")
		if size < 0 {
			break
		}
		label := strings.LastIndexByte(line[:middle], '[') + 1
		b.WriteString(line[:max(0, label-1)])
		start := b.Len()
		b.WriteString(line[label:middle])
		l := textLink{start: start, end: b.Len()}
		if host, path, ok := splitURL(line[middle+2 : max(middle+2, middle+size)]); ok {
			l.url = host + path
		}
		links = append(links, l)
		line = line[middle+max(2, size+1):]
	}
	if len(links) == 0 {
		return "", nil
	}
	b.WriteString(line)
	return b.String(), links
}
