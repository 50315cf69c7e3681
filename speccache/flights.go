package speccache

import (
	"sync"
	"sync/atomic"
)

// flights are the runs that are claimed, by the hash of their key. There are
// few at one time, they come and go, and only misses look: maps under locks do,
// where entries have an index that is read without one.
type flights[O any] [64]flightShard[O]

type flightShard[O any] struct {
	// mu makes a claim one step. Under it the index is read.
	mu     sync.Mutex
	flying map[uint64]*flight[O]
	some   atomic.Bool // flying is not empty: mostly, there is no need to look
}

func (s *flights[O]) of(hash uint64) *flightShard[O] { return &s[hash%uint64(len(s))] }

// find returns the run that has the claim on a key, if there is one.
func (s *flights[O]) find(k *key) *flight[O] {
	hash := k.hash()
	shard := s.of(hash)
	if !shard.some.Load() {
		return nil
	}
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if f := shard.flying[hash]; f != nil && f.key == *k {
		return f
	}
	return nil
}

// release ends f's claim on its key, if it has it.
func (s *flights[O]) release(f *flight[O]) {
	hash := f.key.hash()
	shard := s.of(hash)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.flying[hash] == f {
		delete(shard.flying, hash)
		shard.some.Store(len(shard.flying) > 0)
	}
}

// all returns the runs that are claimed now.
func (s *flights[O]) all() (list []*flight[O]) {
	for i := range s {
		s[i].mu.Lock()
		for _, f := range s[i].flying {
			list = append(list, f)
		}
		s[i].mu.Unlock()
	}
	return list
}
