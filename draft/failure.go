package draft

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A failure is the error of a call. Sessions count it by its class.
type failure struct{ err *Error }

func (f *failure) Error() string { return "draft: chat: " + strings.TrimPrefix(f.err.Error(), "llm: ") }

func (f *failure) Unwrap() error { return f.err }

// ErrorClass returns the class of the error.
func (f *failure) ErrorClass() string { return string(f.err.Class) }

// unusable is the class of calls whose answer was whole and of no use.
const unusable Class = "unusable"

// unusable returns an error if the model wrote something and nothing of it was
// a guess. Without it, a draft that is always dropped looks like one that finds
// nothing worth a guess.
func (k *call) unusable() error {
	if len(k.seen) > 0 || len(k.dropped) == 0 {
		return nil
	}
	var why []string
	for _, reason := range slices.Sorted(maps.Keys(k.dropped)) {
		why = append(why, fmt.Sprintf("%s %d", reason, k.dropped[reason]))
	}
	return &Error{Class: unusable, Advice: "the model wrote nothing usable: " + strings.Join(why, ", ")}
}
