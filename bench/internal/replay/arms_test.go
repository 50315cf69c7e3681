package replay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestArmsAreReportedInOneOrderHoweverTheyAreNamed(t *testing.T) {
	arms, err := ParseArms("spec, off")
	require.NoError(t, err)
	assert.Equal(t, []Arm{Off, Spec}, arms)
	_, err = ParseArms("off,,spec")
	assert.Error(t, err)
}

func TestDraftsAndProfilesHaveNames(t *testing.T) {
	for _, name := range []string{"lexical", "random", "oracle:0.833", "oracle:1"} {
		d, err := ParseDraft(name)
		require.NoError(t, err)
		assert.Equal(t, name, d.String())
	}
	for _, name := range []string{"", "oracle", "oracle:", "oracle:1.2", "oracle:NaN", "lexical:1", "llm"} {
		_, err := ParseDraft(name)
		assert.Error(t, err, name)
	}
	_, err := ParseProfile("fast")
	assert.Error(t, err)
}
