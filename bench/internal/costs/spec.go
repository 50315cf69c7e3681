package costs

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
)

// What a visit and a download bring.
const (
	visitBytes    = 1 << 10
	downloadBytes = 64 << 10
)

// open makes a cache with a session for each goroutine, in one scope.
func open(cpus int) (c *speccache.Cache[*page], sessions []*speccache.Session[*page], err error) {
	cfg := config()
	cfg.MaxAheadSession = speccache.DefaultMaxAhead // guesses of one call all run at once
	env := actions.Environment[*page]{
		Rules: rules,
		Do: func(_ context.Context, a actions.Action) (*page, error) {
			if a.Name() == download {
				return &page{bytes: downloadBytes}, nil
			}
			return &page{bytes: visitBytes}, nil
		},
		Size: func(p *page) int { return p.bytes },
	}
	if c, err = speccache.New(env, cfg); err != nil {
		return nil, nil, err
	}
	for range cpus {
		sessions = append(sessions, c.Open(speccache.SessionConfig[*page]{Scope: "bench"}))
	}
	return c, sessions, nil
}

// residentAndMiss makes a reader of what was read before, and one of what
// nobody has run, from one cache.
func residentAndMiss(ctx context.Context, cpus int) ([]reader, func(), error) {
	c, sessions, err := open(cpus)
	if err != nil {
		return nil, func() {}, err
	}
	done := func() { c.Close() }
	links := visits(0, HotKeys)
	if err := fill(ctx, sessions[0], links); err != nil {
		return nil, done, err
	}
	hits := func(keys [][]actions.Action) func(g, i int) (wrong int) {
		return func(g, i int) (wrong int) {
			s := sessions[g]
			for _, a := range chunkOf(keys[g], i) {
				if _, reason := s.Lookup(a); reason != "" {
					wrong++
				}
			}
			return wrong
		}
	}
	hot, anew := orders(links, cpus), orders(visits(0, HotKeys), cpus)
	absent := orders(visits(HotKeys, HotKeys), cpus)
	return []reader{
		{name: resident, chunk: hits(hot)},
		{name: residentAnew, chunk: hits(anew)},
		{name: miss, chunk: func(g, i int) (wrong int) {
			s := sessions[g]
			for _, a := range chunkOf(absent[g], i) {
				if _, reason := s.Lookup(a); reason == "" {
					wrong++
				}
			}
			return wrong
		}},
	}, done, nil
}

// fill reads the hot actions. As in a cache at work, a quarter of them stays in
// the window, and the others have been pushed out of it.
func fill(ctx context.Context, s *speccache.Session[*page], hot []actions.Action) error {
	list := slices.Clone(hot[:HotKeys*3/4])
	for i := range speccache.DefaultMaxBytes / 8 / downloadBytes {
		list = append(list, action(download, i))
	}
	for _, a := range append(list, hot[HotKeys*3/4:]...) {
		if _, err := s.Do(ctx, a); err != nil {
			return err
		}
	}
	for _, a := range hot {
		if e, reason := s.Lookup(a); reason != "" || e.Ahead {
			return errNotFilled
		}
	}
	return nil
}

// stagedGuesses makes a reader of what has just run ahead and was never read.
// It is staged a chunk at a time: what a whole pass stages would have left the
// CPU's caches before it is read, where the other readers' keys still are.
func stagedGuesses(_ context.Context, cpus int) ([]reader, func(), error) {
	c, sessions, err := open(cpus)
	if err != nil {
		return nil, func() {}, err
	}
	// Each can be read first by one session only.
	guesses, mine := make([][]actions.Action, cpus), make([][]actions.Action, cpus)
	for g := range cpus {
		guesses[g] = visits(g*HotKeys, HotKeys)
		for i := range chunks {
			mine[g] = append(mine[g], orders(chunkOf(guesses[g], i), 1)[0]...)
		}
	}
	read := reader{
		name: staged,
		prepare: func(ctx context.Context, i int) error {
			if i == 0 {
				sessions[0].Advance() // hides those of the last pass
			}
			for g, s := range sessions {
				if err := stage(ctx, s, chunkOf(guesses[g], i)); err != nil {
					return err
				}
			}
			return nil
		},
		chunk: func(g, i int) (wrong int) {
			s := sessions[g]
			for _, a := range chunkOf(mine[g], i) {
				if e, _ := s.Lookup(a); !e.Ahead {
					wrong++
				}
			}
			return wrong
		},
	}
	return []reader{read}, func() { c.Close() }, nil
}

// maxSpeculate is how many guesses one call of Speculate takes.
const maxSpeculate = 64

// stage runs guesses ahead, and returns when all have landed.
func stage(ctx context.Context, s *speccache.Session[*page], guesses []actions.Action) error {
	for some := range slices.Chunk(guesses, maxSpeculate) {
		before := landed(s)
		s.Speculate(ctx, some...)
		if err := until(ctx, func() bool { return landed(s) >= before+int64(len(some)) }); err != nil {
			return err
		}
	}
	return nil
}

// landed is how many runs ahead have ended, and can be found.
func landed(s *speccache.Session[*page]) int64 {
	st := s.Stats()
	return st.Used + st.Wasted
}

// patience is how long until waits for what takes microseconds.
const patience = 10 * time.Second

var errNever = errors.New("guesses did not land")

// until lets other goroutines run until something is so.
func until(ctx context.Context, so func() bool) error {
	for began := time.Now(); !so(); runtime.Gosched() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Since(began) > patience {
			return fmt.Errorf("%w within %v", errNever, patience)
		}
	}
	return nil
}
