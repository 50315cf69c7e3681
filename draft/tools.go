package draft

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// A catalog is the tools of a chat, and the form of answers that follows.
type catalog struct {
	tools    []Tool
	named    map[string]bool
	composed map[string]*shape // by name
	schema   json.RawMessage   // of answers
	strict   bool              // servers can hold a model to it
}

// A shape is what is checked of arguments. Servers without structured output
// hold a model to nothing.
type shape struct {
	Properties map[string]json.RawMessage
	Required   []string
	Additional json.RawMessage `json:"additionalProperties"`

	says map[string]bool // all texts in the schema
}

func newCatalog(cfg ChatConfig) *catalog {
	c := &catalog{named: map[string]bool{}, composed: map[string]*shape{}, strict: true}
	branches := []any{choiceSchema}
	for _, t := range cfg.Tools {
		if len(t.Schema) == 0 {
			t.Schema = json.RawMessage(`{"type":"object"}`)
		}
		c.tools = append(c.tools, t)
		c.named[t.Name] = true
		s := mustShape(t)
		if t.Composed {
			c.composed[t.Name] = s
			c.strict = c.strict && isStrict(t.Schema)
			branches = append(branches, toolSchema(t))
		}
	}
	c.schema = answerSchema(cfg.N, branches)
	return c
}

func mustShape(t Tool) *shape {
	var s shape
	if t.Name == "" || !isObject(t.Schema) || json.Unmarshal(t.Schema, &s) != nil {
		panic(fmt.Sprintf("draft: Chat's tool %q needs a name and a schema that is a JSON object", t.Name))
	}
	s.says = map[string]bool{}
	var schema any
	_ = json.Unmarshal(t.Schema, &schema) // it is valid
	all(schema, func(text string) bool {
		s.says[text] = true
		return true
	})
	return &s
}

func isObject(text json.RawMessage) bool {
	return json.Valid(text) && bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
}

// fits reports whether arguments have what the schema requires and nothing
// that it does not know.
func (s *shape) fits(args map[string]json.RawMessage) bool {
	for _, name := range s.Required {
		if _, ok := args[name]; !ok {
			return false
		}
	}
	for name := range args {
		if _, known := s.Properties[name]; !known && string(s.Additional) == "false" {
			return false
		}
	}
	return true
}

type object = map[string]any

// choiceSchema has no bounds: they would differ from page to page, and servers
// take seconds for a schema that is new to them.
var choiceSchema = object{
	"type":                 "object",
	"properties":           object{"choice": object{"type": "integer"}},
	"required":             []string{"choice"},
	"additionalProperties": false,
}

func toolSchema(t Tool) object {
	return object{
		"type": "object",
		"properties": object{
			"tool":      object{"type": "string", "enum": []string{t.Name}},
			"arguments": t.Schema,
		},
		"required":             []string{"tool", "arguments"},
		"additionalProperties": false,
	}
}

func answerSchema(n int, branches []any) json.RawMessage {
	items := branches[0]
	if len(branches) > 1 {
		items = object{"anyOf": branches}
	}
	text, err := json.Marshal(object{
		"type":                 "object",
		"properties":           object{"actions": object{"type": "array", "items": items, "maxItems": n}},
		"required":             []string{"actions"},
		"additionalProperties": false,
	})
	if err != nil {
		panic("draft: " + err.Error()) // schemas were checked before
	}
	return text
}

// isStrict reports whether a schema is in the part of JSON schema that servers
// guarantee: every object says that it has all of its properties and no others.
func isStrict(schema json.RawMessage) bool {
	var v any
	return json.Unmarshal(schema, &v) == nil && strictValue(v)
}

func strictValue(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(v any) bool { return !strictValue(v) })
	case object:
		if v["type"] == "object" && !strictObject(v) {
			return false
		}
		return strictValue(slices.Collect(maps.Values(v)))
	}
	return true
}

func strictObject(v object) bool {
	properties, _ := v["properties"].(object)
	required, _ := v["required"].([]any)
	missing := func(name string) bool { return !slices.Contains(required, any(name)) }
	return v["additionalProperties"] == false && !slices.ContainsFunc(slices.Collect(maps.Keys(properties)), missing)
}
