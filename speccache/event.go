package speccache

import (
	"sync/atomic"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// EventKind says what an event is about.
type EventKind string

const (
	// EventAction: the target's action has ended.
	EventAction EventKind = "action"
	// EventAhead: a guess has started to run.
	EventAhead EventKind = "ahead"
	// EventLanded: a run ahead has ended.
	EventLanded EventKind = "landed"
	// EventRefused: a guess does not run; Err says why.
	EventRefused EventKind = "refused"
	// EventDraft: the predictor has ended, or was stopped.
	EventDraft EventKind = "draft"
	// EventLimit: one of Config's Limits was reached, for the first time.
	EventLimit EventKind = "limit"
	// EventUndeclared: the session met an action without a rule, for the first
	// time by that name. It is the likeliest reason for a hit rate of zero.
	EventUndeclared EventKind = "undeclared"
	// EventModelVersion: a session's model version has changed.
	EventModelVersion EventKind = "model version"
	// EventRenewal: Environment.Renew was asked; Err says why there was no
	// answer, Changed that the observation is a new one.
	EventRenewal EventKind = "renewal"
	// EventAdvance: what a scope has read so far is hidden.
	EventAdvance EventKind = "advance"
)

// An Event tells what happened. Fields that do not belong to its kind are
// zero.
type Event struct {
	Kind    EventKind
	Time    time.Time
	Scope   string
	Session uint64
	Step    int64 // how many steps the session had begun

	Action string // its name; empty if there is none
	Args   string // its arguments, if Config.ShowArgs

	// Of the target's actions.
	Outcome  Outcome
	Reason   Reason
	Ahead    bool // first reading of something that ran ahead
	Revision uint64
	Waited   time.Duration
	Hidden   time.Duration

	// Changed: of renewals.
	Changed bool

	// ModelVersion is the new one.
	ModelVersion string

	// Of guesses: which predictor, and 1 for its step's first.
	Source string
	Rank   int
	Took   time.Duration // of runs that landed, and of drafts

	// Of drafts: what they cost, and the class of their failure.
	Usage actions.Usage
	Class string

	// Limit is the field of Config that was reached, such as
	// "SessionLimits.DraftCalls".
	Limit string

	// Rule is by which rule a guess was refused, or a run ahead has ended, if
	// the error names one; see Stats.Refusals.
	Rule string

	// Err is the failure of an action, a run ahead or a draft, or why a guess
	// was refused. Texts of tools may hold what a user typed: without
	// Config.ShowArgs it is only the error's type.
	Err string
}

// eventBuffer is how far OnEvent may be behind.
const eventBuffer = 4096

// events hands events to a hook, in order, on one goroutine.
type events struct {
	queue   chan Event
	stop    chan struct{}
	done    chan struct{}
	dropped atomic.Int64
}

// newEvents starts the goroutine; close ends it. Without a hook there is
// nothing to do, and the result is nil.
func newEvents(hook func(Event)) *events {
	if hook == nil {
		return nil
	}
	e := &events{
		queue: make(chan Event, eventBuffer),
		stop:  make(chan struct{}),
		done:  make(chan struct{}),
	}
	go e.deliver(hook)
	return e
}

func (e *events) deliver(hook func(Event)) {
	over := false
	defer func() {
		if over {
			close(e.done)
			return
		}
		e.dropped.Add(1) // the hook called Goexit
		go e.deliver(hook)
	}()
	for {
		select {
		case ev := <-e.queue:
			e.call(hook, ev)
			continue
		case <-e.stop:
		}
		for { // what was sent before the stop
			select {
			case ev := <-e.queue:
				e.call(hook, ev)
			default:
				over = true
				return
			}
		}
	}
}

// call survives a hook that panics: the hook is no part of the agent.
func (e *events) call(hook func(Event), ev Event) {
	defer func() {
		if recover() != nil {
			e.dropped.Add(1)
		}
	}()
	hook(ev)
}

// send never blocks.
func (e *events) send(ev Event) {
	select {
	case <-e.stop:
		e.dropped.Add(1)
		return
	default:
	}
	select {
	case e.queue <- ev:
	default:
		e.dropped.Add(1)
	}
}

// close delivers what was sent and waits for the hook to return.
func (e *events) close() {
	close(e.stop)
	<-e.done
}
