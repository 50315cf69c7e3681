package draft_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNothingIsSentUntilTheTimeThatAServerHasAskedFor(t *testing.T) {
	const minute = time.Minute
	for name, c := range map[string]struct {
		answer llmsim.Answer
		class  draft.Class
		waits  time.Duration
	}{
		"seconds":       {llmsim.Limited(llmsim.After(minute)), "rate limit", minute},
		"an hour":       {llmsim.Limited(llmsim.After(60 * minute)), "rate limit", 5 * minute},
		"no time":       {llmsim.Limited(""), "", 0},
		"an overload":   {llmsim.Answer{Fault: llmsim.Fault{Status: 503, RetryAfter: "60"}}, "overloaded", minute},
		"no such thing": {llmsim.Failed(503), "", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := talking(plainly, draft.ChatConfig{}, c.answer)
			defer k.close()
			require.Len(t, hear(t.Context(), k.predict, conference()).errs, 1, name)
			for began := time.Now(); time.Since(began) < c.waits; time.Sleep(c.waits / 4) {
				h := hear(t.Context(), k.predict, conference())
				require.Len(t, h.errs, 1, name)
				e, ok := errors.AsType[*draft.Error](h.errs[0])
				require.True(t, ok, name)
				assert.Equal(t, c.class, e.Class, name)
				assert.Equal(t, c.waits-time.Since(began), e.RetryAfter, name)
				assert.ErrorContains(t, h.errs[0], "draft: chat: the server has asked to wait: nothing is sent for another ", name)
				assert.Equal(t, actions.Usage{}, h.usage, "%s: no call was made", name)
			}
			assert.Len(t, k.sim.Requests(), 1, name)
			assert.Len(t, k.reports, 1, "%s: reports are of calls that were sent", name)
			k.sim.Push(llmsim.Answer{Text: three})
			assert.Len(t, hear(t.Context(), k.predict, conference()).actions, 3, name)
		})
	}
}

// A shorter time does not end a longer one: they come in any order.
func TestTheLongestWaitCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := talking(llmsim.Options{
			Latency: llmsim.Latency{Base: time.Second},
			Answer:  func(llmsim.Request) llmsim.Answer { return llmsim.Limited("2") },
		}, draft.ChatConfig{}, llmsim.Limited("60"))
		defer k.close()
		for range 2 {
			go hear(t.Context(), k.predict, conference())
			time.Sleep(time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		require.Len(t, hear(t.Context(), k.predict, conference()).errs, 1)
		assert.Len(t, k.sim.Requests(), 2)
	})
}
