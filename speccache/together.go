package speccache

import (
	"context"
	"slices"
	"sync"

	"github.com/speccache/speccache-go/actions"
)

// RunAll is Run for the parallel tool calls of one reply: it runs all actions
// at once, as one step in the order given, and returns what came of them in
// that order. All refer to what was in view before, also where one is a hit and
// takes no time, which calls of Run on goroutines of the caller's could not
// promise. Panics of executors are the caller's.
func (s *Session[O]) RunAll(ctx context.Context, list ...actions.Action) ([]Result[O], []error) {
	results, errs := make([]Result[O], len(list)), make([]error, len(list))
	ends := make([]ending[struct{}], len(list))
	asked := s.c.now()
	list, local := slices.Clone(list), make([]bool, len(list))
	for i, a := range list { // before any call begins, for Resolve may panic
		if resolved, ok := s.local(a); ok {
			list[i], local[i] = resolved, true
		}
	}
	calls := make([]*call[O], len(list))
	for i := range list { // all begin before any ends
		if !local[i] {
			calls[i] = s.begin(asked)
		}
	}
	var all sync.WaitGroup
	for i, a := range list {
		all.Go(func() {
			run := func() (struct{}, error) {
				results[i], errs[i] = s.answer(ctx, a, calls[i], asked)
				return struct{}{}, nil
			}
			try(run, func(e ending[struct{}]) { ends[i] = e })
		})
	}
	all.Wait()
	for _, e := range ends {
		e.repeat()
	}
	return results, errs
}
