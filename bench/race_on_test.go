//go:build race

package main

const histories = 100 // the race detector makes them many times as slow
