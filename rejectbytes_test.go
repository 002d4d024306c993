package hogapi_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/durable/simdisk"
	"github.com/hogapi/hogapi/ops"
)

// Each reject holds the bytes of its own line, although the reader's buffer has been filled with others long before it is settled.
func TestRejectsHoldTheirOwnLine(t *testing.T) {
	t.Parallel()
	const n = 12_000
	random := rand.New(rand.NewPCG(1, 2))
	var content strings.Builder
	var bad []string
	for i := range n {
		if i%3 > 0 {
			line := fmt.Sprintf(`{"bad line":%d,%q}`, i, strings.Repeat("x", random.IntN(200)))
			bad = append(bad, line)
			content.WriteString(line + "\n")
			continue
		}
		fmt.Fprintf(&content, `{"event":"e","distinct_id":"p","timestamp":"1998-01-01T00:00:00Z","properties":{"n":%d}}`+"\n", i)
	}
	path := writeFile(t, "e.jsonl", content.String())
	for name, source := range map[string]hogapi.Source{
		"a file":        hogapi.JSONLinesFile(path),
		"a mapped file": hogapi.MapSource(hogapi.JSONLinesFile(path), unchanged),
		"a gzip file":   hogapi.JSONLinesFile(writeFile(t, "e.jsonl", zipped(content.String()))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New(hogapitest.WithCompactLedger())
			server.Script(ops.Capture, hogapitest.Slow(300*time.Millisecond)) // all is read by then
			var got []string
			receipt, err := server.Client(t).Import(t.Context(), source, &hogapi.ImportOptions{
				ID: "raw", Rate: hogapi.Unpaced, MaxRejectShare: -1, Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
					got = append(got, string(r.Raw))
					return nil
				}),
			})
			require.NoError(t, err)
			assert.EqualValues(t, len(bad), receipt.Rejected)
			require.Equal(t, bad, got)
		})
	}
}

// A mapping that fails on a line leaves the line itself in the reject.
func TestRejectsOfAMappingHoldTheirOwnLine(t *testing.T) {
	t.Parallel()
	const n = 10_000
	var content strings.Builder
	var lines []string
	for i := range n {
		line := fmt.Sprintf(`{"event":"e","distinct_id":"p","timestamp":"1998-01-01T00:00:00Z","properties":{"n":%d,"x":%q}}`, i, strings.Repeat("x", i%100))
		lines = append(lines, line)
		content.WriteString(line + "\n")
	}
	for name, mapping := range map[string]func(hogapi.Event) ([]hogapi.Event, error){
		"fails":            func(hogapi.Event) ([]hogapi.Event, error) { return nil, errors.New("no") },
		"makes a bad name": func(ev hogapi.Event) ([]hogapi.Event, error) { ev.Name = ""; return []hogapi.Event{ev}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			source := hogapi.MapSource(hogapi.JSONLinesFile(writeFile(t, "e.jsonl", content.String())), mapping)
			_, err := hogapitest.New().Client(t).Import(t.Context(), source, &hogapi.ImportOptions{
				ID: "raw", Rate: hogapi.Unpaced, MaxRejectShare: -1, Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
					got = append(got, string(r.Raw))
					return nil
				}),
			})
			require.NoError(t, err)
			require.Equal(t, lines, got)
		})
	}
}

// A handler around a reject file fails with the file, at whichever operation: a reject that may be lost is not settled.
func TestWrappedRejectFileThatFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("input/output error")
	source := eventsOf(numberedEvent(1), hogapi.BadEvent(hogapi.Position{}, []byte("bad"), errors.New("line 2")))
	operations := 0
	for n := 1; n < 20; n++ {
		disk := new(simdisk.Disk)
		disk.FailAt(n, broken)
		file := hogapi.RejectFileOn(disk, "rejects")
		checkpoint := &memoryCheckpoint{}
		receipt, err := hogapitest.New().Client(t).Import(t.Context(), source, &hogapi.ImportOptions{
			ID: "wrapped", Checkpoint: checkpoint, Rejects: hogapi.RejectFunc(func(ctx context.Context, r hogapi.Reject) error { return file.Reject(ctx, r) }),
		})
		if err == nil {
			break
		}
		operations++
		require.ErrorIs(t, err, broken, "operation %d", n)
		stop, isStop := errors.AsType[*hogapi.StopError](err)
		require.True(t, isStop)
		assert.Equal(t, hogapi.StopHandler, stop.Reason)
		assert.Zero(t, receipt.Rejected, "operation %d", n)
		assert.Zero(t, savedReceipt(t, checkpoint.State).Rejected, "operation %d", n)
	}
	assert.Equal(t, 4, operations, "creation, sync of the folder, write, sync")
}
