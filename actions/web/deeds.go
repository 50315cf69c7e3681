package web

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// deeds are words of URLs that do something, or that work only once. GET
// should change nothing, and often does.
var deeds = words("logout logoff signout signoff delete remove unsubscribe " +
	"confirm approve pay vote upvote downvote revoke destroy addtocart addtobasket addtobag")

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
// is what ends in token or nonce.
var keys = words("do action token code passcode authcode accesscode otp basket cart csrf xsrf sesskey")

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
		if acts(unescape(name, false)) || queryActs(parameters) {
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
		key = unescape(key, true)
		names := splitWords(key)
		if acts(key) || slices.ContainsFunc(names, isKey) || slices.ContainsFunc(splitWords(strings.ToLower(key)), isKey) {
			return true
		}
		sentence := strings.ContainsFunc(value, unicode.IsSpace)
		if !(sentence && len(names) > 0 && searches[names[len(names)-1]]) && acts(value) {
			return true
		}
	}
	return false
}

// labelActs reports whether a link is called after a deed, and nothing else:
// "Log out", wherever that leads.
func labelActs(label string) bool {
	if len(label) > maxDeedLabel {
		return false
	}
	list := splitWords(strings.ToLower(label))
	return len(list) == 1 && deeds[list[0]] ||
		slices.ContainsFunc(phrases, func(phrase []string) bool { return slices.Equal(list, phrase) })
}

// Limits on what is looked at, in bytes.
const (
	maxDeedLabel = 64      // a longer label says more than a deed
	maxScript    = 4 << 10 // a longer script of a link does something
)

// attributeActs reports whether an attribute of a link says that choosing it does
// something that asking for its address does not, or asks for confirmation first.
// Pages have scripts for that.
func attributeActs(name, value []byte) bool {
	switch string(name) {
	case "onclick":
		script := string(value[:min(len(value), maxScript)])
		return len(value) > maxScript || acts(script) || strings.Contains(strings.ToLower(script), "submit")
	case "data-method", "data-turbo-method":
		return !strings.EqualFold(strings.TrimSpace(string(value)), "get")
	case "hx-post", "hx-put", "hx-patch", "hx-delete":
		return true
	}
	return bytes.HasSuffix(name, []byte("-confirm"))
}

func isKey(word string) bool {
	return keys[word] || strings.HasSuffix(word, "token") || strings.HasSuffix(word, "nonce")
}

// acts reports whether a text names a deed, whichever way its capitals are read:
// many servers make nothing of them, and take /dElete for /delete.
func acts(text string) bool {
	if actsIn(splitWords(text)) {
		return true
	}
	lower := strings.ToLower(text)
	return lower != text && actsIn(splitWords(lower))
}

// actsIn reports whether one of the words is a deed, or some in a row are.
func actsIn(list []string) bool {
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
		switch {
		case escaped2(s[i:]):
			b = append(b, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
		case escaped4(s[i:]):
			b = utf8.AppendRune(b, rune(unhex(s[i+2]))<<12|rune(unhex(s[i+3]))<<8|rune(unhex(s[i+4]))<<4|rune(unhex(s[i+5])))
			i += 5
		default:
			b = append(b, s[i])
		}
	}
	return string(b)
}

// escaped2 reports whether s begins with an escaped byte, as in %64.
func escaped2(s string) bool {
	return len(s) >= 3 && s[0] == '%' && isHex(s[1]) && isHex(s[2])
}

// escaped4 reports whether s begins with an escaped character as some servers
// still read it: %u0064.
func escaped4(s string) bool {
	return len(s) >= 6 && s[0] == '%' && s[1]|0x20 == 'u' && isHex(s[2]) && isHex(s[3]) && isHex(s[4]) && isHex(s[5])
}

func unhex(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// splitWords returns the words of a text in lower case. They end at whatever
// is no letter, and before a capital that follows a small letter: signOut.
// What nobody sees is left out, and wide letters are letters.
func splitWords(text string) []string {
	text = strings.Map(func(r rune) rune {
		switch {
		case invisible(r):
			return -1
		case r >= '\uFF01' && r <= '\uFF5E':
			return r - '\uFF01' + '!'
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
