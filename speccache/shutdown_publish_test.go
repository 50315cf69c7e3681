package speccache_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestNothingIsPublishedAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := open(t, gets(&tool{takes: time.Second}), config{})
		go s.Do(context.Background(), get(1)) // the target's own run
		synctest.Wait()
		c.Close()
		after(2 * time.Second)
		assert.Zero(t, c.Stats().Entries)
		assert.Zero(t, c.Stats().WindowBytes)
	})
}
