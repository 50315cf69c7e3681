package web_test

import (
	"net/http"
	neturl "net/url"
	"runtime"
	"testing"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// funcJar has the cookies that a function says.
type funcJar func() []*http.Cookie

func (j funcJar) SetCookies(*neturl.URL, []*http.Cookie) {}
func (j funcJar) Cookies(*neturl.URL) []*http.Cookie     { return j() }

// What the application says of a scope may fail in any way: that scope's visits do,
// and nothing else.
func TestAnIdentityThatFailsHarmsNobodyElse(t *testing.T) {
	for name, id := range map[string]func() web.Identity{
		"Identity panics": func() web.Identity { panic("no") },
		"Identity ends":   func() web.Identity { runtime.Goexit(); return web.Identity{} },
		"a jar panics": func() web.Identity {
			return web.Identity{Lend: true, Jar: funcJar(func() []*http.Cookie { panic("no") })}
		},
		"a jar returns nothing": func() web.Identity {
			return web.Identity{Lend: true, Jar: funcJar(func() []*http.Cookie { return []*http.Cookie{nil} })}
		},
		"Authorize panics": func() web.Identity {
			return web.Identity{Lend: true, Origins: []string{"*"}, Authorize: func(*http.Request) { panic("no") }}
		},
		"Authorize ends": func() web.Identity {
			return web.Identity{Lend: true, Origins: []string{"*"}, Authorize: func(*http.Request) { runtime.Goexit() }}
		},
		"a transport returns nothing": func() web.Identity {
			return web.Identity{Lend: true, Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, nil })}
		},
		"a transport panics": func() web.Identity {
			return web.Identity{Lend: true, Transport: roundTrip(func(*http.Request) (*http.Response, error) { panic("no") })}
		},
	} {
		t.Run(name, func(t *testing.T) {
			site := &portal{}
			var origin string
			open, url := sessions(t, site, web.Config{Identity: func(scope string) web.Identity {
				if scope != "odd" {
					return web.Identity{}
				}
				got := id()
				if got.Origins != nil {
					got.Origins = []string{origin}
				}
				return got
			}}, nil)
			origin = url
			odd, other := open("odd"), open("other")
			home := parse(t, url+"/", `<a href=/me>Me</a>`)
			odd.Observe(t.Context(), home)
			odd.Speculate(t.Context(), visit(t, url+"/me"))
			ended := make(chan bool)
			go func() { // as without a cache, the caller gets what its executor does
				served := false
				defer func() { _ = recover(); ended <- served }()
				_, err := odd.Run(t.Context(), actions.Must("visit", map[string]string{"url": url + "/me"}))
				served = err == nil
			}()
			assert.False(t, <-ended)
			assert.Empty(t, site.asked("/me"))
			other.Observe(t.Context(), home)
			_, err := other.Run(t.Context(), visit(t, url+"/me"))
			require.NoError(t, err)
		})
	}
}
