package flows_test

import (
	"context"
	"encoding/json"
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
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// A record is an event of a source, and its place.
type record struct {
	Name     string
	Position hogapi.Position
}

// readSource takes the records behind a position.
func readSource(ctx context.Context, source history.Source, after hogapi.Position) (records []record, err error) {
	for ev, err := range source.Events(ctx, after) {
		if err != nil {
			return records, err
		}
		records = append(records, record{ev.Name, ev.Position})
	}
	return records, nil
}

// The uuid of a whole last line does not depend on its newline, and the file may grow behind it.
func TestJSONLinesLastLine(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "e.jsonl", `{"event":"a"}`)
	open, err := readSource(t.Context(), history.JSONLines(path), hogapi.Position{})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(`{"event":"a"}`+"\n"+`{"event":"b"}`), 0o600))
	grown, err := readSource(t.Context(), history.JSONLines(path), hogapi.Position{})
	require.NoError(t, err)
	assert.Equal(t, open[0].Position, grown[0].Position)
	rest, err := readSource(t.Context(), history.JSONLines(path), open[0].Position)
	require.NoError(t, err)
	assert.Equal(t, grown[1:], rest)
}

// refusalsOf imports files and returns the rejects.
func refusalsOf(t *testing.T, source history.Source, checkpoint history.Checkpointer) (all []hogapi.Reject) {
	t.Helper()
	imported(t, hogapitest.New().Client(t), source, &history.Options{
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
			rejects := refusalsOf(t, history.JSONLines(path, other), nil)
			require.Len(t, rejects, 3)
			for i, want := range []string{"e.jsonl:3", "e.jsonl:4", "other.jsonl:2"} {
				assert.Equal(t, want, rejects[i].Where)
				assert.Equal(t, want, rejects[i].Err.Where)
				require.ErrorContains(t, rejects[i].Err, fmt.Sprintf("(%s, byte offset %d)", want, rejects[i].Position.Offset))
			}
			require.Len(t, refusalsOf(t, history.JSONLines(path), checkpoint), 2)
			grown := writeFile(t, "e.jsonl", form(content+more))
			rejects = refusalsOf(t, history.JSONLines(grown), checkpoint)
			require.Len(t, rejects, 2)
			assert.Equal(t, []string{"e.jsonl:6", "e.jsonl:8"}, []string{rejects[0].Where, rejects[1].Where})
			report, err := history.Check(t.Context(), history.JSONLines(grown), &history.Options{ID: "refusals", MaxRejectShare: -1})
			require.NoError(t, err)
			assert.Contains(t, report.String(), "(e.jsonl:6, byte offset ")
		})
	}
}

// However an import ends, each error says once from where it is.
func TestErrorsHaveOnePrefix(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		source  history.Source // nil: a file of the content
		fault   hogapitest.Fault
		change  func(t *testing.T, o *history.Options)
	}{
		"a refusal":          {content: youngRecord},
		"a bad line":         {content: "bad\n"},
		"an unfinished line": {content: goodRecord + "\n" + goodRecord[:30]},
		"a missing file":     {source: history.JSONLines("missing.jsonl")},
		"no file":            {source: history.JSONLines()},
		"a folder":           {source: history.JSONLines(t.TempDir())},
		"a refused batch":    {content: goodRecord, fault: hogapitest.Always(hogapitest.Status(400))},
		"a wrong key":        {content: goodRecord, fault: hogapitest.Always(hogapitest.Status(401))},
		"no progress":        {content: goodRecord, fault: hogapitest.Always(hogapitest.CutBefore()), change: func(_ *testing.T, o *history.Options) { o.Delivery.GiveUpAfter = time.Second }},
		"too many rejects":   {content: "bad\nbad\n", change: func(_ *testing.T, o *history.Options) { o.Rejects = ignoreRejects }},
		"a handler": {content: "bad\n", change: func(_ *testing.T, o *history.Options) {
			o.Rejects = hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error { return r.Err })
		}},
		"a checkpoint in use": {content: goodRecord, change: func(t *testing.T, o *history.Options) {
			path := filepath.Join(t.TempDir(), "ckpt")
			owner := history.CheckpointFile(path)
			_, err := owner.Open(t.Context())
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, owner.Close()) })
			o.Checkpoint = history.CheckpointFile(path)
		}},
		"a checkpoint of another import": {content: goodRecord, change: func(t *testing.T, o *history.Options) {
			o.Checkpoint = &memoryCheckpoint{}
			imported(t, hogapitest.New().Client(t), numbered(3), &history.Options{ID: "other", Checkpoint: o.Checkpoint})
		}},
		"bad options": {content: goodRecord, change: func(_ *testing.T, o *history.Options) { o.Rate = -7 }},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			server := hogapitest.New(hogapitest.WithClock(func() time.Time { return time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC) }))
			server.Script(ops.Capture, c.fault)
			options, source := history.Options{ID: "prefixes"}, c.source
			if source == nil {
				source = history.JSONLines(writeFile(t, "e.jsonl", c.content))
			}
			if c.change != nil {
				c.change(t, &options)
			}
			client := server.Client(t, hogapi.WithClock(func() time.Time { return time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC) }))
			_, err := history.Import(t.Context(), client, source, &options)
			require.Error(t, err)
			for line := range strings.Lines(err.Error()) { // errors that are joined have a line each
				assert.Equal(t, 1, strings.Count(line, "hogapi: "), line)
				assert.True(t, strings.HasPrefix(line, "hogapi: "), line)
			}
			_, err = history.Check(t.Context(), source, &options)
			if err != nil && !errors.Is(err, context.Canceled) {
				assert.Equal(t, 1, strings.Count(err.Error(), "hogapi: "), "%v", err)
			}
		}))
	}
}

// ReadEvent reads the output of AppendEvent again; other bytes are an error, not a panic.
func FuzzEventBinary(f *testing.F) {
	for _, ev := range []hogapi.Event{
		{Name: "e", DistinctID: "a", Timestamp: longAgo, Properties: map[string]any{"n": 1.5}, Set: map[string]any{"a": json.Number("12345678901234567890")}},
		event.Bad(hogapi.Position{Key: "k", Offset: 7}, []byte("raw"), &event.Error{Reason: event.ReasonBadRecord, Field: "f", Want: "w"}),
		event.Skip(hogapi.Position{Offset: 1}, "why"),
	} {
		data, err := wire.AppendEvent(nil, &ev)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var ev, again hogapi.Event
		if wire.ReadEvent(data, &ev) != nil {
			return
		}
		kept, err := wire.AppendEvent(nil, &ev)
		if err != nil {
			return // properties that are not JSON
		}
		require.NoError(t, wire.ReadEvent(kept, &again))
		twice, err := wire.AppendEvent(nil, &again)
		require.NoError(t, err)
		require.Equal(t, kept, twice)
	})
}
