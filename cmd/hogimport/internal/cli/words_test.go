package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

func TestPlacesHaveTheNumberOfTheLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "e.json")
	require.NoError(t, os.WriteFile(path, []byte("{}\n{ }\n{}"), 0o600))
	at := func(offset int64) string {
		return placeText([]string{path}, hogapi.Position{Key: "e.json", Offset: offset})
	}
	assert.Equal(t, []string{"e.json:1", "e.json:2", "e.json:3"}, []string{at(3), at(7), at(9)})
	assert.Equal(t, "e.json (byte 99 of the unpacked text)", at(99))
	assert.Equal(t, "e.json:2: bad", withPlaces("e.json@7: bad", []string{path}, hogapi.Position{Key: "e.json", Offset: 7}))
}
