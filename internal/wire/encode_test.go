package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/internal/wire/wiretest"
)

// testEncoder encodes for /batch/.
func testEncoder(rules wire.Rules) *wire.Encoder {
	rules.Protocol = event.ProtocolBatch
	return wiretest.Encoder(rules)
}

// rejectless is a parser that refuses lines of a reject file.
type rejectless struct{ *wire.LineParser }

func newParser() rejectless { return rejectless{wire.NewLineParser()} }

func (p rejectless) Parse(text []byte) (*wire.Fields, error) {
	f, err := p.LineParser.Parse(text)
	if note, _ := p.Reject(); note != nil {
		err = errors.New("a reject")
	}
	return f, err
}

// A method that jsonb kept would be an allocation for each event.
func TestEncodingAllocatesNothing(t *testing.T) {
	line := []byte(`{"event":"e","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z","properties":{"$lib":"web","$groups":{"company":"x"},"a":1}}`)
	own := wiretest.Event()
	for _, protocol := range []event.Protocol{event.ProtocolV1, event.ProtocolBatch} {
		encoder, parser := wiretest.Encoder(wire.Rules{Protocol: protocol}), wire.NewLineParser()
		var read *wire.Fields
		var refusals [2]*event.Error
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			read, _ = parser.Parse(line)
			_, refusals[0] = encoder.Encode(read)
			_, refusals[1] = encoder.Encode(&own)
		}), protocol)
		assert.Equal(t, [2]*event.Error{}, refusals, protocol)
	}
}

func warningsOf(out *wire.Encoded) []event.Warning { return slices.Collect(out.Warnings.All) }

// The events that TestGateRules lacks. Package jsonb tests the faults of values.
func TestGateRefuses(t *testing.T) {
	raw := wiretest.Having
	props := func(key string, value any) func(*wire.Fields) {
		return func(e *wire.Fields) { e.Properties = map[string]any{key: value} }
	}
	tests := map[string]struct {
		change func(*wire.Fields)
		reason event.Reason
	}{
		"no name":                   {func(e *wire.Fields) { e.Name = "" }, event.ReasonNoName},
		"long name":                 {func(e *wire.Fields) { e.Name = strings.Repeat("é", 201) }, event.ReasonTooLong},
		"bad name":                  {func(e *wire.Fields) { e.Name = "a\xff" }, event.ReasonBadUTF8},
		"no distinct id":            {func(e *wire.Fields) { e.DistinctID = "" }, event.ReasonNoDistinctID},
		"blank distinct id":         {func(e *wire.Fields) { e.DistinctID = " \t" }, event.ReasonNoDistinctID},
		"long distinct id":          {func(e *wire.Fields) { e.DistinctID = strings.Repeat("a", 201) }, event.ReasonTooLong},
		"bad distinct id":           {func(e *wire.Fields) { e.DistinctID = "\xc3" }, event.ReasonBadUTF8},
		"two distinct ids":          {props("distinct_id", "other"), event.ReasonTwoDistinctIDs},
		"distinct id is an object":  {func(e *wire.Fields) { e.DistinctID = ""; props("distinct_id", map[string]any{})(e) }, event.ReasonNoDistinctID},
		"distinct id is a fraction": {func(e *wire.Fields) { e.DistinctID = ""; props("distinct_id", 1.5)(e) }, event.ReasonNoDistinctID},
		"distinct id is null":       {func(e *wire.Fields) { e.DistinctID = ""; props("distinct_id", nil)(e) }, event.ReasonNoDistinctID},
		"name of 202 UTF-16 units":  {func(e *wire.Fields) { e.Name = strings.Repeat("𝄞", 101) }, event.ReasonTooLong},
		"a spreadsheet's zero":      {func(e *wire.Fields) { e.Timestamp = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC) }, event.ReasonBadTimestamp},
		"1900 in its zone only": {func(e *wire.Fields) {
			e.Timestamp = time.Date(1900, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))
		}, event.ReasonBadTimestamp},
		"year 2300":                {func(e *wire.Fields) { e.Timestamp = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC) }, event.ReasonBadTimestamp},
		"a foreign uuid variant":   {func(e *wire.Fields) { e.UUID[8] = 0xff }, event.ReasonBadUUID},
		"too large":                {props("text", strings.Repeat("a", 900_001)), event.ReasonTooLarge},
		"too large once escaped":   {props("text", strings.Repeat(`"`, 230_000)), event.ReasonTooLarge},
		"not a number":             {props("x", math.NaN()), event.ReasonBadNumber},
		"raw beyond a float":       {raw(`{"x":1e400}`), event.ReasonBadNumber},
		"bad text":                 {props("x", "\xff"), event.ReasonBadUTF8},
		"bad key":                  {props("\xff", 1), event.ReasonBadUTF8},
		"half a surrogate pair":    {raw(`{"x":"\ud800"}`), event.ReasonBadUTF8},
		"a channel":                {props("x", make(chan int)), event.ReasonBadProperties},
		"raw empty":                {raw(``), event.ReasonBadProperties},
		"raw too deep":             {raw(`{"x":` + strings.Repeat("[", 120) + strings.Repeat("]", 120) + `}`), event.ReasonBadProperties},
		"raw double key":           {raw(`{"x":1,"x":2}`), event.ReasonBadProperties},
		"both kinds of properties": {func(e *wire.Fields) { e.RawProperties = json.RawMessage(`{}`) }, event.ReasonBadProperties},
		"cookieless":               {props("$cookieless_mode", true), event.ReasonBadSpecial},
		"$set is no object":        {props("$set", 1), event.ReasonBadSpecial},
		"alias that is cut": {func(e *wire.Fields) {
			e.Name, e.Properties = "$create_alias", map[string]any{"alias": strings.Repeat("a", 201)}
		}, event.ReasonTooLong},
		"anonymous id with a NUL": {func(e *wire.Fields) {
			e.Name, e.Properties = "$identify", map[string]any{"$anon_distinct_id": "a\x00b"}
		}, event.ReasonNUL},
	}
	encoder := testEncoder(wire.Rules{})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := wiretest.Event(test.change)
			_, refusal := encoder.Encode(&f)
			require.NotNil(t, refusal)
			assert.Equal(t, test.reason, refusal.Reason, refusal.Error())
		})
	}
}

func TestGateLetsPass(t *testing.T) {
	for name, change := range map[string]func(*wire.Fields){
		"200 characters":      func(e *wire.Fields) { e.Name, e.DistinctID = strings.Repeat("é", 200), strings.Repeat("𝄞", 200) },
		"100 surrogate pairs": func(e *wire.Fields) { e.Name = strings.Repeat("𝄞", 100) },
		"uuid of version 4":   func(e *wire.Fields) { e.UUID = uuid.New() },
		"empty raw object":    func(e *wire.Fields) { e.Properties, e.RawProperties = nil, json.RawMessage(" {} ") },
		"real U+FFFD":         func(e *wire.Fields) { e.Properties = map[string]any{"x": struct{ A string }{"\uFFFD"}} },
		"just below the size": func(e *wire.Fields) { e.Properties = map[string]any{"x": strings.Repeat("a", 898_000)} },
	} {
		t.Run(name, func(t *testing.T) {
			f := wiretest.Event(change)
			out, refusal := testEncoder(wire.Rules{}).Encode(&f)
			require.Nil(t, refusal)
			assert.True(t, json.Valid(out.Wire))
		})
	}
}

// A gate that is open for live events lets them pass, also cookieless ones, which the service drops some days later.
func TestAnOpenGate(t *testing.T) {
	for age, cookieless := range map[time.Duration]bool{-time.Hour: true, time.Minute: true, 72 * time.Hour: false} {
		for value, passes := range map[any]bool{true: cookieless, false: true, "true": false} {
			f := wiretest.Event(func(f *wire.Fields) {
				f.Timestamp, f.Properties = wiretest.Now.Add(-age), map[string]any{"$cookieless_mode": value}
			})
			_, refusal := testEncoder(wire.Rules{MinAge: -1}).Encode(&f)
			assert.Equal(t, passes, refusal == nil, "%v, %v: %v", age, value, refusal)
		}
	}
}

// sizeAsCounted is the size that the service counts: the event as a JSON string, and its envelope.
func sizeAsCounted(t *testing.T, sent []byte) int {
	t.Helper()
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(string(sent)))
	return text.Len() - len("\"\"\n") + 1024
}

// Whitespace in raw properties is sent unchanged, so it counts: an event that it makes too large is
// refused, and one byte less is sent.
func TestGateCountsRawBlanks(t *testing.T) {
	for name, blank := range map[string]string{"newlines": "\n", "tabs": "\t", "CR": "\r", "spaces": " ", "indented": "\n\t\t", "quotes": `"q":"\\", `} {
		t.Run(name, func(t *testing.T) {
			made := func(n int, more string) (*wire.Encoded, *event.Error) {
				f := wiretest.Event()
				text := strings.Repeat(blank, n)
				if name == "quotes" {
					text = ""
					more = strings.Repeat(`\"`, n) + more
				}
				f.Properties, f.RawProperties = nil, json.RawMessage(`{"a":[1`+text+`],"more":"`+more+`"}`)
				return testEncoder(wire.Rules{}).Encode(&f)
			}
			size := func(n int) int {
				out, refusal := made(n, "")
				require.Nil(t, refusal)
				return sizeAsCounted(t, out.Wire)
			}
			n := (wire.MaxEventBytes - size(0)) / ((size(10) - size(0)) / 10)
			rest := wire.MaxEventBytes - size(n)
			out, refusal := made(n, strings.Repeat("x", rest))
			require.Nil(t, refusal)
			require.Equal(t, wire.MaxEventBytes, sizeAsCounted(t, out.Wire))
			_, refusal = made(n, strings.Repeat("x", rest+1))
			require.NotNil(t, refusal)
			assert.Equal(t, event.ReasonTooLarge, refusal.Reason)
		})
	}
}
