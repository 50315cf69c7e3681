package draft

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/speccache/speccache-go/actions"
)

// A menu is what can be guessed in one call, and what the model was shown.
type menu struct {
	*catalog
	shown []actions.Choice // numbered from 1
	all   []actions.Choice // of the page in view
}

// offers reports whether there is anything to guess.
func (m *menu) offers() bool { return len(m.shown) > 0 || len(m.composed) > 0 }

// resolve returns the action that a proposal stands for, or why it is none.
func (m *menu) resolve(p proposal) (actions.Action, DropReason) {
	switch {
	case p.drop != "":
		return actions.Action{}, p.drop
	case p.choice > 0:
		return m.number(p.choice)
	}
	a, err := actions.Parse(orClick(p.tool), p.args)
	if err != nil {
		return a, DropMalformed
	}
	if shape, ok := m.composed[p.tool]; ok {
		return m.compose(a, shape)
	}
	if m.has(a) {
		return a, ""
	}
	return m.pick(a)
}

// click is what models call the choice of a link.
const click = "click"

// orClick is for actions without a tool, as choices are.
func orClick(tool string) string {
	if tool == "" {
		return click
	}
	return tool
}

func (m *menu) number(n int) (actions.Action, DropReason) {
	if n < 1 || n > len(m.shown) {
		return actions.Action{}, DropChoice
	}
	return m.shown[n-1].Action, ""
}

func (m *menu) has(a actions.Action) bool {
	return slices.ContainsFunc(m.all, func(c actions.Choice) bool { return c.Action == a })
}

// pick finds the choice that an action of another form means: its number or
// its label. A choice that is none is an address that the model made up.
func (m *menu) pick(a actions.Action) (actions.Action, DropReason) {
	var args map[string]json.RawMessage
	if a.Decode(&args) != nil {
		return actions.Action{}, DropArguments
	}
	if choice, ok := args["choice"]; ok && len(args) == 1 {
		return m.numbered(choice)
	}
	if label, ok := labelIn(args); ok && (a.Name() == click || m.offersName(a.Name())) {
		return m.labelled(label)
	}
	if m.offersName(a.Name()) || holdsURL(a) {
		return actions.Action{}, DropURL
	}
	return actions.Action{}, DropTool
}

func (m *menu) numbered(choice json.RawMessage) (actions.Action, DropReason) {
	p := numbering(choice)
	if p.drop != "" {
		return actions.Action{}, p.drop
	}
	return m.number(p.choice)
}

// labelIn reads {"button": "About"}, or label in the place of button.
func labelIn(args map[string]json.RawMessage) (label string, ok bool) {
	for _, name := range []string{"button", "label"} {
		if text, found := args[name]; found && len(args) == 1 {
			return label, json.Unmarshal(text, &label) == nil
		}
	}
	return "", false
}

func (m *menu) offersName(name string) bool {
	return slices.ContainsFunc(m.all, func(c actions.Choice) bool { return c.Action.Name() == name })
}

const maxNamed = 4 * maxLabel // bytes of a label that a model may name

// labelled returns the one action that choices of a label lead to.
func (m *menu) labelled(label string) (found actions.Action, drop DropReason) {
	label = oneLine(label)
	for _, c := range m.all {
		if c.Action == (actions.Action{}) || len(c.Label) > maxNamed || !strings.EqualFold(oneLine(c.Label), label) {
			continue
		}
		if found != (actions.Action{}) && found != c.Action {
			return actions.Action{}, DropLabel
		}
		found = c.Action
	}
	if found == (actions.Action{}) {
		return found, DropLabel
	}
	return found, ""
}

// compose checks arguments that a model made up. An address among them has to
// be one that the page in view leads to.
func (m *menu) compose(a actions.Action, s *shape) (actions.Action, DropReason) {
	var args map[string]json.RawMessage
	if a.Decode(&args) != nil || !s.fits(args) {
		return actions.Action{}, DropArguments
	}
	if !all(a, func(text string) bool { return !looksLikeURL(text) || m.leadsTo(text) }) {
		return actions.Action{}, DropURL
	}
	return a, ""
}

func holdsURL(a actions.Action) bool {
	return !all(a, func(text string) bool { return !looksLikeURL(text) })
}

// all reports whether all strings in an action's arguments are ok, the names of
// objects among them.
func all(a actions.Action, ok func(string) bool) bool {
	var args any
	return a.Decode(&args) == nil && allIn(args, ok)
}

func allIn(v any, ok func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return ok(v)
	case []any:
		return !slices.ContainsFunc(v, func(v any) bool { return !allIn(v, ok) })
	case object:
		for name, value := range v {
			if !ok(name) || !allIn(value, ok) {
				return false
			}
		}
	}
	return true
}

// looksLikeURL errs on the side of caution: "//host", "data:" and "javascript:"
// are addresses too.
func looksLikeURL(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	return strings.Contains(s, "//") || slices.ContainsFunc([]string{"data:", "javascript:", "mailto:", "file:", "www."},
		func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}

func (m *menu) leadsTo(url string) bool {
	return slices.ContainsFunc(m.all, func(c actions.Choice) bool {
		return slices.Contains(stringValues(c.Action.Args()), url)
	})
}
