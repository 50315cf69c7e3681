package web

import (
	"slices"
	"strings"
	"unicode"
)

// deeds are words of URLs that do something, or that work only once. GET
// should change nothing, and often does.
var deeds = words("logout logoff signout signoff delete remove unsubscribe " +
	"confirm approve pay vote addtocart addtobasket addtobag")

// stems are deeds that glue themselves to what they are done to: deleteitem.
var stems = []string{"logout", "logoff", "signout", "signoff", "confirm", "addto"}

// cores are deeds wherever they stand in a word: softdelete.
var cores = []string{"delete", "remove", "unsubscribe"}

// states begin as deeds do, and tell of them.
var states = words("deleted removed unsubscribed confirmed confirmation confirmations")

// phrases are deeds that are written as several words.
var phrases = [][]string{
	{"log", "out"}, {"log", "off"}, {"sign", "out"}, {"sign", "off"},
	{"add", "to", "cart"}, {"add", "to", "basket"}, {"add", "to", "bag"},
}

// keys are words in the names of query parameters that say the same, and so
// is what ends in token.
var keys = words("do action token code passcode authcode accesscode otp basket cart")

// searches are words in the names of parameters that hold what somebody
// searches for.
var searches = words("q query search s k keyword keywords term terms text title")

func words(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// actionLike reports whether a canonical URL sounds like doing rather than
// reading. It goes by whole words, so that /payroll is not /pay, except for
// deeds that nothing else begins like, and rather refuses
// /delete-protein-study: a guess that is not run costs little.
func actionLike(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	_, path, _ := strings.Cut(rest, "/")
	path, query, _ := strings.Cut(path, "?")
	for segment := range strings.SplitSeq(path, "/") {
		name, parameters, _ := strings.Cut(segment, ";")
		if acts(splitWords(unescape(name, false))) || queryActs(parameters) {
			return true
		}
	}
	return queryActs(query)
}

func queryActs(query string) bool {
	for query != "" {
		var pair string
		pair, query = cutAny(query, "&;")
		key, value, _ := strings.Cut(pair, "=")
		value = unescape(value, true)
		names := splitWords(unescape(key, true))
		if acts(names) || slices.ContainsFunc(names, isKey) {
			return true
		}
		sentence := strings.ContainsFunc(value, unicode.IsSpace)
		if !(sentence && len(names) > 0 && searches[names[len(names)-1]]) && acts(splitWords(value)) {
			return true
		}
	}
	return false
}

func isKey(word string) bool { return keys[word] || strings.HasSuffix(word, "token") }

// acts reports whether one of the words is a deed, or some in a row are.
func acts(list []string) bool {
	for i, word := range list {
		if isDeed(word) || phraseAt(list[i:]) {
			return true
		}
	}
	return false
}

func isDeed(word string) bool {
	begins := func(stem string) bool { return strings.HasPrefix(word, stem) }
	holds := func(core string) bool { return strings.Contains(word, core) }
	return deeds[word] || !states[word] && (slices.ContainsFunc(stems, begins) || slices.ContainsFunc(cores, holds))
}

func phraseAt(list []string) bool {
	for _, phrase := range phrases {
		if len(list) >= len(phrase) && slices.Equal(list[:len(phrase)], phrase) {
			return true
		}
	}
	return false
}

// cutAny cuts s at the first of the separators.
func cutAny(s, separators string) (before, after string) {
	if i := strings.IndexAny(s, separators); i >= 0 {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// unescape decodes what can be decoded, as lenient servers do, and what they
// might decode a second time.
func unescape(s string, plus bool) string {
	if plus {
		s = strings.ReplaceAll(s, "+", " ")
	}
	for range 3 {
		decoded := unescapeOnce(s)
		if len(decoded) == len(s) {
			break
		}
		s = decoded
	}
	return s
}

func unescapeOnce(s string) string {
	at := strings.IndexByte(s, '%')
	if at < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:at]...)
	for i := at; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			b = append(b, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

func unhex(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// splitWords returns the words of a text in lower case. They end at whatever
// is no letter, and before a capital that follows a small letter: signOut.
// What nobody sees is left out.
func splitWords(text string) []string {
	text = strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, text)
	var list []string
	start, last := -1, ' '
	for i, r := range text {
		ends := !unicode.IsLetter(r)
		if start >= 0 && (ends || unicode.IsUpper(r) && unicode.IsLower(last)) {
			list = append(list, strings.ToLower(text[start:i]))
			start = -1
		}
		if !ends && start < 0 {
			start = i
		}
		last = r
	}
	if start >= 0 {
		list = append(list, strings.ToLower(text[start:]))
	}
	return list
}
