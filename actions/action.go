package actions

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Limits on what an Action may hold. They bound the memory and time that a
// hostile model can cost, and are far above what a tool call needs.
const (
	MaxName  = 256     // bytes in a name
	MaxArgs  = 1 << 20 // bytes of arguments, before and after canonicalisation
	MaxDepth = 64      // objects and arrays nested in each other
)

// An Action is a call that an agent makes: a name and arguments. It is
// immutable and comparable: two actions are equal exactly if their names are
// and their arguments are the same JSON value. Arguments are canonicalised
// (RFC 8785) and hashed once, when the action is made.
//
// The zero Action is no action.
type Action struct {
	text string // name, a space, arguments: what String returns
	name int    // bytes of it that are the name
	hash uint64
	// Four words are as many as Go keeps in registers. One more, and each copy
	// goes through memory: lookups took twice as long.
}

// New makes an action from a name and any value that encodes as JSON. It
// encodes as encoding/json does, but refuses invalid UTF-8 and duplicate
// names, which encoding/json would quietly repair into some other value. Nil
// args mean no arguments, {}.
//
// The error is an [*InvalidError].
func New(name string, args any) (Action, error) {
	if args == nil {
		return Parse(name, "{}")
	}
	raw, err := jsonv2.Marshal(args, jsonv1.DefaultOptionsV1(), strict)
	if err != nil {
		p := problemOf(err)
		if _, ok := errors.AsType[*jsontext.SyntacticError](err); !ok && p == ProblemSyntax {
			p = ProblemType
		}
		return Action{}, invalid(name, p, err)
	}
	return Parse(name, string(raw))
}

// strict undoes what encoding/json tolerates and I-JSON (RFC 7493) does not.
var strict = jsonv2.JoinOptions(
	jsontext.AllowInvalidUTF8(false),
	jsontext.AllowDuplicateNames(false),
	jsonv2.WithMarshalers(jsonv2.MarshalToFunc(marshalNumber)),
)

// marshalNumber writes a json.Number as a number. The library knows a type of
// its own by that name, and would write this one as a string.
func marshalNumber(e *jsontext.Encoder, n json.Number) error {
	if kind, length := e.StackIndex(e.StackDepth()); kind == '{' && length%2 == 0 {
		return errors.ErrUnsupported // a key is a string
	}
	if n == "" {
		n = "0" // as encoding/json does
	}
	v := jsontext.Value(n)
	if v.Kind() != '0' {
		return fmt.Errorf("%.40q is no number", string(n))
	}
	return e.WriteValue(v)
}

// Must is New for arguments that are known to be good; it panics on others.
func Must(name string, args any) Action {
	a, err := New(name, args)
	if err != nil {
		panic(err)
	}
	return a
}

// Parse makes an action from a name and arguments that are JSON text, as a
// model writes them. The text must be one I-JSON value: no duplicate names, no
// invalid UTF-8, no lone surrogates, no number that a double can't hold
// exactly enough (see [InvalidError]). Nothing is repaired.
//
// The error is an [*InvalidError].
func Parse(name, args string) (Action, error) {
	if p := checkName(name); p != "" {
		return Action{}, invalid(name, p, nil)
	}
	canonical, err := canonicalise(args)
	if err != nil {
		return Action{}, invalid(name, problemOf(err), err)
	}
	return Action{text: name + " " + canonical, name: len(name), hash: hashOf(name, canonical)}, nil
}

func checkName(name string) Problem {
	switch {
	case name == "":
		return ProblemName
	case len(name) > MaxName:
		return ProblemSize
	case !utf8.ValidString(name):
		return ProblemUTF8
	}
	return ""
}

// Name returns the action's name, such as "visit".
func (a Action) Name() string { return a.text[:a.name] }

// Args returns the arguments as canonical JSON.
func (a Action) Args() string {
	if a.text == "" {
		return ""
	}
	return a.text[a.name+1:]
}

// Decode stores the arguments in v, as encoding/json does.
func (a Action) Decode(v any) error {
	if err := json.Unmarshal([]byte(a.Args()), v); err != nil {
		return fmt.Errorf("actions: arguments of %q: %w", a.Name(), err)
	}
	return nil
}

// String returns the name and the arguments. Arguments may hold what a user
// typed: mind where it is logged.
func (a Action) String() string {
	if a.text == "" {
		return "(no action)"
	}
	return a.text
}

// Hash returns a hash of name and arguments. It was made with the action and
// costs nothing; it differs between processes, so that nobody can prepare
// actions that collide.
func (a Action) Hash() uint64 { return a.hash }

var seed = maphash.MakeSeed()

func hashOf(name, args string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteString(name)
	h.WriteByte(0xff) // never occurs in UTF-8: ("a", "bc") is not ("ab", "c")
	h.WriteString(args)
	return h.Sum64()
}

// An InvalidError says why a name and arguments are not an action. Whatever
// could give two different actions one key is refused rather than repaired.
type InvalidError struct {
	Name    string  // of the action
	Problem Problem // what is wrong, for programs
	Err     error   // where it is wrong, for people; may be nil
}

// Problem is the class of an InvalidError.
type Problem string

// The problems that an InvalidError may have.
const (
	ProblemName      Problem = "empty name"
	ProblemSyntax    Problem = "not JSON"
	ProblemDuplicate Problem = "duplicate name in an object"
	ProblemUTF8      Problem = "invalid UTF-8 or a lone surrogate"
	ProblemNumber    Problem = "number that a double does not hold: send it as a string"
	ProblemDepth     Problem = "nested too deeply"
	ProblemSize      Problem = "too large"
	ProblemType      Problem = "Go value that has no JSON form"
)

func (e *InvalidError) Error() string {
	msg := fmt.Sprintf("actions: invalid action %.80q: %s", e.Name, e.Problem)
	if e.Err != nil {
		msg += fmt.Sprintf(": %.300s", e.Err.Error()) // it may quote the arguments
	}
	return msg
}

func (e *InvalidError) Unwrap() error { return e.Err }

func invalid(name string, p Problem, err error) error {
	if len(name) > MaxName {
		name = name[:MaxName]
	}
	return &InvalidError{Name: name, Problem: p, Err: err}
}

// problemOf finds the class of an error that canonicalise or the JSON library
// returned. The library has no values for some, and with the options of
// encoding/json its errors hide their cause: the text has to do.
func problemOf(err error) Problem {
	if e, ok := errors.AsType[*numberError](err); ok {
		return e.problem
	}
	text := err.Error()
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		text = e.Err.Error() // without the names in the arguments
	}
	switch {
	case errors.Is(err, errDepth), strings.Contains(text, "exceeded max depth"):
		return ProblemDepth
	case errors.Is(err, errSize):
		return ProblemSize
	case strings.Contains(text, jsontext.ErrDuplicateName.Error()):
		return ProblemDuplicate
	case errors.Is(err, errUTF8), strings.Contains(text, "invalid UTF-8"), strings.Contains(text, "surrogate"):
		return ProblemUTF8
	}
	return ProblemSyntax
}
