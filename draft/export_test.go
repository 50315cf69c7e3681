package draft

import "github.com/speccache/speccache-go/actions"

func asItIs(v actions.View) actions.View { return v }

type nobody struct{ Completer }

// Understanding returns what a chat makes of answers that come in pieces.
func Understanding(cfg ChatConfig, s actions.State[actions.View]) func(form Form, pieces ...string) ([]actions.Action, map[DropReason]int) {
	c := newChat(nobody{}, cfg)
	p := c.prompt(look(asItIs, s, c.catalog.named))
	return func(form Form, pieces ...string) (found []actions.Action, dropped map[DropReason]int) {
		k := &call{
			chat: c, prompt: p, form: form, parser: newParser(form),
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
}

// PromptOf returns what a chat would send, and the tokens that it takes it for.
func PromptOf(cfg ChatConfig, s actions.State[actions.View], form Form) (system, user string, tokens int) {
	c := newChat(nobody{}, cfg)
	p := c.prompt(look(asItIs, s, c.catalog.named))
	return p.system(form), p.user, p.tokens
}
