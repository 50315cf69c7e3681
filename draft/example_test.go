package draft_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/internal/llmsim"
)

// A page of the examples, whose observations are lists of labels.
type labels []string

func (l labels) view() actions.View {
	var v actions.View
	for _, label := range l {
		v.Choices = append(v.Choices, actions.Choice{Label: label, Action: open(label)})
	}
	return v
}

func open(label string) actions.Action {
	return actions.Must("open", map[string]string{"label": label})
}

func Example() {
	page := labels{"Home", "Venue", "List of Sponsors", "Registration"}
	state := actions.State[labels]{
		Goal:  "Who sponsors the conference, and what is the fee?",
		Steps: []actions.Step[labels]{{Observation: page}},
	}
	predict := draft.Lexical(labels.view)
	for guess := range predict(context.Background(), state) {
		fmt.Println(guess.Action)
	}
	// Output:
	// open {"label":"List of Sponsors"}
	// open {"label":"Registration"}
	// open {"label":"Home"}
	// open {"label":"Venue"}
}

// A benchmark asks what an engine gains from a draft of a given accuracy.
func ExampleOracle() {
	path := []string{"Calls", "Workshops", "Dates"}
	predict, err := draft.Oracle(draft.OracleConfig[labels]{
		View: labels.view,
		P:    1,
		Next: func(s actions.State[labels]) (string, int, actions.Action, bool) {
			step := len(s.Steps) - 1
			return "item 1", step, open(path[step]), true
		},
		Ranks: []float64{1, 0, 0}, // always the first guess
	})
	if err != nil {
		panic(err)
	}
	state := actions.State[labels]{Steps: []actions.Step[labels]{{Observation: labels{"Home", "Calls"}}}}
	for guess := range predict(context.Background(), state) {
		fmt.Println(guess.Action, guess.Confidence)
	}
	// Output:
	// open {"label":"Calls"} 1
	// open {"label":"Home"} 0
}

// A predictor of your own is a func literal.
func Example_yourOwn() {
	var nextPage actions.Predictor[string] = func(_ context.Context, s actions.State[string]) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			next := actions.Must("search", map[string]any{"query": s.Goal, "page": len(s.Steps) + 1})
			yield(actions.Prediction{Action: next, Confidence: 0.6, Source: "paging"}, nil)
		}
	}
	state := actions.State[string]{Goal: "go", Steps: []actions.Step[string]{{Observation: "ten results"}}}
	for guess := range nextPage(context.Background(), state) {
		fmt.Println(guess.Action, guess.Source)
	}
	// Output: search {"page":2,"query":"go"} paging
}

// A model guesses, behind any OpenAI-compatible endpoint; here it is a
// simulated one.
func ExampleChat() {
	sim := llmsim.New(llmsim.Options{})
	sim.Push(llmsim.Answer{Text: `{"actions":[{"choice":1},{"tool":"search","arguments":{"query":"fees"}}]}`})
	endpoint := sim.Pipe()
	defer endpoint.Close()

	var client draft.Completer = endpoint.Client() // openai.NewClient(os.Getenv("OPENAI_API_KEY"))
	predict := draft.Chat(client, labels.view, draft.ChatConfig{
		Tools:  []draft.Tool{{Name: "search", Description: "Searches the site.", Composed: true}},
		Report: func(r draft.ChatReport) { fmt.Println(r.Model, "wrote", r.Guesses, "guesses") },
	})
	state := actions.State[labels]{
		Goal:  "What is the registration fee?",
		Steps: []actions.Step[labels]{{Observation: labels{"Home", "Venue", "Registration"}}},
	}
	for guess, err := range predict(context.Background(), state) {
		switch {
		case err != nil:
			fmt.Println("no guess:", err)
		case guess.Action != actions.Action{}:
			fmt.Println(guess.Action, guess.Confidence)
		}
	}
	// Output:
	// open {"label":"Registration"} 0.5
	// search {"query":"fees"} 0.2
	// gpt-4.1-mini wrote 2 guesses
}

// A result is what the tools of an agent return: a search finds pages, fetch
// returns one.
type result struct {
	title, text string
	found       []string // URLs
}

// view makes what was found the choices: only they can be guessed as a fetch.
func (r result) view() actions.View {
	v := actions.View{Title: r.title, Text: r.text}
	for _, url := range r.found {
		v.Choices = append(v.Choices, actions.Choice{Label: url, Action: actions.Must("fetch", map[string]string{"url": url})})
	}
	return v
}

// An agent with tools of its own: the draft guesses which of the pages that were
// found is fetched, by number, and composes what is searched for next.
func ExampleChat_ownTools() {
	sim := llmsim.New(llmsim.Options{})
	sim.Push(llmsim.Answer{Text: `{"actions":[{"choice":1},{"tool":"search","arguments":{"query":"early bird fee"}},` +
		`{"tool":"fetch","arguments":{"url":"https://elsewhere.example/"}}]}`})
	endpoint := sim.Pipe()
	defer endpoint.Close()

	predict := draft.Chat(endpoint.Client(), result.view, draft.ChatConfig{
		Tools: []draft.Tool{
			{Name: "fetch", Description: "Opens a page that was found."}, // guessed as a choice only
			{
				Name: "search", Description: "Searches the web.", Composed: true,
				Schema: []byte(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false}`),
			},
		},
		Report: func(r draft.ChatReport) { fmt.Println("dropped:", r.Dropped) },
	})
	state := actions.State[result]{
		Goal: "What is the registration fee?",
		Steps: []actions.Step[result]{{
			Action:      actions.Must("search", map[string]string{"query": "registration fee"}),
			Observation: result{title: "Results", found: []string{"https://c.example/fees", "https://c.example/faq"}},
		}},
	}
	for guess, err := range predict(context.Background(), state) {
		if err == nil && guess.Action != (actions.Action{}) {
			fmt.Println(guess.Action)
		}
	}
	// Output:
	// fetch {"url":"https://c.example/fees"}
	// search {"query":"early bird fee"}
	// dropped: map[composed address:1]
}
