package main

// stateMutants break what may be served: state, model version, age, scope.
var stateMutants = []mutant{
	{
		name: "a result is published although the state has moved", file: "speccache/flight.go",
		edits: []edit{{"!f.stamp.quiet() || f.stamp != f.scope.stamp()", "!f.stamp.quiet()"}},
		tests: "ALateResultOfAnOlderState",
	},
	{
		name: "an entry is served although the state has moved", file: "speccache/store.go",
		edits: []edit{{"case e.scope.stamp() != e.stamp:", "case false:"}},
		tests: "AWriteHidesWhatWasReadBefore",
	},
	{
		name: "a joiner does not look again when it wakes", file: "speccache/flight.go",
		edits: []edit{{"f.entry != nil && s.accept(f.key.version, f.session.id) && f.entry.why(s.c.now()) == \"\"", "f.entry != nil"}},
		tests: "AJoinerLooksAgainWhenItWakes",
	},
	{
		name: "a run of an older state is joined", file: "speccache/flight.go",
		edits: []edit{{"f.stamp == f.scope.stamp() && f.interest", "f.interest"}},
		tests: "AReadThatStartedBeforeAWrite",
	},
	{
		name: "the stamp is taken at the end of a run", file: "speccache/flight.go",
		edits: []edit{{"f.err = errAborted // if", "f.stamp = f.scope.stamp()\n\tf.err = errAborted // if"}},
		tests: "ALateResultOfAnOlderState",
	},
	{
		name: "no advance before a write", file: "speccache/version.go",
		edits: []edit{
			{"sc.word.Add(1<<writerBits + 1)", "_ = sc.word.Load()"},
			{"sc.word.Add(1<<writerBits - 1)", "sc.word.Add(1 << writerBits)"},
		},
		tests: "WhileAWriteGoesOn|AReadThatStarts",
	},
	{
		name: "no advance after a write", file: "speccache/version.go",
		edits: []edit{
			{"sc.word.Add(1<<writerBits + 1)", "sc.word.Add(1 << writerBits)"},
			{"sc.word.Add(1<<writerBits - 1)", "_ = sc.word.Load()"},
		},
		tests: "AReadThatStartsInsideAWrite",
	},
	{
		name: "a write that fails hides nothing", file: "speccache/run.go",
		edits: []edit{{
			"defer s.endWrite(w)\n\treturn s.pass(ctx, k, r, rule)",
			"err := s.pass(ctx, k, r, rule)\n\tif err != nil {\n\t\tw.each(func(sc *scope) { sc.word.Add(^uint64(1 << writerBits)) })\n\t\treturn err\n\t}\n\ts.endWrite(w)\n\treturn nil",
		}},
		tests: "AWriteThatFailsPanicsOrExits",
	},
	{
		name: "a write that panics never ends", file: "speccache/run.go",
		edits: []edit{{
			"defer s.endWrite(w)\n\treturn s.pass(ctx, k, r, rule)",
			"err := s.pass(ctx, k, r, rule)\n\ts.endWrite(w)\n\treturn err",
		}},
		tests: "AWriteThatFailsPanicsOrExits",
	},
	{
		name: "the end of a write leaves it among the writers", file: "speccache/version.go",
		edits: []edit{{"sc.word.Add(1<<writerBits - 1)", "sc.word.Add(1 << writerBits)"}},
		tests: "AWriteThatFailsPanicsOrExits",
	},
	{
		name: "a read that starts inside a write is served", file: "speccache/version.go",
		edits: []edit{{"return s&writerMask == 0", "return true"}},
		tests: "WhileAWriteGoesOn",
	},
	{
		name: "a read that starts inside a write is published", file: "speccache/flight.go",
		edits: []edit{{"!f.stamp.quiet() || f.stamp", "f.stamp"}},
		tests: "WhileAWriteGoesOn",
	},
	{
		name: "a write does not cancel what runs ahead", file: "speccache/run.go",
		edits: []edit{{"s.c.killAhead(func(f *flight[O]) bool { return f.scope == w.own", "s.c.killAhead(func(f *flight[O]) bool { return false && f.scope == w.own"}},
		tests: "AWriteCancelsWhatRunsAhead",
	},
	{
		name: "a write of a closed session moves its old scope only", file: "speccache/run.go",
		edits: []edit{{`if s.scope.name != "" && s.closed.Load() {`, "if false {"}},
		tests: "AWriteOfAClosedSession",
	},
	{
		name: "an undeclared action hides nothing", file: "speccache/run.go",
		edits: []edit{{"case actions.Local:\n\t\treturn s.pass(ctx, k, r, rule)", "case actions.Local, actions.Unknown:\n\t\treturn s.pass(ctx, k, r, rule)"}},
		tests: "AWriteHidesWhatWasReadBefore",
	},
	{
		name: "a local action hides what was read", file: "speccache/run.go",
		edits: []edit{
			{"return s.answer(ctx, local, nil, asked)", "return s.answer(ctx, local, s.begin(asked), asked)"},
			{"case actions.Local:\n\t\treturn s.pass(ctx, k, r, rule)", "case actions.Local:"},
		},
		tests: "LocalActionsHideNothing",
	},
	{
		name: "Advance moves nothing", file: "speccache/version.go",
		edits: []edit{{"func (sc *scope) advance() { sc.word.Add(1 << writerBits) }", "func (sc *scope) advance() {}"}},
		tests: "AdvanceHides",
	},
	{
		name: "scopes share an id", file: "speccache/version.go",
		edits: []edit{{"id: s.lastID.Add(1)", "id: s.lastID.Add(1) * 0"}},
		tests: "ScopesDoNotSeeEachOther",
	},
	{
		name: "a public read carries the stamp of its session's scope", file: "speccache/run.go",
		edits: []edit{{"sc := s.scopeOf(rule)\n\tsc.saw", "sc := s.scope\n\tsc.saw"}},
		tests: "APublicRead",
	},
	{
		name: "a public write does not move the public state", file: "speccache/run.go",
		edits: []edit{{"\tif public {\n\t\tw.public = s.c.scopes.public", "\tif false {\n\t\tw.public = s.c.scopes.public"}},
		tests: "APublicRead",
	},
	{
		name: "the model version is no part of the key", file: "speccache/version.go",
		edits: []edit{{"return &versions{current: versionOf(name)}", "return &versions{current: versionOf(name[:0])}"}},
		tests: "VersionedEveryLookup",
	},
	{
		name: "the first statement of a model version hides a session's own entries", file: "speccache/version.go",
		edits: []edit{{"n.first = !v.stated", "n.first = false && !v.stated"}},
		tests: "TheFirstStatement",
	},
	{
		name: "what another session read before it knew its model version is served", file: "speccache/version.go",
		edits: []edit{{"m.name == unsetVersion.name && session == s.id", "m.name == unsetVersion.name"}},
		tests: "AnotherSessionRead",
	},
	{
		name: "what was read without a version is served for ever", file: "speccache/version.go",
		edits: []edit{{"n.first = !v.stated && v.current", "n.first = v.current"}},
		tests: "CountsForTheFirstOneOnly",
	},
	{
		name: "age is not checked", file: "speccache/store.go",
		edits: []edit{{"case now > e.expires:", "case false:"}},
		tests: "AgeCountsFromTheStart",
	},
	{
		name: "age counts from a run's end", file: "speccache/flight.go",
		edits: []edit{{"e.expires = f.started + min", "e.expires = c.now() + min"}},
		tests: "AgeCountsFromTheStart",
	},
	{
		name: "Fresh may lengthen a life beyond the rule's", file: "speccache/flight.go",
		edits: []edit{{"life = min(life, maxAge)", "life = maxAge"}},
		tests: "TheEnvironmentMayShorten",
	},
	{
		name: "the coarse clock never advances", file: "speccache/clock.go",
		edits: []edit{{"c.coarse.Swap(0) > 0", "c.coarse.Load() > 0"}},
		tests: "LookupServesNothingBeyond",
	},
	{
		name: "an older run replaces a newer one", file: "speccache/store.go",
		edits: []edit{{"case old.born > e.born && old.stamp == e.stamp:", "case false:"}},
		tests: "ARunThatStartedEarlier",
	},
	{
		name: "a forgotten scope lives on", file: "speccache/version.go",
		edits: []edit{{"delete(s.named, over.name)", ""}},
		tests: "ForgottenScope",
	},
	{
		name: "what nobody wants is renewed", file: "speccache/refresh.go",
		edits: []edit{{"e.born == next.born && e.wanted.Load() {", "e.born == next.born {"}},
		tests: "AskedForAgain",
	},
	{
		name: "a renewal needs no room", file: "speccache/limiter.go",
		edits: []edit{{"full, reached := l.enter(f, false)\n\tl.leave(full)\n\treturn full.short == room && reached == nil", "l.add(f)\n\treturn true"}},
		tests: "RenewalsKeepToTheLimits",
	},
	{
		name: "whatever is read is renewed", file: "speccache/refresh.go",
		edits: []edit{{"return c.renews && f.rule.Ahead && !f.session.own", "return c.renews"}},
		tests: "GoneOrMayNotRunAhead",
	},
	{
		name: "half an answer renews", file: "speccache/refresh.go",
		edits: []edit{{"err := f.blame(e.err)", "err := e.err"}},
		tests: "ARenewalThatFails",
	},
	{
		name: "each renewal is a new revision", file: "speccache/store.go",
		edits: []edit{{"if e.same {", "if false {"}},
		tests: "WhatIsWantedIsRenewed",
	},
	{
		name: "a run that says so hides nothing", file: "speccache/run.go",
		edits: []edit{{"s.endWrite(s.beginWrite(c.Public))", "_ = c"}},
		tests: "SaysSo",
	},
	{
		name: "a run is not told that its rule is public", file: "speccache/tools.go",
		edits: []edit{{"return t.Public && t.Effect == actions.ReadOnly", "return false"}},
		tests: "KnowsWhether",
	},
}
