package target

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
)

// An Executor puts a session in front of the tools that a target acts through:
// it makes tool calls into actions and lets the session run them, which looks
// into the cache first.
type Executor[O any] struct {
	// Session runs the actions.
	Session *speccache.Session[O]

	// Tools are those that the model was offered; a call of any other is no
	// action. Nil: every name is one.
	Tools []Tool
}

// A Step is a tool call and what came of it.
type Step[O any] struct {
	Call Call

	// Number counts steps from 1. Parallel calls have the same. It is 0
	// outside of a Loop.
	Number int

	// Result has the observation, the action as it was resolved, and whether
	// it was a hit, a join or a miss. It is zero if the call was no action.
	Result speccache.Result[O]

	// Err is what the model reads instead of an observation.
	Err error
}

// Do runs a tool call. A call that is no action, for its arguments or its name,
// is an error for the model, and nothing runs.
func (x Executor[O]) Do(ctx context.Context, call Call) Step[O] {
	return x.DoAll(ctx, call)[0]
}

// DoAll runs the tool calls of one reply as one step, concurrently, and returns
// what came of them in their order. Panics of tools are the caller's.
func (x Executor[O]) DoAll(ctx context.Context, calls ...Call) []Step[O] {
	steps := make([]Step[O], len(calls))
	var list []actions.Action
	var places []int // of the actions among the steps
	for i, call := range calls {
		steps[i].Call = call
		a, err := x.Action(call)
		if err != nil {
			steps[i].Err = err
			continue
		}
		list, places = append(list, a), append(places, i)
	}
	results, errs := x.Session.RunAll(ctx, list...)
	for n, i := range places {
		steps[i].Result, steps[i].Err = results[n], errs[n]
	}
	return steps
}

// Action makes a tool call into an action. No arguments at all mean {}. A click
// may say {"button": ...} for {"label": ...}, as the WebWalker agent does,
// unless the tool has a parameter of that name.
//
// The error says what the model should do instead. It may quote the arguments.
func (x Executor[O]) Action(call Call) (actions.Action, error) {
	tool, err := x.tool(call.Name)
	if err != nil {
		return actions.Action{}, err
	}
	args := strings.TrimSpace(call.Args)
	if args == "" || args == "null" {
		args = "{}"
	}
	a, err := actions.Parse(call.Name, args)
	if err != nil {
		return actions.Action{}, fmt.Errorf("target: the arguments of %.100q can't be used, send one JSON object: %w", call.Name, err)
	}
	if !strings.HasPrefix(a.Args(), "{") {
		return actions.Action{}, fmt.Errorf("target: the arguments of %.100q must be one JSON object", call.Name)
	}
	return labelled(a, tool)
}

// tool finds the tool that a call means.
func (x Executor[O]) tool(name string) (Tool, error) {
	i := slices.IndexFunc(x.Tools, func(t Tool) bool { return t.Name == name })
	switch {
	case i >= 0:
		return x.Tools[i], nil
	case x.Tools == nil:
		return Tool{Name: name}, nil
	}
	names := make([]string, len(x.Tools))
	for i, t := range x.Tools {
		names[i] = t.Name
	}
	return Tool{}, fmt.Errorf("target: there is no tool %.100q: use one of %s", name, strings.Join(names, ", "))
}

// labelled returns a click on a button as a click on a label.
func labelled(a actions.Action, tool Tool) (actions.Action, error) {
	if a.Name() != "click" || tool.has("button") {
		return a, nil
	}
	var args map[string]json.RawMessage
	if err := a.Decode(&args); err != nil {
		return a, err
	}
	button, ok := args["button"]
	if _, both := args["label"]; !ok || both {
		return a, nil
	}
	delete(args, "button")
	args["label"] = button
	return actions.New(a.Name(), args)
}
