package main

// sessionMutants break steps, modes and ends.
var sessionMutants = []mutant{
	{
		name: "the target's next step does not stop the draft", file: "speccache/session.go",
		edits: []edit{{"\t\td.ctx.end(errActed)\n\t}\n\tclear(s.drafts)\n\ts.drafts = s.drafts[:0]\n\tif s.waiting", "\t\t_ = d\n\t}\n\tif s.waiting"}},
		tests: "TheDraftIsStopped",
	},
	{
		name: "the draft starts before the last parallel call returns", file: "speccache/session.go",
		edits: []edit{{"last := s.open == 0\n", "last := true\n"}},
		tests: "ParallelCallsAreOneStep",
	},
	{
		name: "a state that was handed out changes", file: "speccache/history.go",
		edits: []edit{{"if h.shared {", "if false {"}},
		tests: "PredictorsSeeTheLast|NoStateThatWasHandedOut",
	},
	{
		name: "states keep every observation", file: "speccache/history.go",
		edits: []edit{{"newer >= maxObservations || ", ""}},
		tests: "PredictorsSeeTheLast|NoStateThatWasHandedOut",
	},
	{
		name: "somebody thinks after a cancelled step", file: "speccache/session.go",
		edits: []edit{{"s.c.cfg.Predictor != nil && ctx.Err() == nil", "s.c.cfg.Predictor != nil"}},
		tests: "NobodyThinks",
	},
	{
		name: "a panic of an executor in RunAll is lost", file: "speccache/together.go",
		edits: []edit{{"e.repeat()", "_ = e"}},
		tests: "RunAllRepeats",
	},
	{
		name: "Close does not wait", file: "speccache/cache.go",
		edits: []edit{{"c.workers.busy.Wait()\n", ""}, {"c.workers.close()\n", ""}},
		tests: "CloseWaitsForExecutors",
	},
	{
		name: "Close does not cancel", file: "speccache/cache.go",
		edits: []edit{{"c.killAhead(func(*flight[O]) bool { return true })", ""}},
		tests: "NothingOutlivesClose",
	},
	{
		name: "goroutines start after Close", file: "speccache/cache.go",
		edits: []edit{{"if c.closed.Load() {\n\t\tc.mu.Unlock()\n\t\treturn false\n\t}\n\tc.workers.busy.Add(1)", "c.workers.busy.Add(1)"}},
		tests: "NothingIsStartedAfterClose",
	},
	{
		name: "a closed cache serves", file: "speccache/session.go",
		edits: []edit{{"return s.closed.Load() || s.c.off() || s.c.closed.Load()", "return s.closed.Load() || s.c.off()"}},
		tests: "AfterCloseDoPassesThrough",
	},
	{
		name: "the end of a session does not cancel its runs", file: "speccache/session.go",
		edits: []edit{{"\ts.stopDrafts()\n\ts.c.limiter.each(func(f *flight[O]) {\n\t\tif f.session == s {\n\t\t\tf.giveUp()", "\ts.stopDrafts()\n\ts.c.limiter.each(func(f *flight[O]) {\n\t\tif f.session == s {\n\t\t\t_ = f"}},
		tests: "AClosedSession",
	},
	{
		name: "the end of a session cancels what others wait for", file: "speccache/session.go",
		edits: []edit{{"\ts.stopDrafts()\n\ts.c.limiter.each(func(f *flight[O]) {\n\t\tif f.session == s {\n\t\t\tf.giveUp()", "\ts.stopDrafts()\n\ts.c.limiter.each(func(f *flight[O]) {\n\t\tif f.session == s {\n\t\t\tf.kill(errGivenUp)"}},
		tests: "AClosedSession",
	},
	{
		name: "Shadow serves", file: "speccache/session.go",
		edits: []edit{{"!s.closed.Load() && Mode(s.c.mode.Load()) == On && !s.c.closed.Load()", "!s.closed.Load() && Mode(s.c.mode.Load()) != Off && !s.c.closed.Load()"}},
		tests: "Shadow",
	},
	{
		name: "Shadow requests", file: "speccache/ahead.go",
		edits: []edit{{"case d.s.c.shadow():\n", "case false:\n"}},
		tests: "Shadow",
	},
	{
		name: "Off does not cancel what runs ahead", file: "speccache/cache.go",
		edits: []edit{{"c.limiter.each(func(f *flight[O]) { f.giveUp() })", ""}},
		tests: "OffIsAPassThrough",
	},
	{
		name: "a hook that blocks delays the target", file: "speccache/event.go",
		edits: []edit{{"case e.queue <- ev:\n\tdefault:\n\t\te.dropped.Add(1)\n\t}", "case e.queue <- ev:\n\t}"}},
		tests: "AHookThatBlocks",
	},
	{
		name: "a panic of the hook escapes", file: "speccache/event.go",
		edits: []edit{{"if recover() != nil {\n\t\t\te.dropped", "if false {\n\t\t\te.dropped"}},
		tests: "AHookThatPanics",
	},
	{
		name: "events carry arguments unasked", file: "speccache/cache.go",
		edits: []edit{{"if c.cfg.ShowArgs {\n", "if true {\n"}},
		tests: "EventsTellTheStory",
	},
	{
		name: "events carry the texts of errors unasked", file: "speccache/cache.go",
		edits: []edit{{"case c.cfg.ShowArgs, err == ErrNotAhead:", "case true:"}},
		tests: "EventsTellTheStory",
	},
	{
		name: "a cache holds on to closed sessions", file: "speccache/session.go",
		edits: []edit{{"delete(s.c.sessions, s.id)", ""}},
		tests: "CountsSurvive",
	},
	{
		name: "the bytes of a session's steps have no bound", file: "speccache/history.go",
		edits: []edit{{"|| h.bytes+sizes[i] > maxBytes)", ")"}},
		tests: "TheStepsOfASession",
	},
	{
		name: "a draft has no end", file: "speccache/step.go",
		edits: []edit{{"d.ctx.end(errDraftTooSlow)", ""}},
		tests: "APredictorThatIsOutOfTime",
	},
	{
		name: "idle goroutines outlive Close", file: "speccache/workers.go",
		edits: []edit{{"close(w.idle)\n\tw.all.Wait()", ""}},
		tests: "AfterCloseDoPassesThrough|TheDraftIsStopped",
	},
	{
		name: "a signal that was waited for before it came is not heard", file: "speccache/flight.go",
		edits: []edit{{"if c := s.c.Swap(closed); c != nil {\n\t\tclose(*c)", "if c := s.c.Swap(closed); c != nil {\n\t\t_ = c"}},
		tests: "AThousandTargets|BesideASlowRun",
	},
}
