// Package replay lets agents walk recorded sites and measures how much of
// their waiting speculation hides.
//
// One agent is one seed in one arm. It has web servers of its own on loopback
// (real HTTP), a fetcher and a predictor, and walks the golden paths of all
// items, click by click, with a fresh cache for each item:
//
//	off    the cache passes through
//	cache  the cache remembers, nobody guesses
//	spec   a draft guesses, and guesses run ahead
//
// HTTP, HTML, concurrency and the cache are real. The times that fetching,
// thinking and drafting take are drawn from a [Profile] and shortened by one
// scale. Every draw is a function of the seed and of what it is drawn for, so
// the arms of a seed live through the same minutes, and draws are stratified
// over seeds.
//
// [Run] does all of it; [Report] says what the figures mean.
package replay
