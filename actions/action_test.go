package actions_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSpellingsOfOneValueAreOneAction(t *testing.T) {
	for name, spellings := range map[string][]string{
		"key order":   {`{"a":1,"b":{"c":2,"d":3}}`, `{"b":{"d":3,"c":2},"a":1}`},
		"white space": {`{"a":[1,2]}`, " {\n\t\"a\" : [ 1 ,\r 2 ] } "},
		"numbers":     {`[1]`, `[1.0]`, `[1e0]`, `[10E-1]`, `[0.1e+1]`, `[1.00000000000000000001]`},
		"zeros":       {`0`, `-0`, `0.0`, `0e5`, `-0.0E-9`, `0e999999999999999999999`},
		"fractions":   {`0.1`, `1e-1`, `0.10000000000000001`},
		"large":       {`1e21`, `1E+21`, `1000.0e18`, `1000000000000000000000.0`},
		"2^53":        {`9007199254740992`, `9007199254740992.0`, `9.007199254740992e15`},
		"escapes":     {`"aé😀/"`, `"\u0061\u00e9\uD83D\ude00\/"`},
		"HTML":        {`"<a&b>"`, `"\u003ca\u0026b\u003e"`},
		"names":       {`{"é":1}`, `{"\u00E9":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			first := parse(t, spellings[0])
			for _, s := range spellings[1:] {
				a := parse(t, s)
				assert.True(t, first == a, "%s and %s", spellings[0], s)
				assert.Equal(t, first.Hash(), a.Hash())
			}
		})
	}
}

func TestDifferentValuesAreDifferentActions(t *testing.T) {
	values := []string{`1`, `"1"`, `[1]`, `{"a":1}`, `{"a":"1"}`, `{"a":[1]}`, `{"a":1,"b":1}`, `{"A":1}`, `null`, `{}`, `[]`,
		`""`, `"null"`, `false`, `true`, `0`, `-1`, `1.5`, `1e21`, `9007199254740991`, `9007199254740992`, `[[1],2]`, `[[1,2]]`,
		`"é"`, `"e\u0301"`, `{"é":1}`, `{"e\u0301":1}`, `"\u0000"`, `" "`, `5e-324`, `0.1`, `0.1000000000000001`}
	seen := make(map[actions.Action]string)
	hashes := make(map[uint64]string)
	for _, v := range values {
		a := parse(t, v)
		assert.Empty(t, seen[a], v)
		assert.Empty(t, hashes[a.Hash()], v)
		seen[a], hashes[a.Hash()] = v, v
	}
}

func TestNameAndArgumentsDoNotRunIntoEachOther(t *testing.T) {
	var all []actions.Action
	for _, name := range []string{"a", "a1", "a12", `a"`, `a""`, "a\x00", "a ", "a{}"} {
		for _, args := range []string{"1", "12", "2", `""`, "{}", `"1"`} {
			a, err := actions.Parse(name, args)
			require.NoError(t, err)
			all = append(all, a)
		}
	}
	hashes := make(map[uint64]actions.Action)
	for i, a := range all {
		for _, b := range all[:i] {
			assert.False(t, a == b, "%v, %v", a, b)
		}
		_, collides := hashes[a.Hash()]
		assert.False(t, collides, "%v", a)
		hashes[a.Hash()] = a
	}
}

func TestParseRefusesWhatCouldMergeTwoValues(t *testing.T) {
	for _, test := range []struct {
		args string
		want actions.Problem
	}{
		{`{"a":1,"a":1}`, actions.ProblemDuplicate},
		{`{"a":1,"a":2}`, actions.ProblemDuplicate},
		{`{"a":1,"\u0061":2}`, actions.ProblemDuplicate},
		{`[{"x":{"é":1,"b":2,"\u00e9":3}}]`, actions.ProblemDuplicate},
		{"\"\xff\"", actions.ProblemUTF8},
		{"{\"\xc3\x28\":1}", actions.ProblemUTF8},
		{"\"\xed\xa0\x80\"", actions.ProblemUTF8},
		{`"\ud800"`, actions.ProblemUTF8},
		{`"\udc00x"`, actions.ProblemUTF8},
		{`"\ud800\ud800"`, actions.ProblemUTF8},
		{`{"\udead":1}`, actions.ProblemUTF8},
		{`9007199254740993`, actions.ProblemNumber},
		{`-9007199254740993`, actions.ProblemNumber},
		{`9007199254740993.0`, actions.ProblemNumber},
		{`9.007199254740993e15`, actions.ProblemNumber},
		{`90071992547409930e-1`, actions.ProblemNumber},
		{`9007199254740992.5`, actions.ProblemNumber},
		{`9007199254740994`, actions.ProblemNumber},
		{`1e20`, actions.ProblemNumber},
		{`9223372036854775807`, actions.ProblemNumber},
		{`9223372036854775808`, actions.ProblemNumber},
		{`1000000000000000000000`, actions.ProblemNumber},
		{`1000000000000000000001.0`, actions.ProblemNumber},
		{`1.0000000000000000001e21`, actions.ProblemNumber},
		{`1.7976931348623158e308`, actions.ProblemNumber},
		{`1e400`, actions.ProblemNumber},
		{`-1e400`, actions.ProblemNumber},
		{`1e99999999999999999999`, actions.ProblemNumber},
		{`1e-400`, actions.ProblemNumber},
		{`-1e-400`, actions.ProblemNumber},
		{`[{"a":[1e-99999999999999999999]}]`, actions.ProblemNumber},
		{``, actions.ProblemSyntax},
		{` `, actions.ProblemSyntax},
		{`{`, actions.ProblemSyntax},
		{`1 2`, actions.ProblemSyntax},
		{`{}{}`, actions.ProblemSyntax},
		{`{"a":1,}`, actions.ProblemSyntax},
		{`{'a':1}`, actions.ProblemSyntax},
		{`NaN`, actions.ProblemSyntax},
		{`Infinity`, actions.ProblemSyntax},
		{`01`, actions.ProblemSyntax},
		{`+1`, actions.ProblemSyntax},
		{"\ufeff{}", actions.ProblemSyntax},
		{"\"\n\"", actions.ProblemSyntax},
	} {
		_, err := actions.Parse("a", test.args)
		refused(t, test.want, err, test.args)
	}
}

func TestParseHasLimits(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	text := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	parse(t, nest(actions.MaxDepth))
	parse(t, text(actions.MaxArgs))
	parse(t, "[1"+strings.Repeat(" ", actions.MaxArgs-3)+"]")
	for _, test := range []struct {
		args string
		want actions.Problem
	}{
		{nest(actions.MaxDepth + 1), actions.ProblemDepth},
		{strings.Repeat(`{"a":`, actions.MaxDepth+1), actions.ProblemDepth},
		{strings.Repeat(`[{"a":`, 50_000), actions.ProblemDepth},
		{text(actions.MaxArgs + 1), actions.ProblemSize},
		{strings.Repeat("[", actions.MaxArgs+1), actions.ProblemSize},
		{"[" + strings.TrimSuffix(strings.Repeat("1e20,", 1000), ",") + "]", actions.ProblemNumber},
	} {
		_, err := actions.Parse("a", test.args)
		refused(t, test.want, err, fmt.Sprintf("%.20s", test.args))
	}
}

// A canonical form may be longer than the text: 1e20 has 21 digits. None that
// is accepted grows beyond the limit.
func TestCanonicalArgumentsAreWithinTheLimitToo(t *testing.T) {
	short := "[" + strings.TrimSuffix(strings.Repeat("1e-6,", actions.MaxArgs/5), ",") + "]"
	_, err := actions.Parse("a", short)
	refused(t, actions.ProblemSize, err)
}

func TestDeepNestingIsRefusedBeforeItIsRead(t *testing.T) {
	worst := strings.Repeat("[", actions.MaxArgs)
	allocs := testing.AllocsPerRun(3, func() {
		_, err := actions.Parse("a", worst)
		refused(t, actions.ProblemDepth, err)
	})
	assert.Less(t, allocs, 200.0)
}

func TestNamesAreCheckedAsWell(t *testing.T) {
	_, err := actions.Parse(strings.Repeat("x", actions.MaxName), "{}")
	require.NoError(t, err)
	for name, want := range map[string]actions.Problem{
		"":                                     actions.ProblemName,
		strings.Repeat("x", actions.MaxName+1): actions.ProblemSize,
		"a\xff":                                actions.ProblemUTF8,
	} {
		_, err := actions.Parse(name, "{}")
		refused(t, want, err, name)
		_, err = actions.New(name, nil)
		refused(t, want, err, name)
	}
}

func TestNewEncodesAsEncodingJSONDoes(t *testing.T) {
	type query struct {
		Text  string `json:"text"`
		Limit int    `json:"limit,omitempty"`
		Tags  []string
		skip  int
	}
	for _, test := range []struct {
		args any
		want string
	}{
		{nil, `{}`},
		{map[string]any(nil), `null`},
		{map[string]any{}, `{}`},
		{map[string]any{"url": "/?a=1&b=<2>"}, `{"url":"/?a=1&b=<2>"}`},
		{map[int]bool{10: true, 9: false}, `{"10":true,"9":false}`},
		{query{Text: "x", skip: 1}, `{"Tags":null,"text":"x"}`},
		{&query{Limit: 3, Tags: []string{}}, `{"Tags":[],"limit":3,"text":""}`},
		{[]byte{1, 2}, `"AQI="`},
		{json.RawMessage(` {"b" : 1.0, "a": 2} `), `{"a":2,"b":1}`},
		{json.Number("10e-1"), `1`},
		{[]any{json.Number(""), json.Number("-2.50")}, `[0,-2.5]`},
		{map[json.Number]json.Number{"1": "1"}, `{"1":1}`},
		{float32(0.1), `0.1`},
		{"\u2028", "\"\u2028\""},
		{1 << 53, `9007199254740992`},
	} {
		a, err := actions.New("a", test.args)
		require.NoError(t, err)
		assert.Equal(t, test.want, a.Args())
	}
}

type badMarshaler string

func (b badMarshaler) MarshalJSON() ([]byte, error) { return []byte(b), nil }

// sameText is a key whose values all have one text.
type sameText int

func (sameText) MarshalText() ([]byte, error) { return []byte("same"), nil }

func TestNewRefusesWhatEncodingJSONWouldRepair(t *testing.T) {
	cycle := map[string]any{}
	cycle["cycle"] = cycle
	nest := func(depth int) (v any) {
		for range depth {
			v = []any{v}
		}
		return v
	}
	for name, test := range map[string]struct {
		args any
		want actions.Problem
	}{
		"invalid UTF-8":         {map[string]string{"q": "\xff"}, actions.ProblemUTF8},
		"invalid UTF-8 name":    {map[string]int{"\xc0\x80": 1}, actions.ProblemUTF8},
		"surrogate in raw":      {json.RawMessage(`"\ud800"`), actions.ProblemUTF8},
		"invalid UTF-8 in raw":  {json.RawMessage("\"\xff\""), actions.ProblemUTF8},
		"duplicate in raw":      {json.RawMessage(`{"a":1,"a":2}`), actions.ProblemDuplicate},
		"duplicate keys":        {map[sameText]int{1: 1, 2: 2}, actions.ProblemDuplicate},
		"large int":             {int64(1<<53 + 1), actions.ProblemNumber},
		"large uint":            {uint64(math.MaxUint64), actions.ProblemNumber},
		"large number":          {json.Number("9007199254740993"), actions.ProblemNumber},
		"number that is none":   {json.Number(`"1"`), actions.ProblemType},
		"number with more":      {json.Number(`1,2`), actions.ProblemType},
		"NaN":                   {math.NaN(), actions.ProblemType},
		"infinite":              {[]float64{math.Inf(-1)}, actions.ProblemType},
		"channel":               {make(chan int), actions.ProblemType},
		"function":              {map[string]any{"f": func() {}}, actions.ProblemType},
		"cycle":                 {cycle, actions.ProblemType},
		"no JSON from a method": {badMarshaler(`{"a":`), actions.ProblemType},
		"depth":                 {nest(actions.MaxDepth + 1), actions.ProblemDepth},
		"extreme depth":         {nest(20_000), actions.ProblemDepth},
		"size":                  {strings.Repeat("x", actions.MaxArgs), actions.ProblemSize},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := actions.New("a", test.args)
			refused(t, test.want, err)
			assert.Panics(t, func() { actions.Must("a", test.args) })
		})
	}
}

func TestAnActionShowsWhatItIs(t *testing.T) {
	a := actions.Must("search", map[string]any{"query": "x", "page": 2})
	assert.Equal(t, "search", a.Name())
	assert.Equal(t, `{"page":2,"query":"x"}`, a.Args())
	assert.Equal(t, `search {"page":2,"query":"x"}`, a.String())
	assert.Equal(t, "(no action)", actions.Action{}.String())
	assert.Zero(t, actions.Action{}.Hash())
}

func TestDecodeStoresTheArguments(t *testing.T) {
	a := parse(t, `{"page":2.0,"query":"\u003c"}`)
	var args struct {
		Page  int
		Query string
	}
	require.NoError(t, a.Decode(&args))
	assert.Equal(t, 2, args.Page)
	assert.Equal(t, "<", args.Query)
	assert.ErrorContains(t, a.Decode(new(int)), `actions: arguments of "a"`)
	assert.Error(t, actions.Action{}.Decode(&args))
}

func TestAnErrorIsShortHoweverHostileTheActionIs(t *testing.T) {
	_, err := actions.Parse(strings.Repeat("n", 1<<20), "{}")
	assert.Less(t, len(err.Error()), 400)
	_, err = actions.Parse("a", strings.Repeat("9", 1<<19))
	assert.Less(t, len(err.Error()), 400)
	_, err = actions.Parse("a", `{"`+strings.Repeat("k", 1<<19)+`":{"x":01}}`)
	assert.Less(t, len(err.Error()), 500)
}

func TestAProblemIsNotMistakenForTheNamesInTheArguments(t *testing.T) {
	for _, name := range []string{"invalid UTF-8", "surrogate", "duplicate object member name", "exceeded max depth"} {
		_, err := actions.Parse("a", `{"`+name+`":{"`+name+`":tru}}`)
		refused(t, actions.ProblemSyntax, err, name)
	}
}
