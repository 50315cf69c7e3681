package web

import (
	"context"
	"net/http"
	neturl "net/url"
	"slices"
	"strings"

	"github.com/speccache/speccache-go/actions"
)

// An Identity is who a scope is to the hosts that it visits. The zero Identity is
// nobody: no cookies, no credentials.
type Identity struct {
	// Transport makes the scope's requests, under the terms of Config.Transport,
	// and reads the robots.txt files for them. Nil means Config.Transport, or if
	// that is nil too, connections of the scope's own that keep to Config.Guard.
	Transport http.RoundTripper

	// Jar has the scope's cookies, and of no other scope. Whatever else changes
	// it must tell the cache, by Cache.Advance. Nil: cookies are neither sent
	// nor stored.
	Jar http.CookieJar

	// Authorize adds credentials to a request to one of Origins, such as an
	// Authorization header: the same ones until Cache.Advance. It is called
	// concurrently, and may ask [actions.CallFrom] of the request's context. Nil
	// adds nothing.
	Authorize func(*http.Request)

	// Origins are what Authorize is for: scheme, host, and the port if it is not
	// the scheme's, as in "https://wiki.example.org". No other origin gets to
	// see its credentials, wherever redirects lead. Nil: none does.
	Origins []string

	// Lend says that runs ahead may carry the cookies and credentials too:
	// with them, whatever is linked may be read though nobody has asked. False
	// refuses runs ahead of what the target would be known at.
	Lend bool
}

// A visitor makes the requests of one visit.
type visitor struct {
	call actions.Call
	id   Identity

	bare    bool // a redirect led out of https: who asks is not told from there on
	carried bool // some request said who asks
}

// as returns the visitor for a run. Only what trusted code has named has an
// identity.
func (f *Fetcher) as(c actions.Call) *visitor {
	v := &visitor{call: c}
	if f.cfg.Identity != nil && c.Scope != "" && !c.Public {
		v.id = f.cfg.Identity(c.Scope)
	}
	return v
}

// via returns what makes a visitor's requests.
func (f *Fetcher) via(v *visitor) http.RoundTripper {
	switch {
	case v.id.Transport != nil:
		return v.id.Transport
	case f.cfg.Transport != nil:
		return f.cfg.Transport
	}
	return f.pools.of(partyOf(v.call)).transport
}

// viaAll returns what reads files for everybody who reaches hosts as a visitor does.
func (f *Fetcher) viaAll(v *visitor) http.RoundTripper {
	return f.via(&visitor{call: actions.Call{Public: true}, id: Identity{Transport: v.id.Transport}})
}

// known reports whether the identity has credentials for an address.
func (id *Identity) known(to address) bool {
	if id.authorizes(to) {
		return true
	}
	if id.Jar == nil {
		return false
	}
	u, err := neturl.Parse(to.url)
	return err == nil && len(id.Jar.Cookies(u)) > 0
}

func (id *Identity) authorizes(to address) bool {
	return id.Authorize != nil && slices.Contains(id.Origins, to.origin())
}

// withheld returns an error if a run ahead would be told another page than the
// target, because it may not say who asks.
func (v *visitor) withheld(to address) error {
	if v.call.Ahead && !v.id.Lend && v.id.known(to) {
		return &PolicyError{Rule: "credentials", URL: to.url}
	}
	return nil
}

// sign has a request say who asks, where it may.
func (v *visitor) sign(req *http.Request, to address) {
	if v.bare || v.call.Ahead && !v.id.Lend {
		return
	}
	if v.id.Jar != nil {
		for _, c := range v.id.Jar.Cookies(req.URL) {
			req.AddCookie(c)
			v.carried = true
		}
	}
	if v.id.authorizes(to) {
		v.id.Authorize(req)
		v.carried = true
	}
}

// follow takes account of where a redirect leads.
func (v *visitor) follow(from, to address) {
	v.bare = v.bare || downgrade(from.url, to.url)
}

// judged returns an answer as its lifetime is to be judged by. The identity's own
// credentials are the same for every request until something says that they have
// changed, which hides what was read with them: a Vary by them is none.
func (v *visitor) judged(resp *http.Response, req *http.Request) *http.Response {
	if !v.carried || resp.Request != req {
		return resp
	}
	same := *resp
	same.Request = nil
	return &same
}

// heed takes account of what an answer says about the scope's state. A run ahead
// that would change the scope's cookies fails: the target has to make that visit
// itself.
func (f *Fetcher) heed(ctx context.Context, v *visitor, to address, resp *http.Response) error {
	changed := clears(resp.Header) || clearsCookies(resp.Header)
	defer func() {
		if changed {
			actions.Changed(ctx)
		}
	}()
	set := cookiesOf(resp)
	if v.id.Jar == nil || len(set) == 0 {
		return nil
	}
	u, err := neturl.Parse(to.url)
	if err != nil {
		return err
	}
	known := f.pools.of(partyOf(v.call)).cookies
	if !v.call.Ahead {
		return known.store(ctx, v.id.Jar, u, set, &changed)
	}
	news, err := known.news(ctx, v.id.Jar, u, set)
	if news {
		return &PolicyError{Rule: "cookie", URL: to.url}
	}
	return err
}

// clearsCookies reports whether the host wants its cookies forgotten. A jar can't
// do that, but who the scope is to the host has changed.
func clearsCookies(h http.Header) bool {
	return strings.Contains(strings.ToLower(strings.Join(h.Values("Clear-Site-Data"), ",")), `"cookies"`)
}
