package draft

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/speccache/speccache-go/actions"
)

// Limits on what is read of a model's text. Actions have a few dozen bytes.
const (
	maxAnswer   = 64 << 10 // bytes
	maxItem     = 8 << 10  // bytes of one action
	maxProposed = 64       // actions
	maxNesting  = 16       // objects and arrays in each other
)

// A proposal is what a model wrote for one action: a choice's number, or a
// tool with arguments, or the reason why it is neither.
type proposal struct {
	choice     int // from 1; 0: there is a tool
	tool, args string
	drop       DropReason
}

// A parser finds proposals in text as it comes, each as soon as it is
// complete. It repairs nothing.
type parser interface {
	write(piece string) []proposal

	// end is called if the text ended as it should.
	end() []proposal

	// ended reports whether nothing can follow.
	ended() bool

	// began reports whether there was anything of the form at all.
	began() bool
}

func newParser(form Form) parser {
	if form == FormLines {
		return &lineParser{}
	}
	return &jsonParser{}
}

// opening is how an answer in JSON begins, but for white space between its
// tokens.
const opening = `{"actions":[`

// A jsonParser reads {"actions":[{…},{…}]}.
type jsonParser struct {
	stage stage
	at    int    // bytes of opening that were read
	item  nested // the action being read
	count int
	size  int
	out   []proposal
}

type stage uint8

const (
	atOpening stage = iota
	atFirst         // an action or the end of the list
	atNext          // a comma or the end of the list
	atComma         // an action, after a comma
	inItem
	atClosing // the end of the object
	atEnd
	broken
)

func (p *jsonParser) write(piece string) []proposal {
	p.out = nil
	for i := 0; i < len(piece) && p.stage != broken; i++ {
		if p.size++; p.size > maxAnswer {
			p.fail(DropLimit)
			break
		}
		p.step(piece[i])
	}
	return p.out
}

func (p *jsonParser) step(b byte) {
	switch {
	case p.stage == inItem:
		p.extend(b)
	case isSpace(b) && !p.inName():
	case p.stage == atOpening && b == opening[p.at]:
		if p.at++; p.at == len(opening) {
			p.stage = atFirst
		}
	case b == '{' && (p.stage == atFirst || p.stage == atComma):
		p.begin(b)
	case b == ',' && p.stage == atNext:
		p.stage = atComma
	case b == ']' && (p.stage == atFirst || p.stage == atNext):
		p.stage = atClosing
	case b == '}' && p.stage == atClosing:
		p.stage = atEnd
	default:
		p.fail(DropMalformed)
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// inName reports whether the next byte is one of the name in the opening.
func (p *jsonParser) inName() bool {
	return p.stage == atOpening && p.at > 1 && p.at < len(opening)-2
}

func (p *jsonParser) begin(b byte) {
	if p.count++; p.count > maxProposed {
		p.fail(DropLimit)
		return
	}
	p.stage, p.item = inItem, nested{}
	p.item.write(b)
}

func (p *jsonParser) extend(b byte) {
	p.item.write(b)
	switch {
	case len(p.item.text) > maxItem || p.item.depth > maxNesting:
		p.fail(DropLimit)
	case p.item.closed:
		p.stage = atNext
		next := readItem(string(p.item.text))
		if next.drop == DropMalformed { // so the whole answer is
			p.stage = broken
		}
		p.out = append(p.out, next)
	}
}

func (p *jsonParser) fail(why DropReason) {
	p.stage = broken
	p.out = append(p.out, proposal{drop: why})
}

func (p *jsonParser) end() []proposal {
	if p.stage == atEnd || p.stage == broken {
		return nil
	}
	p.out = nil
	p.fail(DropMalformed)
	return p.out
}

func (p *jsonParser) ended() bool { return p.stage == broken }

func (p *jsonParser) began() bool { return p.at == len(opening) }

// A nested is a JSON object as it comes. What is in it is checked when it is
// complete.
type nested struct {
	text            []byte
	depth           int
	quoted, escaped bool
	closed          bool
}

func (n *nested) write(b byte) {
	n.text = append(n.text, b)
	switch {
	case n.quoted:
		n.quoted = n.escaped || b != '"'
		n.escaped = !n.escaped && b == '\\'
	case b == '"':
		n.quoted = true
	case b == '{' || b == '[':
		n.depth++
	case b == '}' || b == ']':
		n.depth--
		n.closed = n.depth == 0
	}
}

// readItem reads {"choice":3} or {"tool":"search","arguments":{…}}.
func readItem(text string) proposal {
	fields, why := readObject(text)
	if why != "" {
		return proposal{drop: why}
	}
	choice, numbered := fields["choice"]
	name, named := fields["tool"]
	args, given := fields["arguments"]
	var tool string
	switch {
	case numbered && len(fields) == 1:
		return numbering(choice)
	case named && given && len(fields) == 2 && json.Unmarshal(name, &tool) == nil && tool != "":
		return proposal{tool: tool, args: string(args)}
	}
	return proposal{drop: DropArguments}
}

// readObject reads an object strictly: one I-JSON value, no name twice. Its
// values are canonical.
func readObject(text string) (map[string]json.RawMessage, DropReason) {
	a, err := actions.Parse("object", text)
	var fields map[string]json.RawMessage
	if err != nil || json.Unmarshal([]byte(a.Args()), &fields) != nil || fields == nil {
		return nil, DropMalformed
	}
	return fields, ""
}

func numbering(choice json.RawMessage) proposal {
	n, err := strconv.Atoi(string(choice))
	if err != nil || n < 1 {
		return proposal{drop: DropChoice}
	}
	return proposal{choice: n}
}

// A lineParser reads the form of lines:
//
//	Action: click
//	Action Input 1: {"choice": 3}
//	Action Input 2: {"button": "About"}
//
// Other lines are thoughts, up to an observation: that would be made up.
type lineParser struct {
	line  []byte
	long  bool // the line is: the rest of it is left out
	tool  string
	count int
	size  int
	over  bool
	out   []proposal
}

func (p *lineParser) write(piece string) []proposal {
	p.out = nil
	for i := 0; i < len(piece) && !p.over; i++ {
		p.size++
		switch b := piece[i]; {
		case p.size > maxAnswer:
			p.fail(DropLimit)
		case b == '\n':
			p.close()
		case len(p.line) >= maxItem:
			p.long = true
		default:
			p.line = append(p.line, b)
		}
	}
	return p.out
}

// close reads the line that is complete.
func (p *lineParser) close() {
	line, long := strings.TrimSpace(string(p.line)), p.long
	p.line, p.long = p.line[:0], false
	label, value, _ := strings.Cut(line, ":")
	switch value = strings.TrimSpace(value); readLabel(label) {
	case "Action":
		p.tool = value
	case "Action Input":
		p.add(value, long)
	case "Observation":
		p.over = true
	}
}

// readLabel returns what a line begins with, without its number.
func readLabel(label string) string {
	label = strings.TrimRight(label, " ")
	without := strings.TrimRight(label, "0123456789")
	if len(without) < len(label) && strings.HasSuffix(without, " ") {
		return strings.TrimRight(without, " ")
	}
	return label
}

func (p *lineParser) add(input string, long bool) {
	if p.count++; p.count > maxProposed {
		p.fail(DropLimit)
		return
	}
	next := proposal{drop: DropLimit}
	if !long {
		next = readInput(p.tool, input)
	}
	p.out = append(p.out, next)
}

// readInput reads the arguments of a line. What they mean depends on the tool,
// which the menu knows.
func readInput(tool, input string) proposal {
	if depthOf(input) > maxNesting {
		return proposal{drop: DropLimit}
	}
	if _, why := readObject(input); why != "" {
		return proposal{drop: why}
	}
	return proposal{tool: tool, args: input}
}

// depthOf returns how deep an object nests, up to its end.
func depthOf(text string) (deepest int) {
	var n nested
	for i := 0; i < len(text) && !n.closed; i++ {
		n.write(text[i])
		deepest = max(deepest, n.depth)
	}
	return deepest
}

func (p *lineParser) fail(why DropReason) {
	p.over = true
	p.out = append(p.out, proposal{drop: why})
}

func (p *lineParser) end() []proposal {
	p.out = nil
	if !p.over {
		p.close()
	}
	if p.count == 0 {
		p.fail(DropMalformed)
	}
	return p.out
}

func (p *lineParser) ended() bool { return p.over }

func (p *lineParser) began() bool { return p.count > 0 }
