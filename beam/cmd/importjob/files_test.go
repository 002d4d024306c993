package main

import (
	"os"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// history makes a folder with files, and goes to the folder above.
func history(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"a/1.jsonl": good + "no JSON\n" + good, "a/2.jsonl": good, "b/1.jsonl": good} {
		require.NoError(t, os.MkdirAll("history/"+name[:1], 0o700))
		require.NoError(t, os.WriteFile("history/"+name, []byte(text), 0o600))
	}
}

func TestACheckSendsNothing(t *testing.T) {
	history(t)
	server := newServer(t)
	out, err := runHere(t, to(t, server, "-check", "history/*/*.jsonl")...)
	require.NoError(t, err)
	assert.Contains(t, out, "Files: 3.")
	assert.Contains(t, out, "read 5")
	assert.Contains(t, out, "a/1.jsonl")
	assert.Contains(t, out, "line 2", "the bad line")
	assert.Contains(t, out, "Nothing was sent.")
	assert.Zero(t, server.Ledger().Len())
	assert.NoFileExists(t, "shop.rejects.jsonl")
	assert.NoFileExists(t, "shop.receipt.json")
}

func TestACheckSaysWhatCannotBeRead(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("damaged.jsonl.gz", commits[:1000], 0o600))
	_, err := runHere(t, "-check", "-import", "shop", "damaged.jsonl.gz")
	require.ErrorContains(t, err, "damaged.jsonl.gz")
}

// Beam has a flag that says so, for another runner.
func TestADryRunIsNoRun(t *testing.T) {
	history(t)
	server := newServer(t)
	assert.Contains(t, failure(t, to(t, server, "-dry_run", "history/*/*.jsonl")...), "-check sends nothing")
	assert.Contains(t, failure(t, to(t, server, "-async", "history/*/*.jsonl")...), "-async")
	assert.Zero(t, server.Ledger().Len())
}

// What is shown before the job, and by a check, are the names that the job gives.
func TestNamesAreThoseOfTheJob(t *testing.T) {
	for _, glob := range []string{"history/*/*.jsonl", "history/a/*.jsonl", "history/a/2.jsonl", "*/a/*.jsonl", "/history/[ab]/*"} {
		t.Run(glob, func(t *testing.T) {
			history(t)
			if glob[0] == '/' {
				here, err := os.Getwd()
				require.NoError(t, err)
				glob = here + glob
			}
			server := newServer(t)
			_, err := runHere(t, to(t, server, glob)...)
			require.NoError(t, err)
			found, err := (&settings{globs: []string{glob}}).find(t.Context())
			require.NoError(t, err)
			n := 0
			for ev, err := range found.Events(t.Context(), hogapi.Position{}) {
				require.NoError(t, err)
				if ev.Name != "" {
					n++
					assert.Empty(t, server.Ledger().Missing([]uuid.UUID{ev.Position.UUID("shop")}), ev.Position)
				}
			}
			assert.Equal(t, n, server.Ledger().Unique())
		})
	}
}

func TestGlobsAreCheckedBeforeTheJob(t *testing.T) {
	cases := map[string]struct {
		globs []string
		want  string
	}{
		"none":      {[]string{"history/a/*.jsonl", "history/b/*.csv"}, "no file matches history/b/*.csv"},
		"nowhere":   {[]string{"history/c/*"}, "history/c"},
		"folder":    {[]string{"history/a"}, "history/a is a folder: name the files in it, such as history/a/*.jsonl"},
		"same file": {[]string{"history/a/*.jsonl", "history/a/1.jsonl"}, "two globs match the same file"},
		"same name": {[]string{"history/a/*.jsonl", "history/b/*.jsonl"}, "above both"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			history(t)
			server := newServer(t)
			_, err := runHere(t, to(t, server, c.globs...)...)
			require.ErrorContains(t, err, c.want)
			assert.Zero(t, server.Ledger().Len())
		})
	}
}

// A glob passes over a folder that cannot be listed, and a check would call good what the job cannot read. A link that leads to itself
// cannot be listed by root either.
func TestACheckPassesOverNoFolder(t *testing.T) {
	history(t)
	require.NoError(t, os.Symlink("c", "history/c"))
	for _, glob := range []string{"history/*/*.jsonl", "history/c/*"} {
		_, err := runHere(t, "-check", "-import", "shop", glob)
		require.ErrorContains(t, err, "history/c")
	}
}
