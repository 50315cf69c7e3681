package llm

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// minKey is the length from which a key is one. Servers that want none are sent
// "EMPTY" or "k", and to hide those would garble what is said.
const minKey = 8

// secrets are what requests were sent with, and what no error may show. The
// zero secrets knows of none, and hides what looks like a key.
type secrets struct {
	mu   sync.Mutex // guards keys
	keys []string
}

type secretsKey struct{}

// secretsOf returns the secrets of a request, and lets Stream know of them if
// it is one of Stream's.
func secretsOf(req *http.Request) *secrets {
	s, ok := req.Context().Value(secretsKey{}).(*secrets)
	if !ok {
		s = &secrets{}
	}
	s.add(strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "))
	if user := req.URL.User; user != nil {
		password, _ := user.Password()
		s.add(password)
		s.add(base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))) // as it is sent
	}
	return s
}

func (s *secrets) add(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(key) >= minKey && !slices.Contains(s.keys, key) {
		s.keys = append(s.keys, key)
	}
}

// looksLikeKey finds keys that nobody knows of.
var looksLikeKey = regexp.MustCompile(`\b(sk|pk|rk|gsk|xai|key|AIza)[-_][\w*.-]{4,}|\bAIza[\w-]{10,}|(?i)\bbearer\s+\S+`)

// hide returns a text without keys, and without what a terminal would obey.
func (s *secrets) hide(text string) string {
	return looksLikeKey.ReplaceAllString(s.strike(strings.Map(printable, text)), "[key]")
}

// strike returns a text, which may be JSON, without the keys that are known.
func (s *secrets) strike(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range s.keys {
		text = strings.ReplaceAll(text, key, "[key]")
		if e, err := regexp.Compile(escaped(key)); err == nil {
			text = e.ReplaceAllLiteralString(text, "[key]")
		}
	}
	return text
}

func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsPrint(r):
		return r
	}
	return -1
}

// escaped is an expression for a key as JSON may write it.
func escaped(key string) string {
	var b strings.Builder
	for _, r := range key {
		fmt.Fprintf(&b, `(?:%s|(?i:\\u%04x))`, regexp.QuoteMeta(string(r)), r)
	}
	return b.String()
}

// finish returns an error as others may see it. All errors of this package that
// quote somebody go through it, when they are complete: what was cut before
// could end in half a key.
func (s *secrets) finish(e *Error) *Error {
	done := *e
	done.Advice, done.Detail = cropped(s.hide(e.Advice)), cropped(s.hide(e.Detail))
	done.Err = s.hush(e.Err)
	if _, changed := done.Err.(*hushed); !changed && done.Advice == e.Advice && done.Detail == e.Detail {
		return e // it may be somebody's, who looks for this very one
	}
	return &done
}

const maxDetail = 300 // bytes of somebody's words that an error repeats

// cropped returns a text on one line, cut.
func cropped(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail-len("…")], "") + "…"
	}
	return text
}

// hush returns an error that hides what its chain would show.
func (s *secrets) hush(err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if text := e.Error(); s.hide(text) != text {
			return &hushed{text: cropped(s.hide(err.Error())), err: err}
		}
	}
	return err
}

// A hushed error is asked what it is with errors.Is and errors.As, and shows
// nothing else.
type hushed struct {
	text string
	err  error
}

func (h *hushed) Error() string        { return h.text }
func (h *hushed) Is(target error) bool { return errors.Is(h.err, target) }
func (h *hushed) As(target any) bool   { return errors.As(h.err, target) }
