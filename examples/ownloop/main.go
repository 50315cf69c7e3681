// Ownloop puts a session into an agent's loop of your own, whose observations
// are plain text. One call changes: what ran the action now asks the session.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/draft"
	"github.com/speccache/speccache-go/speccache"
)

// museum is what the agent's tool reads: a text, and after "See:" what can be
// opened next.
var museum = map[string]string{
	"home":          "A small museum. See: visit, collection, about",
	"visit":         "Plan your day. See: opening hours, prices, arrival",
	"opening hours": "Open from 10 to 18, closed on Mondays.",
}

// open is the tool. It takes as long as a quick page.
func open(ctx context.Context, a actions.Action) (string, error) {
	var args struct{ Page string }
	if err := a.Decode(&args); err != nil {
		return "", err
	}
	return museum[args.Page], wait(ctx, 60*time.Millisecond)
}

func openPage(name string) actions.Action {
	return actions.Must("open", map[string]string{"page": name})
}

// view tells the draft what can be done next.
func view(text string) actions.View {
	v := actions.View{Text: text}
	if _, names, more := strings.Cut(text, "See: "); more {
		for name := range strings.SplitSeq(names, ", ") {
			v.Choices = append(v.Choices, actions.Choice{Label: name, Action: openPage(name)})
		}
	}
	return v
}

// agent is the loop. A model would choose the pages; here they are given.
func agent(ctx context.Context, w io.Writer, do func(context.Context, actions.Action) (string, error)) error {
	for _, page := range []string{"home", "visit", "opening hours"} {
		if err := wait(ctx, 100*time.Millisecond); err != nil { // the target thinks
			return err
		}
		text, err := do(ctx, openPage(page))
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %s\n", page, text)
	}
	return nil
}

func run(ctx context.Context, w io.Writer) error {
	env := actions.Environment[string]{Do: open, Rules: actions.Reads("open")}
	cache, err := speccache.New(env, speccache.Config[string]{Predictor: draft.Lexical(view)})
	if err != nil {
		return err
	}
	defer cache.Close()
	session := cache.Open(speccache.SessionConfig[string]{Goal: "When can I visit? What are the opening hours?"})
	defer session.Close()

	if err := agent(ctx, w, session.Do); err != nil { // was: agent(ctx, w, open)
		return err
	}
	st := session.Stats()
	fmt.Fprintf(w, "hits: %d, misses: %d, hidden: %v\n", st.Hits, st.Misses, st.Hidden.Round(10*time.Millisecond))
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
