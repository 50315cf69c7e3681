package costs

import (
	"context"
	"time"

	"github.com/speccache/speccache-go/speccache"
	"golang.org/x/sync/errgroup"
)

// skeletons returns the time of one skeleton.
func skeletons(ctx context.Context) (float64, error) {
	ctx = context.WithoutCancel(ctx) // as that of runs ahead
	return timed(stepsPerBatch, func() (time.Duration, error) {
		began := time.Now()
		skeleton(ctx)
		return time.Since(began), nil
	})
}

// skeleton is what no implementation of a step can do without: a driver's
// goroutine that starts one for each guess, with an end of its own and a way
// to say that it is done, and a caller that waits for all.
func skeleton(ctx context.Context) {
	var done [guessesPerStep]chan struct{}
	for i := range done {
		done[i] = make(chan struct{})
	}
	go func() {
		var runs errgroup.Group
		for _, done := range done {
			ctx, cancel := context.WithTimeout(ctx, speccache.DefaultAheadTimeout)
			runs.Go(func() error {
				defer cancel()
				defer close(done)
				return ctx.Err()
			})
		}
		runs.Wait()
	}()
	for _, done := range done {
		<-done
	}
}
