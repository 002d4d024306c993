package cli

import (
	"context"
	"fmt"
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
	begun := func(path string) []*state {
		found, err := c.importsOf(t.Context(), []string{path})
		require.NoError(t, err)
		return found.begun
	}
	assert.Empty(t, begun("e.jsonl"))
	require.NoError(t, os.WriteFile(s.checkpoint(), nil, 0o600))
	assert.Len(t, begun("e.jsonl"), 1)
	assert.Empty(t, begun("other.jsonl"))
}

// countdown is a context that is interrupted after a number of looks at it.
type countdown struct {
	context.Context
	looks *int
}

// Err implements context.Context.
func (c countdown) Err() error {
	if *c.looks--; *c.looks < 0 {
		return errInterrupted
	}
	return nil
}

// A run of many files looks at its context before it reads each of them, and reads each of them once.
func TestManyFilesAreReadOnceAndUntilCtrlC(t *testing.T) {
	t.Parallel()
	const n = 30_000
	paths := make([]string, n)
	for i := range paths {
		paths[i] = fmt.Sprintf("/nowhere/%d.jsonl", i)
	}
	looks := n
	files, err := known(countdown{t.Context(), &looks}, paths)
	require.NoError(t, err)
	assert.Zero(t, looks)
	looks = 5
	_, err = known(countdown{t.Context(), &looks}, paths)
	require.ErrorIs(t, err, errInterrupted)
	assert.GreaterOrEqual(t, looks, -2, "it stops at once, and looks once more for the cause")
	s := &state{kept: kept{Files: files}}
	assert.Empty(t, settledOf(paths, files, []*state{s}).fresh)
}

// A file is found by its path, or moved by its name and content, and the first of several is meant.
func TestFilesAreFoundInAnImport(t *testing.T) {
	t.Parallel()
	s := &state{kept: kept{Files: []knownFile{{"/a/x", 1, "1"}, {"/b/x", 2, "2"}, {"/c/x", 1, "1"}}}}
	find := s.finder()
	for file, want := range map[knownFile][]any{
		{"/b/x", 2, "2"}: {1, false}, {"/b/x", 3, "3"}: {1, true}, {"/d/x", 2, "2"}: {1, false}, {"/c/x", 1, "1"}: {0, false},
		{"/c/x", 4, "4"}: {2, true}, {"/d/y", 2, "2"}: {-1, false}, {"/d/x", 5, "5"}: {-1, false}, {"/b/x", 1, "1"}: {0, false},
	} {
		at, isChanged := find(file)
		assert.Equal(t, want, []any{at, isChanged}, file)
	}
	old := (&state{kept: kept{Input: input{Files: []string{"/a/x"}}}}).finder() // of an older release, without contents
	at, isChanged := old(knownFile{"/a/x", 1, "1"})
	assert.Equal(t, []any{0, false}, []any{at, isChanged})
	at, _ = old(knownFile{"/b/x", 0, ""})
	assert.Equal(t, -1, at)
}
