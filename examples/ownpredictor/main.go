// Ownpredictor guesses with a function of your own: whoever reads a list page
// by page will want the next page.
package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log"
	"os"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
)

func list(page int) actions.Action {
	return actions.Must("list", map[string]int{"page": page})
}

// nextPage is the predictor: it gets the goal and the steps so far, and yields
// what may come next, best first. It should end when ctx does, and must be
// faster than the target thinks.
func nextPage(_ context.Context, s actions.State[string]) iter.Seq2[actions.Prediction, error] {
	return func(yield func(actions.Prediction, error) bool) {
		if len(s.Steps) == 0 {
			return
		}
		last := s.Steps[len(s.Steps)-1].Action
		var args struct{ Page int }
		if last.Name() != "list" || last.Decode(&args) != nil {
			return // nothing to say is better than anything
		}
		yield(actions.Prediction{Action: list(args.Page + 1), Confidence: 0.9, Source: "next page"}, nil)
	}
}

// fetch stands for a slow list.
func fetch(ctx context.Context, a actions.Action) (string, error) {
	select {
	case <-time.After(60 * time.Millisecond):
		return "entries of " + a.String(), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func run(ctx context.Context, w io.Writer) error {
	env := actions.Environment[string]{Do: fetch, Rules: actions.Reads("list")}
	cache, err := speccache.New(env, speccache.Config[string]{Predictor: nextPage})
	if err != nil {
		return err
	}
	defer cache.Close()
	session := cache.Open(speccache.SessionConfig[string]{})
	defer session.Close()

	for page := range 5 {
		r, err := session.Run(ctx, list(page+1))
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %s\n", r.Observation, r.Outcome)
		select { // the target thinks
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	st := session.Stats()
	fmt.Fprintf(w, "%d guesses, %d of %d runs ahead used\n", st.Guesses.Proposed, st.Used, st.Speculated)
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
