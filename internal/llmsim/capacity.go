package llmsim

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Capacity is what a server can take at once. The zero Capacity has no limits.
type Capacity struct {
	Slots int // requests served at once; 0: any number
	Queue int // requests that wait for a slot, first come first served; 0: any number, -1: none

	// Full is the status for those that find the queue full. 0: 429.
	Full       int
	RetryAfter string // and its header

	// Cold is how long the first request waits for the model to load, and all
	// that come meanwhile. Idle is after how long without a request the model
	// is unloaded; 0: never.
	Cold time.Duration
	Idle time.Duration
}

var errFull = errors.New("llmsim: the queue is full")

// slots admits requests.
type slots struct {
	capacity Capacity

	// mu guards what follows.
	mu      sync.Mutex
	running int
	queue   []chan struct{} // closed to let one in
	warm    time.Time       // from when on the model is loaded
	left    time.Time       // when the last request left
	max     int
	colds   int
}

// enter waits for a slot, and for the model to be loaded. Who has entered must
// leave.
func (s *slots) enter(ctx context.Context) (leave func(), err error) {
	turn, warm, err := s.line()
	if err != nil {
		return nil, err
	}
	select {
	case <-turn:
	case <-ctx.Done():
		s.giveUp(turn)
		return nil, ctx.Err()
	}
	if err := wait(ctx, time.Until(warm)); err != nil {
		s.leave()
		return nil, err
	}
	return s.leave, nil
}

// line returns what is closed when it is the caller's turn, and from when on
// the model is loaded.
func (s *slots) line() (turn chan struct{}, warm time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn = make(chan struct{})
	busy := s.capacity.Slots > 0 && s.running >= s.capacity.Slots
	if room := s.capacity.Queue; busy && room != 0 && len(s.queue) >= max(0, room) {
		return nil, warm, errFull
	}
	s.load()
	if busy {
		s.queue = append(s.queue, turn)
		return turn, s.warm, nil
	}
	s.start(turn)
	return turn, s.warm, nil
}

// load begins a cold start if it is time for one.
func (s *slots) load() {
	idle := s.running == 0 && s.capacity.Idle > 0 && time.Since(s.left) > s.capacity.Idle
	if s.capacity.Cold > 0 && (s.warm.IsZero() || idle) {
		s.warm = time.Now().Add(s.capacity.Cold)
		s.colds++
	}
}

func (s *slots) start(turn chan struct{}) {
	s.running++
	s.max = max(s.max, s.running)
	close(turn)
}

func (s *slots) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	s.left = time.Now()
	if len(s.queue) > 0 {
		next := s.queue[0]
		s.queue = s.queue[1:]
		s.start(next)
	}
}

// giveUp leaves the queue, or the slot that came at the same moment.
func (s *slots) giveUp(turn chan struct{}) {
	s.mu.Lock()
	i := slices.Index(s.queue, turn)
	if i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 {
		s.leave()
	}
}

func (s *slots) seen() (most, colds int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.max, s.colds
}

// wait lets time pass, until the client leaves.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) turnAway(w http.ResponseWriter, err error) {
	if !errors.Is(err, errFull) {
		s.count(func(stats *Stats) { stats.Abandoned++ })
		return
	}
	s.count(func(stats *Stats) { stats.Refused++ })
	status := s.opts.Capacity.Full
	if status == 0 {
		status = http.StatusTooManyRequests
	}
	if s.opts.Capacity.RetryAfter != "" {
		w.Header().Set("Retry-After", s.opts.Capacity.RetryAfter)
	}
	complain(w, status, "", "Too many requests at once.")
}
