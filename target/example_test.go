package target_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/internal/llmsim"
	"github.com/speccache/speccache-go/speccache"
	"github.com/speccache/speccache-go/target"
)

// A target with one tool of its own. A server that plays a script stands in for
// the model here; a real one is
// target.NewClient(os.Getenv("OPENAI_API_KEY"), "").
func Example() {
	script := llmsim.New(llmsim.Options{})
	script.Push(
		llmsim.Answer{Calls: []llmsim.Call{{Name: "lookup", Args: `{"word":"draft"}`}, {Name: "lookup", Args: `{"word":"target"}`}}},
		llmsim.Answer{Calls: []llmsim.Call{{Name: "remember", Args: `{"note":"a draft guesses"}`}, {Name: "lookup", Args: `{"word":"draft"}`}}},
		llmsim.Answer{Text: "The draft guesses, the target decides."},
	)
	server, err := script.Listen()
	if err != nil {
		panic(err)
	}
	defer server.Close()

	glossary := map[string]string{"draft": "guesses what comes next", "target": "decides"}
	cache, err := speccache.New(actions.Environment[string]{
		Do: func(_ context.Context, a actions.Action) (string, error) {
			var args struct{ Word string }
			err := a.Decode(&args)
			return glossary[args.Word], err
		},
		Rules: actions.Reads("lookup"),
	}, speccache.Config[string]{})
	if err != nil {
		panic(err)
	}
	defer cache.Close()
	question := "Who guesses, and who decides?"
	session := cache.Open(speccache.SessionConfig[string]{Goal: question})
	defer session.Close()

	loop := target.Loop[string]{
		Session: session,
		Chat: target.NewChat(target.NewClient("", server.URL), target.ChatConfig{Tools: []target.Tool{{
			Name:        "lookup",
			Description: "Look a word up in the glossary.",
			Schema:      json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}`),
		}}}),
	}
	for event, err := range loop.Run(context.Background(), question) {
		switch {
		case err != nil:
			fmt.Println(err)
		case event.Step != nil:
			fmt.Printf("%s %s: %s\n", event.Step.Call.Name, event.Step.Call.Args, event.Step.Result.Outcome)
		case event.Note != "":
			fmt.Println("noted:", event.Note)
		case event.Result != nil:
			fmt.Println(event.Result.Answer)
		}
	}
	// Output:
	// lookup {"word":"draft"}: miss
	// lookup {"word":"target"}: miss
	// noted: a draft guesses
	// lookup {"word":"draft"}: hit
	// The draft guesses, the target decides.
}

// An executor alone puts a session in front of the tools of a loop of your own.
func ExampleExecutor() {
	cache, err := speccache.New(actions.Environment[string]{
		Do:    func(_ context.Context, a actions.Action) (string, error) { return "read " + a.Args(), nil },
		Rules: actions.Reads("click"),
	}, speccache.Config[string]{})
	if err != nil {
		panic(err)
	}
	defer cache.Close()
	session := cache.Open(speccache.SessionConfig[string]{})
	defer session.Close()

	tools := target.Executor[string]{Session: session, Tools: []target.Tool{{Name: "click"}}}
	for _, args := range []string{`{"label": "About"}`, `{"button": "About"}`, `["About"]`} {
		step := tools.Do(context.Background(), target.Call{Name: "click", Args: args})
		if step.Err != nil {
			fmt.Println("the model reads:", step.Err)
			continue
		}
		fmt.Println(step.Result.Observation, step.Result.Outcome)
	}
	// Output:
	// read {"label":"About"} miss
	// read {"label":"About"} hit
	// the model reads: target: the arguments of "click" must be one JSON object
}
