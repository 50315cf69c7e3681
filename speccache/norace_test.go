//go:build !race

package speccache_test

const raced = false
