package flows_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// Rejects that have no name, no time or neither stand in a row of the receipt, and each reason has its count.
func TestReceiptHasARowForEachReject(t *testing.T) {
	t.Parallel()
	source := eventsOf(
		numberedEvent(1),
		hogapi.Event{DistinctID: "ann", Timestamp: longAgo},
		hogapi.Event{Name: "signup", DistinctID: "ann"},
		hogapi.Event{Name: "signup", DistinctID: "ann"},
		event.Bad(hogapi.Position{}, []byte("bad"), errors.New("no JSON")),
		hogapi.Event{Name: "poison", DistinctID: "ann", Timestamp: longAgo},
		event.Skip(hogapi.Position{}, "internal user"),
		event.Skip(hogapi.Position{}, "internal user"),
		event.Skip(hogapi.Position{}, ""),
	)
	server := hogapitest.New()
	testevents.RefusePoison(server)
	checkpoint := &memoryCheckpoint{}
	options := history.Options{ID: "rows", MaxRejectShare: -1, Checkpoint: checkpoint, Rejects: ignoreRejects}
	for range 2 { // the second run counts nothing again
		receipt := imported(t, server.Client(t), source, &options)
		requireBalanced(t, receipt)
		require.Len(t, receipt.Days, 5)
		assert.Equal(t, []event.DayCount{
			{Day: "", Event: "", Rejected: 1}, {Day: "", Event: "signup", Rejected: 2},
			{Day: "1998-01-01", Event: "", Rejected: 1}, {Day: "1998-01-01", Event: "order placed", Acknowledged: 1, Digest: receipt.Days[3].Digest}, {Day: "1998-01-01", Event: "poison", Rejected: 1},
		}, receipt.Days)
		assert.Equal(t, map[hogapi.Reason]int64{
			event.ReasonBadRecord: 1, event.ReasonNoName: 1, event.ReasonNoTimestamp: 2, event.ReasonAnswer400: 1,
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
	receipt := imported(t, hogapitest.New(hogapitest.WithCompactLedger()).Client(t), source, &history.Options{ID: "rolled", Rate: hogapi.RateUnlimited, Checkpoint: checkpoint})
	requireBalanced(t, receipt)
	assert.Less(t, len(receipt.Days), 400)
	assert.Equal(t, event.DayCount{Day: "1960-02", Event: "order placed", Acknowledged: 29, Digest: receipt.Days[1].Digest}, receipt.Days[1])
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

// Texts of events, positions and reasons cannot forge lines in printed output: the receipt, the report of a check, errors, progress.
func TestPrintedTextsAreTame(t *testing.T) {
	for _, text := range hostileTexts {
		synctest.Test(t, func(t *testing.T) {
			good, bad := numberedEvent(1), numberedEvent(2)
			good.Name = text
			bad.Timestamp, bad.DistinctID = time.Time{}, text
			source := func() history.Source {
				return altered(eventsOf(good, bad, event.Skip(hogapi.Position{}, text),
					event.Bad(hogapi.Position{}, []byte(text), error(&event.Error{Reason: hogapi.Reason(text), Field: text, Value: text, Want: text}))),
					func(ev *hogapi.Event) { ev.Position.Key, ev.UUID = text, uuid.Nil })
			}
			var progress []string
			options := history.Options{ID: "tame", MaxRejectShare: -1, Rejects: ignoreRejects, OnProgress: func(s hogapi.Stats) { progress = append(progress, s.String()) }}
			server := hogapitest.New()
			receipt := imported(t, server.Client(t), source(), &options)
			requireTame(t, receipt.String(), 2+3+3) // the head, names, reasons
			for _, line := range progress {
				requireTame(t, line, 0)
			}
			report, err := history.Check(t.Context(), source(), &options)
			require.NoError(t, err)
			requireTame(t, report.String(), strings.Count(report.String(), "\n"))
			assert.NotContains(t, report.String(), "\nforged")
			assert.NotContains(t, report.String(), "\nrejected, forged")

			options.Rejects = hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
				requireTame(t, r.Err.Error(), 0)
				return r.Err
			})
			_, err = history.Import(t.Context(), server.Client(t), source(), &options)
			require.Error(t, err)
			requireTame(t, err.Error(), 0)
			server.Script(ops.Capture, hogapitest.Always(hogapitest.Status(401)))
			_, err = history.Import(t.Context(), server.Client(t), source(), &history.Options{ID: "tame", Rejects: ignoreRejects})
			require.ErrorAs(t, err, new(*event.UnsettledError))
			requireTame(t, err.Error(), 0)
		})
	}
}

// Over all runs, the receipt names each event that has the uuid of another event. It does not name an event that is given again.
func TestReceiptNamesSharedUUIDs(t *testing.T) {
	t.Parallel()
	line := func(uuid int, name, props string) string {
		return fmt.Sprintf(`{"uuid":"00000000-0000-4000-8000-%012d","event":%q,"distinct_id":"ann","timestamp":"1998-01-01T00:00:00Z","properties":{%s}}`+"\n", uuid, name, props)
	}
	content := line(1, "a", "") + line(1, "a", "") + line(2, "a", "") + line(2, "b", "") + line(3, "a", `"n":1`) + line(3, "a", `"n":2`) + line(4, "a", "")
	path := writeFile(t, "e.jsonl", content)
	for _, protocol := range []hogapi.Protocol{hogapi.ProtocolBatch, hogapi.ProtocolV1} {
		server, checkpoint := hogapitest.New(), &memoryCheckpoint{}
		options := history.Options{ID: "shared", Checkpoint: checkpoint, Delivery: hogapi.DeliveryOptions{Protocol: protocol}}
		for range 2 {
			receipt := imported(t, server.Client(t), history.JSONLines(path), &options)
			assert.EqualValues(t, 7, receipt.Acknowledged)
			assert.Equal(t, map[hogapi.Warning]int64{event.WarningUUIDConflict: 1, event.WarningUUIDReuse: 1}, receipt.Warnings)
			assert.Equal(t, []event.Example{
				{Position: hogapi.Position{Key: "e.jsonl", Offset: int64(strings.Index(content, line(3, "a", `"n":1`)))}, Text: "00000000-0000-4000-8000-000000000002"},
				{Position: hogapi.Position{Key: "e.jsonl", Offset: int64(strings.Index(content, line(4, "a", "")))}, Text: "00000000-0000-4000-8000-000000000003"},
			}, receipt.SharedUUIDs)
			assert.Contains(t, receipt.String(), "\n  a uuid of two events: 00000000-0000-4000-8000-000000000002 at e.jsonl@")
		}
	}
}

// ask sends a query to the project and returns its rows.
func ask(t *testing.T, client *hogapi.Client, query any) [][]any {
	t.Helper()
	var answer struct {
		Results  [][]any
		IsCached bool `json:"is_cached"`
		Error    any
	}
	body := map[string]any{"query": query, "refresh": "force_blocking"} // servers of before September 2025 refuse a name
	require.NoError(t, client.Do(t.Context(), hogapi.Request{Method: http.MethodPost, Path: "/query/", Replay: hogapi.ReplaySafe, Body: body}, &answer))
	require.False(t, answer.IsCached)
	require.Nil(t, answer.Error)
	return answer.Results
}

// byHand is a query as a person would put it into the SQL editor.
func byHand(q history.Query) any { return map[string]any{"kind": "HogQLQuery", "query": q.String()} }

// Servers of all ages take each query of a receipt, and count this import's events only, and one that was sent twice once.
func TestReceiptQueries(t *testing.T) {
	t.Parallel()
	const n, id = 90, `it's{start_at}'--`
	source := altered(numbered(n), func(ev *hogapi.Event) {
		i := int(ev.Position.Offset)
		ev.Timestamp = time.Date(2023, 11, 28, 22, 30, 0, 0, time.FixedZone("", -2*3600)).Add(time.Duration(i) * 19 * time.Hour)
		ev.Name = []string{"signup", "it's {one_event}"}[i%2]
	})
	for _, era := range []hogapitest.Era{hogapitest.E1, hogapitest.E4} {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New(hogapitest.WithEra(era))
			client := server.Client(t)
			var receipt hogapi.Receipt
			for _, name := range []string{"another", id, id} {
				receipt = imported(t, client, altered(source, func(ev *hogapi.Event) { ev.UUID, ev.Position.Key = uuid.Nil, "n" }), &history.Options{ID: name, Rate: hogapi.RateUnlimited})
			}
			require.Equal(t, 3*n, server.Ledger().Len())

			queries := history.CountQueries(receipt)
			require.Len(t, queries, 4, "a query for each month from November to February")
			for _, form := range []func(history.Query) any{func(q history.Query) any { return q }, byHand} {
				var days []event.DayCount
				for _, query := range queries {
					for _, row := range ask(t, client, form(query)) {
						require.Len(t, row, 4)
						assert.EqualValues(t, 2*row[3].(float64), row[2], "copies")
						days = append(days, event.DayCount{Day: row[0].(string), Event: row[1].(string), Acknowledged: int64(row[3].(float64))})
					}
				}
				for i := range days {
					days[i].Digest = receipt.Days[i].Digest // Verify asks for it
				}
				assert.Equal(t, receipt.Days, days)
				total := ask(t, client, form(history.TotalQuery(receipt)))
				assert.Equal(t, [][]any{{2.0 * n, 1.0 * n, receipt.Oldest.Format(time.RFC3339), receipt.Newest.Format(time.RFC3339)}}, total)
			}

			wanted := map[string]bool{}
			for ev := range server.Ledger().Last() {
				if regexp.MustCompile(`it's`).Match(ev.Properties) { // the job id
					wanted[ev.UUID.String()] = true
				}
			}
			require.Len(t, wanted, n)
			for _, row := range receipt.Days {
				ids := ask(t, client, history.UUIDQuery(receipt, row, ""))
				require.Len(t, ids, int(row.Acknowledged))
				for i, id := range ids {
					assert.True(t, wanted[id[0].(string)])
					delete(wanted, id[0].(string))
					assert.Len(t, ask(t, client, history.UUIDQuery(receipt, row, id[0].(string))), len(ids)-1-i, "those after it")
				}
			}
			assert.Empty(t, wanted)
		})
	}
}

// Without an acknowledged event there is nothing to count.
func TestQueriesOfNothing(t *testing.T) {
	t.Parallel()
	for _, receipt := range []hogapi.Receipt{{ID: "x"}, {ID: "x", Read: 5, Rejected: 5}, {ID: "x", Read: 5, Pending: 5}} {
		assert.Empty(t, history.CountQueries(receipt))
		assert.Equal(t, history.Query{}, history.TotalQuery(receipt))
		assert.NotContains(t, receipt.String(), "0001")
	}
}

// The query of the guide finds the events that the service never merges.
func TestQueryOfTheGuide(t *testing.T) {
	t.Parallel()
	guide := readFile(t, "../../docs/historical-import.md")
	found := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllSubmatch(guide, -1)
	require.Len(t, found, 1)
	_, client := fake(t)
	for _, name := range []string{"right", "wrong"} {
		source := altered(numbered(3), func(ev *hogapi.Event) {
			ev.Timestamp = time.Date(2024, 3, 5, 0, 0, 0, 0, time.UTC)
			if ev.Position.Offset == 2 {
				ev.Name = name
			}
		})
		imported(t, client, source, &history.Options{ID: "mixpanel-2024"})
	}
	rows := ask(t, client, map[string]any{"kind": "HogQLQuery", "query": string(found[0][1])})
	assert.Equal(t, [][]any{{fmt.Sprint(numberedUUID(2)), 2.0}}, rows)
}

// The row of all further names stands for many names, so no query can list its events; and the events of such an import are counted.
func TestQueriesOfTheOtherRow(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	receipt := hogapi.Receipt{
		ID: "names", Acknowledged: 51, Oldest: at, Newest: at.AddDate(0, 1, 0),
		Days: []event.DayCount{{Day: "other", Event: "other", Acknowledged: 51}},
	}
	assert.Zero(t, history.UUIDQuery(receipt, receipt.Days[0], ""))
	assert.Len(t, history.CountQueries(receipt), 2)
	assert.NotZero(t, history.UUIDQuery(receipt, event.DayCount{Event: "other"}, ""), "an event of that name")
}
