package target

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// A Tool is what the model is told about an action that it may choose.
type Tool struct {
	Name        string // up to 64 letters, digits, _ and -
	Description string

	// Schema of the arguments, a JSON schema for an object. Nil: there are no
	// arguments.
	Schema json.RawMessage
}

// A Call is a tool call as a model writes it.
type Call struct {
	ID   string // unique in its reply
	Name string
	Args string // JSON, or what the model takes for it
}

// schema returns the tool's schema, or one for no arguments.
func (t Tool) schema() json.RawMessage {
	if t.Schema == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}

// check panics on tools that no server would take.
func check(tools []Tool) {
	seen := map[string]bool{}
	for _, t := range tools {
		var object map[string]json.RawMessage
		switch {
		case !isLegal.MatchString(t.Name):
			panic(fmt.Sprintf("target: the tool %q needs a name of up to 64 letters, digits, _ and -", t.Name))
		case seen[t.Name]:
			panic(fmt.Sprintf("target: two tools are named %q", t.Name))
		case json.Unmarshal(t.schema(), &object) != nil || object == nil:
			panic(fmt.Sprintf("target: the tool %q needs a schema that is a JSON object", t.Name))
		}
		seen[t.Name] = true
	}
}

const maxName = 64

var (
	isLegal   = regexp.MustCompile(fmt.Sprintf(`^[a-zA-Z0-9_-]{1,%d}$`, maxName))
	isIllegal = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
)

// legal returns the name of a tool that a model has made up as servers take it
// back.
func legal(name string) string {
	return isIllegal.ReplaceAllString(name[:min(maxName, len(name))], "_")
}

// has reports whether a tool declares a parameter.
func (t Tool) has(parameter string) bool {
	var schema struct {
		Properties map[string]json.RawMessage
	}
	_ = json.Unmarshal(t.schema(), &schema) // what is no schema declares nothing
	_, ok := schema.Properties[parameter]
	return ok
}

// toolTokens estimates what tools add to a prompt.
func toolTokens(tools []Tool) int {
	n := 0
	for _, t := range tools {
		n += 2*perMessage + tokens(t.Name) + tokens(t.Description) + tokens(string(t.schema()))
	}
	return n
}
