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

func TestThePredictorRunsTheNextPageAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		require.NoError(t, run(t.Context(), &out))
		assert.Equal(t, want, out.String())
	})
}

const want = `entries of list {"page":1}: miss
entries of list {"page":2}: hit
entries of list {"page":3}: hit
entries of list {"page":4}: hit
entries of list {"page":5}: hit
5 guesses, 4 of 5 runs ahead used
`
