package draft

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
)

// oneLine returns text as a line: white space is folded, and what can't be seen
// is left out, for it could say something to a model and nothing to people.
func oneLine(text string) string { return unmarked(visible(text)) }

// quoted returns what a page says as a line, without what may be secret in it.
func quoted(text string) string { return unmarked(withoutSecrets(visible(text))) }

func visible(text string) string {
	if isPlain(text) {
		return text
	}
	var b strings.Builder
	space := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case r == unicode.ReplacementChar || unicode.Is(unicode.C, r):
			continue
		case space:
			b.WriteByte(' ')
		}
		space = false
		b.WriteRune(r)
	}
	return b.String()
}

// isPlain reports whether there is nothing to fold or to leave out, as far as
// that is quickly seen.
func isPlain(text string) bool {
	before := byte(' ')
	for _, b := range []byte(text) {
		if b < ' ' || b > '~' || b == ' ' && before == ' ' {
			return false
		}
		before = b
	}
	return text == "" || before != ' '
}

// unmarked breaks what chat templates put between messages, in all families of
// models: servers that look for it in a message's text as well must not find it
// in a page's. Whatever it says, it begins with a bracket that touches what
// follows: <|im_end|>, <s>, [INST], ]~b].
func unmarked(text string) string {
	if !strings.ContainsAny(text, "<[]") {
		return text
	}
	var b strings.Builder
	before := ' '
	for _, r := range text {
		if opens := before == '<' || before == '['; opens && r != ' ' || before == ']' && r == '~' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// What may be secret in addresses, also in those that stand in a text: queries,
// parameters (?a=b, &a=b, #a=b, ;a=b) and who logs in. All that follows goes as
// well, as far as it may belong to it.
var (
	queries    = regexp.MustCompile(`(/[^\s?]*)\?[!-~]+`)
	parameters = regexp.MustCompile(`[?&#;][!-<>-~]*=[!-~]*`)
	logins     = regexp.MustCompile(`//[^\s/@]*@`)
)

func withoutSecrets(text string) string {
	if !strings.ContainsAny(text, "?&#;@") {
		return text
	}
	text = queries.ReplaceAllString(text, "$1")
	text = parameters.ReplaceAllString(text, "")
	return logins.ReplaceAllString(text, "//")
}

// shortArgs returns arguments in short, without what may be secret in them.
func shortArgs(args string) string {
	const left = "{…}"
	var v any
	if len(args) > 4*maxShownArgs || json.Unmarshal([]byte(args), &v) != nil {
		return left
	}
	var b bytes.Buffer
	text := json.NewEncoder(&b)
	text.SetEscapeHTML(false)
	if text.Encode(shortValue(v)) != nil {
		return left
	}
	return clip(strings.TrimSpace(b.String()), maxShownArgs)
}

func shortValue(v any) any {
	switch v := v.(type) {
	case string:
		return shortText(v)
	case []any:
		for i := range v {
			v[i] = shortValue(v[i])
		}
	case object:
		short := make(object, len(v))
		for name, value := range v {
			short[shortText(name)] = shortValue(value)
		}
		return short
	}
	return v
}

// shortText returns a text of an action's arguments. Of an address all is left
// out from the query on, for it may have spaces.
func shortText(text string) string {
	if beginsAsAddress(text) {
		text, _, _ = strings.Cut(text, "?")
		if host, path, ok := splitURL(text); ok {
			text = shortURL(host + path)
		}
	}
	return withoutSecrets(text)
}
