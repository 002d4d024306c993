package hogapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

func TestFileCheckpoint(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "a", "b", "import.ckpt")
	c := hogapi.FileCheckpoint(path)
	require.ErrorContains(t, c.Save(ctx, []byte("{}")), "not open")
	require.NoError(t, c.Close())

	state, err := c.Open(ctx)
	require.NoError(t, err)
	assert.Nil(t, state)
	info, err := os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	// One owner at a time, also in one process and through one value.
	for _, other := range []hogapi.Checkpointer{c, hogapi.FileCheckpoint(path)} {
		_, err = other.Open(ctx)
		require.ErrorIs(t, err, hogapi.ErrHeld)
		require.ErrorContains(t, err, path)
	}
	for _, want := range []string{`{"a":1}`, `{}`, strings.Repeat("x", 1<<20)} {
		require.NoError(t, c.Save(ctx, []byte(want)))
	}
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())

	again := hogapi.FileCheckpoint(path)
	state, err = again.Open(ctx)
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("x", 1<<20), string(state))
	require.NoError(t, again.Close())
	info, err = os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// What is wrong with a file is an *InputError, whose text says what to do.
func TestFileCheckpointThatIsUnfit(t *testing.T) {
	t.Parallel()
	torn := writeFile(t, "torn.ckpt", "hogapi checkpoint")
	for path, want := range map[string]string{
		torn:               `hogapi: import: checkpoint: file "torn.ckpt": want the file as this package saved it; this one is torn, empty or changed. `,
		filepath.Dir(torn): "want a regular file with one name: this is not a regular file",
		"":                 "hogapi: import: path: want the name of a file",
	} {
		_, err := hogapi.FileCheckpoint(path).Open(t.Context())
		requireInputError(t, err)
		require.ErrorContains(t, err, want)
	}
}

func TestImportRefusesACheckpointInUse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "import.ckpt")
	owner := hogapi.FileCheckpoint(path)
	_, err := owner.Open(t.Context())
	require.NoError(t, err)
	defer owner.Close()
	server := hogapitest.New()
	_, err = server.Client(t).Import(t.Context(), numbered(3), &hogapi.ImportOptions{ID: "held", Checkpoint: hogapi.FileCheckpoint(path)})
	require.ErrorIs(t, err, hogapi.ErrHeld)
	assert.Zero(t, server.Ledger().Len())
}

// A checkpoint that is sound and of something else is refused clearly, stays as it is, and nothing is sent.
func TestCheckpointOfSomethingElse(t *testing.T) {
	t.Parallel()
	const id = "mine"
	version := func(other string) func(string) string {
		return func(state string) string { return strings.Replace(state, `{"version":3,`, `{"version":`+other+`,`, 1) }
	}
	tests := map[string]struct {
		id, source string
		change     func(state string) string
		field      string
	}{
		"a newer version": {id: id, source: "numbered", change: version("4"), field: "checkpoint: version"},
		"no version":      {id: id, source: "numbered", change: version("0"), field: "checkpoint: version"},
		"another import":  {id: "other", source: "numbered", field: "checkpoint: begun by the import"},
		"another source":  {id: id, source: "renamed", field: "checkpoint: begun with the source"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New()
			client := server.Client(t)
			path := filepath.Join(t.TempDir(), "ckpt")
			checkpoint := hogapi.FileCheckpoint(path)
			options := hogapi.ImportOptions{ID: id, Checkpoint: checkpoint}
			_, err := client.Import(t.Context(), numbered(3), &options)
			require.NoError(t, err)
			if test.change != nil {
				changeState(t, checkpoint, test.change)
			}
			before, err := os.ReadFile(path)
			require.NoError(t, err)
			sent := len(server.Calls())

			options.ID = test.id
			_, err = client.Import(t.Context(), hogapi.SourceFunc(test.source, numbered(6).Events), &options)
			var input *hogapi.InputError
			require.ErrorAs(t, err, &input)
			assert.Equal(t, test.field, input.Field)
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(before), string(after), "the checkpoint stays")
			assert.Len(t, server.Calls(), sent, "nothing is sent")

			if test.change == nil { // whom it belongs to goes on from there
				options.ID = id
				receipt, err := client.Import(t.Context(), numbered(6), &options)
				require.NoError(t, err)
				assert.EqualValues(t, 6, receipt.Acknowledged)
				requireWhole(t, server, 6)
			}
		})
	}
}

// changeState saves another state in place of the one that a checkpoint holds.
func changeState(t *testing.T, c hogapi.Checkpointer, change func(string) string) {
	t.Helper()
	state, err := c.Open(t.Context())
	require.NoError(t, err)
	changed := change(string(state))
	require.NotEqual(t, string(state), changed)
	require.NoError(t, c.Save(t.Context(), []byte(changed)))
	require.NoError(t, c.Close())
}

// A checkpoint belongs to a project on a host: with another key or host an import that is done, or half done, would send nothing there.
func TestCheckpointOfAnotherProject(t *testing.T) {
	t.Parallel()
	for name, other := range map[string][]hogapi.Option{
		"another key":  {hogapi.WithProjectAPIKey("phc_another0000000000000000000000000000000000")},
		"another host": {hogapi.WithCaptureURL("https://elsewhere.example")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New()
			options := hogapi.ImportOptions{ID: "mine", Checkpoint: hogapi.FileCheckpoint(filepath.Join(t.TempDir(), "ckpt"))}
			_, err := server.Client(t).Import(t.Context(), numbered(10), &options)
			require.NoError(t, err)
			sent := len(server.Calls())

			_, err = hogapitest.New().Client(t, other...).Import(t.Context(), numbered(10), &options)
			var input *hogapi.InputError
			require.ErrorAs(t, err, &input)
			assert.Equal(t, "checkpoint: begun with the project", input.Field)
			require.ErrorContains(t, err, "a new checkpoint")
			assert.NotContains(t, err.Error(), "phc_")

			receipt, err := server.Client(t).Import(t.Context(), numbered(10), &options)
			require.NoError(t, err, "the checkpoint stays")
			assert.EqualValues(t, 10, receipt.Acknowledged)
			assert.Len(t, server.Calls(), sent, "all of it was there")
		})
	}
	t.Run("of a version without it", func(t *testing.T) {
		t.Parallel()
		server := hogapitest.New()
		checkpoint := hogapi.FileCheckpoint(filepath.Join(t.TempDir(), "ckpt"))
		options := hogapi.ImportOptions{ID: "mine", Checkpoint: checkpoint}
		_, err := server.Client(t).Import(t.Context(), numbered(10), &options)
		require.NoError(t, err)
		changeState(t, checkpoint, func(state string) string {
			return regexp.MustCompile(`"target":"[0-9a-f]{32}",`).ReplaceAllString(state, "")
		})
		_, err = server.Client(t).Import(t.Context(), numbered(20), &options)
		require.NoError(t, err)
		assert.Equal(t, 20, server.Ledger().Unique())
	})
}

// A source that cannot be opened, such as a file whose name has a typo, leaves the checkpoint as it was: the next run may name another.
func TestSourceThatCannotBeOpenedSavesNothing(t *testing.T) {
	t.Parallel()
	right := writeFile(t, "events.jsonl", payments(0, 20))
	second := writeFile(t, "second.jsonl", payments(20, 30))
	for name, tt := range map[string]struct {
		source hogapi.Source
		says   string
	}{
		"a typo":               {hogapi.JSONLinesFile(right + "l"), "no such file"},
		"a typo in the second": {hogapi.JSONLinesFile(right, second+"l"), "no such file"},
		"no file at all":       {hogapi.JSONLinesFile(), "at least one file"},
		"a folder":             {hogapi.JSONLinesFile(t.TempDir()), "this is a folder"},
		"one name twice":       {hogapi.JSONLinesFile(right, writeFile(t, "events.jsonl", "")), "different base names"},
		"another format":       {hogapi.JSONLinesFile(writeFile(t, "events.zip", "PK\x03\x04")), "zip file"},
		"a damaged gzip file":  {hogapi.JSONLinesFile(writeFile(t, "events.gz", zipped("{}")[:20])), "damaged"},
		"the table is missing": {hogapi.SourceFunc("tabel", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) { yield(hogapi.Event{}, errors.New("no such table")) }
		}), "no such table"},
		"a mapping of a typo": {hogapi.MapSource(hogapi.JSONLinesFile(right+"l"), func(ev hogapi.Event) ([]hogapi.Event, error) {
			return []hogapi.Event{ev}, nil
		}), "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New()
			client := server.Client(t)
			path := filepath.Join(t.TempDir(), "ckpt")
			options := hogapi.ImportOptions{ID: "typo", Checkpoint: hogapi.FileCheckpoint(path), Rejects: ignoreRejects, Rate: hogapi.Unpaced}
			receipt, err := client.Import(t.Context(), tt.source, &options)
			require.ErrorContains(t, err, tt.says)
			assert.Zero(t, receipt.Read)
			assert.NoFileExists(t, path)
			assert.Empty(t, server.Calls())

			receipt, err = client.Import(t.Context(), hogapi.JSONLinesFile(right, second), &options)
			require.NoError(t, err)
			assert.EqualValues(t, 30, receipt.Acknowledged)

			// Once something is settled, a typo changes nothing either.
			_, err = client.Import(t.Context(), tt.source, &options)
			require.Error(t, err)
			receipt, err = client.Import(t.Context(), hogapi.JSONLinesFile(right, second), &options)
			require.NoError(t, err)
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

// What was settled when the context ended is saved with one that has not ended.
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
		receipt, err := server.Client(t).Import(ctx, numbered(5000), &hogapi.ImportOptions{ID: "canceled", Checkpoint: checkpoint, Delivery: hogapi.DeliveryOptions{Lanes: 1}})
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, hogapi.ErrClosed)
		assert.NotContains(t, err.Error(), string(hogapi.StopCheckpoint))
		assert.Positive(t, receipt.Acknowledged)
		assert.Equal(t, receipt.Acknowledged, savedReceipt(t, checkpoint.State).Acknowledged)
	})
}
