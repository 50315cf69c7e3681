// Package llmsim is an OpenAI-compatible server for tests and benchmarks. It
// answers chat requests, streamed or not, from a script or from a policy, takes
// the time that a model of given speed takes, fails in the ways in which servers
// fail, and has limits as servers have.
//
//	sim := llmsim.New(llmsim.Options{Latency: llmsim.Latency{Base: time.Second}})
//	sim.Push(llmsim.Answer{Text: "hello"}, llmsim.Answer{Fault: llmsim.Fault{Status: 529}})
//	at := sim.Pipe() // or sim.Listen(), on loopback
//	defer at.Close()
//	client := at.Client()
//
// A Server is an http.Handler, for httptest and others. Pipe connects without a
// network, so that all of it runs in a synctest bubble, in virtual time.
//
// # Tokens
//
// A token is 4 characters, rounded up, of a text. A prompt is its tools and its
// messages with a few tokens each, see PromptTokens. That is near enough for
// times and costs, and the same on each run.
//
// # Randomness
//
// What is random depends on the seed and on the number of the request only.
package llmsim
