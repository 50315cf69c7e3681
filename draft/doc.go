// Package draft guesses what a target model does next.
//
// The predictors here need no model. [Lexical] ranks the choices in view by
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
// Predictors keep nothing between calls. All are safe for concurrent use if
// the view function they were given is, and the same state always gets the
// same guesses. No predictor starts a goroutine.
package draft
