package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An import that was killed before its first event, while it sorted, has sent nothing: it has no checkpoint yet.
func TestAnImportWithoutACheckpointHasSentNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("e.jsonl", nil, 0o600))
	s := &state{dir: filepath.Join(stateRoot, "e"), kept: kept{ID: "x", Input: input{Files: []string{absolute("e.jsonl")}}}}
	require.NoError(t, makeFolder(s.dir))
	require.NoError(t, s.save())
	require.NoError(t, s.saveProgress(snapshot{}))
	c := &check{app: &app{env: func(string) string { return "" }}}
	begun := func(path string) []*state { return c.importsOf([]string{path}).begun }
	assert.Empty(t, begun("e.jsonl"))
	require.NoError(t, os.WriteFile(s.checkpoint(), nil, 0o600))
	assert.Len(t, begun("e.jsonl"), 1)
	assert.Empty(t, begun("other.jsonl"))
}
