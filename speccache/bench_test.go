package speccache_test

import (
	"context"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/require"
)

// benchSession makes a session whose executor costs nothing.
func benchSession(b *testing.B, cfg config) *speccache.Session[string] {
	b.Helper()
	instant := func(context.Context, actions.Action) (string, error) { return "seen", nil }
	c, err := speccache.New(env{Do: instant, Rules: actions.Reads("get")}, cfg)
	require.NoError(b, err)
	b.Cleanup(func() { c.Close() })
	s := c.Open(opening{Scope: "bench"})
	b.Cleanup(func() { s.Close() })
	return s
}

// BenchmarkHit is a Do that finds its observation.
func BenchmarkHit(b *testing.B) {
	s := benchSession(b, config{})
	a := get(1)
	ctx := b.Context()
	_, err := s.Do(ctx, a)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		s.Do(ctx, a)
	}
}

// BenchmarkLookup is the part of it that looks.
func BenchmarkLookup(b *testing.B) {
	s := benchSession(b, config{})
	a := get(1)
	_, err := s.Do(b.Context(), a)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		s.Lookup(a)
	}
}

// BenchmarkPassThrough is what a session adds to an undeclared action.
func BenchmarkPassThrough(b *testing.B) {
	s := benchSession(b, config{})
	a, ctx := act("none", 1), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		s.Do(ctx, a)
	}
}

// BenchmarkStep is a hit, the draft that follows, and three guesses.
func BenchmarkStep(b *testing.B) {
	s := benchSession(b, config{Predictor: guesses(get("a"), get("b"), get("c"))})
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		s.Do(ctx, get(1))
	}
}
