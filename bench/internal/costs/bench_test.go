package costs

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkLookup is the lookups of the command of that name, one goroutine at
// a time, in chunks: the last one is not cut short.
func BenchmarkLookup(b *testing.B) {
	readers, done, err := newReaders(b.Context(), 1)
	require.NoError(b, err)
	defer done()
	for _, r := range readers {
		if r.name == ristrettoB {
			continue
		}
		b.Run(r.name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; n < b.N; n += chunkKeys {
				i := n / chunkKeys % chunks
				if r.prepare != nil {
					b.StopTimer()
					require.NoError(b, r.prepare(b.Context(), i))
					b.StartTimer()
				}
				if wrong := r.chunk(0, i); wrong > 0 {
					b.Fatalf("%d lookups did not find what they should", wrong)
				}
			}
		})
	}
}

// BenchmarkOverhead is an action without and with a session around it, a step
// until its guesses can be found, the skeleton of one, and a verdict. Between steps
// goroutines come to rest: ns/op is the median without that.
func BenchmarkOverhead(b *testing.B) {
	b.Run("direct", func(b *testing.B) {
		ctx, a := b.Context(), action(submit, 1)
		for b.Loop() {
			instantly(ctx, a)
		}
	})
	b.Run("through", func(b *testing.B) {
		p, err := newPassage()
		require.NoError(b, err)
		defer p.cache.Close()
		ctx := b.Context()
		b.ReportAllocs()
		for b.Loop() {
			p.session.Do(ctx, p.action)
		}
	})
	b.Run("step", func(b *testing.B) {
		w, err := newWalk()
		require.NoError(b, err)
		defer w.cache.Close()
		w.prepare(b.N)
		reportMedian(b, func() (time.Duration, error) { return w.step(b.Context(), w.session) })
	})
	b.Run("policy", func(b *testing.B) {
		r, err := newReading(b.Context())
		require.NoError(b, err)
		b.ReportAllocs()
		for n := 0; n < b.N; n += len(r.guesses) {
			require.NoError(b, r.pass())
		}
	})
	b.Run("skeleton", func(b *testing.B) {
		reportMedian(b, func() (time.Duration, error) {
			began := time.Now()
			skeleton(b.Context())
			return time.Since(began), nil
		})
	})
}

// BenchmarkScale is a step while so many sessions are open.
func BenchmarkScale(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		c, err := newCrowd(b.Context(), n)
		require.NoError(b, err)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c.prepare(b.N)
			reportMedian(b, func() (time.Duration, error) {
				c.turn++
				return c.step(b.Context(), c.sessions[c.turn%n])
			})
			b.ReportMetric(c.point.BytesPerIdleSession, "B/session")
		})
		c.cache.Close()
	}
}

func reportMedian(b *testing.B, step func() (time.Duration, error)) {
	b.ReportAllocs()
	b.ResetTimer()
	ns, err := timed(b.N, step)
	require.NoError(b, err)
	b.ReportMetric(ns, "ns/op")
}
