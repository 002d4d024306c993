package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A list with another count than the check's, since another program writes to the files, is not
// written.
func TestAListHasWhatWasCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, list := filepath.Join(dir, "e.jsonl"), filepath.Join(dir, "list")
	require.NoError(t, os.WriteFile(file, []byte(`{"event":"a","properties":{"time":1672531200}}`+"\n"), 0o600))
	in := &input{Files: []string{file}, Format: "mixpanel"}
	require.NoError(t, in.writeLeftOut(t.Context(), list, 1))
	assert.FileExists(t, list)
	require.NoError(t, os.Remove(list))
	err := in.writeLeftOut(t.Context(), list, 2)
	require.ErrorContains(t, err, "of the files 1 record is left out, and a moment ago it was 2")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1, "neither the list nor a part of it")
}
