package web_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slowHosts counts the requests in the air by host, and answers after a
// minute.
type slowHosts struct {
	mu    sync.Mutex // guards most and now
	now   map[string]int
	most  map[string]int
	wait  time.Duration
	asked int
}

func (h *slowHosts) RoundTrip(r *http.Request) (*http.Response, error) {
	h.add(r.Host, 1)
	defer h.add(r.Host, -1)
	select {
	case <-time.After(h.wait):
		return answer(r, http.StatusOK, nil), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func (h *slowHosts) add(host string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now == nil {
		h.now, h.most = map[string]int{}, map[string]int{}
	}
	h.asked += max(n, 0)
	h.now[host] += n
	h.most[host] = max(h.most[host], h.now[host])
}

func aheadOf(ctx context.Context) context.Context {
	return actions.WithCall(ctx, actions.Call{Ahead: true})
}

func TestRunsAheadTakeTurnsAtAHostAndTheTargetDoesNot(t *testing.T) {
	for size, want := range map[int]int{0: 6, 2: 2} {
		synctest.Test(t, func(t *testing.T) {
			hosts := &slowHosts{wait: time.Minute}
			f := web.New(web.Config{Transport: hosts, Timeout: time.Hour, MaxAheadPerHost: size})
			var runs sync.WaitGroup
			for i := range 4 * want {
				for _, host := range []string{"a", "b"} {
					a := visit(t, fmt.Sprintf("https://%s.example/%d", host, i))
					runs.Go(func() {
						_, err := f.Do(aheadOf(t.Context()), a)
						assert.NoError(t, err)
					})
				}
			}
			synctest.Wait()
			assert.Equal(t, map[string]int{"a.example": want, "b.example": want}, hosts.most)
			began := time.Now()
			for range 3 {
				runs.Go(func() {
					_, err := f.Do(t.Context(), visit(t, "https://a.example/target"))
					assert.NoError(t, err)
					assert.Equal(t, time.Minute, time.Since(began))
				})
			}
			runs.Wait()
			assert.Equal(t, map[string]int{"a.example": want + 3, "b.example": want}, hosts.most)
			assert.Equal(t, 4*time.Minute, time.Since(began))
			assert.Equal(t, 8*want+3, hosts.asked)
			assert.Zero(t, web.Gates(f))
		})
	}
}

func TestARunAheadThatWaitsEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := &slowHosts{wait: time.Minute}
		f := web.New(web.Config{Transport: hosts, Timeout: 30 * time.Second, MaxAheadPerHost: 1})
		var runs sync.WaitGroup
		first, cancel := context.WithTimeout(aheadOf(t.Context()), 10*time.Second)
		defer cancel()
		runs.Go(func() {
			_, err := f.Do(aheadOf(t.Context()), visit(t, "https://a.example/0"))
			assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		})
		synctest.Wait()
		runs.Go(func() {
			_, err := f.Do(first, visit(t, "https://a.example/1"))
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		})
		runs.Wait()
		assert.Equal(t, 1, hosts.asked)
		assert.Zero(t, web.Gates(f))
	})
}

func TestAHundredRunsAheadLeaveTheTargetAConnection(t *testing.T) {
	const runsAhead = 100
	arrived, release := make(chan struct{}, runsAhead), make(chan struct{})
	f, url := serveWith(t, web.Config{MaxAheadPerHost: runsAhead}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Sec-Purpose") != "" {
			arrived <- struct{}{}
			<-release
		}
		writeHTML(w, "<p>hi</p>")
	})
	var runs sync.WaitGroup
	for i := range runsAhead {
		a := visit(t, fmt.Sprintf("%s/%d", url, i))
		runs.Go(func() {
			_, err := f.Do(aheadOf(t.Context()), a)
			assert.NoError(t, err)
		})
	}
	for range runsAhead {
		<-arrived
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := f.Do(ctx, visit(t, url+"/target"))
	close(release)
	require.NoError(t, err)
	runs.Wait()
}
