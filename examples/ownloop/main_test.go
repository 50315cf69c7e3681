package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheLoopIsServedAheadAndReadsWhatItAlwaysRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		require.NoError(t, run(t.Context(), &out))
		assert.Equal(t, want, out.String())
	})
}

const want = `home: A small museum. See: visit, collection, about
visit: Plan your day. See: opening hours, prices, arrival
opening hours: Open from 10 to 18, closed on Mondays.
hits: 2, misses: 1, hidden: 120ms
`
