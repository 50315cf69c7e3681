// Package speccache runs a web agent's next actions ahead while its target
// model thinks, and serves them when the target asks.
//
// An agent alternates between a slow target model and a slow web. SpecCache
// uses the time in which the target thinks: a predictor guesses the next
// actions, they run at once, and the agent's executor looks here before it
// does real work.
//
//	cache, err := speccache.New(fetcher.Environment(), speccache.Config[*web.Page]{
//		Predictor: draft.Lexical((*web.Page).View),
//	})
//	defer cache.Close()
//	session := cache.Open(speccache.SessionConfig[*web.Page]{Goal: question})
//	defer session.Close()
//
//	page, err := session.Do(ctx, action) // was: fetcher.Do(ctx, action)
//
// What happens in a step:
//
//	agent                 Session                      draft            web, tools
//	  | Do(action k)         |                            |                  |
//	  |--------------------->| lookup: hit | join | miss --- miss only ----->|
//	  |<---------------------| observation                |                  |
//	  | target thinks        |-- predict ---------------->|                  |
//	  |                      |<-- first guess ------------|                  |
//	  |                      |== run it ahead ==============================>|
//	  | Do(action k+1)       | hit:  it has finished ahead                   |
//	  |                      | join: it is still running; wait for the rest  |
//	  |                      | miss: run it now                              |
//
// # Promises
//
// Lossless: Do returns what the executor would have returned for exactly this
// action, in this scope, at some moment between the run's start and now.
// Errors, panics and cancellations of runs ahead never reach the target.
//
// Immutable: an entry is written once. A newer observation of the same action
// is a new entry with the next revision.
//
// Versioned: every lookup compares the entry's model version with the
// session's, its stamp with its scope's state, and its age with its MaxAge. A
// run that was started before a write is not served after it.
//
// Default deny: only actions whose rule says ReadOnly and Ahead run ahead.
// Undeclared and writing actions run exactly as often as the target asks.
//
// A write hides what came before it and what overlaps it, in its scope.
//
// Never slower: the target's own runs need no permit, wait for no guess that
// has not started, and for a running one no longer than the action usually
// takes. At a host that queues its requests, guesses leave a place free for the
// target as soon as that is known (Hosts).
//
// Nothing finished is lost before the target's next step could read it, unless
// the byte budget says so; then it is counted.
//
// Bounded: runs, bytes, time and guesses have limits, and zero values mean
// the defaults, never "unlimited".
//
// Scopes do not see each other, and an empty scope is private to its session. As
// long as the shares of the scopes that keep something fit into the cache
// (Config.MaxScopeBytes), and no more than two use up their runs ahead
// (Config.MaxAhead), none has an effect on what another one finds. Where they do
// not fit, scopes compete: what is popular in one may push out what is not in
// another. At a host that several ask they take turns (Config.MaxAheadHost), for
// it is the host that bears no more: how soon guesses run there depends on all.
//
// Nothing outlives Close.
//
// # When nothing hits
//
// Session.Explain says why in words, Stats in numbers, Config.OnEvent as it
// happens.
//
// # Concurrency
//
// All methods of Cache and Session may be called concurrently. Calls of Do
// that overlap are parallel tool calls: one step, recorded in call order; RunAll
// makes them overlap also where a hit takes no time. The
// predictor and the functions of the environment are called concurrently and
// never under a lock. Work ahead has the values of the context of the Do that
// it follows, and an end of its own.
package speccache
