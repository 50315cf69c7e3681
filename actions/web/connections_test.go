package web_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/speccache/speccache-go/actions"
	"github.com/speccache/speccache-go/actions/web"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func aheadOf(ctx context.Context) context.Context {
	return actions.WithCall(ctx, actions.Call{Ahead: true})
}

func TestAHundredRunsAheadLeaveTheTargetAConnection(t *testing.T) {
	const runsAhead = 100
	arrived, release := make(chan struct{}, runsAhead), make(chan struct{})
	f, url := serveWith(t, web.Config{IgnoreRobots: true}, func(w http.ResponseWriter, r *http.Request) {
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
