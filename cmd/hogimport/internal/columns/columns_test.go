package columns

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// convert is what a record becomes.
func convert(t *testing.T, record string, zone *time.Location, mappings ...string) (hogapi.Event, map[string]any, error) {
	t.Helper()
	f, err := Format(mappings, Options{Name: "json", Zone: zone})
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
		"person properties, numbers, names": {
			[]string{"$set.plan=plan", "$set_once.first=first", "amount=total|number", `"time"=clock`, "drop=secret", "source=const:shop", `x="a.b"`},
			`{"event":"buy","distinct_id":"p","timestamp":"2024-05-01T14:00:00+02:00","plan":"free","first":1,"total":"12.50","clock":"noon","secret":"s","a.b":true}`,
			hogapi.Event{Name: "buy", DistinctID: "p", Timestamp: noon},
			props{"$set": props{"plan": "free"}, "$set_once": props{"first": 1.}, "amount": 12.5, "time": "noon", "source": "shop", "x": true},
		},
		"an id": {
			[]string{"uuid=id"}, `{"event":"buy","distinct_id":"p","timestamp":"2024-05-01T12:00:00Z","id":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`,
			hogapi.Event{Name: "buy", DistinctID: "p", Timestamp: noon, UUID: uuid.MustParse("6ba7b810-9dad-11d1-80b4-00c04fd430c8")}, props{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ev, properties, err := convert(t, c.record, nil, c.mappings...)
			require.NoError(t, err)
			assert.Equal(t, c.want, properties)
			ev.RawProperties = nil
			assert.Equal(t, c.event, ev)
		})
	}
}

func TestAnIDThatIsNoUUID(t *testing.T) {
	a, _, err := convert(t, `{"event":"buy","id":17}`, nil, "uuid=id")
	require.NoError(t, err)
	b, _, err := convert(t, `{"event":"corrected","id":"17"}`, nil, "uuid=id", "x=const:y")
	require.NoError(t, err)
	assert.Equal(t, a.UUID, b.UUID, "it depends on the id alone, whatever else is mapped")
	assert.Equal(t, uuid.Version(5), a.UUID.Version())
}

func TestTimes(t *testing.T) {
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
		{"time=t|unix", `1e9`, nil, "want a number since 1970"},
		{"time=t|unix", `true`, nil, "want a text or a number"},
		{"time=t", `"2024-05-01 12:00:00.5 UTC"`, nil, "2024-05-01T12:00:00.5Z"},
		{"time=t", `"2024-05-01 05:00:00"`, pacific, "2024-05-01T12:00:00Z"},
		{"time=t", `"2024-05-01 12:00:00"`, time.UTC, "2024-05-01T12:00:00Z"},
		{"time=t", `"2024-05-01 12:00:00"`, nil, "has no offset: give --zone"},
		{"time=t", `1714564800`, nil, "add |unix (seconds), |unixms"},
		{"time=t", `"noon"`, nil, "add |layout:"},
		{"time=t|layout:02.01.2006 15:04", `"01.05.2024 05:00"`, pacific, "2024-05-01T12:00:00Z"},
		{"time=t|layout:02.01.2006 15:04", `"05/01/2024"`, pacific, "want a time such as 02.01.2006 15:04"},
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
	for _, c := range []struct{ mapping, record, want string }{
		{"plan=account.plan", `{"plan":1,"account":{"plan":2}}`, "the property plan would come from account.plan and plan"},
		{"*=properties", `{"a":1,"properties":{"a":2}}`, "the property a would come from properties.a and a"},
		{"*=properties", `{"properties":[1]}`, "properties: want an object"},
		{"*=properties|json", `{"properties":"{broken"}`, "properties: want JSON"},
		{"n=n|number", `{"n":"many"}`, "n: want a number"},
		{"person=p", `{"p":{"id":1}}`, "p: want a text or a number"},
		{"$set.a=a", `{"a":1,"$set":{"b":2}}`, "$set comes from --map and from $set"},
	} {
		_, _, err := convert(t, c.record, nil, c.mapping)
		assert.ErrorContains(t, err, c.want, c.record)
	}
}

// What is wrong with a mapping, and where.
func TestMappingsThatCannotBeUnderstood(t *testing.T) {
	for mapping, want := range map[string]string{
		"":                           "^ a target, such as time or person, is missing",
		"time":                       "    ^ = is missing: TARGET=PATH",
		"=when":                      "^ a target, such as time or person, is missing",
		"time=":                      "     ^ a name is missing",
		"time=properties.":           "                ^ a name is missing",
		"time=properties..time":      "                ^ a name is missing",
		"time=when|unx":              "          ^ want unix, unixms, unixus, layout:…, number or json",
		"time=when|":                 "          ^ want unix",
		"time=when|number":           "          ^ the time is read by unix",
		"time=when|layout:dd.mm":     "                 ^ a layout is how 2 January 2006",
		"time=when|layout:2006-01":   "                 ^ times of this layout have no offset: give --zone",
		"person=user|unix":           "            ^ unix is for the time only",
		"person=user|number":         "            ^ the person is read as it is",
		"größe=länge|unix":           "            ^ unix is for the time only",
		`time="when`:                 "     ^ this quote has no end",
		`time=wh"en`:                 "       ^ a quote belongs around a whole name",
		`time="when"x`:               "           ^ after a quoted name, . or | or the end is expected",
		"time=const:now":             "     ^ only the event, the person and properties can be constant",
		"event=const:":               "            ^ a text is missing after const:",
		"$set.=plan":                 "     ^ the name of a person property is missing",
		"drop=a|json":                "       ^ what is dropped is not read",
		"*=a|number":                 "    ^ only json can be read into many properties",
		"time=when|layout:no digits": "                 ^ a layout is how",
	} {
		_, err := Format([]string{mapping}, Options{Name: "json"})
		require.Error(t, err, mapping)
		lines := strings.Split(err.Error(), "\n")
		require.Len(t, lines, 3)
		assert.Equal(t, "  "+mapping, lines[1])
		assert.True(t, strings.HasPrefix(lines[2], "  "+want), "%s\n%s\nwant %s", mapping, lines[2], want)
	}
	_, err := Format([]string{"drop=a", "x=a"}, Options{Name: "json"})
	assert.ErrorContains(t, err, "dropped and used")
}

func TestATableNeedsItsColumns(t *testing.T) {
	f, err := Format([]string{"event=action", "person=user", "time=when|unix"}, Options{Name: "csv"})
	require.NoError(t, err)
	require.NoError(t, f.CheckColumns([]string{"action", "user", "when", "more"}))
	assert.EqualError(t, f.CheckColumns([]string{"action", "who", "when"}),
		`the table has no column "user", which --map 'person=user' names: it has action, who, when`)
	f, err = Format(nil, Options{Name: "csv"})
	require.NoError(t, err)
	require.NoError(t, f.CheckColumns([]string{"event", "distinct_id", "timestamp"}))
	assert.EqualError(t, f.CheckColumns([]string{"event", "user", "timestamp"}),
		"nothing says which column is the person: add --map 'person=COLUMN'; the table has event, user, timestamp")
}

func TestTheNameOfTheSourceHasTheMapping(t *testing.T) {
	options := func(mappings ...string) string {
		f, err := Format(mappings, Options{Name: "json"})
		require.NoError(t, err)
		return f.Options
	}
	assert.NotEqual(t, options("time=a"), options("time=b"), "an import does not resume with another mapping")
}

// Whatever a mapping is, it is understood or refused with a place in it; whatever a record is, it makes an event of JSON
// properties, or an error.
func FuzzMapping(f *testing.F) {
	f.Add("time=properties.time|unix", `{"properties":{"time":1}}`)
	f.Add(`"a"="b.c"|json`, `{"b.c":"{}"}`)
	f.Add("*=a|json", `{"a":"{\"b\":1}","b":2}`)
	f.Add("$set.a=b", `{"b":null}`)
	f.Fuzz(func(t *testing.T, mapping, record string) {
		format, err := Format([]string{mapping}, Options{Name: "json", Zone: time.UTC})
		if err != nil {
			var bad *Error
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
