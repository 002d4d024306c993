package hogapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/durable/simdisk"
)

// eventsOf is a source of these events, each at its own position.
func eventsOf(events ...hogapi.Event) hogapi.Source {
	return hogapi.SourceFunc("events", func(_ context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for i, ev := range events {
				ev.Position = hogapi.Position{Key: "row", Offset: int64(i) + 1}
				if ev.Position.Offset > after.Offset && !yield(ev, nil) {
					return
				}
			}
		}
	})
}

// rejectLines imports events into a reject file and returns its lines.
func rejectLines(t *testing.T, source hogapi.Source) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rejects.jsonl")
	client := hogapitest.New().Client(t)
	receipt := imported(t, client, source, &hogapi.ImportOptions{ID: "rejects", MaxRejectShare: -1, Rejects: hogapi.RejectFile(path)})
	content := readFile(t, path)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.EqualValues(t, bytes.Count(content, []byte("\n")), receipt.Rejected)
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
}

func TestRejectFileLines(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 5, 1, 12, 30, 0, 5000, time.FixedZone("", 7200))
	id := uuid.MustParse("0190f5f4-35a0-7c3e-8d3f-7d8f2a1b6c01")
	tests := []struct {
		name  string
		event hogapi.Event
		want  string // without uuid if the event has no uuid, and without want
		note  string
	}{
		{
			"no name", hogapi.Event{DistinctID: "ann", Timestamp: at, UUID: id, Properties: map[string]any{"a": "<&>", "n": json.Number("1.50")}, Set: map[string]any{"s": 1}, SetOnce: map[string]any{"o": nil}},
			`{"uuid":"0190f5f4-35a0-7c3e-8d3f-7d8f2a1b6c01","event":"","timestamp":"2024-05-01T10:30:00.000005Z","distinct_id":"ann","properties":{"a":"<&>","n":1.50},"$set":{"s":1},"$set_once":{"o":null}}`,
			`{"reason":"no_name","field":"event"}`,
		},
		{
			"raw properties on several lines", hogapi.Event{Name: "a", Timestamp: at, RawProperties: json.RawMessage("{\n \"big\": 12345678901234567890.00\n}")},
			`{"event":"a","timestamp":"2024-05-01T10:30:00.000005Z","distinct_id":"","properties":{"big":12345678901234567890.00}}`,
			`{"reason":"no_distinct_id","field":"distinct_id"}`,
		},
		{
			"NaN", hogapi.Event{Name: "a", DistinctID: "ann", Timestamp: at, Properties: map[string]any{"bad": math.NaN(), "deep": map[string]any{"c": make(chan int)}, "good": 1}},
			`{"event":"a","timestamp":"2024-05-01T10:30:00.000005Z","distinct_id":"ann","properties":{"good":1}}`,
			`{"reason":"bad_number","field":"properties.bad","detail":"not a finite JSON number in bad","left_out":["properties.bad","properties.deep"]}`,
		},
		{
			"bad UTF-8", hogapi.Event{Name: "a", DistinctID: "ann\xff", Timestamp: at},
			`{"event":"a","timestamp":"2024-05-01T10:30:00.000005Z"}`,
			`{"reason":"bad_utf8","field":"distinct_id","detail":"bad UTF-8 (byte 3)","left_out":["distinct_id"]}`,
		},
		{
			"raw properties that are no JSON", hogapi.Event{Name: "a", DistinctID: "ann", Timestamp: at, RawProperties: json.RawMessage(`{"x":`)},
			`{"event":"a","timestamp":"2024-05-01T10:30:00.000005Z","distinct_id":"ann"}`,
			`{"reason":"bad_properties","field":"properties.x","detail":"bad JSON in x (byte 5)","raw":"{\"x\":","left_out":["properties"]}`,
		},
		{
			"two kinds of properties", hogapi.Event{Name: "a", DistinctID: "ann", Timestamp: at, Properties: map[string]any{"x": 1}, RawProperties: json.RawMessage(`{"price":12.5}`)},
			`{"event":"a","timestamp":"2024-05-01T10:30:00.000005Z","distinct_id":"ann","properties":{"x":1}}`,
			`{"reason":"bad_properties","field":"properties","raw":"{\"price\":12.5}","left_out":["properties"]}`,
		},
		{
			"a long bad record and a damaged name", hogapi.BadEvent(hogapi.Position{}, bytes.Repeat([]byte{0xff}, 150_000), errors.New("bad UTF-8 in caf\ufffd")),
			`{}`, `{"reason":"bad_record","detail":"bad UTF-8 in caf\ufffd","raw_base64":"` + strings.Repeat("////", 50_000) + `"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lines := rejectLines(t, eventsOf(tt.event))
			require.Len(t, lines, 1)
			begin, end, found := strings.Cut(lines[0], `"$reject":`)
			require.True(t, found, lines[0])
			var note map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(strings.TrimSuffix(end, "}")), &note))
			assert.JSONEq(t, `{"key":"row","offset":1}`, string(note["position"]))
			assert.Equal(t, `"rejects"`, string(note["import"]))
			delete(note, "import")
			delete(note, "position")
			delete(note, "want")
			rest, err := json.Marshal(note)
			require.NoError(t, err)
			assert.JSONEq(t, tt.note, string(rest))

			event := strings.TrimSuffix(begin, ",") + "}"
			if !strings.Contains(tt.want, `"uuid"`) { // then it is of import and position
				ids := regexp.MustCompile(`,?"uuid":"[0-9a-f-]{36}"`)
				require.Len(t, ids.FindAllString(event, -1), 1, event)
				event = ids.ReplaceAllString(event, "")
			}
			assert.Equal(t, tt.want, event)

			path := filepath.Join(t.TempDir(), "around.jsonl")
			around := hogapi.RejectFunc(func(ctx context.Context, r hogapi.Reject) error { return hogapi.RejectFile(path).Reject(ctx, r) })
			imported(t, hogapitest.New().Client(t), eventsOf(tt.event), &hogapi.ImportOptions{ID: "rejects", MaxRejectShare: -1, Rejects: around})
			assert.Equal(t, strings.Replace(lines[0], `,"import":"rejects"`, "", 1)+"\n", string(readFile(t, path)), "the line of a handler around the file")
		})
	}
}

// A record that made no event has the uuid of its place in the source. Corrected line by line, and imported each time, it is one event.
func TestCorrectedRecordsKeepTheirUUID(t *testing.T) {
	t.Parallel()
	server, client := fake(t)
	bad := `{"event":"e","distinct_id":"ann","timestamp":"2024-05-01 00:00:00Z"}` + "\n"
	rejects := filepath.Join(t.TempDir(), "rejects.jsonl")
	imported(t, client, hogapi.JSONLinesFile(writeFile(t, "e.jsonl", bad+bad)), &hogapi.ImportOptions{ID: "first", MaxRejectShare: -1, Rejects: hogapi.RejectFile(rejects)})
	content := readFile(t, rejects)
	lines := strings.SplitAfter(string(content), "\n")
	for n, i := range []int{1, 0} {
		lines[i] = strings.Replace(lines[i], `"$reject"`, `"event":"e","distinct_id":"ann","timestamp":"2024-05-01T00:00:00Z","$reject"`, 1)
		corrected := writeFile(t, "corrected.jsonl", strings.Join(lines, ""))
		receipt := imported(t, client, hogapi.JSONLinesFile(corrected), &hogapi.ImportOptions{ID: "corrected", MaxRejectShare: -1, Rejects: ignoreRejects})
		assert.EqualValues(t, n+1, receipt.Acknowledged)
		assert.Equal(t, n+1, server.Ledger().Unique())
	}
	imported(t, client, hogapi.JSONLinesFile(writeFile(t, "e.jsonl", strings.ReplaceAll(bad+bad, `-01 `, `-01T`))), &hogapi.ImportOptions{ID: "first"})
	assert.Equal(t, 2, server.Ledger().Unique(), "corrected in the source instead")
}

// rejectedUUID is the uuid of a line of a reject file.
func rejectedUUID(t *testing.T, line string) string {
	t.Helper()
	var reject struct {
		UUID string `json:"uuid"`
	}
	require.NoError(t, json.Unmarshal([]byte(line), &reject))
	return reject.UUID
}

// goodLine is a line of a source that has nothing wrong with it.
func goodLine(id string) string {
	return `{"uuid":"` + id + `","event":"e","distinct_id":"ann","timestamp":"2024-05-01T00:00:00Z"}` + "\n"
}

// A record that has a uuid of its own keeps it, even if it has other faults: corrected in the reject file and in the source, it is one
// event. A reject file that is imported unchanged hands the uuid on.
func TestCorrectedRecordsKeepTheirOwnUUID(t *testing.T) {
	t.Parallel()
	const (
		id   = "498f1d9c-6b1e-4c37-9d2e-0a5b7c1d2e3f"
		own  = `"uuid":"` + id + `"`
		good = `"event":"e","distinct_id":"ann","timestamp":"2024-05-01T00:00:00Z"`
	)
	for name, line := range map[string]string{
		"unknown key":               `{` + own + `,` + good + `,"ip":"127.0.0.1"}`,
		"not corrected":             `{` + own + `,"$reject":{"reason":"bad_record","raw":"{"}}`,
		"left out":                  `{` + own + `,` + good + `,"$reject":{"left_out":["properties.n"]}}`,
		"name":                      `{` + own + `,"event":7,"distinct_id":"ann","timestamp":"2024-05-01T00:00:00Z"}`,
		"distinct id":               `{` + own + `,"event":"e","distinct_id":true,"timestamp":"2024-05-01T00:00:00Z"}`,
		"timestamp":                 `{` + own + `,"event":"e","distinct_id":"ann","timestamp":"2024-05-01 00:00:00Z"}`,
		"timestamp as number":       `{` + own + `,"event":"e","distinct_id":"ann","timestamp":1714521600}`,
		"properties":                `{` + own + `,` + good + `,"properties":[]}`,
		"set":                       `{` + own + `,` + good + `,"$set":"x"}`,
		"set once":                  `{` + own + `,` + good + `,"$set_once":1}`,
		"garbage behind it":         `{` + own + `,` + good + "}\x00\x00",
		"uuid behind the fault":     `{` + good + `,"ip":"127.0.0.1",` + own + `}`,
		"number beyond float64":     `{` + good + `,"properties":{"n":1e999},` + own + `}`,
		"bad UTF-8":                 "{" + good + `,"properties":{"name":"caf` + "\xe9" + `"},` + own + `}`,
		"half a surrogate pair":     `{` + good + `,"properties":{"x":"\ud800"},` + own + `}`,
		"nested too deep":           `{` + good + `,"properties":{"x":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `},` + own + `}`,
		"double key":                `{"event":"a",` + good + `,` + own + `}`,
		"the same uuid twice":       `{` + own + `,` + good + `,"uuid":"498F1D9C6B1E4C379D2E0A5B7C1D2E3F"}`,
		"escaped":                   `{"\u0075uid":"\u0034` + id[1:] + `","event":7}`,
		"in braces and upper case":  `{"uuid":"{498F1D9C-6B1E-4C37-9D2E-0A5B7C1D2E3F}","event":7}`,
		"another in the properties": `{"properties":{"uuid":"0190f5f4-35a0-7c3e-8d3f-7d8f2a1b6c01"},` + own + `,"event":7}`,
		"cut off":                   `{` + own + `,"event":"e","distinct_i`,
		"longer than a line can be": `{` + own + `,` + good + `,"properties":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`,
		"longer in a reject file":   `{` + own + `,` + good + `,"ip":1,"properties":{"x":"` + strings.Repeat(`\"`, 300_000) + `"}}`,
		"refused for its name":      `{` + own + `,"distinct_id":"ann","timestamp":"2024-05-01T00:00:00Z"}`,
		"refused for its id":        `{` + own + `,"event":"e","distinct_id":"ann","timestamp":"2024-05-01T00:00:00Z","properties":{"distinct_id":"bea"}}`,
		"refused for its time":      `{` + own + `,"event":"e","distinct_id":"ann","timestamp":"3024-05-01T00:00:00Z"}`,
		"refused for its values":    `{` + own + `,` + good + `,"properties":{"a":1,"a":2}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, client := fake(t)
			source := writeFile(t, "e.jsonl", line+"\n")
			var rejected []string
			for _, job := range []string{"first", "second", "third"} {
				rejects := filepath.Join(t.TempDir(), "rejects.jsonl")
				imported(t, client, hogapi.JSONLinesFile(source), &hogapi.ImportOptions{ID: job, MaxRejectShare: -1, Rejects: hogapi.RejectFile(rejects)})
				content := readFile(t, rejects)
				require.Equal(t, 1, bytes.Count(content, []byte("\n")))
				assert.Equal(t, id, rejectedUUID(t, string(content)), job)
				rejected, source = append(rejected, string(content)), rejects
			}
			for i, line := range rejected {
				corrected := writeFile(t, "corrected.jsonl", goodLine(rejectedUUID(t, line)))
				imported(t, client, hogapi.JSONLinesFile(corrected), &hogapi.ImportOptions{ID: fmt.Sprint("corrected-", i)})
			}
			imported(t, client, hogapi.JSONLinesFile(writeFile(t, "e.jsonl", goodLine(id))), &hogapi.ImportOptions{ID: "first"})
			assert.Equal(t, 1, server.Ledger().Unique())
			assert.NotEmpty(t, server.Ledger().Find(uuid.MustParse(id)))
		})
	}
}

// A reject does not keep a uuid that is invalid or may belong to another record: it gets the uuid of its position.
func TestRejectsKeepNoDoubtfulUUID(t *testing.T) {
	t.Parallel()
	const (
		own   = `"uuid":"498f1d9c-6b1e-4c37-9d2e-0a5b7c1d2e3f"`
		other = `"uuid":"0190f5f4-35a0-7c3e-8d3f-7d8f2a1b6c01"`
	)
	for name, line := range map[string]string{
		"no object":                 `[` + `{` + own + `}]`,
		"no JSON":                   own,
		"none":                      `{"event":7,"properties":{` + own + `}}`,
		"none that can be read":     `{"event":"e",timestamp,` + own + `}`,
		"null":                      `{"uuid":null,"event":7}`,
		"empty":                     `{"uuid":"","event":7}`,
		"zero":                      `{"uuid":"00000000-0000-0000-0000-000000000000","event":7}`,
		"a number":                  `{"uuid":7,"event":7}`,
		"no uuid":                   `{"uuid":"498f1d9c","event":7}`,
		"of a variant that is lost": `{"uuid":"498f1d9c-6b1e-4c37-cd2e-0a5b7c1d2e3f","event":7}`,
		"in half its braces":        `{"uuid":"{498f1d9c-6b1e-4c37-9d2e-0a5b7c1d2e3f)","event":7}`,
		"two":                       `{` + own + `,"event":"e",` + other + `}`,
		"a bad one and a good one":  `{"uuid":"yes",` + own + `}`,
		"two records":               `{` + own + `,"event":"e"} {` + other + `,"event":"e"}`,
		"torn in a key":             `{` + own + `,"event":"e","distin{` + other + `,"event":"e"}`,
		"torn in a text":            `{` + own + `,"event":"some{` + other + `,"event":"e"}`,
		"torn in an object":         `{` + own + `,"event":"e","properties":{"x":[{` + other + `,"event":"e"}`,
		"torn behind a colon":       `{` + own + `,"event":"e","properties":{` + other + `,"event":"f","distinct_id":"bea"}`,
		"torn before a colon":       `{` + own + `,"event"{"event":"e",` + other + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rejects := rejectLines(t, hogapi.JSONLinesFile(writeFile(t, "e.jsonl", line+"\n")))
			require.Len(t, rejects, 1)
			place := hogapi.Position{Key: "e.jsonl", Offset: int64(len(line)) + 1}
			assert.Equal(t, hogapi.UUIDAt(place, "rejects").String(), rejectedUUID(t, rejects[0]))
		})
	}
}

// Sources of users say which uuid a record has that made no event.
func TestBadEventsOfSourcesKeepTheirUUID(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("498f1d9c-6b1e-4c37-9d2e-0a5b7c1d2e3f")
	bad := hogapi.BadEvent(hogapi.Position{}, []byte("row 7"), errors.New("no time"))
	bad.UUID = id
	for name, source := range map[string]hogapi.Source{
		"SourceFunc": eventsOf(bad),
		"PagedSource": hogapi.PagedSource("rows", func(_ context.Context, after hogapi.Position) ([]hogapi.Event, hogapi.Position, error) {
			if !after.IsZero() {
				return nil, after, nil
			}
			return []hogapi.Event{bad}, hogapi.Position{Offset: 1}, nil
		}),
		"a wrapped file": hogapi.SourceFunc("wrapped", hogapi.JSONLinesFile(writeFile(t, "e.jsonl", `{"uuid":"`+id.String()+`","event":7}`)).Events),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rejects := rejectLines(t, source)
			require.Len(t, rejects, 1)
			assert.Equal(t, id.String(), rejectedUUID(t, rejects[0]))
		})
	}
}

// Lines of others in a reject file stay, and rejects are added after them.
func TestRejectFileDestroysNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "folder", "rejects.jsonl")
	bad := eventsOf(hogapi.BadEvent(hogapi.Position{}, []byte("bad"), errors.New("line 1")), numberedEvent(2))
	client := hogapitest.New().Client(t)
	run := func(id string, checkpoint hogapi.Checkpointer) {
		imported(t, client, bad, &hogapi.ImportOptions{ID: id, MaxRejectShare: -1, Checkpoint: checkpoint, Rejects: hogapi.RejectFile(path)})
	}
	lines := func() int {
		content := readFile(t, path)
		return bytes.Count(content, []byte(`"raw":"bad"`))
	}
	checkpoint := hogapi.FileCheckpoint(path + ".ckpt")
	run("one", nil)
	run("one", nil)
	assert.Equal(t, 2, lines(), "without a checkpoint each run adds its own")
	run("two", checkpoint)
	assert.Equal(t, 3, lines(), "a new import keeps the rejects of others")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"note":"of somebody"}`)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	run("two", checkpoint)
	assert.Equal(t, 3, lines(), "with a checkpoint none comes twice")
	content := readFile(t, path)
	assert.Contains(t, string(content), `{"note":"of somebody"}`+"\n")
}

// The working folder may be a link.
func TestFilesOfAnImportInALinkedFolder(t *testing.T) {
	folder := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(folder, link))
	t.Chdir(link)
	_, err := hogapitest.New().Client(t).Import(t.Context(), numbered(1), &hogapi.ImportOptions{
		ID: "x", Checkpoint: hogapi.FileCheckpoint("state"), Rejects: hogapi.RejectFile(filepath.Join(folder, "state.hogapi-tmp")),
	})
	assert.Equal(t, "ImportOptions.Rejects", requireInputError(t, err).Field)
}

// A reject file that fails stops the import with a reason, at whichever operation. Where a reject could not be written, the checkpoint
// cannot be saved either, since it would vouch for it: the first failure is the reason.
func TestRejectFileThatFails(t *testing.T) {
	t.Parallel()
	source := eventsOf(numberedEvent(1), hogapi.BadEvent(hogapi.Position{}, []byte("bad"), errors.New("line 2")))
	for n, want := range []hogapi.StopReason{
		hogapi.StopHandler,    // creation
		hogapi.StopHandler,    // sync of the folder
		hogapi.StopCheckpoint, // sync before the first save
		hogapi.StopHandler,    // write
		hogapi.StopCheckpoint, // sync before the second save
		hogapi.StopCheckpoint, // sync before the last save
		hogapi.StopHandler,    // sync at the end
	} {
		disk := new(simdisk.Disk)
		broken := errors.New("no space left")
		disk.FailAt(n+1, broken)
		_, err := hogapitest.New().Client(t).Import(t.Context(), source, &hogapi.ImportOptions{
			ID: "full", Checkpoint: hogapi.FileCheckpointOn(new(simdisk.Disk), "ckpt"), Rejects: hogapi.RejectFileOn(disk, "rejects"),
			Delivery: hogapi.DeliveryOptions{Protocol: hogapi.ProtocolBatch},
		})
		require.ErrorIs(t, err, broken, "operation %d", n+1)
		stop, ok := errors.AsType[*hogapi.StopError](err)
		require.True(t, ok, "operation %d: %v", n+1, err)
		assert.Equal(t, want, stop.Reason, "operation %d: %v", n+1, err)
	}
}

// Checkpoint, reject file and source are separate files, and so are the files that each makes next to its name.
func TestFilesOfAnImportAreItsOwn(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	in := func(name string) string { return filepath.Join(folder, name) }
	line := `{"event":"e","distinct_id":"p","timestamp":"2023-05-01T12:00:00Z"}` + "\n"
	for _, name := range []string{"events.jsonl", "c.hogapi-tmp", "r.lock", "hard"} {
		require.NoError(t, os.WriteFile(in(name), []byte(line), 0o600))
	}
	require.NoError(t, os.Symlink(in("c"), in("link")))
	require.NoError(t, os.Link(in("hard"), in("hard-too")))
	require.NoError(t, os.MkdirAll(in("a/deep"), 0o700))
	require.NoError(t, os.Mkdir(in("b"), 0o700))
	require.NoError(t, os.Symlink(in("a/deep"), in("b/folder")))
	require.NoError(t, os.Symlink("../x", in("a/deep/link")))
	client := hogapitest.New().Client(t)
	for _, test := range []struct{ source, checkpoint, rejects, field string }{
		{"events.jsonl", in("c"), in("c"), "ImportOptions.Rejects"},
		{"events.jsonl", "c", in("c"), "ImportOptions.Rejects"},
		{"events.jsonl", "c", "./c", "ImportOptions.Rejects"},
		{"events.jsonl", in("c"), in("link"), "ImportOptions.Rejects"},
		{"events.jsonl", "c", "c.hogapi-tmp", "ImportOptions.Rejects"},
		{"events.jsonl", "c", "c.lock", "ImportOptions.Rejects"},
		{"events.jsonl", "r.lock", "r", "ImportOptions.Rejects"},
		{"events.jsonl", "hard", "hard-too", "ImportOptions.Rejects"},
		{"events.jsonl", "events.jsonl", "r", "ImportOptions.Checkpoint"},
		{"c.hogapi-tmp", "c", "r", "ImportOptions.Checkpoint"},
		{"r.lock", "c", "r", "ImportOptions.Rejects"},
		{"hard", "c", "hard-too", "ImportOptions.Rejects"},
		{"events.jsonl", in("b/folder/link"), in("b/x"), ""}, // the checkpoint is a/x
	} {
		_, err := client.Import(t.Context(), hogapi.JSONLinesFile(test.source), &hogapi.ImportOptions{
			ID: "files", Checkpoint: hogapi.FileCheckpoint(test.checkpoint), Rejects: hogapi.RejectFile(test.rejects),
		})
		if test.field == "" {
			require.NoError(t, err)
			continue
		}
		var input *hogapi.InputError
		require.ErrorAs(t, err, &input, "%v", test)
		assert.Equal(t, test.field, input.Field, "%v", test)
		assert.NoFileExists(t, in("c"))
		assert.NoFileExists(t, in("r"))
	}
}

// FuzzRejectFile: for any record, its line can be read again, holds the record byte for byte, and is one line.
func FuzzRejectFile(f *testing.F) {
	f.Add([]byte("no JSON"), "name", "id")
	f.Add([]byte{0xff, '\n', 0}, "\xff", "\u2028\ufffd")
	f.Add([]byte(`{"a":"\ud800"}`), "a\nb", "")
	f.Add([]byte(`{"uuid":"461fc531-6209-5996-b1b1-a8aa997a6516","uuid":1}`), "\xff", `{"uuid"`)
	path := filepath.Join(f.TempDir(), "rejects.jsonl")
	f.Fuzz(func(t *testing.T, raw []byte, name, id string) {
		_ = os.Remove(path)
		client := hogapitest.New().Client(t)
		source := eventsOf(
			hogapi.BadEvent(hogapi.Position{}, raw, errors.New(name)),
			hogapi.Event{Name: name, DistinctID: id, RawProperties: raw}, // without a time
		)
		imported(t, client, source, &hogapi.ImportOptions{ID: "fuzz", MaxRejectShare: -1, Rejects: hogapi.RejectFile(path)})
		got, err := readSource(t.Context(), hogapi.JSONLinesFile(path), hogapi.Position{})
		require.NoError(t, err)
		require.Len(t, got, 2)
		for i, r := range got {
			place := hogapi.Position{Key: "row", Offset: int64(i) + 1}
			require.Equal(t, hogapi.UUIDAt(place, "fuzz"), r.UUID, "corrected or not")
		}
		checkRaw(t, got[0].Raw, raw)
		if got[1].Bad == "" {
			require.Equal(t, name, got[1].Name)
			require.Equal(t, id, got[1].DistinctID)
			if got[1].Properties != "" {
				require.Equal(t, decoded(t, raw), decoded(t, []byte(got[1].Properties)))
			}
			return
		}
		if strings.Contains(got[1].Bad, "left_out") && strings.Contains(got[1].Raw, `"left_out":["properties"]`) {
			checkRaw(t, got[1].Raw, raw)
		}
	})
}

// checkRaw demands that a line has the record under $reject.
func checkRaw(t *testing.T, line string, raw []byte) {
	t.Helper()
	var note struct {
		Reject struct {
			Raw       *string `json:"raw"`
			RawBase64 []byte  `json:"raw_base64"`
		} `json:"$reject"`
	}
	require.NoError(t, json.Unmarshal([]byte(line), &note))
	got := note.Reject.RawBase64
	if note.Reject.Raw != nil {
		got = []byte(*note.Reject.Raw)
	}
	require.Equal(t, string(raw), string(got))
}
