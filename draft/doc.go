// Package draft guesses what a target model does next.
//
// [Chat] asks a small model behind any OpenAI-compatible endpoint, by default
// gpt-4.1-mini for a target that is gpt-5-mini, and yields each guess while the
// model still writes the next one:
//
//	predictor := draft.Chat(client, env.View, draft.ChatConfig{})
//
// The other predictors need no model. [Lexical] ranks the choices in view by
// the words of the goal, and takes less than two milliseconds for 200 links in
// 50 KB of text:
//
//	predictor := draft.Lexical(func(p *web.Page) actions.View { return p.View() })
//
// [Oracle] is right as often as it is told, so that a benchmark measures the
// engine and not the draft; [Random] is the floor that a draft has to beat.
//
// A predictor is a func ([actions.Predictor]), so one of your own is a func
// literal: it yields its guesses best first, and stops when yield says so.
//
// # Concurrency
//
// Predictors are safe for concurrent use if the view function and the client
// that they were given are. They keep nothing between calls, but for Chat: it
// remembers for a while that a server has no structured output, and until when
// it has asked to wait. Without a model, the same state always gets the same
// guesses. No predictor starts a goroutine; what a client starts ends with the
// loop.
package draft
