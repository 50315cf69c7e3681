package draft

import (
	"errors"
	"net"

	"github.com/speccache/speccache-go/actions"
)

// maxUsage is what a server is believed at most: more than any call takes, and
// little enough that no sum of calls overflows.
const maxUsage = 1 << 24 // tokens

// believed returns what a server says about a call, within bounds.
func believed(u actions.Usage) *actions.Usage {
	u.PromptTokens = min(max(0, u.PromptTokens), maxUsage)
	u.CachedTokens = min(max(0, u.CachedTokens), u.PromptTokens)
	u.OutputTokens = min(max(0, u.OutputTokens), maxUsage)
	return &u
}

// usage is what the call cost, as the server says or as estimated. A request
// that fails may have been worked on all the same, unless it was refused.
func (k *call) usage() actions.Usage {
	u := actions.Usage{Calls: k.asked}
	switch {
	case k.answer.usage != nil:
		u = *k.answer.usage
		u.Calls = k.asked
	case k.asked > 0 && !free(k.err):
		u.PromptTokens, u.OutputTokens = k.prompt.tokens, k.answer.tokens
	}
	return u
}

// free reports whether a request has cost no tokens: the server refused it, or
// was not there.
func free(err error) bool {
	e, refused := errors.AsType[*Error](err)
	connection, broken := errors.AsType[*net.OpError](err)
	return refused && e.Status/100 == 4 || broken && connection.Op == "dial"
}

// soFar is what the call has cost by now, and surely not less in the end: it is
// told with guesses, and what was told can't be taken back.
func (k *call) soFar() actions.Usage {
	if k.answer.usage != nil {
		return k.usage()
	}
	return actions.Usage{
		Calls:        k.asked,
		PromptTokens: (tenths(k.prompt.system(k.form)) + tenths(k.prompt.user)) / 10,
		OutputTokens: k.answer.tenths / 10,
	}
}

// tenths is what a text takes at least, in tenths of a token. The tokens of an
// alphabet are seldom longer than 5 characters on average; others have two or
// three to a token.
func tenths(text string) (n int) {
	for _, r := range text {
		if n += 2; r >= '\u2e80' {
			n += 2
		}
	}
	return n
}

// tell yields a prediction with what the call has cost since the last one.
func (k *call) tell(p actions.Prediction, cost actions.Usage) {
	p.Source = "chat"
	p.Usage = actions.Usage{
		Calls:        more(&k.told.Calls, cost.Calls),
		PromptTokens: more(&k.told.PromptTokens, cost.PromptTokens),
		CachedTokens: more(&k.told.CachedTokens, cost.CachedTokens),
		OutputTokens: more(&k.told.OutputTokens, cost.OutputTokens),
	}
	k.left = !k.yield(p, nil)
}

// more returns by how much a number exceeds what was told of it, and notes that
// it is told now.
func more(told *int, n int) int {
	n = max(0, n-*told)
	*told += n
	return n
}
