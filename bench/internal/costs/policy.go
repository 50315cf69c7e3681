package costs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
)

// What a session of the web has seen when its guesses are judged.
const (
	pagesSeen    = 8
	linksPerPage = 100
	robotsRules  = 20
)

// shop is where it is.
const shop = "https://shop.example"

// A reading is a session of the web whose host is known: its robots.txt was read,
// and has rules for everybody.
type reading struct {
	env     actions.Environment[*web.Page]
	state   actions.State[*web.Page]
	guesses []actions.Action // links of the newest page
}

func newReading(ctx context.Context) (*reading, error) {
	r := &reading{env: web.New(web.Config{Transport: onlyRobots{}}).Environment()}
	for i := range pagesSeen {
		p, err := web.Parse(fmt.Sprintf("%s/catalogue/%d", shop, i), pageOf(i))
		if err != nil {
			return nil, err
		}
		r.state.Steps = append(r.state.Steps, actions.Step[*web.Page]{Observation: p})
	}
	for i := range linksPerPage - 1 {
		a, err := web.Visit(shop + pathOf(pagesSeen-1, i)) // it shares no memory with the link
		if err != nil {
			return nil, err
		}
		r.guesses = append(r.guesses, a)
	}
	// A run ahead reads the robots.txt; there is no page.
	ahead := actions.WithCall(ctx, actions.Call{Ahead: true})
	if _, err := r.env.Do(ahead, r.guesses[0]); err == nil {
		return nil, errors.New("a page out of nowhere")
	}
	return r, r.forbids()
}

// forbids makes sure that the robots.txt is known.
func (r *reading) forbids() error {
	a, err := web.Visit(shop + privatePath)
	if err != nil {
		return err
	}
	if err := r.env.Policy(r.state, a); err == nil || !strings.Contains(err.Error(), "robots") {
		return fmt.Errorf("the robots.txt is not heeded: %w", err)
	}
	return nil
}

// judge returns the time of one verdict of Environment.Policy on a guess that may
// run ahead.
func (r *reading) judge(context.Context) (ns float64, err error) {
	ns = repeat(len(r.guesses), func() { err = errors.Join(err, r.pass()) })
	return ns, err
}

func (r *reading) pass() (err error) {
	for _, a := range r.guesses {
		if refused := r.env.Policy(r.state, a); refused != nil {
			err = refused
		}
	}
	return err
}

// pagesPerBatch is how many pages one sample is the median of.
const pagesPerBatch = 20

// judgePage returns the time in which a page's verdicts are made: that of the
// first one that somebody asks for.
func (r *reading) judgePage(context.Context) (ns float64, err error) {
	s := actions.State[*web.Page]{Steps: make([]actions.Step[*web.Page], 1)}
	return timed(pagesPerBatch, func() (time.Duration, error) {
		p, err := web.Parse(shop+"/", pageOf(pagesSeen-1))
		if err != nil {
			return 0, err
		}
		s.Steps[0].Observation = p
		began := time.Now()
		err = r.env.Policy(s, r.guesses[0])
		return time.Since(began), err
	})
}

// memory returns what a verdict allocates.
func (r *reading) memory() float64 {
	allocs, _ := allocated(len(r.guesses), func() { r.pass() })
	return round(allocs, 1)
}

// privatePath is on every page, and nobody may ask for it ahead.
const privatePath = "/private/area-1/"

// pageOf is the markup of a page: links as shops have them.
func pageOf(number int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<title>Page %d</title><a href="%s">Mine</a>`, number, privatePath)
	for i := range linksPerPage - 1 {
		fmt.Fprintf(&b, `<p>Some text <a href="%s">Item number %d</a>`, pathOf(number, i), i)
	}
	return b.String()
}

// pathOf is the path of an item on a page. One in four has a query.
func pathOf(page, item int) string {
	path := fmt.Sprintf("/catalogue/%d/garden-chairs/item-%03d-folding-chair", page, item)
	if item%4 == 0 {
		path += "?view=full&tab=reviews"
	}
	return path
}

// onlyRobots is a host that has a robots.txt and nothing else.
type onlyRobots struct{}

// RoundTrip answers at once.
func (onlyRobots) RoundTrip(req *http.Request) (*http.Response, error) {
	code, body := http.StatusNotFound, ""
	if req.URL.Path == "/robots.txt" {
		code, body = http.StatusOK, robotsTxt()
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{}, Request: req,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

func robotsTxt() string {
	lines := []string{"User-agent: *", "Disallow: /*?sort=", "Disallow: /cart/", "Disallow: /catalogue/private/"}
	for i := len(lines); i <= robotsRules; i++ {
		lines = append(lines, fmt.Sprintf("Disallow: /private/area-%d/", i-len(lines)+1))
	}
	return strings.Join(lines, "\n")
}
