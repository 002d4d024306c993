package hogapi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

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
			require.Greater(t, len(tt.content), 1<<20, "more than is read ahead")
			server := hogapitest.New(hogapitest.WithCompactLedger())
			client := server.Client(t)
			path := writeFile(t, "events.jsonl", tt.content)
			files := hogapi.JSONLinesFile(path)
			changing := hogapi.MapSource(files, func(ev hogapi.Event) ([]hogapi.Event, error) {
				if ev.Position.Offset == int64(len(lines(0, changedAt))) {
					tt.change(t, path)
				}
				return []hogapi.Event{ev}, nil
			})
			options := hogapi.ImportOptions{
				ID: "changing", Checkpoint: hogapi.FileCheckpoint(filepath.Join(t.TempDir(), "ckpt")), Rejects: ignoreRejects, MaxRejectShare: -1, VerifyGzip: -1, Rate: hogapi.Unpaced,
			}
			receipt, err := client.Import(t.Context(), changing, &options)
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
			receipt, err = client.Import(t.Context(), files, &options)
			require.NoError(t, err)
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
