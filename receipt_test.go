package hogapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
	"github.com/hogapi/hogapi/reasons"
	"github.com/hogapi/hogapi/warnings"
)

// Rejects that have no name, no time or neither stand in a row of the receipt, and each reason has its count.
func TestReceiptHasARowForEachReject(t *testing.T) {
	t.Parallel()
	at := longAgo
	source := eventsOf(
		numberedEvent(1),
		hogapi.Event{DistinctID: "ann", Timestamp: at},
		hogapi.Event{Name: "signup", DistinctID: "ann"},
		hogapi.Event{Name: "signup", DistinctID: "ann"},
		hogapi.BadEvent(hogapi.Position{}, []byte("bad"), errors.New("no JSON")),
		hogapi.Event{Name: "poison", DistinctID: "ann", Timestamp: at},
		hogapi.SkippedEvent(hogapi.Position{}, "internal user"),
		hogapi.SkippedEvent(hogapi.Position{}, "internal user"),
		hogapi.SkippedEvent(hogapi.Position{}, ""),
	)
	server := hogapitest.New()
	testevents.RefusePoison(server)
	checkpoint := &memoryCheckpoint{}
	options := hogapi.ImportOptions{ID: "rows", MaxRejectShare: -1, Checkpoint: checkpoint, Rejects: ignoreRejects}
	for range 2 { // the second run counts nothing again
		receipt, err := server.Client(t).Import(t.Context(), source, &options)
		require.NoError(t, err)
		requireBalanced(t, receipt)
		require.Len(t, receipt.Days, 5)
		assert.Equal(t, []hogapi.DayCount{
			{Day: "", Event: "", Rejected: 1}, {Day: "", Event: "signup", Rejected: 2},
			{Day: "1998-01-01", Event: "", Rejected: 1}, {Day: "1998-01-01", Event: "order placed", Acknowledged: 1, Digest: receipt.Days[3].Digest}, {Day: "1998-01-01", Event: "poison", Rejected: 1},
		}, receipt.Days)
		assert.Equal(t, map[hogapi.Reason]int64{
			reasons.BadRecord: 1, reasons.NoName: 1, reasons.NoTimestamp: 2, reasons.Answer400: 1,
		}, receipt.Rejects)
		assert.Equal(t, map[string]int64{"internal user": 2, "no reason given": 1}, receipt.Skips)
		for _, want := range []string{
			"read 9 = acknowledged 1 + rejected 5 + skipped 3 + pending 0", "\n  (none) ", "\n  rejected, no_timestamp: 2", "\n  skipped, internal user: 2",
		} {
			assert.Contains(t, receipt.String(), want)
		}
	}
}

// A receipt of more days and names than a table has rows for counts by month, and loses no event.
func TestReceiptRollsUp(t *testing.T) {
	t.Parallel()
	const n = 10_500
	source := altered(numbered(n), func(ev *hogapi.Event) {
		ev.Timestamp = time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(ev.Position.Offset))
	})
	checkpoint := &memoryCheckpoint{}
	receipt, err := hogapitest.New(hogapitest.WithCompactLedger()).Client(t).Import(t.Context(), source, &hogapi.ImportOptions{ID: "rolled", Rate: hogapi.Unpaced, Checkpoint: checkpoint})
	require.NoError(t, err)
	requireBalanced(t, receipt)
	assert.Less(t, len(receipt.Days), 400)
	assert.Equal(t, hogapi.DayCount{Day: "1960-02", Event: "order placed", Acknowledged: 29, Digest: receipt.Days[1].Digest}, receipt.Days[1])
	assert.True(t, strings.HasPrefix(receipt.Days[1].Digest, "29-"))
	assert.Less(t, len(checkpoint.State), 50_000)
	assert.Equal(t, receipt.Days, savedReceipt(t, checkpoint.State).Days)
}

// hostileTexts would begin a line of their own, or command the terminal.
var hostileTexts = []string{
	"a\nrejected, forged: 1", "a\r\x1b[2Kforged", "\x1b]0;title\x07", "a\u0085forged", "a\u2028forged", "a\u2029forged", "\u009b31mred", "a\u202etxet", "a\x00b", "a\x7f", "tab\tname",
}

// requireTame demands that a text has just the lines that it should have, and nothing that a terminal obeys.
func requireTame(t *testing.T, text string, lines int) {
	t.Helper()
	require.Equal(t, lines, strings.Count(text, "\n"), "%q", text)
	for _, r := range strings.ReplaceAll(text, "\n", "") {
		require.False(t, r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\u202e', "%q", text)
	}
}

// What events, positions and reasons say cannot forge lines of what is printed: the receipt, the report of a check, errors, progress.
func TestPrintedTextsAreTame(t *testing.T) {
	for _, text := range hostileTexts {
		synctest.Test(t, func(t *testing.T) {
			good, bad := numberedEvent(1), numberedEvent(2)
			good.Name = text
			bad.Timestamp, bad.DistinctID = time.Time{}, text
			key := func(i int64) hogapi.Position { return hogapi.Position{Key: text, Offset: i} }
			source := func() hogapi.Source {
				return pushed(key, good, bad, hogapi.SkippedEvent(hogapi.Position{}, text),
					hogapi.BadEvent(hogapi.Position{}, []byte(text), error(&hogapi.EventError{Reason: hogapi.Reason(text), Field: text, Value: text, Want: text})))
			}
			var progress []string
			options := hogapi.ImportOptions{ID: "tame", MaxRejectShare: -1, Rejects: ignoreRejects, OnProgress: func(s hogapi.Stats) { progress = append(progress, s.String()) }}
			server := hogapitest.New()
			receipt, err := server.Client(t).Import(t.Context(), source(), &options)
			require.NoError(t, err)
			requireTame(t, receipt.String(), 2+3+3) // the head, names, reasons
			for _, line := range progress {
				requireTame(t, line, 0)
			}
			report, err := hogapi.Check(t.Context(), source(), &options)
			require.NoError(t, err)
			requireTame(t, report.String(), strings.Count(report.String(), "\n"))
			assert.NotContains(t, report.String(), "\nforged")
			assert.NotContains(t, report.String(), "\nrejected, forged")

			options.Rejects = hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
				requireTame(t, r.Err.Error(), 0)
				return r.Err
			})
			_, err = server.Client(t).Import(t.Context(), source(), &options)
			require.Error(t, err)
			requireTame(t, err.Error(), 0)
			server.Script(ops.Capture, hogapitest.Always(hogapitest.Status(401)))
			_, err = server.Client(t).Import(t.Context(), source(), &hogapi.ImportOptions{ID: "tame", Rejects: ignoreRejects})
			require.ErrorAs(t, err, new(*hogapi.UnsettledError))
			requireTame(t, err.Error(), 0)
		})
	}
}

// pushed is a source of events at places of its own.
func pushed(at func(i int64) hogapi.Position, events ...hogapi.Event) hogapi.Source {
	return hogapi.SourceFunc("pushed", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for i, ev := range events {
				ev.Position, ev.UUID = at(int64(i)+1), uuid.Nil
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
}

// A file name is text of somebody else too.
func TestPrintedFileNamesAreTame(t *testing.T) {
	t.Parallel()
	for _, text := range hostileTexts {
		if strings.ContainsAny(text, "\x00") {
			continue
		}
		path := writeFile(t, strings.ReplaceAll(text, "/", "-"), goodRecord+"\nbad\n"+goodRecord[:20])
		receipt, err := hogapitest.New().Client(t).Import(t.Context(), hogapi.JSONLinesFile(path), &hogapi.ImportOptions{ID: "tame", MaxRejectShare: -1, Rejects: ignoreRejects})
		require.Error(t, err, "the last line is not finished")
		requireTame(t, err.Error(), strings.Count(err.Error(), "\nhogapi: "))
		requireTame(t, receipt.String(), 3)
		report, err := hogapi.Check(t.Context(), hogapi.JSONLinesFile(path), &hogapi.ImportOptions{ID: "tame"})
		require.Error(t, err)
		requireTame(t, err.Error(), 0)
		requireTame(t, report.String(), strings.Count(report.String(), "\n"))
		raw, err := json.Marshal(receipt)
		require.NoError(t, err)
		assert.NotContains(t, string(raw), "\x1b")
	}
}

// The receipt names events whose uuid another event has, over all runs, and says nothing of one that is given again.
func TestReceiptNamesSharedUUIDs(t *testing.T) {
	t.Parallel()
	line := func(uuid int, name, props string) string {
		return fmt.Sprintf(`{"uuid":"00000000-0000-4000-8000-%012d","event":%q,"distinct_id":"ann","timestamp":"1998-01-01T00:00:00Z","properties":{%s}}`+"\n", uuid, name, props)
	}
	content := line(1, "a", "") + line(1, "a", "") + line(2, "a", "") + line(2, "b", "") + line(3, "a", `"n":1`) + line(3, "a", `"n":2`) + line(4, "a", "")
	path := writeFile(t, "e.jsonl", content)
	for _, protocol := range []hogapi.Protocol{hogapi.ProtocolBatch, hogapi.ProtocolV1} {
		server, checkpoint := hogapitest.New(), &memoryCheckpoint{}
		options := hogapi.ImportOptions{ID: "shared", Checkpoint: checkpoint, Delivery: hogapi.DeliveryOptions{Protocol: protocol}}
		for range 2 {
			receipt, err := server.Client(t).Import(t.Context(), hogapi.JSONLinesFile(path), &options)
			require.NoError(t, err)
			assert.EqualValues(t, 7, receipt.Acknowledged)
			assert.Equal(t, map[hogapi.Warning]int64{warnings.UUIDConflict: 1, warnings.UUIDReuse: 1}, receipt.Warnings)
			assert.Equal(t, []hogapi.CheckExample{
				{Position: hogapi.Position{Key: "e.jsonl", Offset: int64(strings.Index(content, line(3, "a", `"n":1`)))}, Text: "00000000-0000-4000-8000-000000000002"},
				{Position: hogapi.Position{Key: "e.jsonl", Offset: int64(strings.Index(content, line(4, "a", "")))}, Text: "00000000-0000-4000-8000-000000000003"},
			}, receipt.SharedUUIDs)
			assert.Contains(t, receipt.String(), "\n  a uuid of two events: 00000000-0000-4000-8000-000000000002 at e.jsonl@")
		}
	}
}
