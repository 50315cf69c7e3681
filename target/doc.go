// Package target is the target model's side: a chat model that chooses actions
// and reads what they bring, with a session of the cache in front of its tools.
//
//	chat := target.NewChat(target.NewClient(key, ""), target.ChatConfig{Tools: tools})
//	loop := target.Loop[*web.Page]{Session: session, Chat: chat, Show: show}
//	for event, err := range loop.Run(ctx, question, page) {
//
// Three things that work together, and alone:
//
//	Executor   a tool call as a model writes it -> an action -> the session
//	Chat       messages -> a reply, streamed, of any OpenAI-compatible endpoint
//	Loop       choose, do, until answered or out of steps
//
// The session looks into the cache before anything runs, and starts the draft
// when the observation is there, which is when the target starts to think.
//
// # Parallel calls
//
// The calls of one reply are one step: they mean the page that was in view when
// the model wrote them, run concurrently, and are shown in its order.
//
// # Memory
//
// The prompt stays within a budget. An observation is cropped when it comes;
// when the prompt is full, the oldest observations are dropped first. What the
// model has noted with the tool remember stays.
//
// # Model version
//
// After each reply the loop tells the session which model answered: the name
// that was configured and the one that the server reports. When a provider puts
// another model behind an alias, entries read for the old one are a miss. Names
// that take turns behind an alias cost no entries once each was there, and a
// reply without a name is no news; see ChatConfig.Version.
//
// A host that states versions itself, as ModelVersion of a session or a cache,
// lets ChatConfig.Version return "", or else the first reply would be a change
// that loses what ran ahead for the first step. With a Loop it is best to leave
// ModelVersion empty.
//
// # Concurrency
//
// A Chat and an Executor may be used from several goroutines at once. A session
// is one run of one agent: make a Loop for each run, with a session of its own,
// and share the Chat. Calls return when all that they started has ended.
package target
