package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/speccache"
	"github.com/speccache/speccache-go/target"
)

// models are a target and a draft of which one at least is a language model,
// behind one endpoint. They take the places of the reader and of draft.Lexical.
type models struct {
	client        target.Completer
	target, draft string // names

	mu      sync.Mutex // guards what follows
	dropped map[draft.DropReason]int
	failure error // of the newest draft that failed
}

// newModels returns the models that the options name, or nil if they name none.
func newModels(opts options) *models {
	if !opts.models() {
		return nil
	}
	return &models{client: target.NewClient(opts.key, opts.baseURL), target: opts.target, draft: opts.draft}
}

// acts reports whether the target is a model.
func (m *models) acts() bool { return m != nil && m.target != readerName }

// predictor is the draft.
func (m *models) predictor() actions.Predictor[*web.Page] {
	if m == nil || m.draft == lexical {
		return draft.Lexical((*web.Page).View)
	}
	return draft.Chat(m.client, (*web.Page).View, draft.ChatConfig{Model: m.draft, Report: m.note})
}

func (m *models) note(r draft.ChatReport) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dropped == nil {
		m.dropped = map[draft.DropReason]int{}
	}
	for reason, n := range r.Dropped {
		m.dropped[reason] += n
	}
	if r.Err != nil {
		m.failure = r.Err
	}
}

// parameter is the schema of a tool with one text.
func parameter(name, about string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string","description":%q}},"required":[%[1]q]}`, name, about))
}

// tools are what the target may do.
var tools = []target.Tool{
	{
		Name: "click", Description: "Follow a link of the page in view.",
		Schema: parameter("label", "the link's label, as in [label](URL)"),
	},
	{
		Name: "visit", Description: "Go to a page by its URL, such as one that was seen earlier.",
		Schema: parameter("url", "an absolute URL that was seen"),
	},
}

// read is a page as the target reads it.
func read(p *web.Page) string {
	return fmt.Sprintf("# %s\n%s\n\n%s", p.Title(), p.URL(), p.Markdown())
}

// walk lets the target find the answer. A question that it does not answer is
// no error: that is how models are.
func (m *models) walk(ctx context.Context, session *speccache.Session[*web.Page], home *web.Page, w *walk, show func(line)) error {
	calm := 0.0 // as alike as possible in both runs
	loop := target.Loop[*web.Page]{
		Session: session,
		Chat:    target.NewChat(m.client, target.ChatConfig{Model: m.target, Tools: tools, Temperature: &calm}),
		Show:    read,
		Steps:   maxClicks,
	}
	w.from = home.URL()
	for event, err := range loop.Run(ctx, w.question, home) {
		switch {
		case event.Step != nil:
			w.step(*event.Step, show)
		case event.Result != nil:
			w.answer, w.usage = event.Result.Answer, event.Result.Usage
			return w.conclude(err, show)
		}
	}
	return nil
}

func (w *walk) step(s target.Step[*web.Page], show func(line)) {
	what := inWords(s.Call)
	if s.Err != nil {
		show(line{what: what, failure: s.Err.Error()})
		return
	}
	w.seen = append(w.seen, observe(s.Result.Observation))
	w.from = s.Result.Observation.URL()
	show(line{what: what, result: &s.Result})
}

// inWords is a call as the story tells it: as a rule it has one argument.
func inWords(c target.Call) string {
	var named map[string]string
	if json.Unmarshal([]byte(c.Args), &named) != nil || len(named) != 1 {
		return c.Name + " " + oneLine(c.Args)
	}
	for _, value := range named {
		return fmt.Sprintf("%s %q", c.Name, value)
	}
	return c.Name
}

// conclude tells the answer, or that there is none.
func (w *walk) conclude(err error, show func(line)) error {
	switch {
	case err == nil:
		show(line{answer: oneLine(w.answer), at: w.from})
	case errors.Is(err, target.ErrSteps), errors.Is(err, target.ErrRefused), errors.Is(err, target.ErrLength):
		show(line{answer: "no answer: " + oneLine(err.Error()), at: w.from})
	default:
		return err
	}
	return nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// check returns an error if speculation has changed anything but times, as far
// as that can be seen where a model may choose anew: a page that was read in
// both runs has to be the same, and the target has to have acted.
func (m *models) check(c comparison) error {
	if !m.acts() {
		return c.check()
	}
	pages := map[string]observation{}
	for _, w := range c.off.walks {
		for _, o := range w.seen {
			pages[o.url] = o
		}
	}
	for _, w := range c.spec.walks {
		for _, o := range w.seen {
			if known, ok := pages[o.url]; ok && !known.equal(o) {
				return fmt.Errorf("the two runs observed different pages at %s", pathOf(o.url))
			}
		}
	}
	return m.needsTools(c.spec)
}

// needsTools returns an error if the target, a model, has not acted at all.
// Servers that have no tools for a model often leave them out without a word.
func (m *models) needsTools(t *trip) error {
	read := func(w walk) bool { return len(w.seen) > 1 }
	if !m.acts() || slices.ContainsFunc(t.walks, read) {
		return nil
	}
	return fmt.Errorf("%s has read no page: a target needs a model and a server that have tool calls; "+
		"with -target %s only the draft is a model", m.target, readerName)
}

// host names an endpoint without what may be secret in its URL.
func (o options) host() string {
	if o.baseURL == "" {
		return "OpenAI"
	}
	if u, err := url.Parse(o.baseURL); err == nil && u.Host != "" {
		return u.Host
	}
	return "OPENAI_BASE_URL"
}

// cost tells what the models have used, and what was wrong with the draft's
// words.
func (m *models) cost(s *story, c comparison) {
	if m.acts() {
		s.printf("\nThe target used %d tokens without speculation and %d with it.\n",
			tokens(c.off.usage()), tokens(c.spec.usage()))
	}
	if m.draft != lexical {
		m.draftCost(s, c.spec.stats)
	}
	if !c.sameAnswers || !c.sameObservations {
		s.printf("Models may choose and say something else each time: what differs above is theirs.\n" +
			"Pages that were read in both runs are the same.\n")
	}
}

func (m *models) draftCost(s *story, st speccache.Stats) {
	s.printf("\nThe draft used %d tokens in %d calls. Of what it wrote was dropped: %s.\n",
		tokens(st.Usage), st.Usage.Calls, cmp.Or(listed(m.drops()), "nothing"))
	if st.DraftsLate > 0 {
		s.printf("%d of %d drafts had said nothing when the target acted: a draft has to be faster than the target thinks.\n",
			st.DraftsLate, st.Drafts)
	}
	if st.DraftsFailed > 0 {
		m.mu.Lock()
		defer m.mu.Unlock()
		s.printf("%d of %d drafts failed (%s), at no cost to the target; the last: %v\n",
			st.DraftsFailed, st.Drafts, listed(st.DraftFailures), m.failure)
	}
}

func (m *models) drops() map[draft.DropReason]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.dropped)
}

func tokens(u actions.Usage) int { return u.PromptTokens + u.OutputTokens }

// listed writes counts, by name.
func listed[K ~string, N int | int64](counts map[K]N) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}

func (t *trip) usage() (sum actions.Usage) {
	for _, w := range t.walks {
		sum.Calls += w.usage.Calls
		sum.PromptTokens += w.usage.PromptTokens
		sum.CachedTokens += w.usage.CachedTokens
		sum.OutputTokens += w.usage.OutputTokens
	}
	return sum
}
