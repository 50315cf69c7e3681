// Package hitratio replays streams of requests against SpecCache and against
// bare caches that may hold as many bytes, and counts what they find.
//
// Nothing runs ahead here: it is about what stays of that which was read.
//
// [Run] does all of it. It is not about time: every cache gets the time that
// its goroutines need between two requests.
package hitratio
