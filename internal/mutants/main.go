// Command mutants shows that the tests have teeth: it breaks the code in one
// place at a time, and some test must fail for each. Nothing in the tree is
// changed, for the go command takes the broken file as an overlay.
//
//	go run ./internal/mutants [-run regexp] [-every n] [-jobs n] [-list]
//
// It ends with a line like "mutants: 30 of 30 caught", and with status 1 if one
// survives, does not build, or has no place in the code any more.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"
)

// A mutant is one way to break the code.
type mutant struct {
	name string // what it breaks, as one would say it
	file string // from the root of the repository
	// edits are made one after the other. Each old text must be there exactly
	// once.
	edits []edit
	// tests is a regular expression of those that must fail. If they do not,
	// all tests of their package get their chance.
	tests string
	// in is the folder of the package that has the tests. Empty: the file's.
	in string
}

type edit struct{ old, new string }

// tables are all mutants, by what they break.
var tables = [][]mutant{stateMutants, flightMutants, aheadMutants, sessionMutants, storeMutants, countMutants, hostMutants, suiteMutants, otherMutants}

func main() {
	pattern := flag.String("run", "", "only mutants whose name matches this `regexp`")
	every := flag.Int("every", 1, "only each `n`-th of them")
	jobs := flag.Int("jobs", runtime.NumCPU(), "how many to try at one time")
	list := flag.Bool("list", false, "print the names and stop")
	flag.Parse()
	match, err := regexp.Compile(*pattern)
	if err != nil {
		fail(err)
	}
	selected := choose(match, max(1, *every))
	if len(selected) == 0 {
		fail(fmt.Errorf("no mutant has a name like %q", *pattern))
	}
	if *list {
		for _, m := range selected {
			fmt.Println(m.name)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, selected, *jobs)
	if err != nil {
		fail(err)
	}
	if !ok {
		os.Exit(1)
	}
}

// choose returns every n-th of the mutants whose name matches.
func choose(match *regexp.Regexp, n int) (selected []mutant) {
	matching := 0
	for _, m := range slices.Concat(tables...) {
		if match.MatchString(m.name) {
			if matching%n == 0 {
				selected = append(selected, m)
			}
			matching++
		}
	}
	return selected
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "mutants:", err)
	os.Exit(1)
}

// run tries all mutants and reports whether every one was caught.
func run(ctx context.Context, selected []mutant, jobs int) (ok bool, err error) {
	root, err := rootOf()
	if err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	h := &harness{root: root, scratch: scratch}
	if err := h.prepare(slices.Concat(tables...)); err != nil {
		return false, err
	}
	began := time.Now()
	if err := h.baseline(ctx, selected); err != nil {
		return false, err
	}
	caught := h.all(ctx, selected, max(1, jobs))
	fmt.Printf("took %.0f s\nmutants: %d of %d caught\n", time.Since(began).Seconds(), caught, len(selected))
	return caught == len(selected), nil
}

// rootOf finds the folder with go.work, from the current one upwards.
func rootOf() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := at; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("there is no go.work above %s: run it in the repository", at)
		}
	}
}

// all tries the mutants, some at one time, and returns how many were caught.
func (h *harness) all(ctx context.Context, selected []mutant, jobs int) (caught int) {
	var mu sync.Mutex // guards caught and the output
	var all sync.WaitGroup
	next := make(chan mutant)
	for range jobs {
		all.Go(func() {
			for m := range next {
				v := h.try(ctx, m)
				mu.Lock()
				if v.caught {
					caught++
				}
				fmt.Printf("%-8s %5.1f s  %s  (%s)\n", v.word(), v.took.Seconds(), m.name, v.how)
				mu.Unlock()
			}
		})
	}
	for _, m := range selected {
		next <- m
	}
	close(next)
	all.Wait()
	return caught
}
