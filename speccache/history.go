package speccache

import "github.com/speccache/speccache-go/actions"

// What a session keeps of its steps: the actions of the last maxSteps, and the
// observations of the last maxObservations of them, up to as many more of both
// before it lets go of the oldest.
const (
	maxSteps        = 32
	maxObservations = 8
)

// A history is what a session remembers of its steps, for predictors. Its
// session's mu guards it.
type history[O any] struct {
	steps  []actions.Step[O] // what states show
	sizes  []int64           // of their observations; 0 once let go of
	bytes  int64             // the sum
	shared bool              // there may be states that share steps
}

// add appends a step.
func (h *history[O]) add(step actions.Step[O], size int64) {
	h.steps = append(h.steps, step)
	h.sizes = append(h.sizes, size)
	h.bytes += size
}

// show returns the steps for a state. Nobody changes them any more.
func (h *history[O]) show() []actions.Step[O] {
	h.shared = true
	n := len(h.steps)
	return h.steps[:n:n]
}

// trim lets go of what is too old, or too much, and always keeps the newest
// observation. States share the steps: if there are any, it takes a copy.
func (h *history[O]) trim(maxBytes int64) {
	if len(h.steps) < maxSteps+maxObservations && h.bytes <= maxBytes {
		return
	}
	old := max(0, len(h.steps)-maxSteps)
	steps := h.steps[:len(h.steps)-old]
	if h.shared {
		steps = make([]actions.Step[O], len(steps), maxSteps+maxObservations)
	}
	copy(steps, h.steps[old:])
	if !h.shared {
		clear(h.steps[len(steps):])
	}
	sizes := h.sizes[:copy(h.sizes, h.sizes[old:])]

	var forgotten O
	h.bytes = 0
	for i, newer := len(steps)-1, 0; i >= 0; i, newer = i-1, newer+1 {
		if newer > 0 && (newer >= maxObservations || h.bytes+sizes[i] > maxBytes) {
			maxBytes = 0 // nor anything older
			steps[i].Observation, sizes[i] = forgotten, 0
			continue
		}
		h.bytes += sizes[i]
	}
	h.steps, h.sizes, h.shared = steps, sizes, false
}
