package draft_test

import (
	"bufio"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/draft"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// itself is the view of tests whose observations are views.
func itself(v actions.View) actions.View { return v }

// visit makes the action that leads to a URL.
func visit(url string) actions.Action {
	return actions.Must("visit", map[string]string{"url": url})
}

// link is a choice that leads to a URL.
func link(label, url string) actions.Choice {
	return actions.Choice{Label: label, Action: visit(url)}
}

// looking is the state of an agent that was handed its first page.
func looking(goal string, choices ...actions.Choice) actions.State[actions.View] {
	page := actions.View{Choices: choices}
	return actions.State[actions.View]{Goal: goal, Steps: []actions.Step[actions.View]{{Observation: page}}}
}

// guesses runs a predictor to its end.
func guesses[O any](t testing.TB, p actions.Predictor[O], s actions.State[O]) []actions.Prediction {
	t.Helper()
	var all []actions.Prediction
	for guess, err := range p(context.Background(), s) {
		require.NoError(t, err)
		all = append(all, guess)
	}
	return all
}

// guessed returns the actions that a predictor guesses.
func guessed[O any](t testing.TB, p actions.Predictor[O], s actions.State[O]) []actions.Action {
	t.Helper()
	var all []actions.Action
	for _, guess := range guesses(t, p, s) {
		all = append(all, guess.Action)
	}
	return all
}

func lexical() actions.Predictor[actions.View] { return draft.Lexical(itself) }

// shared returns a file or folder of the shared data, or skips the test where
// there is none; CI has to have it.
func shared(t testing.TB, path ...string) string {
	t.Helper()
	root := os.Getenv("SPECCACHE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	name := filepath.Join(append([]string{root}, path...)...)
	if _, err := os.Stat(name); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("shared data is missing: %v; set SPECCACHE_SHARED to its folder", err)
		}
		t.Skipf("no shared data: %v; set SPECCACHE_SHARED to its folder", err)
	}
	return name
}

// A question is an item of WebWalkerQA. Both files decode into it: encoding/json
// ignores case.
type question struct {
	Question string
	Root     string   `json:"root_url"`
	Paths    []string `json:"golden_path"`
	Lang     string
}

func questions(t testing.TB, file string) []question {
	t.Helper()
	f, err := os.Open(shared(t, "data", "webwalkerqa", file))
	require.NoError(t, err)
	defer f.Close()
	var all []question
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var q question
		require.NoError(t, json.Unmarshal(lines.Bytes(), &q))
		all = append(all, q)
	}
	require.NotEmpty(t, all)
	return all
}

// clicks returns the labels on a golden path, without its root.
func clicks(path string) []string { return strings.Split(path, "->")[1:] }

// A tally counts how often the right guess stood where.
type tally struct{ n, first, third int }

// add counts one click, given the rank of the right guess from 0; -1 is none.
func (c *tally) add(rank int) {
	c.n++
	if rank == 0 {
		c.first++
	}
	if rank >= 0 && rank < 3 {
		c.third++
	}
}

// wilson returns the 95 % interval of a share.
func wilson(hits, n int) (low, high float64) {
	const z = 1.96
	p, m := float64(hits)/float64(n), float64(n)
	middle := (p + z*z/(2*m)) / (1 + z*z/m)
	width := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return middle - width, middle + width
}

func (c *tally) log(t testing.TB, what string) (at3 float64) {
	low1, high1 := wilson(c.first, c.n)
	low3, high3 := wilson(c.third, c.n)
	at1, at3 := float64(c.first)/float64(c.n), float64(c.third)/float64(c.n)
	t.Logf("%s: %d clicks, accuracy@1 %.3f [%.3f, %.3f], accuracy@3 %.3f [%.3f, %.3f]",
		what, c.n, at1, low1, high1, at3, low3, high3)
	return at3
}
