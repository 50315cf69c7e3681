package replay

import (
	"bytes"
	"embed"
	"io/fs"
)

// builtin holds items and two small sites of our own, so that a replay needs
// nothing else.
//
//go:embed builtin
var builtin embed.FS

func builtinItems() []Item {
	data, err := builtin.ReadFile("builtin/items.jsonl")
	if err != nil {
		panic(err) // it is compiled in
	}
	items, err := ReadItems(bytes.NewReader(data))
	if err != nil {
		panic("replay: built-in items: " + err.Error()) // a test reads them
	}
	return items
}

func builtinSites() fs.FS {
	sites, err := fs.Sub(builtin, "builtin/sites")
	if err != nil {
		panic(err) // the path is valid
	}
	return sites
}
