package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/speccache/speccache-go/target"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const question = "When does the reception begin?"

// serve is a site of three pages, each as slow as a quick site.
func serve(t *testing.T) (url string) {
	t.Helper()
	pages := map[string]string{
		"/":          `<title>Conference</title><a href="/calls">Calls</a> <a href="/program">Program</a> <a href="/venue">Venue</a>`,
		"/program":   `<title>Program</title><a href="/">Conference</a> <a href="/reception">Reception</a>`,
		"/reception": `<title>Reception</title><p>The reception begins at seven.</p>`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, pages[r.URL.Path])
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// model is an endpoint with a target that thinks for a moment, and a draft that
// guesses the page's first three links at once.
func model(t *testing.T) (sim *llmsim.Server, url string) {
	t.Helper()
	sim = llmsim.New(llmsim.Options{
		Key:    "the-key",
		Models: map[string]llmsim.Model{target.DefaultModel: {}, draft.DefaultModel: {}, "bare": {NoTools: true}},
		Answer: func(req llmsim.Request) llmsim.Answer {
			if req.Model == draft.DefaultModel {
				return llmsim.Answer{Text: `{"actions":[{"choice":1},{"choice":2},{"choice":3}]}`}
			}
			a := read(req)
			a.Latency = &llmsim.Latency{Base: 200 * time.Millisecond}
			return a
		},
	})
	at, err := sim.Listen()
	require.NoError(t, err)
	t.Cleanup(at.Close)
	return sim, at.URL
}

var (
	answerInPage = regexp.MustCompile(`begins at \w+`)
	button       = regexp.MustCompile(`"(Program|Reception)"`)
)

// read is what the target makes of the page in view.
func read(req llmsim.Request) llmsim.Answer {
	if found := answerInPage.FindString(req.Last()); found != "" {
		return llmsim.Answer{Text: "It " + found + "."}
	}
	if found := button.FindStringSubmatch(req.Last()); found != nil {
		return llmsim.Answer{Text: "I look there.", Calls: []llmsim.Call{{Name: "click", Args: fmt.Sprintf(`{"button":%q}`, found[1])}}}
	}
	return llmsim.Answer{Text: "I don't know."}
}

// ended is what the program did.
type ended struct {
	code           int
	stdout, stderr string
}

func start(ctx context.Context, env map[string]string, args ...string) ended {
	var stdout, stderr strings.Builder
	code := run(ctx, append([]string{"-local"}, args...), func(name string) string { return env[name] }, &stdout, &stderr)
	return ended{code, stdout.String(), stderr.String()}
}

func environment(url string) map[string]string {
	return map[string]string{"OPENAI_API_KEY": "the-key", "OPENAI_BASE_URL": url}
}

func TestTheAgentWalksTheSiteAndAnswers(t *testing.T) {
	for _, guesser := range []string{draft.DefaultModel, lexical} {
		sim, url := model(t)
		end := start(t.Context(), environment(url), "-question", question, "-url", serve(t), "-draft", guesser)
		require.Equal(t, exitOK, end.code, end.stderr)
		assert.Empty(t, end.stderr)
		assert.Contains(t, end.stdout, "It begins at seven.\n")
		assert.Regexp(t, `(hit|join) +click {"button":"Program"}: waited \S+, hidden \S+\n`, end.stdout)
		assert.Regexp(t, `2 calls in .* pages ahead, 2 of them used`, end.stdout)
		assert.Contains(t, end.stdout, "Target gpt-5-mini: 3 calls, ")
		assert.Equal(t, guesser == draft.DefaultModel, strings.Contains(end.stdout, "Draft gpt-4.1-mini: "))
		assert.Equal(t, guesser == draft.DefaultModel, sim.Stats().ModelRequests[draft.DefaultModel] > 0)
	}
}

func TestJSONIsOneObjectAndTellsTheSame(t *testing.T) {
	_, url := model(t)
	for _, off := range []bool{false, true} {
		end := start(t.Context(), environment(url), "-question", question, "-url", serve(t), "-json", fmt.Sprintf("-no-speculation=%v", off))
		require.Equal(t, exitOK, end.code, end.stderr)
		var r report
		require.NoError(t, json.Unmarshal([]byte(end.stdout), &r))
		assert.Equal(t, "It begins at seven.", r.Answer)
		require.Len(t, r.Steps, 2)
		assert.Equal(t, !off, r.Speculation)
		assert.Equal(t, off, r.Ahead == 0)
		assert.Equal(t, off, r.DraftUsage.Calls == 0)
		assert.Equal(t, off, r.Steps[0].Outcome == "miss")
		assert.Positive(t, r.TargetUsage.PromptTokens)
	}
}

func TestTheStepLimitIsSaidAndFails(t *testing.T) {
	sim, url := model(t)
	for range 2 {
		sim.Push(llmsim.Answer{Calls: []llmsim.Call{{Name: "click", Args: `{"label":"Nowhere"}`}}})
	}
	end := start(t.Context(), environment(url), "-question", question, "-url", serve(t), "-steps", "1", "-draft", lexical)
	assert.Equal(t, exitFailed, end.code)
	assert.Contains(t, end.stderr, "webwalker: target: no answer within the step limit: 1")
	assert.Contains(t, end.stderr, "nothing was served ahead")
	assert.Contains(t, end.stdout, `no link on`)
}

func TestWhatIsWrongIsSaidInAMessage(t *testing.T) {
	_, url := model(t)
	site := serve(t)
	ask := []string{"-question", question, "-url", site, "-draft", lexical}
	for name, c := range map[string]struct {
		key, baseURL string
		args         []string
		code         int
		says         string
	}{
		"no key":         {"", "", ask, exitUsage, "OPENAI_API_KEY is not set"},
		"bad key":        {"my-secret", url, ask, exitFailed, "the key was refused (401): check OPENAI_API_KEY"},
		"wrong path":     {"the-key", strings.TrimSuffix(url, "/v1"), ask, exitFailed, "is the base URL right? it usually ends in /v1"},
		"no server":      {"the-key", "http://127.0.0.1:1/v1", ask, exitFailed, "connection refused"},
		"no URL":         {"the-key", "nonsense", ask, exitFailed, "is the base URL right?"},
		"no such model":  {"the-key", url, append(ask[:6:6], "-target", "gpt-0"), exitFailed, "no such model"},
		"without tools":  {"the-key", url, append(ask[:6:6], "-target", "bare"), exitFailed, "choose a model and a server that have them"},
		"no question":    {"the-key", url, ask[2:], exitUsage, "say -question"},
		"no page":        {"the-key", url, ask[:2], exitUsage, "say -url"},
		"no page there":  {"the-key", url, []string{"-question", question, "-url", "http://127.0.0.1:1/"}, exitFailed, "the first page can't be read"},
		"no web page":    {"the-key", url, []string{"-question", question, "-url", "example.org"}, exitFailed, "webwalker: web: URL"},
		"no steps":       {"the-key", url, append(ask[:6:6], "-steps", "0"), exitUsage, "-steps is 0"},
		"more arguments": {"the-key", url, append(ask[:6:6], "more"), exitUsage, "unexpected argument"},
		"unknown flag":   {"the-key", url, []string{"-fast"}, exitUsage, "-fast"},
	} {
		end := start(t.Context(), map[string]string{"OPENAI_API_KEY": c.key, "OPENAI_BASE_URL": c.baseURL}, c.args...)
		assert.Equal(t, c.code, end.code, name)
		assert.Contains(t, end.stderr, c.says, name)
		assert.NotContains(t, end.stderr+end.stdout, "my-secret", name)
	}
	assert.Equal(t, exitOK, start(t.Context(), nil, "-h").code)
}

func TestAnAnswerThatWasFoundOnNoPageFails(t *testing.T) {
	sim, url := model(t)
	for _, calls := range [][]llmsim.Call{nil, {{Name: "click", Args: `{"label":"Nowhere"}`}}} {
		if calls != nil {
			sim.Push(llmsim.Answer{Calls: calls})
		}
		sim.Push(llmsim.Answer{Text: "It begins at nine."})
		end := start(t.Context(), environment(url), "-question", question, "-url", serve(t), "-draft", "Lexical")
		assert.Equal(t, exitFailed, end.code)
		assert.Contains(t, end.stderr, "webwalker: gpt-5-mini has read no page: a target needs a model and a server that have tool calls\n")
	}
	sim.Push(llmsim.Answer{Text: "It begins at nine."})
	end := start(t.Context(), environment(url), "-question", question, "-url", serve(t), "-draft", lexical, "-json")
	assert.Equal(t, exitFailed, end.code)
	var r report
	require.NoError(t, json.Unmarshal([]byte(end.stdout), &r))
	assert.Contains(t, r.Error, "has read no page")
}

func TestADraftThatFailsIsExplainedAndCostsNothingElse(t *testing.T) {
	_, url := model(t)
	end := start(t.Context(), environment(url), "-question", question, "-url", serve(t), "-draft", "gpt-0")
	assert.Equal(t, exitOK, end.code)
	assert.Contains(t, end.stdout, "It begins at seven.")
	assert.Contains(t, end.stderr, "no such model")
}

func TestCtrlCEndsItAtOnce(t *testing.T) {
	sim, url := model(t)
	sim.Push(llmsim.Answer{Fault: llmsim.Fault{Hang: true}})
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	end := make(chan ended)
	go func() {
		end <- start(ctx, environment(url), "-question", question, "-url", serve(t), "-draft", lexical)
	}()
	require.Eventually(t, func() bool { return sim.Stats().InFlight > 0 }, 10*time.Second, time.Millisecond)
	interrupt()
	e := <-end
	assert.Equal(t, exitInterrupted, e.code)
	assert.Contains(t, e.stderr, "webwalker: interrupted")
}

func TestAPageShowsItsButtonsWithinBounds(t *testing.T) {
	var html strings.Builder
	html.WriteString(`<title>Many</title><p>text</p><a href="/x">Same</a> <a href="/y">Same</a>`)
	for i := range 1000 {
		fmt.Fprintf(&html, ` <a href="/%d">Link number %d</a>`, i, i)
	}
	page, err := web.Parse("https://a.example/", html.String())
	require.NoError(t, err)
	shown := show(page)
	assert.True(t, strings.HasPrefix(shown, "# Many\nhttps://a.example/\n\nButtons: \"Same\" \"Link number 0\" "))
	assert.Regexp(t, `and \d+ more in the text\n\ntext`, shown)
	head, _, _ := strings.Cut(shown, "\n\ntext")
	assert.Less(t, len(head), maxButtons+200)
}
