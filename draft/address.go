package draft

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/speccache/speccache-go/actions"
)

// maxAddress is how many bytes of an action's arguments are read.
const maxAddress = 512

// An address is where an action leads, as far as its arguments tell. Two
// actions that differ only in a URL's fragment or closing slash have one.
type address struct {
	key  string // equal for actions that lead to the same place
	text string // what to read words from

	// The last URL among the arguments, if any.
	host string
	url  string // host and path
}

// addressOf reads the string values of an action's arguments.
func addressOf(a actions.Action) address {
	args := a.Args()
	if len(args) > maxAddress {
		args = args[:maxAddress] + strconv.FormatUint(a.Hash(), 16)
	}
	at := address{key: a.Name() + " " + args}
	for _, value := range stringValues(clip(args, maxAddress)) {
		host, path, ok := splitURL(value)
		if !ok {
			at.text += " " + value
			continue
		}
		at.host, at.url = host, host+path
		at.key = strings.Replace(at.key, value, at.url, 1)
		if decoded, err := url.PathUnescape(path); err == nil {
			path = decoded
		}
		at.text += " " + path
	}
	return at
}

// splitURL splits an absolute URL into its host and its path with query,
// without fragment and closing slash.
func splitURL(s string) (host, path string, ok bool) {
	_, rest, ok := strings.Cut(s, "://")
	rest, _, _ = strings.Cut(rest, "#")
	host, path, _ = strings.Cut(rest, "/")
	return host, "/" + strings.TrimRight(path, "/"), ok
}

// stringValues returns the strings in canonical JSON that are not names. Text
// that was clipped in the middle of a string loses that string.
func stringValues(args string) []string {
	var values []string
	for {
		_, rest, ok := strings.Cut(args, `"`)
		if !ok {
			return values
		}
		end := closingQuote(rest)
		if end < 0 {
			return values
		}
		literal := rest[:end]
		args = rest[end+1:]
		if !strings.HasPrefix(args, ":") {
			values = append(values, unescape(literal))
		}
	}
}

func closingQuote(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

func unescape(literal string) string {
	if !strings.Contains(literal, `\`) {
		return literal
	}
	var s string
	if json.Unmarshal([]byte(`"`+literal+`"`), &s) != nil {
		return literal
	}
	return s
}
