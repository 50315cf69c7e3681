package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/speccache/speccache-go/draft"
	"golang.org/x/sync/errgroup"
)

// An Arm is one way to walk.
type Arm string

const (
	Off   Arm = "off"   // a plain pass-through
	Cache Arm = "cache" // a cache without a draft
	Spec  Arm = "spec"  // a cache with a draft: guesses run ahead
	// Heedless is Spec where guesses run ahead however few requests the host
	// works on at a time.
	Heedless Arm = "heedless"
)

// AllArms are the arms in the order in which they are reported.
var AllArms = []Arm{Off, Cache, Spec, Heedless}

// ParseArms returns the arms of a list such as "off,cache,spec", in the order
// of AllArms.
func ParseArms(list string) ([]Arm, error) {
	var named []Arm
	for name := range strings.SplitSeq(list, ",") {
		arm := Arm(strings.TrimSpace(name))
		if !slices.Contains(AllArms, arm) {
			return nil, fmt.Errorf("arm %q: want off, cache, spec or heedless", arm)
		}
		named = append(named, arm)
	}
	return slices.DeleteFunc(slices.Clone(AllArms), func(a Arm) bool { return !slices.Contains(named, a) }), nil
}

// Config says what to replay. DefaultConfig returns one that runs.
type Config struct {
	Items []Item
	Sites fs.FS // a folder for each host of the items' root URLs
	Draft Draft
	// Client is whom a draft that is a model asks. Others need none.
	Client draft.Completer
	TopN   int
	Depth  int // 1: guesses are about the target's next step
	// Ranks are the weights with which the oracle's right guess stands first,
	// second and so on. Nil: the oracle's default, as far as TopN reaches.
	Ranks   []float64
	Profile Profile
	Scale   float64 // real seconds per model second; 0: the smallest that is allowed, and 1 for a model
	Seeds   int
	Seed    uint64 // the first seed
	Steps   int    // per seed: items are repeated or cut to as many; 0: each item once
	// ServerCapacity is how many requests a host works on at a time; it queues
	// the rest, and does not notice that a client leaves. 0: on all.
	ServerCapacity int
	Arms           []Arm
	Agents         int // side by side; 0: as many as do not disturb the times

	// Begun is told what will be walked and about how long that takes, once
	// all is checked and measured. May be nil.
	Begun func(w Walk, takes time.Duration)
}

// DefaultConfig replays the items that are built in.
func DefaultConfig() Config {
	return Config{
		Items: builtinItems(), Sites: builtinSites(),
		Draft: Draft{kind: "lexical"}, TopN: 3, Depth: 1,
		Profile: Paper, Seeds: 1, Seed: 1, Arms: []Arm{Off, Cache, Spec},
	}
}

// ErrConfig wraps errors about a Config that contradicts itself.
var ErrConfig = errors.New("bad value")

func (c *Config) validate() error {
	switch {
	case len(c.Items) == 0:
		return fmt.Errorf("%w: no items", ErrConfig)
	case c.Depth != 1:
		return fmt.Errorf("%w: depth %d: only depth 1 is built", ErrConfig, c.Depth)
	case c.TopN < 1 || c.TopN > 64:
		return fmt.Errorf("%w: topn %d: want 1 to 64", ErrConfig, c.TopN)
	case c.Seeds < 1:
		return fmt.Errorf("%w: seeds %d: want at least 1", ErrConfig, c.Seeds)
	case c.Steps < 0 || c.Agents < 0:
		return fmt.Errorf("%w: steps and agents can't be negative", ErrConfig)
	case !(c.Scale >= 0 && c.Scale <= 1000):
		return fmt.Errorf("%w: scale %v: want a number above 0", ErrConfig, c.Scale)
	case len(c.Arms) == 0:
		return fmt.Errorf("%w: no arms", ErrConfig)
	case c.ServerCapacity < 0:
		return fmt.Errorf("%w: server capacity %d: want at least 1, or 0 for no limit", ErrConfig, c.ServerCapacity)
	case c.Seed+uint64(c.Seeds) > 1<<32:
		return fmt.Errorf("%w: seed %d: draws are made for seeds below 2^32", ErrConfig, c.Seed)
	}
	return c.validateDraft()
}

// defaultRanks are the paper's shares of the right guess being first, second
// and third.
var defaultRanks = []float64{0.75, 0.06, 0.023}

func (c *Config) validateDraft() error {
	if c.Ranks == nil {
		c.Ranks = defaultRanks[:min(len(defaultRanks), c.TopN)]
	}
	if len(c.Ranks) > c.TopN {
		return fmt.Errorf("%w: %d ranks for %d guesses", ErrConfig, len(c.Ranks), c.TopN)
	}
	if _, err := c.predictor(c.Seed, nil); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return nil
}

// setup is what all agents share. It does not change while they run.
type setup struct {
	cfg       Config
	sites     map[string]fs.FS
	reference *reference
	overhead  time.Duration // of a fetch
	scale     float64
	agents    int
	steps     int // of each agent
	tally     *tally
}

// scaled returns how long model seconds are here; seconds is its reverse.
func (s *setup) scaled(model float64) time.Duration {
	return time.Duration(model * s.scale * float64(time.Second))
}

func (s *setup) seconds(real time.Duration) Number {
	return Number(real.Seconds() / s.scale)
}

// Run replays and reports. An error wraps ErrConfig or is a *ScaleError if the
// configuration is at fault.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	s, err := newSetup(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer s.reference.close()
	if cfg.Begun != nil {
		cfg.Begun(s.walk(), s.expected())
	}
	runs, err := s.runAll(ctx)
	if err != nil {
		return nil, err
	}
	return newReport(s, runs), nil
}

// newSetup checks all that can be checked before anything is measured: that
// every path can be walked, and that the scale is large enough.
func newSetup(ctx context.Context, cfg Config) (*setup, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &setup{cfg: cfg, steps: cfg.Steps, tally: &tally{}}
	var err error
	if s.sites, err = openSites(cfg.Sites, cfg.Items); err != nil {
		return nil, err
	}
	if s.reference, err = newReference(s); err != nil {
		return nil, err
	}
	if err = s.calibrate(ctx); err == nil {
		err = s.tryModel(ctx)
	}
	if err != nil {
		s.reference.close()
		return nil, err
	}
	return s, nil
}

func (s *setup) calibrate(ctx context.Context) error {
	pages, err := s.reference.walkAll(ctx, s.cfg.Items)
	if err != nil {
		return err
	}
	if s.steps == 0 {
		for i := range s.cfg.Items {
			s.steps += s.cfg.Items[i].clicks()
		}
	}
	if s.overhead, err = overhead(ctx, s.reference, pages); err != nil {
		return err
	}
	s.scale = 1
	if s.cfg.Profile != None {
		asked := s.cfg.Scale
		if asked == 0 && s.cfg.Draft.Chat() {
			asked = 1 // a model's time is real, so the others are
		}
		if s.scale, err = chooseScale(asked, s.overhead); err != nil {
			return err
		}
	}
	switch s.agents = s.cfg.Agents; {
	case s.agents > 0:
	case s.cfg.Draft.Chat():
		s.agents = len(s.cfg.Arms) // one draft at a time
	default:
		s.agents = chooseAgents(s.cfg.Profile, s.scale, s.overhead, len(s.cfg.Arms))
	}
	return nil
}

// runAll runs the agents of all seeds. Those of one seed start together, so
// that what disturbs one arm disturbs the others as well.
func (s *setup) runAll(ctx context.Context) (map[Arm]*armRun, error) {
	results := map[Arm]*armRun{}
	for _, arm := range s.cfg.Arms {
		results[arm] = &armRun{}
	}
	var mu sync.Mutex // guards results
	workers := s.workers()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range s.cfg.Seeds {
		group.Go(func() error {
			if i < workers { // later ones start when an earlier one has ended
				if err := s.stagger(ctx, i, workers); err != nil {
					return err
				}
			}
			return s.runSeed(ctx, s.cfg.Seed+uint64(i), func(arm Arm, r agentResult) {
				mu.Lock()
				defer mu.Unlock()
				results[arm].add(r)
			})
		})
	}
	return results, group.Wait()
}

// workers returns how many seeds may run side by side; atOnce, how many do.
func (s *setup) workers() int { return max(1, s.agents/len(s.cfg.Arms)) }
func (s *setup) atOnce() int  { return min(s.workers(), s.cfg.Seeds) }

// expected returns about how long the run takes.
func (s *setup) expected() time.Duration {
	if s.cfg.Profile == None {
		return 0
	}
	w := s.walk()
	firstPages := float64(w.Items) * max(1, float64(w.Clicks)/float64(max(1, w.All)))
	perSeed := float64(w.Clicks)*(thinkMean+fetchMean) + firstPages*fetchMean
	rounds := (s.cfg.Seeds + s.workers() - 1) / s.workers()
	return s.scaled(perSeed * float64(rounds))
}

// A Walk says what is walked.
type Walk struct {
	Items, Of   int // that are walked, of so many
	Clicks, All int // of one seed, and of walking each item once
	Seeds       int
}

func (s *setup) walk() Walk {
	w := Walk{Of: len(s.cfg.Items), Clicks: s.steps, Seeds: s.cfg.Seeds}
	for i := range s.cfg.Items {
		if w.All < w.Clicks {
			w.Items++
		}
		w.All += s.cfg.Items[i].clicks()
	}
	return w
}

// String says it in words.
func (w Walk) String() string {
	items := plural(w.Of, "item")
	switch {
	case w.Clicks < w.All:
		items = fmt.Sprintf("%d of %s (%d of %s)", w.Items, items, w.Clicks, plural(w.All, "click"))
	case w.Clicks > w.All:
		items += fmt.Sprintf(" (%s, repeated up to %d)", plural(w.All, "click"), w.Clicks)
	}
	return fmt.Sprintf("%s, %s, %s in all", items, plural(w.Seeds, "seed"), plural(w.Clicks*w.Seeds, "click"))
}

// stagger waits the k-th of n parts of a usual step, so that agents do not
// fetch in the same moment.
func (s *setup) stagger(ctx context.Context, k, n int) error {
	if s.cfg.Profile == None {
		return ctx.Err()
	}
	return sleepUntil(ctx, time.Now().Add(s.scaled((thinkMean+fetchMedian)*float64(k)/float64(n))))
}

// runSeed runs one agent for each arm, side by side.
func (s *setup) runSeed(ctx context.Context, seed uint64, done func(Arm, agentResult)) error {
	group, ctx := errgroup.WithContext(ctx)
	for k, arm := range s.cfg.Arms {
		group.Go(func() error {
			if err := s.stagger(ctx, k, 2*len(s.cfg.Arms)); err != nil {
				return err
			}
			a, err := newAgent(s, seed, arm)
			if err != nil {
				return err
			}
			defer a.close()
			r, err := a.run(ctx)
			if err != nil {
				return fmt.Errorf("seed %d, arm %s: %w", seed, arm, err)
			}
			done(arm, r)
			return nil
		})
	}
	return group.Wait()
}
