package main

import (
	"fmt"
	"strings"

	"github.com/speccache/speccache-go/actions/web"
)

// maxButtons bounds the list of buttons in bytes, so that long menus leave room
// for the text.
const maxButtons = 8 << 10

// show is a page as the target reads it: the buttons before the text, since a
// long text is cropped.
func show(p *web.Page) string {
	view := p.View()
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n%s\n\nButtons:", view.Title, p.URL())
	seen, more := map[string]bool{}, 0
	for _, c := range view.Choices {
		switch {
		case seen[c.Label]:
		case b.Len() > maxButtons:
			more++
		default:
			fmt.Fprintf(&b, " %q", c.Label)
		}
		seen[c.Label] = true
	}
	if more > 0 {
		fmt.Fprintf(&b, " and %d more in the text", more)
	}
	fmt.Fprintf(&b, "\n\n%s", view.Text)
	return b.String()
}
