package generic

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// convert makes the event of a record.
func convert(t *testing.T, record string, zone *time.Location, mappings ...string) (hogapi.Event, map[string]any, error) {
	t.Helper()
	f, err := Format(&Options{Name: "json", Map: mappings, Zone: zone})
	require.NoError(t, err)
	events, err := f.Convert([]byte(record))
	if err != nil {
		return hogapi.Event{}, nil, err
	}
	require.Len(t, events, 1)
	assert.Equal(t, f.ID([]byte(record)), events[0].UUID, "a record that is rejected has the same uuid")
	var properties map[string]any
	require.NoError(t, json.Unmarshal(events[0].RawProperties, &properties))
	return events[0], properties, nil
}

var noon = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

func TestRecordsBecomeEvents(t *testing.T) {
	t.Parallel()
	type props = map[string]any
	for name, c := range map[string]struct {
		mappings []string
		record   string
		event    hogapi.Event
		want     props
	}{
		"usual names": {
			nil, `{"event":"buy","distinct_id":"p","timestamp":"2024-05-01T12:00:00Z","n":1}`,
			hogapi.Event{Name: "buy", DistinctID: "p", Timestamp: noon}, props{"n": 1.},
		},
		"nested": {
			[]string{"time=properties.time|unix", "event=name", "person=user.id"},
			`{"name":"buy","user":{"id":7,"plan":"free"},"properties":{"time":1714564800,"n":1}}`,
			hogapi.Event{Name: "buy", DistinctID: "7", Timestamp: noon}, props{"user": props{"plan": "free"}, "properties": props{"n": 1.}},
		},
		"spread": {
			[]string{"time=properties.time|unixms", "event=const:buy", "person=properties.user", "*=properties"},
			`{"properties":{"time":1714564800000,"user":"p","n":1},"m":2}`,
			hogapi.Event{Name: "buy", DistinctID: "p", Timestamp: noon}, props{"n": 1., "m": 2.},
		},
		"JSON in a column": {
			[]string{"*=data|json", "time=data.at"},
			`{"event":"buy","distinct_id":"p","data":"{\"at\":\"2024-05-01 12:00:00+00\",\"n\":1}"}`,
			hogapi.Event{Name: "buy", DistinctID: "p", Timestamp: noon}, props{"n": 1.},
		},
		"the first that is not empty": {
			[]string{"person=user", "person=device", "anonymous=device", "time=when|unix"},
			`{"event":"buy","user":"","device":"d","when":"1714564800.5"}`,
			hogapi.Event{Name: "buy", DistinctID: "d", AnonymousID: "d", Timestamp: noon.Add(500 * time.Millisecond)}, props{},
		},
		"a constant where all else is empty": {
			[]string{"event=const:visit", "event=name", "plan=const:none", "plan=p"},
			`{"name":"buy","distinct_id":"d","timestamp":"2024-05-01T12:00:00Z","p":"","anonymous_id":null}`,
			hogapi.Event{Name: "buy", DistinctID: "d", Timestamp: noon}, props{"plan": "none"},
		},
		"person properties, numbers, names": {
			[]string{"$set.plan=plan", "$set_once.first=first", "amount=total|number", `"time"=clock`, "drop=secret", "source=const:shop", `x="a.b"`},
			`{"event":"buy","distinct_id":"p","timestamp":"2024-05-01T14:00:00+02:00","plan":"free","first":1,"total":"12.50","clock":"noon","secret":"s","a.b":true}`,
			hogapi.Event{Name: "buy", DistinctID: "p", Timestamp: noon},
			props{"$set": props{"plan": "free"}, "$set_once": props{"first": 1.}, "amount": 12.5, "time": "noon", "source": "shop", "x": true},
		},
		"a usual name that is not needed": {
			[]string{"time=when|unix"}, `{"event":"buy","distinct_id":"p","when":1714564800,"timestamp":"x"}`,
			hogapi.Event{Name: "buy", DistinctID: "p", Timestamp: noon}, props{"timestamp": "x"},
		},
		"a usual name that is a property": {
			[]string{"at=timestamp"}, `{"event":"buy","distinct_id":"p","timestamp":"2024-05-01T12:00:00Z"}`,
			hogapi.Event{Name: "buy", DistinctID: "p"}, props{"at": "2024-05-01T12:00:00Z"},
		},
		"an object that is a text here": {
			[]string{"time=properties.time"}, `{"event":"buy","distinct_id":"p","properties":"text"}`,
			hogapi.Event{Name: "buy", DistinctID: "p"}, props{"properties": "text"},
		},
		"an object that is used up": {
			[]string{"person=user.id"}, `{"event":"buy","user":{"id":0},"a":{}}`,
			hogapi.Event{Name: "buy", DistinctID: "0"}, props{"a": props{}},
		},
		"JSON that is no text": {
			[]string{"*=data|json", "a=b|json"}, `{"event":"buy","distinct_id":"p","data":{"n":1},"b":[1]}`,
			hogapi.Event{Name: "buy", DistinctID: "p"}, props{"n": 1., "a": []any{1.}},
		},
		"numbers in texts": {
			[]string{"a=a|number", "b=b|number", "c=c|number", "d=d|number"}, `{"event":"buy","distinct_id":"p","a":"0","b":"9e1","c":"-5","d":1.5}`,
			hogapi.Event{Name: "buy", DistinctID: "p"}, props{"a": 0., "b": 90., "c": -5., "d": 1.5},
		},
		"an id": {
			[]string{"uuid=id"}, `{"event":"buy","distinct_id":"p","timestamp":"2024-05-01T12:00:00Z","id":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`,
			hogapi.Event{Name: "buy", DistinctID: "p", Timestamp: noon, UUID: uuid.MustParse("6ba7b810-9dad-11d1-80b4-00c04fd430c8")}, props{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev, properties, err := convert(t, c.record, nil, c.mappings...)
			require.NoError(t, err)
			assert.Equal(t, c.want, properties)
			ev.RawProperties = nil
			assert.Equal(t, c.event, ev)
		})
	}
}

func TestAnIDThatIsNoUUID(t *testing.T) {
	t.Parallel()
	a, _, err := convert(t, `{"event":"buy","id":17}`, nil, "uuid=id")
	require.NoError(t, err)
	b, _, err := convert(t, `{"event":"corrected","id":"17"}`, nil, "uuid=id", "x=const:y")
	require.NoError(t, err)
	assert.Equal(t, a.UUID, b.UUID, "it depends on the id alone, whatever else is mapped")
	assert.Equal(t, uuid.Version(5), a.UUID.Version())

	const canonical = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
	for id, isUUID := range map[string]bool{
		canonical: true, strings.ToUpper(canonical): true, strings.ReplaceAll(canonical, "-", ""): false, "{" + canonical + "}": false,
		"urn:uuid:" + canonical: false, strings.Repeat("x", 36): false,
	} {
		ev, _, err := convert(t, `{"event":"buy","id":"`+id+`"}`, nil, "uuid=id")
		require.NoError(t, err)
		assert.Equal(t, isUUID, ev.UUID.String() == canonical, id)
		assert.NotEqual(t, uuid.Nil, ev.UUID, id)
	}
	f, err := Format(&Options{Map: []string{"uuid=id", "*=data"}})
	require.NoError(t, err)
	assert.Equal(t, a.UUID == uuid.Nil, f.ID([]byte(`{"id":17,"data":"no object"}`)) == uuid.Nil, "a reject has the uuid of its id")
}

func TestTimes(t *testing.T) {
	t.Parallel()
	pacific, err := time.LoadLocation("US/Pacific")
	require.NoError(t, err)
	for _, c := range []struct {
		mapping, value string
		zone           *time.Location
		want           string // or the error
	}{
		{"time=t|unix", `1714564800`, nil, "2024-05-01T12:00:00Z"},
		{"time=t|unix", `"1714564800.123456789"`, nil, "2024-05-01T12:00:00.123456789Z"},
		{"time=t|unix", `-1.5`, nil, "1969-12-31T23:59:58.5Z"},
		{"time=t|unix", `-0.25`, nil, "1969-12-31T23:59:59.75Z"},
		{"time=t|unixms", `1714564800123`, nil, "2024-05-01T12:00:00.123Z"},
		{"time=t|unixus", `1714564800123456`, nil, "2024-05-01T12:00:00.123456Z"},
		{"time=t|unix", `99999999999999999999`, nil, "want a number since 1970"},
		{"time=t|unix", `1.709251198E9`, nil, "2024-02-29T23:59:58Z"},
		{"time=t|unixms", `"1.7092511985e+12"`, nil, "2024-02-29T23:59:58.5Z"},
		{"time=t|unix", `-15e-1`, nil, "1969-12-31T23:59:58.5Z"},
		{"time=t|unix", `17092511985E-1`, nil, "2024-02-29T23:59:58.5Z"},
		{"time=t|unix", `1E-9`, nil, "1970-01-01T00:00:00.000000001Z"},
		{"time=t|unix", `9e9`, nil, "2255-03-14T16:00:00Z"},
		{"time=t|unix", `1e99`, nil, "want a number since 1970"},
		{"time=t|unix", `"1e"`, nil, "want a number since 1970"},
		{"time=t|unix", `1e-40`, nil, "1970-01-01T00:00:00Z"},
		{"time=t|unix", `1e-41`, nil, "want a number since 1970"},
		{"time=t|unix", `1e-99`, nil, "want a number since 1970"},
		{"time=t|unix", `".5"`, nil, "want a number since 1970"},
		{"time=t|unix", `"1.5x"`, nil, "want a number since 1970"},
		{"time=t|unix", `"1714564800.00000000000000000000000000000"`, nil, "2024-05-01T12:00:00Z"},
		{"time=t|unix", `"1714564800.000000000000000000000000000000"`, nil, "want a number since 1970"},
		{"time=t|unix", `"0x10"`, nil, "want a number since 1970"},
		{"time=t|unix", `"1_000"`, nil, "want a number since 1970"},
		{"time=t|unix", `true`, nil, "want a text or a number"},
		{"time=t", `"2024-05-01 12:00:00.5 UTC"`, nil, "2024-05-01T12:00:00.5Z"},
		{"time=t", `"2024-05-01 05:00:00"`, pacific, "2024-05-01T12:00:00Z"},
		{"time=t", `"2024-05-01 12:00:00"`, time.UTC, "2024-05-01T12:00:00Z"},
		{"time=t", `"2024-05-01 12:00:00"`, nil, "has no offset: give Options.Zone"},
		{"time=t", `1714564800`, nil, "add |unix (seconds), |unixms"},
		{"time=t", `"noon"`, nil, "add |layout:"},
		{"time=t|layout:02.01.2006 15:04", `"01.05.2024 05:00"`, pacific, "2024-05-01T12:00:00Z"},
		{"time=t|layout:02.01.2006 15:04", `"05/01/2024"`, pacific, "want a time such as 02.01.2006 15:04"},
		{"time=t|layout:2006-01-02 15:04 Z07:00", `"2024-05-01 14:00 +02:00"`, nil, "2024-05-01T12:00:00Z"},
		{"time=t|layout:2006-01-02 15:04 -0700", `"2024-05-01 14:00 +0200"`, nil, "2024-05-01T12:00:00Z"},
		{"time=t|layout:2006-01-02 15:04:05 MST", `"2024-01-01 10:00:00 PST"`, nil, "PST of the time"},
		{"time=t|layout:2006-01-02 15:04:05 MST", `"2024-01-01 10:00:00 PST"`, pacific, "2024-01-01T18:00:00Z"},
		{"time=t|layout:2006-01-02 15:04:05 MST", `"2024-01-01 10:00:00 CET"`, pacific, "CET of the time"},
		{"time=t|layout:2006-01-02 15:04:05 MST", `"2024-01-01 10:00:00 UTC"`, pacific, "2024-01-01T10:00:00Z"},
		{"time=t|layout:2006-01-02 15:04:05 MST", `"2024-01-01 10:00:00 GMT"`, nil, "2024-01-01T10:00:00Z"},
		{"time=t|layout:2006-01-02 15:04:05 -0700 MST", `"2024-01-01 10:00:00 -0800 PST"`, nil, "2024-01-01T18:00:00Z"},
		{"time=t", `"2024-03-10 02:30:00"`, pacific, "the clocks of US/Pacific skip 2024-03-10 02:30:00: is it the right zone"},
		{"time=t|layout:02.01.2006 15:04", `"10.03.2024 02:30"`, pacific, "the clocks of US/Pacific skip 2024-03-10 02:30:00"},
		{"time=t", `"2024-11-03 01:30:00"`, pacific, "2024-11-03T08:30:00Z"},
		{"time=t", `"2024-05-01"`, pacific, "2024-05-01T07:00:00Z"},
		{"time=t", `["2024-05-01"]`, nil, "not a list"},
		{"time=t", `null`, nil, "0001-01-01T00:00:00Z"},
	} {
		ev, _, err := convert(t, `{"event":"e","t":`+c.value+`}`, c.zone, c.mapping)
		if err != nil {
			assert.ErrorContains(t, err, c.want, c.value)
			assert.ErrorContains(t, err, "t: ", "it names the place")
			continue
		}
		assert.Equal(t, c.want, ev.Timestamp.Format(time.RFC3339Nano), "%s of %s", c.mapping, c.value)
	}
}

func TestRecordsThatFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ mapping, record, want string }{
		{"plan=account.plan", `{"plan":1,"account":{"plan":2}}`, "the property plan would come from plan and account.plan"},
		{"*=properties", `{"a":1,"properties":{"a":2}}`, "the property a would come from properties.a and a"},
		{"*=properties", `{"properties":[1]}`, "properties: want an object"},
		{"*=properties|json", `{"properties":"{broken"}`, "properties: want JSON"},
		{"*=properties", `{"properties":"{\"a\":1}"}`, "properties: want an object"},
		{"*=a.b|json", `{"a":{"b":"{broken","c":1}}`, "a.b: want JSON"},
		{"n=n|number", `{"n":"many"}`, "n: want a number"},
		{"n=n|number", `{"n":"true"}`, "n: want a number"},
		{"n=n|number", `{"n":"[1]"}`, "n: want a number"},
		{"n=n|number", `{"n":"1x"}`, "n: want a number"},
		{"n=n|number", `{"n":"-"}`, "n: want a number"},
		{"person=p", `{"p":{"id":1}}`, "p: want a text or a number, not an object, of which a member can be named (a.b)"},
		{"person=p", `{"p":["u1","u2"]}`, `p: want a text or a number, not a list: ["u1","u2"]`},
		{"event=p", `{"p":true}`, "p: want a text or a number, not true"},
		{"$set.a=a", `{"a":1,"$set":{"b":2}}`, "the property $set would come from $set and the map"},
	} {
		_, _, err := convert(t, c.record, nil, c.mapping)
		assert.ErrorContains(t, err, c.want, c.record)
	}
}

// The error of a mapping names the fault and points at it.
func TestMappingsThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	for mapping, want := range map[string]string{
		`""=when`:                       "^ a target, such as time or person, is missing",
		"":                              "^ a target, such as time or person, is missing",
		"time":                          "    ^ = is missing: TARGET=PATH",
		"time =when":                    "^ a target with blanks around it belongs in quotes",
		"=when":                         "^ a target, such as time or person, is missing",
		"time=":                         "     ^ a name is missing",
		"time=properties.":              "                ^ a name is missing",
		"time=properties..time":         "                ^ a name is missing",
		"time=when|unx":                 "          ^ want unix, unixms, unixus, unixns, layout:… or zone:…",
		"time=when|":                    "          ^ want unix",
		"time=when|number":              "          ^ the time is read by unix",
		"time=when|layout:dd.mm":        "                 ^ a layout is how 2 January 2006",
		"time=when|layout:02.01.2006":   "                 ^ times of this layout have no offset: give Options.Zone",
		"time=when|layout:2006-01":      "                 ^ the layout lacks the year, the month or the day",
		"time=when|layout:15:04 Z07":    "                 ^ the layout lacks",
		"time=w|layout:2006-01-02 3Z07": "              ^ the layout has an hour of 12 without PM",
		"person=user|unix":              "            ^ unix is for the time only",
		"person=user|number":            "            ^ the person is read as it is",
		"größe=länge|unix":              "            ^ unix is for the time only",
		`time="when`:                    "     ^ this quote has no end",
		`time=wh"en`:                    "       ^ a quote belongs around a whole name",
		`time="when"x`:                  "           ^ after a quoted name, . or | or the end is expected",
		"time=const:now":                "     ^ only the event, the person and properties can be constant",
		"event=const:":                  "            ^ a text is missing after const:",
		"$set.=plan":                    "     ^ the name of a person property is missing",
		"drop=a|json":                   "       ^ what is dropped is not read",
		"*=a|number":                    "    ^ only json can be read into many properties",
		"time=when|layout:no digits":    "                 ^ a layout is how",
		`"a\xff"=b`:                     "^ the name is not UTF-8",
	} {
		_, err := Format(&Options{Map: []string{mapping}})
		require.Error(t, err, mapping)
		lines := strings.Split(err.Error(), "\n")
		require.Len(t, lines, 3)
		assert.Equal(t, "  "+mapping, lines[1])
		assert.True(t, strings.HasPrefix(lines[2], "  "+want), "%s\n%s\nwant %s", mapping, lines[2], want)
	}
	_, err := Format(&Options{Map: []string{"drop=a", "x=a"}})
	assert.ErrorContains(t, err, "dropped and used")
}

func TestATableNeedsItsColumns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mappings []string
		columns  string
		want     string // empty: it fits
	}{
		{[]string{"event=action", "person=user", "time=when|unix"}, "action user when more", ""},
		{[]string{"event=const:e", "person=user", "time=when.at|unix", "drop=none"}, "user when", ""},
		{nil, "event distinct_id timestamp", ""},
		{
			[]string{"event=action", "person=user", "plan=p", "time=when|unix"}, "action who at",
			"the table has no column for 'person=user', 'plan=p', 'time=when|unix'; the table has action, who, at",
		},
		{
			[]string{"plan=p"}, "event user at",
			"the table has no column for 'plan=p'; nothing says which columns are the person, the time: name them in Options.Map; the table has event, user, at",
		},
		{nil, "event distinct_id at", "nothing says which column is the time: name it in Options.Map; the table has event, distinct_id, at"},
		{
			nil, "signup ann@example.com 2024-05-01T12:00:00Z",
			"nothing says which columns are the event, the person, the time: name them in Options.Map; " +
				"its first row looks like data: if the table has no header, name its columns in Options.Header",
		},
	} {
		f, err := Format(&Options{Map: c.mappings})
		require.NoError(t, err)
		err = f.CheckColumns(strings.Fields(c.columns))
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, c.want)
	}
}

// An error shows only the beginning of a long text.
func TestWhatIsLongIsCut(t *testing.T) {
	t.Parallel()
	name, value := strings.Repeat("ü", 40), strings.Repeat("1", 40)
	assert.Equal(t, name+", "+name+"…", list([]string{name, name + "n"}))
	columns := slices.Repeat([]string{"c"}, 21)
	assert.Equal(t, strings.Join(columns[:20], ", "), list(columns[:20]))
	assert.Equal(t, strings.Join(columns[:20], ", ")+", and 1 more", list(columns))
	assert.Equal(t, value, shown([]byte(value)))
	assert.Equal(t, value+"…", shown([]byte(value+"1")))
	_, err := Format(&Options{Map: []string{"event=const:a\xff"}})
	bad := new(MapError)
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, len("event=const:")+1, bad.Column)
}

func TestTheNameOfTheSourceHasTheMapping(t *testing.T) {
	t.Parallel()
	options := func(mappings ...string) string {
		f, err := Format(&Options{Map: mappings})
		require.NoError(t, err)
		return f.Options
	}
	assert.NotEqual(t, options("time=a"), options("time=b"), "an import does not resume with another mapping")
	for want, o := range map[string]Options{
		"time=a, zone none": {}, "time=a, zone UTC": {Zone: time.UTC}, `time=a, zone none, header ["x" "y"]`: {Header: []string{"x", "y"}},
	} {
		o.Map = []string{"time=a"}
		f, err := Format(&o)
		require.NoError(t, err)
		assert.Equal(t, "mapping 4; "+want, f.Options)
		o.Mapping = 3
		f, err = Format(&o)
		require.NoError(t, err)
		assert.Equal(t, want, f.Options, "the mapping of earlier releases")
	}
	_, err := Format(&Options{Mapping: 2})
	require.ErrorContains(t, err, "Mapping: want a version from 3 to 4, not 2")
}

// Any mapping is understood, or refused with a place in it. Any record makes an event of JSON
// properties, or an error.
func FuzzMapping(f *testing.F) {
	f.Add("time=properties.time|unix", `{"properties":{"time":1}}`)
	f.Add(`"a"="b.c"|json`, `{"b.c":"{}"}`)
	f.Add("*=a|json", `{"a":"{\"b\":1}","b":2}`)
	f.Add("$set.a=b", `{"b":null}`)
	f.Fuzz(func(t *testing.T, mapping, record string) {
		format, err := Format(&Options{Map: []string{mapping}, Zone: time.UTC})
		if err != nil {
			var bad *MapError
			require.ErrorAs(t, err, &bad)
			require.Positive(t, bad.Column)
			require.LessOrEqual(t, bad.Column, len([]rune(mapping))+1)
			return
		}
		if !json.Valid([]byte(record)) {
			return
		}
		events, err := format.Convert([]byte(record))
		if err == nil {
			require.True(t, json.Valid(events[0].RawProperties), "%s", events[0].RawProperties)
		}
	})
}
