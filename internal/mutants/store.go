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
		edits: []edit{{"if e.size > s.window.max {", "if false {"}},
		tests: "LargerThanTheWindow|AnOversizeResult",
	},
	{
		name: "an empty observation costs nothing", file: "speccache/flight.go",
		edits: []edit{{"+ int64(len(f.key.action.Args())) + entryCost", ""}},
		tests: "AnEmptyObservation",
	},
	{
		name: "what has left the window is still counted", file: "speccache/window.go",
		edits: []edit{{"w.bytes -= e.size", "w.bytes -= e.size / 2"}},
		tests: "StaysWithinItsBytes|AReplacedEntry",
	},
	{
		name: "a replaced entry stays in the window", file: "speccache/window.go",
		edits: []edit{{"\tif old != nil {\n\t\toldLeft = old.place.left\n\t\tw.unlink(old)\n\t}", "\tif old != nil {\n\t\toldLeft = old.place.left\n\t}"}},
		tests: "AReplacedEntry",
	},
	{
		name: "unread guesses leave the window first", file: "speccache/window.go",
		edits: []edit{{"if !e.reading.open() || !e.guess.expected() {", "if true {"}},
		tests: "PlainRistrettoLosesMost",
	},
	{
		name: "guesses of steps that are over stay in the window", file: "speccache/window.go",
		edits: []edit{{"if !e.reading.open() || !e.guess.expected() {", "if !e.reading.open() {"}},
		tests: "GuessesWhoseTimeHasPassedMakeRoom",
	},
	{
		name: "a guess that was read is still held back", file: "speccache/window.go",
		edits: []edit{{"if !e.reading.open() || !e.guess.expected() {", "if !e.guess.expected() {"}},
		tests: "AGuessThatWasRead",
	},
	{
		name: "reading keeps nothing in the window", file: "speccache/window.go",
		edits: []edit{{"if marked := e.read.Swap(false); !marked && !firstRead {", "if marked := e.read.Swap(false); !marked || !firstRead {"}},
		tests: "WhatIsReadStays",
	},
	{
		name: "the window has no bound", file: "speccache/window.go",
		edits: []edit{{"if w.bytes <= w.max {", "if w.bytes <= 4*w.max {"}},
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
		name: "a closed scope's observations are offered", file: "speccache/region.go",
		edits: []edit{{"case e.scope.dead.Load():", "case false:"}},
		tests: "WhatAClosedPrivateScopeRead",
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
		edits: []edit{{"return w.beyond >= batchLen || w.bytes > w.max+w.batch, oldLeft", "return false, oldLeft"}},
		tests: "WhileRistrettoIsBehind",
	},
	{
		name: "the window grows while ristretto is behind", file: "speccache/window.go",
		edits: []edit{{"if w.bytes <= w.most {", "if true {"}},
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
}
