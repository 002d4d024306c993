package flows_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// Files added after the others belong to the same import, and earlier ones may be removed. Files added before or
// between them are another import.
func TestImportOfFilesThatBecomeMore(t *testing.T) {
	t.Parallel()
	line := func(day int) string {
		return fmt.Sprintf(`{"event":"e","distinct_id":"p","timestamp":"2024-05-%02dT12:00:00Z"}`+"\n", day)
	}
	plain := history.Format{Name: "plain"}
	plain.Convert = func(record []byte) ([]hogapi.Event, error) {
		var v struct {
			Event     string
			ID        string `json:"distinct_id"`
			Timestamp time.Time
		}
		err := json.Unmarshal(record, &v)
		return []hogapi.Event{{Name: v.Event, DistinctID: v.ID, Timestamp: v.Timestamp}}, err
	}
	for name, files := range map[string]func(...string) history.Source{
		"lines": history.JSONLines, "format": func(paths ...string) history.Source { return history.Files(plain, paths...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var paths []string
			for i := range 12 {
				path := filepath.Join(dir, fmt.Sprintf("%02d.jsonl", i))
				require.NoError(t, os.WriteFile(path, []byte(line(i+1)+line(i+1)), 0o600))
				paths = append(paths, path)
			}
			server := hogapitest.New()
			load := func(paths ...string) (hogapi.Receipt, error) {
				return history.Import(t.Context(), server.Client(t), files(paths...),
					&history.Options{ID: "months", Rate: hogapi.RateUnlimited, Checkpoint: history.CheckpointFile(filepath.Join(dir, "ckpt"))})
			}
			for _, n := range []int{2, 3, 10, 11} { // of many files the name is short
				receipt, err := load(paths[1:n]...)
				require.NoError(t, err)
				assert.EqualValues(t, 2*(n-1), receipt.Acknowledged)
				assert.Equal(t, 2*(n-1), server.Ledger().Unique())
			}
			for _, others := range [][]string{paths[:11], paths[2:11], append(slices.Clone(paths[1:9]), paths[10], paths[9]), paths[1:10]} {
				_, err := load(others...)
				require.Error(t, err)
				assert.Equal(t, "checkpoint: begun with the source", requireInputError(t, err).Field)
			}
			for _, path := range paths[1:10] {
				require.NoError(t, os.Remove(path))
			}
			receipt, err := load(paths[1:]...)
			require.NoError(t, err)
			assert.EqualValues(t, 22, receipt.Acknowledged)
			assert.Equal(t, 22, server.Ledger().Len(), "and each was sent once")
		})
	}
}

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
			options := history.Options{ID: "twice", Checkpoint: history.CheckpointFile(checkpoint)}
			_, err := history.Import(t.Context(), server.Client(t), history.JSONLines(one, between, other), &options)
			assert.Equal(t, "other.jsonl", requireInputError(t, err).Value)
			require.ErrorContains(t, err, `the same file as "events.jsonl"`)
			assert.Zero(t, server.Ledger().Len())
			assert.NoFileExists(t, checkpoint, "and a checkpoint is not made: the next run may name other files")
			_, err = history.Check(t.Context(), history.JSONLines(one, between, other), &options)
			require.ErrorContains(t, err, `the same file as "events.jsonl"`)
		})
	}
}

// A copy may be intended: Import and Check warn of two files that begin with the same 64 KiB of text, in any form.
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
			options := history.Options{ID: "copies", Rate: hogapi.RateUnlimited}
			receipt := imported(t, client, history.JSONLines(one, other), &options)
			assert.Equal(t, c.want, receipt.Warnings[event.WarningSameContent])
			assert.Equal(t, c.want > 0, strings.Contains(logged.String(), "other begins with the same 64 KiB as one.jsonl"))
			assert.Equal(t, c.want > 0, strings.Contains(receipt.String(), "warning, same_content: 1"))
			report, err := history.Check(t.Context(), history.JSONLines(one, other), &options)
			require.NoError(t, err)
			assert.Equal(t, c.want, report.Warnings[event.WarningSameContent].Count)
			assert.Equal(t, c.want > 0, strings.Contains(report.String(), "other begins with the same 64 KiB as one.jsonl"))
		})
	}
}

// A file that is cut or rewritten while it is read is not read to an end that looks good. With the file as it was, the next run resumes.
func TestFileThatChangesWhileItIsRead(t *testing.T) {
	t.Parallel()
	const n, changedAt = 800, 10
	long := strings.NewReplacer(`{"amount"`, `{"note":"`+strings.Repeat("x", 1500)+`","amount"`)
	lines := func(from, to int) string { return long.Replace(payments(from, to)) }
	whole := lines(0, n)
	packed := string(storedMembers(t, lines(0, n/2), lines(n/2, n)))
	firstMember := int64(len(storedMembers(t, lines(0, n/2))))
	half := int64(len(lines(0, n/2)))
	cut := func(size int64) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { assert.NoError(t, os.Truncate(path, size)) }
	}
	rewrite := func(content string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { assert.NoError(t, os.WriteFile(path, []byte(content), 0o600)) }
	}
	const wasCut, wasRewritten = "the file was cut while it was read: it had ", "the file was rewritten while it was read"
	for name, tt := range map[string]struct {
		content string
		change  func(t *testing.T, path string)
		says    string // empty: the import ends well
		events  int
	}{
		"cut after a line":                 {whole, cut(half), wasCut, n / 2},
		"cut within a line":                {whole, cut(half - 20), wasCut, n/2 - 1},
		"cut before a newline":             {whole, cut(half - 1), wasCut, n/2 - 1},
		"emptied":                          {whole, cut(0), wasCut, 0},
		"rewritten, shorter":               {whole, rewrite(lines(0, n/8)), wasCut, 0},
		"rewritten, of the same length":    {whole, rewrite(lines(n, 2*n)), wasRewritten, 0},
		"rewritten, longer":                {whole, rewrite(lines(n, 3*n)), wasRewritten, 0},
		"packed, cut":                      {packed, cut(firstMember + 100), "the gzip file is cut off or damaged", 0},
		"packed, cut after a member":       {packed, cut(firstMember), wasCut, n / 2},
		"packed, emptied":                  {packed, cut(0), "the gzip file is cut off or damaged", 0},
		"grown":                            {whole, rewrite(lines(0, n+100)), "", n + 100},
		"another file takes its name":      {whole, replaceBy(lines(n, 2*n)), "", n},
		"it is removed":                    {whole, func(t *testing.T, path string) { assert.NoError(t, os.Remove(path)) }, "", n},
		"written again with the same text": {whole, rewrite(whole), "", n},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if isAboutItsName := name == "it is removed" || name == "another file takes its name"; isAboutItsName && runtime.GOOS == "windows" {
				return // an open file keeps its name
			}
			require.Greater(t, len(tt.content), 1<<20, "more than is read ahead")
			server := hogapitest.New(hogapitest.WithCompactLedger())
			client := server.Client(t)
			path := writeFile(t, "events.jsonl", tt.content)
			files := history.JSONLines(path)
			changing := history.Map(files, func(ev hogapi.Event) ([]hogapi.Event, error) {
				if ev.Position.Offset == int64(len(lines(0, changedAt))) {
					tt.change(t, path)
				}
				return []hogapi.Event{ev}, nil
			})
			options := history.Options{
				ID: "changing", Checkpoint: history.CheckpointFile(filepath.Join(t.TempDir(), "ckpt")), Rejects: ignoreRejects, MaxRejectShare: -1, VerifyArchiveBytes: -1, Rate: hogapi.RateUnlimited,
			}
			receipt, err := history.Import(t.Context(), client, changing, &options)
			requireBalanced(t, receipt)
			if tt.says == "" {
				require.NoError(t, err)
				assert.EqualValues(t, tt.events, receipt.Acknowledged)
				return
			}
			assert.Equal(t, hogapi.StopSource, stopOf(t, err).Reason)
			require.ErrorContains(t, err, "events.jsonl: ")
			require.ErrorContains(t, err, tt.says)
			if tt.events > 0 {
				assert.EqualValues(t, tt.events, receipt.Acknowledged)
			}
			if strings.HasPrefix(name, "rewritten") || receipt.Acknowledged > n {
				return
			}
			require.NoError(t, os.WriteFile(path, []byte(tt.content), 0o600))
			receipt = imported(t, client, files, &options)
			assert.EqualValues(t, n, receipt.Acknowledged)
			assert.Equal(t, n, server.Ledger().Unique())
		})
	}
}

// replaceBy gives a file's name to another file.
func replaceBy(content string) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		assert.NoError(t, os.WriteFile(path+".new", []byte(content), 0o600))
		assert.NoError(t, os.Rename(path+".new", path))
	}
}
