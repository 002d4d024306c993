package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
)

// A check names the decisions left to a person, and is silent about similar files that need no decision.
func TestHints(t *testing.T) {
	t.Parallel()
	const header = "event,userId,sessionId,timestamp\n"
	line := func(id, properties string) string {
		return fmt.Sprintf(`{"event":"e","distinct_id":%q,"timestamp":"2024-01-01T00:00:00Z","properties":{%s}}`+"\n", id, properties)
	}
	call := func(n int, at, original string) string {
		return fmt.Sprintf(`{"messageId":"m%d","type":"track","event":"Order","userId":"u1","timestamp":%q,"originalTimestamp":%q}`+"\n", n, at, original)
	}
	const order, nobody = `{"event":"order","properties":{"time":1700000000,"distinct_id":"q","$insert_id":"i1"}}` + "\n",
		`{"event":"job","properties":{"time":1700000000,"$insert_id":"i2"}}` + "\n"
	mixpanel := []string{"--format", "mixpanel", "--zone", "UTC"}
	persons := []string{"--zone", "UTC", "--map", "person=userId", "--map", "person=sessionId"}
	for name, tc := range map[string]struct {
		file, text string
		flags      []string
		code       int
		want       []string // of the output; empty: nothing of the title
		never      string
	}{
		"ids of two columns": {"e.csv", header + "a,18,,2024-01-01\na,,18,2024-01-02\na,,19,2024-01-03\na,19,52,2024-01-04\n", persons, 0,
			[]string{"Warning: 2 ids are in two columns that name persons 18 is in userId and in sessionId, so it becomes one person", "--map 'person=sessionId|prefix:sessionId-'"}, ""},
		"ids with a prefix": {"e.csv", header + "a,18,,2024-01-01\na,,18,2024-01-02\n", []string{"--zone", "UTC", "--map", "person=userId", "--map", "person=sessionId|prefix:s-"}, 0, nil, "in two columns"},
		"ids of one column": {"e.csv", header + "a,18,18,2024-01-01\na,19,19,2024-01-02\n", persons, 0, nil, "in two columns"},
		"Segment's times": {"e.jsonl", call(1, "2003-01-20T09:59:00Z", "2023-01-20T10:00:00Z") + call(2, "2023-01-20T09:59:00Z", "2023-01-20T10:00:00Z"), []string{"--format", "segment"}, 0,
			[]string{"1 call has a timestamp that is years from its originalTimestamp The first has the timestamp 2003-01-20 09:59:00 and the originalTimestamp 2023-01-20T10:00:00Z"}, ""},
		"Segment's table": {"e.csv", "id,anonymous_id,received_at,timestamp,original_timestamp,event\n1,a,2023-05-01 10:00:00,2023-05-01 10:00:00,1970-01-01 00:00:00,Order\n",
			[]string{"--format", "segment-warehouse", "--table", "tracks"}, 0, []string{"1 call has a timestamp that is years from its originalTimestamp"}, ""},
		"times of one clock": {"e.jsonl", call(2, "2023-01-20T09:59:00Z", "2023-01-20T10:00:00Z"), []string{"--format", "segment"}, 0, nil, "years from"},
		"a NUL": {"e.jsonl", line("p", `"a":"x"`) + line("p", `"a":"x\u0000y"`) + line("q", `"$set":{"n":"\\\u0000"}`), nil, 0,
			[]string{"2 events have a NUL character in a property Such as e.jsonl:2"}, ""},
		"the text of a NUL": {"e.jsonl", line("p", `"a":"x\\u0000"`), nil, 0, nil, "NUL character"},
		"a spreadsheet": {"e.csv", "event,distinct_id,timestamp\na,4.90151E+12,2024-01-01T00:00:00Z\nb,5E+1,2024-01-01T00:00:00Z\nc,1.5E+x,2024-01-01T00:00:00Z\nd,E+5,2024-01-01T00:00:00Z\n", nil, 0,
			[]string{"2 events have an id that a spreadsheet has rounded Such as 4.90151E+12"}, ""},
		"cases of an address": {"e.jsonl", line("P@x.org", "") + line("p@x.org", "") + line("q@x.org", ""), nil, 0, []string{"Warning: 1 id differs from another only in case p@x.org, which another event writes"}, ""},
		"both spellings":      {"e.jsonl", line("p@x.org", "") + line("P@x.org", "") + line("P@X.org", ""), nil, 0, []string{"Warning: 2 ids differ from another only in case P@x.org and p@x.org."}, ""},
		"cases of other ids":  {"e.jsonl", line("aBc", "") + line("abc", "") + line("aBc", ""), nil, 0, []string{"Note: 1 id differs from another only in case abc and aBc."}, ""},
		"one case":            {"e.jsonl", line("aBc", "") + line("aBc", ""), nil, 0, nil, "only in case"},
		"nobody":              {"e.jsonl", order + nobody, mixpanel, 0, []string{"Warning: 1 event names no person They are left out", "--no-id ID", "left out 1"}, "Nothing can be done"},
		"nobody is left out":  {"e.jsonl", order + nobody, append(mixpanel, "--skip-no-id"), 0, []string{"left out 1"}, "names no person They"},
		"nobody is a person":  {"e.jsonl", order + nobody, append(mixpanel, "--no-id", "servers"), 0, []string{"left out 0", "would be sent 2"}, "name no person"},
		"an hour twice": {"e.csv", "event,distinct_id,timestamp\na,u,2023-10-29 02:30:00\nb,u,2023-10-29 12:30:00\nc,u,2023-10-29T02:30:00+02:00\n", []string{"--zone", "Europe/Berlin"}, 0,
			[]string{"1 event is at a time that the clocks of Europe/Berlin show twice", "such as for 2023-10-29 02:30:00"}, ""},
		"an hour once":    {"e.csv", "event,distinct_id,timestamp\na,u,2023-10-29 03:00:00\nb,u,2023-10-29 01:59:59\n", []string{"--zone", "Europe/Berlin"}, 0, nil, "show twice"},
		"unix":            {"e.csv", "event,distinct_id,timestamp\na,u,1698539400\n", []string{"--zone", "Europe/Berlin", "--map", "time=timestamp|unix"}, 0, nil, "show twice"},
		"no name":         {"e.csv", ",event,distinct_id,timestamp\n0,a,u,2023-10-29T02:30:00Z\n", nil, 0, []string{"Warning: A column has no name", `--map 'drop=""'`}, ""},
		"no name, left":   {"e.csv", ",event,distinct_id,timestamp\n0,a,u,2023-10-29T02:30:00Z\n", []string{"--map", `drop=""`}, 0, []string{"would be sent 1"}, "A column has no name"},
		"Airbyte":         {"e.jsonl", `{"_airbyte_raw_id":"x","_airbyte_data":` + strings.TrimSpace(order) + "}\n", mixpanel, 0, []string{"would be sent 1", "order"}, ""},
		"Airbyte's text":  {"e.jsonl", fmt.Sprintf(`{"_airbyte_raw_id":"x","_airbyte_data":%q}`+"\n", strings.TrimSpace(order)), mixpanel, 0, []string{"would be sent 1", "order"}, ""},
		"Airbyte's lines": {"e.jsonl", `{"_airbyte_raw_id":"x","_airbyte_data":` + strings.TrimSpace(order) + "}\n", nil, 3, []string{"The files look like --format mixpanel"}, ""},
		"Airbyte's table": {"e.csv", "_airbyte_raw_id,_airbyte_data\nx,{}\n", nil, 2, []string{"these are records of Airbyte", "--map 'event=_airbyte_data|json.event'"}, ""},
		"Airbyte's table, mapped": {"e.csv", "_airbyte_raw_id,_airbyte_data\nx,\"{\"\"event\"\":\"\"a\"\",\"\"distinct_id\"\":\"\"u\"\",\"\"time\"\":\"\"2024-01-01T00:00:00Z\"\"}\"\n",
			[]string{"--map", "event=_airbyte_data|json.event", "--map", "person=_airbyte_data|json.distinct_id", "--map", "time=_airbyte_data|json.time", "--map", "*=_airbyte_data|json"}, 0, []string{"would be sent 1"}, ""},
		"Snowplow's header": {"e.csv", snowplowHeader(","), []string{"--format", "snowplow"}, 2, []string{"e.csv has a header", "add --named-columns, for CSV and for TSV"}, ""},
		"Snowplow's CSV":    {"e.csv", snowplowHeader(","), []string{"--format", "snowplow", "--named-columns"}, 0, []string{"would be sent 1", "$pageview"}, ""},
		"Snowplow's TSV":    {"e.tsv", snowplowHeader("\t"), []string{"--format", "snowplow", "--named-columns"}, 0, []string{"would be sent 1", "$pageview"}, ""},
		"Snowplow's name":   {"e.tsv", snowplowHeader("\t"), nil, 2, []string{"give --format snowplow"}, ""},
		"Umami's data": {"e.csv", "website_id,session_id,event_id,event_name,data_key,string_value,created_at\nw,s,e,order,price,1,2024-01-01 00:00:00\n", []string{"--format", "umami"}, 1,
			[]string{"this is Umami's table event_data, which has properties of events and no events. Join it with website_event"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := clitest.New(t, nil)
			p.Write(t, tc.file, tc.text)
			r := p.Ends(t, tc.code, append([]string{"check", tc.file}, tc.flags...)...).Narrow(t)
			clitest.Says(t, r.Stdout+" "+r.Stderr, tc.want...)
			if tc.never != "" {
				r.Stdout, r.Stderr = clitest.Words(r.Stdout), clitest.Words(r.Stderr)
				r.Never(t, tc.never)
			}
		})
	}
}

func snowplowHeader(comma string) string {
	return strings.ReplaceAll("platform,collector_tstamp,event,event_id,domain_userid\nweb,2023-10-29 02:30:00.000,page_view,c6ef3124-b53a-4b13-a233-0088f79dcbcb,d1\n", ",", comma)
}

// Rows of Google Analytics without ids that occur in two files with different columns are a problem, however the files
// are named.
func TestRowsOfTwoFiles(t *testing.T) {
	t.Parallel()
	rows := func(from, n int, more string) string {
		var b strings.Builder
		for i := from; i < from+n; i++ {
			fmt.Fprintf(&b, `{"event_name":"purchase","event_timestamp":%d,"user_pseudo_id":"u%d"%s}`+"\n", 1693612800000000+i, i%50, more)
		}
		return b.String()
	}
	const source, batch = `,"traffic_source":{"source":"google"}`, `,"batch_page_id":1,"batch_ordering_id":1,"batch_event_index":1`
	const params = `,"event_params":[{"key":"batch_page_id","value":{"int_value":1}},{"key":"batch_ordering_id","value":{"int_value":1}}],"x":1`
	row := func(name string) string {
		return fmt.Sprintf(`{"event":"e","properties":{"n":%q},"distinct_id":"u","timestamp":"2024-01-01T00:00:00Z"}`+"\n", name)
	}
	for name, tc := range map[string]struct {
		one, two, format string
		code             int
		want             string
	}{
		"completed":        {rows(0, 100, ""), rows(0, 100, source), "ga4", 3, "Problem: 100 events are in two files, with another content 100 % of the events in a.json have the person, the time and the name of an event in b.json."},
		"a day of a month": {rows(0, 3000, ""), rows(100, 90, source), "ga4", 3, "Problem: 90 events are in two files"},
		"the day first":    {rows(100, 90, source), rows(0, 3000, ""), "ga4", 3, "Problem: 90 events are in two files"},
		"a few":            {rows(0, 1000, ""), rows(990, 1000, source), "ga4", 0, "Warning: 10 events are in two files"},
		"copies":           {rows(0, 100, ""), rows(0, 100, ""), "ga4", 0, "100 surplus copies of events"},
		"ids of batches":   {rows(0, 100, batch), rows(0, 100, batch+source), "ga4", 0, "100 surplus copies of events"},
		"ids as params":    {rows(0, 100, params), rows(0, 100, params+batch), "ga4", 3, "Problem: 100 events are in two files"},
		"two of a batch":   {rows(0, 100, batch), rows(95, 100, strings.Replace(batch, "index\":1", "index\":2", 1)), "ga4", 0, ""},
		"other days":       {rows(0, 100, ""), rows(100, 100, source), "ga4", 0, ""},
		"another format":   {row("1"), row("2"), "json", 0, "Warning: 1 event is in two files, with another content"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := clitest.New(t, nil)
			p.Write(t, "a.json", tc.one)
			p.Write(t, "b.json", tc.two)
			r := p.Ends(t, tc.code, "check", "a.json", "b.json", "--format", tc.format)
			clitest.Says(t, r.Stdout, tc.want)
			if !strings.Contains(tc.want, "two files") {
				r.Never(t, "in two files")
			}
		})
	}
}
