package draft

import (
	"fmt"
	"sync"
	"time"

	"github.com/speccache/speccache-go/internal/llm"
)

// maxHold is how long a server can keep requests back, whatever it asks for.
const maxHold = 5 * time.Minute

// A hold keeps requests back for as long as a server has asked to wait.
type hold struct {
	mu     sync.Mutex // guards what follows
	until  time.Time
	reason llm.Class
}

// note reads how long an error asks to wait.
func (h *hold) note(err error) {
	e := llm.Explain(err)
	if e == nil || e.RetryAfter <= 0 {
		return
	}
	until := time.Now().Add(min(e.RetryAfter, maxHold))
	h.mu.Lock()
	defer h.mu.Unlock()
	if until.After(h.until) {
		h.until, h.reason = until, e.Class
	}
}

// check returns an error as long as requests are held back.
func (h *hold) check() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := time.Until(h.until)
	if left <= 0 {
		return nil
	}
	return &failure{&Error{
		Class:      h.reason,
		Advice:     fmt.Sprintf("the server has asked to wait: nothing is sent for another %v", (left + time.Second - 1).Truncate(time.Second)),
		RetryAfter: left,
	}}
}
