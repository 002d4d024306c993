package flows_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

func TestFileCheckpoint(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "a", "b", "import.ckpt")
	c := history.CheckpointFile(path)
	require.ErrorContains(t, c.Save(ctx, []byte("{}")), "not open")
	require.NoError(t, c.Close())

	state, err := c.Open(ctx)
	require.NoError(t, err)
	assert.Nil(t, state)
	assertMode(t, filepath.Dir(path), 0o700)

	// One owner at a time, also in one process and through one value.
	for _, other := range []history.Checkpointer{c, history.CheckpointFile(path)} {
		_, err = other.Open(ctx)
		require.ErrorIs(t, err, hogapi.ErrHeld)
		require.ErrorContains(t, err, path)
	}
	for _, want := range []string{`{"a":1}`, `{}`, strings.Repeat("x", 1<<20)} {
		require.NoError(t, c.Save(ctx, []byte(want)))
	}
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())

	again := history.CheckpointFile(path)
	state, err = again.Open(ctx)
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("x", 1<<20), string(state))
	require.NoError(t, again.Close())
	assertMode(t, path, 0o600)
}

// A fault of a checkpoint file is an *InputError with a text that says how to fix it.
func TestFileCheckpointThatIsUnfit(t *testing.T) {
	t.Parallel()
	torn := writeFile(t, "torn.ckpt", "hogapi checkpoint")
	for path, want := range map[string]string{
		torn:               `hogapi: import: checkpoint: file "torn.ckpt": want the file as this package saved it; this one is torn, empty or changed. `,
		filepath.Dir(torn): "want a regular file with one name: this is not a regular file",
		"":                 "hogapi: import: path: want the name of a file",
	} {
		_, err := history.CheckpointFile(path).Open(t.Context())
		requireInputError(t, err)
		require.ErrorContains(t, err, want)
	}
}

func TestImportRefusesACheckpointInUse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "import.ckpt")
	owner := history.CheckpointFile(path)
	_, err := owner.Open(t.Context())
	require.NoError(t, err)
	defer owner.Close()
	server := hogapitest.New()
	_, err = history.Import(t.Context(), server.Client(t), numbered(3), &history.Options{ID: "held", Checkpoint: history.CheckpointFile(path)})
	require.ErrorIs(t, err, hogapi.ErrHeld)
	assert.Zero(t, server.Ledger().Len())
}

// A sound checkpoint of another import, source, project or host is refused and stays as it is, and nothing is sent.
func TestCheckpointOfSomethingElse(t *testing.T) {
	t.Parallel()
	version := func(other string) func(string) string {
		return func(state string) string { return strings.Replace(state, `{"version":3,`, `{"version":`+other+`,`, 1) }
	}
	for name, tt := range map[string]struct {
		id, source string
		client     hogapi.Option
		change     func(state string) string
		field      string
	}{
		"a newer version": {change: version("4"), field: "version"},
		"no version":      {change: version("0"), field: "version"},
		"another import":  {id: "other", field: "begun by the import"},
		"another source":  {source: "renamed", field: "begun with the source"},
		"another key":     {client: hogapi.WithProjectAPIKey("phc_another0000000000000000000000000000000000"), field: "begun with the project"},
		"another host":    {client: hogapi.WithCaptureURL("https://elsewhere.example"), field: "begun with the project"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, other := hogapitest.New(), []hogapi.Option{}
			client := server.Client(t)
			path := filepath.Join(t.TempDir(), "ckpt")
			checkpoint := history.CheckpointFile(path)
			options := history.Options{ID: "mine", Checkpoint: checkpoint}
			imported(t, client, numbered(3), &options)
			if tt.change != nil {
				changeState(t, checkpoint, tt.change)
			}
			if tt.client != nil {
				other = append(other, tt.client)
			}
			before, sent := readFile(t, path), len(server.Calls())
			options.ID = cmp.Or(tt.id, "mine")
			source := history.Func(cmp.Or(tt.source, "numbered"), numbered(6).Events)
			_, err := history.Import(t.Context(), server.Client(t, other...), source, &options)
			assert.Equal(t, "checkpoint: "+tt.field, requireInputError(t, err).Field)
			assert.NotContains(t, err.Error(), "phc_")
			assert.Equal(t, string(before), string(readFile(t, path)), "the checkpoint stays")
			assert.Len(t, server.Calls(), sent, "nothing is sent")
			if tt.change == nil { // its own import resumes there
				options.ID = "mine"
				assert.EqualValues(t, 6, imported(t, client, numbered(6), &options).Acknowledged)
				requireWhole(t, server, 6)
			}
		})
	}
}

// changeState saves another state in place of the one that a checkpoint holds.
func changeState(t *testing.T, c history.Checkpointer, change func(string) string) {
	t.Helper()
	state, err := c.Open(t.Context())
	require.NoError(t, err)
	changed := change(string(state))
	require.NotEqual(t, string(state), changed)
	require.NoError(t, c.Save(t.Context(), []byte(changed)))
	require.NoError(t, c.Close())
}

// A source that cannot be opened, such as a mistyped file name, leaves the checkpoint unchanged: the next run may name another.
func TestSourceThatCannotBeOpenedSavesNothing(t *testing.T) {
	t.Parallel()
	right := writeFile(t, "events.jsonl", payments(0, 20))
	second := writeFile(t, "second.jsonl", payments(20, 30))
	missing := syscall.ENOENT.Error()
	for name, tt := range map[string]struct {
		source history.Source
		says   string
	}{
		"a typo":               {history.JSONLines(right + "l"), missing},
		"a typo in the second": {history.JSONLines(right, second+"l"), missing},
		"no file at all":       {history.JSONLines(), "at least one file"},
		"a folder":             {history.JSONLines(t.TempDir()), "this is a folder"},
		"one name twice":       {history.JSONLines(right, writeFile(t, "events.jsonl", "")), "different base names"},
		"another format":       {history.JSONLines(writeFile(t, "events.zip", "PK\x03\x04")), "zip file"},
		"a damaged gzip file":  {history.JSONLines(writeFile(t, "events.gz", zipped("{}")[:20])), "damaged"},
		"the table is missing": {history.Func("tabel", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) { yield(hogapi.Event{}, errors.New("no such table")) }
		}), "no such table"},
		"a mapping of a typo": {history.Map(history.JSONLines(right+"l"), unchanged), missing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, client := fake(t)
			path := filepath.Join(t.TempDir(), "ckpt")
			options := history.Options{ID: "typo", Checkpoint: history.CheckpointFile(path), Rejects: ignoreRejects, Rate: hogapi.RateUnlimited}
			receipt, err := history.Import(t.Context(), client, tt.source, &options)
			require.ErrorContains(t, err, tt.says)
			assert.Zero(t, receipt.Read)
			assert.NoFileExists(t, path)
			assert.Empty(t, server.Calls())

			receipt = imported(t, client, history.JSONLines(right, second), &options)
			assert.EqualValues(t, 30, receipt.Acknowledged)

			// Once something is settled, a typo changes nothing either.
			_, err = history.Import(t.Context(), client, tt.source, &options)
			require.Error(t, err)
			receipt = imported(t, client, history.JSONLines(right, second), &options)
			assert.EqualValues(t, 30, receipt.Acknowledged)
			assert.Equal(t, 30, server.Ledger().Len(), "nothing was sent again")
		})
	}
}

// contextual is a checkpoint of a user that obeys its context.
type contextual struct{ memoryCheckpoint }

func (c *contextual) Save(ctx context.Context, state []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return c.memoryCheckpoint.Save(ctx, state)
}

// After its context ends, an import saves its last position with a context that has not ended.
func TestLastSaveOfACanceledImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		server.Script(ops.Capture, hogapitest.Always(hogapitest.SlowAnswer(400*time.Millisecond)))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var sent atomic.Int64
		server.RejectEvents(func(json.RawMessage) int {
			if sent.Add(1) == 1 {
				time.AfterFunc(100*time.Millisecond, cancel) // before the first answer
			}
			return 0
		})
		checkpoint := &contextual{}
		receipt, err := history.Import(ctx, server.Client(t), numbered(5000), &history.Options{ID: "canceled", Checkpoint: checkpoint, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 1}}})
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, hogapi.ErrClosed)
		assert.NotContains(t, err.Error(), string(hogapi.StopCheckpoint))
		assert.Positive(t, receipt.Acknowledged)
		assert.Equal(t, receipt.Acknowledged, savedReceipt(t, checkpoint.State).Acknowledged)
	})
}

// everySave keeps each saved state, as a kill would leave it.
type everySave struct {
	memoryCheckpoint

	states [][]byte
}

func (e *everySave) Save(ctx context.Context, state []byte) error {
	e.states = append(e.states, slices.Clone(state))
	return e.memoryCheckpoint.Save(ctx, state)
}

// A finished import that continues with more events and is killed is not finished, whenever that is.
func TestContinuedImportThatIsKilledIsNotFinished(t *testing.T) {
	t.Parallel()
	_, client := fake(t)
	checkpoint := &everySave{}
	for _, n := range []int{5, 10} {
		checkpoint.states = nil
		imported(t, client, numbered(n), &history.Options{ID: "continued", Checkpoint: checkpoint})
		last := len(checkpoint.states) - 1
		require.Positive(t, last)
		for i, state := range checkpoint.states {
			assert.Equal(t, i == last, savedReceipt(t, state).Finished, "save %d of %d of an import of %d events", i, last, n)
		}
	}
}

// testdata/v3 is an import of an earlier state of this package that was stopped after four of seven lines, the third rejected: it continues,
// and its reject can be corrected.
func TestImportOfAnEarlierVersionContinues(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS("testdata/v3")))
	file := func(name string) string { return filepath.Join(folder, name) }
	server, client := fake(t)
	options := history.Options{ID: "earlier", MaxRejectShare: -1, Checkpoint: history.CheckpointFile(file("import.ckpt")), Rejects: history.RejectFile(file("rejects.jsonl"))}
	receipt := imported(t, client, history.JSONLines(file("events.jsonl")), &options)
	assert.Equal(t, 2, server.Ledger().Len(), "lines 5 and 7")

	_, another := fake(t)
	options.Checkpoint, options.Rejects = nil, ignoreRejects
	whole := imported(t, another, history.JSONLines(file("events.jsonl")), &options)
	assert.Equal(t, whole.Digest, receipt.Digest)
	assert.Equal(t, whole.Rejects, receipt.Rejects)
	assert.Equal(t, []int64{7, 5, 2}, []int64{receipt.Read, receipt.Acknowledged, receipt.Rejected})

	text := string(readFile(t, file("rejects.jsonl")))
	first, _, _ := strings.Cut(text, "\n")
	require.Equal(t, 2, strings.Count(text, "\n"))
	corrected := writeFile(t, "corrected.jsonl", strings.Replace(first, `"distinct_id":""`, `"distinct_id":"zoe"`, 1)+"\n")
	imported(t, client, history.Rejected(corrected, nil), &history.Options{ID: "earlier-corrected", Rejects: ignoreRejects})
	assert.Len(t, server.Ledger().Find(uuid.MustParse("6eae0ff1-af3d-545a-9b7e-dd2d15e280c5")), 1, "its uuid is the one of its line")
}

// assertMode checks the rights of a file or folder. Windows has no such rights.
func assertMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		assert.Equal(t, want, info.Mode().Perm())
	}
}
