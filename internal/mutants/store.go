package main

// storeMutants break what is kept: index, window, the region of ristretto.
var storeMutants = []mutant{
	{
		name: "a hash alone decides", file: "speccache/store.go",
		edits: []edit{{"e != nil && e.key.action == a && e.key.scope == scope && e.key.version.name == v.name", "e != nil"}},
		tests: "Collision",
	},
	{
		name: "an entry whose hash collides replaces the other one", file: "speccache/store.go",
		edits: []edit{{"case old.key != e.key:", "case false:"}},
		tests: "Collision",
	},
	{
		name: "a run whose hash collides is joined", file: "speccache/store.go",
		edits: []edit{{"if old != nil && old.key != f.key {\n\t\treturn nil, nil // f is not shared\n\t}", ""}},
		tests: "Collision",
	},
	{
		name: "a run is found by its hash alone", file: "speccache/flights.go",
		edits: []edit{{"f != nil && f.key == *k", "f != nil"}},
		tests: "Collision",
	},
	{
		name: "what leaves takes along what has replaced it", file: "speccache/store.go",
		edits: []edit{{"if old != e {", "if old == nil {"}},
		tests: "WhatLeavesTakesNothingElse|TheStoreIsConsistent",
	},
	{
		name: "an oversize observation is kept", file: "speccache/store.go",
		edits: []edit{{"if e.size > s.largest() {", "if false {"}},
		tests: "LargerThanTheWindow|AnOversizeResult",
	},
	{
		name: "an empty observation costs nothing", file: "speccache/flight.go",
		edits: []edit{{"+ int64(len(f.key.action.Args())) + entryCost", ""}},
		tests: "AnEmptyObservation",
	},
	{
		name: "what has left the window is still counted", file: "speccache/window.go",
		edits: []edit{{"\te.at = nowhere\n\tw.bytes -= e.size", "\te.at = nowhere\n\tw.bytes -= e.size / 2"}},
		tests: "StaysWithinItsBytes|AReplacedEntry",
	},
	{
		name: "a replaced entry stays in the window", file: "speccache/window.go",
		edits: []edit{{"\tif old != nil {\n\t\tw.unlink(old)\n\t}\n", ""}},
		tests: "AReplacedEntry",
	},
	{
		name: "unread guesses leave the window first", file: "speccache/window.go",
		edits: []edit{{"if !e.awaited() {", "if true {"}},
		tests: "PlainRistrettoLosesMost",
	},
	{
		name: "guesses of steps that are over stay in the window", file: "speccache/window.go",
		edits: []edit{{"return e.reading.open() && e.guess.expected()", "return e.reading.open()"}},
		tests: "GuessesWhoseTimeHasPassedMakeRoom",
	},
	{
		name: "a guess that was read is still held back", file: "speccache/window.go",
		edits: []edit{{"return e.reading.open() && e.guess.expected()", "return e.guess != nil && e.guess.expected()"}},
		tests: "AGuessThatWasRead",
	},
	{
		name: "reading keeps nothing in the window", file: "speccache/window.go",
		edits: []edit{{"!marked && !firstRead {", "!marked || !firstRead {"}},
		tests: "WhatIsReadStays",
	},
	{
		name: "the window has no bound", file: "speccache/window.go",
		edits: []edit{{"if w.bytes > w.max {\n\t\tif e :=", "if w.bytes > 4*w.max {\n\t\tif e :="}},
		tests: "StaysWithinItsBytes",
	},
	{
		name: "what ristretto rejects stays in the index", file: "speccache/region.go",
		edits: []edit{
			{"OnReject:               func(i *ristretto.Item[*entry[O]]) { s.drop(i.Value, dropRejected) },", ""},
			{"OnExit:                 func(e *entry[O]) { s.drop(e, dropCollided) },", ""},
		},
		tests: "PlainRistrettoLosesMost",
	},
	{
		name: "what ristretto evicts stays in the index", file: "speccache/region.go",
		edits: []edit{
			{"OnEvict:                func(i *ristretto.Item[*entry[O]]) { s.drop(i.Value, dropEvicted) },", ""},
			{"OnExit:                 func(e *entry[O]) { s.drop(e, dropCollided) },", ""},
		},
		tests: "StaysWithinItsBytes",
	},
	{
		name: "an eviction without a value crashes", file: "speccache/store.go",
		edits: []edit{{"if e == nil { // ristretto", "if false { // ristretto"}},
		tests: "WhatWasReplaced|NothingOldIsServed|BigObservations",
	},
	{
		name: "the cost of an entry is one", file: "speccache/region.go",
		edits: []edit{{"r.cache.Set(e.key.hash(), e, e.size)", "r.cache.Set(e.key.hash(), e, 1)"}},
		tests: "StaysWithinItsBytes",
	},
	{
		name: "ristretto adds a cost of its own", file: "speccache/region.go",
		edits: []edit{{"IgnoreInternalCost: true,", "IgnoreInternalCost: false,"}},
		tests: "AnEmptyObservation",
	},
	{
		name: "ristretto is not told what is read", file: "speccache/region.go",
		edits: []edit{{"hash != 0 {\n\t\t\t\tr.cache.Get(hash)", "hash != 0 {\n\t\t\t\t_ = hash"}},
		tests: "WhatIsReadOftenStays",
	},
	{
		name: "a closed scope's observations stay", file: "speccache/store.go",
		edits: []edit{{"if s.window.forget(scope) {", "if false {"}},
		tests: "ClosedPrivateScope",
	},
	{
		name: "a replaced entry stays in ristretto", file: "speccache/region.go",
		edits: []edit{{"ok && held == e {", "ok && held == e && false {"}},
		tests: "WhatWasReplacedLeavesRistretto",
	},
	{
		name: "Close leaves ristretto running", file: "speccache/region.go",
		edits: []edit{{"<-r.done\n\tr.cache.Close()", "<-r.done"}},
		tests: "AfterCloseDoPassesThrough",
	},
	{
		name: "what is beyond the window is never fetched", file: "speccache/window.go",
		edits: []edit{{"return due || w.beyond >= batchLen || w.bytes > w.max+w.batch || w.gone.len >= batchLen || w.away > w.batch, excess, over", "return false, excess, over"}},
		tests: "WhileRistrettoIsBehind",
	},
	{
		name: "the window grows while ristretto is behind", file: "speccache/window.go",
		edits: []edit{{"if w.held <= w.most || w.bytes == 0 {", "if true {"}},
		tests: "WhileRistrettoIsBehind",
	},
	{
		name: "an index that grows loses entries", file: "speccache/index.go",
		edits: []edit{{"\t\tt.first(hash).insert(hash, e)\n", "\t\tif hash%8 != 0 {\n\t\t\tt.first(hash).insert(hash, e)\n\t\t}\n"}},
		tests: "NothingOldIsServed|TheStoreIsConsistent|AnOversizeResult",
	},
	{
		name: "a place in the index that was left keeps its hash", file: "speccache/index.go",
		edits: []edit{{"at.hashes[i].Store(0)", "_ = i"}},
		tests: "TheVeryNextLookup|NothingFinishedIsLost|NothingOldIsServed",
	},
	{
		name: "an index never grows", file: "speccache/index.go",
		edits: []edit{{"if crowded {", "if false && crowded {"}},
		tests: "LookupsCostTheSame",
	},
	{
		name: "entries that are gone are counted", file: "speccache/index.go",
		edits: []edit{{"n.Add(-1)", ""}},
		tests: "AnEmptyObservation",
	},
	{
		name: "a share bounds nothing", file: "speccache/window.go",
		edits: []edit{{"excess, over = w.giveUp(w.shares[e.key.scope], w.share)", ""}},
		tests: "NoMoreThanItsShare|WhatAnotherKeeps",
	},
	{
		name: "another scope gives up what is over a share", file: "speccache/share.go",
		edits: []edit{{"\te = s.oldest()\n", "\tfor _, other := range w.shares {\n\t\tif other != s {\n\t\t\ts = other\n\t\t}\n\t}\n\te = s.oldest()\n"}},
		tests: "NoMoreThanItsShare|SafeFromAFlood",
	},
	{
		name: "a share is never given back", file: "speccache/share.go",
		edits: []edit{{"\tw.count(s, -e.size)\n", ""}},
		tests: "GivesItsShareBack",
	},
	{
		name: "what leaves ristretto stays in its scope's share", file: "speccache/window.go",
		edits: []edit{{"\t\tw.main -= e.size\n\t\tw.discharge(e)\n", "\t\tw.main -= e.size\n"}},
		tests: "TheStoreIsConsistent|StaysWithinItsBytes",
	},
	{
		name: "ristretto has to choose between scopes whose shares fit", file: "speccache/window.go",
		edits: []edit{{"|| w.main+e.size <= w.room", "|| true"}},
		tests: "SafeFromAFlood",
	},
	{
		name: "reading keeps nothing in a share", file: "speccache/share.go",
		edits: []edit{{"if !e.awaited() && !e.unmark(shareMark) {", "if !e.awaited() {"}},
		tests: "WhatAScopeReadsOften",
	},
	{
		name: "unread guesses are given up first", file: "speccache/share.go",
		edits: []edit{{"if !e.awaited() && !e.unmark(shareMark) {", "if !e.unmark(shareMark) {"}},
		tests: "UnreadGuessesAreGivenUpLast",
	},
	{
		name: "the coarse clock tells of other scopes", file: "speccache/lookup.go",
		edits: []edit{{"s.c.clock.about()+margin", "s.c.clock.about()"}},
		tests: "ThatAnotherIsActive",
	},
}
