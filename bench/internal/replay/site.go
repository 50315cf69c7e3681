package replay

import (
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

// A site is the recorded files of one host, served as a static host does: for
// a path P the first of P/index.html (after a redirect to P/), P.html and P,
// else 404.html with status 404.
type site struct {
	files fs.FS
	// delay is called once per fetch, before a page is sent. An answer that
	// redirects is not delayed: the page it leads to is.
	delay func(*http.Request) error
}

// openSites returns the site of every host that the items begin at.
func openSites(sites fs.FS, items []Item) (map[string]fs.FS, error) {
	open := map[string]fs.FS{}
	for _, it := range items {
		if open[it.host] != nil {
			continue
		}
		if info, err := fs.Stat(sites, it.host); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("replay: no recorded site for %s: the sites folder has no folder %q", it.RootURL, it.host)
		}
		files, err := fs.Sub(sites, it.host)
		if err != nil {
			return nil, fmt.Errorf("replay: site of %s: %w", it.RootURL, err)
		}
		open[it.host] = files
	}
	return open, nil
}

// ServeHTTP answers a GET.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if data, err := fs.ReadFile(s.files, path.Join(name, "index.html")); err == nil {
		if !strings.HasSuffix(r.URL.Path, "/") {
			http.Redirect(w, r, r.URL.EscapedPath()+"/", http.StatusMovedPermanently)
			return
		}
		s.send(w, r, http.StatusOK, "index.html", data)
		return
	}
	for _, file := range []string{name + ".html", name} {
		if data, err := fs.ReadFile(s.files, file); err == nil {
			s.send(w, r, http.StatusOK, file, data)
			return
		}
	}
	data, err := fs.ReadFile(s.files, "404.html")
	if err != nil {
		data = []byte("<!DOCTYPE html><title>404</title><p>Not found.")
	}
	s.send(w, r, http.StatusNotFound, "404.html", data)
}

func (s *site) send(w http.ResponseWriter, r *http.Request, status int, file string, data []byte) {
	if s.delay != nil {
		if err := s.delay(r); err != nil {
			return // the client has left
		}
	}
	kind := mime.TypeByExtension(path.Ext(file))
	if kind == "" {
		kind = http.DetectContentType(data)
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(data) // a client that left has nobody to tell
}
