package speccache

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/speccache/speccache-go/actions"
)

// Mode says what a cache does. It can change at any time, see
// [Cache.SetMode].
type Mode int32

const (
	// On guesses, runs ahead, remembers and serves.
	On Mode = iota
	// Shadow guesses, and counts what would have been hit, but runs nothing
	// ahead and serves nothing: every action runs when the target asks. It is
	// for trying a predictor in production. Drafts cost what they cost.
	Shadow
	// Off is a plain pass-through: every action runs when the target asks.
	Off
)

// String returns the mode's name.
func (m Mode) String() string {
	switch m {
	case On:
		return "on"
	case Shadow:
		return "shadow"
	case Off:
		return "off"
	}
	return fmt.Sprintf("Mode(%d)", int32(m))
}

// Defaults of a Config, where a field is zero.
const (
	DefaultTopN         = 3
	DefaultMaxAhead     = 64
	DefaultMaxAheadHost = 6
	DefaultMaxAheadRate = 10
	DefaultAheadTimeout = 2 * time.Minute
	DefaultMaxBytes     = 64 << 20
	DefaultStepBytes    = 8 << 20
)

// scopeShare: a scope may keep one part in so many, if nothing else is said, as
// it may have that part of MaxAhead.
const scopeShare = 2

// maxTopN keeps limits that follow from TopN from overflowing.
const maxTopN = 1000

// Config configures a cache. The zero Config is a plain cache of what was
// declared read-only: without a Predictor nothing runs ahead, except what
// [Session.Speculate] is told to.
type Config[O any] struct {
	// Mode is the mode to begin with.
	Mode Mode

	// Predictor guesses the target's next actions. Nil: nobody guesses.
	Predictor actions.Predictor[O]

	// TopN is how many different guesses of one step may run ahead. 0 means
	// 3, and 1,000 is the most.
	TopN int

	// MaxAhead bounds the runs ahead at one time, over all sessions; one scope
	// gets at most half of it, or what MaxAheadSession says if that is more. 0
	// means 64.
	//
	// MaxAheadSession bounds the runs ahead of one session. When it is
	// reached, a newer guess takes the place of the oldest that nobody waits
	// for. 0 means twice TopN, which leaves room for the stragglers of one
	// step.
	//
	// MaxAheadHost bounds the runs ahead at one host, as Environment.Host names
	// it, over all sessions, and over all caches that share Hosts. What waits there
	// runs in the order in which it came. 0 means 6, which is what browsers do.
	MaxAhead        int
	MaxAheadSession int
	MaxAheadHost    int

	// MaxAheadRate bounds how many runs ahead a scope starts at one host in a
	// second. What was not used may be used in the three seconds after. Its
	// targets' own runs count, so that a rate below theirs leaves nothing; they
	// never wait. Of a scope that has lately asked more than 64 hosts, the rest
	// share one rate. Guesses that found none left are refused as "rate" in
	// Stats.Refusals. 0 means 10.
	MaxAheadRate float64

	// Hosts is what is known about how many requests hosts work on at one time,
	// to share it with other caches. Nil: the cache learns on its own.
	Hosts *Hosts

	// AheadTimeout bounds a draft, and each run ahead. 0 means 2 minutes.
	AheadTimeout time.Duration

	// MaxBytes bounds the observations that the cache keeps, as
	// Environment.Size measures them, with a fixed allowance for each. An
	// eighth of it is the window in which results are safe until the next
	// step; the rest is ristretto's. After a burst, half as much more may wait for
	// that for a moment, or 4 MiB. 0 means 64 MiB.
	MaxBytes int64

	// MaxScopeBytes is the share of one scope in that: it bounds what the
	// sessions of a scope keep, and all public entries together. Beyond it a
	// scope gives up its own oldest, unread guesses last. As long as the shares
	// of the scopes that keep something add up to MaxBytes or less, no scope has
	// an effect on what another one finds; beyond that they compete. A cache for
	// one scope should give it all: MaxBytes or more means that there are no
	// shares. 0 means half of MaxBytes.
	MaxScopeBytes int64

	// StepBytes bounds the observations that one session keeps of its steps, for
	// predictors: it keeps the last 8, fewer if they are larger than this, and
	// always the newest. 0 means 8 MiB.
	StepBytes int64

	// SessionLimits, ScopeLimits and CacheLimits cap what speculation may cost
	// one session, all sessions of a scope for as long as the cache knows it,
	// and all together. Zero fields mean those of DefaultSessionLimits,
	// DefaultScopeLimits and DefaultCacheLimits.
	SessionLimits, ScopeLimits, CacheLimits Limits

	// VerifyShare is the share of hits, from 0 to 1, after which
	// Environment.Renew is asked at once whether what was served still held:
	// Stats.Renewals.StaleRate is the answer. Each costs a request ahead. 0 means
	// none.
	VerifyShare float64

	// ModelVersion is the target's model version where a session states none.
	// Empty means that it is not known yet.
	ModelVersion string

	// OnEvent is told what happens, in order, on a goroutine of its own: it
	// can't delay the target. It must not call Close. When it is 4,096 events
	// behind, events are dropped, and Stats counts them. Nil: no events.
	OnEvent func(Event)

	// Logger is told, as a warning, that drafts fail, at most once a minute,
	// and that a limit was reached. Nil: nothing is logged.
	Logger *slog.Logger

	// ShowArgs lets events and the log carry the arguments of actions and the texts of
	// errors, which may hold what a user typed. Off, events name actions
	// without arguments, and errors by their type. Turn it on to look for a
	// fault.
	ShowArgs bool
}

// withDefaults returns cfg with its zero values replaced, or an error that
// names the field at fault.
func (cfg Config[O]) withDefaults() (Config[O], error) {
	if cfg.Mode < On || cfg.Mode > Off {
		return cfg, fmt.Errorf("speccache: Config.Mode: %v is no mode: want On, Shadow or Off", cfg.Mode)
	}
	if err := setDefault("TopN", &cfg.TopN, DefaultTopN); err != nil {
		return cfg, err
	}
	if cfg.TopN > maxTopN {
		return cfg, fmt.Errorf("speccache: Config.TopN is %d: at most %d guesses of a step make sense", cfg.TopN, maxTopN)
	}
	if err := setDefault("MaxBytes", &cfg.MaxBytes, DefaultMaxBytes); err != nil {
		return cfg, err
	}
	var session, scope, cache error
	if cfg.Hosts == nil {
		cfg.Hosts = &Hosts{}
	}
	cfg.SessionLimits, session = cfg.SessionLimits.withDefaults("SessionLimits", DefaultSessionLimits)
	cfg.ScopeLimits, scope = cfg.ScopeLimits.withDefaults("ScopeLimits", DefaultScopeLimits)
	cfg.CacheLimits, cache = cfg.CacheLimits.withDefaults("CacheLimits", DefaultCacheLimits)
	return cfg, errors.Join(session, scope, cache,
		setDefault("MaxAhead", &cfg.MaxAhead, DefaultMaxAhead),
		setDefault("MaxAheadHost", &cfg.MaxAheadHost, DefaultMaxAheadHost),
		setDefault("MaxAheadRate", &cfg.MaxAheadRate, DefaultMaxAheadRate),
		setDefault("MaxAheadSession", &cfg.MaxAheadSession, 2*cfg.TopN),
		setDefault("AheadTimeout", &cfg.AheadTimeout, DefaultAheadTimeout),
		setDefault("MaxScopeBytes", &cfg.MaxScopeBytes, max(1, cfg.MaxBytes/scopeShare)),
		setDefault("StepBytes", &cfg.StepBytes, DefaultStepBytes),
	)
}

func setDefault[N ~int | ~int64 | ~float64](name string, field *N, value N) error {
	switch {
	case !(*field >= 0):
		return fmt.Errorf("speccache: Config.%s is %v: it can't be negative; 0 means %v", name, *field, value)
	case math.IsInf(float64(*field), 1):
		return fmt.Errorf("speccache: Config.%s is %v: nothing is unlimited; 0 means %v", name, *field, value)
	case *field == 0:
		*field = value
	}
	return nil
}

// check says what is wrong with an environment.
func check[O any](env actions.Environment[O], verifyShare float64) error {
	if env.Do == nil {
		return errors.New("speccache: Environment.Do is nil: there is nothing to run actions with")
	}
	for name, rule := range env.Rules {
		if err := rule.Validate(); err != nil {
			return fmt.Errorf("speccache: rule for action %q: %w", name, err)
		}
	}
	switch {
	case !(verifyShare >= 0 && verifyShare <= 1):
		return fmt.Errorf("speccache: Config.VerifyShare is %v: a share is from 0 to 1", verifyShare)
	case verifyShare > 0 && env.Renew == nil:
		return errors.New("speccache: Config.VerifyShare needs an Environment.Renew to ask")
	}
	return nil
}
