package main

// flightMutants break runs: who shares them, and what of them is kept.
var flightMutants = []mutant{
	{
		name: "an error is shared with joiners", file: "speccache/run.go",
		edits: []edit{{"return s.usable(f) && s.serveJoin(k, r, f.entry), nil", "if f.err != nil {\n\t\treturn false, f.err\n\t}\n\treturn s.usable(f) && s.serveJoin(k, r, f.entry), nil"}},
		tests: "AJoinedRunThatFails",
	},
	{
		name: "errors are cached", file: "speccache/flight.go",
		edits: []edit{{"if err == nil {\n\t\tf.rule.latency.observe", "if err = nil; err == nil {\n\t\tf.rule.latency.observe"}},
		tests: "TheTargetsOwnErrorIsReturned",
	},
	{
		name: "the claim ends before the result is published", file: "speccache/flight.go",
		edits: []edit{{"f.err = errAborted // if", "c.store.flights.release(f)\n\tf.err = errAborted // if"}},
		tests: "OneRunPerKeyAlsoWhile",
	},
	{
		name: "the claim of a run that has ended stays", file: "speccache/flight.go",
		edits: []edit{{"c.store.flights.release(f)\n\tf.done.set()", "f.done.set()"}},
		tests: "TheTargetsOwnPanicAndGoexit|FailedRunAhead|AFailedRunHoldsNothing",
	},
	{
		name: "a run whose context had ended is published", file: "speccache/flight.go",
		edits: []edit{{"if err == nil && ctx.Err() != nil {", "if false {"}},
		tests: "HalfResult",
	},
	{
		name: "what may not be kept is published", file: "speccache/flight.go",
		edits: []edit{{"e == nil || e.unkept ||", "e == nil ||"}},
		tests: "WhatMayNotBeKept",
	},
	{
		name: "a panic of Fresh, Clone or Size escapes", file: "speccache/flight.go",
		edits: []edit{{"if r := recover(); r != nil {\n\t\t\te, err = nil, fmt.Errorf", "if r := any(nil); r != nil {\n\t\t\te, err = nil, fmt.Errorf"}},
		tests: "AnEnvironmentThatPanics",
	},
	{
		name: "two claims of one key both run", file: "speccache/store.go",
		edits: []edit{{"if old != nil && old.joinable() {\n\t\treturn nil, old\n\t}", ""}},
		tests: "TwoQueuedGuesses",
	},
	{
		name: "the cache is not checked again when a claim is made", file: "speccache/store.go",
		edits: []edit{{"e != nil && e.why(now) == \"\" {\n\t\treturn e, nil\n\t}\n\tif shard", "e != nil && false {\n\t\treturn e, nil\n\t}\n\tif shard"}},
		tests: "TwoQueuedGuesses",
	},
	{
		name: "a run that was given up is joined", file: "speccache/flight.go",
		edits: []edit{
			{"f.scope.stamp() && f.interest.Load() != givenUp", "f.scope.stamp()"},
			{"|| f.interest.Load() == joined", "|| f.interest.Load() != unjoined"},
		},
		tests: "ARunThatWasGivenUp",
	},
	{
		name: "a joined run is given up for a newer guess", file: "speccache/flight.go",
		edits: []edit{{"if !f.interest.CompareAndSwap(unjoined, givenUp) {", "if f.interest.Swap(givenUp) == givenUp {"}},
		tests: "AJoinedGuessIsNotGivenUp",
	},
	{
		name: "a join waits as long as the run takes", file: "speccache/flight.go",
		edits: []edit{{"if !known {\n\t\treturn time.Second\n\t}\n\treturn max(0, p95-(c.now()-f.started))", "return max(time.Hour, p95)\n"}, {"p95, known :=", "p95, _ :="}},
		tests: "AJoinWaits",
	},
	{
		name: "a join does not count the time that the run has had", file: "speccache/flight.go",
		edits: []edit{{"return max(0, p95-(c.now()-f.started))", "return p95"}},
		tests: "AJoinWaitsNoLonger",
	},
	{
		name: "a run that has ended early is waited for", file: "speccache/flight.go",
		edits: []edit{{"case <-f.ended():", "case <-(chan struct{})(nil):"}},
		tests: "AGuessThatIsCancelledIsNotWaitedFor",
	},
	{
		name: "a failure beside a slow run waits for the run", file: "speccache/flight.go",
		edits: []edit{{"case e := <-ended:\n\t\treturn &e\n\tcase <-f.done.wait():\n\t}", "case <-f.done.wait():\n\t}"}},
		tests: "AFailureBesideASlowRun|FirstSuccessWins",
	},
	{
		name: "the run beside a join goes on after the guess has won", file: "speccache/flight.go",
		edits: []edit{{"ctx, cancel := context.WithCancel(ctx)\n\tdefer cancel()\n\tended", "ctx, cancel := context.WithCancel(ctx)\n\t_ = cancel\n\tended"}},
		tests: "TheLosingRunIsCancelled",
	},
	{
		name: "a leaving joiner's cause is lost", file: "speccache/flight.go",
		edits: []edit{{"if cause == err {", "if true {"}},
		tests: "ALeavingJoiner",
	},
	{
		name: "an ended context is served from the cache", file: "speccache/run.go",
		edits: []edit{{"case ctx.Err() != nil: // what", "case false: // what"}},
		tests: "AnEndedContextGoesToTheExecutor",
	},
	{
		name: "Clone is not applied to what is served", file: "speccache/run.go",
		edits: []edit{{"*dst = c.env.Clone(kept)", "*dst = kept"}},
		tests: "NoCallerCanChange",
	},
	{
		name: "Clone is not applied to what is kept", file: "speccache/flight.go",
		edits: []edit{{"e.observation = c.env.Clone(o)", "e.observation = o"}},
		tests: "NoCallerCanChange",
	},
	{
		name: "an undeclared action is looked up", file: "speccache/run.go",
		edits: []edit{{"case actions.ReadOnly:\n\t\treturn s.read", "case actions.ReadOnly, actions.Unknown:\n\t\treturn s.read"}},
		tests: "TheFirstUndeclaredAction|UndeclaredActionsAreNever",
	},
	{
		name: "a write is looked up", file: "speccache/run.go",
		edits: []edit{{"case actions.ReadOnly:\n\t\treturn s.read", "case actions.ReadOnly, actions.Write:\n\t\treturn s.read"}},
		tests: "AWriteOfAClosedSession",
	},
}
