package speccache

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Classes of draft failures, beside those that errors state themselves by a
// method ErrorClass() string.
const (
	classPanic   = "panic"
	classGoexit  = "goexit"
	classTimeout = "timeout"
	classOther   = "other"
)

// maxClasses is how many classes are told apart; the rest are classOther.
const maxClasses = 32

var errPredictor = errors.New("speccache: the predictor panicked")

// classOf finds the class of a draft's error, which is somebody else's.
func classOf(err error) (class string) {
	defer func() {
		if recover() != nil {
			class = classPanic
		}
	}()
	var stated interface{ ErrorClass() string }
	switch {
	case errors.Is(err, errPredictor):
		return classPanic
	case err == errAborted:
		return classGoexit
	case errors.As(err, &stated):
		return clip(stated.ErrorClass(), maxSource)
	case errors.Is(err, context.DeadlineExceeded):
		return classTimeout
	}
	return classOther
}

// failures counts by class. Its owner's lock guards it.
type failures map[string]int64

func (f *failures) add(class string) {
	f.addUpTo(maxClasses, class)
}

func (f *failures) addUpTo(most int, class string) {
	if *f == nil {
		*f = failures{}
	}
	if _, known := (*f)[class]; !known && len(*f) >= most {
		class = classOther
	}
	(*f)[class]++
}

// maxRules is how many rules of refusals are told apart.
const maxRules = 64

// ruleOf returns the rule that an error of somebody else's names, or "".
func ruleOf(err error) (rule string) {
	defer func() {
		if recover() != nil {
			rule = ""
		}
	}()
	var refusal interface{ RefusalRule() string }
	if errors.As(err, &refusal) {
		rule = clip(refusal.RefusalRule(), maxSource)
	}
	return rule
}

// refused counts a refusal by its rule. Nothing may be locked.
func (s *Session[O]) refused(rule string) {
	s.note(func(t *trouble) { t.refusals.addUpTo(maxRules, rule) })
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.refusals.addUpTo(maxRules, rule)
}

// draftFailed counts a draft's failure and says so, in the log not more often
// than once a minute.
func (s *Session[O]) draftFailed(err error) (class string) {
	class = classOf(err)
	text := brief(err)
	s.count(cDraftsFailed, 1)
	s.note(func(t *trouble) {
		t.draft = text
		t.failures.add(class)
	})
	s.c.mu.Lock()
	s.c.failures.add(class)
	now := s.c.now()
	quiet := s.c.warned != 0 && now-s.c.warned < warnEvery
	if !quiet {
		s.c.warned = max(now, 1)
	}
	s.c.mu.Unlock()
	if !quiet {
		s.warn("a draft failed; the target is not affected", s.c.errText(err), slog.String("class", class))
	}
	return class
}

const warnEvery = time.Minute

// warn writes one line to the log, on a goroutine that Close waits for: what a
// handler does is no part of the agent. Nothing may be locked.
func (s *Session[O]) warn(what, detail string, more ...slog.Attr) {
	log := s.c.cfg.Logger
	if log == nil {
		return
	}
	attrs := append([]slog.Attr{
		slog.Uint64("session", s.id), slog.Int64("step", s.begun.Load()), slog.String("detail", detail),
	}, more...)
	s.c.spawn(func() {
		defer func() { recover() }()
		log.LogAttrs(context.Background(), slog.LevelWarn, "speccache: "+what, attrs...)
	})
}
