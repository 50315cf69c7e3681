package costs

import (
	"context"
	"fmt"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
)

// A page is an observation: a pointer to one, as most environments return.
type page struct{ bytes int }

// Names of actions.
const (
	visit    = "visit"    // reads, and may run ahead
	download = "download" // reads something large
	submit   = "submit"   // no rule says what it does
)

// rules are those of the actions that read, with an age that no measurement
// reaches.
var rules = actions.Rules{
	visit:    {Effect: actions.ReadOnly, Ahead: true, MaxAge: 24 * time.Hour},
	download: {Effect: actions.ReadOnly, MaxAge: 24 * time.Hour},
}

// modelVersion is as long as they are.
const modelVersion = "gpt-4.1-mini-2025-04-14-x"

// visits makes n actions, numbered from first on. Each call makes new ones, as
// a target does: they are equal, and share no memory.
func visits(first, n int) []actions.Action {
	list := make([]actions.Action, n)
	for i := range list {
		list[i] = action(visit, first+i)
	}
	return list
}

// action makes an action whose arguments have about 80 bytes, as addresses do.
func action(name string, number int) actions.Action {
	args := fmt.Sprintf(`{"url":"https://shop.example/catalogue/items/%09d?view=full&tab=reviews"}`, number)
	a, err := actions.Parse(name, args)
	if err != nil {
		panic(err) // the text is ours
	}
	return a
}

// unlimited is more than any measurement uses.
var unlimited = speccache.Limits{DraftCalls: 1 << 50, DraftTokens: 1 << 50, RequestsAhead: 1 << 50, BytesAhead: 1 << 50}

// config is that of all caches here: what is not a limit is as by default.
func config() speccache.Config[*page] {
	return speccache.Config[*page]{
		ModelVersion:  modelVersion,
		SessionLimits: unlimited, ScopeLimits: unlimited, CacheLimits: unlimited,
	}
}

var blank page

// instantly is an executor that costs nothing.
func instantly(context.Context, actions.Action) (*page, error) { return &blank, nil }
