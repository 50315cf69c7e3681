package main

// aheadMutants break guesses: which run, when, and what they may cost.
var aheadMutants = []mutant{
	{
		name: "a write runs ahead", file: "speccache/ahead.go",
		edits: []edit{{"if rule.Effect != actions.ReadOnly || !rule.Ahead {", "if rule.Effect != actions.Write && !rule.Ahead {"}},
		tests: "OnlyWhatIsDeclared",
	},
	{
		name: "a read that may not run ahead does", file: "speccache/ahead.go",
		edits: []edit{{"if rule.Effect != actions.ReadOnly || !rule.Ahead {", "if rule.Effect != actions.ReadOnly {"}},
		tests: "OnlyWhatIsDeclared",
	},
	{
		name: "an undeclared action gets the rule of another", file: "speccache/tools.go",
		edits: []edit{{"\treturn undeclared\n", "\tfor _, tool := range t {\n\t\treturn tool\n\t}\n\treturn undeclared\n"}},
		tests: "Undeclared",
	},
	{
		name: "the policy is not asked", file: "speccache/ahead.go",
		edits: []edit{{"if s.c.env.Policy != nil {", "if false {"}},
		tests: "ThePolicyNarrows",
	},
	{
		name: "a guess is registered before it has a permit", file: "speccache/ahead.go",
		edits: []edit{
			{"short, limit := s.c.limiter.start(&d.ctx, f, wait)\n", "if d.known(s.claim(f)) {\n\t\treturn false, false\n\t}\n\tshort, limit := s.c.limiter.start(&d.ctx, f, wait)\n\tif short != room || limit != nil {\n\t\ts.c.store.flights.release(f)\n\t}\n"},
			{"\tif d.known(s.claim(f)) {\n\t\ts.c.limiter", "\tif false {\n\t\ts.c.limiter"},
		},
		tests: "TwoQueuedGuesses",
	},
	{
		name: "the stamp is taken before a guess waits for its permit", file: "speccache/ahead.go",
		edits: []edit{{"f.stamp = f.scope.stamp() // it may have had to wait", ""}},
		tests: "AGuessThatHadToWait",
	},
	{
		name: "guesses start while a write goes on", file: "speccache/ahead.go",
		edits: []edit{{"if !f.stamp.quiet() || d.ctx.Err() != nil {", "if d.ctx.Err() != nil {"}},
		tests: "WhileAWriteGoesOn",
	},
	{
		name: "a permit is lost when a run panics", file: "speccache/ahead.go",
		edits: []edit{{"defer c.landed(f)\n\tif *over {\n\t\treturn\n\t}", "if *over {\n\t\tc.landed(f)\n\t\treturn\n\t}"}},
		tests: "AFailedRunHoldsNothing",
	},
	{
		name: "a permit is lost when a run is given up", file: "speccache/ahead.go",
		edits: []edit{{"c.limiter.end(f, f.bytes())", "if f.interest.Load() != givenUp {\n\t\tc.limiter.end(f, f.bytes())\n\t}"}},
		tests: "ANewerGuessTakesThePermit",
	},
	{
		name: "a permit is free before the run that was given up has ended", file: "speccache/limiter.go",
		edits: []edit{
			{"old.giveUp() {\n\t\t\treturn old", "old.giveUp() {\n\t\t\tl.remove(old, false)\n\t\t\treturn old"},
			{"bytes-f.received))\n\tl.remove(f, f.entry != nil)", "bytes-f.received))\n\tif slices.Contains(l.list, f) {\n\t\tl.remove(f, false)\n\t}"},
		},
		tests: "APermitIsFreeOnlyWhen",
	},
	{
		name: "a guess that is known takes a permit with it", file: "speccache/ahead.go",
		edits: []edit{{"if d.known(s.claim(f)) {\n\t\ts.c.limiter.cancel(f)", "if d.known(s.claim(f)) {"}},
		tests: "TwoQueuedGuesses",
	},
	{
		name: "a newer guess never takes an older one's permit", file: "speccache/limiter.go",
		edits: []edit{{"old.guess.step < f.guess.step &&", "false &&"}},
		tests: "ANewerGuessTakesThePermit",
	},
	{
		name: "guesses of one step take each other's permits", file: "speccache/limiter.go",
		edits: []edit{{"old.guess.step < f.guess.step &&", "old.guess.step <= f.guess.step &&"}},
		tests: "GuessesOfOneStep",
	},
	{
		name: "a session's guess takes another session's permit", file: "speccache/limiter.go",
		edits: []edit{{"old.session == f.session && old.guess", "old.guess"}},
		tests: "AnotherSessionsRuns",
	},
	{
		name: "one scope may have all permits", file: "speccache/limiter.go",
		edits: []edit{{"max(cfg.MaxAheadSession, (cfg.MaxAhead+1)/2)", "cfg.MaxAhead"}},
		tests: "ScopesDoNotStarve",
	},
	{
		name: "runs at one host are not bounded", file: "speccache/hosts.go",
		edits: []edit{{"return at.ahead < most && (", "return ("}},
		tests: "RunsAtOneHost",
	},
	{
		name: "limits are not enforced", file: "speccache/limiter.go",
		edits: []edit{{"a.used[r] > l.limits[i].most[r]-max(n, 1) {", "a.used[r] > l.limits[i].most[r]-max(n, 1) && false {"}},
		tests: "ALimitThatIsReached",
	},
	{
		name: "what one session uses does not count for its scope", file: "speccache/limiter.go",
		edits: []edit{{"return [...]*account{&s.account, &s.scope.account, &l.cache}", "return [...]*account{&s.account, new(account), &l.cache}"}},
		tests: "WhatOneSessionUses",
	},
	{
		name: "bytes that came ahead are not counted", file: "speccache/limiter.go",
		edits: []edit{{"l.spend(f.session, bytesAhead, bytes)", "_ = bytes"}},
		tests: "BytesAhead",
	},
	{
		name: "a run ahead is not ended when its time is over", file: "speccache/limiter.go",
		edits: []edit{{"f.kill(errTooSlow)", "_ = errTooSlow"}},
		tests: "AGuessThatIsCancelledIsNotWaitedFor",
	},
	{
		name: "more than the top N run", file: "speccache/step.go",
		edits: []edit{{"&& d.rank < d.topN", ""}},
		tests: "TheTopThree",
	},
	{
		name: "the same guess takes two places", file: "speccache/ahead.go",
		edits: []edit{{"if slices.Contains(d.seen, a) {", "if slices.Contains(d.seen, a) && false {"}},
		tests: "TheTopThree",
	},
	{
		name: "a guess that failed takes a place at every step", file: "speccache/ahead.go",
		edits: []edit{{"if !s.failed.Load() {", "if true {"}},
		tests: "AGuessThatFailed",
	},
	{
		name: "a guess that failed in another state is left out", file: "speccache/ahead.go",
		edits: []edit{{"ok && f.stamp == sc.stamp() && s.since", "ok && s.since"}},
		tests: "AGuessThatFailed",
	},
	{
		name: "a panic of the predictor escapes", file: "speccache/step.go",
		edits: []edit{{"if r := recover(); r != nil {\n\t\t\terr = fmt.Errorf(\"%w: %s\", errPredictor", "if r := any(nil); r != nil {\n\t\t\terr = fmt.Errorf(\"%w: %s\", errPredictor"}},
		tests: "APredictorGoneMad",
	},
	{
		name: "a predictor may talk for ever", file: "speccache/step.go",
		edits: []edit{{"return d.yields < guessesPerN*d.topN", "return d.yields > 0"}},
		tests: "APredictorThatDoesNotStop",
	},
	{
		name: "deaf predictors pile up", file: "speccache/step.go",
		edits: []edit{{"busy := s.asking >= maxAsking", "busy := s.asking < 0"}},
		tests: "PredictorsThatIgnoreTheirEnd",
	},
	{
		name: "a draft that had to wait is forgotten", file: "speccache/step.go",
		edits: []edit{{"if waiting != nil {\n\t\ts.startDraft(waiting)", "if false {\n\t\ts.startDraft(waiting)"}},
		tests: "ADraftThatHadToWait",
	},
	{
		name: "a panic of a tool that runs ahead escapes", file: "speccache/ahead.go",
		edits: []edit{{"if r := recover(); r != nil {\n\t\terr = fmt.Errorf(\"%w: %s\", errAborted", "if r := any(nil); r != nil {\n\t\terr = fmt.Errorf(\"%w: %s\", errAborted"}},
		tests: "AFailedRunAheadNeverReaches",
	},
	{
		name: "a Goexit of a tool that runs ahead leaves its flight open", file: "speccache/ahead.go",
		edits: []edit{{"err = fmt.Errorf(\"%w: %s\", errAborted, textOf(r))\n\t}", "err = fmt.Errorf(\"%w: %s\", errAborted, textOf(r))\n\t} else {\n\t\treturn\n\t}"}},
		tests: "AFailedRunHoldsNothing",
	},
	{
		name: "the caller's end is the end of what runs ahead", file: "speccache/step.go",
		edits: []edit{{"context.WithoutCancel(ctx)", "ctx"}},
		tests: "WorkAheadHasTheCallersValues|DerivedFromTheContext",
	},
	{
		name: "what runs ahead does not know that it does", file: "speccache/step.go",
		edits: []edit{{"s.tagged(d.caller, true, false)", "s.tagged(d.caller, false, false)"}},
		tests: "WorkAheadHasTheCallersValues|DerivedFromTheContext",
	},
}
