package hogapi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// refusalsOf imports files and returns the rejects.
func refusalsOf(t *testing.T, source hogapi.Source, checkpoint hogapi.Checkpointer) (all []hogapi.Reject) {
	t.Helper()
	imported(t, hogapitest.New().Client(t), source, &hogapi.ImportOptions{
		ID: "refusals", MaxRejectShare: -1, Checkpoint: checkpoint, Rejects: keepRejects(&all),
	})
	return all
}

const (
	goodRecord  = `{"event":"e","distinct_id":"ann","timestamp":"2024-05-01T00:00:00Z"}`
	youngRecord = `{"event":"e","distinct_id":"ann","timestamp":"3024-05-01T00:00:00Z"}`
)

// A refusal names file and line, also after a resume in the middle of the file, and calls the byte offset so.
func TestRefusalsNameTheLine(t *testing.T) {
	t.Parallel()
	content := "\xef\xbb\xbf" + goodRecord + "\r\n\n" + youngRecord + "\nbad\n" + goodRecord + "\n"
	more := "bad\n\n" + youngRecord // lines 6 and 8
	for name, form := range map[string]func(string) string{"plain": func(s string) string { return s }, "gzip": zipped} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkpoint := &memoryCheckpoint{}
			path := writeFile(t, "e.jsonl", form(content))
			other := writeFile(t, "other.jsonl", goodRecord+"\nbad")
			rejects := refusalsOf(t, hogapi.JSONLinesFile(path, other), nil)
			require.Len(t, rejects, 3)
			for i, want := range []string{"e.jsonl:3", "e.jsonl:4", "other.jsonl:2"} {
				assert.Equal(t, want, rejects[i].Where)
				assert.Equal(t, want, rejects[i].Err.Where)
				require.ErrorContains(t, rejects[i].Err, fmt.Sprintf("(%s, byte offset %d)", want, rejects[i].Position.Offset))
			}
			require.Len(t, refusalsOf(t, hogapi.JSONLinesFile(path), checkpoint), 2)
			grown := writeFile(t, "e.jsonl", form(content+more))
			rejects = refusalsOf(t, hogapi.JSONLinesFile(grown), checkpoint)
			require.Len(t, rejects, 2)
			assert.Equal(t, []string{"e.jsonl:6", "e.jsonl:8"}, []string{rejects[0].Where, rejects[1].Where})
			report, err := hogapi.Check(t.Context(), hogapi.JSONLinesFile(grown), &hogapi.ImportOptions{ID: "refusals", MaxRejectShare: -1})
			require.NoError(t, err)
			assert.Contains(t, report.String(), "(e.jsonl:6, byte offset ")
		})
	}
}

// The value that was refused is shown, cut and without keys.
func TestRefusalsShowTheValue(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("very long ", 30)
	for record, want := range map[string]string{
		`{"event":"e","distinct_id":"ann","timestamp":"3024-05-01T00:00:00Z"}`:                                      `timestamp "3024-05-01T00:00:00Z"`,
		`{"event":"e","distinct_id":"ann","timestamp":"1700-05-01T00:00:00Z"}`:                                      `timestamp "1700-05-01T00:00:00Z"`,
		`{"event":"e","distinct_id":"ann","timestamp":"0001-01-01T00:00:00Z"}`:                                      `bad_timestamp: timestamp "0001-01-01T00:00:00Z"`,
		`{"event":"e","distinct_id":"ann","timestamp":"yesterday"}`:                                                 `timestamp "yesterday"`,
		`{"event":"` + long + `","distinct_id":"ann","timestamp":"2024-05-01T00:00:00Z"}`:                           `event "very long very long`,
		`{"event":"e","distinct_id":"` + long + `","timestamp":"2024-05-01T00:00:00Z"}`:                             `distinct_id "very long very long`,
		`{"event":"e","distinct_id":" ","timestamp":"2024-05-01T00:00:00Z"}`:                                        `distinct_id " "`,
		`{"event":"e","distinct_id":"a","timestamp":"2024-05-01T00:00:00Z","properties":{"distinct_id":"b\u001b"}}`: `properties.distinct_id "b "`,
		`{"event":"e","distinct_id":true}`:                                                                          `not true`,
		`{"event":"e","uuid":"phx_ThisIsAKey0123456789"}`:                                                           `uuid: want a UUID other than zero or no uuid, not "[redacted]"`,
		`{"event":["phc_ThisIsAKey0123456789"]}`:                                                                    `not ["[redacted]"]`,
		`{"event":"e","phc_ThisIsAKey0123456789":1}`:                                                                `unknown key "[redacted]"`,
		`{"event":"e","a\u009b\u202e":1}`:                                                                           `unknown key "a \u202e"`,
		`{"event":"e","properties":{"a\u009b\u202e":1e999}}`:                                                        `properties["a\u009b\u202e"]`,
		`{"event":"e","timestamp":"phc_ThisIsAKey0123456789"}`:                                                      `timestamp "[redacted]"`,
		`{"event":"e","timestamp":"` + long + `"}`:                                                                  `timestamp "very long very long`,
		`{"event":"e","properties":[` + strings.Repeat(`"x",`, 200) + `1]}`:                                         `want an object, not ["x","x"`,
	} {
		rejects := refusalsOf(t, hogapi.JSONLinesFile(writeFile(t, "e.jsonl", record+"\n")), nil)
		require.Len(t, rejects, 1)
		text := rejects[0].Err.Error()
		assert.Contains(t, text, want)
		assert.Less(t, len(text), 350, text)
		assert.NotContains(t, text, "ThisIsAKey")
		assert.NotContains(t, text, "\x1b")
	}
}

// Records that are valid by RFC 3339 and JSON are taken: a last line without its newline, lower case, leap seconds, unknown keys that are
// null.
func TestRecordsThatAreTaken(t *testing.T) {
	t.Parallel()
	for _, record := range []string{
		goodRecord,
		`{"event":"e","distinct_id":"ann","timestamp":"2024-05-01t00:00:00z"}`,
		`{"event":"e","distinct_id":"ann","timestamp":"2016-12-31T23:59:60Z"}`,
		`{"event":"e","distinct_id":"ann","timestamp":"2016-12-31t16:59:60.5-07:00"}`,
		`{"event":"e","distinct_id":"ann","timestamp":"2024-05-01T00:00:00Z","ip":null,"$session_id":null}`,
	} {
		for _, content := range []string{record, record + "\n", record + strings.Repeat(" ", 10), zipped(record)} {
			rejects := refusalsOf(t, hogapi.JSONLinesFile(writeFile(t, "e.jsonl", content)), nil)
			assert.Empty(t, rejects, record)
		}
	}
	rejects := refusalsOf(t, hogapi.JSONLinesFile(writeFile(t, "e.jsonl", youngRecord)), nil)
	require.Len(t, rejects, 1)
	assert.NotContains(t, rejects[0].Err.Error(), "within", "the line is whole")
	rejects = refusalsOf(t, hogapi.JSONLinesFile(writeFile(t, "e.jsonl", `{"event":"e","distinct_id":"ann","uuid":"nope"}`)), nil)
	require.Len(t, rejects, 1)
	require.ErrorContains(t, rejects[0].Err, "nope")
	assert.NotContains(t, rejects[0].Err.Error(), "within", "the line is whole, although it has no end")
}

// Zeros after the last member of a gzip file are padding, as gzip itself takes them.
func TestGzipWithPadding(t *testing.T) {
	t.Parallel()
	for name, padding := range map[string]int{"none": 0, "one": 1, "a block": 512, "more than a buffer": 200_000} {
		for _, size := range []int64{0, -1} { // verified first, or while it is read
			server := hogapitest.New()
			content := zipped(linesOf(2023, 5)) + strings.Repeat("\x00", padding) + zipped(linesOf(2024, 5)) + strings.Repeat("\x00", padding)
			receipt, err := server.Client(t).Import(t.Context(), hogapi.JSONLinesFile(writeFile(t, "e.gz", content)), &hogapi.ImportOptions{ID: "padded", VerifyArchiveBytes: size})
			require.NoError(t, err, name)
			assert.EqualValues(t, 10, receipt.Acknowledged, name)
		}
	}
}

// The error for a file in another form says how to convert it.
func TestHintsForOtherForms(t *testing.T) {
	t.Parallel()
	const indented = "{\n  \"event\": \"e\",\n  \"distinct_id\": \"ann\"\n}\n"
	for name, c := range map[string]struct{ content, want string }{
		"CR only":            {goodRecord + "\r" + goodRecord + "\r", "its lines end with CR alone: convert them to LF"},
		"CR only, long":      {strings.Repeat(goodRecord+"\r", 20_000), "its lines end with CR alone: convert them to LF"},
		"indented":           {indented, "this looks like indented JSON: write each object on one line (jq -c .)"},
		"an array":           {"[" + goodRecord + ",\n" + goodRecord + "]\n", "this looks like one JSON array: write each element on a line of its own (jq -c '.[]')"},
		"an array, indented": {"[\n" + indented + "]\n", "this looks like one JSON array"},
		"CSV":                {"event,distinct_id,timestamp\nsignup,ann,2024-05-01T00:00:00Z\n", "this looks like CSV: convert it to JSON lines"},
		"CSV of Excel":       {"\xef\xbb\xbfevent;distinct_id\nsignup;ann\n", "this looks like CSV: convert it to JSON lines"},
		"tabs":               {"event\tdistinct_id\nsignup\tann\n", "this looks like CSV: convert it to JSON lines"},
		"quoted CSV":         {"\"event\",\"distinct_id\"\n\"signup\",\"ann\"\n", "this looks like CSV: convert it to JSON lines"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, "e.jsonl", c.content)
			rejects := refusalsOf(t, hogapi.JSONLinesFile(path), nil)
			require.NotEmpty(t, rejects)
			require.ErrorContains(t, rejects[0].Err, c.want)
			_, err := hogapitest.New().Client(t).Import(t.Context(), hogapi.JSONLinesFile(path), &hogapi.ImportOptions{ID: "x", Rejects: ignoreRejects})
			require.ErrorContains(t, err, c.want, "in the import's error as well")
		})
	}
}

// However an import ends, each error says once from where it is.
func TestErrorsHaveOnePrefix(t *testing.T) {
	t.Parallel()
	file := func(content string) func(t *testing.T) hogapi.Source {
		return func(t *testing.T) hogapi.Source { return hogapi.JSONLinesFile(writeFile(t, "e.jsonl", content)) }
	}
	for name, c := range map[string]struct {
		source func(t *testing.T) hogapi.Source
		change func(t *testing.T, o *hogapi.ImportOptions, server *hogapitest.Server)
	}{
		"a refusal":          {source: file(youngRecord)},
		"a bad line":         {source: file("bad\n")},
		"an unfinished line": {source: file(goodRecord + "\n" + goodRecord[:30])},
		"a missing file":     {source: func(*testing.T) hogapi.Source { return hogapi.JSONLinesFile("missing.jsonl") }},
		"no file":            {source: func(*testing.T) hogapi.Source { return hogapi.JSONLinesFile() }},
		"a folder":           {source: func(t *testing.T) hogapi.Source { return hogapi.JSONLinesFile(t.TempDir()) }},
		"a refused batch": {source: file(goodRecord), change: func(_ *testing.T, _ *hogapi.ImportOptions, server *hogapitest.Server) {
			server.Script(ops.Capture, hogapitest.Always(hogapitest.Status(400)))
		}},
		"a wrong key": {source: file(goodRecord), change: func(_ *testing.T, _ *hogapi.ImportOptions, server *hogapitest.Server) {
			server.Script(ops.Capture, hogapitest.Always(hogapitest.Status(401)))
		}},
		"no progress": {source: file(goodRecord), change: func(_ *testing.T, o *hogapi.ImportOptions, server *hogapitest.Server) {
			o.Delivery.GiveUpAfter = time.Second
			server.Script(ops.Capture, hogapitest.Always(hogapitest.CutBefore()))
		}},
		"too many rejects": {source: file("bad\nbad\n"), change: func(_ *testing.T, o *hogapi.ImportOptions, _ *hogapitest.Server) { o.Rejects = ignoreRejects }},
		"a handler": {source: file("bad\n"), change: func(_ *testing.T, o *hogapi.ImportOptions, _ *hogapitest.Server) {
			o.Rejects = hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error { return r.Err })
		}},
		"a checkpoint in use": {source: file(goodRecord), change: func(t *testing.T, o *hogapi.ImportOptions, _ *hogapitest.Server) {
			path := filepath.Join(t.TempDir(), "ckpt")
			owner := hogapi.FileCheckpoint(path)
			_, err := owner.Open(t.Context())
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, owner.Close()) })
			o.Checkpoint = hogapi.FileCheckpoint(path)
		}},
		"a checkpoint of another import": {source: file(goodRecord), change: func(t *testing.T, o *hogapi.ImportOptions, _ *hogapitest.Server) {
			o.Checkpoint = &memoryCheckpoint{}
			imported(t, hogapitest.New().Client(t), numbered(3), &hogapi.ImportOptions{ID: "other", Checkpoint: o.Checkpoint})
		}},
		"bad options": {source: file(goodRecord), change: func(_ *testing.T, o *hogapi.ImportOptions, _ *hogapitest.Server) { o.Rate = -7 }},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			server := hogapitest.New(hogapitest.WithClock(func() time.Time { return time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC) }))
			options := hogapi.ImportOptions{ID: "prefixes"}
			if c.change != nil {
				c.change(t, &options, server)
			}
			client := server.Client(t, hogapi.WithClock(func() time.Time { return time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC) }))
			_, err := client.Import(t.Context(), c.source(t), &options)
			require.Error(t, err)
			for line := range strings.Lines(err.Error()) { // errors that are joined have a line each
				assert.Equal(t, 1, strings.Count(line, "hogapi: "), line)
				assert.True(t, strings.HasPrefix(line, "hogapi: "), line)
			}
			_, err = hogapi.Check(t.Context(), c.source(t), &options)
			if err != nil && !errors.Is(err, context.Canceled) {
				assert.Equal(t, 1, strings.Count(err.Error(), "hogapi: "), "%v", err)
			}
		}))
	}
}

// Only the first line of a file can have a byte order mark: it is not taken off the first line that a resumed run reads.
func TestByteOrderMarkAfterAResume(t *testing.T) {
	t.Parallel()
	const mark = "\xef\xbb\xbf"
	first, second := mark+goodRecord+"\n", mark+goodRecord+"\n"+goodRecord+"\n"
	for name, form := range map[string]func(string) string{"plain": func(s string) string { return s }, "gzip": zipped} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := refusalsOf(t, hogapi.JSONLinesFile(writeFile(t, "e.jsonl", form(first+second))), nil)
			require.Len(t, whole, 1)
			path, checkpoint := filepath.Join(t.TempDir(), "e.jsonl"), &memoryCheckpoint{}
			require.NoError(t, os.WriteFile(path, []byte(form(first)), 0o600))
			require.Empty(t, refusalsOf(t, hogapi.JSONLinesFile(path), checkpoint))
			require.NoError(t, os.WriteFile(path, []byte(form(first+second)), 0o600))
			resumed := refusalsOf(t, hogapi.JSONLinesFile(path), checkpoint)
			require.Len(t, resumed, 1)
			assert.Equal(t, whole[0].Position, resumed[0].Position)
			assert.Equal(t, mark+goodRecord, string(resumed[0].Raw))
		})
	}
}
