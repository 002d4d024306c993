package flows_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// eventsOf is a source of these events, each at its own position.
func eventsOf(events ...hogapi.Event) history.Source {
	return history.Func("events", func(_ context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
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

// A handler around a reject file writes the line that an import writes into the file itself.
func TestHandlerAroundARejectFile(t *testing.T) {
	t.Parallel()
	own, around := filepath.Join(t.TempDir(), "own"), filepath.Join(t.TempDir(), "around")
	for _, handler := range []hogapi.RejectHandler{
		history.RejectFile(own), hogapi.RejectFunc(func(ctx context.Context, r hogapi.Reject) error { return history.RejectFile(around).Reject(ctx, r) }),
	} {
		receipt := imported(t, hogapitest.New().Client(t), eventsOf(
			hogapi.Event{DistinctID: "ann", Timestamp: longAgo, Properties: map[string]any{"a": "<&>"}, Set: map[string]any{"s": 1}},
			hogapi.Event{Name: "a", DistinctID: "ann", Timestamp: longAgo, Properties: map[string]any{"bad": math.NaN(), "good": 1}},
			hogapi.Event{Name: "a", DistinctID: "ann", Timestamp: longAgo, RawProperties: json.RawMessage(`{"x":`)},
			event.Bad(hogapi.Position{}, bytes.Repeat([]byte{0xff}, 150_000), errors.New("bad UTF-8")),
		), &history.Options{ID: "rejects", MaxRejectShare: -1, Rejects: handler})
		require.EqualValues(t, 4, receipt.Rejected)
	}
	assert.Equal(t, strings.ReplaceAll(string(readFile(t, own)), `,"import":"rejects"`, ""), string(readFile(t, around)))
}

// A record that made no event has the uuid of its place, or its own. Corrected and imported each time, it is one event.
func TestCorrectedRecordsKeepTheirUUID(t *testing.T) {
	t.Parallel()
	server, client := fake(t)
	const id, rest = "498f1d9c-6b1e-4c37-9d2e-0a5b7c1d2e3f", `"event":"e","distinct_id":"ann","timestamp":"2024-05-01 00:00:00Z"}` + "\n"
	bad := `{` + rest + `{"uuid":"` + id + `",` + rest + `{` + rest
	rejects := filepath.Join(t.TempDir(), "rejects.jsonl")
	imported(t, client, history.JSONLines(writeFile(t, "e.jsonl", bad)), &history.Options{ID: "first", MaxRejectShare: -1, Rejects: history.RejectFile(rejects)})
	again := rejects + ".again" // rejects that are imported unchanged hand their uuids on
	imported(t, client, history.JSONLines(rejects), &history.Options{ID: "again", MaxRejectShare: -1, Rejects: history.RejectFile(again)})
	lines := strings.SplitAfter(string(readFile(t, again)), "\n")
	for n, i := range []int{1, 0, 2} {
		lines[i] = strings.Replace(lines[i], `"$reject"`, `"event":"e","distinct_id":"ann","timestamp":"2024-05-01T00:00:00Z","$reject"`, 1)
		corrected := writeFile(t, "corrected.jsonl", strings.Join(lines, ""))
		receipt := imported(t, client, history.JSONLines(corrected), &history.Options{ID: "corrected", MaxRejectShare: -1, Rejects: ignoreRejects})
		assert.EqualValues(t, n+1, receipt.Acknowledged)
		assert.Equal(t, n+1, server.Ledger().Unique())
	}
	assert.NotEmpty(t, server.Ledger().Find(uuid.MustParse(id)))
	imported(t, client, history.JSONLines(writeFile(t, "e.jsonl", strings.ReplaceAll(bad, `-01 `, `-01T`))), &history.Options{ID: "first"})
	assert.Equal(t, 3, server.Ledger().Unique(), "corrected in the source instead")
}

// Lines of others in a reject file stay, and rejects are added after them.
func TestRejectFileDestroysNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "folder", "rejects.jsonl")
	bad := eventsOf(event.Bad(hogapi.Position{}, []byte("bad"), errors.New("line 1")), numberedEvent(2))
	client := hogapitest.New().Client(t)
	run := func(id string, checkpoint history.Checkpointer) {
		imported(t, client, bad, &history.Options{ID: id, MaxRejectShare: -1, Checkpoint: checkpoint, Rejects: history.RejectFile(path)})
	}
	lines := func() int { return bytes.Count(readFile(t, path), []byte(`"raw":"bad"`)) }
	checkpoint := history.CheckpointFile(path + ".ckpt")
	run("one", nil)
	run("one", nil)
	assert.Equal(t, 2, lines(), "without a checkpoint each run adds its own")
	run("two", checkpoint)
	assert.Equal(t, 3, lines(), "a new import keeps the rejects of others")
	require.NoError(t, os.WriteFile(path, append(readFile(t, path), `{"note":"of somebody"}`...), 0o600))
	run("two", checkpoint)
	assert.Equal(t, 3, lines(), "with a checkpoint none comes twice")
	assert.Contains(t, string(readFile(t, path)), `{"note":"of somebody"}`+"\n")
}

// The working folder may be a link.
func TestFilesOfAnImportInALinkedFolder(t *testing.T) {
	folder := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(folder, link))
	t.Chdir(link)
	_, err := history.Import(t.Context(), hogapitest.New().Client(t), numbered(1), &history.Options{
		ID: "x", Checkpoint: history.CheckpointFile("state"), Rejects: history.RejectFile(filepath.Join(folder, "state.hogapi-tmp")),
	})
	assert.Equal(t, "Options.Rejects", requireInputError(t, err).Field)
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
		{"events.jsonl", in("c"), in("c"), "Options.Rejects"},
		{"events.jsonl", "c", in("c"), "Options.Rejects"},
		{"events.jsonl", "c", "./c", "Options.Rejects"},
		{"events.jsonl", in("c"), in("link"), "Options.Rejects"},
		{"events.jsonl", "c", "c.hogapi-tmp", "Options.Rejects"},
		{"events.jsonl", "c", "c.lock", "Options.Rejects"},
		{"events.jsonl", "r.lock", "r", "Options.Rejects"},
		{"events.jsonl", "hard", "hard-too", "Options.Rejects"},
		{"events.jsonl", "events.jsonl", "r", "Options.Checkpoint"},
		{"c.hogapi-tmp", "c", "r", "Options.Checkpoint"},
		{"r.lock", "c", "r", "Options.Rejects"},
		{"hard", "c", "hard-too", "Options.Rejects"},
		{"events.jsonl", in("b/folder/link"), in("b/x"), ""}, // the checkpoint is a/x
	} {
		_, err := history.Import(t.Context(), client, history.JSONLines(test.source), &history.Options{
			ID: "files", Checkpoint: history.CheckpointFile(test.checkpoint), Rejects: history.RejectFile(test.rejects),
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

// rejecting is a source of n records of which the gate refuses some.
func rejecting(n int, isBad func(i int) bool) history.Source {
	return altered(numbered(n), func(ev *hogapi.Event) {
		if isBad(int(ev.Position.Offset)) {
			ev.Name = ""
		}
	})
}

func first(n int) func(int) bool { return func(i int) bool { return i <= n } }
func every(n int) func(int) bool { return func(i int) bool { return i%n == 0 } }

// tooMany is the stop of an import that has rejected too much.
func tooMany(t *testing.T, err error) *hogapi.StopError {
	t.Helper()
	stop := stopOf(t, err)
	require.Equal(t, hogapi.StopTooManyRejects, stop.Reason, "%v", err)
	return stop
}

// An import that rejects too much fails, however much it has sent. Package commit has the limits to the last record.
func TestRejectLimits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		n          int
		isBad      func(int) bool
		share      float64
		most       int64
		want       string // empty: the import ends well
		read, sent int    // 0: any number
	}{
		"at the default share":   {n: 1000, isBad: every(100), sent: 990},
		"over the default share": {n: 1100, isBad: every(90), want: "12 of 1100 records were rejected, more than MaxRejectShare (0.01)", sent: 1088},
		"far over it":            {n: 30_000, isBad: every(50), want: "more than MaxRejectShare (0.01)", read: 1400},
		"no limit":               {n: 3000, isBad: every(2), share: -1, sent: 1500},
		"over the number":        {n: 30_000, isBad: every(150), share: -1, most: 5, want: "records were rejected, more than MaxRejects (5)", read: 1300},
		"the first 100":          {n: 30_000, isBad: first(100), want: "100 of 100 records were rejected, every one of the first records"},
		"all of fewer":           {n: 30, isBad: every(1), want: "30 of 30 records were rejected, every record of the source"},
	} {
		t.Run(name, parallelBubble(func(t *testing.T) {
			server := hogapitest.New()
			receipt, err := history.Import(t.Context(), server.Client(t), rejecting(tt.n, tt.isBad), &history.Options{
				ID: "limits", Checkpoint: &memoryCheckpoint{}, Rejects: ignoreRejects, MaxRejectShare: tt.share, MaxRejects: tt.most,
				Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 300}},
			})
			requireBalanced(t, receipt)
			if tt.want == "" {
				require.NoError(t, err)
			} else {
				tooMany(t, err)
				require.ErrorContains(t, err, tt.want)
				require.ErrorContains(t, err, "the first of this run: event refused: no_name: event")
				require.ErrorContains(t, err, "correct the source or the mapping")
			}
			if tt.read > 0 {
				assert.LessOrEqual(t, receipt.Read, int64(tt.read), "it stops on its way")
			}
			if tt.sent > 0 {
				assert.Equal(t, tt.sent, server.Ledger().Unique(), "everything else is sent")
			}
		}))
	}
}

var errPulledOut = errors.New("the disk was pulled out")

// broken is the beginning of a source, which then fails.
func broken(source history.Source, after int) history.Source {
	return history.Func(source.Name(), func(ctx context.Context, from hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for ev, err := range source.Events(ctx, from) {
				if ev.Position.Offset > int64(after) {
					break
				}
				if !yield(ev, err) {
					return
				}
			}
			yield(hogapi.Event{}, errPulledOut)
		}
	})
}

// The limits are judged over all runs of an import.
func TestRejectLimitsOverAllRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := rejecting(1800, func(i int) bool { return i%9 == 0 && i <= 900 })
		server, client := fake(t)
		options := history.Options{ID: "runs", Checkpoint: &memoryCheckpoint{}, Rejects: ignoreRejects, Rate: hogapi.RateUnlimited}
		for _, after := range []int{900, 0} {
			receipt, err := history.Import(t.Context(), client, broken(source, after), &options)
			requireBalanced(t, receipt)
			require.Equal(t, hogapi.StopSource, stopOf(t, err).Reason, "%v", err)
			require.NotContains(t, err.Error(), "MaxReject", "the import is not at its end")
		}
		_, err := history.Import(t.Context(), client, source, &options)
		tooMany(t, err)
		require.ErrorContains(t, err, "more than MaxRejectShare (0.01)")

		sent := len(server.Calls())
		_, err = history.Import(t.Context(), client, source, &options)
		tooMany(t, err)
		require.ErrorContains(t, err, "in the runs before", "it says that this run has rejected nothing")
		assert.Len(t, server.Calls(), sent, "and sends nothing")

		options.MaxRejectShare = 0.1
		receipt := imported(t, client, source, &options)
		assert.Equal(t, []int64{1800, 1700, 100}, []int64{receipt.Read, receipt.Acknowledged, receipt.Rejected})
	})
}

// A record that a mapping skips on purpose is counted by its reason, and is not a reject.
func TestSkippedRecordsAreNoRejects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		skips := map[int64]string{0: "internal user", 1: "test device"}
		source := history.Map(numbered(500), func(ev hogapi.Event) ([]hogapi.Event, error) {
			switch n := ev.Position.Offset % 5; n {
			case 0, 1:
				return nil, history.Skip(skips[n])
			case 2:
				return nil, nil
			}
			return []hogapi.Event{ev}, nil
		})
		checkpoint := &memoryCheckpoint{}
		options := history.Options{ID: "skips", Checkpoint: checkpoint, MaxRejects: 1, Rate: hogapi.RateUnlimited} // no handler: the first reject would stop it
		receipt := imported(t, server.Client(t), source, &options)
		requireBalanced(t, receipt)
		assert.Equal(t, []int64{500, 200, 0, 300, 0}, []int64{receipt.Read, receipt.Acknowledged, receipt.Rejected, receipt.Skipped, receipt.Pending})
		assert.Equal(t, map[string]int64{"internal user": 100, "test device": 100, "left out by the mapping": 100}, receipt.Skips)
		assert.Equal(t, receipt.Skips, savedReceipt(t, checkpoint.State).Skips, "of a resumed import too")
		assert.Contains(t, receipt.String(), "read 500 = acknowledged 200 + rejected 0 + skipped 300 + pending 0")
		assert.Contains(t, receipt.String(), "\n  skipped, internal user: 100\n")
		assert.Equal(t, 200, server.Ledger().Unique())

		report, err := history.Check(t.Context(), source, &options)
		require.NoError(t, err)
		assert.Equal(t, []int64{500, 200, 0, 300}, []int64{report.Read, report.Good, report.Rejected, report.Skipped})
		assert.Equal(t, receipt.Skips, report.Skips)
	})
}
