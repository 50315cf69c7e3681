package replay

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
)

// A reference fetches pages directly, without delay and without a cache, and
// remembers them: what an agent was served is compared with it.
type reference struct {
	origins *origins
	fetcher *web.Fetcher

	mu    sync.Mutex // guards pages, not the fetches
	pages map[actions.Action]*web.Page
}

func newReference(s *setup) (*reference, error) {
	o, err := newOrigins(s.sites, 0, nil)
	if err != nil {
		return nil, err
	}
	return &reference{
		origins: o,
		fetcher: web.New(web.Config{Transport: o}),
		pages:   map[actions.Action]*web.Page{},
	}, nil
}

func (r *reference) close() {
	r.fetcher.Close()
	_ = r.origins.Close() // its listeners are gone either way
}

// page returns what a direct fetch brings.
func (r *reference) page(ctx context.Context, a actions.Action) (*web.Page, error) {
	r.mu.Lock()
	page := r.pages[a]
	r.mu.Unlock()
	if page != nil {
		return page, nil
	}
	page, err := r.fetcher.Do(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("direct fetch of %s: %w", a.Args(), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pages[a] = page
	return page, nil
}

// same reports whether an observation is what a direct fetch brings.
func (r *reference) same(ctx context.Context, served actions.Step[*web.Page]) (bool, error) {
	want, err := r.page(ctx, served.Action)
	if err != nil {
		return false, err
	}
	return samePage(served.Observation, want), nil
}

func samePage(a, b *web.Page) bool {
	return a.URL() == b.URL() && a.Requested() == b.Requested() &&
		a.Status() == b.Status() && a.Bytes() == b.Bytes() && a.HTML() == b.HTML() &&
		a.Title() == b.Title() && slices.Equal(a.Links(), b.Links()) &&
		a.Markdown() == b.Markdown()
}

// walkAll walks all paths without delay, so that what can't be walked is known
// before anything is measured. It returns the pages in the order of the walk.
func (r *reference) walkAll(ctx context.Context, items []Item) ([]actions.Action, error) {
	var walked []actions.Action
	for i := range items {
		visits, err := r.walk(ctx, i, &items[i])
		if err != nil {
			return nil, fmt.Errorf("item %d (%.60q): %w", i+1, items[i].Question, err)
		}
		walked = append(walked, visits...)
	}
	return walked, nil
}

func (r *reference) walk(ctx context.Context, index int, it *Item) ([]actions.Action, error) {
	visit, err := web.Visit(it.RootURL)
	if err != nil {
		return nil, fmt.Errorf("root page: %w", err)
	}
	root, err := r.page(ctx, visit)
	if err != nil {
		return nil, fmt.Errorf("root page: %w", err)
	}
	walked := []actions.Action{visit}
	for _, labels := range it.Paths {
		page := root
		for _, label := range labels {
			if visit, err = page.Click(label); err == nil {
				page, err = r.page(ctx, visit)
			}
			if err != nil {
				return nil, fmt.Errorf("label %q: %w", label, err)
			}
			walked = append(walked, visit)
		}
	}
	return walked, nil
}
