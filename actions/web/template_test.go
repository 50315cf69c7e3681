package web_test

import (
	"errors"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func template(t *testing.T, url string, values ...string) web.Template {
	t.Helper()
	tpl, err := web.NewTemplate(url, values...)
	require.NoError(t, err)
	return tpl
}

// ruleFor returns the rule that refuses a guess, or "".
func ruleFor(t *testing.T, cfg web.Config, s actions.State[*web.Page], url string) string {
	t.Helper()
	err := web.New(cfg).Environment().Policy(s, visit(t, url))
	e, refused := errors.AsType[*web.PolicyError](err)
	if !refused {
		require.NoError(t, err)
		return ""
	}
	return e.Rule
}

func TestATemplateFilledFromItsValuesRunsAheadAndNothingElseDoes(t *testing.T) {
	cfg := web.Config{AheadTemplates: []web.Template{
		template(t, "https://docs.example.org/{page}", "intro", "a b", "up/../down", "é", "?q"),
		template(t, "https://docs.example.org/search?lang={}&v=1", "en", "a&b=c"),
		template(t, "https://docs.example.org/{}/logout", "x"),
		template(t, "http://docs.example.org/plain/{}", "x"),
	}}
	s := stateOf(parse(t, home, "no links"))
	for url, rule := range map[string]string{
		"https://docs.example.org/intro":                     "",
		"HTTPS://DOCS.example.org:443/intro#part":            "",
		"https://docs.example.org/a%20b":                     "",
		"https://docs.example.org/up%2F..%2Fdown":            "",
		"https://docs.example.org/down":                      "provenance",
		"https://docs.example.org/%C3%A9":                    "",
		"https://docs.example.org/%3Fq":                      "",
		"https://docs.example.org/?q":                        "provenance",
		"https://docs.example.org/intro/":                    "provenance",
		"https://docs.example.org/intro?x=secret":            "provenance",
		"https://docs.example.org/":                          "provenance",
		"https://docs.example.org/{page}":                    "provenance",
		"http://docs.example.org/intro":                      "provenance",
		"https://docs.example.org/search?lang=en&v=1":        "",
		"https://docs.example.org/search?lang=a%26b%3Dc&v=1": "",
		"https://docs.example.org/search?lang=a&b=c&v=1":     "provenance",
		"https://docs.example.org/x/logout":                  "action-like",
		"http://docs.example.org/plain/x":                    "downgrade",
	} {
		assert.Equal(t, rule, ruleFor(t, cfg, s, url), url)
	}
}

func TestATemplateIsHeldToTheOtherRules(t *testing.T) {
	cfg := web.Config{AheadTemplates: []web.Template{template(t, "https://site.example/{}", "a", "b")}}
	s := stateOf(parse(t, "https://site.example/a", `<a href=/b download>a file</a>`))
	assert.Equal(t, "in view", ruleFor(t, cfg, s, "https://site.example/a"))
	assert.Empty(t, ruleFor(t, cfg, s, "https://site.example/b"), "the application's word outweighs the markup's")
	assert.Empty(t, ruleFor(t, cfg, stateOf(), "https://site.example/b"))
	cfg.AheadRefuse = func(string) string { return "mine" }
	assert.Equal(t, "mine", ruleFor(t, cfg, s, "https://site.example/b"))
}

func TestABadTemplateSaysWhatIsWrong(t *testing.T) {
	for url, says := range map[string]string{
		"https://docs.example.org/":        "needs one hole",
		"https://docs.example.org/{a}/{b}": "needs one hole",
		"https://docs.example.org/}{":      "needs one hole",
		"https://{host}/":                  "in the path or the query",
		"https://docs.example.org{}/x":     "in the path or the query",
		"https://docs.example.org:{}/x":    "in the path or the query",
		"{}":                               "in the path or the query",
		"ftp://docs.example.org/{}":        "in the path or the query",
		"https://docs.example.org/#{}":     "in the path or the query",
		"https://u:p@docs.example.org/{}":  "names a user",
	} {
		_, err := web.NewTemplate(url, "value")
		assert.ErrorContains(t, err, says, url)
	}
	for _, value := range []string{"", ".", ".."} {
		_, err := web.NewTemplate("https://docs.example.org/a/{}", value)
		assert.ErrorContains(t, err, "fills no part", value)
	}
}
