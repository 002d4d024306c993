package hogapi_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// A record is an event of a source, with plain values.
type record struct {
	Name, DistinctID, Time, Properties string
	UUID                               uuid.UUID
	Position                           hogapi.Position
	Raw, Bad                           string
}

// readSource takes the records behind a position.
func readSource(ctx context.Context, source hogapi.Source, after hogapi.Position) (records []record, err error) {
	for ev, err := range source.Events(ctx, after) {
		if err != nil {
			return records, err
		}
		r := record{
			Name: ev.Name, DistinctID: ev.DistinctID, Properties: string(ev.RawProperties), UUID: ev.UUID, Position: ev.Position,
		}
		if !ev.Timestamp.IsZero() {
			r.Time = ev.Timestamp.Format(time.RFC3339Nano)
		}
		if raw, bad := hogapi.BadRecord(ev); bad != nil {
			r.Raw, r.Bad = string(raw), bad.Error()
		}
		records = append(records, r)
	}
	return records, nil
}

func TestJSONLinesEvents(t *testing.T) {
	t.Parallel()
	const id = "0190f5f4-35a0-7c3e-8d3f-7d8f2a1b6c01"
	tests := []struct {
		name, line string
		want       record
	}{
		{
			name: "the managed migration's form", line: `{"event":"a","distinct_id":"ann","timestamp":"2024-05-01T12:30:00.123456+02:00","uuid":"` + id + `","properties":{"n":12345678901234567890.10}}`,
			want: record{Name: "a", DistinctID: "ann", Time: "2024-05-01T10:30:00.123456Z", UUID: uuid.MustParse(id), Properties: `{"n":12345678901234567890.10}`},
		},
		{
			name: "the spec's form", line: `{"event":"a","properties":{"distinct_id":"ann"},"timestamp":"2024-05-01T12:30:00Z"}`,
			want: record{Name: "a", Time: "2024-05-01T12:30:00Z", Properties: `{"distinct_id":"ann"}`},
		},
		{name: "a number as id", line: `{"event":"a","distinct_id":9007199254740993}`, want: record{Name: "a", DistinctID: "9007199254740993"}},
		{name: "spaces", line: ` { "event" : "a" , "properties" : { "x" : [ 1 ] } } `, want: record{Name: "a", Properties: `{ "x" : [ 1 ] }`}},
		{name: "escapes", line: `{"\u0065vent":"caf\u00e9 \"a\"","timestamp":"2024-05-01T12:30:00\u005a","distinct_id":"\ud83e\udd94"}`, want: record{Name: `café "a"`, DistinctID: "🦔", Time: "2024-05-01T12:30:00Z"}},
		{name: "empty and null", line: `{"event":"a","uuid":"","distinct_id":null,"timestamp":null,"properties":null,"$set":null}`, want: record{Name: "a"}},
		{name: "uuid in braces and upper case", line: `{"event":"a","uuid":"{0190F5F4-35A0-7C3E-8D3F-7D8F2A1B6C01}"}`, want: record{Name: "a", UUID: uuid.MustParse(id)}},
		{name: "null uuid", line: `{"event":"a","uuid":null}`, want: record{Name: "a"}},
		{name: "set", line: `{"event":"a","$set":{"x":1},"$set_once":{"y":2},"properties":{"p":3}}`, want: record{Name: "a", Properties: `{"p":3,"$set":{"x":1},"$set_once":{"y":2}}`}},
		{name: "set alone", line: `{"event":"a","$set":{"x":1}}`, want: record{Name: "a", Properties: `{"$set":{"x":1}}`}},
		{name: "set and empty properties", line: `{"event":"a","$set_once":{"x":1},"properties":{ }}`, want: record{Name: "a", Properties: `{"$set_once":{"x":1}}`}},
		{name: "a corrected reject", line: `{"event":"a","$reject":{"reason":"bad_record","raw":"{"}}`, want: record{Name: "a"}},
		{name: "somebody else's $reject", line: `{"event":"a","$reject":"yes"}`, want: record{Name: "a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.want.Position = hogapi.Position{Key: "e.jsonl", Offset: int64(len(tt.line)) + 1}
			got, err := readSource(t.Context(), hogapi.JSONLinesFile(writeFile(t, "e.jsonl", tt.line+"\n")), hogapi.Position{})
			require.NoError(t, err)
			require.Equal(t, []record{tt.want}, got)
		})
	}
}

func TestJSONLinesBadLines(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, line, want string }{
		{"no JSON", `event=a`, "want one JSON object a line"},
		{"an array", `[{"event":"a"}]`, "want one JSON object a line"},
		{"cut off", `{"event":"a"`, "bad JSON"},
		{"two values", `{"event":"a"} {"event":"b"}`, "bad JSON"},
		{"unknown key", `{"event":"a","ip":"127.0.0.1"}`, `unknown key "ip": want event`},
		{"a long unknown key", `{"` + strings.Repeat("k", 1000) + `":1}`, `kkk`},
		{"double key", `{"event":"a","event":"b"}`, "duplicate key in event"},
		{"bad UTF-8", "{\"event\":\"\xff\"}", "bad UTF-8"},
		{"half a surrogate pair", `{"event":"\ud800"}`, "lone surrogate"},
		{"a number beyond float64", `{"event":"a","properties":{"n":1e999}}`, "not a finite JSON number in properties.n"},
		{"event", `{"event":1}`, "event: want a text"},
		{"id with a fraction", `{"event":"a","distinct_id":1.5}`, "distinct_id: want a text or a whole number"},
		{"id true", `{"event":"a","distinct_id":true}`, "distinct_id: want a text or a whole number"},
		{"uuid", `{"event":"a","uuid":"yes"}`, "uuid: want a UUID"},
		{"uuid of zeros", `{"event":"a","uuid":"00000000-0000-0000-0000-000000000000"}`, "uuid: want a UUID other than zero"},
		{"uuid with a digit too many at both ends", `{"event":"a","uuid":"10190f5f4-35a0-7c3e-8d3f-7d8f2a1b6c012"}`, "uuid: want a UUID"},
		{"uuid in half its braces", `{"event":"a","uuid":"{0190f5f4-35a0-7c3e-8d3f-7d8f2a1b6c01)"}`, "uuid: want a UUID"},
		{"uuid as number", `{"event":"a","uuid":7}`, "uuid: want a UUID"},
		{"time as number", `{"event":"a","timestamp":1714566600}`, "not an RFC 3339 time with an offset"},
		{"time as digits", `{"event":"a","timestamp":"1714566600"}`, "not an RFC 3339 time with an offset"},
		{"time without a zone", `{"event":"a","timestamp":"2024-05-01T12:30:00"}`, "not an RFC 3339 time with an offset"},
		{"time without a T", `{"event":"a","timestamp":"2024-05-01 12:30:00Z"}`, "not an RFC 3339 time with an offset"},
		{"properties", `{"event":"a","properties":[]}`, "properties: want an object"},
		{"set", `{"event":"a","$set":"x"}`, "$set: want an object"},
		{"set once", `{"event":"a","$set_once":1}`, "$set_once: want an object"},
		{"a reject that is not corrected", `{"$reject":{"reason":"bad_record","raw":"{"}}`, "a rejected record that made no event"},
		{"a reject that lacks something", `{"event":"a","$reject":{"left_out":["properties.n"]}}`, "a reject that lacks what $reject names"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const good = `{"event":"good"}`
			path := writeFile(t, "e.jsonl", good+"\n"+tt.line+"\n"+good)
			got, err := readSource(t.Context(), hogapi.JSONLinesFile(path), hogapi.Position{})
			require.NoError(t, err)
			require.Len(t, got, 3)
			assert.Equal(t, "good", got[0].Name)
			assert.Equal(t, "good", got[2].Name, "the rest of the file goes on")
			assert.Contains(t, got[1].Bad, tt.want)
			assert.Less(t, len(got[1].Bad), 300)
			assert.Equal(t, tt.line, got[1].Raw)
			assert.EqualValues(t, len(good)+1+len(tt.line)+1, got[1].Position.Offset)
		})
	}
}

// A file in all the forms that lines can have.
const oddLines = "\xef\xbb\xbf{\"event\":\"1\"}\r\n\r\n  \t\n{\"event\":\"2\"}\n\n{\"bad\"\n{\"event\":\"3\"}\r\n{\"event\":\"4\"}"

func TestJSONLinesLastLine(t *testing.T) {
	t.Parallel()
	const cut = `{"event":"a"}` + "\n" + `{"event":"b","prop`
	got, err := readSource(t.Context(), hogapi.JSONLinesFile(writeFile(t, "e.jsonl", cut)), hogapi.Position{})
	require.ErrorContains(t, err, "e.jsonl: the last line (e.jsonl:2) is not finished")
	require.Len(t, got, 1)
	got, err = readSource(t.Context(), hogapi.JSONLinesFile(writeFile(t, "e.jsonl", `{"event":"a"}`+"\n"+"rubbish")), hogapi.Position{})
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.Contains(t, got[1].Bad, "want one JSON object a line", "no JSON that is merely cut off")

	// The uuid of a whole last line does not depend on its newline, and the file may grow behind it.
	path := writeFile(t, "e.jsonl", `{"event":"a"}`)
	open, err := readSource(t.Context(), hogapi.JSONLinesFile(path), hogapi.Position{})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(`{"event":"a"}`+"\n"+`{"event":"b"}`), 0o600))
	grown, err := readSource(t.Context(), hogapi.JSONLinesFile(path), hogapi.Position{})
	require.NoError(t, err)
	assert.Equal(t, open[0].Position, grown[0].Position)
	rest, err := readSource(t.Context(), hogapi.JSONLinesFile(path), open[0].Position)
	require.NoError(t, err)
	assert.Equal(t, grown[1:], rest)
}

func TestJSONLinesLongLine(t *testing.T) {
	t.Parallel()
	fits := `{"event":"fits","properties":{"x":"` + strings.Repeat("x", 1<<20-38) + `"}}`
	require.Len(t, fits, 1<<20)
	long := `{"event":"long","properties":{"x":"` + strings.Repeat("x", 5<<20) + `"}}`
	path := writeFile(t, "e.jsonl", fits+"\n"+long+"\n"+`{"event":"next"}`+"\n"+long)
	got, err := readSource(t.Context(), hogapi.JSONLinesFile(path), hogapi.Position{})
	require.NoError(t, err)
	require.Len(t, got, 4)
	assert.Equal(t, "fits", got[0].Name)
	assert.Contains(t, got[1].Bad, "the line has 5242918 bytes, and at most 1048576 are read")
	assert.True(t, long == got[1].Raw, "it is whole")
	assert.Equal(t, "next", got[2].Name)
	assert.Contains(t, got[3].Bad, "at most 1048576 are read")
}

// A position that no line of the files ends at is refused.
func TestJSONLinesRefused(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "e.jsonl", "{\"event\":\"a\"}\n{\"event\":\"b\"}\n")
	tests := []struct {
		name  string
		after hogapi.Position
		want  string
	}{
		{"another file's position", hogapi.Position{Key: "f.jsonl", Offset: 1}, "no position f.jsonl@1 in these files"},
		{"a negative position", hogapi.Position{Key: "e.jsonl", Offset: -1}, "no position"},
		{"shrunk", hogapi.Position{Key: "e.jsonl", Offset: 30}, "e.jsonl: the file has changed since the import began: the text ends before the offset"},
		{"within a line", hogapi.Position{Key: "e.jsonl", Offset: 15}, "the file has changed since the import began: no line begins at the offset"},
		{"the end of a line without a newline", hogapi.Position{Key: "e.jsonl", Offset: 29}, "the file has changed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := readSource(t.Context(), hogapi.JSONLinesFile(path), tt.after)
			require.ErrorContains(t, err, tt.want)
			assert.Empty(t, got)
		})
	}
	packed := writeFile(t, "e.gz", zipped("{\"event\":\"a\"}\n{\"event\":\"b\"}\n"))
	for _, offset := range []int64{13, 15, 30, 1000} {
		_, err := readSource(t.Context(), hogapi.JSONLinesFile(packed), hogapi.Position{Key: "e.gz", Offset: offset})
		require.ErrorContains(t, err, "e.gz: the file has changed since the import began")
	}
}
