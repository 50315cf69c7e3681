package llm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/speccache/speccache-go/internal/llm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pieces adds pieces one by one.
func pieces(all ...llm.CallDelta) ([]llm.Call, []string) {
	var c llm.Calls
	for _, piece := range all {
		c.Add(piece)
	}
	calls, dropped := c.Done()
	var reasons []string
	for _, d := range dropped {
		reasons = append(reasons, d.Reason)
	}
	return calls, reasons
}

func TestTwoCallsAreNeverMerged(t *testing.T) {
	type d = llm.CallDelta
	type calls = []llm.Call
	one, two := `{"n":1}`, `{"n":2}`
	for name, c := range map[string]struct {
		pieces  []d
		calls   calls
		dropped []string
	}{
		"nothing":  {nil, nil, nil},
		"one":      {[]d{{ID: "x", Name: "a"}, {Args: `{"n"`}, {Args: `:1}`}}, calls{{"x", "a", one}}, nil},
		"no args":  {[]d{{ID: "x", Name: "a"}}, calls{{"x", "a", "{}"}}, nil},
		"null":     {[]d{{ID: "x", Name: "a", Args: "null"}}, calls{{"x", "a", "{}"}}, nil},
		"no ID":    {[]d{{Name: "a", Args: one}}, calls{{"call_0", "a", one}}, nil},
		"empty":    {[]d{{}, {ID: "x", Name: "a"}, {}, {Args: one}, {}}, calls{{"x", "a", one}}, nil},
		"ID later": {[]d{{Name: "a"}, {ID: "x", Args: one}}, calls{{"x", "a", one}}, nil},

		"interleaved":                               {[]d{{ID: "x", Name: "a"}, {Index: 1, ID: "y", Name: "b"}, {Args: `{"n":`}, {Index: 1, Args: two}, {Args: `1}`}}, calls{{"x", "a", one}, {"y", "b", two}}, nil},
		"one index, two IDs":                        {[]d{{ID: "x", Name: "a", Args: one}, {ID: "y", Name: "a", Args: two}}, calls{{"x", "a", one}, {"y", "a", two}}, nil},
		"one index, two IDs, first without args":    {[]d{{ID: "x", Name: "a"}, {ID: "y", Name: "a"}, {ID: "y", Args: two}, {ID: "x", Args: one}}, calls{{"x", "a", one}, {"y", "a", two}}, nil},
		"one index, no IDs":                         {[]d{{Name: "a", Args: one}, {Name: "a", Args: two}}, calls{{"call_0", "a", one}, {"call_1", "a", two}}, nil},
		"one index, no IDs, in pieces":              {[]d{{Name: "a"}, {Args: one}, {Name: "a"}, {Args: two}}, calls{{"call_0", "a", one}, {"call_1", "a", two}}, nil},
		"the same twice, without ID":                {[]d{{Name: "a", Args: one}, {Name: "a", Args: one}}, calls{{"call_0", "a", one}, {"call_1", "a", one}}, nil},
		"the same twice, with ID":                   {[]d{{ID: "x", Name: "a", Args: one}, {ID: "x", Name: "a", Args: one}}, calls{{"x", "a", one}}, nil},
		"one ID for two":                            {[]d{{ID: "x", Name: "a", Args: one}, {ID: "x", Name: "a", Args: two}}, calls{{"x", "a", one}, {"call_1", "a", two}}, nil},
		"one ID for two, by index":                  {[]d{{ID: "x", Name: "a", Args: one}, {Index: 1, ID: "x", Name: "a", Args: two}}, calls{{"x", "a", one}, {"call_1", "a", two}}, nil},
		"no index":                                  {[]d{{Index: -1, ID: "x", Name: "a", Args: one}, {Index: -1, ID: "y", Name: "b", Args: two}}, calls{{"x", "a", one}, {"y", "b", two}}, nil},
		"no index, empty IDs":                       {[]d{{Index: -1, Name: "a", Args: one}, {Index: -1, Name: "a", Args: two}}, calls{{"call_0", "a", one}, {"call_1", "a", two}}, nil},
		"name in each piece":                        {[]d{{Name: "a", Args: `{"n"`}, {Name: "a", Args: `:1}`}}, calls{{"call_0", "a", one}}, nil},
		"ID and name in each piece":                 {[]d{{ID: "x", Name: "a"}, {ID: "x", Name: "a", Args: `{"n"`}, {ID: "x", Name: "a", Args: `:1}`}}, calls{{"x", "a", one}}, nil},
		"ID and name at the end again":              {[]d{{ID: "x", Name: "a", Args: one}, {ID: "x", Name: "a"}}, calls{{"x", "a", one}}, nil},
		"prefilled":                                 {[]d{{ID: "x", Name: "a", Args: "{}"}, {Args: `{"n"`}, {Args: `:1}`}}, calls{{"x", "a", one}}, nil},
		"braces in strings":                         {[]d{{Name: "a", Args: `{"n":"}\"{`}, {Args: `}"}`}}, calls{{"call_0", "a", `{"n":"}\"{}"}`}}, nil},
		"space behind":                              {[]d{{Name: "a", Args: one}, {Args: "\n "}}, calls{{"call_0", "a", one}}, nil},
		"two without args: names in pieces, or two": {[]d{{Name: "get_"}, {Name: "weather"}, {Args: one}}, nil, []string{llm.TwoInOne, llm.TwoInOne}},
		"arguments of two in one text":              {[]d{{Name: "a", Args: one + two}}, nil, []string{llm.TwoInOne}},
		"{} and more in one text":                   {[]d{{Name: "a", Args: "{}" + two}}, nil, []string{llm.TwoInOne}},
		"arguments of two, one after the other":     {[]d{{Name: "a", Args: one}, {Args: two}}, nil, []string{llm.TwoInOne}},
		"a name again, or a call without args":      {[]d{{Name: "a", Args: one}, {Name: "a"}}, calls{{"call_0", "a", one}}, []string{llm.TwoInOne}},
		"another begins in the middle":              {[]d{{Name: "a", Args: `{"n"`}, {Name: "b", Args: two}}, calls{{"call_0", "b", two}}, []string{llm.TwoInOne}},
		"no name":                                   {[]d{{ID: "x", Args: one}}, nil, []string{llm.NoName}},
		"cut":                                       {[]d{{Name: "a", Args: `{"n"`}}, nil, []string{llm.IncompleteArgs}},
		"a list":                                    {[]d{{Name: "a", Args: `[1]`}}, nil, []string{llm.NoObject}},
		"no JSON":                                   {[]d{{Name: "a", Args: `{n:1}`}}, nil, []string{llm.NoObject}},
		"prose":                                     {[]d{{Name: "a", Args: `I think`}}, nil, []string{llm.NoObject}},
	} {
		t.Run(name, func(t *testing.T) {
			got, dropped := pieces(c.pieces...)
			assert.Equal(t, c.calls, got)
			assert.Equal(t, c.dropped, dropped)
		})
	}
}

func TestCallsBeyondAHundredAndTwentyEightAreDroppedAndReportedOnce(t *testing.T) {
	var c llm.Calls
	for i := range 10_000 {
		c.Add(llm.CallDelta{Index: i, Name: "a"}) // all begin, and go on later, as in one chunk of vLLM
	}
	for i := range 10_000 {
		c.Add(llm.CallDelta{Index: i, Args: fmt.Sprintf(`{"n":%d}`, i)})
	}
	calls, dropped := c.Done()
	require.Len(t, calls, 128)
	for i, call := range calls {
		assert.Equal(t, fmt.Sprintf(`{"n":%d}`, i), call.Args)
	}
	require.Len(t, dropped, 1)
	assert.Equal(t, llm.TooMany, dropped[0].Reason)
	assert.Equal(t, "a", dropped[0].Name)
}

// The arguments of a call that is one too many must not become those of the
// last one that was kept.
func TestACallTooManyIsNotMergedIntoAnother(t *testing.T) {
	for name, last := range map[string]llm.CallDelta{
		"without arguments": {Index: -1, ID: "last", Name: "a"},
		"in the middle":     {Index: -1, ID: "last", Name: "a", Args: `{"n":`},
		"prefilled":         {Index: -1, ID: "last", Name: "a", Args: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			var c llm.Calls
			for i := range 127 {
				c.Add(llm.CallDelta{Index: -1, ID: fmt.Sprint(i), Name: "a", Args: `{}`})
			}
			c.Add(last, llm.CallDelta{Index: -1, ID: "more", Name: "a", Args: last.Args}, llm.CallDelta{Index: -1, Args: `{"n":7}`})
			calls, dropped := c.Done()
			require.Len(t, calls, 127)
			for i, call := range calls {
				assert.Equal(t, llm.Call{ID: fmt.Sprint(i), Name: "a", Args: `{}`}, call)
			}
			require.Len(t, dropped, 2)
			assert.Equal(t, llm.TwoInOne, dropped[0].Reason)
			assert.Equal(t, llm.TooMany, dropped[1].Reason)
		})
	}
}

func TestALongIDIsReplacedByAShortOne(t *testing.T) {
	long := strings.Repeat("i", 65)
	calls, dropped := pieces(
		llm.CallDelta{Index: 0, ID: long, Name: "a", Args: "{}"},
		llm.CallDelta{Index: 1, ID: long[:64], Name: "a", Args: "{}"},
	)
	assert.Empty(t, dropped)
	assert.Equal(t, []llm.Call{{ID: "call_0", Name: "a", Args: "{}"}, {ID: long[:64], Name: "a", Args: "{}"}}, calls)
}

func TestADroppedCallSaysWhichToolItWas(t *testing.T) {
	var c llm.Calls
	c.Add(llm.CallDelta{Name: "visit", Args: "{"})
	_, dropped := c.Done()
	assert.EqualError(t, dropped[0], `llm: dropped a call of the tool "visit": its arguments stop in the middle`)
}

// FuzzCalls sends calls in pieces: lines of index, ID, name and arguments.
func FuzzCalls(f *testing.F) {
	f.Add("0|x|a|\n0|||{\"n\":1}")
	f.Add("-|x|a|{}\n-|y|a|{}")
	f.Add("0||a|{}\n0|||{\"n\"\n0|||:2}")
	f.Fuzz(func(t *testing.T, script string) {
		var all []llm.CallDelta
		for line := range strings.Lines(script) {
			part := strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 4)
			if len(part) == 4 {
				all = append(all, llm.CallDelta{Index: strings.Index("-0123", part[0]) - 1, ID: part[1], Name: part[2], Args: part[3]})
			}
		}
		calls, dropped := pieces(all...)
		assert.LessOrEqual(t, len(calls)+len(dropped), len(all))
		ids := map[string]bool{}
		for _, c := range calls {
			var object map[string]json.RawMessage
			assert.NoError(t, json.Unmarshal([]byte(c.Args), &object), c.Args)
			assert.NotEmpty(t, c.Name)
			assert.False(t, ids[c.ID] || c.ID == "", "IDs are unique: %q", c.ID)
			ids[c.ID] = true
		}
	})
}
