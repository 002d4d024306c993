package hogbeam_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// A job and an import on one machine send the same events, and say the same of them.
func TestJobSendsWhatAnImportSends(t *testing.T) {
	const events = 5000
	glob := writeEvents(t, events, 3)
	byJob, byImport := newServer(t), newServer(t)
	out, receipt := must(t, optionsFor(t, byJob), fromFiles(glob))
	want, err := byImport.Client(t).Import(t.Context(), hogapi.JSONLinesFile(filesOf(t, glob)...), hogapi.ImportOptions{ID: "shop", Rate: hogapi.Unpaced})
	require.NoError(t, err)

	assert.EqualValues(t, events, receipt.Read)
	assert.Equal(t, want.Digest, receipt.Digest)
	assert.Equal(t, [2]hogapi.Position{want.First, want.Last}, [2]hogapi.Position{receipt.First, receipt.Last})
	assert.Equal(t, want.Days, receipt.Days)
	assert.Equal(t, want.Acknowledged, receipt.Acknowledged)
	assert.True(t, want.Oldest.Equal(receipt.Oldest))
	assert.True(t, want.Newest.Equal(receipt.Newest))
	assert.Equal(t, sent(byImport), sent(byJob))
	assert.Equal(t, events, byJob.Ledger().Unique())

	assert.Empty(t, out.Rejects)
	batched := 0
	for _, b := range out.Batches {
		batched += b.Acknowledged
		assert.False(t, b.Newest.Before(b.Oldest))
	}
	assert.Equal(t, events, batched)
	assert.EqualValues(t, 3, out.counter("files"))
	assert.EqualValues(t, events, out.counter("read"))
	assert.EqualValues(t, events, out.counter("acknowledged"))
	assert.Zero(t, out.counter("rejected"))
	assert.Zero(t, out.counter("resent"))
}

// sent is what a fake holds, by uuid.
func sent(server *hogapitest.Server) map[uuid.UUID]string {
	all := map[uuid.UUID]string{}
	for ev := range server.Ledger().Last() {
		all[ev.UUID] = string(ev.Raw)
	}
	return all
}

// Nearly a third of all requests fail, before or after the events were taken: nothing is lost, nothing differs, nobody's order changes.
func TestJobSurvivesFaults(t *testing.T) {
	events := long(8_000, 100_000)
	server := newServer(t)
	server.Chaos(hogapi.OpCapture, 7, 0.3, hogapitest.Status(503), hogapitest.CutBefore(), hogapitest.CutAfter(), hogapitest.CutBody(0))
	o := optionsFor(t, server)
	o.Delivery.MaxBatchEvents = 100
	glob := writeEvents(t, events, 5)
	out, receipt := must(t, o, fromFiles(glob))
	ledger := server.Ledger()
	assert.EqualValues(t, events, receipt.Acknowledged)
	assert.Equal(t, events, ledger.Unique())
	assert.Empty(t, ledger.Changed(), "duplicates are identical")
	assert.Positive(t, ledger.Duplicates())
	assert.Zero(t, ledger.Inversions(byTime(server)))
	assert.EqualValues(t, receipt.Resent, out.counter("resent"))
	assert.Positive(t, receipt.Resent)
}

func TestTimeThatTheServiceAsksForIsCounted(t *testing.T) {
	server := newServer(t)
	server.Script(hogapi.OpCapture, hogapitest.RateLimit("1"))
	out, receipt := must(t, optionsFor(t, server), fromFiles(writeFile(t, "a.jsonl", `{"event":"a","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z"}`)))
	assert.EqualValues(t, 1, receipt.Resent)
	assert.GreaterOrEqual(t, out.counter("throttled_ms"), int64(900))
}

// byTime is the order in which a person's events shall have been taken.
func byTime(server *hogapitest.Server) []uuid.UUID {
	events := slices.SortedFunc(server.Ledger().Last(), func(a, b hogapitest.StoredEvent) int { return a.Time.Compare(b.Time) })
	ids := make([]uuid.UUID, len(events))
	for i, ev := range events {
		ids[i] = ev.UUID
	}
	return ids
}

// The lanes send side by side, no more of them than there are, each in order and at its part of the pace.
func TestJobKeepsItsPace(t *testing.T) {
	server := newServer(t)
	server.Script(hogapi.OpCapture, hogapitest.Always(hogapitest.SlowAnswer(20*time.Millisecond)))
	o := optionsFor(t, server)
	const lanes, rate = 8, 2000
	o.Lanes, o.Rate = lanes, rate
	events := long(8_000, 60_000)
	_, receipt := must(t, o, fromFiles(writeEvents(t, events, 4)))
	require.EqualValues(t, events, receipt.Acknowledged)
	assert.Zero(t, server.Ledger().Inversions(byTime(server)))
	most := server.MaxInFlight(hogapi.OpCapture)
	assert.LessOrEqual(t, most, lanes)
	assert.Greater(t, most, 1, "lanes of one bundle send at the same time")

	requests := server.Ledger().Requests()
	for i, first := range requests {
		in10s := 0
		for _, r := range requests[i:] {
			if r.At.Sub(first.At) < 10*time.Second {
				in10s += r.Events
			}
		}
		require.LessOrEqual(t, in10s, rate*10*105/100)
	}
	took := requests[len(requests)-1].At.Sub(requests[0].At)
	assert.Greater(t, took.Seconds(), float64(events-rate)/rate/2, "there was a pace at all")
}

// What is refused, by whomever, is an element, and is counted.
func TestRefusedEventsAreAnOutput(t *testing.T) {
	server := newServer(t)
	server.RejectEvents(func(raw json.RawMessage) int {
		var ev struct{ Event string }
		_ = json.Unmarshal(raw, &ev)
		if ev.Event == "poison" {
			return 400
		}
		return 0
	})
	glob := writeFile(t, "a.jsonl",
		`{"event":"good","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z"}`,
		`{"event":"","distinct_id":"ann","timestamp":"2024-05-01T12:30:01Z"}`,
		`no JSON`,
		`{"event":"poison","distinct_id":"ann","timestamp":"2024-05-01T12:30:02Z"}`,
		`{"event":"good","distinct_id":"ann","timestamp":"2024-05-01T12:30:03Z"}`)
	out, receipt := must(t, optionsFor(t, server), fromFiles(glob))
	assert.Equal(t, 2, server.Ledger().Unique())
	assert.Equal(t, [3]int64{5, 2, 3}, [3]int64{receipt.Read, receipt.Acknowledged, receipt.Rejected})
	assert.EqualValues(t, 3, out.counter("rejected"))
	reasons := map[hogapi.Reason]string{}
	for _, r := range out.Rejects {
		reasons[r.Reason] = string(r.Line)
		assert.Equal(t, "a.jsonl", r.Position.Key)
	}
	assert.ElementsMatch(t, []hogapi.Reason{hogapi.ReasonNoName, hogapi.ReasonBadRecord, hogapi.ReasonAnswer400}, slices.Collect(maps.Keys(reasons)))
	assert.Contains(t, reasons[hogapi.ReasonBadRecord], `"raw":"no JSON"`)
	assert.Contains(t, reasons[hogapi.ReasonAnswer400], `"poison"`)
	assert.Contains(t, receipt.Days, hogapi.DayCount{Day: "2024-05-01", Event: "poison", Rejected: 1})

	o := optionsFor(t, server)
	o.FailOnReject = true
	assert.Contains(t, failure(t, o, glob), "rejected_event")
}

// First and last are those of all that is settled: refused by the gate or no event at all, in whatever order of time.
func TestAReceiptBeginsAndEndsWhereTheFileDoes(t *testing.T) {
	good := `{"event":"good","distinct_id":"ann","timestamp":"2024-05-0%dT12:30:00Z"}`
	glob := writeFile(t, "a.jsonl", "no JSON", fmt.Sprintf(good, 3), fmt.Sprintf(good, 1), `{"event":"","distinct_id":"ben","timestamp":"2024-05-01T12:30:01Z"}`,
		fmt.Sprintf(good, 2), "no JSON either")
	_, receipt := must(t, optionsFor(t, newServer(t)), fromFiles(glob))
	want, err := newServer(t).Client(t).Import(t.Context(), hogapi.JSONLinesFile(glob), hogapi.ImportOptions{
		ID: "shop", Rate: hogapi.Unpaced, Rejects: hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { return nil }),
	})
	require.NoError(t, err)
	assert.Equal(t, [2]hogapi.Position{want.First, want.Last}, [2]hogapi.Position{receipt.First, receipt.Last})
	assert.Equal(t, hogapi.Position{Key: "a.jsonl", Offset: 8}, receipt.First)
	assert.Equal(t, [3]int64{want.Read, want.Acknowledged, want.Rejected}, [3]int64{receipt.Read, receipt.Acknowledged, receipt.Rejected})
	assert.Equal(t, want.Days, receipt.Days)
}

// A receipt says of refused events what an import's says, and has the same rejects.
func TestReceiptWithRefusedEventsIsTheImports(t *testing.T) {
	const day = `"timestamp":"2024-05-01T12:30:00Z"`
	glob := writeFile(t, "a.jsonl",
		`{"event":"first","distinct_id":"",`+day+`}`,
		`{"event":"good","distinct_id":"ann",`+day+`}`,
		`{"event":"`+strings.Repeat("x", 201)+`","distinct_id":"ann",`+day+`}`,
		`{"event":"ancient","distinct_id":"ann","timestamp":"0000-05-01T12:30:00Z"}`,
		`{"event":"future","distinct_id":"ann","timestamp":"2924-05-01T12:30:00Z"}`,
		`{"event":"good","distinct_id":"ben","timestamp":"2024-04-30T12:30:00Z"}`,
		`{"event":"","distinct_id":"ann",`+day+`}`,
		`no JSON`)
	out, got := must(t, optionsFor(t, newServer(t)), fromFiles(glob))
	var rejects []string
	want, err := newServer(t).Client(t).Import(t.Context(), hogapi.JSONLinesFile(glob), hogapi.ImportOptions{
		ID: "shop", Rate: hogapi.Unpaced,
		Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
			rejects = append(rejects, r.Position.String()+" "+string(r.Err.Reason))
			return nil
		}),
	})
	require.NoError(t, err)
	require.Len(t, rejects, 6)
	want.Source = "" // a job has no name for it
	want.Warnings, got.Warnings = nil, nil
	assert.Equal(t, want, got)
	for _, r := range out.Rejects {
		assert.Contains(t, rejects, r.Position.String()+" "+string(r.Reason))
	}
	assert.Len(t, out.Rejects, len(rejects))
}

// Events of one position would have one uuid, and the service would keep one of them.
func TestTwoEventsAtOnePositionEndTheJob(t *testing.T) {
	server := newServer(t)
	glob := writeFile(t, "a.jsonl", `{"event":"a","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z"}`, `{"event":"b","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z"}`)
	assert.Contains(t, failureOf(t, jobOrder{Options: optionsFor(t, server), Globs: []string{glob}, OnePosition: true}), "two events have the position rows")
	must(t, optionsFor(t, server), fromFiles(glob))
}

func TestJobWithoutEventsHasAReceipt(t *testing.T) {
	server := newServer(t)
	out, receipt := must(t, optionsFor(t, server), fromFiles(writeFile(t, "empty.jsonl", "")))
	assert.Zero(t, receipt.Read)
	assert.Equal(t, "shop", receipt.ID)
	assert.Empty(t, out.Batches)
	assert.Empty(t, server.Calls())
}
