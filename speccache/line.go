package speccache

import "sync"

// lines are the guesses of a draft that wait for a place at their host: one line
// for each host, in which the likelier guess stands first.
type lines[O any] struct {
	// mu guards of, in which a host is for as long as somebody sees to its line.
	mu sync.Mutex
	of map[string][]*flight[O]
}

// add puts f at the end of its host's line, and reports whether it is alone
// there.
func (l *lines[O]) add(f *flight[O]) (alone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string][]*flight[O]{}
	}
	l.of[f.host] = append(l.of[f.host], f)
	return len(l.of[f.host]) == 1
}

// next takes f out, which has had its turn, and returns who stood behind it, or
// nil. That one has waited for the same.
func (l *lines[O]) next(f *flight[O]) *flight[O] {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.of[f.host][1:]
	if len(line) == 0 {
		delete(l.of, f.host)
		return nil
	}
	l.of[f.host], line[0].short = line, f.short
	return line[0]
}

// queue puts f in line. Who is first there has a goroutine see to the line, so
// that guesses at other hosts need not wait for it.
func (d *draft[O]) queue(f *flight[O]) {
	d.later = true
	if !d.lines.add(f) {
		return
	}
	d.runs.Go(func() error {
		for ; f != nil; f = d.lines.next(f) {
			if placed, _ := d.place(f, true); placed {
				d.run(f)
			}
		}
		return nil
	})
}

func (d *draft[O]) run(f *flight[O]) {
	d.runs.Go(func() error {
		d.s.c.runAhead(f)
		return nil // siblings go on, whatever happened
	})
}
