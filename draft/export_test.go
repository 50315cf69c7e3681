package draft

import "github.com/speccache/speccache-go/actions"

// Understand returns what a chat makes of an answer that comes in pieces.
func Understand(cfg ChatConfig, s actions.State[actions.View], form Form, pieces ...string) ([]actions.Action, map[DropReason]int) {
	c := newChat(nobody{}, cfg)
	view := func(v actions.View) actions.View { return v }
	var found []actions.Action
	k := &call{
		chat: c, prompt: c.prompt(look(view, s, c.catalog.named)), form: form, parser: newParser(form),
		seen: map[actions.Action]bool{}, dropped: map[DropReason]int{},
		yield: func(p actions.Prediction, _ error) bool {
			found = append(found, p.Action)
			return true
		},
	}
	for _, piece := range pieces {
		k.take(k.parser.write(piece))
	}
	k.take(k.parser.end())
	return found, k.dropped
}

type nobody struct{ Completer }

// PromptOf returns what a chat would send, and the tokens that it takes it for.
func PromptOf(cfg ChatConfig, s actions.State[actions.View], form Form) (system, user string, tokens int) {
	c := newChat(nobody{}, cfg)
	p := c.prompt(look(func(v actions.View) actions.View { return v }, s, c.catalog.named))
	return p.system(form), p.user, p.tokens
}
