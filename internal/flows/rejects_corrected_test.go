package flows_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// stored are the events of a fake: their content by uuid.
func stored(t *testing.T, server *hogapitest.Server) map[uuid.UUID]string {
	t.Helper()
	require.Empty(t, server.Ledger().Changed())
	events := map[uuid.UUID]string{}
	for ev := range server.Ledger().Events() {
		var properties map[string]any
		require.NoError(t, json.Unmarshal(ev.Properties, &properties))
		delete(properties, "$import_job_id")
		text, err := json.Marshal(properties)
		require.NoError(t, err)
		events[ev.UUID] = fmt.Sprint(ev.Event, " ", ev.DistinctID, " ", ev.Time.UTC(), " ", string(text))
	}
	return events
}

// With the corrected parser or mapping, a reject file gives exactly the rejects, each with the uuid of its position.
func TestRejectsAreImportedCorrected(t *testing.T) {
	t.Parallel()
	const n, unfit = 300, "2006-01-02 15:04:05Z" // no line may have such a time
	var lines, right strings.Builder
	for i := range n {
		format := time.RFC3339
		if i%3 == 0 {
			format = unfit
		}
		at := longAgo.Add(time.Duration(i) * time.Hour)
		line := `{"event":"order","distinct_id":"ann","timestamp":"%s","properties":{"n":%d,"text":"<\u0026> \"é\" 12345678901234567890.0"}}` + "\n"
		fmt.Fprintf(&lines, line, at.Format(format), i)
		fmt.Fprintf(&right, line, at.Format(time.RFC3339), i)
	}
	correct := func(record []byte) ([]hogapi.Event, error) {
		var line struct {
			Event      string
			DistinctID string `json:"distinct_id"`
			Timestamp  string
			Properties json.RawMessage
		}
		if err := json.Unmarshal(record, &line); err != nil {
			return nil, err
		}
		at, err := time.Parse(unfit, line.Timestamp)
		return []hogapi.Event{{Name: line.Event, DistinctID: line.DistinctID, Timestamp: at, RawProperties: line.Properties}}, err
	}
	type mapping = func(hogapi.Event) ([]hogapi.Event, error)
	for name, tt := range map[string]struct {
		content         string
		wrong, right    mapping // may be nil
		rejected        int64
		corrected       func(rejects string) history.Source
		refusedByServer bool
	}{
		"a corrected parser": {
			content: lines.String(), rejected: n / 3,
			corrected: func(rejects string) history.Source { return history.Rejected(rejects, correct) },
		},
		"a mapping that failed": {
			content: right.String(), rejected: n / 4,
			right: unchanged,
			wrong: func(ev hogapi.Event) ([]hogapi.Event, error) {
				if ev.Timestamp.Hour()%4 == 1 {
					return nil, errors.New("a branch that was forgotten")
				}
				return unchanged(ev)
			},
			corrected: func(rejects string) history.Source {
				return history.Map(history.Rejected(rejects, nil), unchanged)
			},
		},
		"refused by the service": {
			content: right.String(), rejected: n / 10, refusedByServer: true,
			corrected: func(rejects string) history.Source { return history.Rejected(rejects, nil) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mapped := func(s history.Source, m mapping) history.Source {
				if m == nil {
					return s
				}
				return history.Map(s, m)
			}
			server, want := hogapitest.New(), hogapitest.New()
			client := server.Client(t)
			if tt.refusedByServer {
				refuseEvents(t, server, every(10))
			}
			rejects := filepath.Join(t.TempDir(), "rejects.jsonl")
			source := history.JSONLines(writeFile(t, "events.jsonl", tt.content))
			receipt := imported(t, client, mapped(source, tt.wrong), &history.Options{
				ID: "first", MaxRejectShare: -1, Rejects: history.RejectFile(rejects), Rate: hogapi.RateUnlimited,
			})
			require.Equal(t, tt.rejected, receipt.Rejected)
			before := server.Ledger().Len()
			requireRawRecords(t, rejects, tt.content, tt.refusedByServer)

			server.RejectEvents(nil)
			receipt = imported(t, client, tt.corrected(rejects), &history.Options{
				ID: "corrected", Checkpoint: checkpointOnly(t), Rate: hogapi.RateUnlimited,
			})
			assert.Equal(t, tt.rejected, receipt.Acknowledged)
			assert.EqualValues(t, before+int(tt.rejected), server.Ledger().Len(), "exactly the rejects were sent")

			file := writeFile(t, "events.jsonl", right.String())
			imported(t, want.Client(t), mapped(history.JSONLines(file), tt.right), &history.Options{ID: "first", Rate: hogapi.RateUnlimited})
			assert.Equal(t, stored(t, want), stored(t, server))
		})
	}
}

// requireRawRecords demands that each reject has its record and place in the source.
func requireRawRecords(t *testing.T, rejects, content string, refusedByServer bool) {
	t.Helper()
	written := readFile(t, rejects)
	lines := strings.SplitAfter(content, "\n")
	for line := range bytes.Lines(written) {
		var reject struct {
			UUID uuid.UUID
			Note struct {
				Position hogapi.Position
				Where    string
				Raw      string
			} `json:"$reject"`
		}
		require.NoError(t, json.Unmarshal(line, &reject))
		place := reject.Note.Position
		assert.Equal(t, "events.jsonl", place.Key)
		assert.Equal(t, uuidAt(place, "first"), reject.UUID)
		if refusedByServer {
			continue // the event itself is there
		}
		number := strings.Count(content[:place.Offset], "\n")
		assert.Equal(t, lines[number-1], reject.Note.Raw+"\n")
		assert.Equal(t, fmt.Sprint("events.jsonl:", number), reject.Note.Where)
	}
}

// A record that is too large is a reject, as a whole or with the place of the original, and stays so until it is corrected.
func TestRejectsThatAreTooLarge(t *testing.T) {
	t.Parallel()
	record := func(n int) string { return fmt.Sprintf(`{"id":%d,"more":%q}`, n, strings.Repeat("\"", n)) }
	sizes := []int{3 << 19, 5 << 20, 17 << 19} // 3, 10 and 17 MiB of text
	var plain bytes.Buffer
	for _, n := range sizes {
		plain.WriteString(record(n) + "\n")
	}
	fails := func([]byte) ([]hogapi.Event, error) { return nil, errors.New("not yet") }
	converts := func(record []byte) ([]hogapi.Event, error) {
		var of struct{ ID int }
		if err := json.Unmarshal(record, &of); err != nil {
			return nil, err
		}
		return []hogapi.Event{{Name: "e", DistinctID: fmt.Sprint(of.ID), Timestamp: time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)}}, nil
	}
	for name, content := range map[string][]byte{"e.json": plain.Bytes(), "e.json.gz": []byte(zipped(plain.String()))} {
		folder := t.TempDir()
		file := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(file, content, 0o600))
		server := hogapitest.New()
		run := func(id string, source history.Source) (hogapi.Receipt, string) {
			path := filepath.Join(folder, id)
			receipt := imported(t, server.Client(t), source, &history.Options{ID: id, MaxRejectShare: -1, Rejects: history.RejectFile(path)})
			return receipt, path
		}
		receipt, path := run("first", history.Files(history.Format{Name: "own", Convert: fails}, file))
		require.EqualValues(t, 3, receipt.Rejected)
		again, second := run("second", history.Rejected(path, fails))
		require.EqualValues(t, 3, again.Rejected)
		for i, line := range strings.Split(strings.TrimSpace(string(readFile(t, second))), "\n") {
			var of struct {
				Reject struct {
					Raw      string
					Original struct{ File string }
				} `json:"$reject"`
			}
			require.NoError(t, json.Unmarshal([]byte(line), &of))
			if i < 2 {
				assert.True(t, of.Reject.Raw == record(sizes[i]), "%s: record %d has %d bytes", name, i, len(of.Reject.Raw))
			} else {
				assert.Equal(t, file, of.Reject.Original.File)
			}
		}
		corrected, _ := run("corrected", history.Rejected(second, converts))
		assert.EqualValues(t, 3, corrected.Acknowledged, name)
		assert.Equal(t, 3, server.Ledger().Unique())

		require.NoError(t, os.WriteFile(file, content[:len(content)/2], 0o600))
		gone, third := run("gone", history.Rejected(second, converts))
		assert.EqualValues(t, []int64{2, 1}, []int64{gone.Acknowledged, gone.Rejected}, name)
		assert.Contains(t, string(readFile(t, third)), "cannot be read there")
	}
}

// A line that was corrected by hand, with a mistake and no newline, is there still when the import runs again.
func TestRejectFileKeepsAnUnfinishedLine(t *testing.T) {
	t.Parallel()
	path, checkpoint := filepath.Join(t.TempDir(), "rejects.jsonl"), checkpointOnly(t)
	source := eventsOf(hogapi.Event{DistinctID: "a"}, hogapi.Event{DistinctID: "b"}, hogapi.Event{DistinctID: "c"})
	run := func() {
		receipt := imported(t, hogapitest.New().Client(t), source,
			&history.Options{ID: "x", MaxRejectShare: -1, Checkpoint: checkpoint, Rejects: history.RejectFile(path)})
		assert.EqualValues(t, 3, receipt.Rejected)
	}
	run()
	content := readFile(t, path)
	content = append(content[:len(content)-len("}}\n")], `},"event":"c"`...) // a brace too few
	require.NoError(t, os.WriteFile(path, content, 0o600))
	run()
	after := readFile(t, path)
	assert.Equal(t, string(content)+"\n", string(after))

	// As a source it is rejected with its text, also where a crash has torn it and a later line has all of it.
	for more, want := range map[string]int64{"": 3, string(content[bytes.LastIndexByte(content, '\n')+1:]) + "}\n": 4} {
		require.NoError(t, os.WriteFile(path, append(after, more...), 0o600))
		receipt := imported(t, hogapitest.New().Client(t), history.Rejected(path, nil),
			&history.Options{ID: "again", MaxRejectShare: -1, Rejects: history.RejectFile(path + ".new")})
		assert.Equal(t, want, receipt.Rejected, more)
	}
}

func TestRejectFileRefusesAnotherFile(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"text": "my notes", "binary": "\x7fELF\x02\n\x00\x00\x00", "events": `{"event":"a","distinct_id":"b","timestamp":"2024-05-01T10:30:00Z"}` + "\n",
	} {
		path := writeFile(t, "file", content)
		_, err := history.Import(t.Context(), hogapitest.New().Client(t), eventsOf(hogapi.Event{DistinctID: "a"}),
			&history.Options{ID: "x", MaxRejectShare: -1, Rejects: history.RejectFile(path)})
		require.ErrorAs(t, err, new(*hogapi.InputError), name)
		require.ErrorContains(t, err, "a reject file", name)
		assert.Equal(t, content, string(readFile(t, path)), name)
		assert.NoFileExists(t, path+".lock", name)
	}
}

// Each reject holds the bytes of its own line, although other lines fill the reader's buffer before it is settled.
func TestRejectsHoldTheirOwnLine(t *testing.T) {
	t.Parallel()
	const n = 12_000
	random := rand.New(rand.NewPCG(1, 2))
	var content strings.Builder
	var all, bad []string
	for i := range n {
		line := fmt.Sprintf(`{"event":"e","distinct_id":"p","timestamp":"1998-01-01T00:00:00Z","properties":{"n":%d}}`, i)
		if i%3 > 0 {
			line = fmt.Sprintf(`{"bad line":%d,%q}`, i, strings.Repeat("x", random.IntN(200)))
			bad = append(bad, line)
		}
		all = append(all, line)
		content.WriteString(line + "\n")
	}
	file := history.JSONLines(writeFile(t, "e.jsonl", content.String()))
	for name, tt := range map[string]struct {
		source history.Source
		want   []string
	}{
		"a file":        {file, bad},
		"a mapped file": {history.Map(file, unchanged), bad},
		"a gzip file":   {history.JSONLines(writeFile(t, "e.jsonl", zipped(content.String()))), bad},
		"a mapping that fails": {
			history.Map(file, func(hogapi.Event) ([]hogapi.Event, error) { return nil, errors.New("no") }), all,
		},
		"a mapping that makes a bad name": {
			history.Map(file, func(ev hogapi.Event) ([]hogapi.Event, error) { ev.Name = ""; return []hogapi.Event{ev}, nil }), all,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New(hogapitest.WithCompactLedger())
			if len(tt.want) < n { // something is sent
				server.Script(ops.Capture, hogapitest.Slow(300*time.Millisecond)) // all is read by then
			}
			var rejects []hogapi.Reject
			receipt := imported(t, server.Client(t), tt.source, &history.Options{ID: "raw", Rate: hogapi.RateUnlimited, MaxRejectShare: -1, Rejects: keepRejects(&rejects)})
			assert.EqualValues(t, len(tt.want), receipt.Rejected)
			var got []string
			for _, r := range rejects {
				got = append(got, string(r.Raw))
			}
			require.Equal(t, tt.want, got)
		})
	}
}
