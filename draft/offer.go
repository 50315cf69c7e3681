package draft

import (
	"strings"

	"github.com/speccache/speccache-go/actions"
)

// An offer is what the page in view offers, to look up: pages have thousands of
// choices, and models can name dozens.
type offer struct {
	actions map[actions.Action]bool
	names   map[string]bool           // of actions
	texts   map[string]bool           // in their arguments
	labels  map[string]actions.Action // by folded label; zero: of choices that differ
}

// ended reports whether nobody waits for the call any more.
func (m *menu) ended() bool {
	select {
	case <-m.over:
		return true
	default:
		return false
	}
}

// offer reads all choices, once. It is empty if the call ends meanwhile.
func (m *menu) offer() *offer {
	if m.index != nil {
		return m.index
	}
	o := &offer{
		actions: map[actions.Action]bool{}, names: map[string]bool{},
		texts: map[string]bool{}, labels: map[string]actions.Action{},
	}
	for _, c := range m.all {
		if m.ended() {
			return &offer{}
		}
		o.add(c)
	}
	m.index = o
	return o
}

const maxNamed = 4 * maxLabel // bytes of a label that a model may name

func (o *offer) add(c actions.Choice) {
	if c.Action == (actions.Action{}) {
		return
	}
	o.actions[c.Action], o.names[c.Action.Name()] = true, true
	for _, text := range stringValues(c.Action.Args()) {
		o.texts[text] = true
	}
	if len(c.Label) > maxNamed {
		return
	}
	label := folded(c.Label)
	if other, known := o.labels[label]; known && other != c.Action {
		c.Action = actions.Action{}
	}
	o.labels[label] = c.Action
}

// folded returns a label as it is shown, in one case.
func folded(label string) string { return strings.ToLower(strings.ToUpper(quoted(label))) }
