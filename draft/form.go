package draft

import (
	"sync"

	"github.com/speccache/speccache-go/internal/llm"
)

// What is found out about a server is believed for so many calls. Then it is
// found out anew: servers are replaced, and models have moods.
const believedFor = 100

// maxIgnored is how many answers in a row may not be in JSON. One may be
// anybody's; it is not to change what all sessions ask for.
const maxIgnored = 3

// forms chooses the form in which a server is asked.
type forms struct {
	mu      sync.Mutex // guards what follows
	lines   int        // calls that are still to be asked for lines
	once    int        // calls whose refusal is still known not to be for their form
	ignored int        // answers in a row that were not in JSON as asked for
}

// next returns the form of a call, and whether a refusal may be for it.
func (f *forms) next(wanted Form) (form Form, doubtful bool) {
	if wanted != FormAuto {
		return wanted, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lines > 0 {
		f.lines--
		return FormLines, false
	}
	if f.once > 0 {
		f.once--
		return FormJSON, false
	}
	return FormJSON, true
}

// answered notes whether an answer was in JSON as asked for. What has been
// decided stays decided until the calls are over; the first one after that
// decides again.
func (f *forms) answered(inJSON bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if inJSON {
		f.ignored = 0
	} else if f.ignored = min(f.ignored+1, maxIgnored); f.ignored == maxIgnored {
		f.lines = believedFor
	}
}

// refused notes what became of the question that was asked again in lines: if
// it was refused as well, that was not for the form.
func (f *forms) refused(again error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if isRefusal(again) {
		f.once = believedFor
	} else {
		f.lines = believedFor
	}
}

// isRefusal reports whether an error may be for the form of a request.
func isRefusal(err error) bool {
	class := llm.Classify(err)
	return class == llm.Unsupported || class == llm.BadRequest
}
