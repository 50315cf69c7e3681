package replay

import (
	"context"
	"sync"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
)

// arrivals records when the first successful run of each action ended: from
// then on its page is resident.
type arrivals struct {
	do actions.Executor[*web.Page]

	mu sync.Mutex // guards at
	at map[actions.Action]time.Time
}

func newArrivals(do actions.Executor[*web.Page]) *arrivals {
	return &arrivals{do: do, at: map[actions.Action]time.Time{}}
}

// Do is the executor, with a note of what it brought.
func (r *arrivals) Do(ctx context.Context, a actions.Action) (*web.Page, error) {
	page, err := r.do(ctx, a)
	if err == nil && ctx.Err() == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if _, known := r.at[a]; !known {
			r.at[a] = time.Now()
		}
	}
	return page, err
}

// before reports whether an action had run by a moment.
func (r *arrivals) before(a actions.Action, moment time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.at[a]
	return ok && !at.After(moment)
}
