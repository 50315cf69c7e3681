//go:build race

package web_test

// slowdown divides the sizes of pages that test for time: a race build is
// about ten times slower.
const slowdown = 10
