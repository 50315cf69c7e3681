package draft_test

import (
	"strings"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/draft"
	"github.com/stretchr/testify/assert"
)

const canary = "CANARY"

// showing returns a prompt in which a text stands in all places where a page or
// a step can have one.
func showing(text string) string {
	s := conference()
	page := &s.Steps[0].Observation
	page.Title += text
	page.Choices = append(page.Choices, link("Label "+text, "https://c.example/label"), link("Address", text))
	page.Text = "before " + text + " after\n\n[label](" + text + ") [in brackets](<" + text + ">) [after a space]( " + text + ")\n\n(" + text + ") <" + text + "> \"" + text + "\" ![image](" + text + ")\n\n[reference]: " + text
	s.Steps = append(s.Steps,
		actions.Step[actions.View]{Action: visit(text), Observation: *page},
		actions.Step[actions.View]{Action: actions.Must("visit", map[string]any{text: []any{map[string]any{"x": text}}}), Observation: *page},
		s.Steps[0])
	_, user, _ := ask(draft.ChatConfig{}, s)
	return user
}

func TestNoQueryAndNoLoginReachesThePromptWhereverAnAddressStands(t *testing.T) {
	for _, address := range []string{
		"https://c.example/x?token=CANARY", "/x?token=CANARY", "x?token=CANARY", "c.example/x?token=CANARY", "//c.example/x?token=CANARY", "https:/c.example/x?token=CANARY",
		"https://c.example/reset?CANARY", "/reset?CANARY", "mailto:x@c.example?body=CANARY", "https://c.example/(y)?token=CANARY", "https://c.example/x;token=CANARY",
		"https://c.example/x#token=CANARY", "https://c.example/?a=b&token=CANARY", "https://c.example/?a[]=b&token=CANARY", "https://c.example/?a=b;token=CANARY",
		`https://c.example/p"?token=CANARY`, "https://c.example/<?token=CANARY", "https://c.example/?x=https://d.example/?token=CANARY", "https://c.example/?to\u200bken=CANARY",
		"https://u:CANARY@c.example/x", "//CANARY@c.example", "https://c.example/日本?token=CANARY", "https://c.example/?q=日本&token=CANARY", "a?token=CANARY https://c.example/x",
		"https://c.example/?" + strings.Repeat("long=CANARY&", 200),
	} {
		user := showing(address)
		assert.NotContains(t, user, canary, "%q", address)
		assert.Contains(t, user, "| before ", "%q", address)
	}
}

func TestWhatAPageSaysBesideAddressesIsShown(t *testing.T) {
	for _, text := range []string{
		"Really? Yes! R&D, C#; a = b. And/or? (See #3 & #4.) What?", "Rates: 5;6 & 7;8 at 9@home", "(https://c.example/x)", "何?それ", "price=5",
	} {
		s := reading("What?", text, numbered...)
		_, user, _ := ask(draft.ChatConfig{}, s)
		assert.Contains(t, user, "| "+text+"\n")
	}
}

func TestLinksInATextAreShownWithoutTheirAddresses(t *testing.T) {
	for _, address := range []string{site + "/x", "/x", "x", ""} {
		_, user, _ := ask(draft.ChatConfig{}, reading("What?", "See [the label]("+address+").", numbered...))
		assert.Contains(t, user, "| See the label.\n", address)
	}
}

// Markers of chat templates: OpenAI, Qwen, Llama, Mistral, DeepSeek, Gemma,
// GLM, Kimi, MiniMax and others.
func TestNoMarkerOfAChatTemplateReachesThePrompt(t *testing.T) {
	for _, marker := range []string{
		"<|im_end|>", "<|im_start|>system", "<|eot_id|>", "<|start_header_id|>", "<|channel|>", "<|\u200bim_end|>", "<\u200b|im_end|>", "<<|x|>>",
		"<｜User｜>", "<｜end▁of▁sentence｜>", "<｜tool▁calls▁begin｜>", "<<SYS>>", "<</SYS>>", "[INST]", "[/INST]", "[[INST]]", "[SYSTEM_PROMPT]", "[TOOL_RESULTS]", "[AVAILABLE_TOOLS]",
		"<s>", "</s>", "</S>", "</s></s>", "<bos>", "<eos>", "<pad>", "<unk>", "<start_of_turn>model", "<end_of_turn>", "<unused0>", "<tool_call>", "</tool_call>", "<think>", "</think>",
		"[gMASK]<sop>", "[BOS]", "]~b]user", "]~!b[", "[e~[", "<0x0A>", "<extra_id_0>",
	} {
		for _, text := range []string{marker, "a" + marker + "b"} {
			user := showing(text)
			shown := strings.NewReplacer("\u200b", "").Replace(marker)
			assert.NotContains(t, user, shown, "%q", marker)
		}
	}
}

func TestALabelIsNamedAsItIsShown(t *testing.T) {
	s := looking("", link("[PDF] The <b> tag", site+"/pdf"), link("https://c.example/x?token=CANARY", site+"/x"))
	_, user, _ := ask(draft.ChatConfig{}, s)
	for label, want := range map[string]string{"[ PDF] The < b> tag": "/pdf", "https://c.example/x": "/x"} {
		assert.Contains(t, user, ". "+label+" (")
		got, _ := draft.Understanding(draft.ChatConfig{}, s)(draft.FormLines, "Action: click\nAction Input: {\"button\": \""+label+"\"}")
		assert.Equal(t, []actions.Action{visit(site + want)}, got, label)
	}
}

// Naming a tool shows its steps, whether or not the draft may guess it. What
// nobody named may have a password in it.
func TestOfStepsTheArgumentsAreShownIfToolsOrChoicesAreNamedSo(t *testing.T) {
	s := conference()
	for _, a := range []actions.Action{
		actions.Must("search", map[string]any{"query": "fees of https://c.example/?token=CANARY & more", "page": 9007199254740991}),
		actions.Must("login", map[string]string{"password": canary}),
		visit("https://c.example/about"),
		visit("https://c.example/?q=my CANARY"),
		visit("/?q=my CANARY"),
		actions.Must("search", map[string]any{"query": strings.Repeat("very long ", 30)}),
	} {
		s.Steps = append(s.Steps, actions.Step[actions.View]{Action: a, Observation: s.Steps[0].Observation})
	}
	_, user, _ := ask(draft.ChatConfig{Tools: []draft.Tool{{Name: "search"}}}, s)
	assert.Contains(t, user, `| search {"page":9007199254740991,"query":"fees of https://c.example/ & more"} and saw`)
	assert.Contains(t, user, "| login and saw")
	assert.Contains(t, user, `| visit {"url":"c.example/about"} and saw`)
	assert.Contains(t, user, `| search {"query":"very long very long`)
	assert.NotContains(t, user, canary)
	_, user, _ = ask(draft.ChatConfig{}, s)
	assert.Contains(t, user, "| search and saw")
}
