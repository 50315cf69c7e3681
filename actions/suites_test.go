package actions_test

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/speccache/speccache-go/actions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestArgumentsHaveTheFormOfRFC8785(t *testing.T) {
	input, output := folder(t, "suites", "rfc8785", "input"), folder(t, "suites", "rfc8785", "output")
	require.Len(t, input, 6)
	for name, text := range input {
		assert.Equal(t, output[name], parse(t, text).Args(), name)
	}
}

// Integers between 2^53 and 1e21 are refused by rule; every other number of
// the RFC's sequence has its form, byte for byte.
func TestNumbersHaveTheFormOfRFC8785(t *testing.T) {
	f, err := os.Open(shared(t, "suites", "rfc8785", "es6testfile10k.txt"))
	require.NoError(t, err)
	defer f.Close()
	equal, refusals := 0, 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		bits, want, _ := strings.Cut(lines.Text(), ",")
		n, err := strconv.ParseUint(bits, 16, 64)
		require.NoError(t, err)
		number := math.Float64frombits(n)
		a, err := actions.Parse("a", strconv.FormatFloat(number, 'e', -1, 64))
		if size := math.Abs(number); size > 1<<53 && size < 1e21 {
			refusals++
			refused(t, actions.ProblemNumber, err, lines.Text())
			continue
		}
		require.NoError(t, err, lines.Text())
		require.Equal(t, want, a.Args(), lines.Text())
		equal++
	}
	t.Logf("%d equal, %d integers beyond 2^53 refused", equal, refusals)
	assert.Equal(t, 10_000, equal+refusals)
	assert.Less(t, refusals, 1000)
}

func TestJSONTestSuiteIsAcceptedAndRejected(t *testing.T) {
	duplicates := map[string]bool{"y_object_duplicated_key.json": true, "y_object_duplicated_key_and_value.json": true}
	count := make(map[byte]int)
	for name, text := range folder(t, "suites", "jsontestsuite", "test_parsing") {
		a, err := actions.Parse("a", text)
		count[name[0]]++
		switch {
		case duplicates[name]:
			refused(t, actions.ProblemDuplicate, err, name)
		case name[0] == 'y':
			assert.NoError(t, err, name)
		case name[0] == 'n':
			assert.Error(t, err, name)
		default:
			again, err2 := actions.Parse("a", text)
			assert.Equal(t, err == nil, err2 == nil, name)
			assert.Equal(t, a, again, name)
		}
	}
	assert.Equal(t, map[byte]int{'y': 95, 'n': 188, 'i': 35}, count)
}

func TestTransformedFilesShareAKeyExactlyIfTheyAreOneValue(t *testing.T) {
	accepted := make(map[string]actions.Action)
	files := folder(t, "suites", "jsontestsuite", "test_transform")
	for name, text := range files {
		if a, err := actions.Parse("a", text); err == nil {
			require.True(t, utf8.ValidString(text), name)
			accepted[name] = a
		} else {
			t.Log("refused:", name, err)
		}
	}
	for one, a := range accepted {
		for two, b := range accepted {
			assert.Equal(t, sameValue(t, files[one], files[two]), a == b, "%s, %s", one, two)
		}
	}
	assert.NotContains(t, accepted, "number_9223372036854775807.json")
	assert.NotContains(t, accepted, "object_same_key_different_values.json")
	assert.NotContains(t, accepted, "string_1_escaped_invalid_codepoint.json")
}
