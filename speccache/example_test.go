package speccache_test

import (
	"context"
	"fmt"
	"iter"
	"log"
	"strings"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
)

// slowly is somebody's tool: it looks things up, and takes its time.
func slowly(_ context.Context, a actions.Action) (string, error) {
	timer := time.NewTimer(20 * time.Millisecond)
	defer timer.Stop()
	<-timer.C
	return strings.ToUpper(a.Args()), nil
}

// An agent with a loop of its own changes one call, and says what its tools
// do. Here it even guesses by itself: while it thinks about the first page it
// has the second one fetched.
func Example_ownLoop() {
	ctx := context.Background()
	env := actions.Environment[string]{Do: slowly, Rules: actions.Reads("lookup")}
	cache, err := speccache.New(env, speccache.Config[string]{})
	if err != nil {
		log.Fatal(err)
	}
	defer cache.Close()
	session := cache.Open(speccache.SessionConfig[string]{Goal: "compare go and rust"})
	defer session.Close()

	for _, word := range []string{"go", "rust", "go"} {
		r, err := session.Run(ctx, actions.Must("lookup", word)) // was: slowly(ctx, ...)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Observation, r.Outcome)
		session.Speculate(ctx, actions.Must("lookup", "rust"))
		think(cache, 1)
	}
	// Output:
	// "GO" miss
	// "RUST" hit
	// "GO" hit
}

// think takes as long as n runs ahead need to end.
func think(cache *speccache.Cache[string], n int64) {
	for st := cache.Stats(); st.Used+st.Wasted < n; st = cache.Stats() {
		timer := time.NewTimer(time.Millisecond)
		<-timer.C
	}
}

// A predictor is a func: it yields its guesses best first, each with a source
// for the reports. This one knows that after a chapter comes the next one.
func Example_ownPredictor() {
	next := func(_ context.Context, s actions.State[string]) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			var chapter int
			if err := s.Steps[len(s.Steps)-1].Action.Decode(&chapter); err != nil {
				yield(actions.Prediction{}, err) // is counted, and harms nobody
				return
			}
			yield(actions.Prediction{Action: actions.Must("read", chapter+1), Confidence: 0.9, Source: "next"}, nil)
		}
	}
	env := actions.Environment[string]{Do: slowly, Rules: actions.Reads("read")}
	cache, err := speccache.New(env, speccache.Config[string]{Predictor: next})
	if err != nil {
		log.Fatal(err)
	}
	defer cache.Close()
	session := cache.Open(speccache.SessionConfig[string]{})
	defer session.Close()

	for chapter := range 3 {
		r, err := session.Run(context.Background(), actions.Must("read", chapter))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("chapter", r.Observation, r.Outcome)
		think(cache, int64(chapter)+1)
	}
	fmt.Printf("hit rate %.2f\n", cache.Stats().HitRate())
	// Output:
	// chapter 0 miss
	// chapter 1 hit
	// chapter 2 hit
	// hit rate 0.67
}

// Tools that exist already are wrapped by one func that tells them apart by
// name. What only reads is declared, and what writes is too; what nobody
// declares is treated as a write.
func Example_wrappedTools() {
	stock := 7
	tools := map[string]func() string{
		"stock": func() string { return fmt.Sprint(stock) },
		"order": func() string { stock--; return "ordered" },
		"audit": func() string { return "audited" },
	}
	env := actions.Environment[string]{
		Do: func(_ context.Context, a actions.Action) (string, error) {
			tool, ok := tools[a.Name()]
			if !ok {
				return "", fmt.Errorf("there is no tool %q", a.Name())
			}
			return tool(), nil
		},
		Rules: actions.Rules{
			"stock": {Effect: actions.ReadOnly, Ahead: true},
			"order": {Effect: actions.Write},
		},
	}
	cache, err := speccache.New(env, speccache.Config[string]{})
	if err != nil {
		log.Fatal(err)
	}
	defer cache.Close()
	session := cache.Open(speccache.SessionConfig[string]{Scope: "warehouse 1"})
	defer session.Close()

	for _, name := range []string{"stock", "stock", "order", "stock", "audit", "stock"} {
		r, err := session.Run(context.Background(), actions.Must(name, nil))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s (%s %q)\n", name, r.Observation, r.Outcome, r.Reason)
	}
	// Output:
	// stock: 7 (miss "absent")
	// stock: 7 (hit "")
	// order: ordered (miss "bypass")
	// stock: 6 (miss "state")
	// audit: audited (miss "undeclared")
	// stock: 6 (miss "state")
}

// Explain says what is wrong where nothing hits.
func ExampleSession_Explain() {
	env := actions.Environment[string]{Do: slowly} // no rules
	cache, err := speccache.New(env, speccache.Config[string]{})
	if err != nil {
		log.Fatal(err)
	}
	defer cache.Close()
	session := cache.Open(speccache.SessionConfig[string]{})
	defer session.Close()

	for range 2 {
		if _, err := session.Do(context.Background(), actions.Must("lookup", "go")); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Print(session.Explain())
	// Output:
	// 0 lookups: 0 hits, 0 joins, 0 misses.
	// - Actions without a rule: 2 so far (lookup). They are never remembered or run ahead, and hide what was read before them. Declare them in Environment.Rules: actions.Reads if they only read, actions.Locals if they touch nothing but the agent, actions.Writes if they write.
	// - There is no Predictor, and Speculate was not called: nothing runs ahead.
}
