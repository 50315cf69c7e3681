package hitratio

import (
	"container/list"
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/dgraph-io/ristretto/v2"
	"github.com/maypok86/otter/v2"
	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
)

// A policy is a cache that decides what to keep. Its entries all have the same
// size.
type policy interface {
	// request reports whether a thing is there. If it is not, it is read and
	// offered to the cache.
	request(thing int) (hit bool)
	close()
}

// A budget is what each cache may hold.
type budget struct {
	entries   int
	entryCost int64 // in bytes, all included
}

func (b budget) bytes() int64 { return int64(b.entries) * b.entryCost }

// policies makes the caches that are compared.
var policies = map[string]func(budget) (policy, error){
	Spec: newSpec, Ristretto: newRistretto, Otter: newOtter, LRU: newLRU,
}

// Names of policies.
const (
	Spec      = "speccache"
	Ristretto = "ristretto"
	Otter     = "otter"
	LRU       = "lru"
)

// overhead is what SpecCache counts for an entry beside its observation and the
// arguments of its action. The others are told that theirs cost as much.
const overhead = 512

// argsBytes is how long the arguments of actionOf are.
var argsBytes = int64(len(actionOf(0).Args()))

// spec is SpecCache, asked through Do.
type spec struct {
	cache   *speccache.Cache[int]
	session *speccache.Session[int]
	actions map[int]actions.Action
}

func newSpec(b budget) (policy, error) {
	observation := int(b.entryCost - overhead - argsBytes)
	env := actions.Environment[int]{
		Do:    func(context.Context, actions.Action) (int, error) { return 0, nil },
		Rules: actions.Rules{"read": {Effect: actions.ReadOnly, MaxAge: 24 * time.Hour}},
		Size:  func(int) int { return observation },
	}
	c, err := speccache.New(env, speccache.Config[int]{MaxBytes: b.bytes(), MaxScopeBytes: b.bytes()})
	if err != nil {
		return nil, err
	}
	return &spec{c, c.Open(speccache.SessionConfig[int]{Scope: "bench"}), map[int]actions.Action{}}, nil
}

func actionOf(thing int) actions.Action {
	return actions.Must("read", fmt.Sprintf("thing %08d", thing))
}

func (s *spec) request(thing int) bool {
	a, ok := s.actions[thing]
	if !ok {
		a = actionOf(thing)
		s.actions[thing] = a
	}
	r, err := s.session.Run(context.Background(), a)
	runtime.Gosched() // ristretto's goroutines do what they were told
	return err == nil && r.Outcome == speccache.Hit
}

func (s *spec) close() { s.cache.Close() }

// bareRistretto is what a program that uses ristretto with care does: it waits
// for each Set. It is not asked for a cost of its own.
type bareRistretto struct {
	*ristretto.Cache[uint64, int]
	cost int64
}

func newRistretto(b budget) (policy, error) {
	c, err := ristretto.NewCache(&ristretto.Config[uint64, int]{
		NumCounters: 10 * int64(b.entries), MaxCost: b.bytes(), BufferItems: 64, IgnoreInternalCost: true,
	})
	return bareRistretto{c, b.entryCost}, err
}

func (c bareRistretto) request(thing int) bool {
	k := scatter(thing)
	_, ok := c.Get(k)
	if !ok {
		c.Set(k, thing, c.cost)
		c.Wait()
	}
	runtime.Gosched()
	return ok
}

func (c bareRistretto) close() { c.Close() }

// scatter makes keys without a pattern: ristretto uses integers as their own
// hashes.
func scatter(n int) uint64 {
	x := uint64(n) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

type bareOtter struct{ *otter.Cache[uint64, int] }

func newOtter(b budget) (policy, error) {
	c, err := otter.New(&otter.Options[uint64, int]{
		MaximumWeight: uint64(b.bytes()),
		Weigher:       func(uint64, int) uint32 { return uint32(b.entryCost) },
		Executor:      func(run func()) { run() },
	})
	return bareOtter{c}, err
}

func (c bareOtter) request(thing int) bool {
	k := scatter(thing)
	_, ok := c.GetIfPresent(k)
	if !ok {
		c.Set(k, thing)
		c.CleanUp()
	}
	return ok
}

func (c bareOtter) close() {}

// lru evicts what was not asked for the longest.
type lru struct {
	max    int
	recent list.List // of things, the latest first
	places map[int]*list.Element
}

func newLRU(b budget) (policy, error) {
	return &lru{max: b.entries, places: map[int]*list.Element{}}, nil
}

func (c *lru) request(thing int) bool {
	if at, ok := c.places[thing]; ok {
		c.recent.MoveToFront(at)
		return true
	}
	c.places[thing] = c.recent.PushFront(thing)
	if c.recent.Len() > c.max {
		delete(c.places, c.recent.Remove(c.recent.Back()).(int))
	}
	return false
}

func (c *lru) close() {}
