package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Many files are one pattern, and only where it is of these files alone.
func TestManyFilesAreOnePattern(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var paths []string
	for day := range 6 {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("mixpanel-2024-02-2%d.json.gz", day)))
		require.NoError(t, os.WriteFile(paths[day], nil, 0o600))
	}
	assert.Equal(t, []string{filepath.Join(dir, "mixpanel-2024-02-2*.json.gz")}, fileWords(paths))
	assert.Equal(t, paths[:5], fileWords(paths[:5]), "the pattern matches another file too")
	assert.Equal(t, paths[:2], fileWords(paths[:2]))
	assert.Equal(t, "aaa*", patternOf([]string{"aaa", "aaaa"}), "no character is of both ends")
}

// Of thousands of files that no pattern finds a command names the first ones. As it stands it is refused.
func TestManyFilesAreFolded(t *testing.T) {
	t.Parallel()
	var paths []string
	for i := range 3000 {
		paths = append(paths, fmt.Sprintf("e%04d.jsonl", i))
	}
	assert.Equal(t, []string{"e0000.jsonl", "e0001.jsonl", "'… 2998 more files'"}, fileWords(paths))
	assert.Len(t, fileWords(paths[:20]), 20)
}
