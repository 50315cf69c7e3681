//go:build !race

package speccache_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/stretchr/testify/assert"
)

// TestOneScopeCannotTellByTheTimeOfALookup is about real time, of single lookups:
// the victim has used half of the keys, and the attacker asks for all of them in
// no order. The bars are wide, for a machine that does other things. The race
// detector would take most of the time.
func TestOneScopeCannotTellByTheTimeOfALookup(t *testing.T) {
	took := func(attacker string) float64 {
		c, v := open(t, gets(&tool{}), config{})
		s := v
		if attacker != "test" {
			s = c.Open(opening{Scope: attacker})
			defer s.Close()
		}
		r := rand.New(rand.NewPCG(1, 2))
		type key struct {
			a    actions.Action
			used bool
		}
		keys := make([]key, 10_000)
		for i := range keys {
			keys[i] = key{get(i), i%2 == 0}
			if keys[i].used {
				must(t, v, get(i))
			}
		}
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		times := make([]time.Duration, len(keys))
		for i, k := range keys {
			times[i] = time.Hour
			for range 5 { // most of what else there is to do goes by
				began := time.Now()
				s.Lookup(k.a)
				times[i] = min(times[i], time.Since(began))
			}
		}
		edges := slices.Sorted(slices.Values(times))
		peeks := make([]peek, len(keys))
		for i, k := range keys { // by the twentieth that it falls into
			at, _ := slices.BinarySearch(edges, times[i])
			peeks[i] = peek{fmt.Sprint(20 * at / len(edges)), k.used}
		}
		return auc(peeks)
	}
	apart, together := took("attacker"), took("test")
	t.Logf("in another scope: AUC %.3f; in the same: %.3f", apart, together)
	assert.InDelta(t, 0.5, apart, 0.06)
	assert.Greater(t, together, 0.75)
}
