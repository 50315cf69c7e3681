package speccache

import (
	"fmt"
	"math"
	"strings"
)

// Limits are hard caps on what speculation may cost. When one is reached,
// guessing ends, an event and the log say so once, and the target goes on as
// if there were no predictor. A zero field means the default, which depends on
// whose the limits are; nothing means "unlimited".
type Limits struct {
	// DraftCalls is how often the predictor may be asked.
	DraftCalls int64
	// DraftTokens is what drafts may use, prompts included. It is checked
	// before each draft, so that the last one may exceed it.
	DraftTokens int64
	// RequestsAhead is how many runs ahead may start.
	RequestsAhead int64
	// BytesAhead is what runs ahead may bring: as Environment.Size measures it, or
	// what they say to have received (actions.Received) if that is more. It is
	// checked before each run, and when one says so: those in the air that say
	// nothing may exceed it.
	BytesAhead int64
}

// Defaults of Config's limits.
var (
	DefaultSessionLimits = Limits{DraftCalls: 10_000, DraftTokens: 10_000_000, RequestsAhead: 30_000, BytesAhead: 1 << 30}
	DefaultScopeLimits   = Limits{DraftCalls: 100_000, DraftTokens: 100_000_000, RequestsAhead: 300_000, BytesAhead: 10 << 30}
	DefaultCacheLimits   = Limits{DraftCalls: 10_000_000, DraftTokens: 10_000_000_000, RequestsAhead: 30_000_000, BytesAhead: 1000 << 30}
)

func (l Limits) withDefaults(name string, d Limits) (Limits, error) {
	for _, f := range []struct {
		name  string
		field *int64
		value int64
	}{
		{"DraftCalls", &l.DraftCalls, d.DraftCalls},
		{"DraftTokens", &l.DraftTokens, d.DraftTokens},
		{"RequestsAhead", &l.RequestsAhead, d.RequestsAhead},
		{"BytesAhead", &l.BytesAhead, d.BytesAhead},
	} {
		if err := setDefault(name+"."+f.name, f.field, f.value); err != nil {
			return l, err
		}
	}
	return l, nil
}

// resource is what Limits limit.
type resource int

const (
	draftCalls resource = iota
	draftTokens
	requestsAhead
	bytesAhead
	shadowRuns // requests that Shadow mode does not make; limited as those are
	resources
)

var resourceNames = [resources]string{"DraftCalls", "DraftTokens", "RequestsAhead", "BytesAhead", "RequestsAhead"}

func (l *Limits) all() [resources]int64 {
	return [...]int64{
		draftCalls:    l.DraftCalls,
		draftTokens:   l.DraftTokens,
		requestsAhead: l.RequestsAhead,
		bytesAhead:    l.BytesAhead,
		shadowRuns:    l.RequestsAhead,
	}
}

// maxUsed is what a counter says that would overflow.
const maxUsed = math.MaxInt64 / 2

// reached says that a limit is, the first time aloud. A nil limit is not.
func (s *Session[O]) reached(l *limitReached) bool {
	if l == nil {
		return false
	}
	s.count(cLimited, 1)
	name := resourceNames[l.resource]
	text := fmt.Sprintf("the %s has reached its limit, %d %s", l.owner, l.most[l.resource], name)
	s.note(func(t *trouble) { t.limit = fmt.Sprintf("%s (Config.%sLimits.%s)", text, title(l.owner), name) })
	if l.first {
		s.emit(Event{Kind: EventLimit, Limit: title(l.owner) + "Limits." + name, Err: text})
		s.warn("limit reached: guessing ends", text)
	}
	return true
}

func title(owner string) string { return strings.ToUpper(owner[:1]) + owner[1:] }
