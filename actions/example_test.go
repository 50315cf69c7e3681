package actions_test

import (
	"errors"
	"fmt"

	"github.com/speccache/speccache-go/actions"
)

func Example() {
	a := actions.Must("search", map[string]any{"query": "ristretto", "page": 2})
	b, err := actions.Parse("search", `{"page": 2.0, "query": "ristretto"}`)
	fmt.Println(b, err)
	fmt.Println(a == b)
	// Output:
	// search {"page":2,"query":"ristretto"} <nil>
	// true
}

// Whatever could give two actions one key is refused, with a reason that a
// program can read.
func ExampleInvalidError() {
	_, err := actions.Parse("order", `{"id": 9007199254740993}`)
	if invalid, ok := errors.AsType[*actions.InvalidError](err); ok {
		fmt.Println(invalid.Problem)
	}
	_, err = actions.Parse("order", `{"id": "9007199254740993"}`)
	fmt.Println(err)
	// Output:
	// number that a double does not hold: send it as a string
	// <nil>
}

// What no rule names is Unknown: it never runs ahead.
func ExampleRules() {
	rules := actions.Reads("search", "open")
	fmt.Println(rules["search"].Effect, rules["search"].Ahead)
	fmt.Println(rules["delete"].Effect, rules["delete"].Ahead)
	// Output:
	// read-only true
	// unknown false
}
