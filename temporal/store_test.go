package hogtemporal

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
)

func TestFolderStore(t *testing.T) {
	ctx := t.Context()
	store := FolderStore(filepath.Join(t.TempDir(), "a [shared] folder"))
	attempt := func(run int) Attempt {
		return Attempt{Import: "a/b ü", Shard: 3, Name: "x.jsonl", Begun: time.Unix(1_700_000_000, 0), Run: run}
	}
	open := func(run int, want string) history.Checkpointer {
		c := store.Checkpoint(attempt(run))
		state, err := c.Open(ctx)
		require.NoError(t, err)
		require.Equal(t, want, string(state))
		return c
	}
	first := open(1, "")
	require.NoError(t, first.Save(ctx, []byte("1")))
	require.NoError(t, first.Save(ctx, []byte("2")))
	second := open(2, "2")
	require.NoError(t, first.Save(ctx, []byte("3")), "one that was frozen saves what it knows")
	require.NoError(t, second.Save(ctx, []byte("4")))
	require.NoError(t, first.Save(ctx, []byte("5")))
	third := open(3, "4") // and not 5
	require.NoError(t, third.Save(ctx, []byte("4")))
	files, err := os.ReadDir(filepath.Dir(third.(*folderCheckpoint).file))
	require.NoError(t, err)
	assert.Len(t, files, 1, "those of both earlier attempts are removed")
	_, err = store.Checkpoint(attempt(3)).Open(ctx)
	require.ErrorIs(t, err, hogapi.ErrHeld, "the same attempt twice")

	_, err = store.Checkpoint(attempt(1)).Open(ctx)
	require.ErrorIs(t, err, hogapi.ErrHeld, "a later attempt is at work")

	another := attempt(1)
	another.Begun = another.Begun.Add(time.Hour) // the import was canceled and started again
	state, err := store.Checkpoint(another).Open(ctx)
	require.NoError(t, err)
	assert.Equal(t, "4", string(state))

	entries, err := os.ReadDir(store.Folder("a/b ü"))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

func TestStateThatCannotBeSavedLeavesTheOldOne(t *testing.T) {
	ctx := t.Context()
	store := FolderStore(t.TempDir())
	a := Attempt{Import: "i", Begun: time.Unix(1, 0), Run: 1}
	c := store.Checkpoint(a)
	_, err := c.Open(ctx)
	require.NoError(t, err)
	require.NoError(t, c.Save(ctx, []byte("old")))
	require.NoError(t, os.MkdirAll(c.(*folderCheckpoint).file+".hogapi-tmp/in the way", 0o700)) // as on a full disk: nothing can be written
	require.Error(t, c.Save(ctx, []byte("new")))
	a.Run++
	state, err := store.Checkpoint(a).Open(ctx)
	require.NoError(t, err)
	assert.Equal(t, "old", string(state))
}

// A name is one element of a path, and two names are two.
func TestNamesOfFiles(t *testing.T) {
	for text, want := range map[string]string{
		"azAZ09-_.x": "azAZ09-_.x", ".": "%2e", "..": "%2e.", ".x": "%2ex", "a/b": "a%2fb", "ü": "%c3%bc", "%": "%25", "": "",
		"`{@[/:": "%60%7b%40%5b%2f%3a",
	} {
		assert.Equal(t, want, fileName(text), text)
	}
}
