package draft

import (
	"encoding/json"
	"slices"

	"github.com/speccache/speccache-go/actions"
)

// A menu is what can be guessed in one call, and what the model was shown.
type menu struct {
	*catalog
	shown []actions.Choice // numbered from 1
	all   []actions.Choice // of the page in view
	over  <-chan struct{}  // closed when nobody waits for the call any more; nil: never
	index *offer           // of all, once it was needed
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
	if m.offer().actions[a] {
		return a, ""
	}
	if shape, ok := m.composed[p.tool]; ok {
		return m.compose(a, shape)
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
	known := m.offer().names[a.Name()]
	if label, ok := labelIn(args); ok && (a.Name() == click || known) {
		return m.labelled(label)
	}
	if known || !m.harmless(a, nil) {
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

// labelled returns the one action that choices of a label lead to.
func (m *menu) labelled(label string) (actions.Action, DropReason) {
	a := m.offer().labels[folded(label)]
	if a == (actions.Action{}) {
		return a, DropLabel
	}
	return a, ""
}

// compose checks arguments that a model made up. An address among them has to
// be one of a choice in view: what else stands on a page can be anybody's.
func (m *menu) compose(a actions.Action, s *shape) (actions.Action, DropReason) {
	var args map[string]json.RawMessage
	if a.Decode(&args) != nil || !s.fits(args) {
		return actions.Action{}, DropArguments
	}
	if !m.harmless(a, s.says) {
		return actions.Action{}, DropURL
	}
	return a, ""
}

// harmless reports whether all strings in an action's arguments, the names of
// objects among them, are no addresses, or those of choices in view, or what
// the tool's own schema says.
func (m *menu) harmless(a actions.Action, says map[string]bool) bool {
	var args any
	return a.Decode(&args) == nil && all(args, func(text string) bool {
		return says[text] || !isAddress(text) || m.offer().texts[text]
	})
}

// all reports whether all strings in a JSON value are ok.
func all(v any, ok func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return ok(v)
	case []any:
		return !slices.ContainsFunc(v, func(v any) bool { return !all(v, ok) })
	case object:
		for name, value := range v {
			if !ok(name) || !all(value, ok) {
				return false
			}
		}
	}
	return true
}
