package llm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"time"
)

var errTooLarge = errors.New("llm: the answer is too large")

// A body is the body of a response that gives its connection back: what
// follows the answer is read on Close, within limits, for a connection with
// something left to read can't be used again.
type body struct {
	io.ReadCloser
	left   int64
	ended  bool // it was read to its end, or to an error
	cancel context.CancelFunc
}

const (
	maxDrain  = 64 << 10
	drainTime = 100 * time.Millisecond
)

func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.ended = b.ended || err != nil
	return n, err
}

func (b *body) Close() error {
	if !b.ended {
		late := time.AfterFunc(drainTime, b.cancel)
		_, _ = io.CopyN(io.Discard, b.ReadCloser, maxDrain)
		late.Stop()
	}
	err := b.ReadCloser.Close()
	b.cancel()
	return err
}

// events is a body of server-sent events without the lines that carry no data.
// Go-openai counts those against its limit, and takes them for a part of an
// error that comes after them, which it then can't read. It also takes any
// event for an error whose first field is one, be it null, and what comes next
// for a part of it: here, such events are no different from others.
type events struct {
	io.Closer
	lines *bufio.Reader
	rest  []byte // of a line that is passed on
	in    bool   // the next bytes belong to a line that has begun
	skip  bool   // and that line is dropped
}

func newEvents(lines *bufio.Reader, body io.Closer) *events {
	return &events{Closer: body, lines: lines}
}

func (e *events) Read(p []byte) (int, error) {
	var err error
	for len(e.rest) == 0 && err == nil {
		err = e.next()
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	if len(e.rest) > 0 {
		err = nil
	}
	return n, err
}

// next reads a line, or as much of it as fits.
func (e *events) next() error {
	line, err := e.lines.ReadSlice('\n')
	if !e.in {
		e.skip = hasAnyPrefix(line, ":", "event:", "id:", "retry:")
		line = spaced(line)
	}
	e.in = errors.Is(err, bufio.ErrBufferFull)
	if e.in {
		err = nil
	}
	if !e.skip {
		e.rest = line
	}
	return err
}

var beginsWithError = regexp.MustCompile(`^\s*data:\s*\{"error":`)

// spaced returns an event that go-openai takes for an error with a space in it
// that means nothing.
func spaced(line []byte) []byte {
	if !beginsWithError.Match(line) {
		return line
	}
	brace := bytes.IndexByte(line, '{') + 1
	return slices.Concat(line[:brace], []byte(" "), line[brace:])
}

func hasAnyPrefix(line []byte, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if bytes.HasPrefix(line, []byte(prefix)) {
			return true
		}
	}
	return false
}
