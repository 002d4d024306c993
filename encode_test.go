package hogapi

import (
	"encoding/json"
	"flag"
	"hash/maphash"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write golden files anew")

var (
	testNow  = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	testTime = time.Date(2024, 2, 29, 23, 59, 59, 123456789, time.FixedZone("", 5*3600+1800))
)

func testEncoder(o GateOptions) *encoder {
	return newEncoder(newGate(o, protocolBatch, func() time.Time { return testNow }), newStamps("golden"), maphash.MakeSeed())
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
	encoder, identity := testEncoder(GateOptions{}), newIdentity("golden", 0)
	var got strings.Builder
	for _, ev := range goldenEvents() {
		out, refusal := encoder.encode(&ev)
		require.Nil(t, refusal)
		if ev.UUID == uuid.Nil {
			putUUID(out.wire, identity.at(ev.Position, 3))
		}
		require.True(t, json.Valid(out.wire), "%s", out.wire)
		got.Write(out.wire)
		got.WriteByte('\n')
	}
	text := strings.ReplaceAll(got.String(), `"`+libraryVersion()+`"`, `"VERSION"`)
	const file = "testdata/events.golden"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)
}

// Both forms of the distinct id go out: the service's at the root, the specification's in the properties.
func TestWireForm(t *testing.T) {
	ev := testEvent()
	out, refusal := testEncoder(GateOptions{}).encode(&ev)
	require.Nil(t, refusal)
	assert.JSONEq(t, `{"uuid":"461fc531-6209-5996-b1b1-a8aa997a6516","event":"$pageview","timestamp":"2024-02-29T18:29:59.123456789Z","distinct_id":"user-1",
		"properties":{"distinct_id":"user-1","a":"x","b":1,"$lib":"hogapi-go","$lib_version":"`+libraryVersion()+`","$geoip_disable":true,"$import_job_id":"golden"}}`, string(out.wire))
	assert.NotContains(t, string(out.wire), "sent_at")
}

func TestGateRefuses(t *testing.T) {
	raw := func(text string) func(*Event) {
		return func(e *Event) { e.Properties, e.RawProperties = nil, json.RawMessage(text) }
	}
	props := func(key string, value any) func(*Event) {
		return func(e *Event) { e.Properties = map[string]any{key: value} }
	}
	cyclic := map[string]any{}
	cyclic["again"] = cyclic
	tests := map[string]struct {
		change func(*Event)
		reason Reason
	}{
		"no name":                   {func(e *Event) { e.Name = "" }, ReasonNoName},
		"long name":                 {func(e *Event) { e.Name = strings.Repeat("é", 201) }, ReasonTooLong},
		"bad name":                  {func(e *Event) { e.Name = "a\xff" }, ReasonBadUTF8},
		"no distinct id":            {func(e *Event) { e.DistinctID = "" }, ReasonNoDistinctID},
		"blank distinct id":         {func(e *Event) { e.DistinctID = " \t" }, ReasonNoDistinctID},
		"long distinct id":          {func(e *Event) { e.DistinctID = strings.Repeat("a", 201) }, ReasonTooLong},
		"bad distinct id":           {func(e *Event) { e.DistinctID = "\xc3" }, ReasonBadUTF8},
		"NUL in the distinct id":    {func(e *Event) { e.DistinctID = "a\x00b" }, ReasonNUL},
		"an event that is removed":  {func(e *Event) { e.Name = "$performance_event" }, ReasonDropped},
		"no event but a heatmap":    {func(e *Event) { e.Name = "$$heatmap" }, ReasonDropped},
		"no event but a warning":    {func(e *Event) { e.Name = "$$client_ingestion_warning" }, ReasonDropped},
		"two distinct ids":          {props("distinct_id", "other"), ReasonTwoDistinctIDs},
		"distinct id is an object":  {func(e *Event) { e.DistinctID = ""; props("distinct_id", map[string]any{})(e) }, ReasonNoDistinctID},
		"distinct id is a fraction": {func(e *Event) { e.DistinctID = ""; props("distinct_id", 1.5)(e) }, ReasonNoDistinctID},
		"distinct id is null":       {func(e *Event) { e.DistinctID = ""; props("distinct_id", nil)(e) }, ReasonNoDistinctID},
		"name of 202 UTF-16 units":  {func(e *Event) { e.Name = strings.Repeat("𝄞", 101) }, ReasonTooLong},
		"no time":                   {func(e *Event) { e.Timestamp = time.Time{} }, ReasonNoTimestamp},
		"year 0":                    {func(e *Event) { e.Timestamp = time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC) }, ReasonBadTimestamp},
		"year 10000":                {func(e *Event) { e.Timestamp = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, ReasonBadTimestamp},
		"a spreadsheet's zero":      {func(e *Event) { e.Timestamp = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC) }, ReasonBadTimestamp},
		"1900 in its zone only": {func(e *Event) {
			e.Timestamp = time.Date(1900, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))
		}, ReasonBadTimestamp},
		"year 2300":                {func(e *Event) { e.Timestamp = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC) }, ReasonBadTimestamp},
		"the future":               {func(e *Event) { e.Timestamp = testNow.Add(time.Second) }, ReasonFuture},
		"a second too young":       {func(e *Event) { e.Timestamp = testNow.Add(-48*time.Hour + time.Second) }, ReasonTooYoung},
		"a foreign uuid variant":   {func(e *Event) { e.UUID[8] = 0xff }, ReasonBadUUID},
		"too large":                {props("text", strings.Repeat("a", 900_001)), ReasonTooLarge},
		"too large once escaped":   {props("text", strings.Repeat(`"`, 230_000)), ReasonTooLarge},
		"not a number":             {props("x", math.NaN()), ReasonBadNumber},
		"infinite":                 {props("x", math.Inf(-1)), ReasonBadNumber},
		"infinite deep inside":     {props("x", []any{map[string]any{"y": math.Inf(1)}}), ReasonBadNumber},
		"no JSON number":           {props("x", json.Number("1x")), ReasonBadNumber},
		"raw beyond a float":       {raw(`{"x":1e400}`), ReasonBadNumber},
		"bad text":                 {props("x", "\xff"), ReasonBadUTF8},
		"bad key":                  {props("\xff", 1), ReasonBadUTF8},
		"bad text in a struct":     {props("x", struct{ A string }{"\xff"}), ReasonBadUTF8},
		"raw bad text":             {raw("{\"x\":\"\xff\"}"), ReasonBadUTF8},
		"half a surrogate pair":    {raw(`{"x":"\ud800"}`), ReasonBadUTF8},
		"a channel":                {props("x", make(chan int)), ReasonBadProperties},
		"endless":                  {props("x", cyclic), ReasonBadProperties},
		"raw no object":            {raw(`[1]`), ReasonBadProperties},
		"raw null":                 {raw(`null`), ReasonBadProperties},
		"raw empty":                {raw(``), ReasonBadProperties},
		"raw no JSON":              {raw(`{"x":}`), ReasonBadProperties},
		"raw more than one":        {raw(`{}{}`), ReasonBadProperties},
		"raw too deep":             {raw(`{"x":` + strings.Repeat("[", 120) + strings.Repeat("]", 120) + `}`), ReasonBadProperties},
		"raw double key":           {raw(`{"x":1,"x":2}`), ReasonBadProperties},
		"both kinds of properties": {func(e *Event) { e.RawProperties = json.RawMessage(`{}`) }, ReasonBadProperties},
		"profile flag is text":     {props("$process_person_profile", "false"), ReasonBadSpecial},
		"cookieless is text":       {props("$cookieless_mode", "yes"), ReasonBadSpecial},
		"cookieless":               {props("$cookieless_mode", true), ReasonBadSpecial},
		"$set is no object":        {props("$set", 1), ReasonBadSpecial},
		"$set twice":               {func(e *Event) { props("$set", map[string]any{})(e); e.Set = map[string]any{"a": 1} }, ReasonBadSpecial},
		"identify without profile": {func(e *Event) { e.Name = "$identify"; props("$process_person_profile", false)(e) }, ReasonBadSpecial},
		"alias without alias":      {func(e *Event) { e.Name = "$create_alias" }, ReasonBadSpecial},
		"group without type":       {func(e *Event) { e.Name = "$groupidentify"; props("$group_key", "acme")(e) }, ReasonBadSpecial},
		"group without key":        {func(e *Event) { e.Name = "$groupidentify"; props("$group_type", "company")(e) }, ReasonBadSpecial},
		"group with too long a key": {func(e *Event) {
			e.Name = "$groupidentify"
			e.Properties = map[string]any{"$group_type": "company", "$group_key": strings.Repeat("é", 401)}
		}, ReasonBadSpecial},
		"group properties are a list": {func(e *Event) {
			e.Name = "$groupidentify"
			e.Properties = map[string]any{"$group_type": "company", "$group_key": "acme", "$group_set": []int{1}}
		}, ReasonBadSpecial},
	}
	encoder := testEncoder(GateOptions{})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ev := testEvent()
			ev.Position = Position{Key: "f", Offset: 9}
			test.change(&ev)
			_, refusal := encoder.encode(&ev)
			require.NotNil(t, refusal)
			assert.Equal(t, test.reason, refusal.Reason, refusal.Error())
			assert.Equal(t, Position{Key: "f", Offset: 9}, refusal.Position)
			assert.ErrorIs(t, refusal, ErrInvalid)
		})
	}
	assert.GreaterOrEqual(t, len(tests), 40, "the corpus of reliability.md D15")
}

func TestGateLetsPass(t *testing.T) {
	for name, change := range map[string]func(*Event){
		"exactly 48 hours":    func(e *Event) { e.Timestamp = testNow.Add(-48 * time.Hour) },
		"200 characters":      func(e *Event) { e.Name, e.DistinctID = strings.Repeat("é", 200), strings.Repeat("𝄞", 200) },
		"100 surrogate pairs": func(e *Event) { e.Name = strings.Repeat("𝄞", 100) },
		"not cookieless":      func(e *Event) { e.Properties = map[string]any{"$cookieless_mode": false} },
		"a group's long key": func(e *Event) {
			e.Name, e.Properties = "$groupidentify", map[string]any{"$group_type": "company", "$group_key": strings.Repeat("é", 400)}
		},
		"before 1970":         func(e *Event) { e.Timestamp = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC) },
		"uuid of version 4":   func(e *Event) { e.UUID = uuid.New() },
		"no properties":       func(e *Event) { e.Properties = nil },
		"empty raw object":    func(e *Event) { e.Properties, e.RawProperties = nil, json.RawMessage(" {} ") },
		"same distinct ids":   func(e *Event) { e.Properties = map[string]any{"distinct_id": "user-1"} },
		"real U+FFFD":         func(e *Event) { e.Properties = map[string]any{"x": struct{ A string }{"\uFFFD"}} },
		"profile flag":        func(e *Event) { e.Properties = map[string]any{"$process_person_profile": false} },
		"just below the size": func(e *Event) { e.Properties = map[string]any{"x": strings.Repeat("a", 898_000)} },
	} {
		t.Run(name, func(t *testing.T) {
			ev := testEvent()
			change(&ev)
			out, refusal := testEncoder(GateOptions{}).encode(&ev)
			require.Nil(t, refusal)
			assert.True(t, json.Valid(out.wire))
		})
	}
	ev := testEvent()
	ev.Timestamp = testNow.Add(time.Hour)
	_, refusal := testEncoder(GateOptions{MinAge: -1}).encode(&ev)
	assert.Nil(t, refusal, "an open gate lets live events pass")
}

func TestGateWarns(t *testing.T) {
	for _, id := range []string{"null", "NULL", "None", "anonymous", "Guest", "0", "undefined", `"null"`, "[object Object]", "NaN", "00000000-0000-0000-0000-000000000000"} {
		ev := testEvent()
		ev.DistinctID = id
		out, refusal := testEncoder(GateOptions{}).encode(&ev)
		require.Nil(t, refusal)
		assert.Equal(t, []Warning{WarnSuspectID}, slices.Collect(out.warn.all), id)
	}
	ev := testEvent()
	out, _ := testEncoder(GateOptions{}).encode(&ev)
	assert.Empty(t, out.warn)
	ev.Name = "$group_identify"
	out, refusal := testEncoder(GateOptions{}).encode(&ev)
	require.Nil(t, refusal)
	assert.Equal(t, []Warning{WarnGroupIdentify}, slices.Collect(out.warn.all))
	assert.Contains(t, string(out.wire), `"event":"$group_identify"`, "sent as the specification spells it")
}

func TestSetPolicy(t *testing.T) {
	properties := func(o GateOptions, change func(*Event)) map[string]any {
		ev := testEvent()
		change(&ev)
		out, refusal := testEncoder(o).encode(&ev)
		require.Nil(t, refusal)
		var wire struct{ Properties map[string]any }
		require.NoError(t, json.Unmarshal(out.wire, &wire))
		return wire.Properties
	}
	inProperties := func(e *Event) {
		e.Properties = map[string]any{"a": 1, "$set": map[string]any{"plan": "pro"}, "z": "q\"q"}
	}
	inField := func(e *Event) { e.Set = map[string]any{"plan": "pro"} }
	inRaw := func(e *Event) {
		e.Properties, e.RawProperties = nil, json.RawMessage(`{"a":1, "$set" : {"plan":"pro"}, "z":"q\"q" }`)
	}
	pro := map[string]any{"plan": "pro"}
	for name, change := range map[string]func(*Event){"in the properties": inProperties, "in the field": inField, "in raw properties": inRaw} {
		t.Run(name, func(t *testing.T) {
			got := properties(GateOptions{}, change)
			assert.Equal(t, pro, got["$set"])
			got = properties(GateOptions{SetPolicy: SetToSetOnce}, change)
			assert.Equal(t, pro, got["$set_once"])
			assert.NotContains(t, got, "$set")
			got = properties(GateOptions{SetPolicy: SetStrip}, change)
			assert.NotContains(t, got, "$set")
			assert.NotContains(t, got, "$set_once")
			assert.EqualValues(t, 1, properties(GateOptions{SetPolicy: SetStrip}, inRaw)["a"])
			assert.Equal(t, `q"q`, properties(GateOptions{SetPolicy: SetStrip}, inRaw)["z"])
		})
	}
	got := properties(GateOptions{SetPolicy: SetStrip}, func(e *Event) { *e = Identify("user-1", testTime, pro) })
	assert.Equal(t, pro, got["$set"], "an identity event keeps what it is for")
}

func TestIdentity(t *testing.T) {
	a, b := newIdentity("one", 0), newIdentity("two", 0)
	p := Position{Key: "events.jsonl", Offset: 10}
	ids := map[uuid.UUID]bool{}
	for _, d := range []*identity{a, b} {
		for _, at := range []Position{p, {Key: "events.jsonl1", Offset: 0}, {Offset: 10}, {Key: "events.jsonl", Offset: -10}} {
			for n := range uint64(3) {
				id := d.at(at, n)
				assert.False(t, ids[id], "two events share a uuid")
				ids[id] = true
				assert.Equal(t, uuid.Version(5), id.Version())
				assert.Equal(t, uuid.RFC4122, id.Variant())
			}
		}
	}
	assert.Equal(t, "a4ddf1ca-85b4-5719-9d2c-e68505655282", a.at(p, 0).String(), "past imports must stay resumable: this value never changes")
}

func TestContentIdentity(t *testing.T) {
	d := newIdentity("one", 2)
	first, ok := d.ofContent([]byte("a"))
	require.True(t, ok)
	second, ok := d.ofContent([]byte("a"))
	require.True(t, ok)
	assert.NotEqual(t, first, second, "two equal events are two events")
	_, ok = d.ofContent([]byte("b"))
	require.True(t, ok)
	_, ok = d.ofContent([]byte("c"))
	assert.False(t, ok, "the table is full")
	again, _ := newIdentity("one", 2).ofContent([]byte("a"))
	assert.Equal(t, first, again)
}

// A later release of this package gives the same contents the same uuids: its stamps are none of the event's content.
func TestContentIdentityOutlivesARelease(t *testing.T) {
	t.Parallel()
	ids := map[uuid.UUID]bool{}
	for _, version := range []string{"1.0.0", "1.0.1"} {
		s := newStamps("one")
		s.all = append(s.all[:0:0], `,"$lib_version":"`+version+`"`...)
		ev := testEvent()
		ev.UUID, ev.Set = uuid.Nil, map[string]any{"plan": "pro"}
		out, refusal := newEncoder(newGate(GateOptions{}, protocolBatch, time.Now), s, maphash.MakeSeed()).encode(&ev)
		require.Nil(t, refusal)
		refusal = newIdentity("one", 1).assign(&out, 0)
		require.Nil(t, refusal)
		ids[out.id] = true
	}
	assert.Len(t, ids, 1)
}

// What a source notes while it reads a line stands for a second reading of the properties, whatever they are.
func FuzzNotedProperties(f *testing.F) {
	for _, properties := range []string{
		`{}`, `null`, `{"a":1}`, ` { "distinct_id" : "ann" , "$lib":"web"}`, `{"a":1,"a":2}`, `{"$set":{"x":1},"$set_once":{}}`, `{"\u0024set":1}`,
		`{"a":{"$lib":"x"}}`, `[1]`, `{"distinct_id":7,"$geoip_disable":false}`, `{"$process_person_profile":"no"}`, `{"a":"\ud800"}`,
		`{"$heatmap_data":1,"$session_id":"x"}`, `{"$current_url":"u","$prev_pageview_pathname":"/"}`, `{"$groups":{"a":1},"$unset":[]}`, `{"$window_id":7,"$import_job_id":"x"}`,
	} {
		f.Add([]byte(`{"event":"e","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z","properties":`+properties+`}`), uint8(0))
		f.Add([]byte(`{"event":"$set","timestamp":"2024-05-01T12:30:00Z","properties":`+properties+`,"$set":{}}`), uint8(SetStrip))
	}
	f.Fuzz(func(t *testing.T, line []byte, policy uint8) {
		o := GateOptions{SetPolicy: SetPolicy(policy % 3), Heatmaps: HeatmapPolicy(policy / 3 % 2)}
		trusting, doubting := testEncoder(o), testEncoder(o)
		trusting.trust(JSONLinesFile("any"))
		parser := newLineParser()
		for range 2 { // nothing may be left of an event before
			ev, err := parser.parse(line)
			if err != nil {
				return
			}
			got, gotRefusal := trusting.encode(&ev)
			want, wantRefusal := doubting.encode(&ev)
			require.Equal(t, wantRefusal, gotRefusal)
			require.Equal(t, string(want.wire), string(got.wire))
			require.Equal(t, want.warn, got.warn)
		}
	})
}

// A program that changes the events of a file on their way to the import is not believed for what the file said.
func TestNotesOfAWrappedSource(t *testing.T) {
	t.Parallel()
	e := testEncoder(GateOptions{})
	e.trust(SourceFunc("wrapped", nil))
	ev, err := newLineParser().parse([]byte(`{"event":"e","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z","properties":{}}`))
	require.NoError(t, err)
	ev.RawProperties = json.RawMessage(`{"distinct_id":"bob"}`)
	_, refusal := e.encode(&ev)
	require.NotNil(t, refusal)
	assert.Equal(t, ReasonTwoDistinctIDs, refusal.Reason)
}
