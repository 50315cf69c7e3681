//go:build race

package speccache_test

// raced: the race detector makes everything ten times slower.
const raced = true
