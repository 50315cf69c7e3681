package main

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/speccache/speccache-go/speccache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The simulated models: big reads pages and clicks, little guesses what is
// nearest to the goal.
const (
	big    = "big"
	little = "little"
)

func simulated(req llmsim.Request) llmsim.Answer {
	if req.Model == little {
		return llmsim.Answer{
			Text:    `{"actions":[{"choice":1},{"choice":2},{"choice":3}]}`,
			Latency: &llmsim.Latency{Base: 20 * time.Millisecond},
		}
	}
	asked := req.Messages[1].Content
	question := questions[slices.IndexFunc(questions, func(q string) bool { return strings.Contains(asked, q) })]
	if answer := newReader(question, 0).answer(req.Last()); answer != "" {
		return llmsim.Answer{Text: answer}
	}
	return llmsim.Answer{Calls: []llmsim.Call{best(req, question)}}
}

var pageURL = regexp.MustCompile(`(?m)^# .*\n(http\S+)`)

// best is the most promising link of all pages in the conversation that was
// not followed yet: a click if it is in view.
func best(req llmsim.Request, question string) (call llmsim.Call) {
	about, most := terms(question), -1
	read := map[string]bool{}
	for _, m := range req.Messages {
		for _, found := range pageURL.FindAllStringSubmatch(m.Content, -1) {
			read[found[1]] = true
		}
	}
	for i, m := range req.Messages {
		for _, line := range lines(m.Content) {
			for _, link := range markdownLink.FindAllStringSubmatch(line, -1) {
				score := 2*shared(about, terms(link[1])) + shared(about, terms(line))
				if read[link[2]] || score <= most {
					continue
				}
				most, call = score, llmsim.Call{Name: "visit", Args: args("url", link[2])}
				if i == len(req.Messages)-1 && strings.Count(m.Content, "["+link[1]+"]") == 1 {
					call = llmsim.Call{Name: "click", Args: args("label", link[1])}
				}
			}
		}
	}
	return call
}

func args(name, value string) string {
	text, _ := json.Marshal(map[string]string{name: value})
	return string(text)
}

var known = map[string]llmsim.Model{big: {}, little: {}, "toolless": {NoTools: true}}

// endpoint starts simulated models on loopback and returns an environment that
// names them.
func endpoint(t *testing.T, opts llmsim.Options) (env map[string]string) {
	t.Helper()
	at, err := llmsim.New(opts).Listen()
	require.NoError(t, err)
	t.Cleanup(at.Close)
	return map[string]string{"OPENAI_BASE_URL": at.URL, "OPENAI_API_KEY": opts.Key}
}

// ask runs the quickstart with models, on a site without delays.
func ask(ctx context.Context, env map[string]string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	opts, err := parse(args, func(name string) string { return env[name] }, &errs)
	if err != nil {
		return exitUsage, "", errs.String()
	}
	opts.delay = noDelay
	code = opts.run(ctx, &out, &errs)
	return code, out.String(), errs.String()
}

func TestModelsHitWhatTheirDraftHasGuessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := llmsim.New(llmsim.Options{Models: known, Answer: simulated, Latency: llmsim.Latency{Base: 2 * time.Second}})
		at := sim.Pipe()
		defer at.Close()
		s := &site{delay: pageDelay}
		m := &models{client: at.Client(), target: big, draft: little}
		var told []line
		tour := tour{
			site: s, home: "http://docs.example" + homePath, transport: direct{s}, models: m,
			show: func(l line) { told = append(told, l) },
		}
		off, err := tour.run(t.Context(), speccache.Off)
		require.NoError(t, err)
		spec, err := tour.run(t.Context(), speccache.On)
		require.NoError(t, err)
		c := compare(off, spec)
		require.NoError(t, m.check(c))
		assert.True(t, c.sameAnswers)
		assert.True(t, c.sameObservations)
		for _, w := range spec.walks {
			assert.NotEmpty(t, w.answer, w.question)
			assert.Greater(t, len(w.seen), 2, w.question)
		}
		assert.Positive(t, spec.stats.Hits)
		assert.Less(t, spec.stats.Waited, off.stats.Waited)
		assert.Zero(t, off.stats.Drafts)
		assert.Equal(t, sim.Stats().ModelRequests[little], spec.stats.Usage.Calls)
		assert.Positive(t, spec.stats.Usage.PromptTokens)
		assert.Equal(t, sim.Stats().ModelRequests[big], off.usage().Calls+spec.usage().Calls)
	})
}

func TestWithAnEndpointTheStoryIsAboutModels(t *testing.T) {
	env := endpoint(t, llmsim.Options{Models: known, Answer: simulated, Key: "sk-secret"})
	code, stdout, stderr := ask(t.Context(), env, "-target", big, "-draft", little)
	require.Equal(t, exitOK, code, stderr)
	for _, text := range []string{"big answers 3 questions", "The draft is little. Models are asked at 127.0.0.1:", "Side by side", "tokens", "requests to the site"} {
		assert.Contains(t, stdout, text)
	}
	assert.Equal(t, 2*len(questions), strings.Count(stdout, "\n   = "), "an answer to each question, twice")
	assert.NotContains(t, stdout+stderr, "sk-secret")
}

func TestTheJSONOfModelsAddsTheirCost(t *testing.T) {
	env := endpoint(t, llmsim.Options{Models: known, Answer: simulated, Key: "sk-secret"})
	code, stdout, stderr := ask(t.Context(), env, "-json", "-target", big, "-draft", "missing")
	require.Equal(t, exitOK, code, stderr)
	var r report
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&r))
	assert.Equal(t, big, r.Target)
	assert.Equal(t, "missing", r.Draft)
	assert.Positive(t, r.TargetTokens)
	assert.Positive(t, r.DraftCalls)
	assert.Positive(t, r.DraftsFailed["not found"], "a draft that is not there is no error of the target's")
	assert.True(t, r.SameAnswers)
	assert.Positive(t, r.Spec.Misses)
}

func TestADraftWithoutAModelNeedsOnlyATarget(t *testing.T) {
	env := endpoint(t, llmsim.Options{Models: known, Answer: simulated, Key: "sk-secret"})
	for _, name := range []string{lexical, "Lexical", "LEXICAL"} {
		code, stdout, stderr := ask(t.Context(), env, "-target", big, "-draft", name)
		require.Equal(t, exitOK, code, stderr)
		assert.Contains(t, stdout, "The draft is lexical")
	}
}

func TestNoModelIsAskedUnlessAFlagNamesOne(t *testing.T) {
	env := endpoint(t, llmsim.Options{Answer: func(req llmsim.Request) llmsim.Answer {
		t.Errorf("%s was asked", req.Model)
		return llmsim.Answer{}
	}})
	env["OPENAI_API_KEY"] = "sk-secret"
	for _, env := range []map[string]string{env, nil} {
		for _, args := range [][]string{nil, {"-draft", "Lexical"}} {
			code, stdout, stderr := ask(t.Context(), env, append(args, "-think", "0s")...)
			require.Equal(t, exitOK, code, stderr)
			assert.Contains(t, stdout, "Nothing here is a language model")
		}
	}
}

// The reader thinks in real time here, so that the model is given none.
func TestTheReaderMayBeTheTargetOfADraftThatIsAModel(t *testing.T) {
	env := endpoint(t, llmsim.Options{Models: known, Answer: func(req llmsim.Request) llmsim.Answer {
		assert.Equal(t, little, req.Model, "no other model is asked")
		return llmsim.Answer{Text: `{"actions":[{"choice":1},{"choice":2},{"choice":2},{"choice":99}]}`}
	}})
	code, stdout, stderr := ask(t.Context(), env, "-target", readerName, "-draft", little, "-think", "50ms")
	require.Equal(t, exitOK, code, stderr)
	for _, text := range []string{"A reader answers 3 questions", "It thinks 50ms", "The draft is little. Models are asked at 127.0.0.1:", "The draft used ", "duplicate"} {
		assert.Contains(t, stdout, text)
	}
	assert.NotContains(t, stdout, "The target used")
	assert.Equal(t, 2, strings.Count(stdout, "the same\n"), "answers and observations")

	code, stdout, stderr = ask(t.Context(), env, "-target", readerName, "-draft", little, "-think", "50ms", "-json")
	require.Equal(t, exitOK, code, stderr)
	var r report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	assert.Equal(t, readerName, r.Target)
	assert.Zero(t, r.TargetTokens)
	assert.Positive(t, r.DraftTokens)
	assert.Positive(t, r.DraftDropped["duplicate"])
	assert.Positive(t, r.Spec.Hits+r.Spec.Joins, "each page has its links nearest to the goal first")
}

func TestAReaderThatDoesNotWaitForTheDraftSaysThatItWasLate(t *testing.T) {
	env := endpoint(t, llmsim.Options{Models: known, Answer: func(llmsim.Request) llmsim.Answer { return llmsim.Answer{Fault: llmsim.Fault{Hang: true}} }})
	code, stdout, stderr := ask(t.Context(), env, "-target", readerName, "-draft", little, "-think", "0s")
	require.Equal(t, exitOK, code, stderr)
	assert.Regexp(t, `\d+ of \d+ drafts had said nothing when the target acted`, stdout)
	assert.Contains(t, stdout, "dropped: nothing")
}

func TestWithReaderAndLexicalNobodyIsAsked(t *testing.T) {
	for _, env := range []map[string]string{nil, {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}} {
		code, stdout, stderr := ask(t.Context(), env, "-target", readerName, "-draft", lexical, "-think", "1ms")
		require.Equal(t, exitOK, code, stderr)
		assert.Contains(t, stdout, "Nothing here is a language model")
	}
}

func TestThinkingIsTheReadersOnly(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "sk-secret"}
	code, _, stderr := ask(t.Context(), env, "-target", big, "-think", "1s")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "-target reader")
	code, _, stderr = ask(t.Context(), nil, "-target", readerName, "-draft", little)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "set OPENAI_API_KEY")
}

func TestWhatIsWrongWithAnEndpointIsSaidAndExitsWithOne(t *testing.T) {
	good := endpoint(t, llmsim.Options{Models: known, Answer: simulated, Key: "sk-secret"})
	changed := func(name, value string) map[string]string {
		env := map[string]string{"OPENAI_BASE_URL": good["OPENAI_BASE_URL"], "OPENAI_API_KEY": good["OPENAI_API_KEY"]}
		env[name] = value
		return env
	}
	silent := endpoint(t, llmsim.Options{Answer: func(llmsim.Request) llmsim.Answer { return llmsim.Answer{Text: "It is 7."} }})
	rambling := endpoint(t, llmsim.Options{Answer: func(llmsim.Request) llmsim.Answer { return llmsim.Answer{Text: "and so on", Finish: "length"} }})
	for what, c := range map[string]struct {
		env   map[string]string
		model string
		says  string
	}{
		"a bad key":             {changed("OPENAI_API_KEY", "sk-wrong"), big, "key"},
		"no such path":          {changed("OPENAI_BASE_URL", strings.TrimSuffix(good["OPENAI_BASE_URL"], "/v1")), big, "/v1"},
		"nobody listens":        {changed("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"), big, "connection refused"},
		"no URL":                {changed("OPENAI_BASE_URL", "not a url"), big, "https://host/v1"},
		"no such model":         {good, "huge", "huge"},
		"no tools":              {good, "toolless", "a target needs tool calls"},
		"tools that are unused": {silent, big, "has read no page"},
		"tools of no server":    {rambling, big, "with -target reader only the draft is a model"},
	} {
		code, _, stderr := ask(t.Context(), c.env, "-target", c.model, "-draft", lexical)
		assert.Equal(t, exitFailed, code, what)
		assert.Contains(t, stderr, c.says, what)
		assert.True(t, strings.HasPrefix(stderr, "quickstart: "), stderr)
		assert.NotContains(t, stderr, "sk-", what)
	}
}

func TestAnInterruptEndsModelsToo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	env := endpoint(t, llmsim.Options{Answer: func(llmsim.Request) llmsim.Answer {
		cancel()
		return llmsim.Answer{Fault: llmsim.Fault{Hang: true}}
	}})
	code, _, stderr := ask(ctx, env, "-target", big)
	assert.Equal(t, exitInterrupted, code)
	assert.Equal(t, "quickstart: interrupted\n", stderr)
}

func TestAQuestionWithoutAnAnswerIsToldAndEndsNothing(t *testing.T) {
	env := endpoint(t, llmsim.Options{Answer: func(req llmsim.Request) llmsim.Answer {
		if strings.Contains(req.Messages[1].Content, questions[1]) {
			return llmsim.Answer{Refusal: "I would rather not."}
		}
		if strings.Contains(req.Messages[1].Content, questions[2]) && len(req.Tools) > 0 {
			return llmsim.Answer{Text: "Let me think about", Finish: "length"}
		}
		return simulated(llmsim.Request{ChatCompletionRequest: req.ChatCompletionRequest})
	}})
	code, stdout, stderr := ask(t.Context(), env, "-target", big, "-draft", little)
	require.Equal(t, exitOK, code, stderr)
	assert.Equal(t, 4, strings.Count(stdout, "= no answer: "), stdout)
	assert.Contains(t, stdout, "cut at the limit of its tokens")
}
