package web_test

import (
	"strings"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func stateOf(pages ...*web.Page) (s actions.State[*web.Page]) {
	for _, p := range pages {
		s.Steps = append(s.Steps, actions.Step[*web.Page]{Observation: p})
	}
	return s
}

func environment() actions.Environment[*web.Page] { return web.New(web.Config{}).Environment() }

func TestAGuessIsALinkThatTheSessionHasSeenOnAHostThatItIsOn(t *testing.T) {
	first := parse(t, home, `<a href=/seen>1</a><a href="https://other.example/x">2</a><a href="http://site.example/plain">3</a>
		<a href="https://site.example:8443/">4</a><a href=/file download>5</a><a href=/both download>6</a><a href=/both>7</a>
		<a href="/logout">8</a>`)
	second := parse(t, "https://third.example/", `<a href="https://site.example/from-there">1</a>
		<a href="https://site.example/seen" download>2</a>`)
	s := stateOf(first, nil, second)
	for url, rule := range map[string]string{
		"https://site.example/seen":          "",
		"https://site.example/seen#part":     "",
		"https://site.example/from-there":    "",
		"https://site.example/both":          "",
		"https://site.example/unseen":        "provenance",
		"https://site.example/seen?q=stolen": "provenance",
		"https://other.example/x":            "host",
		"http://site.example/plain":          "downgrade", // same host, its scheme's own port
		"https://site.example:8443/":         "host",
		"https://site.example/file":          "download",
		"https://site.example/logout":        "action-like",
	} {
		err := environment().Policy(s, visit(t, url))
		if rule == "" {
			assert.NoError(t, err, url)
			continue
		}
		var e *web.PolicyError
		if assert.ErrorAs(t, err, &e, url) {
			assert.Equal(t, rule, e.Rule, url)
			assert.Contains(t, err.Error(), rule)
		}
	}
}

func TestOnlyTheWayToHTTPSRunsAhead(t *testing.T) {
	links := `<a href="http://site.example/a">1</a><a href="https://site.example/a">2</a>`
	plain, secure := parse(t, "http://site.example/", links), parse(t, home, links)
	for _, c := range []struct {
		s         actions.State[*web.Page]
		url, rule string
	}{
		{stateOf(secure), "http://site.example/a", "downgrade"},
		{stateOf(secure), "https://site.example/a", ""},
		{stateOf(plain), "http://site.example/a", ""},
		{stateOf(plain), "https://site.example/a", ""},
		{stateOf(plain, secure), "http://site.example/a", ""},
	} {
		err := environment().Policy(c.s, visit(t, c.url))
		if c.rule == "" {
			assert.NoError(t, err, c.url)
			continue
		}
		var e *web.PolicyError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, c.rule, e.Rule)
		assert.ErrorContains(t, err, "reads its host by https")
	}
}

func TestThePageInViewIsNotFetchedAgainAheadOfTime(t *testing.T) {
	links := `<a href=` + home + `>Home</a> <a href=/other>Other</a>`
	page, other := parse(t, home, links), parse(t, "https://site.example/other", links)
	var e *web.PolicyError
	require.ErrorAs(t, environment().Policy(stateOf(other, page), visit(t, home)), &e)
	assert.Equal(t, "in view", e.Rule)
	assert.NoError(t, environment().Policy(stateOf(page, other), visit(t, home)), "going back is another matter")
}

func TestARefusalSaysWhatItsRuleMeans(t *testing.T) {
	for want, e := range map[string]*web.PolicyError{
		`web: "https://a.example/" may not run ahead: rule "in view": it is the page that the target looks at`:                                                             {Rule: "in view", URL: "https://a.example/"},
		`web: "https://a.example/" may not run ahead: rule "host": no page that the session remembers is on its host and port, and Config.AheadHosts does not list it`:     {Rule: "host", URL: "https://a.example/"},
		`web: "https://a.example/f" may not run ahead: rule "download": the link offers a file`:                                                                            {Rule: "download", URL: "https://a.example/f"},
		`web: "click {}" may not run ahead: rule "unresolved": it is no visit of a URL`:                                                                                    {Rule: "unresolved", URL: "click {}"},
		`web: "https://...@a.example/" may not run ahead: rule "scheme": it is no http or https URL`:                                                                       {Rule: "scheme", URL: "https://u:secret@a.example/"},
		`web: "https://a.example/?a=...&token=..." may not run ahead: rule "action-like": its URL or link sounds like doing rather than reading, or it may work only once`: {Rule: "action-like", URL: "https://a.example/?a=1&token=secret"},
		`web: "https://a.example/@me" may not run ahead: rule "provenance": no page that the session remembers links to it`:                                                {Rule: "provenance", URL: "https://a.example/@me"},
		`web: "https://a.example/" may not run ahead: rule "my own"`:                                                                                                       {Rule: "my own", URL: "https://a.example/"},
	} {
		assert.EqualError(t, e, want)
	}
}

func TestAGuessThatIsNoVisitOfAWebPageIsRefused(t *testing.T) {
	s := stateOf(parse(t, home, `<a href=/seen>1</a>`))
	for rule, a := range map[string]actions.Action{
		"unresolved": click(t, "1"),
		"scheme":     actions.Must("visit", map[string]string{"url": "file:///etc/passwd"}),
	} {
		var e *web.PolicyError
		require.ErrorAs(t, environment().Policy(s, a), &e)
		assert.Equal(t, rule, e.Rule)
	}
	var e *web.PolicyError
	require.ErrorAs(t, environment().Policy(stateOf(), visit(t, home)), &e)
	assert.Equal(t, "provenance", e.Rule)
}

func TestAURLThatSoundsLikeDoingIsAction(t *testing.T) {
	for _, path := range []string{
		"/logout", "/users/Log-Out", "/sign_out.php", "/signOut", "/SIGNOFF", "/item/5/delete", "/deleteItem", "/removeUser/5",
		"/%64elete", "/unsubscribe?u=1", "/cart/add-to-cart", "/addToCart", "/pay", "/vote/up", "/approve", "/confirm/123",
		"/delete-protein-study", "/delete;jsessionid=1", "/x?do=delete", "/x?DO=y", "/?action=edit", "/?a=1&token=abc", "/?code=5", "/?access_token=1",
		"/?resetToken=1", "/?op=delete", "/?delete=5", "/?q=1;cmd=logout", "/?c=sign%2Dout", "/?log+out=1", "/?zip_code=1",
		"/?a=%64elete%zz", "/?%64o%=1", "/%logout%", "/l%256fgout", "/%25256cogout", "/log%C2%ADout", "/a%2flogout",
		"/x;do=1", "/x;a=1;token=2", "/?cmd=delete+account", "/?cmd=log%20out", "/?op=delete%09x", "/add_to_basket", "/add/x?add-to-bag=1",
		"/deleteitem", "/confirmemail", "/confirm-email", "/logoutnow", "/softdelete", "/unsubscribeall", "/addtowishlist",
		"/dElete/5", "/loGout", "/siGNOUT", "/sign-oUt", "/?cmd=dElete", "/?toKen=1", "/?aCtion=x", "/x;dO=1", "/uNsubscribe",
		"/\uff44elete", "/%EF%BC%AC%EF%BC%AF%EF%BC%A7out", "/?\uff54oken=1", "/%u0064elete", "/?x=%U0064elete", "/%25u0064elete",
		"/upvote/7", "/downvote", "/revoke-key", "/?op=destroy", "/wp-admin/x?_wpnonce=1", "/?sesskey=1", "/?csrf=1",
		"/?authtoken=1", "/?authToken=1", "/?csrftoken=1", "/?passcode=1", "/?basket=1", "/?cart[id]=1", "/?a[do]=1", "/?actionId=1",
	} {
		assert.True(t, web.ActionLike("https://site.example"+path), path)
	}
	for _, path := range []string{
		"/", "/payroll", "/deleted", "/voters", "/removal", "/catalogout", "/log/outline", "/design-outlook", "/docs", "/todo",
		"/?q=how+to+delete+a+file", "/?q=pay%20day", "/?domain=x", "/?encode=1", "/?tokens=5", "/?reaction=1", "/confirmation",
		"/calls/main_conference/", "/blog/sign-in", "/cart", "/removed", "/confirmations", "/designoutlet", "/basket", "/tokens", "/x;v=1", "/100%25", "/?search_text=log+out",
		"/unicode", "/?barcode=1", "/announcement", "/?u=%u00zz", "/?announce=1",
	} {
		assert.False(t, web.ActionLike("https://site.example"+path), path)
	}
	assert.False(t, web.ActionLike("https://pay.example/"), "hosts are no actions")
}

func TestAVerdictOnAGuessThatMayRunAheadAllocatesNothing(t *testing.T) {
	s := stateOf(parse(t, "https://site.example/1", many(50, `<a href="/p/%d?x=%d">%d</a>`)), parse(t, home, many(50, `<a href="/q/%d?x=%d">%d</a>`)), nil)
	env := environment()
	for _, url := range []string{"https://site.example/q/7?x=7", "https://site.example/p/7?x=7"} {
		guess := visit(t, url)
		require.NoError(t, env.Policy(s, guess))
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = env.Policy(s, guess) }), url)
	}
	for _, url := range []string{home, "http://127.0.0.1:8080/x?y=%20"} {
		guess := visit(t, url)
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = env.Host(guess) }), url)
	}
}

func TestAPortIsAskedAheadIfItIsTheWebsOwnOrTheTargetItselfWentThere(t *testing.T) {
	links := `<a href="http://site.example/a">1</a><a href="http://site.example:8080/a">2</a><a href="http://site.example:8443/a">3</a>
		<a href="https://site.example/a">4</a><a href="http://sub.site.example/a">5</a>`
	at := func(url string) *web.Page { return parse(t, url, links) }
	for _, c := range []struct {
		s         actions.State[*web.Page]
		url, rule string
	}{
		{stateOf(at("http://site.example/")), "http://site.example/a", ""},
		{stateOf(at("http://site.example/")), "https://site.example/a", ""},
		{stateOf(at("http://site.example/")), "http://site.example:8080/a", "host"},
		{stateOf(at("http://site.example:8080/")), "http://site.example:8080/a", ""},
		{stateOf(at("http://site.example:8080/")), "http://site.example/a", ""},
		{stateOf(at("http://site.example:8080/")), "https://site.example/a", ""},
		{stateOf(at("http://site.example:8080/")), "http://site.example:8443/a", "host"},
		{stateOf(at("http://site.example:8443/"), at("http://site.example:8080/")), "http://site.example:8443/a", ""},
		{stateOf(at("https://site.example:8443/")), "http://site.example/a", "downgrade"},
		{stateOf(at("http://site.example:8080/")), "http://sub.site.example/a", "host"},
	} {
		err := environment().Policy(c.s, visit(t, c.url))
		if c.rule == "" {
			assert.NoError(t, err, c.url)
			continue
		}
		var e *web.PolicyError
		if assert.ErrorAs(t, err, &e, c.url) {
			assert.Equal(t, c.rule, e.Rule, c.url)
		}
	}
}

func TestThePageInViewIsNotFetchedAgainWhateverPageLinksToIt(t *testing.T) {
	older, view := parse(t, "https://site.example/older", `<a href="`+home+`">Home</a>`), parse(t, home, "no links")
	var e *web.PolicyError
	require.ErrorAs(t, environment().Policy(stateOf(older, view), visit(t, home)), &e)
	assert.Equal(t, "in view", e.Rule)
}

// Long ago, an accelerator of a web browser followed such links, and asked nobody.
func TestALinkThatItsPageMarksAsDoingIsActionLikeWhateverItsURL(t *testing.T) {
	for _, link := range []string{
		`<a href=/x onclick="return confirm('Sure?')">It</a>`, `<a href=/x ONCLICK="deleteItem(5)">It</a>`,
		`<a href=/x onclick="` + strings.Repeat("track(1);", 1000) + `">It</a>`,
		`<a href=/x onclick="document.forms[0].submit(); return false">It</a>`, `<a href=/x data-confirm="Sure?">It</a>`,
		`<a data-method=delete href=/x>It</a>`, `<a href=/x data-turbo-method="post">It</a>`, `<a href=/x hx-delete=/x>It</a>`,
		`<a href=/x data-turbo-confirm>It</a>`, `<map><area href=/x alt=It onclick="doLogout()"></map>`,
		`<a href=/x>Log out</a>`, `<a href=/x>LOGOUT</a>`, "<a href=/x> Sign\u00ad out!</a>", `<a href=/x aria-label=Delete><svg></svg></a>`,
		`<a href=/x>Add to cart</a>`, `<a href=/x>Plain</a><a href=/x data-confirm>It</a>`, `<a href=/x data-confirm>It</a><a href=/x>Plain</a>`,
	} {
		var e *web.PolicyError
		if assert.ErrorAs(t, environment().Policy(stateOf(parse(t, home, link)), visit(t, "https://site.example/x")), &e, link) {
			assert.Equal(t, "action-like", e.Rule, link)
		}
	}
	for _, link := range []string{
		`<a href=/x onclick="track('menu')">It</a>`, `<a href=/x data-method=GET>It</a>`, `<a href=/x>How to delete a file</a>`,
		`<a href=/x>Delete files</a>`, `<a href=/x>Log output</a>`, `<a href=/x title=Delete>It</a>`,
	} {
		assert.NoError(t, environment().Policy(stateOf(parse(t, home, link)), visit(t, "https://site.example/x")), link)
	}
}
