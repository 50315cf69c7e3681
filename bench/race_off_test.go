//go:build !race

package main

const histories = 1000
