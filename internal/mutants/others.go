package main

// otherMutants break the packages around the cache.
var otherMutants = []mutant{
	{
		name: "large integers are merged", file: "actions/canonical.go",
		edits: []edit{{"if math.Abs(f) < maxInteger || exact(literal, f) {", "if true {"}},
		tests: "ParseRefusesWhatCouldMerge",
	},
	{
		name: "duplicate names are accepted", file: "actions/action.go",
		edits: []edit{{"jsontext.AllowDuplicateNames(false)", "jsontext.AllowDuplicateNames(true)"}},
		tests: "ParseRefusesWhatCouldMerge",
	},
	{
		name: "numbers that vanish in a double are accepted", file: "actions/canonical.go",
		edits: []edit{{`if digits, _ := decimal(literal); digits != "" { // underflow`, `if digits, _ := decimal(literal); digits != "" && false {`}},
		tests: "ParseRefusesWhatCouldMerge",
	},
	{
		name: "arguments may nest without end", file: "actions/canonical.go",
		edits: []edit{{"case d.StackDepth() > MaxDepth:", "case false:"}},
		tests: "DeepNesting|ParseHasLimits",
	},
	{
		name: "a write may be declared to run ahead", file: "actions/rule.go",
		edits: []edit{{"case r.Ahead && r.Effect != ReadOnly:", "case false:"}},
		tests: "RulesThatContradict",
	},
	{
		name: "a public read needs no MaxAge", file: "actions/rule.go",
		edits: []edit{{"case r.Public && r.Effect == ReadOnly && r.MaxAge == 0:", "case false:"}},
		tests: "RulesThatContradict",
	},
	{
		name: "a URL that no page shows runs ahead", file: "actions/web/policy.go",
		edits: []edit{{"v.rule = \"provenance\"", "v.to, _ = addressOf(guess)"}},
		tests: "AGuessIsALink",
	},
	{
		name: "a link to another host runs ahead", file: "actions/web/policy.go",
		edits: []edit{{"v.rule = f.onHost(s, &v)", "_ = f.onHost(s, &v)"}},
		tests: "AGuessIsALink",
	},
	{
		name: "a link out of https runs ahead", file: "actions/web/policy.go",
		edits: []edit{{"return secure(from) && !secure(to)", "return false"}},
		tests: "OnlyTheWayToHTTPS|OutOfHTTPS",
	},
	{
		name: "a link that sounds like an action runs ahead", file: "actions/web/policy.go",
		edits: []edit{{"v.rule = ruleOfURL(l.URL)", "v.rule = \"\""}},
		tests: "AGuessIsALink",
	},
	{
		name: "a download runs ahead", file: "actions/web/policy.go",
		edits: []edit{{"case l.download:", "case false:"}},
		tests: "AGuessIsALink",
	},
	{
		name: "any port of a host may be asked ahead", file: "actions/web/policy.go",
		edits: []edit{{"bareHost(from) == to", "bareHost(from) == bareHost(to)"}},
		tests: "APortIs|ARedirectLeads",
	},
	{
		name: "a template lets everything through", file: "actions/web/template.go",
		edits: []edit{{"verdict{rule: ruleOfURL(a.url), to: a", "verdict{to: a"}},
		tests: "ATemplate",
	},
	{
		name: "the value of a template is no part of its URL alone", file: "actions/web/template.go",
		edits: []edit{{"escape := neturl.PathEscape", "escape := func(s string) string { return s }"}},
		tests: "ATemplate",
	},
	{
		name: "a redirect leads a run ahead to another host", file: "actions/web/fetcher.go",
		edits: []edit{{"case !reaches(from.host, to.host) && !f.hosts[to.host]:", "case false:"}},
		tests: "ARunAheadDoesNotFollow",
	},
	{
		name: "a redirect leads a run ahead to an action", file: "actions/web/fetcher.go",
		edits: []edit{{"return f.refusal(to.url)", "if f.cfg.AheadRefuse != nil {\n\t\treturn f.cfg.AheadRefuse(to.url)\n\t}\n\treturn \"\""}},
		tests: "ARunAheadDoesNotFollow",
	},
	{
		name: "a part of a page is a page", file: "actions/web/fetcher.go",
		edits: []edit{{"case http.StatusOK, http.StatusNonAuthoritativeInfo:", "case http.StatusOK, http.StatusNonAuthoritativeInfo, http.StatusPartialContent:"}},
		tests: "AnAnswerThatIsNoPage",
	},
	{
		name: "a body of the wrong length is a page", file: "actions/web/fetcher.go",
		edits: []edit{{"case resp.ContentLength >= 0 && n != resp.ContentLength:", "case false:"}},
		tests: "ATruncatedBody|NotTrustedWithTheLength",
	},
	{
		name: "a body may have any size", file: "actions/web/fetcher.go",
		edits: []edit{{"case n > limit:", "case false:"}, {"limit+1))", "limit))"}},
		tests: "ABodyOverTheLimit",
	},
	{
		name: "what a host forbids to keep is kept", file: "actions/web/cachecontrol.go",
		edits: []edit{{`case "no-store", "no-cache":`, `case "no-cache":`}},
		tests: "APageIsKept",
	},
	{
		name: "what depends on everything is kept", file: "actions/web/lifetime.go",
		edits: []edit{{`case "*":`, `case "+":`}},
		tests: "APageIsKept",
	},
	{
		name: "the age that a page came with is forgotten", file: "actions/web/lifetime.go",
		edits: []edit{{"return cc.maxAge - age, true", "return cc.maxAge, true"}},
		tests: "APagesLifeIsCounted",
	},
	{
		name: "a page with a cookie is shared", file: "actions/web/lifetime.go",
		edits: []edit{{`len(h.Values("Set-Cookie")) > 0`, "false"}},
		tests: "APageForOneClient",
	},
	{
		name: "robots.txt is not heeded", file: "actions/web/robots.go",
		edits: []edit{{"return r[i].allow", "return true"}},
		tests: "RobotsForbid|RobotsRules",
	},
	{
		name: "a robots.txt that can't be read allows", file: "actions/web/origins.go",
		edits: []edit{{"f.origins.learn(r, robots{}, true, robotsFailure)", "f.origins.learn(r, robots{}, false, robotsFailure)"}},
		tests: "CanNotBeRead",
	},
	{
		name: "a robots.txt leads a run ahead anywhere on its host", file: "actions/web/origins.go",
		edits: []edit{{`|| f.ruleFor(to, next) != ""`, ""}},
		tests: "LeadsNowhere",
	},
	{
		name: "a 304 is believed whatever it names", file: "actions/web/renew.go",
		edits: []edit{{`== strings.TrimPrefix(is, "W/")`, `!= ""`}},
		tests: "A304",
	},
	{
		name: "this machine's public addresses are let through", file: "actions/web/guard.go",
		edits: []edit{{"if g.isOwn(addr) {", "if false {"}},
		tests: "PublicAddressesOfThisMachine",
	},
	{
		name: "capitals hide a deed", file: "actions/web/deeds.go",
		edits: []edit{{"return lower != text && actsIn(splitWords(lower))", "return lower == text"}},
		tests: "SoundsLikeDoing",
	},
	{
		name: "a link that asks first runs ahead", file: "actions/web/policy.go",
		edits: []edit{{"case l.acts || labelActs(l.Label):", "case labelActs(l.Label):"}},
		tests: "MarksAsDoing",
	},
	{
		name: "a target waits for a hung robots.txt", file: "actions/web/origins.go",
		edits: []edit{{"case <-asked:\n\t\t\tcancel()", "case <-asked:\n\t\t\t<-ctx.Done()"}},
		tests: "AHungRobotsFile",
	},
	{
		name: "runs ahead go on at a busy host", file: "actions/web/backoff.go",
		edits: []edit{{"return ok\n", "return false\n"}},
		tests: "ABusyHost",
	},
	{
		name: "a redirect leads a run ahead past the application's word", file: "actions/web/fetcher.go",
		edits: []edit{{"return f.refusal(to.url)", "if actionLike(to.url) {\n\t\treturn \"action-like\"\n\t}\n\treturn \"\""}},
		tests: "ARedirectOfARunAhead",
	},
	{
		name: "hosts are not told that a request runs ahead", file: "actions/web/fetcher.go",
		edits: []edit{{`req.Header.Set("Sec-Purpose", "prefetch")`, ""}},
		tests: "ARequestSaysWho",
	},
	{
		name: "a draft's action may have fields that nobody knows", file: "draft/parse.go",
		edits: []edit{{"case numbered && len(fields) == 1:", "case numbered:"}},
		tests: "EachDropHasItsReason|MalformedAnswers",
	},
	{
		name: "a draft may choose number 0", file: "draft/parse.go",
		edits: []edit{{"if err != nil || n < 1 {", "if err != nil {"}},
		tests: "EachDropHasItsReason|MalformedAnswers",
	},
	{
		name: "a draft may name as many actions as it likes", file: "draft/parse.go",
		edits: []edit{{"func (p *jsonParser) begin(b byte) {\n\tif p.count++; p.count > maxProposed {", "func (p *jsonParser) begin(b byte) {\n\tif p.count++; false {"}},
		tests: "GuessesBeyondN",
	},
	{
		name: "a draft goes on after an observation that it made up", file: "draft/parse.go",
		edits: []edit{{"case \"Observation\":\n\t\tp.over = true\n", ""}},
		tests: "MalformedAnswers|EachDrop|AFaultInAnAnswer",
	},
	{
		name: "two tool calls on one index are merged", file: "internal/llm/calls.go",
		edits: []edit{{"case p.args.closed:\n\t\treturn !p.repeats(piece)", "case p.args.closed:\n\t\treturn false"}},
		tests: "TwoCallsAreNeverMerged|Trap10",
	},
	{
		name: "two calls in one piece of arguments are one", file: "internal/llm/calls.go",
		edits: []edit{{"case p.torn || p.args.more ||", "case p.torn ||"}},
		tests: "TwoCallsAreNeverMerged|Trap10",
	},
	{
		name: "a tool call that stops in the middle is complete", file: "internal/llm/calls.go",
		edits: []edit{{"case !p.args.closed:\n\t\treturn \"\", IncompleteArgs", "case !p.args.closed:\n\t\treturn args + \"}\", \"\""}},
		tests: "TwoCallsAreNeverMerged|ACutOrStalled",
	},
	{
		name: "a repetition of a tool call is a second one", file: "internal/llm/calls.go",
		edits: []edit{{"return same && (piece.Args", "return false && same && (piece.Args"}},
		tests: "TwoCallsAreNeverMerged",
	},
	{
		name: "one good address makes a name good", file: "actions/web/guard.go",
		edits: []edit{{"if err := g.check(host, addrs[i]); err != nil {", "if err := g.check(host, addrs[i]); err != nil && i == 0 {"}},
		tests: "OneOfItsAddresses",
	},
	{
		name: "a name is resolved by the dialer", file: "actions/web/guard.go",
		edits: []edit{{"net.JoinHostPort(addr.String(), port), i+1", "net.JoinHostPort(host+addr.Zone(), port), i+1"}},
		tests: "ResolvedOnce",
	},
	{
		name: "addresses in URLs are not checked", file: "actions/web/guard.go",
		edits: []edit{{"return []netip.Addr{addr}, g.check(host, addr)", "return []netip.Addr{addr}, nil"}, {"\treturn g.check(literal, to.Addr())", "\t_ = to\n\treturn nil"}},
		tests: "ZeroConfigVisitsNothing",
	},
	{
		name: "a resolver hears of this machine's names", file: "actions/web/guard.go",
		edits: []edit{{"if own && len(g.Allow) == 0 {", "if false {"}},
		tests: "NamesOfThisMachine",
	},
	{
		name: "refused addresses have no rule", file: "actions/web/guard.go",
		edits: []edit{{`RefusalRule() string { return "address" }`, `RefusalRule() string { return "" }`}},
		tests: "OneOfItsAddresses",
	},
	{
		name: "IPv4 in disguise is let through", file: "actions/web/guard.go",
		edits: []edit{{"case addr.Is4In6():", "case false:"}},
		tests: "SpecialAddresses",
	},
	{
		name: "a run ahead reads without credentials what the target would read with them", file: "actions/web/identity.go",
		edits: []edit{{"if v.call.Ahead && !v.id.Lend && v.id.known(to) {", "if false {"}},
		tests: "RunAheadCarriesNothing|GuessIsRefusedByRule",
	},
	{
		name: "credentials go to any origin", file: "actions/web/identity.go",
		edits: []edit{{"id.Authorize != nil && slices.Contains(id.Origins, to.origin())", "id.Authorize != nil && (len(id.Origins) > 0 || slices.Contains(id.Origins, to.origin()))"}},
		tests: "CredentialsAreForTheirOrigins",
	},
	{
		name: "credentials survive a redirect out of https", file: "actions/web/identity.go",
		edits: []edit{{"v.bare = v.bare || downgrade(from.url, to.url)", "_ = downgrade(from.url, to.url)"}},
		tests: "LedOutOfHTTPS",
	},
	{
		name: "a public visit has its scope's credentials", file: "actions/web/identity.go",
		edits: []edit{{`c.Scope != "" && !c.Public {`, `c.Scope != "" {`}},
		tests: "PublicVisit|OnlyANamedScope",
	},
	{
		name: "a run ahead stores cookies", file: "actions/web/identity.go",
		edits: []edit{{"if !v.call.Ahead {\n\t\treturn known.store", "if true {\n\t\treturn known.store"}},
		tests: "ToldToRemember",
	},
	{
		name: "a login hides nothing", file: "actions/web/identity.go",
		edits: []edit{{"return known.store(ctx, v.id.Jar, u, set, &changed)", "return known.store(ctx, v.id.Jar, u, set, new(bool))"}},
		tests: "LoginHides",
	},
	{
		name: "Clear-Site-Data hides nothing", file: "actions/web/identity.go",
		edits: []edit{{"changed := clears(resp.Header) || clearsCookies(resp.Header)", "changed := false"}},
		tests: "ClearSiteData",
	},
	{
		name: "a cookie that is set again hides everything", file: "actions/web/cookies.go",
		edits: []edit{{"if old, ok := k.known[name]; !ok || old != (cookie{what, before[i]}) || before[i] != after {", "if true {"}},
		tests: "SameCookieAgain",
	},
	{
		name: "scopes share connections", file: "actions/web/pools.go",
		edits: []edit{{"return party{scope: c.Scope}", "return party{}"}},
		tests: "NoConnectionOfAScope",
	},
	{
		name: "a page that was read with credentials is not private", file: "actions/web/fetcher.go",
		edits: []edit{{"life.private = life.private || v.carried", ""}},
		tests: "RunAheadCarriesNothing",
	},
}
