package flows_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// The events that all tests of an import share, by short names.

type memoryCheckpoint = testevents.Checkpoint

var (
	longAgo       = testevents.LongAgo
	numbered      = testevents.Source
	numberedEvent = testevents.Event
	numberedUUID  = testevents.ID
	numberedUUIDs = testevents.IDs
	altered       = testevents.Altered

	ignoreRejects  = testevents.IgnoreRejects
	unsettledUUIDs = testevents.Unsettled
	redirect       = testevents.Redirect
	zipped         = testevents.Gzip
	savedReceipt   = testevents.SavedReceipt

	requireWhole    = testevents.RequireWhole
	requireBalanced = testevents.RequireBalanced
)

// A source without a function, or of nil, is refused before a checkpoint is made, instead of a panic later.
func TestSourcesWithoutAFunction(t *testing.T) {
	t.Parallel()
	client := hogapitest.New().Client(t)
	path := filepath.Join(t.TempDir(), "ckpt")
	lost := (*struct{ history.Source })(nil)
	for _, source := range []history.Source{
		nil, history.Func("a", nil), history.Paged("a", nil), lost,
		history.Concat(), history.Concat(nil), history.Concat(numbered(1), nil), wrapping{}, history.Concat(numbered(1), wrapping{}), wrapping{history.Concat(nil)},
		history.Map(lost, func(ev hogapi.Event) ([]hogapi.Event, error) { return []hogapi.Event{ev}, nil }),
	} {
		options := history.Options{ID: "nothing", Checkpoint: history.CheckpointFile(path)}
		_, err := history.Import(t.Context(), client, source, &options)
		assert.Equal(t, "source", requireInputError(t, err).Field)
		_, err = history.Check(t.Context(), source, &options)
		assert.Equal(t, "source", requireInputError(t, err).Field)
	}
	options := history.Options{ID: "nothing", Checkpoint: (*struct{ history.Checkpointer })(nil)}
	_, err := history.Import(t.Context(), client, numbered(1), &options)
	assert.Equal(t, "Options.Checkpoint", requireInputError(t, err).Field)
	assert.NoFileExists(t, path)
}

// Events with a UUID of their own and bad records may lack a position: they get the end of their page.
func TestPagedSource(t *testing.T) {
	t.Parallel()
	end := hogapi.Position{Offset: 7}
	pages := func(events ...hogapi.Event) history.Source {
		return history.Paged("name", func(_ context.Context, after hogapi.Position) ([]hogapi.Event, hogapi.Position, error) {
			if after == end {
				return nil, end, nil
			}
			return events, end, nil
		})
	}
	source := pages(hogapi.Event{Name: "a", UUID: numberedUUID(1)}, event.Bad(hogapi.Position{}, nil, errors.New("broken")))
	assert.Equal(t, "name", source.Name())
	for range 2 { // a source can be read again
		got, err := readSource(t.Context(), source, hogapi.Position{})
		require.NoError(t, err)
		require.Len(t, got, 2)
		assert.Equal(t, []hogapi.Position{end, end}, []hogapi.Position{got[0].Position, got[1].Position})
	}
	for range source.Events(t.Context(), hogapi.Position{}) {
		break
	}
	_, err := readSource(t.Context(), pages(hogapi.Event{Name: "a"}), hogapi.Position{})
	require.ErrorContains(t, err, "neither Position nor UUID")
	_, err = readSource(t.Context(), pages(numberedEvent(1), hogapi.Event{Name: "a", UUID: numberedUUID(2)}), hogapi.Position{})
	require.ErrorContains(t, err, "the page after the start has events with a Position and others without")
}

// Pages with rows out of order of their positions end the import.
func TestPagesThatGoBack(t *testing.T) {
	t.Parallel()
	for text, offsets := range map[string][]int64{"an event at t@1 after t@3": {3, 1, 2}, "an event at t@2 after t@4": {1, 4, 2}, "": {1, 2, 2, 3}} {
		source := history.Paged("name", func(_ context.Context, after hogapi.Position) (page []hogapi.Event, upTo hogapi.Position, err error) {
			if !after.IsZero() {
				return nil, after, nil
			}
			for i, offset := range offsets {
				ev := numberedEvent(i + 1)
				ev.Position = hogapi.Position{Key: "t", Offset: offset}
				page = append(page, ev)
			}
			return page, hogapi.Position{Key: "t", Offset: 9}, nil
		})
		server, client := fake(t)
		receipt, err := history.Import(t.Context(), client, source, &history.Options{ID: "x", Rate: hogapi.RateUnlimited})
		if text == "" {
			require.NoError(t, err)
			assert.EqualValues(t, len(offsets), receipt.Acknowledged)
			continue
		}
		assert.Equal(t, hogapi.StopSource, as[*hogapi.StopError](t, err).Reason)
		require.ErrorContains(t, err, text)
		assert.Zero(t, server.Ledger().Len())
	}
}

// A source that ignores the position after which it is to continue is noticed before anything is sent.
func TestSourceThatIgnoresThePosition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		ignores := func(from int) history.Source {
			return history.Func("numbered", func(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
				if !after.IsZero() {
					after.Offset = int64(from)
				}
				return numbered(n).Events(ctx, after)
			})
		}
		server, client := fake(t)
		options := &history.Options{ID: "x", Rate: hogapi.RateUnlimited, Checkpoint: &testevents.Checkpoint{}}
		ctx, cancel := context.WithCancel(t.Context())
		_, err := history.Import(ctx, client, testevents.Altered(numbered(n), func(ev *hogapi.Event) {
			if ev.Position.Offset == 500 {
				time.Sleep(time.Minute) // virtual: those before are settled
				cancel()
			}
		}), options)
		require.ErrorIs(t, err, context.Canceled)
		before := server.Ledger().Len()
		for _, from := range []int{0, 497} {
			receipt, err := history.Import(t.Context(), client, ignores(from), options)
			assert.Equal(t, hogapi.StopSource, as[*hogapi.StopError](t, err).Reason)
			require.ErrorContains(t, err, "the source does not continue where the checkpoint ends: the run before settled everything up to 498, and the first event now is at")
			assert.EqualValues(t, 498, receipt.Acknowledged)
		}
		assert.Equal(t, before, server.Ledger().Len(), "nothing was sent")
		receipt, err := history.Import(t.Context(), client, ignores(600), options)
		require.NoError(t, err, "a source may leave positions out")
		assert.EqualValues(t, 498+400, receipt.Acknowledged)
	})
}

// A checkpoint recognizes a source by its name, so each has one.
func TestSourceWithoutAName(t *testing.T) {
	server, client := fake(t)
	_, err := history.Import(t.Context(), client, history.Func("", numbered(1).Events), &history.Options{ID: "x"})
	require.ErrorContains(t, err, "source.Name: want a name that stays the same for every run")
	require.Empty(t, server.Calls(ops.Capture))
}

// A panic of a format is an error with the record's place, and without the record.
func TestFormatsThatPanic(t *testing.T) {
	t.Parallel()
	content := "{\"n\":1}\n{\"n\":2}\n{\"n\":\"secret\"}\n"
	for name, f := range map[string]func(record []byte){
		"a panic with a value of type string":          func(record []byte) { panic("no " + string(record)) },
		"index out of range":                           func(record []byte) { _ = record[len(record)] },
		"sources_test.go:":                             func(record []byte) { _ = record[len(record)] },
		"a panic with a value of type *ops.InputError": func([]byte) { panic(&hogapi.InputError{Field: "secret"}) },
	} {
		format := visits
		format.Convert = func(record []byte) ([]hogapi.Event, error) {
			if strings.Contains(string(record), "secret") {
				f(record)
			}
			return []hogapi.Event{{Name: "e", DistinctID: "a", Timestamp: time.Unix(1714552200, 0)}}, nil
		}
		path := writeFile(t, "v.jsonl", content)
		_, err := history.Check(t.Context(), history.Files(format, path), &history.Options{ID: "v", MaxRejectShare: -1})
		require.ErrorContains(t, err, "v.jsonl:3: the format's function panicked")
		require.ErrorContains(t, err, name)
		assert.NotContains(t, err.Error(), "secret")
		_, err = history.Import(t.Context(), hogapitest.New().Client(t), history.Files(format, path), &history.Options{ID: "v", MaxRejectShare: -1})
		require.ErrorContains(t, err, "v.jsonl:3: the format's function panicked")
	}
}

// wrapping is a source of a user that wraps another one, and says so.
type wrapping struct{ history.Source }

func (w wrapping) Unwrap() history.Source { return w.Source }

// recordsOf gives the lines of texts as the records of files.
func recordsOf(texts ...string) func(context.Context, hogapi.Position) iter.Seq2[history.Record, error] {
	return func(_ context.Context, after hogapi.Position) iter.Seq2[history.Record, error] {
		return func(yield func(history.Record, error) bool) {
			found := after.IsZero()
			for i, text := range texts {
				name := fmt.Sprintf("file-%d", i)
				found = found || name == after.Key
				for n, line := range bytes.Split([]byte(strings.TrimSpace(text)), []byte("\n")) {
					number := int64(n + 1)
					if !found || name == after.Key && number <= after.Offset {
						continue
					}
					if !yield(history.Record{Raw: line, Position: hogapi.Position{Key: name, Offset: number}}, nil) {
						return
					}
				}
			}
		}
	}
}

// Records of a reader become the events that they become in files, also where it resumes.
func TestRecordSource(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(someVisits)
	for i := range 6000 { // equal records further apart than one step back
		at := time.Date(2024, 5, 1, 12, 0, 2+i/4000, 0, time.UTC).Format(time.RFC3339)
		fmt.Fprintf(&text, `{"visitor":"v%d","page":"/","at":"%s"}`+"\n", i%1500, at)
	}
	text.WriteString(someVisits)
	want := hogapitest.New()
	options := history.Options{ID: "visits", Rate: hogapi.RateUnlimited, MaxRejectShare: -1, Rejects: hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { return nil })}
	files := history.Files(visits, writeFile(t, "a.jsonl", text.String()), writeFile(t, "b.jsonl", someVisits))
	imported(t, want.Client(t), files, &options)

	source := history.Records("two files", visits, recordsOf(text.String(), someVisits))
	assert.Equal(t, "visits: two files", source.Name())
	got := hogapitest.New()
	receipt := imported(t, got.Client(t), source, &options)
	requireBalanced(t, receipt)
	assert.Equal(t, stored(t, want), stored(t, got))

	all := testevents.Walked(t, source.Events(t.Context(), hogapi.Position{}))
	for _, i := range []int{0, 5, 900, 3000, 5990, len(all) - 2} {
		next := i + 1
		for next < len(all) && all[next].Position == all[i].Position {
			next++
		}
		for ev, err := range source.Events(t.Context(), all[i].Position) {
			require.NoError(t, err)
			require.Equal(t, all[next].Position, ev.Position)
			require.Equal(t, all[next].Origin, ev.Origin, "%d of %d", next, len(all))
			next++
		}
		assert.Equal(t, len(all), next)
	}
}

func TestRecordSourceFaults(t *testing.T) {
	t.Parallel()
	broken := errors.New("the file is broken")
	read := func(_ context.Context, after hogapi.Position) iter.Seq2[history.Record, error] {
		return func(yield func(history.Record, error) bool) {
			switch {
			case !after.IsZero():
				yield(history.Record{}, broken)
			case yield(history.Record{Position: hogapi.Position{Key: "f", Offset: 1}, Err: errors.New("not UTF-8")}, nil):
				yield(history.Record{Position: hogapi.Position{Key: "f", Offset: 2}, Raw: make([]byte, 9<<20)}, nil)
			}
		}
	}
	source := history.Records("f", visits, read)
	report, err := history.Check(t.Context(), source, &history.Options{ID: "visits", MaxRejectShare: -1})
	require.NoError(t, err)
	assert.EqualValues(t, 2, report.Rejected)
	assert.Contains(t, fmt.Sprint(report.Reasons), "not UTF-8")
	assert.Contains(t, fmt.Sprint(report.Reasons), "at most 8388608 are read")
	for _, err := range source.Events(t.Context(), hogapi.Position{Key: "f", Offset: 1}) {
		require.ErrorIs(t, err, broken)
	}
	for _, err := range history.Records("f", history.Format{Name: "f"}, read).Events(t.Context(), hogapi.Position{}) {
		require.ErrorContains(t, err, "Format.Convert")
	}
}

// Several sources are one: from every position on the rest comes, and no file that is read is written to.
func TestConcat(t *testing.T) {
	t.Parallel()
	first, second := writeFile(t, "first.jsonl", linesOf(2023, 5)), writeFile(t, "second.csv", layouts["CSV"](rowsOf(20)))
	parts := []history.Source{
		history.JSONLines(first), history.Map(history.Files(tableFormat, second), unchanged), history.Concat(numbered(7)), history.JSONLines(writeFile(t, "third.jsonl", linesOf(2024, 5))),
	}
	source := history.Concat(parts...)
	all, positions := described(t, source, hogapi.Position{})
	for i, p := range positions {
		if i+1 < len(positions) && positions[i+1] == p {
			continue
		}
		rest, _ := described(t, source, p)
		require.Equal(t, all[i+1:], append([]string{}, rest...), "after %s", p)
	}

	client := hogapitest.New().Client(t)
	_, err := history.Import(t.Context(), client, source, &history.Options{ID: "x", Rejects: history.RejectFile(second)})
	assert.Equal(t, "Options.Rejects", requireInputError(t, err).Field)
	_, err = history.Import(t.Context(), client, history.Concat(parts[0], history.JSONLines(first)), &history.Options{ID: "x"})
	require.ErrorContains(t, err, "different base names")
	_, err = history.Import(t.Context(), client, history.Concat(), &history.Options{ID: "x"})
	requireInputError(t, err)
}

// wrappings are the ways to stand between a file and the import that keep the import's checks.
var wrappings = map[string]func(history.Source) history.Source{
	"Unwrap":      func(s history.Source) history.Source { return wrapping{s} },
	"history.Map": func(s history.Source) history.Source { return history.Map(s, unchanged) },
	"several":     func(s history.Source) history.Source { return wrapping{history.Map(wrapping{s}, unchanged)} },
}

func unchanged(ev hogapi.Event) ([]hogapi.Event, error) { return []hogapi.Event{ev}, nil }

// Two events that a mapping makes of one have two uuids: the first keeps that of the record.
func TestMappedEventsHaveUUIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	server, client := fake(t)
	source := altered(numbered(5), func(ev *hogapi.Event) { ev.Position.Key = "f" })
	twice := history.Map(source, func(ev hogapi.Event) ([]hogapi.Event, error) { return []hogapi.Event{ev, ev}, nil })
	imported(t, client, twice, &history.Options{ID: "twice"})
	assert.Equal(t, 10, server.Ledger().Unique())
	for i := range 5 {
		assert.Len(t, server.Ledger().Find(numberedUUID(i+1)), 1)
	}
}

// A wrapped file is still known: a checkpoint does not continue in another file of its name.
func TestWrappedFilesAreRecognized(t *testing.T) {
	t.Parallel()
	all := maps.Clone(wrappings)
	all["as it is"] = func(s history.Source) history.Source { return s }
	all["Concat"] = func(s history.Source) history.Source { return history.Concat(s) }
	all["gzip"] = all["as it is"]
	for name, wrap := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New()
			path, checkpoint := filepath.Join(t.TempDir(), "events.jsonl"), filepath.Join(t.TempDir(), "ckpt")
			run := func(content string) error {
				if name == "gzip" {
					content = zipped(content)
				}
				require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
				source := wrap(history.JSONLines(path))
				assert.Contains(t, source.Name(), "events.jsonl")
				return failed(history.Import(t.Context(), server.Client(t), source, &history.Options{ID: "wrapped", Checkpoint: history.CheckpointFile(checkpoint)}))
			}
			require.NoError(t, run(linesOf(2023, 5)))
			assert.Equal(t, "checkpoint: begun with the source", requireInputError(t, run(linesOf(2024, 9))).Field)
			assert.Equal(t, 5, server.Ledger().Len(), "nothing was sent")
			require.NoError(t, run(linesOf(2023, 9)))
			assert.Equal(t, 9, server.Ledger().Unique())
		})
	}
}

// A wrapped file is neither the import's reject file nor its checkpoint.
// A source with a mapping continues when files are added, under the same settings. One that has read all files before
// its first event does not.
func TestFilesAreAddedToAMappedSource(t *testing.T) {
	t.Parallel()
	const lines = `{"event":"e","distinct_id":"p","timestamp":"2024-01-01T00:00:0%dZ"}` + "\n"
	dir := t.TempDir()
	var paths []string
	for i := range 2 {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("%d.jsonl", i)))
		require.NoError(t, os.WriteFile(paths[i], fmt.Appendf(nil, lines, i), 0o600))
	}
	same := func(ev hogapi.Event) ([]hogapi.Event, error) { return []hogapi.Event{ev}, nil }
	as := func(settings string, paths ...string) history.Source {
		return history.Map(history.MapAs(settings, history.JSONLines(paths...), same), same)
	}
	other := func(s history.Source) history.Source {
		return history.Map(history.Func("other "+s.Name(), s.Events), same)
	}
	for name, c := range map[string]struct {
		before, after history.Source
		isRefused     bool
	}{
		"with the same settings":  {as("a", paths[0]), as("a", paths...), false},
		"without settings":        {as("", paths[0]), as("", paths...), false},
		"with other settings":     {as("a", paths[0]), as("b", paths...), true},
		"with settings, later":    {as("", paths[0]), as("a", paths...), true},
		"without settings, later": {as("a", paths[0]), as("", paths...), true},
		"of another source":       {other(as("a", paths[0])), other(as("a", paths...)), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New()
			options := &history.Options{ID: "i", Checkpoint: history.CheckpointFile(filepath.Join(t.TempDir(), "ckpt"))}
			_, err := history.Import(t.Context(), server.Client(t), c.before, options)
			require.NoError(t, err)
			_, err = history.Import(t.Context(), server.Client(t), c.after, options)
			if c.isRefused {
				require.ErrorContains(t, err, "begun with the source")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, 2, server.Ledger().Unique())
		})
	}
}

func TestWrappedFilesAreNotWrittenTo(t *testing.T) {
	t.Parallel()
	for name, wrap := range wrappings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, "events.jsonl", linesOf(2023, 5)+"bad\n")
			link := filepath.Join(t.TempDir(), "link")
			require.NoError(t, os.Symlink(path, link))
			server := hogapitest.New()
			for _, same := range []string{path, link} {
				_, err := history.Import(t.Context(), server.Client(t), wrap(history.JSONLines(path)), &history.Options{ID: "x", Rejects: history.RejectFile(same)})
				assert.Equal(t, "Options.Rejects", requireInputError(t, err).Field)
				require.ErrorContains(t, err, "a file outside the source")
				_, err = history.Import(t.Context(), server.Client(t), wrap(history.JSONLines(path)), &history.Options{ID: "x", Checkpoint: history.CheckpointFile(same)})
				assert.Equal(t, "Options.Checkpoint", requireInputError(t, err).Field)
			}
			content := readFile(t, path)
			assert.Equal(t, linesOf(2023, 5)+"bad\n", string(content))
			assert.Zero(t, server.Ledger().Len())
		})
	}
}
