package main

// suiteMutants break what bench's suites are to notice, row by row.
var suiteMutants = []mutant{
	{
		name: "a hijacked draft composes URLs", file: "actions/web/policy.go", in: "bench/internal/suites",
		edits: []edit{{"v.rule = \"provenance\"", "v.to, _ = addressOf(guess)"}},
		tests: "AnotherFile",
	},
	{
		name: "a hijacked draft calls what nobody declared", file: "speccache/ahead.go", in: "bench/internal/suites",
		edits: []edit{
			{"if rule.Effect != actions.ReadOnly || !rule.Ahead {", "if rule.Effect == actions.Write {"},
			{"if s.c.env.Policy != nil {", "if s.c.env.Policy != nil && rule.Ahead {"},
		},
		tests: "AnotherFile",
	},
	{
		name: "what a host forbids to keep is kept, and served", file: "actions/web/cachecontrol.go", in: "bench/internal/suites",
		edits: []edit{{`case "no-store", "no-cache":`, `case "no-cache":`}},
		tests: "AnotherFile",
	},
	{
		name: "a run ahead asks for what robots.txt forbids", file: "actions/web/robots.go", in: "bench/internal/suites",
		edits: []edit{{"return r[i].allow", "return true"}},
		tests: "AnotherFile",
	},
	{
		name: "net/http asks for another path than the key's", file: "actions/web/fetcher.go", in: "bench/internal/suites",
		edits: []edit{{"exact(req.URL, to)", ""}},
		tests: "AnotherFile",
	},
	{
		name: "a key has a host that no visit takes", file: "actions/web/url.go",
		edits: []edit{{", !stable(a.host):", ":"}},
		tests: "NotForReading",
	},
	{
		name: "a host that Unicode reads in two ways is visited", file: "actions/web/url.go",
		edits: []edit{{"if capitalSharpS(authority) {", "if false {"}},
		tests: "NotForReading",
	},
}
