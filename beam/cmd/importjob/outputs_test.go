package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func content(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(raw)
}

// Outputs of another import, or of other files, stay as they are. The same command replaces its own.
func TestOutputsOfSomethingElseStay(t *testing.T) {
	history(t)
	server := newServer(t)
	_, err := runHere(t, to(t, server, "history/a/*.jsonl")...)
	require.NoError(t, err)
	rejects, receipt := content(t, "shop.rejects.jsonl"), content(t, "shop.receipt.json")
	require.Contains(t, rejects, "no JSON")
	sent := server.Ledger().Len()

	for name, args := range map[string][]string{
		"another month":          {"history/b/*.jsonl"},
		"another month, half":    {"-receipt", "b.receipt.json", "history/b/*.jsonl"},
		"another receipt's name": {"-rejects", "b.rejects.jsonl", "history/b/*.jsonl"},
		"another import":         {"-import", "other", "-rejects", "shop.rejects.jsonl", "-receipt", "shop.receipt.json", "history/a/*.jsonl"},
	} {
		_, err := runHere(t, to(t, server, args...)...)
		require.ErrorContains(t, err, "is of another import or of other files", name)
		assert.Contains(t, err.Error(), "name others with -rejects and -receipt")
	}
	assert.Equal(t, sent, server.Ledger().Len(), "nothing was sent")
	assert.Equal(t, rejects, content(t, "shop.rejects.jsonl"))
	assert.Equal(t, receipt, content(t, "shop.receipt.json"))

	require.NoError(t, os.WriteFile("history/a/1.jsonl", []byte(good+"mended\n"+good), 0o600))
	_, err = runHere(t, to(t, server, "history/a/*.jsonl")...)
	require.NoError(t, err)
	assert.Contains(t, content(t, "shop.rejects.jsonl"), "mended")
}

// A job that fails leaves the outputs of the run before it.
func TestAFailedJobLeavesTheOutputs(t *testing.T) {
	history(t)
	server := newServer(t)
	args := to(t, server, "history/a/*")
	_, err := runHere(t, args...)
	require.NoError(t, err)
	rejects, receipt := content(t, "shop.rejects.jsonl"), content(t, "shop.receipt.json")
	require.NoError(t, os.WriteFile("history/a/3.jsonl.gz", commits[:1000], 0o600))
	assert.Contains(t, failure(t, args...), "cut off or damaged")
	assert.Equal(t, rejects, content(t, "shop.rejects.jsonl"))
	assert.Equal(t, receipt, content(t, "shop.receipt.json"))
	assert.NoFileExists(t, "shop.receipt.json.partial")
	require.NoError(t, os.Remove("history/a/3.jsonl.gz"))
	_, err = runHere(t, args...)
	require.NoError(t, err)
	assert.NoFileExists(t, "shop.rejects.jsonl.partial")
	assert.NoFileExists(t, "shop.receipt.json.partial")
}

// What cannot be written, or has no key, is known before the first event.
func TestWhatIsMissingIsSaidBeforeTheFirstEvent(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"one file for both":       {[]string{"-rejects=x", "-receipt=./x", "history/a/1.jsonl"}, "both"},
		"read too":                {[]string{"-rejects=history/a/x.jsonl", "./history/*/*.jsonl"}, "history/a/x.jsonl would be read too"},
		"a receipt that is read":  {[]string{"*.json"}, "shop.receipt.json would be read too"},
		"no folder":               {[]string{"-receipt=nosuch/r.json", "history/a/1.jsonl"}, "there is no folder nosuch"},
		"a folder":                {[]string{"-receipt=history", "history/a/1.jsonl"}, "history is a folder"},
		"a folder of the system":  {[]string{"-rejects=/proc/x.jsonl", "history/a/1.jsonl"}, "/proc/x.jsonl cannot be written"},
		"no folder for sorting":   {[]string{"-sort-folder=/nosuch", "history/a/1.jsonl"}, "-sort-folder"},
		"no variable for the key": {[]string{"-key-env=IMPORTJOB_NO_KEY", "history/a/1.jsonl"}, "IMPORTJOB_NO_KEY"},
		"no file for the key":     {[]string{"-key-env=", "-key-file=nosuch.key", "history/a/1.jsonl"}, "nosuch.key"},
		"an empty file":           {[]string{"-key-env=", "-key-file=empty.key", "history/a/1.jsonl"}, "empty.key is empty"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			history(t)
			require.NoError(t, os.WriteFile("empty.key", nil, 0o600))
			server := newServer(t)
			_, err := runHere(t, to(t, server, c.args...)...)
			require.ErrorContains(t, err, c.want)
			assert.Zero(t, server.Ledger().Len())
		})
	}
}
