package llm

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Call is a tool call that is complete: it has a name, an ID of its own and
// arguments that are one JSON object.
type Call struct {
	ID, Name, Args string
}

// A CallError says why pieces of a tool call were dropped.
type CallError struct {
	Name   string // of the tool, as far as it is known
	Reason string // for people and for counting
}

func (e *CallError) Error() string {
	return fmt.Sprintf("llm: dropped a call of the tool %.100q: %s", e.Name, e.Reason)
}

// The reasons of CallErrors.
const (
	NoName         = "it has no name"
	NoObject       = "its arguments are no JSON object"
	IncompleteArgs = "its arguments stop in the middle"
	TwoInOne       = "its arguments are those of two calls, or it is a repetition"
	TooMany        = "it and what followed are too many for one answer"
)

// maxPending is how many calls of one answer are put together. A model that
// repeats itself begins thousands, and each piece is compared with all of them.
const maxPending = 128

// maxID is the length of an ID above which a call gets one of ours: it is sent
// back twice with each later request.
const maxID = 64

// Calls puts tool calls together from pieces, whose index and ID servers leave
// out, repeat or use twice. Two calls are never merged: what could belong to
// either is dropped, and reported. The zero Calls is ready.
type Calls struct {
	all     []*pending
	refused *CallError // the first of those beyond maxPending
}

type pending struct {
	id, name string
	args     object
	index    int
	pieces   int
	doubtful bool // it began with nothing but a name that was there already
	torn     bool // something came that it can't be
}

// Add takes pieces in the order in which they came.
func (c *Calls) Add(pieces ...CallDelta) {
	for _, piece := range pieces {
		if piece.ID == "" && piece.Name == "" && piece.Args == "" {
			continue // some servers end calls, or begin streams, with nothing
		}
		c.add(piece)
	}
}

func (c *Calls) add(piece CallDelta) {
	p := c.find(piece)
	if p == nil || p.isAnother(piece) {
		if len(c.all) == maxPending {
			c.refuse(piece)
			return
		}
		next := &pending{index: piece.Index}
		if p != nil && piece.ID == p.id {
			next.torn = p.torn && len(p.args.text) == 0 // the pieces of one name, or two
			next.doubtful = true
		}
		c.all = append(c.all, next)
		p = next
	}
	p.extend(piece)
}

// refuse drops a piece of a call that is one too many. What comes next may be
// its arguments, so calls that could take them for theirs are torn.
func (c *Calls) refuse(piece CallDelta) {
	if c.refused == nil {
		c.refused = &CallError{Name: piece.Name, Reason: TooMany}
	}
	newest := c.find(CallDelta{Index: piece.Index})
	for _, p := range c.all {
		near := p == newest || p.index == piece.Index && (p.id == "" || p.id == piece.ID)
		if near && (!p.args.closed || p.isPlaceholder()) {
			p.torn = true
		}
	}
}

// find returns the call that a piece may belong to: the newest one with its
// index, and its ID if both have one.
func (c *Calls) find(piece CallDelta) *pending {
	for i := len(c.all) - 1; i >= 0; i-- {
		p := c.all[i]
		sameID := piece.ID == "" || p.id == "" || piece.ID == p.id
		if p.index == piece.Index && sameID {
			return p
		}
	}
	return nil
}

// isAnother reports whether a piece begins a call beside p, although it has the
// index of p and no other ID. Only a name can begin one. A name that p has got
// is a repetition as long as the arguments of p go on.
func (p *pending) isAnother(piece CallDelta) bool {
	switch {
	case piece.Name == "" || p.name == "":
		return false
	case p.args.closed:
		return !p.repeats(piece)
	case piece.Name == p.name:
		return false
	}
	p.torn = true
	return true
}

// repeats reports whether a piece is p once more, as in the last chunk of some
// servers, or no more than its name.
func (p *pending) repeats(piece CallDelta) bool {
	same := piece.ID == p.id && piece.ID != "" && piece.Name == p.name
	return same && (piece.Args == "" || piece.Args == string(p.args.text) || p.isPlaceholder())
}

// isPlaceholder reports whether all that p has is {} from its first piece,
// which some servers send in place of the arguments to come.
func (p *pending) isPlaceholder() bool {
	return p.pieces == 1 && string(p.args.text) == "{}"
}

func (p *pending) extend(piece CallDelta) {
	if p.isPlaceholder() && strings.HasPrefix(piece.Args, "{") {
		p.args = object{}
	}
	p.pieces++
	p.id = cmpOr(p.id, piece.ID)
	p.name = cmpOr(p.name, piece.Name)
	if !p.args.closed || piece.Args != string(p.args.text) {
		p.args.write(piece.Args)
	}
}

// Done returns the calls, in the order in which they began, and what was
// dropped.
func (c *Calls) Done() (calls []Call, dropped []*CallError) {
	taken := map[string]bool{}
	for _, p := range c.all {
		args, reason := p.done()
		if reason != "" {
			dropped = append(dropped, &CallError{Name: p.name, Reason: reason})
			continue
		}
		id := p.id
		if len(id) > maxID {
			id = ""
		}
		for n := len(calls); id == "" || taken[id]; n++ {
			id = fmt.Sprintf("call_%d", n)
		}
		taken[id] = true
		calls = append(calls, Call{ID: id, Name: p.name, Args: args})
	}
	if c.refused != nil {
		dropped = append(dropped, c.refused)
	}
	return calls, dropped
}

func (p *pending) done() (args, reason string) {
	args = strings.TrimSpace(string(p.args.text))
	switch {
	case p.torn || p.args.more || p.doubtful && args == "":
		return "", TwoInOne
	case p.name == "":
		return "", NoName
	case args == "" || args == "null":
		return "{}", ""
	case !strings.HasPrefix(args, "{"):
		return "", NoObject
	case !p.args.closed:
		return "", IncompleteArgs
	case !json.Valid([]byte(args)):
		return "", NoObject
	}
	return args, ""
}

// An object is JSON text that comes in pieces. It only tells where the first
// value ends.
type object struct {
	text            []byte
	depth           int
	quoted, escaped bool
	closed          bool // the value has ended
	more            bool // and something else has begun
}

func (o *object) write(piece string) {
	o.text = append(o.text, piece...)
	for _, b := range []byte(piece) {
		switch {
		case o.closed:
			o.more = o.more || strings.IndexByte(" \t\r\n", b) < 0
		case o.quoted:
			o.quote(b)
		default:
			o.structure(b)
		}
	}
}

func (o *object) quote(b byte) {
	if !o.escaped && b == '"' {
		o.quoted = false
	}
	o.escaped = !o.escaped && b == '\\'
}

func (o *object) structure(b byte) {
	switch b {
	case '"':
		o.quoted = true
	case '{', '[':
		o.depth++
	case '}', ']':
		o.depth--
		o.closed = o.depth <= 0
	}
}
