package replay

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// smallSite has every kind of file that a path can stand for.
func smallSite() map[string]fs.FS {
	page := func(text string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("<!DOCTYPE html><title>" + text + "</title><p>" + text)}
	}
	return map[string]fs.FS{"a.example": fstest.MapFS{
		"index.html": page("root"), "calls/index.html": page("calls"), "calls/a & b.html": page("both"),
		"visa.html": page("visa"), "raw": page("raw"), "404.html": page("nothing here"),
	}}
}

// fetcherOf returns a fetcher of some sites, with the pages that were delayed.
func fetcherOf(t *testing.T, sites map[string]fs.FS) (*web.Fetcher, *origins, *atomic.Int64) {
	var delayed atomic.Int64
	o, err := newOrigins(sites, 0, func(string) time.Duration { delayed.Add(1); return 0 })
	require.NoError(t, err)
	f := web.New(web.Config{Transport: o})
	t.Cleanup(func() { f.Close(); assert.NoError(t, o.Close()) })
	return f, o, &delayed
}

func TestAPathIsServedAsTheRecordedHostDid(t *testing.T) {
	f, _, _ := fetcherOf(t, smallSite())
	for url, want := range map[string][2]string{
		"https://a.example/":                  {"root", "https://a.example/"},
		"https://a.example/calls/":            {"calls", "https://a.example/calls/"},
		"https://a.example/calls":             {"calls", "https://a.example/calls/"},
		"https://a.example/visa":              {"visa", "https://a.example/visa"},
		"https://a.example/visa.html":         {"visa", "https://a.example/visa.html"},
		"https://a.example/calls/a%20%26%20b": {"both", "https://a.example/calls/a%20%26%20b"},
	} {
		a, err := web.Visit(url)
		require.NoError(t, err)
		page, err := f.Do(t.Context(), a)
		if assert.NoError(t, err, url) {
			assert.Equal(t, want, [2]string{page.Title(), page.URL()}, url)
		}
	}
}

func TestAnUnknownPathIsStatus404AndAnUnknownHostAnError(t *testing.T) {
	f, _, _ := fetcherOf(t, smallSite())
	a, err := web.Visit("https://a.example/assets/x.css")
	require.NoError(t, err)
	_, err = f.Do(t.Context(), a)
	status, ok := errors.AsType[*web.StatusError](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, http.StatusNotFound, status.Code)

	a, err = web.Visit("https://elsewhere.example/")
	require.NoError(t, err)
	_, err = f.Do(t.Context(), a)
	assert.ErrorContains(t, err, "elsewhere.example")
}

func TestARedirectIsDelayedOnce(t *testing.T) {
	f, o, delayed := fetcherOf(t, smallSite())
	a, err := web.Visit("https://a.example/calls")
	require.NoError(t, err)
	_, err = f.Do(t.Context(), a)
	require.NoError(t, err)
	assert.EqualValues(t, 2, o.requests.Load(), "the redirect and the page")
	assert.EqualValues(t, 1, delayed.Load(), "the page alone")
}

func TestAClientThatLeavesEndsTheDelay(t *testing.T) {
	o, err := newOrigins(smallSite(), 0, func(string) time.Duration { return time.Hour })
	require.NoError(t, err)
	f := web.New(web.Config{Transport: o})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	a, err := web.Visit("https://a.example/")
	require.NoError(t, err)
	_, err = f.Do(ctx, a)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NoError(t, o.Close())
}

func TestAHostThatQueuesWorksOnForAClientThatLeaves(t *testing.T) {
	const work = 200 * time.Millisecond
	o, err := newOrigins(smallSite(), 1, func(string) time.Duration { return work })
	require.NoError(t, err)
	defer func() { assert.NoError(t, o.Close()) }()
	f := web.New(web.Config{Transport: o})
	a, err := web.Visit("https://a.example/")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), work/10)
	defer cancel()
	_, err = f.Do(ctx, a)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	began := time.Now()
	_, err = f.Do(t.Context(), a)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, time.Since(began), work+work/2, "the rest of the first one's, and its own")
}

func TestAHostThatQueuesEndsItsWorkWithItself(t *testing.T) {
	o, err := newOrigins(smallSite(), 1, func(string) time.Duration { return time.Hour })
	require.NoError(t, err)
	f := web.New(web.Config{Transport: o})
	a, err := web.Visit("https://a.example/")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = f.Do(ctx, a)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NoError(t, o.Close()) // and goleak finds nothing
}
