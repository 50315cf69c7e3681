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

func TestTheWriteHidesTheReadBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		require.NoError(t, run(t.Context(), &out))
		assert.Equal(t, want, out.String())
	})
}

const want = `read  -> buy milk   miss: absent
read  -> buy milk   hit
write -> written    miss: bypass
read  -> buy bread  miss: state
`
