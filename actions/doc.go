// Package actions holds the nouns of SpecCache: what an agent does, what is
// known about doing it, and what has been done so far.
//
// An [Action] is a name with JSON arguments, the form in which every agent
// framework hands over a tool call:
//
//	a, err := actions.New("search", map[string]any{"query": "ristretto", "page": 2})
//	b, err := actions.Parse("search", `{"page": 2.0, "query": "ristretto"}`)
//	a == b // true: arguments are kept in one canonical form
//
// An [Environment] says how actions are run and which of them may run before
// anybody asked. That permission is never inferred: an action whose name has
// no [Rule] is [Unknown], and runs exactly as often as the target asks.
//
//	env := actions.Environment[string]{
//		Do:    runTool,                         // your executor
//		Rules: actions.Reads("search", "open"), // read-only and safe to waste
//	}
//
// A [Predictor] guesses the next actions from a [State], the goal and the
// steps so far. Package draft has ready ones; a func of your own will do.
//
// # Concurrency
//
// Action, Step, State and View are values that nothing changes once they are
// made, and may be shared. Functions that an Environment or a Predictor
// consists of are called from several goroutines at once.
package actions
