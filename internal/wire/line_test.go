package wire_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/internal/wire/wiretest"
)

const (
	ownID   = "498f1d9c-6b1e-4c37-9d2e-0a5b7c1d2e3f"
	otherID = "0190f5f4-35a0-7c3e-8d3f-7d8f2a1b6c01"
)

func TestLines(t *testing.T) {
	t.Parallel()
	parser := wire.NewLineParser()
	for line, want := range map[string]struct{ name, id, at, properties string }{
		`{"event":"a","distinct_id":"ann","timestamp":"2024-05-01T12:30:00.123456+02:00","properties":{"n":12345678901234567890.10}}`: {"a", "ann", "2024-05-01T10:30:00.123456Z", `{"n":12345678901234567890.10}`},
		`{"event":"a","properties":{"distinct_id":"ann"},"timestamp":"2024-05-01T12:30:00Z"}`:                                         {"a", "", "2024-05-01T12:30:00Z", `{"distinct_id":"ann"}`},
		`{"event":"a","distinct_id":9007199254740993}`:                                                                                {name: "a", id: "9007199254740993"},
		` { "event" : "a" , "properties" : { "x" : [ 1 ] } } `:                                                                        {name: "a", properties: `{ "x" : [ 1 ] }`},
		`{"\u0065vent":"caf\u00e9 \"a\"","timestamp":"2024-05-01T12:30:00\u005a","distinct_id":"\ud83e\udd94"}`:                       {`café "a"`, "🦔", "2024-05-01T12:30:00Z", ""},
		`{"event":"a","uuid":"","distinct_id":null,"timestamp":null,"properties":null,"$set":null}`:                                   {name: "a"},
		`{"event":"a","uuid":null,"ip":null,"$session_id":null}`:                                                                      {name: "a"},
		`{"event":"a","$set":{"x":1},"$set_once":{"y":2},"properties":{"p":3}}`:                                                       {name: "a", properties: `{"p":3,"$set":{"x":1},"$set_once":{"y":2}}`},
		`{"event":"a","$set":{"x":1}}`:                                                                                                {name: "a", properties: `{"$set":{"x":1}}`},
		`{"event":"a","$set_once":{"x":1},"properties":{ }}`:                                                                          {name: "a", properties: `{"$set_once":{"x":1}}`},
		`{"event":"a","$reject":"yes"}`:                                                                                               {name: "a"},
		`{"timestamp":"2024-05-01t00:00:00z"}`:                                                                                        {at: "2024-05-01T00:00:00Z"},
		`{"timestamp":"2016-12-31t16:59:60.5-07:00"}`:                                                                                 {at: "2017-01-01T00:00:00.5Z"},
	} {
		f, err := parser.Parse([]byte(line))
		require.NoError(t, err, line)
		assert.Equal(t, want.name, f.Name, line)
		assert.Equal(t, want.id, f.DistinctID, line)
		assert.Equal(t, want.properties, string(f.RawProperties), line)
		assert.Equal(t, want.at == "", f.Timestamp.IsZero(), line)
		if want.at != "" {
			assert.Equal(t, want.at, f.Timestamp.UTC().Format(time.RFC3339Nano), line)
		}
	}
}

func TestBadLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`event=a`:                                         "want one JSON object a line",
		`[{"event":"a"}]`:                                 "want one JSON object a line",
		`{"event":"a"`:                                    "bad JSON",
		`{"event":"a"} {"event":1}`:                       "bad JSON",
		`{"event":"a","ip":"::1"}`:                        `unknown key "ip": want event`,
		`{"` + strings.Repeat("k", 1000) + `":1}`:         `kkk`,
		`{"event":"a","event":"b"}`:                       "duplicate key in event",
		"{\"event\":\"\xff\"}":                            "bad UTF-8",
		`{"event":"\ud800"}`:                              "lone surrogate",
		`{"event":"a","properties":{"n":1e999}}`:          "not a finite JSON number in properties.n",
		`{"event":1}`:                                     "event: want a text",
		`{"event":"a","distinct_id":1.5}`:                 "distinct_id: want a text or a whole number",
		`{"event":"a","distinct_id":true}`:                "not true",
		`{"event":"a","uuid":"yes"}`:                      "uuid: want a UUID",
		`{"event":"a","uuid":7}`:                          "uuid: want a UUID",
		`{"uuid":"00000000-0000-0000-0000-000000000000"}`: "uuid: want a UUID other than zero",
		`{"event":"a","uuid":"1` + otherID + `2"}`:        "uuid: want a UUID",
		`{"event":"a","uuid":"{` + otherID + `)"}`:        "uuid: want a UUID",
		`{"event":"a","timestamp":1714566600}`:            "not an RFC 3339 time with an offset",
		`{"event":"a","timestamp":"1714566600"}`:          "not an RFC 3339 time with an offset",
		`{"timestamp":"2024-05-01T12:30:00"}`:             "not an RFC 3339 time with an offset",
		`{"timestamp":"2024-05-01 12:30:00Z"}`:            "not an RFC 3339 time with an offset",
		`{"timestamp":"0001-01-01T00:00:00Z"}`:            "bad_timestamp: timestamp",
		`{"event":"a","properties":[]}`:                   "properties: want an object",
		`{"event":"a","$set":"x"}`:                        "$set: want an object",
		`{"event":"a","$set_once":1}`:                     "$set_once: want an object",
		`{"event":"a","$reject":{}}`:                      "a reject",
		// How to convert a file in another form.
		`{"event":"e"}` + "\r" + `{"event":"e"}` + "\r": "its lines end with CR alone: convert them to LF",
		strings.Repeat(`{"event":"e"}`+"\r", 20_000):    "its lines end with CR alone: convert them to LF",
		"{":                         "this looks like indented JSON: write each object on one line (jq -c .)",
		"[":                         "this looks like one JSON array: write each element on a line of its own (jq -c '.[]')",
		"[{},":                      "this looks like one JSON array",
		"event,distinct_id":         "this looks like CSV: convert it to JSON lines",
		"event;distinct_id":         "this looks like CSV: convert it to JSON lines",
		"event\tdistinct_id":        "this looks like CSV: convert it to JSON lines",
		"\"event\",\"distinct_id\"": "this looks like CSV: convert it to JSON lines",
		// The refused value is shown, cut and without keys.
		`{"uuid":"phx_ThisIsAKey0123456789"}`:                   `no uuid, not "[redacted]"`,
		`{"event":["phc_ThisIsAKey0123456789"]}`:                `not ["[redacted]"]`,
		`{"event":"e","phc_ThisIsAKey0123456789":1}`:            `unknown key "[redacted]"`,
		`{"event":"e","a\u009b\u202e":1}`:                       `unknown key "a \u202e"`,
		`{"properties":{"a\u009b\u202e":1e999}}`:                `properties["a\u009b\u202e"]`,
		`{"timestamp":"phc_ThisIsAKey0123456789"}`:              `timestamp "[redacted]"`,
		`{"timestamp":"` + strings.Repeat("x ", 150) + `"}`:     `timestamp "x x x`,
		`{"properties":[` + strings.Repeat(`"x",`, 200) + `1]}`: `want an object, not ["x","x"`,
	} {
		_, err := newParser().Parse([]byte(line))
		require.ErrorContains(t, err, want, "%.100s", line)
		assert.Less(t, len(err.Error()), 300, "%.100s", line)
		assert.NotContains(t, err.Error(), "ThisIsAKey")
	}
}

// The value that the gate refuses is shown, cut and without keys.
func TestRefusedValuesAreShown(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("very long ", 30)
	for want, change := range map[string]func(*wire.Fields){
		`timestamp "3024-05-01T00:00:00Z"`:   func(f *wire.Fields) { f.Timestamp = time.Date(3024, 5, 1, 0, 0, 0, 0, time.UTC) },
		`event "very long very long`:         func(f *wire.Fields) { f.Name = long },
		`distinct_id "very long very long`:   func(f *wire.Fields) { f.DistinctID = long },
		`distinct_id " "`:                    func(f *wire.Fields) { f.DistinctID = " " },
		`properties.distinct_id "b "`:        func(f *wire.Fields) { f.Properties = map[string]any{"distinct_id": "b\x1b"} },
		`properties.distinct_id "[redacted]`: func(f *wire.Fields) { f.Properties = map[string]any{"distinct_id": "phc_ThisIsAKey0123456789"} },
	} {
		f := wiretest.Event(change)
		_, refusal := testEncoder(wire.Rules{}).Encode(&f)
		require.NotNil(t, refusal, want)
		shown := fmt.Sprintf("%s %q", refusal.Field, refusal.Value)
		assert.Contains(t, shown, want)
		assert.Less(t, len(shown), 150)
	}
}

// A record that made no event keeps a uuid that can be read, with any fault. It keeps no uuid that is invalid or may belong to
// another record.
func TestSalvageUUID(t *testing.T) {
	t.Parallel()
	const own, other, good = `"uuid":"` + ownID + `"`, `"uuid":"` + otherID + `"`, `"event":"e","distinct_id":"ann"`
	for _, text := range []string{
		`{` + own + `,` + good + `,"ip":"127.0.0.1"}`, `{` + own + `,"$reject":{"raw":"{"}}`, `{` + own + `,"event":7}`, `{` + own + `,` + good + "}\x00\x00",
		`{` + good + `,"ip":1,` + own + `}`, `{` + good + `,"properties":{"n":1e999},` + own + `}`, "{" + good + `,"properties":{"name":"caf` + "\xe9" + `"},` + own + `}`,
		`{` + good + `,"properties":{"x":"\ud800"},` + own + `}`, `{` + good + `,"properties":{"x":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `},` + own + `}`,
		`{"event":"a",` + good + `,` + own + `}`, `{` + own + `,` + good + `,"uuid":"498F1D9C6B1E4C379D2E0A5B7C1D2E3F"}`, `{"\u0075uid":"\u0034` + ownID[1:] + `","event":7}`,
		`{"uuid":"{498F1D9C-6B1E-4C37-9D2E-0A5B7C1D2E3F}","event":7}`, `{"properties":{` + other + `},` + own + `,"event":7}`, `{` + own + `,"event":"e","distinct_i`,
	} {
		assert.Equal(t, ownID, wire.SalvageUUID([]byte(text)).String(), "%.200s", text)
	}
	for _, text := range []string{
		`[{` + own + `}]`, own, `{"event":7,"properties":{` + own + `}}`, `{"event":"e",timestamp,` + own + `}`, `{"uuid":null,"event":7}`, `{"uuid":"","event":7}`,
		`{"uuid":"00000000-0000-0000-0000-000000000000"}`, `{"uuid":7}`, `{"uuid":"498f1d9c"}`, `{"uuid":"498f1d9c-6b1e-4c37-cd2e-0a5b7c1d2e3f"}`, // a variant that is lost
		`{"uuid":"{` + ownID + `)"}`, `{` + own + `,"event":"e",` + other + `}`, `{"uuid":"yes",` + own + `}`, `{` + own + `,"event":"e"} {` + other + `,"event":"e"}`,
		`{` + own + `,"event":"e","distin{` + other + `,"event":"e"}`, `{` + own + `,"event":"some{` + other + `,"event":"e"}`, // torn
		`{` + own + `,"event":"e","properties":{"x":[{` + other + `,"event":"e"}`, `{` + own + `,"event":"e","properties":{` + other + `,"event":"f"}`,
		`{` + own + `,"event"{"event":"e",` + other + `}`,
	} {
		assert.Equal(t, uuid.Nil, wire.SalvageUUID([]byte(text)), text)
	}
}

// A refused event is described by the members that JSON can hold, never by a changed value.
func TestDescribe(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 5, 1, 12, 30, 0, 5000, time.FixedZone("", 7200))
	const when = `"timestamp":"2024-05-01T10:30:00.000005Z"`
	for want, f := range map[string]wire.Fields{
		`{"uuid":"` + otherID + `","event":"",` + when + `,"distinct_id":"ann","properties":{"a":"<&>","n":1.50},"$set":{"s":1},"$set_once":{"o":null}}  []`: {
			DistinctID: "ann", Timestamp: at, UUID: uuid.MustParse(otherID), Properties: map[string]any{"a": "<&>", "n": json.Number("1.50")}, Set: map[string]any{"s": 1}, SetOnce: map[string]any{"o": nil},
		},
		`{"event":"a","distinct_id":"","properties":{"big":12345678901234567890.00}}  []`: {Name: "a", RawProperties: json.RawMessage("{\n \"big\": 12345678901234567890.00\n}")},
		`{"event":"a",` + when + `,"distinct_id":"ann","properties":{"good":1}}  [properties.bad properties.deep]`: {
			Name: "a", DistinctID: "ann", Timestamp: at, Properties: map[string]any{"bad": math.NaN(), "deep": map[string]any{"c": make(chan int)}, "good": 1},
		},
		`{"event":"a"}  [distinct_id]`:                                                {Name: "a", DistinctID: "ann\xff"},
		`{"event":"a","distinct_id":"ann"} {"x": [properties]`:                        {Name: "a", DistinctID: "ann", RawProperties: json.RawMessage(`{"x":`)},
		`{"event":"a","distinct_id":"","properties":{"x":1}} {"p":12.5} [properties]`: {Name: "a", Properties: map[string]any{"x": 1}, RawProperties: json.RawMessage(`{"p":12.5}`)},
	} {
		d := wire.Describe(&f)
		assert.Equal(t, want, fmt.Sprintf("%s %s %v", d.Line, d.Raw, d.LeftOut))
	}
}

// FuzzLine: the event of a line is the one that encoding/json reads, or the line is refused. The uuid of a refused line is its own.
func FuzzLine(f *testing.F) {
	for _, line := range []string{
		`{"event":"1"}`, "{\"event\":\"3\"}\r", `{"bad"`, " \t",
		`{"event":"a","distinct_id":12,"timestamp":"2024-05-01T12:30:00.5+02:00","uuid":"461fc531-6209-5996-b1b1-a8aa997a6516","properties":{"n":1.50}}`,
		`{"uuid":"461fc531-6209-5996-b1b1-a8aa997a6516","event":7}`, `{"uuid":"{461FC531-6209-5996-B1B1-A8AA997A6516}","event`,
		`{"event":"a","$set":{"x":1},"$set_once":{},"properties":{"a":"\ud83e\udd94"},"$reject":{"left_out":[]}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got, err := wire.NewLineParser().Parse(line)
		if err != nil {
			checkSalvaged(t, string(line))
			return
		}
		var want struct {
			Event      string
			DistinctID any       `json:"distinct_id"`
			Timestamp  time.Time `json:"timestamp"`
			UUID       string
			Properties map[string]any
			Set        any `json:"$set"`
			SetOnce    any `json:"$set_once"`
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		require.NoError(t, d.Decode(&want), "what is taken is good JSON")
		require.Equal(t, want.Event, got.Name)
		if want.DistinctID == nil {
			want.DistinctID = ""
		}
		require.Equal(t, fmt.Sprint(want.DistinctID), got.DistinctID)
		require.True(t, want.Timestamp.Equal(got.Timestamp))
		if want.UUID == "" {
			want.UUID = uuid.Nil.String()
		}
		require.Equal(t, uuid.MustParse(want.UUID), got.UUID)
		if got.RawProperties == nil {
			require.Nil(t, want.Properties)
			return
		}
		properties := map[string]any{}
		maps.Copy(properties, want.Properties)
		for key, value := range map[string]any{"$set": want.Set, "$set_once": want.SetOnce} {
			if _, double := properties[key]; double && value != nil {
				return // the gate refuses it
			} else if value != nil {
				properties[key] = value
			}
		}
		require.Equal(t, any(properties), loose(t, got.RawProperties))
	})
}

// checkSalvaged demands that a bad line has its uuid, where it is plain that it has one, and never another.
func checkSalvaged(t *testing.T, line string) {
	t.Helper()
	got := wire.SalvageUUID([]byte(line))
	if strings.Contains(line, `\`) {
		return // keys and uuids can be written in many ways
	}
	if got != uuid.Nil {
		require.Contains(t, strings.ReplaceAll(strings.ToLower(line), "-", ""), hex.EncodeToString(got[:]))
	}
	var members map[string]json.RawMessage
	if strings.Count(line, `"uuid"`) != 1 || json.Unmarshal([]byte(line), &members) != nil {
		return
	}
	text := strings.Trim(string(members["uuid"]), `"`)
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") {
		text = text[1 : len(text)-1]
	}
	want, err := uuid.Parse(text)
	if len(text) == 38 || err != nil || want.Variant() != uuid.RFC4122 {
		want = uuid.Nil
	}
	require.Equal(t, want, got)
}
