package main

// hostMutants break what keeps runs ahead out of the target's way at its hosts.
var hostMutants = []mutant{
	{
		name: "an answer that overtakes shows nothing", file: "speccache/load.go",
		edits: []edit{{"case max(l.older(which, all), l.together(now)) >= l.shown:", "case false:"}},
		tests: "AnOriginIsKnown",
	},
	{
		name: "answers that come at once show nothing", file: "speccache/load.go",
		edits: []edit{{"max(l.older(which, all), l.together(now)) >= l.shown", "l.older(which, all) >= l.shown"}},
		tests: "AnOriginIsKnown",
	},
	{
		name: "no host is taken to queue", file: "speccache/load.go",
		edits: []edit{{"return l.doubt >= enoughDoubt\n", "return false\n"}},
		tests: "OriginThatQueues|AnOriginIsKnown",
	},
	{
		name: "a host is taken to queue for ever", file: "speccache/load.go",
		edits: []edit{{"if now.Sub(l.since) >= memory {", "if false {"}},
		tests: "LearnedAnewLater",
	},
	{
		name: "any guess takes a host's last place", file: "speccache/load.go",
		edits: []edit{{"case free < 1, !first:", "case free < 1:"}},
		tests: "LearnedAnewLater|OriginThatQueues",
	},
	{
		name: "the last place is given away although that does not pay", file: "speccache/load.go",
		edits: []edit{{"return l.hidden >= l.delayed || l.untried >= tryAgain", "return true"}},
		tests: "LastPlace",
	},
	{
		name: "the last place is never tried again", file: "speccache/load.go",
		edits: []edit{{"return l.hidden >= l.delayed || l.untried >= tryAgain", "return l.hidden >= l.delayed"}},
		tests: "LastPlace",
	},
	{
		name: "runs ahead start at one moment", file: "speccache/hosts.go",
		edits: []edit{{"case after > 0:", "case false:"}},
		tests: "AnOriginIsKnown|OriginThatQueues",
	},
	{
		name: "a delayed target is not counted", file: "speccache/hosts.go",
		edits: []edit{{"at.load.delayed += now.Sub(other.began)", ""}},
		tests: "LastPlace",
	},
	{
		name: "a scope's rate has no end", file: "speccache/limiter.go",
		edits: []edit{{"after := tokens.after(now); after > 0", "after := tokens.after(now); after > 0 && false"}},
		tests: "NoMoreThanItsRate",
	},
	{
		name: "the target's own runs leave the rate to guesses", file: "speccache/limiter.go",
		edits: []edit{{"	s.scope.rates.of(host, l.rate, now).owe(now)\n", "	_ = now\n"}},
		tests: "NoMoreThanItsRate",
	},
	{
		name: "a guess that waits for its host holds up the others", file: "speccache/room.go",
		edits: []edit{{"if !wait && (full.at != nil || full.after > maxApart) {", "if false {"}},
		tests: "KeepsNoOtherWaiting",
	},
	{
		name: "a guess whose rate is used up holds up the others", file: "speccache/room.go",
		edits: []edit{{"(full.at != nil || full.after > maxApart)", "full.at != nil"}},
		tests: "RateIsUsedUpKeepsNoOther",
	},
	{
		name: "who came last has its turn first", file: "speccache/turns.go",
		edits: []edit{{"e := t.waiting.Front(); e != nil; e = e.Next()", "e := t.waiting.Back(); e != nil; e = e.Prev()"}},
		tests: "InTheOrderInWhichTheyCame",
	},
	{
		name: "who can't take its turn keeps it", file: "speccache/turns.go",
		edits: []edit{{"		t.call(now)\n		return\n", "		return\n"}},
		tests: "PassesItOn",
	},
	{
		name: "a place at a host comes back to nobody", file: "speccache/hosts.go",
		edits: []edit{{"	at.turns.call(now)\n", ""}},
		tests: "InTheOrderInWhichTheyCame|TakeTurnsAtAHost",
	},
	{
		name: "a permit comes back to nobody", file: "speccache/limiter.go",
		edits: []edit{{"	l.turns.call(time.Now())\n", ""}},
		tests: "InTheOrderInWhichTheyCame|PermitIsFreeOnly",
	},
	{
		name: "who asks many hosts has a rate anew", file: "speccache/rates.go",
		edits: []edit{{"		host = theRest\n", "		clear(*r)\n"}},
		tests: "WhoAsksManyHosts",
	},
	{
		name: "a guess that waits is dropped when the predictor returns", file: "speccache/step.go",
		edits: []edit{{"if !d.later {\n\t\td.ctx.end(errActed)", "if true {\n\t\td.ctx.end(errActed)"}},
		tests: "KeepsNoOtherWaiting",
	},
	{
		name: "drafts of guesses that have waited stay for ever", file: "speccache/step.go",
		edits: []edit{{"defer d.s.mu.Unlock()\n\td.retire()", "defer d.s.mu.Unlock()"}},
		tests: "HasWaitedLeavesNoDraft",
	},
	{
		name: "bytes count when a run has ended only", file: "speccache/flight.go",
		edits: []edit{{"f.session.c.limiter.receive(f, int64(max(0, bytes)))", ""}},
		tests: "BytesAheadCountAsTheyArrive",
	},
	{
		name: "bytes that have arrived count again in the end", file: "speccache/limiter.go",
		edits: []edit{{"max(0, bytes-f.received)", "bytes"}},
		tests: "DoNotCountTwice",
	},
	{
		name: "a run that a target waits for is cut for its bytes", file: "speccache/limiter.go",
		edits: []edit{{"\t\t\tf.giveUp()\n\t\t}\n\t}\n}\n\n// end takes", "\t\t\tf.kill(errGivenUp)\n\t\t}\n\t}\n}\n\n// end takes"}},
		tests: "IsNotCutForItsBytes",
	},
}
