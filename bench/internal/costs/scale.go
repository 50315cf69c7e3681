package costs

import (
	"context"
	"runtime"
	"strconv"
	"time"

	"github.com/speccache/speccache-go/speccache"
)

// ScaleConfig is what Scale may be told.
type ScaleConfig struct {
	Sessions []int // how many are open, for each point
	Rounds   int
}

// A ScaleReport says what open sessions cost.
type ScaleReport struct {
	Points []ScalePoint `json:"points"`
	// Growth is the time of a step at the last point over that at the first.
	Growth float64 `json:"growth"`
	Rounds int     `json:"rounds"`
}

// A ScalePoint is what so many open sessions cost.
type ScalePoint struct {
	Sessions            int     `json:"sessions"`
	NSPerStep           float64 `json:"ns_per_step"`
	BytesPerIdleSession float64 `json:"bytes_per_idle_session"`
	Goroutines          int     `json:"goroutines"` // of the cache with all its sessions
}

const (
	stepsBefore = 10        // that a session has made when it is idle
	scaleBytes  = 256 << 10 // of a cache, which is full before its sessions are opened
	fillSteps   = 10 * scaleBytes / (512 * (1 + guessesPerStep))
)

// Scale measures an idle session, and a step while many are open.
func Scale(ctx context.Context, cfg ScaleConfig) (*ScaleReport, error) {
	defer atCPUs(2)()
	report := &ScaleReport{Rounds: cfg.Rounds}
	var subjects []subject
	for i, n := range cfg.Sessions {
		crowd, err := newCrowd(ctx, n)
		if err != nil {
			return nil, err
		}
		defer crowd.cache.Close()
		report.Points = append(report.Points, crowd.point)
		subjects = append(subjects, subject{strconv.Itoa(i), crowd.measure})
	}
	times, err := interleave(ctx, cfg.Rounds, subjects...)
	if err != nil {
		return nil, err
	}
	for i, s := range subjects {
		report.Points[i].NSPerStep = round(times.median(s.name), 0)
	}
	first, last := subjects[0].name, subjects[len(subjects)-1].name
	report.Growth = round(times.median(last)/times.median(first), 3)
	return report, nil
}

// A crowd is many sessions of one cache, each with a scope of its own.
type crowd struct {
	*stepper
	sessions []*speccache.Session[*page]
	turn     int // whose step is next
	point    ScalePoint
}

// newCrowd opens n sessions, lets each make some steps, and measures what they
// hold when they are idle.
func newCrowd(ctx context.Context, n int) (*crowd, error) {
	goroutines := runtime.NumGoroutine()
	st, err := newStepper(scaleBytes, func(*page) int { return 0 })
	if err != nil {
		return nil, err
	}
	c := &crowd{stepper: st}
	if err := c.fill(ctx); err != nil {
		st.cache.Close()
		return nil, err
	}
	before := c.heap()
	c.sessions, c.turn = make([]*speccache.Session[*page], n), 0
	for i := range c.sessions {
		c.sessions[i] = c.cache.Open(speccache.SessionConfig[*page]{Scope: "user " + strconv.Itoa(i)})
	}
	if err := c.walk(ctx, stepsBefore*n); err != nil {
		st.cache.Close()
		return nil, err
	}
	c.point = ScalePoint{
		Sessions:            n,
		BytesPerIdleSession: round(float64(c.heap()-before)/float64(n), 0),
		Goroutines:          runtime.NumGoroutine() - goroutines,
	}
	return c, nil
}

// fill brings the cache to the state in which it stays: full, which takes more
// scopes than one, and with all that a first step makes.
func (c *crowd) fill(ctx context.Context) error {
	c.sessions = nil
	for i := range 8 {
		s := c.cache.Open(speccache.SessionConfig[*page]{Scope: "nobody " + strconv.Itoa(i)})
		defer s.Close()
		c.sessions = append(c.sessions, s)
	}
	return c.walk(ctx, fillSteps)
}

// walk makes so many steps, spread over the sessions.
func (c *crowd) walk(ctx context.Context, n int) error {
	for n > 0 {
		some := min(n, 10*stepsPerBatch)
		if _, err := c.steps(ctx, some); err != nil {
			return err
		}
		n -= some
	}
	return nil
}

func (c *crowd) measure(ctx context.Context) (float64, error) { return c.steps(ctx, stepsPerBatch) }

// steps returns the time of one of n steps. Each action is new: it is a miss,
// and so are its guesses. So the steps of many sessions are the same as those
// of few.
func (c *crowd) steps(ctx context.Context, n int) (float64, error) {
	c.prepare(n)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return timed(n, func() (time.Duration, error) {
		c.turn++
		return c.step(ctx, c.sessions[c.turn%len(c.sessions)])
	})
}

// heap returns the bytes in use, without the moves that were made.
func (c *crowd) heap() int64 {
	c.plan, c.now = nil, move{}
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools held survives one
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
