package speccache

import "sync"

// workers run functions on goroutines, of which a few wait for the next one: a
// new goroutine has a small stack, and to let it grow costs a step as much as a
// guess.
type workers struct {
	idle chan func() // received from by workers that wait; closed by close

	busy sync.WaitGroup // functions: who calls run has added it
	all  sync.WaitGroup // goroutines

	mu      sync.Mutex // guards what follows
	waiting int
	closed  bool
}

// maxIdle is how many wait. A cache has as many goroutines when it is at rest,
// however many sessions it has.
const maxIdle = 4

func (w *workers) run(do func()) {
	select {
	case w.idle <- do:
	default:
		w.all.Add(1)
		go w.work(do)
	}
}

// work runs a function, and more if it may. A function that calls Goexit takes
// its worker with it.
func (w *workers) work(do func()) {
	defer w.all.Done()
	for do != nil {
		w.do(do)
		do = w.wait()
	}
}

func (w *workers) do(do func()) {
	defer w.busy.Done()
	do()
}

// wait returns the next function, or nil if there are others to wait for it.
func (w *workers) wait() func() {
	if !w.count(1) {
		return nil
	}
	defer w.count(-1)
	return <-w.idle
}

func (w *workers) count(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 && (w.closed || w.waiting >= maxIdle) {
		return false
	}
	w.waiting += n
	return true
}

// close ends the workers. Nothing may be run any more.
func (w *workers) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	close(w.idle)
	w.all.Wait()
}
