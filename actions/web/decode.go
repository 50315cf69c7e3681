package web

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// decode returns a body as UTF-8, of limit bytes at most. What it is written in
// is said by a byte order mark, the Content-Type header or a <meta> at the start,
// in this order. Where only a <meta> or nothing says windows-1252 (which is also
// how browsers read iso-8859-1), see undeclared.
func decode(body, contentType string, limit int64) (string, error) {
	enc, name, certain := charset.DetermineEncoding([]byte(body[:min(len(body), 1<<10)]), contentType)
	if !certain && name == "windows-1252" {
		enc, name = charset.Lookup(undeclared(body))
	}
	if name == "utf-8" && utf8.ValidString(body) {
		return strings.TrimPrefix(body, mark), nil
	}
	text := func() io.Reader { return io.LimitReader(enc.NewDecoder().Reader(strings.NewReader(body)), limit+1) }
	n, err := io.Copy(io.Discard, text()) // once for the length: a buffer that grows would need thrice the memory
	switch {
	case err != nil:
		return "", err
	case n > limit:
		return "", fmt.Errorf("as UTF-8: %w", tooLarge(limit))
	}
	var b strings.Builder
	b.Grow(int(n))
	if _, err = io.Copy(&b, text()); err != nil {
		return "", err
	}
	whole := repair(b.String()) // what says that it is UTF-8 comes as it is
	if int64(len(whole)) > limit {
		return "", fmt.Errorf("as UTF-8: %w", tooLarge(limit))
	}
	return whole, nil
}

// coded reports whether a body is in a coding that the transport left, if only by
// the last of several lines.
func coded(h http.Header) bool {
	for _, line := range h.Values("Content-Encoding") {
		for coding := range strings.SplitSeq(line, ",") {
			if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
				return true
			}
		}
	}
	return false
}

const mark = "\uFEFF" // of byte order

// undeclared guesses what a body is written in, as browsers do where nothing
// says so early. A body that is UTF-8 throughout is taken for that, for legacy
// text is so only by a rare accident. Then a later <meta> counts, or an XML
// declaration, or the encoding that most pages have that declare none.
func undeclared(body string) (name string) {
	switch {
	case strings.HasPrefix(body, "<\x00?\x00x\x00"):
		return "utf-16le"
	case strings.HasPrefix(body, "\x00<\x00?\x00x"):
		return "utf-16be"
	case utf8.ValidString(body):
		return "utf-8"
	}
	return cmp.Or(lateMeta(body), xmlEncoding(body), "windows-1252")
}

// maxHead is how far a <meta> is looked for. Package charset reads 1 KiB, as the
// HTML standard wants it at least, and browsers go on.
const maxHead = 64 << 10

// lateMeta returns what the first <meta> in a page's head that names a charset
// says, or "".
func lateMeta(body string) (name string) {
	z := html.NewTokenizer(strings.NewReader(body[:min(len(body), maxHead)]))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := bytes.ToLower(z.Raw())
			switch {
			case bytes.HasPrefix(tag, []byte("<body")):
				return ""
			case bytes.HasPrefix(tag, []byte("<meta")) && bytes.Contains(tag, []byte("charset")):
				_, name, _ = charset.DetermineEncoding(tag, "")
				return name
			}
		}
	}
}

var xmlDeclaration = regexp.MustCompile(`^<\?xml\s[^>]{0,200}?\bencoding\s*=\s*["']([^"'>]{1,40})["']`)

// xmlEncoding returns the charset that an XML declaration names, or "". One that
// can be read is not in UTF-16.
func xmlEncoding(body string) (name string) {
	said := xmlDeclaration.FindStringSubmatch(body[:min(len(body), 1<<10)])
	if said == nil {
		return ""
	}
	if _, name = charset.Lookup(said[1]); strings.HasPrefix(name, "utf-16") {
		return "utf-8"
	}
	return name
}

// repair returns text as valid UTF-8 without a byte order mark.
func repair(text string) string {
	if !utf8.ValidString(text) { // which is faster than finding nothing to do
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.TrimPrefix(text, mark)
}
