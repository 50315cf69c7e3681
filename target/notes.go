package target

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// noteName is the tool with which the model keeps what it has found. It is the
// loop's own and Local by nature: no session hears of it.
const noteName = "remember"

var noteTool = Tool{
	Name:        noteName,
	Description: "Keep a finding that helps to answer the question. Notes stay when old observations are dropped.",
	Schema: json.RawMessage(`{"type":"object","properties":{"note":{"type":"string",` +
		`"description":"one finding, with its names and numbers"}},"required":["note"]}`),
}

var (
	errNoNote    = errors.New(`target: remember needs {"note": "what you have found"}`)
	errNotesFull = errors.New("target: there is no room for more notes")
)

// notes are what the model wants to keep, oldest first, within a budget.
type notes struct {
	limit int // tokens
	all   []string
}

// add keeps a note that a call has written, unless it is there already.
func (n *notes) add(call Call) (string, error) {
	var args struct{ Note string }
	if err := json.Unmarshal([]byte(cmp.Or(call.Args, "{}")), &args); err != nil {
		return "", errNoNote
	}
	note := strings.TrimSpace(args.Note)
	switch {
	case note == "":
		return "", errNoNote
	case slices.Contains(n.all, note):
		return note, nil
	case tokens(n.String())+tokens(note) > n.limit:
		return "", errNotesFull
	}
	n.all = append(n.all, note)
	return note, nil
}

func (n *notes) String() string {
	if len(n.all) == 0 {
		return ""
	}
	return "Your notes:\n- " + strings.Join(n.all, "\n- ")
}
