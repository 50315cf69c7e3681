package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// origins are the web servers of one agent, one for each host, on loopback. It
// is the transport of the agent's fetcher as well: requests keep the names of
// the recorded hosts and go to the servers over real connections.
type origins struct {
	// delay says how long a page takes to come. It is set before the first
	// request.
	delay    func(page string) time.Duration
	requests atomic.Int64

	// capacity is how many requests a host works on at a time: it queues the
	// rest, and works on what it was asked for although the client has left, as
	// real ones do. 0: on all, and it notices.
	capacity int
	ending   context.Context // with which the work ends
	end      context.CancelFunc

	addresses map[string]string // by host name
	servers   []*http.Server
	pool      *http.Transport
	serving   sync.WaitGroup
}

// newOrigins starts the servers. Close them.
func newOrigins(sites map[string]fs.FS, capacity int, delay func(page string) time.Duration) (*origins, error) {
	ending, end := context.WithCancel(context.Background())
	o := &origins{
		delay:     delay,
		capacity:  capacity,
		ending:    ending,
		end:       end,
		addresses: map[string]string{},
		pool: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 64,
			DisableCompression:  true,
		},
	}
	for host, files := range sites {
		if err := o.serve(host, files); err != nil {
			o.Close()
			return nil, err
		}
	}
	return o, nil
}

func (o *origins) serve(host string, files fs.FS) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("replay: a server for %s: %w", host, err)
	}
	pages := &site{files: files, delay: o.wait}
	if o.capacity > 0 {
		pages.delay = o.queue(semaphore.NewWeighted(int64(o.capacity)))
	}
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			o.requests.Add(1)
			pages.ServeHTTP(w, r)
		}),
		ErrorLog: log.New(io.Discard, "", 0),
	}
	o.addresses[host] = l.Addr().String()
	o.servers = append(o.servers, srv)
	o.serving.Go(func() { _ = srv.Serve(l) }) // it ends with Close, and only then
	return nil
}

// wait is the time that the recorded host takes to send a page.
func (o *origins) wait(r *http.Request) error {
	began := time.Now()
	if o.delay == nil {
		return nil
	}
	return sleepUntil(r.Context(), began.Add(o.delay(r.Host+r.URL.EscapedPath())))
}

// queue returns wait for a host that works on a few requests at a time, in the
// order in which they come.
func (o *origins) queue(places *semaphore.Weighted) func(*http.Request) error {
	return func(r *http.Request) error {
		if err := places.Acquire(o.ending, 1); err != nil {
			return err
		}
		defer places.Release(1)
		return o.wait(r.WithContext(o.ending))
	}
}

// RoundTrip sends a request for a recorded host to its server.
func (o *origins) RoundTrip(r *http.Request) (*http.Response, error) {
	address, ok := o.addresses[r.URL.Host]
	if !ok {
		return nil, fmt.Errorf("replay: host %q is not recorded", r.URL.Host)
	}
	to := r.Clone(r.Context())
	to.Host = r.URL.Host
	to.URL.Scheme, to.URL.Host = "http", address
	return o.pool.RoundTrip(to)
}

// Close ends the servers and their connections, and waits for the listeners.
func (o *origins) Close() error {
	o.end()
	var errs []error
	for _, s := range o.servers {
		errs = append(errs, s.Close())
	}
	o.serving.Wait()
	o.pool.CloseIdleConnections()
	return errors.Join(errs...)
}

// sleepUntil waits for a moment, or for the end of ctx, which is an error.
func sleepUntil(ctx context.Context, moment time.Time) error {
	d := time.Until(moment)
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
