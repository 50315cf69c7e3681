package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"time"
)

// files are SpecCache's documentation: plain HTML, readable from disk too.
//
//go:embed site
var files embed.FS

// homePath is where every walk begins.
const homePath = "/index.html"

// The delay of a page is drawn once, from its path: between these, and the
// same in every run on every machine.
const (
	minDelay = 150 * time.Millisecond
	maxDelay = 500 * time.Millisecond
)

func pageDelay(path string) time.Duration {
	h := fnv.New32a()
	io.WriteString(h, path)
	steps := uint32((maxDelay-minDelay)/time.Millisecond) + 1
	return minDelay + time.Duration(h.Sum32()%steps)*time.Millisecond
}

func noDelay(string) time.Duration { return 0 }

const notFound = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>No such page - SpecCache</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main>
<h1>No such page</h1>
<p>SpecCache's documentation begins at its <a href="` + homePath + `">home page</a>.</p>
</main>
</body>
</html>
`

// A site serves the documentation as a slow web site would.
type site struct {
	delay    func(path string) time.Duration
	requests atomic.Int64 // for pages
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" {
		http.Redirect(w, r, homePath, http.StatusFound)
		return
	}
	body, err := fs.ReadFile(files, "site"+path.Clean(r.URL.Path))
	if err != nil {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, notFound)
		return
	}
	if strings.HasSuffix(r.URL.Path, ".css") {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		w.Write(body)
		return
	}
	s.requests.Add(1)
	if pause(r.Context(), s.delay(r.URL.Path)) != nil {
		return // nobody waits for the page any more
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(body)
}

// pause waits, as long as the context lets it.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// listen serves a handler on a loopback port that the system chooses. Stop
// returns when nothing of the server is left.
func listen(h http.Handler) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("no loopback port to serve the site on: %w", err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(l)
	}()
	stop = func() {
		server.Close()
		<-done
	}
	return "http://" + l.Addr().String(), stop, nil
}

// serveOnly serves the documentation to people.
func serveOnly(ctx context.Context, stdout io.Writer) error {
	url, stop, err := listen(&site{delay: noDelay})
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(stdout, "SpecCache's documentation is at %s%s until you press Ctrl-C.\n", url, homePath)
	<-ctx.Done()
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil // as asked
	}
	return ctx.Err()
}
