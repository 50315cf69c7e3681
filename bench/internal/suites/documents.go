package suites

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/speccache/speccache-go/actions"
)

const (
	accepted = "an action"
	refused  = "a refusal"
)

// strict are the problems of texts that JSON allows and I-JSON does not, or that
// have one canonical form with another value: two actions would share a key.
var strict = map[actions.Problem]bool{actions.ProblemDuplicate: true, actions.ProblemUTF8: true, actions.ProblemNumber: true}

func problem(err error) actions.Problem {
	if e, ok := errors.AsType[*actions.InvalidError](err); ok {
		return e.Problem
	}
	return ""
}

// parsed is what the text of an action's arguments becomes.
func parsed(text string) string {
	if _, err := actions.Parse("a", text); err != nil {
		return refused
	}
	return accepted
}

// valid plays a text that JSON allows: it becomes an action, or is refused as
// what I-JSON does not allow, which is noted.
func (r *Result) valid(id, text string) {
	r.row(id, accepted, func() string {
		_, err := actions.Parse("a", text)
		if p := problem(err); err != nil && strict[p] {
			r.note(id, "refused: "+string(p))
			return accepted
		}
		return parsed(text)
	})
}

// playParsing plays jsontestsuite's test_parsing, or one such file: its name's
// first letter says what has to become of it.
func playParsing(r *Result, path string, named bool) error {
	files := []string{path}
	if !named {
		files = glob(path, "test_parsing", "*.json")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		id := filepath.Base(file)
		switch kind, _, _ := strings.Cut(id, "_"); kind {
		case "y":
			r.valid(id, string(text))
		case "n":
			r.row(id, refused, func() string { return parsed(string(text)) })
		case "i":
			r.row(id, "the same twice", func() string { return twice(string(text)) })
		default:
			return fmt.Errorf("%s: its name has to begin with y_, n_ or i_", file)
		}
	}
	return nil
}

// twice is for texts that may become an action or be refused.
func twice(text string) string {
	a, err := actions.Parse("a", text)
	b, again := actions.Parse("a", text)
	if a != b || problem(err) != problem(again) {
		return "one thing, and then another"
	}
	return "the same twice"
}

// playBroken plays jsonrepair and json_repair: what is no JSON is no action,
// whatever others would make of it.
func playBroken(r *Result, path string, named bool) error {
	if !named {
		path = filepath.Join(path, "cases.json")
	}
	var cases []struct{ Input *string }
	if err := readJSON(path, &cases); err != nil {
		return err
	}
	for i, c := range cases {
		if c.Input == nil {
			return fmt.Errorf("%s: row %d has no input", path, i)
		}
		id := fmt.Sprintf("row %d, %.60q", i, *c.Input)
		if json.Valid([]byte(*c.Input)) {
			r.valid(id, *c.Input)
			continue
		}
		r.row(id, refused, func() string { return parsed(*c.Input) })
	}
	return nil
}

// playCanonical plays rfc8785: its files, and its sequence of numbers. A named
// file is of the former if its name ends with .json, and has its output in the
// folder output beside its own.
func playCanonical(r *Result, path string, named bool) error {
	switch {
	case named && filepath.Ext(path) == ".json":
		return r.canonical(path)
	case named:
		return r.numbers(path)
	}
	for _, file := range glob(path, "input", "*.json") {
		if err := r.canonical(file); err != nil {
			return err
		}
	}
	return r.numbers(filepath.Join(path, "es6testfile10k.txt"))
}

func (r *Result) canonical(file string) error {
	input, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	id := filepath.Base(file)
	output, err := os.ReadFile(filepath.Join(filepath.Dir(file), "..", "output", id))
	if err != nil {
		return err
	}
	r.form(id, string(input), string(output))
	return nil
}

// form plays a text with its canonical form.
func (r *Result) form(id, text, want string) {
	r.row(id, want, func() string {
		a, err := actions.Parse("a", text)
		if err != nil {
			return err.Error()
		}
		return a.Args()
	})
}

// numbers plays lines of a double's bits and its canonical form.
func (r *Result) numbers(file string) error {
	return readLines(file, func(n int, line []byte) error {
		bits, want, ok := strings.Cut(string(line), ",")
		b, err := strconv.ParseUint(bits, 16, 64)
		if err != nil || !ok {
			return errors.New("want the bits of a double, a comma, and a number")
		}
		r.number(fmt.Sprintf("line %d, %s", n, want), math.Float64frombits(b), want)
		return nil
	})
}

// number plays a double. As integers, those from 2^53 on have neighbours that
// are the same double: they are refused, up to where the form has an exponent.
func (r *Result) number(id string, f float64, want string) {
	text := strconv.FormatFloat(f, 'e', -1, 64)
	if size := math.Abs(f); size <= 1<<53 || size >= 1e21 {
		r.form(id, text, want)
		return
	}
	r.note(id, "refused: "+string(actions.ProblemNumber))
	r.row(id, string(actions.ProblemNumber), func() string {
		_, err := actions.Parse("a", text)
		return string(problem(err))
	})
}
