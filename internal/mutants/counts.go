package main

// countMutants break what is reported.
var countMutants = []mutant{
	{
		name: "a hit is counted twice", file: "speccache/lookup.go",
		edits: []edit{{"e.reading.by.CompareAndSwap(unread, s.id) {\n", "e.reading.by.CompareAndSwap(unread, s.id) {\n\t\ts.tally.counts[cHits].Add(1)\n"}},
		tests: "LookupCountsAsDoDoes",
	},
	{
		name: "every hit is a first reading", file: "speccache/lookup.go",
		edits: []edit{{"e.reading.open() && e.reading.by.CompareAndSwap(unread, s.id)", "e.reading.by.Swap(s.id) != counted"}},
		tests: "HiddenTime",
	},
	{
		name: "hidden time above the head start", file: "speccache/run.go",
		edits: []edit{{"r.Hidden = max(0, min(e.guess.took-(now-k.asked), k.asked-e.born))", "r.Hidden = e.guess.took"}},
		tests: "HiddenTime",
	},
	{
		name: "the ledger forgets who read what was dropped", file: "speccache/ledger.go",
		edits: []edit{{"g.reading.take(nobody)\n\t\tg.settle(l.count)", "g.reading = nil"}},
		tests: "AReadingIsCountedAlso",
	},
	{
		name: "counts die with their session", file: "speccache/session.go",
		edits: []edit{{"s.tally.handOver(&s.c.past)", ""}},
		tests: "CountsSurvive",
	},
	{
		name: "what a closed session counts is lost", file: "speccache/ledger.go",
		edits: []edit{{"t.heir.Store(heir)", ""}},
		tests: "EveryCallIsCountedAlso",
	},
	{
		name: "failed runs ahead are no waste", file: "speccache/ahead.go",
		edits: []edit{{"s.count(cEnded, 1)", "if f.entry != nil {\n\t\ts.count(cEnded, 1)\n\t}"}},
		tests: "WasteIsWhat",
	},
	{
		name: "what drafts cost is not added up", file: "speccache/step.go",
		edits: []edit{{"d.spent(p.Usage)", "_ = p.Usage"}},
		tests: "UsageOfDrafts",
	},
	{
		name: "an absurd figure of a predictor is believed", file: "speccache/step.go",
		edits: []edit{{"return min(max(0, n), 1<<24)", "return n"}},
		tests: "WhatPredictorsAndEnvironmentsSay",
	},
	{
		name: "a miss for the model version is called absent", file: "speccache/run.go",
		edits: []edit{{"reason = ReasonModelVersion\n", "reason = ReasonAbsent\n"}},
		tests: "VersionedEveryLookup",
	},
}
