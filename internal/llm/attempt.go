package llm

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// atOnce is how soon a connection that was closed before a request came to it
// shows that, on a machine that is busy with a model. Later it may be that the
// server has worked on the request, and broke down.
const atOnce = 5 * time.Second

// An attempt is one sending of a request.
type attempt struct {
	began    time.Time
	kept     atomic.Bool // the connection is one of an earlier request
	answered atomic.Bool // something came back
}

// watch returns a context whose request notes what happens to it.
func (a *attempt) watch(ctx context.Context) context.Context {
	a.began = time.Now()
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              func(c httptrace.GotConnInfo) { a.kept.Store(c.Reused) },
		GotFirstResponseByte: func() { a.answered.Store(true) },
	})
}

// unread reports whether an attempt failed because its connection was closed
// already, so that the server can't have read it.
func (a *attempt) unread(err error) bool {
	return a.kept.Load() && !a.answered.Load() && time.Since(a.began) < atOnce && Classify(err) == Network
}
