package target

import (
	"fmt"
	"strings"
)

// bytesPerToken is low for English, which has about four, and right for most
// other scripts: budgets are kept, and seldom used to the full.
const bytesPerToken = 3

// tokens estimates the tokens of a text.
func tokens(text string) int { return (len(text) + bytesPerToken - 1) / bytesPerToken }

// perMessage is what a message costs beside its text.
const perMessage = 8

func (m Message) tokens() int {
	n := perMessage + tokens(m.Text) + tokens(m.CallID)
	for _, call := range m.Calls {
		n += perMessage + tokens(call.ID) + tokens(call.Name) + tokens(call.Args)
	}
	return n
}

// crop returns the beginning of a text that fits into a budget, ends at a
// line's end if there is one near, and says how much is missing.
func crop(text string, budget int) string {
	size := max(0, budget) * bytesPerToken
	if len(text) <= size {
		return text
	}
	kept := strings.ToValidUTF8(text[:size], "")
	if i := strings.LastIndexByte(kept, '\n'); i > len(kept)*3/4 {
		kept = kept[:i]
	}
	return fmt.Sprintf("%s\n[cropped: %d of %d bytes shown]", kept, len(kept), len(text))
}
