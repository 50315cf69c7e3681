// Wrappedtools puts functions that you have behind a session. Reads are
// declared and remembered; a write hides what was read before it.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"sync"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/speccache"
)

// notes are the tools as they were before SpecCache.
type notes struct {
	mu    sync.Mutex // reads may run ahead, so tools are called concurrently
	texts map[string]string
}

func (n *notes) read(name string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	text, ok := n.texts[name]
	if !ok {
		return "", fmt.Errorf("there is no note %q", name)
	}
	return text, nil
}

func (n *notes) write(name, text string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.texts[name] = text
	return "written", nil
}

// environment wraps the tools: how to run them, and what they do to the world.
func (n *notes) environment() actions.Environment[string] {
	do := func(_ context.Context, a actions.Action) (string, error) {
		var args struct{ Name, Text string }
		if err := a.Decode(&args); err != nil {
			return "", err
		}
		switch a.Name() {
		case "read":
			return n.read(args.Name)
		case "write":
			return n.write(args.Name, args.Text)
		}
		return "", fmt.Errorf("there is no tool %q", a.Name())
	}
	return actions.Environment[string]{Do: do, Rules: actions.Rules{
		"read":  {Effect: actions.ReadOnly, Ahead: true},
		"write": {Effect: actions.Write},
	}}
}

func run(ctx context.Context, w io.Writer) error {
	tools := &notes{texts: map[string]string{"todo": "buy milk"}}
	cache, err := speccache.New(tools.environment(), speccache.Config[string]{})
	if err != nil {
		return err
	}
	defer cache.Close()
	session := cache.Open(speccache.SessionConfig[string]{Scope: "user 7"})
	defer session.Close()

	read := actions.Must("read", map[string]string{"name": "todo"})
	write := actions.Must("write", map[string]string{"name": "todo", "text": "buy bread"})
	for _, action := range []actions.Action{read, read, write, read} {
		r, err := session.Run(ctx, action)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%-5s -> %-9s  %s\n", action.Name(), r.Observation, describe(r))
	}
	return nil
}

func describe(r speccache.Result[string]) string {
	if r.Reason == "" {
		return string(r.Outcome)
	}
	return string(r.Outcome) + ": " + string(r.Reason)
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
