package hogapi

import (
	"encoding/json"
	"flag"
	"hash/maphash"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/reasons"
)

var update = flag.Bool("update", false, "write golden files again")

var (
	testNow  = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	testTime = time.Date(2024, 2, 29, 23, 59, 59, 123456789, time.FixedZone("", 5*3600+1800))
)

func testEncoder() *wire.Encoder {
	gate := wire.NewGate(GateOptions{}.rules(wire.ProtocolBatch, func() time.Time { return testNow }))
	return wire.NewEncoder(gate, newStamps("golden"), maphash.MakeSeed())
}

func testEvent() Event {
	return Event{Name: "$pageview", DistinctID: "user-1", Timestamp: testTime, UUID: uuid.MustParse("461fc531-6209-5996-b1b1-a8aa997a6516"),
		Properties: map[string]any{"b": 1, "a": "x"}}
}

// goldenEvents are events in every form; what they become on the wire must never change.
func goldenEvents() []Event {
	with := func(change func(*Event)) Event {
		ev := testEvent()
		change(&ev)
		return ev
	}
	return []Event{
		testEvent(),
		with(func(e *Event) { e.Properties = nil }),
		with(func(e *Event) { e.Properties = map[string]any{"distinct_id": "user-1", "$lib": "own"} }),
		with(func(e *Event) { e.DistinctID, e.Properties = "", map[string]any{"distinct_id": "only here"} }),
		with(func(e *Event) {
			e.DistinctID, e.Properties, e.RawProperties = "", nil, json.RawMessage(`{"distinct_id": 12345678901234567890}`)
		}),
		with(func(e *Event) {
			e.Properties, e.RawProperties = nil, json.RawMessage(` { "big": 9007199254740993, "long": 0.1234567890123456789012345678901234567890, "zero": -0.0, "exp": 1E+2, "text": "\u00e9\/" } `)
		}),
		with(func(e *Event) {
			e.Properties = map[string]any{"quote": `"\`, "html": "<&>", "line": "\u2028", "control": "\x00\x1f\x7f", "euro": "€ 𝄞"}
		}),
		with(func(e *Event) {
			e.Properties = map[string]any{"min": int64(math.MinInt64), "max": uint64(math.MaxUint64), "f": 1e21, "small": 1e-7, "f32": float32(0.1), "n": json.Number("12345678901234567890.5")}
		}),
		with(func(e *Event) {
			e.Set, e.SetOnce = map[string]any{"email": "a@example.com"}, map[string]any{"first": true}
		}),
		with(func(e *Event) { e.Timestamp = time.Unix(-1, 500_000_000) }),
		with(func(e *Event) { e.UUID, e.Position = uuid.Nil, Position{Key: "events.jsonl", Offset: 4711} }),
		Identify("user-1", testTime, map[string]any{"plan": "pro"}),
		GroupIdentify("company", "acme", testTime, nil),
		Alias("user-1", "device-9", testTime),
	}
}

// The wire form is the identity of past imports: the same on every run, machine and word size.
func TestGoldenEvents(t *testing.T) {
	encoder, identity := testEncoder(), wire.NewIdentity("golden", 0)
	var got strings.Builder
	for _, ev := range goldenEvents() {
		fields := ev.fields()
		out, refusal := encoder.Encode(&fields)
		require.Nil(t, refusal)
		if ev.UUID == uuid.Nil {
			copy(out.Wire[len(`{"uuid":"`):], identity.At(wire.Origin(ev.Position), 3).String())
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

// A program that changes the events of a file on their way to the import is not believed for what the file said.
func TestNotesOfAWrappedSource(t *testing.T) {
	t.Parallel()
	events := newRehearsal("golden", GateOptions{}, ProtocolAuto, SourceFunc("wrapped", nil), maphash.MakeSeed())
	ev := newLineParser().eventOf([]byte(`{"event":"e","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z","properties":{}}`))
	require.NotNil(t, ev.noted)
	ev.RawProperties = json.RawMessage(`{"distinct_id":"bob"}`)
	_, _, refusal := events.next(&ev)
	require.NotNil(t, refusal)
	assert.Equal(t, reasons.TwoDistinctIDs, refusal.Reason)
}
