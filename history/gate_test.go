package history

import (
	"context"
	"encoding/json"
	"flag"
	"hash/maphash"
	"iter"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/internal/wire/wiretest"
	"github.com/hogapi/hogapi/ops"
)

// like is the event of the tests, changed.
func like(changes ...func(*event.Event)) event.Event {
	ev := testEvent()
	for _, change := range changes {
		change(&ev)
	}
	return ev
}

// eventsOf are events with the fields of others.
func eventsOf(list ...wire.Fields) (events []event.Event) {
	for _, f := range list {
		events = append(events, event.Event{
			Name: f.Name, DistinctID: f.DistinctID, Timestamp: f.Timestamp, Properties: f.Properties, RawProperties: f.RawProperties,
			Set: f.Set, SetOnce: f.SetOnce, UUID: f.UUID,
		})
	}
	return events
}

// sourceOf is a source of events at places of their own.
func sourceOf(list ...event.Event) Source {
	return Func("rules", func(context.Context, event.Position) iter.Seq2[event.Event, error] {
		return func(yield func(event.Event, error) bool) {
			for i, ev := range list {
				ev.Position = event.Position{Key: "rules", Offset: int64(i + 1)}
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
}

// Check reports each rule, with the origin of the fault and its remedy. A rule of capture v1 alone is a warning.
func TestCheckReportsEachRule(t *testing.T) {
	t.Parallel()
	for _, rule := range wiretest.Rules {
		want := rule.Want[0]
		if want == (wiretest.Effect{}) {
			continue
		}
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			o := Options{ID: "golden", Gate: hogapi.GateOptions{AllowMergeDangerously: rule.Settings.AllowMergeDangerously}, MaxRejectShare: -1}
			report, err := Check(t.Context(), sourceOf(append([]event.Event{testEvent()}, eventsOf(rule.Hits...)...)...), &o)
			require.NoError(t, err)
			found, line := report.Warnings[want.Warning], "warning, "+string(want.Warning)
			if want.Reason != "" {
				found, line = report.Reasons[want.Reason], "refused, "+string(want.Reason)
			} else {
				assert.Contains(t, report.String(), " ("+want.Warning.Advice()+")")
			}
			assert.EqualValues(t, len(rule.Hits), found.Count)
			assert.EqualValues(t, 2, found.Examples[0].Position.Offset)
			assert.Contains(t, report.String(), line)
		})
	}
}

// An event with several faults is refused for the first, and all are listed: in the error, in the report, in the reject file.
func TestAllFaultsAreListed(t *testing.T) {
	t.Parallel()
	bad := like(func(e *event.Event) {
		e.Name, e.DistinctID, e.Timestamp, e.Properties = "$$heatmap", "null", time.Time{}, nil
		e.RawProperties = json.RawMessage(`{"$groups":7}`)
	})
	bad.Position = event.Position{Offset: 7}
	var ev engine.Event
	ev.Show(&bad)
	_, refusal := newDryRun("golden", wire.Rules{Protocol: event.ProtocolBatch}, maphash.MakeSeed()).Next(&ev)
	require.NotNil(t, refusal)
	assert.Equal(t, event.ReasonDropped, refusal.Reason)
	assert.Equal(t, event.Position{Offset: 7}, refusal.Position)
	require.ErrorIs(t, refusal, hogapi.ErrInvalid)
	require.Len(t, refusal.Also, 2)
	assert.Regexp(t, `^hogapi: event refused: dropped: event "\$\$heatmap": .*; also no_timestamp: timestamp: .*; also bad_special: properties.\$groups: .* \(at 7\)$`, refusal.Error())

	path := filepath.Join(t.TempDir(), "rejects")
	require.NoError(t, RejectFile(path).Reject(t.Context(), event.Reject{Err: refusal}))
	line, err := os.ReadFile(path)
	require.NoError(t, err)
	_, note, err := engine.ReadLine(line)
	require.NoError(t, err)
	also := note.Also
	require.Len(t, also, 2)
	assert.Equal(t, "no_timestamp: timestamp: want the time of the event", also[0])
	assert.Contains(t, also[1], "bad_special: properties.$groups: ")

	report, err := Check(t.Context(), sourceOf(bad), &Options{ID: "golden", MaxRejectShare: -1})
	require.NoError(t, err)
	assert.EqualValues(t, 1, report.Rejected)
	for _, reason := range []event.Reason{event.ReasonDropped, event.ReasonNoTimestamp, event.ReasonBadSpecial} {
		assert.EqualValues(t, 1, report.Reasons[reason].Count, reason)
		assert.Contains(t, report.String(), "refused, "+string(reason)+": 1")
	}
	assert.Len(t, report.Reasons, 3)
}

// The guide has a row for each rule, with the words that reports have for it.
func TestGuideHasEachRule(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/historical-import.md")
	require.NoError(t, err)
	for _, rule := range wiretest.Rules {
		row := regexp.MustCompile(`(?m)^\| `+rule.ID+` \|.*$`).FindAllString(string(guide), -1)
		require.Len(t, row, 1, rule.ID)
		for _, want := range rule.Want {
			for _, word := range []string{string(want.Reason), string(want.Warning)} {
				if word != "" {
					assert.Contains(t, row[0], "`"+word+"`")
				}
			}
		}
	}
	for _, w := range wire.WarningNames() {
		assert.NotEmpty(t, w.Advice(), w)
		assert.True(t, strings.Contains(string(guide), "`"+string(w)+"`"), w) //nolint:testifylint // it would print the guide
	}
}

// G32: Check finds two events of one uuid, and whether they could ever be merged: only with an equal time, in the
// milliseconds in which the service keeps times.
func TestUUIDConflict(t *testing.T) {
	second := like(func(e *event.Event) { e.Properties = map[string]any{"other": true} })
	third := like(func(e *event.Event) { e.Timestamp = e.Timestamp.Add(time.Microsecond) })
	report, err := Check(t.Context(), sourceOf(testEvent(), second, third), &Options{ID: "golden"})
	require.NoError(t, err)
	assert.EqualValues(t, 2, report.DoubleUUIDs.Count)
	assert.Zero(t, report.Warnings[event.WarningUUIDConflict].Count, "of one name, person and time")
	assert.EqualValues(t, 2, report.Warnings[event.WarningUUIDReuse].Count)
	report, err = Check(t.Context(), sourceOf(testEvent(), like(func(e *event.Event) { e.Name = "other" }), like(func(e *event.Event) { e.DistinctID = "bob" }), like(func(e *event.Event) { e.Timestamp = e.Timestamp.Add(time.Millisecond) })), &Options{ID: "golden"})
	require.NoError(t, err)
	assert.EqualValues(t, 3, report.DoubleUUIDs.Count)
	assert.EqualValues(t, 3, report.Warnings[event.WarningUUIDConflict].Count)
	assert.Contains(t, report.String(), "warning, uuid_conflict: 3 (")
}

var update = flag.Bool("update", false, "write golden files again")

var testTime = time.Date(2024, 2, 29, 23, 59, 59, 123456789, time.FixedZone("", 5*3600+1800))

func testEncoder() *wire.Encoder {
	gate := wire.NewGate(wire.Rules{Protocol: event.ProtocolBatch}, wiretest.Clock{})
	return wire.NewEncoder(gate, wire.NewStamps(outgoing.Library, outgoing.Version(), "golden"), maphash.MakeSeed())
}

func testEvent() event.Event {
	return event.Event{Name: "$pageview", DistinctID: "user-1", Timestamp: testTime, UUID: uuid.MustParse("461fc531-6209-5996-b1b1-a8aa997a6516"),
		Properties: map[string]any{"b": 1, "a": "x"}}
}

// goldenEvents are events in every form. Their encoding on the wire must never change.
func goldenEvents() []event.Event {
	return []event.Event{
		testEvent(),
		like(func(e *event.Event) { e.Properties = nil }),
		like(func(e *event.Event) { e.Properties = map[string]any{"distinct_id": "user-1", "$lib": "own"} }),
		like(func(e *event.Event) { e.DistinctID, e.Properties = "", map[string]any{"distinct_id": "only here"} }),
		like(func(e *event.Event) {
			e.DistinctID, e.Properties, e.RawProperties = "", nil, json.RawMessage(`{"distinct_id": 12345678901234567890}`)
		}),
		like(func(e *event.Event) {
			e.Properties, e.RawProperties = nil, json.RawMessage(` { "big": 9007199254740993, "long": 0.1234567890123456789012345678901234567890, "zero": -0.0, "exp": 1E+2, "text": "\u00e9\/" } `)
		}),
		like(func(e *event.Event) {
			e.Properties = map[string]any{"quote": `"\`, "html": "<&>", "line": "\u2028", "control": "\x00\x1f\x7f", "euro": "€ 𝄞"}
		}),
		like(func(e *event.Event) {
			e.Properties = map[string]any{"min": int64(math.MinInt64), "max": uint64(math.MaxUint64), "f": 1e21, "small": 1e-7, "f32": float32(0.1), "n": json.Number("12345678901234567890.5")}
		}),
		like(func(e *event.Event) {
			e.Set, e.SetOnce = map[string]any{"email": "a@example.com"}, map[string]any{"first": true}
		}),
		like(func(e *event.Event) { e.Timestamp = time.Unix(-1, 500_000_000) }),
		like(func(e *event.Event) { e.UUID, e.Position = uuid.Nil, event.Position{Key: "events.jsonl", Offset: 4711} }),
		hogapi.Identify("user-1", testTime, map[string]any{"plan": "pro"}),
		hogapi.GroupIdentify("company", "acme", testTime, nil),
		event.Alias("user-1", "device-9", testTime),
	}
}

// The wire form is the identity of past imports: the same on every run, machine and word size.
func TestGoldenEvents(t *testing.T) {
	encoder, identity := testEncoder(), wire.NewIdentity("golden")
	var got strings.Builder
	for _, ev := range goldenEvents() {
		fields := wire.FieldsOf(&ev)
		out, refusal := encoder.Encode(&fields)
		require.Nil(t, refusal)
		if ev.UUID == uuid.Nil {
			copy(out.Wire[len(`{"uuid":"`):], identity.At(ev.Position, 3).String())
		}
		require.True(t, json.Valid(out.Wire), "%s", out.Wire)
		got.Write(out.Wire)
		got.WriteByte('\n')
	}
	text := strings.ReplaceAll(got.String(), `"`+outgoing.Version()+`"`, `"VERSION"`)
	const file = "testdata/events.golden"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)
}

// If a program changes the events of a file on their way to the import, the gate ignores the notes about the file's text.
func TestNotesOfAWrappedSource(t *testing.T) {
	t.Parallel()
	events := newDryRun("golden", wire.Rules{}, maphash.MakeSeed())
	var ev engine.Event
	lineParser{wire.NewLineParser()}.parseText(&ev, []byte(`{"event":"e","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z","properties":{}}`))
	require.NotNil(t, ev.Noted)
	var changed event.Event
	ev.Public(&changed).RawProperties = json.RawMessage(`{"distinct_id":"bob"}`)
	ev.Show(&changed)
	_, refusal := events.Next(&ev)
	require.NotNil(t, refusal)
	assert.Equal(t, event.ReasonTwoDistinctIDs, refusal.Reason)
}

// The runbook has a row for each reason of a stop and each checkpoint that is refused, and quotes the error texts.
func TestRunbook(t *testing.T) {
	page, err := os.ReadFile("../docs/historical-import.md")
	require.NoError(t, err)
	_, runbook, found := strings.Cut(string(page), "## When it stops")
	require.True(t, found)
	var rows strings.Builder // the first cell of each
	for line := range strings.Lines(runbook) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			rows.WriteString(cells[1])
		}
	}
	first := rows.String()
	public, err := os.ReadFile("../event/stop.go")
	require.NoError(t, err)
	reasons := regexp.MustCompile(`StopReason = "(\w+)"`).FindAllSubmatch(public, -1)
	require.NotEmpty(t, reasons)
	for _, reason := range reasons {
		assert.Contains(t, first, "`"+string(reason[1])+"`")
		assert.Contains(t, (&event.StopError{Reason: event.StopReason(reason[1])}).Error(), "; ", "the error itself says what to do about %s", reason[1])
	}
	assert.Contains(t, first, strings.TrimPrefix(hogapi.ErrHeld.Error(), "hogapi: "))
	for _, raw := range []string{
		`{`,
		`{"version":1}`,
		`{"version":2,"import":"other"}`,
		`{"version":2,"import":"one","source":"other"}`,
	} {
		_, err := engine.ReadSaved([]byte(raw), engine.Of{Import: "one", Target: "target", Source: "file"})
		refusal := as[*ops.InputError](t, err)
		assert.Contains(t, first, "`"+refusal.Field+"`")
	}
}
