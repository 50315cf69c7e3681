package speccache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/require"
)

// TestOneScopeCannotTellWhatAnotherKeeps has an attacker fill its share, and look
// afterwards what of it is gone. The victim may have been active meanwhile: with
// reads, guesses, writes, as much as it likes.
func TestOneScopeCannotTellWhatAnotherKeeps(t *testing.T) {
	const share = 32 << 10
	twoScopes(t, func(t *testing.T, attacker string) (peeks []peek) {
		bubble(t, func(t *testing.T) {
			e := env{Do: sizes, Rules: actions.Rules{"get": {Effect: actions.ReadOnly, Ahead: true}, "put": {Effect: actions.Write}}}
			c, err := speccache.New(e, config{MaxBytes: 2 * share, MaxScopeBytes: share, MaxAheadSession: 100, MaxAhead: 1000})
			require.NoError(t, err)
			defer c.Close()
			r := rand.New(rand.NewPCG(1, 2))
			v := c.Open(opening{Scope: "victim"})
			defer v.Close()
			for i := range tries(1000) {
				s := c.Open(opening{Scope: attacker})
				s.Advance() // what an earlier try has left there is of no use
				// All tries are alike, but for the victim.
				mine := rand.New(rand.NewPCG(3, 4))
				var own []actions.Action
				for j := range 60 {
					a := sized(mine.IntN(1200), i*1000+j)
					if own = append(own, a); mine.IntN(3) == 0 {
						s.Speculate(t.Context(), a)
					} else {
						must(t, s, a)
					}
					synctest.Wait()
					if mine.IntN(2) == 0 {
						s.Lookup(own[mine.IntN(len(own))])
					}
				}
				used := r.IntN(2) == 0
				for j := 0; used && j < 60+r.IntN(60); j++ {
					a := sized(r.IntN(3000), -i*1000-j-1)
					switch r.IntN(8) {
					case 0:
						v.Speculate(t.Context(), a)
					default:
						must(t, v, a)
					}
				}
				must(t, s, sized(1000, i*1000+100))
				synctest.Wait()
				var saw strings.Builder
				for _, a := range own {
					e, reason := s.Lookup(a)
					fmt.Fprint(&saw, e.Observation != "", e.Revision(), reason, ",")
				}
				peeks = append(peeks, peek{saw.String(), used})
				s.Close()
			}
			speccache.CheckStore(t, c)
		})
		return peeks
	})
}

// TestOneScopeCannotTellHowManyRunsOfAnotherHang has a victim take what permits
// it can get.
func TestOneScopeCannotTellHowManyRunsOfAnotherHang(t *testing.T) {
	twoScopes(t, func(t *testing.T, attacker string) (peeks []peek) {
		bubble(t, func(t *testing.T) {
			w := &tool{takes: time.Second}
			c, err := speccache.New(obedient(w), config{MaxAhead: 20, MaxAheadSession: 10})
			require.NoError(t, err)
			defer c.Close()
			r := rand.New(rand.NewPCG(1, 2))
			for i := range tries(500) {
				release := make(chan struct{})
				used := r.IntN(2) == 0
				v, s := c.Open(opening{Scope: "victim"}), c.Open(opening{Scope: attacker})
				for j := 0; used && j < 1+r.IntN(30); j++ {
					v.Speculate(context.WithValue(t.Context(), untilReleased, release), get(fmt.Sprint("hung", i, j)))
				}
				synctest.Wait()
				runs := len(w.ran())
				for j := range 10 {
					s.Speculate(t.Context(), get(fmt.Sprint(i, j)))
				}
				synctest.Wait()
				saw := []any{len(w.ran()) - runs}
				after(1500 * time.Millisecond)
				st := s.Stats()
				peeks = append(peeks, peek{fmt.Sprint(append(saw, st.Speculated, st.Wasted, st.Guesses)...), used})
				close(release)
				v.Close()
				s.Close()
				synctest.Wait()
			}
		})
		return peeks
	})
}

// TestOneScopeCannotTellThatAnotherIsActive has an attacker look an entry up
// around the end of its life. The cache's clock is not read exactly for each
// lookup.
func TestOneScopeCannotTellThatAnotherIsActive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const life = 10 * time.Second
		e := env{Do: (&tool{}).do, Rules: actions.Rules{"get": {Effect: actions.ReadOnly, MaxAge: life}}}
		c, err := speccache.New(e, config{})
		require.NoError(t, err)
		defer c.Close()
		v, s := c.Open(opening{Scope: "victim"}), c.Open(opening{Scope: "attacker"})
		defer v.Close()
		defer s.Close()
		r := rand.New(rand.NewPCG(1, 2))
		var peeks []peek
		for range 2000 {
			used := r.IntN(2) == 0
			must(t, s, get(1))
			after(life - time.Duration(r.IntN(100))*time.Millisecond)
			if used {
				v.Lookup(get(2))
			}
			after(time.Duration(r.IntN(100)) * time.Millisecond)
			began := time.Now()
			entry, reason := s.Lookup(get(1))
			peeks = append(peeks, peek{fmt.Sprint(entry.Age()/(10*time.Millisecond), reason, time.Since(began)), used})
			after(life)
		}
		blind(t, peeks)
	})
}
