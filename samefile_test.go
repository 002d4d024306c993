package hogapi_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/warnings"
)

// twice makes a folder with the file events.jsonl and a second name for it, or a copy of it.
func twice(t *testing.T, content string, second func(old, name string) error) (one, other string) {
	t.Helper()
	folder := t.TempDir()
	one, other = filepath.Join(folder, "events.jsonl"), filepath.Join(folder, "other.jsonl")
	require.NoError(t, os.WriteFile(one, []byte(content), 0o600))
	require.NoError(t, second(one, other))
	return one, other
}

// One file under two names would be sent with two uuids for each event: it is refused before anything is sent.
func TestTheSameFileTwiceIsRefused(t *testing.T) {
	t.Parallel()
	inLinkedFolder := func(old, name string) error {
		folder := filepath.Dir(name)
		if err := os.Symlink(folder, filepath.Join(folder, "link")); err != nil {
			return err
		}
		return os.Symlink(filepath.Join(folder, "link", filepath.Base(old)), name)
	}
	for name, link := range map[string]func(old, name string) error{"hard link": os.Link, "symlink": os.Symlink, "by a linked folder": inLinkedFolder} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, other := twice(t, linesOf(2023, 3), link)
			between := writeFile(t, "between.jsonl", linesOf(2022, 3)) // of the same size
			server := hogapitest.New()
			checkpoint := filepath.Join(t.TempDir(), "ckpt")
			options := hogapi.ImportOptions{ID: "twice", Checkpoint: hogapi.FileCheckpoint(checkpoint)}
			_, err := server.Client(t).Import(t.Context(), hogapi.JSONLinesFile(one, between, other), &options)
			input := requireInputError(t, err)
			assert.Equal(t, "other.jsonl", input.Value)
			require.ErrorContains(t, err, `the same file as "events.jsonl"`)
			assert.Zero(t, server.Ledger().Len())
			assert.NoFileExists(t, checkpoint, "and a checkpoint is not made: the next run may name other files")
			_, err = hogapi.Check(t.Context(), hogapi.JSONLinesFile(one, between, other), &options)
			require.ErrorContains(t, err, `the same file as "events.jsonl"`)
		})
	}
}

func requireInputError(t *testing.T, err error) *hogapi.InputError {
	t.Helper()
	var input *hogapi.InputError
	require.ErrorAs(t, err, &input)
	return input
}

// A copy may be meant: Import and Check warn of two files that begin with the same megabyte of text, whatever form they have.
func TestTheSameContentTwiceIsWarnedOf(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(linesOf(2023, 3600), 5) // over a megabyte

	for name, c := range map[string]struct {
		first, second string
		want          int64
	}{
		"a copy":                           {linesOf(2023, 3), linesOf(2023, 3), 1},
		"a packed copy":                    {linesOf(2023, 3), zipped(linesOf(2023, 3)), 1},
		"a long copy":                      {long, long, 1},
		"long ones that differ at the end": {long, long + linesOf(2024, 1), 1},
		"long ones that differ early":      {long, linesOf(2024, 1) + long, 0},
		"a longer one":                     {linesOf(2023, 3), linesOf(2023, 4), 0},
		"two empty ones":                   {"", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, other := writeFile(t, "one.jsonl", c.first), writeFile(t, "other", c.second)
			var logged strings.Builder
			client := hogapitest.New().Client(t, hogapi.WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
			options := hogapi.ImportOptions{ID: "copies", Rate: hogapi.Unpaced}
			receipt, err := client.Import(t.Context(), hogapi.JSONLinesFile(one, other), &options)
			require.NoError(t, err)
			assert.Equal(t, c.want, receipt.Warnings[warnings.SameContent])
			assert.Equal(t, c.want > 0, strings.Contains(logged.String(), "other begins with the same megabyte as one.jsonl"))
			assert.Equal(t, c.want > 0, strings.Contains(receipt.String(), "warning, same_content: 1"))
			report, err := hogapi.Check(t.Context(), hogapi.JSONLinesFile(one, other), &options)
			require.NoError(t, err)
			assert.Equal(t, c.want, report.Warnings[warnings.SameContent].Count)
			assert.Equal(t, c.want > 0, strings.Contains(report.String(), "other begins with the same megabyte as one.jsonl"))
		})
	}
}
