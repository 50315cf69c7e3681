package actions_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/speccache/speccache-go/actions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// model reads JSON text without the code under test: numbers are doubles, as
// in I-JSON.
func model(t testing.TB, text string) any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal([]byte(text), &v), "%.200q", text)
	return v
}

func sameValue(t testing.TB, a, b string) bool {
	return reflect.DeepEqual(model(t, a), model(t, b))
}

// A writer spells I-JSON values in random ways.
type writer struct{ *rand.Rand }

func (w writer) pick(of ...string) string { return of[w.IntN(len(of))] }

func (w writer) space() string { return w.pick("", "", "", " ", "\n", "\t\r") }

// value makes a random value out of few parts, so that equal ones are common.
func (w writer) value(depth int) any {
	kind := w.IntN(8)
	if depth == 0 {
		kind = w.IntN(6)
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return w.IntN(2) == 0
	case 2, 3:
		return []float64{0, 1, -1, 0.1, 1e-7, 1e21, 1 << 53, 12345.678, 5e-324}[w.IntN(9)]
	case 4, 5:
		return w.pick("", "a", "é", "e\u0301", "<&>", "\"\\/", "\u2028", "😀", "\x00\x1f", "1")
	case 6:
		list := make([]any, w.IntN(3))
		for i := range list {
			list[i] = w.value(depth - 1)
		}
		return list
	}
	object := make(map[string]any)
	for range w.IntN(4) {
		object[w.pick("a", "b", "é", "\ufb33", "😀", "")] = w.value(depth - 1)
	}
	return object
}

// spell writes a value: order, white space, escapes and number forms vary.
func (w writer) spell(v any) string {
	switch v := v.(type) {
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = w.space() + w.spell(v[i]) + w.space()
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var parts []string
		for name, member := range v {
			parts = append(parts, w.space()+w.text(name)+w.space()+":"+w.space()+w.spell(member)+w.space())
		}
		w.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		return "{" + strings.Join(parts, ",") + "}"
	case string:
		return w.text(v)
	case float64:
		return w.number(v)
	}
	return fmt.Sprint(map[any]string{nil: "null", true: "true", false: "false"}[v])
}

func (w writer) number(f float64) string {
	text := strconv.FormatFloat(f, []byte("eEf")[w.IntN(3)], -1, 64)
	if f == 1e21 && !strings.ContainsAny(text, "eE") {
		return text + ".0" // refused without the point
	}
	return text
}

func (w writer) text(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch escape := w.IntN(3) == 0; {
		case r < 0x20, r == '"', r == '\\', escape && r < 0x10000:
			fmt.Fprintf(&b, w.pick(`\u%04x`, `\u%04X`), r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// pairs is how many random values are compared, or what SPECCACHE_PAIRS says.
func pairs(t *testing.T) int {
	text := os.Getenv("SPECCACHE_PAIRS")
	if text == "" {
		return 20_000
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "SPECCACHE_PAIRS is a number of pairs")
	return n
}

func TestRandomValuesShareAKeyExactlyIfTheyAreEqual(t *testing.T) {
	w := writer{rand.New(rand.NewPCG(1, 2))}
	equal := 0
	for range pairs(t) {
		v, other := w.value(3), w.value(3)
		one, two, three := w.spell(v), w.spell(v), w.spell(other)
		a, b, c := parse(t, one), parse(t, two), parse(t, three)
		require.True(t, a == b && a.Hash() == b.Hash(), "%s and %s", one, two)
		same := sameValue(t, one, three)
		require.Equal(t, same, a == c, "%s and %s", one, three)
		require.Equal(t, same, a.Hash() == c.Hash(), "%s and %s", one, three)
		require.True(t, sameValue(t, one, a.Args()))
		if same {
			equal++
		}
	}
	assert.Greater(t, equal, 100, "the property must be tested both ways")
}

// Exact arithmetic as the judge: integers that share a key are equal, however
// they are written and however large.
func TestIntegersThatShareAKeyAreEqual(t *testing.T) {
	w := writer{rand.New(rand.NewPCG(3, 4))}
	seen := make(map[actions.Action]*big.Rat)
	accepted := 0
	for range 100_000 {
		literal := w.integer()
		a, err := actions.Parse("a", literal)
		if err != nil {
			refused(t, actions.ProblemNumber, err, literal)
			continue
		}
		accepted++
		exact, ok := new(big.Rat).SetString(literal)
		require.True(t, ok)
		if before := seen[a]; before != nil {
			require.Zero(t, before.Cmp(exact), "%s and %s", literal, before)
		}
		seen[a] = exact
	}
	assert.Greater(t, accepted, 10_000)
	assert.Greater(t, accepted-len(seen), 1000, "the property must be tested")
}

// integer writes an integer near a power of two or ten, in some form.
func (w writer) integer() string {
	n := new(big.Int)
	if w.IntN(2) == 0 {
		n.Lsh(big.NewInt(1), uint(w.IntN(80)))
	} else {
		n.Exp(big.NewInt(10), big.NewInt(int64(w.IntN(30))), nil)
	}
	n.Add(n, big.NewInt(int64(w.IntN(5)-2)))
	s := n.String()
	if n.Sign() == 0 {
		return s
	}
	digits := strings.TrimPrefix(s, "-")
	sign := s[:len(s)-len(digits)]
	switch w.IntN(4) {
	case 0:
		return s
	case 1:
		return s + ".0"
	case 2:
		return s + "0e-1"
	}
	return sign + digits[:1] + "." + digits[1:] + "0e" + strconv.Itoa(len(digits)-1)
}

func FuzzParse(f *testing.F) {
	for _, args := range []string{`{}`, `{"b":1.50,"a":[null,true,"\u00e9"]}`, `1e21`, `"\ud83d\ude00<"`, ` [ ] `, `-0`} {
		f.Add("visit", args)
	}
	f.Fuzz(func(t *testing.T, name, args string) {
		a, err := actions.Parse(name, args)
		if err != nil {
			assert.ErrorAs(t, err, new(*actions.InvalidError))
			assert.Equal(t, actions.Action{}, a)
			return
		}
		again, err := actions.Parse(name, a.Args())
		require.NoError(t, err)
		require.True(t, a == again && a.Hash() == again.Hash(), "%s became %s", a, again)
		require.True(t, utf8.ValidString(a.Args()))
		require.LessOrEqual(t, len(a.Args()), actions.MaxArgs)
		require.True(t, sameValue(t, args, a.Args()))
		made, err := actions.New(name, json.RawMessage(args))
		require.NoError(t, err)
		require.True(t, a == made)
	})
}
