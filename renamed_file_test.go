package hogapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// A file that is renamed or removed while it is read is read to its end, and its bad lines are named by their numbers, also in a run
// that began in its middle.
func TestFileThatIsRenamed(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(path string) error{
		"renamed":  func(path string) error { return os.Rename(path, path+".done") },
		"removed":  os.Remove,
		"replaced": func(path string) error { return os.Rename(writeFile(t, "another", linesOf(2024, 500)), path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, checkpoint := filepath.Join(t.TempDir(), "events.jsonl"), checkpointOnly(t)
			server := hogapitest.New()
			var where []string
			run := func(content string) (hogapi.Receipt, error) {
				require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
				return server.Client(t).Import(t.Context(), hogapi.JSONLinesFile(path), &hogapi.ImportOptions{
					ID: "renamed", MaxRejectShare: -1, Checkpoint: checkpoint, Delivery: hogapi.DeliveryOptions{MaxInFlight: 5},
					Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
						where = append(where, r.Where)
						return nil
					}),
				})
			}
			_, err := run(linesOf(2023, 50))
			require.NoError(t, err)
			server.RejectEvents(func(json.RawMessage) int {
				if _, err := os.Stat(path + ".moved"); err != nil { // once
					assert.NoError(t, os.WriteFile(path+".moved", nil, 0o600))
					assert.NoError(t, move(path))
				}
				return 0
			})
			later := linesOf(2023, 200)[len(linesOf(2023, 100)):] // the bad lines come after the rename
			receipt, err := run(linesOf(2023, 100) + strings.ReplaceAll(later, "\n", "\n\nbad\n"))
			require.NoError(t, err)
			assert.EqualValues(t, 200, receipt.Acknowledged)
			require.Len(t, where, 100)
			for i, w := range where {
				assert.Equal(t, fmt.Sprintf("events.jsonl:%d", 100+3*i+3), w)
			}

			// The checkpoint continues in no other file that is put under the name later.
			require.NoError(t, os.WriteFile(path, []byte(linesOf(2025, 900)), 0o600))
			_, err = server.Client(t).Import(t.Context(), hogapi.JSONLinesFile(path), &hogapi.ImportOptions{ID: "renamed", Checkpoint: checkpoint, Rejects: ignoreRejects})
			assert.Equal(t, "checkpoint: begun with the source", requireInputError(t, err).Field)
			assert.Equal(t, 200, server.Ledger().Unique())
		})
	}
}

// A last line that is still being written ends the run with an error that says so. It is no reject: once it is complete, the next run
// takes it.
func TestLastLineThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	whole := linesOf(2023, 30)
	for _, cut := range []int{1, 10, 40, 60} { // bytes that are missing
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			t.Parallel()
			path, checkpoint := filepath.Join(t.TempDir(), "events.jsonl"), checkpointOnly(t)
			rejects := filepath.Join(t.TempDir(), "rejects.jsonl")
			server := hogapitest.New()
			run := func(content string) (hogapi.Receipt, error) {
				require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
				return server.Client(t).Import(t.Context(), hogapi.JSONLinesFile(path), &hogapi.ImportOptions{ID: "growing", Checkpoint: checkpoint, Rejects: hogapi.RejectFile(rejects)})
			}
			for range 2 { // however often
				_, err := run(strings.TrimSuffix(whole, "\n")[:len(whole)-1-cut])
				require.ErrorContains(t, err, "the last line (events.jsonl:30) is not finished")
				var stop *hogapi.StopError
				require.ErrorAs(t, err, &stop)
				assert.Equal(t, hogapi.StopSource, stop.Reason)
			}
			receipt, err := run(whole + linesOf(2024, 3))
			require.NoError(t, err)
			assert.EqualValues(t, 33, receipt.Acknowledged)
			assert.Zero(t, receipt.Rejected)
			assert.Equal(t, 33, server.Ledger().Unique())
			content, err := os.ReadFile(rejects)
			require.NoError(t, err)
			assert.Empty(t, content)
		})
	}
}
