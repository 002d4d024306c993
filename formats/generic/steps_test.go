package generic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
)

// Each entry of the map changes the record as the table says, or refuses it with the place and the kind.
func TestStepsOfAMap(t *testing.T) {
	t.Parallel()
	const more = `"event":"e","distinct_id":"p","timestamp":"2024-05-01T12:00:00Z"`
	for name, c := range map[string]struct {
		mappings []string
		members  string
		want     string // the properties, or the error
	}{
		"one column to several targets":        {[]string{"a=x", "b=x", "$set.c=x", "x=x"}, `"x":7`, `{"a":7,"b":7,"x":7,"$set":{"c":7}}`},
		"one column to several kinds":          {[]string{"a=x|number", "b=x|text", "c=x|bool"}, `"x":"1"`, `{"a":1,"b":"1","c":true}`},
		"the first kind that has a value":      {[]string{"a=x|number", "a=y|number:1234,5", "a=const:none"}, `"x":"","y":"2,50"`, `{"a":2.50}`},
		"JSON in a column":                     {[]string{"a=x|json.p.q", "b=x|json.r"}, `"x":"{\"p\":{\"q\":1,\"s\":2},\"r\":[3],\"t\":4}"`, `{"x":{"p":{"s":2},"t":4},"a":1,"b":[3]}`},
		"JSON in a column that is used up":     {[]string{"a=x|json.p"}, `"x":"{\"p\":1}"`, `{"a":1}`},
		"JSON in a column, and the column":     {[]string{"a=x|json.p", "x=x"}, `"x":"{\"p\":1}"`, `{"a":1,"x":"{\"p\":1}"}`},
		"JSON within JSON":                     {[]string{"a=x|json.p|json.q|number"}, `"x":"{\"p\":\"{\\\"q\\\":\\\"5\\\"}\"}"`, `{"a":5}`},
		"JSON that is an object already":       {[]string{"a=x|json.p"}, `"x":{"p":1,"q":2}`, `{"x":{"q":2},"a":1}`},
		"JSON, all of it":                      {[]string{"*=x|json.p", "b=x|json.p.b|text"}, `"x":"{\"p\":{\"a\":1,\"b\":2},\"q\":3}"`, `{"a":1,"x":{"q":3},"b":"2"}`},
		"JSON, a member dropped":               {[]string{"drop=x|json.mail"}, `"x":"{\"mail\":\"a@b.c\",\"q\":3}"`, `{"x":{"q":3}}`},
		"JSON with quoted names":               {[]string{`a="x.y"|json."p.q"`}, `"x.y":"{\"p.q\":1}"`, `{"a":1}`},
		"no JSON in a column":                  {[]string{"a=x|json.p"}, `"x":""`, `{"x":""}`},
		"JSON that is null":                    {[]string{"a=x|json.p"}, `"x":"null"`, `{"x":"null"}`},
		"JSON that is no object":               {[]string{"a=x|json.p"}, `"x":"[1]"`, `x: want an object, not [1]`},
		"JSON that is cut":                     {[]string{"a=x|json.p"}, `"x":"{\"p\":1"`, `x: want JSON, not "{\"p\":1"`},
		"JSON with a name twice":               {[]string{"a=x|json.p"}, `"x":"{\"p\":1,\"p\":2}"`, `p`},
		"digits that a float would lose":       {[]string{"a=x|json.id|text", "b=y|text", "c=z|number"}, `"x":"{\"id\":12345678901234567890}","y":9007199254740993,"z":"0.1000000000000000055"`, `{"a":"12345678901234567890","b":"9007199254740993","c":0.1000000000000000055}`},
		"kinds of texts":                       {[]string{"a=a|text", "b=b|text", "c=c|text"}, `"a":true,"b":"x","c":1.50`, `{"a":"true","b":"x","c":"1.50"}`},
		"a list is no text":                    {[]string{"a=a|text"}, `"a":[1]`, `a: want a text, a number, true or false, not [1]`},
		"true and false":                       {[]string{"a=a|bool", "b=b|bool", "c=c|bool", "d=d|bool"}, `"a":"Yes","b":0,"c":false,"d":"T"`, `{"a":true,"b":false,"c":false,"d":true}`},
		"neither true nor false":               {[]string{"a=a|bool"}, `"a":"maybe"`, `a: want true or false (t, f, yes, no, y, n, 1, 0), not "maybe"`},
		"numbers in form":                      {[]string{"a=a|number:1.234,5", "b=b|number:1 234,5", "c=c|number:1,234.5", "d=d|number:1234,5", "e=e|number:1'234.5"}, `"a":"-1.234.567,890","b":"12` + "\u202f" + `345,6","c":"+1,234","d":7.5,"e":"999"`, `{"a":-1234567.890,"b":12345.6,"c":1234,"d":7.5,"e":999}`},
		"a number of another form":             {[]string{"a=a|number:1234,5"}, `"a":"1.234"`, `a: want a number such as 1234,5, not "1.234"`},
		"groups that are not of three":         {[]string{"a=a|number:1.234,5"}, `"a":"1.23"`, `a: want a number such as 1.234,5, not "1.23"`},
		"a group too long":                     {[]string{"a=a|number:1.234,5"}, `"a":"1234.567"`, `a: want a number such as 1.234,5`},
		"a group of nothing":                   {[]string{"a=a|number:1.234,5"}, `"a":"1..234"`, `a: want a number such as 1.234,5`},
		"a number and more":                    {[]string{"a=a|number:1.234,5"}, `"a":"12,5 €"`, `a: want a number such as 1.234,5`},
		"two signs":                            {[]string{"a=a|number:1.234,5"}, `"a":"+-5"`, `a: want a number such as 1.234,5`},
		"a point without digits":               {[]string{"a=a|number:1.234,5"}, `"a":"12,"`, `a: want a number such as 1.234,5`},
		"a number that begins with 0":          {[]string{"a=a|number:1.234,5"}, `"a":"007"`, `a: want a number, not "007"`},
		"values through a table":               {[]string{"a=a|table:free=Free,pro=Pro Plan,*=*", "b=b|table:free=Free,*=other", "c=c|table:1=one,2=two"}, `"a":"pro","b":"trial","c":2`, `{"a":"Pro Plan","b":"other","c":"two"}`},
		"a value that stays":                   {[]string{"a=a|table:x=y,*=*", "b=b|table:x=*"}, `"a":12.50,"b":"x"`, `{"a":12.50,"b":"x"}`},
		"a table makes a value empty":          {[]string{"a=a|table:NULL=,*=*", "a=b"}, `"a":"NULL","b":1`, `{"a":1}`},
		"a table, and a kind":                  {[]string{"a=a|table:low=1,high=2|number"}, `"a":"high"`, `{"a":2}`},
		"a value that a table lacks":           {[]string{"a=a|table:low=1,high=2"}, `"a":"mid"`, `a: the table has no "mid": add it, or *=* to keep all others`},
		"signs in a table":                     {[]string{`a=a|table:"a,b=c"="d|e","*"=star`, `b=b|table:"*"=star,*=no`}, `"a":"a,b=c","b":"*"`, `{"a":"d|e","b":"star"}`},
		"a list has no place in a table":       {[]string{"a=a|table:x=y,*=*"}, `"a":[1]`, `a: want a text, a number, true or false, not [1]`},
		"all that is empty":                    {[]string{"drop=*|empty"}, `"a":"","b":null,"c":0,"d":" ","e":{"f":""}`, `{"c":0,"d":" ","e":{"f":""}}`},
		"a column where it is empty":           {[]string{"drop=a|empty", "drop=b|empty", "drop=c.d|empty"}, `"a":"","b":1,"c":{"d":null,"e":""},"f":""`, `{"b":1,"c":{"e":""},"f":""}`},
		"a column of the name *":               {[]string{`drop="*"|empty`}, `"*":"","a":""`, `{"a":""}`},
		"a column that a condition names":      {[]string{"skip=type|is:test", "skip=x.y|empty"}, `"type":"live","x":{"y": 1,"z":2}`, `{"type":"live","x":{"y": 1,"z":2}}`},
		"a column that only a condition needs": {[]string{"skip=type|is:test", "drop=type"}, `"type":"live"`, `{}`},
		"a condition of a list":                {[]string{"skip=type|is:test"}, `"type":["test"]`, `type: want a text, a number, true or false, not ["test"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := Format(&Options{Map: c.mappings})
			require.NoError(t, err)
			events, err := f.Convert([]byte("{" + more + "," + c.members + "}"))
			if !strings.HasPrefix(c.want, "{") {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.Len(t, events, 1)
			assert.JSONEq(t, c.want, string(events[0].RawProperties))
			for _, number := range strings.FieldsFunc(c.want, func(r rune) bool { return strings.ContainsRune(`{}[],":`, r) }) {
				assert.Contains(t, string(events[0].RawProperties), number, "no digit is lost")
			}
		})
	}
}

func TestEventsThroughATable(t *testing.T) {
	t.Parallel()
	mappings := []string{"event=action|table:page_view=$pageview,noise=,*=*", "event=kind", "person=who|table:admin=,*=*", "person=device"}
	for record, want := range map[string]string{
		`{"action":"page_view","who":"ann"}`:                "$pageview ann",
		`{"action":"buy","who":"admin","device":"d1"}`:      "buy d1",
		`{"action":"noise","kind":"other","who":"ann"}`:     "other ann",
		`{"action":"noise","device":"d1","who":"ann"}`:      " ann",
		`{"action":17,"who":18,"kind":"x","device":"none"}`: "17 18",
	} {
		ev, _, err := convert(t, record, nil, mappings...)
		require.NoError(t, err)
		assert.Equal(t, want, ev.Name+" "+ev.DistinctID, record)
	}
	_, _, err := convert(t, `{"action":"buy"}`, nil, "event=action|table:page_view=$pageview")
	assert.EqualError(t, err, `action: the table has no "buy": add it, or *=* to keep all others`)
}

func TestTimesOfAZoneInAColumn(t *testing.T) {
	t.Parallel()
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	require.NoError(t, err)
	for _, c := range []struct {
		mapping, value, zone string
		byDefault            *time.Location
		want                 string // or the error
	}{
		{"time=t|zone:tz", `"2024-05-01 14:00"`, `"Europe/Berlin"`, nil, "2024-05-01T12:00:00Z"},
		{"time=t|zone:tz", `"2024-05-01 14:00"`, `"+02:00"`, nil, "2024-05-01T12:00:00Z"},
		{"time=t|zone:tz", `"2024-05-01 14:00"`, `" +0230 "`, nil, "2024-05-01T11:30:00Z"},
		{"time=t|zone:tz", `"2024-05-01 14:00"`, `"-07"`, nil, "2024-05-01T21:00:00Z"},
		{"time=t|zone:tz", `"2024-05-01 14:00"`, `"Z"`, tokyo, "2024-05-01T14:00:00Z"},
		{"time=t|zone:tz", `"2024-05-01 14:00"`, `"UTC"`, tokyo, "2024-05-01T14:00:00Z"},
		{"time=t|zone:tz", `"2024-05-01 14:00"`, `""`, tokyo, "2024-05-01T05:00:00Z"},
		{"time=t|zone:tz", `"2024-05-01T14:00:00+02:00"`, `"Asia/Tokyo"`, nil, "2024-05-01T12:00:00Z"},
		{"time=t|zone:tz|layout:02.01.2006 15:04", `"01.05.2024 14:00"`, `"Europe/Berlin"`, nil, "2024-05-01T12:00:00Z"},
		{"time=t|zone:tz", `"2024-05-01 14:00"`, `null`, nil, "t: the time \"2024-05-01 14:00\" has no offset: give Options.Zone"},
		{"time=t|zone:tz|layout:02.01.2006 15:04", `"01.05.2024 14:00"`, `""`, nil, `t: tz is empty, and the time "01.05.2024 14:00" has no offset: give Options.Zone`},
		{"time=t|zone:tz", `"2024-05-01 14:00"`, `"Europe/Atlantis"`, tokyo, `tz: want a time zone such as Europe/Berlin or +02:00, not "Europe/Atlantis"`},
		{"time=t|zone:tz", `"2024-05-01 14:00"`, `"Local"`, tokyo, "tz: want a time zone"},
		{"time=t|zone:tz", `"2024-05-01 14:00"`, `"../UTC"`, tokyo, "tz: want a time zone"},
		{"time=t|zone:tz", `"2024-05-01 14:00"`, `120`, tokyo, "tz: want a time zone such as Europe/Berlin or +02:00, not 120"},
		{"time=t|zone:tz", `"2024-03-31 02:30"`, `"Europe/Berlin"`, nil, "t: the clocks of Europe/Berlin skip 2024-03-31 02:30:00"},
		{"time=t|unixns", `1714564800123456789`, `""`, nil, "2024-05-01T12:00:00.123456789Z"},
		{"time=t|unixns", `"1714564800123456789"`, `""`, nil, "2024-05-01T12:00:00.123456789Z"},
		{"time=t|unixns", `-1`, `""`, nil, "1969-12-31T23:59:59.999999999Z"},
		{"time=t|unixns", `"1.5 s"`, `""`, nil, "t: want a number since 1970"},
		{"time=t|unixus", `1.7145648001234e15`, `""`, nil, "2024-05-01T12:00:00.1234Z"},
	} {
		ev, properties, err := convert(t, `{"event":"e","t":`+c.value+`,"tz":`+c.zone+`}`, c.byDefault, c.mapping)
		if err != nil {
			assert.ErrorContains(t, err, c.want, c.mapping+" "+c.value)
			continue
		}
		assert.Equal(t, c.want, ev.Timestamp.Format(time.RFC3339Nano), "%s of %s in %s", c.mapping, c.value, c.zone)
		assert.Contains(t, properties, "tz", "the column of the zone stays")
	}
	_, properties, err := convert(t, `{"event":"e","t":"2024-05-01 14:00","tz":"UTC"}`, nil, "time=t|zone:tz", "drop=tz")
	require.NoError(t, err)
	assert.Empty(t, properties)
}

func TestRecordsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mapping, record string
		isOut           bool
	}{
		{"skip=type|is:test", `{"type":"test"}`, true},
		{"skip=type|is:test", `{"type":"Test"}`, false},
		{"skip=type|is:test", `{}`, false},
		{"skip=type|is:test,demo", `{"type":"demo"}`, true},
		{`skip=type|is:"a,b"`, `{"type":"a,b"}`, true},
		{`skip=type|is:"a,b"`, `{"type":"a"}`, false},
		{"skip=n|is:0", `{"n":0}`, true},
		{"skip=n|is:0", `{"n":"0"}`, true},
		{"skip=bot|is:true", `{"bot":true}`, true},
		{"skip=type|not:live,beta", `{"type":"beta"}`, false},
		{"skip=type|not:live,beta", `{"type":"x"}`, true},
		{"skip=type|not:live", `{"type":""}`, true},
		{"skip=type|not:live", `{}`, true},
		{"skip=who|empty", `{"who":""}`, true},
		{"skip=who|empty", `{"who":null}`, true},
		{"skip=who|empty", `{}`, true},
		{"skip=who|empty", `{"who":0}`, false},
		{"skip=deleted|filled", `{"deleted":"2024-05-01"}`, true},
		{"skip=deleted|filled", `{"deleted":""}`, false},
		{"skip=x|json.type|is:test", `{"x":"{\"type\":\"test\"}"}`, true},
		{"skip=event|is:heartbeat", `{"event":"heartbeat","timestamp":"broken"}`, true},
		{"skip=event|is:heartbeat", `{"event":"buy"}`, false},
	} {
		f, err := Format(&Options{Map: []string{c.mapping}})
		require.NoError(t, err)
		events, err := f.Convert([]byte(c.record))
		if !c.isOut {
			require.NoError(t, err, c.mapping+" "+c.record)
			require.Len(t, events, 1)
			continue
		}
		skip := new(event.SkipError)
		require.ErrorAs(t, err, &skip, c.mapping+" "+c.record)
		assert.Equal(t, c.mapping, skip.Reason)
	}
	f, err := Format(&Options{Map: []string{"skip=event|is:heartbeat"}})
	require.NoError(t, err)
	events, err := f.Convert([]byte(`{"event":"buy"}`))
	require.NoError(t, err)
	assert.Equal(t, "buy", events[0].Name, "a column that a condition names keeps its meaning")
	_, err = f.Convert([]byte(`{"event":"heartbeat","event":"buy"}`))
	require.Error(t, err)
	skip := new(event.SkipError)
	require.NotErrorAs(t, err, &skip, "a broken record is not left out silently")
}

func TestStepsThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	for mapping, want := range map[string]string{
		"skip=type":                           "         ^ a condition is missing",
		"skip=type|json":                      "          ^ a condition of skip is",
		"skip=type|is":                        "          ^ want is",
		"skip=type|is:":                       "             ^ a text is missing",
		"skip=type|is:a,":                     "               ^ a text is missing",
		"skip=type|is:a|not:b":                "               ^ nothing follows is",
		"x=type|is:a":                         "       ^ is is for skip only",
		"x=type|empty":                        "       ^ empty is for skip only",
		"skip=const:a":                        "     ^ only the event, the person and properties can be constant",
		"time=w|zone":                         "       ^ want unix",
		"time=w|zone:":                        "            ^ a name is missing",
		"time=w|zone:tz|unix":                 "               ^ with a zone, only layout:… can follow",
		"time=w|unix|zone:tz":                 "            ^ nothing follows unix",
		"time=w|zone:tz|layout:2006-01-02Z07": "                      ^ times of this layout have an offset",
		"x=w|zone:tz":                         "    ^ a zone is for the time only",
		"x=w|table":                           "    ^ want number",
		"x=w|table:":                          "          ^ = is missing: a table is FROM=TO",
		"x=w|table:a":                         "           ^ = is missing",
		"x=w|table:a=b,":                      "              ^ = is missing",
		"x=w|table:a=b,a=c":                   "              ^ this is in the table already",
		"x=w|table:*=b,*=c":                   "              ^ this is in the table already",
		"x=w|table:=b":                        "          ^ a text is missing",
		`x=w|table:""=b`:                      "          ^ what is empty is not looked up",
		"x=w|table:a=b|table:b=c":             "              ^ there is a table already",
		"x=w|table:a=b|json":                  "              ^ json comes before the table",
		"x=w|table:a=b|json.c":                "              ^ json comes before the other steps",
		"uuid=w|table:a=b":                    "       ^ the uuid is read as it is",
		"x=w|number:":                         "           ^ want the number 1234.5 as it is written",
		"x=w|number:1,234":                    "           ^ want the number 1234.5",
		"x=w|number:1,234,5":                  "           ^ want the number 1234.5",
		"x=w|number:1x234,5":                  "           ^ want the number 1234.5",
		"x=w|text:a":                          "    ^ want number",
		"x=w|text.a":                          "    ^ want number",
		"x=w|number|text":                     "           ^ nothing follows number",
		"x=w|json.":                           "         ^ a name is missing",
		"[]=w|number":                         "     ^ only json can be read into several events",
		"drop=w|is:a":                         "       ^ what is dropped is not read",
		"event=w|json":                        "        ^ the event is read as it is",
	} {
		_, err := Format(&Options{Map: []string{mapping}})
		require.Error(t, err, mapping)
		lines := strings.Split(err.Error(), "\n")
		require.Len(t, lines, 3)
		assert.True(t, strings.HasPrefix(lines[2], "  "+want), "%s\n%s\nwant %s", mapping, lines[2], want)
	}
	_, err := Format(&Options{Map: []string{"[]=a", "[]=b"}})
	assert.ErrorContains(t, err, "the elements of one list can become events: []=a names another one")
}

// A table has the columns that conditions and zones name, too.
func TestATableNeedsTheColumnsOfItsSteps(t *testing.T) {
	t.Parallel()
	f, err := Format(&Options{Map: []string{"time=when|zone:tz", "skip=type|is:test", "drop=*|empty", "drop=gone|empty", "[]=items|json"}})
	require.NoError(t, err)
	require.NoError(t, f.CheckColumns(strings.Fields("event distinct_id when tz type items")))
	err = f.CheckColumns(strings.Fields("event distinct_id"))
	require.EqualError(t, err, "the table has no column for 'time=when|zone:tz', 'skip=type|is:test', '[]=items|json'; the table has event, distinct_id")
}

// Any steps are understood, or refused with a place in them. Any record makes events of JSON properties, or an error,
// and the same ones each time.
func FuzzSteps(f *testing.F) {
	f.Add("a=b|json.c|table:x=y,*=*|number:1.234,5", "skip=b|not:a,b", `{"b":"{\"c\":\"1,5\"}"}`)
	f.Add("[]=a|json.b", "uuid=a.b.id", `{"a":"{\"b\":[{\"id\":1},{\"id\":2}]}"}`)
	f.Add("time=t|zone:z", "drop=*|empty", `{"t":"2024-05-01 14:00","z":"+02:00","x":""}`)
	f.Add("*=a", "[]=a", `{"a":[{"x":1},null,2]}`)
	f.Fuzz(func(t *testing.T, one, two, record string) {
		format, err := Format(&Options{Map: []string{one, two}, Zone: time.UTC})
		if err != nil {
			bad := new(MapError)
			require.ErrorAs(t, err, &bad)
			require.Positive(t, bad.Column)
			return
		}
		if !json.Valid([]byte(record)) {
			return
		}
		events, err := format.Convert([]byte(record))
		again, errAgain := format.Convert([]byte(record))
		require.Equal(t, events, again)
		require.Equal(t, err == nil, errAgain == nil)
		for _, ev := range events {
			require.True(t, ev.RawProperties == nil || json.Valid(ev.RawProperties), "%s", ev.RawProperties)
		}
		if len(events) > 0 && events[0].RawProperties != nil {
			require.Equal(t, format.ID([]byte(record)), events[0].UUID)
		}
	})
}

// Ids of two columns can be equal: a prefix tells them apart. The source's own id of a session is a property for formats.Sessions.
func TestPrefixesAndSessions(t *testing.T) {
	t.Parallel()
	const record = `{"event":"a","timestamp":"2024-01-01T00:00:00Z","user":%s,"visit":18}`
	for user, want := range map[string]string{`"u1"`: "u1", "null": "visit-18", `""`: "visit-18", "18": "18"} {
		f, err := Format(&Options{Map: []string{"person=user", "person=visit|prefix:visit-", "session=visit"}})
		require.NoError(t, err)
		events, err := f.Convert(fmt.Appendf(nil, record, user))
		require.NoError(t, err)
		assert.Equal(t, want, events[0].DistinctID, user)
		assert.JSONEq(t, `{"source_session_id":18}`, string(events[0].RawProperties))
	}
	f, err := Format(&Options{Map: []string{"person=user", "session=visit"}, Mapping: 3})
	require.NoError(t, err)
	events, err := f.Convert(fmt.Appendf(nil, record, `"u1"`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"session":18}`, string(events[0].RawProperties), "as imports of mapping 3 began")
	for mapping, want := range map[string]string{
		"event=a|prefix:x": "a prefix is for ids of persons only", "person=a|prefix:": "a text is missing after prefix:",
		"person=a|prefix:x|prefix:y": "there is a prefix already", "session=a|text": "the session is read as it is",
	} {
		_, err := Format(&Options{Map: []string{mapping}})
		require.ErrorContains(t, err, want, mapping)
	}
}
