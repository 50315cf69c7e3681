package actions

import (
	"fmt"
	"time"
)

// Effect says what an action does to the world.
type Effect uint8

const (
	// Unknown is the effect of every action that no rule names. It may do
	// anything, so it runs exactly as often as the target asks, and what was
	// read before it is not served after it.
	Unknown Effect = iota
	// ReadOnly actions change nothing that another action could notice.
	ReadOnly
	// Write actions change the state that reads of the same scope depend on.
	Write
	// Local actions touch nothing but the agent itself: think, plan, finish.
	// They run as asked and hide nothing.
	Local
)

var effectNames = [...]string{"unknown", "read-only", "write", "local"}

// String returns the effect's name.
func (e Effect) String() string {
	if int(e) < len(effectNames) {
		return effectNames[e]
	}
	return fmt.Sprintf("Effect(%d)", uint8(e))
}

// A Rule is what the host application declares about an action. The zero Rule
// permits nothing.
type Rule struct {
	Effect Effect

	// Ahead permits runs that nobody asked for. It is a claim of its own: the
	// action is ReadOnly, and may run zero, one or two times without harm, and
	// is free or cheap enough to waste. Tools that are metered, or that mark
	// things as read, are ReadOnly at most.
	Ahead bool

	// MaxAge is how long an observation may be served, counted from the start
	// of the run. Zero means DefaultMaxAge.
	MaxAge time.Duration

	// Public observations are the same for everybody and are shared by all
	// scopes. A Public read needs a MaxAge, for no scope's own writes hide it.
	// A Public write hides public observations too. An observation that has a
	// method Private() bool which returns true is not kept for such a rule.
	Public bool
}

// DefaultMaxAge is how long an observation is served where its rule says
// nothing.
const DefaultMaxAge = 5 * time.Minute

// Validate returns an error if the rule contradicts itself.
func (r Rule) Validate() error {
	switch {
	case r.Effect > Local:
		return fmt.Errorf("%v is no effect", r.Effect)
	case r.Ahead && r.Effect != ReadOnly:
		return fmt.Errorf("only read-only actions may run ahead, not %v ones", r.Effect)
	case r.MaxAge < 0:
		return fmt.Errorf("MaxAge is %v: it can't be negative", r.MaxAge)
	case r.Public && r.Effect == ReadOnly && r.MaxAge == 0:
		return fmt.Errorf("a public read needs a MaxAge: no scope's writes hide it")
	}
	return nil
}

// Rules maps action names to what is declared about them. A name that is
// absent is Unknown.
type Rules map[string]Rule

// Reads declares actions as read-only and safe to run ahead, whatever their
// arguments: a guess may choose those. For a tool that takes a URL, set
// Environment.Policy too, which looks at them, and Environment.Host, by which
// limits per host go.
func Reads(names ...string) Rules {
	return declare(Rule{Effect: ReadOnly, Ahead: true}, names)
}

// Writes declares actions that change what reads of their scope depend on.
// The effect is that of an undeclared action, but said on purpose.
func Writes(names ...string) Rules {
	return declare(Rule{Effect: Write}, names)
}

// Locals declares actions that touch nothing but the agent itself.
func Locals(names ...string) Rules {
	return declare(Rule{Effect: Local}, names)
}

func declare(r Rule, names []string) Rules {
	rules := make(Rules, len(names))
	for _, name := range names {
		rules[name] = r
	}
	return rules
}
