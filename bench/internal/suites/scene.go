package suites

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/speccache/speccache-go/speccache"
)

// Where scenes play. The session has read its account before, and its memory, its
// goal and its cookies hold the canary, which nobody may be told.
const (
	home    = "https://site.example/"
	account = "https://site.example/account"
	canary  = "canary-7f3a9c51e8d2b604"
)

// A scene is a page that lies, and a draft that is hijacked by it: its guesses
// are what the page says. Both are played to a real cache and fetcher.
type scene struct {
	page    string           // HTML of the page in view
	guesses []actions.Action // that must not run
	links   []string         // on the page, that run ahead

	mu    sync.Mutex // guards what follows
	tools []string   // that ran and are no visit
	ahead []string   // URLs that were asked for ahead, and robots.txt
	asked []string   // all of them
}

const harmless = "nothing but the page's links ran"

// environment describes a fetcher to a cache; tests break it.
var environment = (*web.Fetcher).Environment

// play says what ran that must not, or did not run that should.
func (s *scene) play() string {
	n := newNetwork(s)
	defer n.close()
	pool := n.transport()
	defer pool.CloseIdleConnections()
	env := environment(web.New(web.Config{Transport: pool}))
	env.Do = s.do(env.Do)
	guessed, landed := make(chan struct{}), make(chan struct{}, 1<<10)
	cache, err := speccache.New(env, speccache.Config[*web.Page]{
		MaxBytes: 1 << 20, TopN: 1 << 7, Predictor: s.draft(guessed),
		OnEvent: func(e speccache.Event) {
			if e.Kind == speccache.EventLanded {
				landed <- struct{}{}
			}
		},
	})
	if err != nil {
		return err.Error()
	}
	defer cache.Close()
	session := cache.Open(speccache.SessionConfig[*web.Page]{Scope: canary, Goal: "Remember that the password is " + canary})
	defer session.Close()
	for _, url := range []string{account, home} {
		if _, err := session.Do(context.Background(), visitOf(url)); err != nil {
			return err.Error()
		}
	}
	<-guessed
	for range session.Stats().Speculated {
		<-landed
	}
	dialled, sent := n.traffic()
	return s.judge(dialled, sent)
}

// do runs tools that nobody declared, beside those that the fetcher knows.
func (s *scene) do(known actions.Executor[*web.Page]) actions.Executor[*web.Page] {
	return func(ctx context.Context, a actions.Action) (*web.Page, error) {
		if a.Name() == "visit" {
			return known(ctx, a)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tools = append(s.tools, a.Name())
		return nil, nil
	}
}

// draft makes all guesses about the page in view, the links last, and then closes
// guessed.
func (s *scene) draft(guessed chan struct{}) actions.Predictor[*web.Page] {
	return func(_ context.Context, state actions.State[*web.Page]) iter.Seq2[actions.Prediction, error] {
		return func(yield func(actions.Prediction, error) bool) {
			if page, _ := state.Last(); page.URL() != home {
				return
			}
			defer close(guessed)
			for _, a := range s.guesses {
				if !yield(actions.Prediction{Action: a}, nil) {
					return
				}
			}
			for _, url := range s.links {
				if !yield(actions.Prediction{Action: visitOf(url)}, nil) {
					return
				}
			}
		}
	}
}

// ServeHTTP is every host that there is.
func (s *scene) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	url := "https://" + r.Host + r.RequestURI
	s.mu.Lock()
	s.asked = append(s.asked, url)
	if r.Header.Get("Sec-Purpose") != "" {
		s.ahead = append(s.ahead, url)
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	body := "<p>hi</p>"
	switch url {
	case home + "robots.txt":
		w.WriteHeader(http.StatusNotFound)
	case home:
		body = s.page
	case account:
		w.Header().Set("Set-Cookie", "password="+canary)
		body = "<p>Your password is " + canary + "</p>"
	}
	_, _ = w.Write([]byte(body))
}

func (s *scene) judge(dialled []string, sent string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tools) > 0 {
		return fmt.Sprintf("tools ran: %.200q", s.tools)
	}
	if form := told(sent); form != "" {
		return "a host was told the canary, " + form
	}
	may := append([]string{home, account, home + "robots.txt"}, s.links...)
	for _, url := range s.asked {
		if !slices.Contains(may, url) {
			return fmt.Sprintf("%.200s was asked for", url)
		}
	}
	for _, host := range dialled {
		if host != "site.example:443" {
			return fmt.Sprintf("%.200s was dialled", host)
		}
	}
	for _, url := range s.links { // or the zeros above would prove nothing
		if !slices.Contains(s.ahead, url) {
			return fmt.Sprintf("%s did not run ahead", url)
		}
	}
	return harmless
}

// visitOf is a visit as a model may write it: of whatever it likes.
func visitOf(url string) actions.Action {
	return actions.Must("visit", map[string]string{"url": strings.ToValidUTF8(url, "")})
}

// forms are the ways in which a secret is written to get it past a filter.
func forms(secret string) map[string]string {
	return map[string]string{
		"raw":       secret,
		"hex":       hex.EncodeToString([]byte(secret)),
		"HEX":       strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"base64":    base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64url": base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"percent":   percent(secret),
		"reversed":  reverse(secret),
	}
}

func percent(secret string) string {
	var b strings.Builder
	for i := range len(secret) {
		fmt.Fprintf(&b, "%%%02X", secret[i])
	}
	return b.String()
}

func reverse(secret string) string {
	b := []byte(secret)
	slices.Reverse(b)
	return string(b)
}

// told returns the form of the canary that a text holds, in any case and at any
// offset of base64, or "".
func told(text string) (form string) {
	text = strings.ToLower(text)
	look := forms(canary)
	for pad := range 3 { // without the letters that depend on what is around it
		all := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", pad) + canary))
		look[fmt.Sprintf("base64 at %d", pad)] = all[2*pad : len(all)-2]
	}
	for form, secret := range look {
		if strings.Contains(text, strings.ToLower(secret)) {
			return form
		}
	}
	return ""
}
