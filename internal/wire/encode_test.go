package wire_test

import (
	"encoding/json"
	"errors"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/internal/wire/wiretest"
)

// testEncoder encodes for /batch/.
func testEncoder(rules wire.Rules) *wire.Encoder {
	rules.Protocol = wire.ProtocolBatch
	return wiretest.Encoder(rules)
}

// newParser returns a parser that refuses lines of a reject file.
func newParser() *wire.LineParser {
	return wire.NewLineParser(func([]byte, bool) error { return errors.New("a reject") })
}

func warningsOf(out wire.Encoded) []string { return slices.Collect(out.Warnings.All) }

func TestGateRefuses(t *testing.T) {
	raw := func(text string) func(*wire.Fields) {
		return func(e *wire.Fields) { e.Properties, e.RawProperties = nil, json.RawMessage(text) }
	}
	props := func(key string, value any) func(*wire.Fields) {
		return func(e *wire.Fields) { e.Properties = map[string]any{key: value} }
	}
	cyclic := map[string]any{}
	cyclic["again"] = cyclic
	tests := map[string]struct {
		change func(*wire.Fields)
		reason string
	}{
		"no name":                   {func(e *wire.Fields) { e.Name = "" }, wire.ReasonNoName},
		"long name":                 {func(e *wire.Fields) { e.Name = strings.Repeat("é", 201) }, wire.ReasonTooLong},
		"bad name":                  {func(e *wire.Fields) { e.Name = "a\xff" }, wire.ReasonBadUTF8},
		"no distinct id":            {func(e *wire.Fields) { e.DistinctID = "" }, wire.ReasonNoDistinctID},
		"blank distinct id":         {func(e *wire.Fields) { e.DistinctID = " \t" }, wire.ReasonNoDistinctID},
		"long distinct id":          {func(e *wire.Fields) { e.DistinctID = strings.Repeat("a", 201) }, wire.ReasonTooLong},
		"bad distinct id":           {func(e *wire.Fields) { e.DistinctID = "\xc3" }, wire.ReasonBadUTF8},
		"NUL in the distinct id":    {func(e *wire.Fields) { e.DistinctID = "a\x00b" }, wire.ReasonNUL},
		"an event that is removed":  {func(e *wire.Fields) { e.Name = "$performance_event" }, wire.ReasonDropped},
		"no event but a heatmap":    {func(e *wire.Fields) { e.Name = "$$heatmap" }, wire.ReasonDropped},
		"no event but a warning":    {func(e *wire.Fields) { e.Name = "$$client_ingestion_warning" }, wire.ReasonDropped},
		"two distinct ids":          {props("distinct_id", "other"), wire.ReasonTwoDistinctIDs},
		"distinct id is an object":  {func(e *wire.Fields) { e.DistinctID = ""; props("distinct_id", map[string]any{})(e) }, wire.ReasonNoDistinctID},
		"distinct id is a fraction": {func(e *wire.Fields) { e.DistinctID = ""; props("distinct_id", 1.5)(e) }, wire.ReasonNoDistinctID},
		"distinct id is null":       {func(e *wire.Fields) { e.DistinctID = ""; props("distinct_id", nil)(e) }, wire.ReasonNoDistinctID},
		"name of 202 UTF-16 units":  {func(e *wire.Fields) { e.Name = strings.Repeat("𝄞", 101) }, wire.ReasonTooLong},
		"no time":                   {func(e *wire.Fields) { e.Timestamp = time.Time{} }, wire.ReasonNoTimestamp},
		"year 0":                    {func(e *wire.Fields) { e.Timestamp = time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC) }, wire.ReasonBadTimestamp},
		"year 10000":                {func(e *wire.Fields) { e.Timestamp = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, wire.ReasonBadTimestamp},
		"a spreadsheet's zero":      {func(e *wire.Fields) { e.Timestamp = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC) }, wire.ReasonBadTimestamp},
		"1900 in its zone only": {func(e *wire.Fields) {
			e.Timestamp = time.Date(1900, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))
		}, wire.ReasonBadTimestamp},
		"year 2300":                {func(e *wire.Fields) { e.Timestamp = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC) }, wire.ReasonBadTimestamp},
		"the future":               {func(e *wire.Fields) { e.Timestamp = wiretest.Now.Add(time.Second) }, wire.ReasonFuture},
		"a second too young":       {func(e *wire.Fields) { e.Timestamp = wiretest.Now.Add(-48*time.Hour + time.Second) }, wire.ReasonTooYoung},
		"a foreign uuid variant":   {func(e *wire.Fields) { e.UUID[8] = 0xff }, wire.ReasonBadUUID},
		"too large":                {props("text", strings.Repeat("a", 900_001)), wire.ReasonTooLarge},
		"too large once escaped":   {props("text", strings.Repeat(`"`, 230_000)), wire.ReasonTooLarge},
		"not a number":             {props("x", math.NaN()), wire.ReasonBadNumber},
		"infinite":                 {props("x", math.Inf(-1)), wire.ReasonBadNumber},
		"infinite deep inside":     {props("x", []any{map[string]any{"y": math.Inf(1)}}), wire.ReasonBadNumber},
		"not a JSON number":        {props("x", json.Number("1x")), wire.ReasonBadNumber},
		"raw beyond a float":       {raw(`{"x":1e400}`), wire.ReasonBadNumber},
		"bad text":                 {props("x", "\xff"), wire.ReasonBadUTF8},
		"bad key":                  {props("\xff", 1), wire.ReasonBadUTF8},
		"bad text in a struct":     {props("x", struct{ A string }{"\xff"}), wire.ReasonBadUTF8},
		"raw bad text":             {raw("{\"x\":\"\xff\"}"), wire.ReasonBadUTF8},
		"half a surrogate pair":    {raw(`{"x":"\ud800"}`), wire.ReasonBadUTF8},
		"a channel":                {props("x", make(chan int)), wire.ReasonBadProperties},
		"endless":                  {props("x", cyclic), wire.ReasonBadProperties},
		"raw no object":            {raw(`[1]`), wire.ReasonBadProperties},
		"raw null":                 {raw(`null`), wire.ReasonBadProperties},
		"raw empty":                {raw(``), wire.ReasonBadProperties},
		"raw but not JSON":         {raw(`{"x":}`), wire.ReasonBadProperties},
		"raw more than one":        {raw(`{}{}`), wire.ReasonBadProperties},
		"raw too deep":             {raw(`{"x":` + strings.Repeat("[", 120) + strings.Repeat("]", 120) + `}`), wire.ReasonBadProperties},
		"raw double key":           {raw(`{"x":1,"x":2}`), wire.ReasonBadProperties},
		"both kinds of properties": {func(e *wire.Fields) { e.RawProperties = json.RawMessage(`{}`) }, wire.ReasonBadProperties},
		"profile flag is text":     {props("$process_person_profile", "false"), wire.ReasonBadSpecial},
		"cookieless is text":       {props("$cookieless_mode", "yes"), wire.ReasonBadSpecial},
		"cookieless":               {props("$cookieless_mode", true), wire.ReasonBadSpecial},
		"$set is no object":        {props("$set", 1), wire.ReasonBadSpecial},
		"$set twice":               {func(e *wire.Fields) { props("$set", map[string]any{})(e); e.Set = map[string]any{"a": 1} }, wire.ReasonBadSpecial},
		"identify without profile": {func(e *wire.Fields) { e.Name = "$identify"; props("$process_person_profile", false)(e) }, wire.ReasonBadSpecial},
		"alias that is cut": {func(e *wire.Fields) {
			e.Name, e.Properties = "$create_alias", map[string]any{"alias": strings.Repeat("a", 201)}
		}, wire.ReasonTooLong},
		"anonymous id with a NUL": {func(e *wire.Fields) {
			e.Name, e.Properties = "$identify", map[string]any{"$anon_distinct_id": "a\x00b"}
		}, wire.ReasonNUL},
		"alias without alias": {func(e *wire.Fields) { e.Name = "$create_alias" }, wire.ReasonBadSpecial},
		"group without type":  {func(e *wire.Fields) { e.Name = "$groupidentify"; props("$group_key", "acme")(e) }, wire.ReasonBadSpecial},
		"group without key":   {func(e *wire.Fields) { e.Name = "$groupidentify"; props("$group_type", "company")(e) }, wire.ReasonBadSpecial},
		"group with too long a key": {func(e *wire.Fields) {
			e.Name = "$groupidentify"
			e.Properties = map[string]any{"$group_type": "company", "$group_key": strings.Repeat("é", 401)}
		}, wire.ReasonBadSpecial},
		"group properties are a list": {func(e *wire.Fields) {
			e.Name = "$groupidentify"
			e.Properties = map[string]any{"$group_type": "company", "$group_key": "acme", "$group_set": []int{1}}
		}, wire.ReasonBadSpecial},
	}
	encoder := testEncoder(wire.Rules{})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := wiretest.Event()
			test.change(&f)
			_, refusal := encoder.Encode(&f)
			require.NotNil(t, refusal)
			assert.Equal(t, test.reason, refusal.Reason, refusal.Error())
		})
	}
	assert.GreaterOrEqual(t, len(tests), 40, "the corpus of reliability.md D15")
}

func TestGateLetsPass(t *testing.T) {
	for name, change := range map[string]func(*wire.Fields){
		"exactly 48 hours":    func(e *wire.Fields) { e.Timestamp = wiretest.Now.Add(-48 * time.Hour) },
		"200 characters":      func(e *wire.Fields) { e.Name, e.DistinctID = strings.Repeat("é", 200), strings.Repeat("𝄞", 200) },
		"100 surrogate pairs": func(e *wire.Fields) { e.Name = strings.Repeat("𝄞", 100) },
		"not cookieless":      func(e *wire.Fields) { e.Properties = map[string]any{"$cookieless_mode": false} },
		"a group's long key": func(e *wire.Fields) {
			e.Name, e.Properties = "$groupidentify", map[string]any{"$group_type": "company", "$group_key": strings.Repeat("é", 400)}
		},
		"before 1970":         func(e *wire.Fields) { e.Timestamp = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC) },
		"uuid of version 4":   func(e *wire.Fields) { e.UUID = uuid.New() },
		"no properties":       func(e *wire.Fields) { e.Properties = nil },
		"empty raw object":    func(e *wire.Fields) { e.Properties, e.RawProperties = nil, json.RawMessage(" {} ") },
		"same distinct ids":   func(e *wire.Fields) { e.Properties = map[string]any{"distinct_id": "user-1"} },
		"real U+FFFD":         func(e *wire.Fields) { e.Properties = map[string]any{"x": struct{ A string }{"\uFFFD"}} },
		"profile flag":        func(e *wire.Fields) { e.Properties = map[string]any{"$process_person_profile": false} },
		"just below the size": func(e *wire.Fields) { e.Properties = map[string]any{"x": strings.Repeat("a", 898_000)} },
	} {
		t.Run(name, func(t *testing.T) {
			f := wiretest.Event()
			change(&f)
			out, refusal := testEncoder(wire.Rules{}).Encode(&f)
			require.Nil(t, refusal)
			assert.True(t, json.Valid(out.Wire))
		})
	}
	f := wiretest.Event()
	f.Timestamp = wiretest.Now.Add(time.Hour)
	_, refusal := testEncoder(wire.Rules{MinAge: -1}).Encode(&f)
	assert.Nil(t, refusal, "an open gate lets live events pass")
}

func TestGateWarns(t *testing.T) {
	for _, id := range []string{"null", "NULL", "None", "anonymous", "Guest", "0", "undefined", `"null"`, "[object Object]", "NaN", "00000000-0000-0000-0000-000000000000"} {
		f := wiretest.Event()
		f.DistinctID = id
		out, refusal := testEncoder(wire.Rules{}).Encode(&f)
		require.Nil(t, refusal)
		assert.Equal(t, []string{"suspect_distinct_id"}, warningsOf(out), id)
	}
	f := wiretest.Event()
	out, _ := testEncoder(wire.Rules{}).Encode(&f)
	assert.Empty(t, out.Warnings)
	f.Name = "$group_identify"
	out, refusal := testEncoder(wire.Rules{}).Encode(&f)
	require.Nil(t, refusal)
	assert.Equal(t, []string{"group_identify_name"}, warningsOf(out))
	assert.Contains(t, string(out.Wire), `"event":"$group_identify"`, "sent as it is spelled")
}

func TestSetPolicy(t *testing.T) {
	properties := func(o wire.Rules, change func(*wire.Fields)) map[string]any {
		f := wiretest.Event()
		change(&f)
		out, refusal := testEncoder(o).Encode(&f)
		require.Nil(t, refusal)
		var sent struct{ Properties map[string]any }
		require.NoError(t, json.Unmarshal(out.Wire, &sent))
		return sent.Properties
	}
	inProperties := func(e *wire.Fields) {
		e.Properties = map[string]any{"a": 1, "$set": map[string]any{"plan": "pro"}, "z": "q\"q"}
	}
	inField := func(e *wire.Fields) { e.Set = map[string]any{"plan": "pro"} }
	inRaw := func(e *wire.Fields) {
		e.Properties, e.RawProperties = nil, json.RawMessage(`{"a":1, "$set" : {"plan":"pro"}, "z":"q\"q" }`)
	}
	pro := map[string]any{"plan": "pro"}
	for name, change := range map[string]func(*wire.Fields){"in the properties": inProperties, "in the field": inField, "in raw properties": inRaw} {
		t.Run(name, func(t *testing.T) {
			got := properties(wire.Rules{}, change)
			assert.Equal(t, pro, got["$set"])
			got = properties(wire.Rules{PersonPolicy: wire.PersonPolicySetOnce}, change)
			assert.Equal(t, pro, got["$set_once"])
			assert.NotContains(t, got, "$set")
			got = properties(wire.Rules{PersonPolicy: wire.PersonPolicyStrip}, change)
			assert.NotContains(t, got, "$set")
			assert.NotContains(t, got, "$set_once")
			assert.EqualValues(t, 1, properties(wire.Rules{PersonPolicy: wire.PersonPolicyStrip}, inRaw)["a"])
			assert.Equal(t, `q"q`, properties(wire.Rules{PersonPolicy: wire.PersonPolicyStrip}, inRaw)["z"])
		})
	}
	got := properties(wire.Rules{PersonPolicy: wire.PersonPolicyStrip}, func(e *wire.Fields) { e.Name, e.Properties, e.Set = wire.EventIdentify, nil, pro })
	assert.Equal(t, pro, got["$set"], "an identity event keeps what it is for")
}

// A later release derives the same uuids from the same content, since stamps are not content.
func TestContentIdentityOutlivesARelease(t *testing.T) {
	t.Parallel()
	ids := map[uuid.UUID]bool{}
	for _, version := range []string{"1.0.0", "1.0.1"} {
		stamps := wire.NewStamps("hogapi-go", version, "one")
		f := wiretest.Event()
		f.UUID, f.Set = uuid.Nil, map[string]any{"plan": "pro"}
		out, refusal := wire.NewEncoder(wire.NewGate(wire.Rules{Now: time.Now}), stamps, maphash.MakeSeed()).Encode(&f)
		require.Nil(t, refusal)
		refusal = wire.NewIdentity("one", 1).Assign(&out, wire.Position{}, 0)
		require.Nil(t, refusal)
		ids[out.UUID] = true
	}
	assert.Len(t, ids, 1)
}
