package web

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// decode returns a body as UTF-8. What it is written in is said by a byte
// order mark, the Content-Type header or a <meta> at the start, in this order.
// Where only a <meta> or nothing says windows-1252 (which is also how browsers
// read iso-8859-1), a body that is UTF-8 throughout is taken for that: legacy
// text is so only by a rare accident.
func decode(body []byte, contentType string) (string, error) {
	enc, name, certain := charset.DetermineEncoding(body, contentType)
	if name == "utf-8" || !certain && name == "windows-1252" && utf8.Valid(body) {
		return repair(string(body)), nil
	}
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return "", err
	}
	return repair(string(text)), nil
}

// repair returns text as valid UTF-8 without a byte order mark.
func repair(text string) string {
	if !utf8.ValidString(text) { // which is faster than finding nothing to do
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.TrimPrefix(text, "\uFEFF")
}
