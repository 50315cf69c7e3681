package replay

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const goodLine = `{"Question":"q","root_url":"https://a.example/","golden_path":["root->A->more >>"]}`

func TestABadLineIsAnErrorThatNamesLineAndField(t *testing.T) {
	for bad, want := range map[string][]string{
		`{"Question":"q"`: {"line 2", "JSON"},
		`{"root_url":"https://a.example/","golden_path":["root->A"]}`:                        {"line 2", "Question"},
		`{"Question":"q","root_url":"a.example","golden_path":["root->A"]}`:                  {"line 2", "root_url"},
		`{"Question":"q","root_url":"ftp://a.example","golden_path":["root->A"]}`:            {"line 2", "root_url"},
		`{"Question":"q","root_url":"https://a.example/"}`:                                   {"line 2", "golden_path"},
		`{"Question":"q","root_url":"https://a.example/","golden_path":"root->A"}`:           {"line 2", "golden_path"},
		`{"Question":"q","root_url":"https://a.example/","golden_path":["root->A","root"]}`:  {"line 2", "golden_path[1]"},
		`{"Question":"q","root_url":"https://a.example/","golden_path":["root->A->"]}`:       {"line 2", "golden_path[0]", "empty label"},
		`{"Question":["q"],"root_url":"https://a.example/","golden_path":["root->A->Home"]}`: {"line 2", "Question"},
	} {
		_, err := ReadItems(strings.NewReader(goodLine + "\n" + bad + "\n"))
		for _, part := range want {
			assert.ErrorContains(t, err, part, bad)
		}
	}
	_, err := ReadItems(strings.NewReader("\n"))
	assert.ErrorContains(t, err, "no items")
}

func TestAPathIsSplitAtArrowsOnly(t *testing.T) {
	items, err := ReadItems(strings.NewReader(goodLine + "\n\n"))
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"A", "more >>"}}, items[0].Paths)
	assert.Equal(t, "a.example", items[0].host)
}

func TestTheBuiltInItemsHaveTwoRootsAndPathsOfOneToThreeClicks(t *testing.T) {
	roots, lengths := map[string]bool{}, map[int]bool{}
	for _, it := range builtinItems() {
		roots[it.RootURL] = true
		for _, p := range it.Paths {
			lengths[len(p)] = true
		}
	}
	assert.Len(t, roots, 2)
	assert.Equal(t, map[int]bool{1: true, 2: true, 3: true}, lengths)
}
