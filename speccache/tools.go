package speccache

import "github.com/speccache/speccache-go/actions"

// A tool is what actions of one name have in common: their rule, and how long
// they take.
type tool struct {
	actions.Rule
	latency latency
}

// public reports whether it reads what is everybody's.
func (t *tool) public() bool { return t.Public && t.Effect == actions.ReadOnly }

type tools map[string]*tool

func newTools(rules actions.Rules) tools {
	t := tools{}
	for name, rule := range rules {
		t[name] = &tool{Rule: rule}
	}
	return t
}

// undeclared is what no rule names.
var undeclared = &tool{}

func (t tools) of(a actions.Action) *tool {
	if tool := t[a.Name()]; tool != nil {
		return tool
	}
	return undeclared
}
