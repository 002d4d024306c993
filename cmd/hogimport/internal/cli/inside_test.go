package cli

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/term"
)

func TestSizesAreEstimatedFromTheBeginning(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	lines := 20_000
	if level := os.Getenv("HOGAPI_TEST"); level != "" && level != "gate" {
		lines = 200_000 // more than is read for the estimate
	}
	for i := range lines {
		fmt.Fprintf(&text, `{"event":"visit","distinct_id":"%d","n":%d}`+"\n", i*7919%1013, i)
	}
	plain := text.Bytes()
	gz := func() []byte {
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		_, _ = w.Write(plain)
		_ = w.Close()
		return b.Bytes()
	}()
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	require.NoError(t, err)
	archive := func(content []byte) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, name := range []string{"a", "b"} {
			member, err := w.Create(name)
			require.NoError(t, err)
			_, _ = member.Write(content)
		}
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	for name, c := range map[string]struct {
		content []byte
		copies  int
	}{"plain": {plain, 1}, "gz": {gz, 1}, "zst": {encoder.EncodeAll(plain, nil), 1}, "zip": {archive(plain), 2}, "gz in zip": {archive(gz), 2}} {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, c.content, 0o600))
		packed, estimate := sizes(t.Context(), []string{path})
		assert.EqualValues(t, len(c.content), packed, name)
		assert.InEpsilon(t, c.copies*len(plain), estimate, 0.1, name)
	}
	_, estimate := sizes(t.Context(), []string{filepath.Join(t.TempDir(), "missing")})
	assert.Zero(t, estimate)
}

func TestNamesOfStates(t *testing.T) {
	t.Parallel()
	for want, paths := range map[string][]string{
		"events":  {"data/events.jsonl.gz"},
		"export":  {"data/export/a.json", "data/export/b.json"},
		"my-file": {"my file.zip"},
		"import":  {"....gz"},
	} {
		assert.Equal(t, want, stateName(paths), paths)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"1/e.jsonl": "a", "2/e.jsonl": "b", "3/e.jsonl": "a"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	id := func(n string) string { return importID([]string{filepath.Join(dir, n, "e.jsonl")}) }
	assert.Equal(t, id("1"), id("3"), "the same files are the same import")
	assert.NotEqual(t, id("1"), id("2"), "others of the same name are another one")
}

// A run is running while its lock is held. Only where the lock cannot be taken, the age of its last
// progress decides.
func TestAStateIsRunningWhileItsLockIsHeld(t *testing.T) {
	t.Parallel()
	s := &state{dir: filepath.Join(t.TempDir(), "s")}
	lock, err := s.lock()
	require.NoError(t, err)
	now := time.Now()
	is := func() string {
		one, err := s.standing(now)
		require.NoError(t, err)
		return one.Is
	}
	require.NoError(t, s.saveProgress(snapshot{At: now.Add(-time.Hour)}))
	assert.Equal(t, isRunning, is(), "however long ago it said something")
	require.NoError(t, s.saveProgress(snapshot{At: now}))
	require.NoError(t, lock.Close())
	assert.Equal(t, isKilled, is(), "however short ago it said something")
	lock, err = s.lock()
	require.NoError(t, err, "and it is not held by who asks")
	require.NoError(t, lock.Close())

	require.NoError(t, os.Remove(s.file("run.lock")))
	require.NoError(t, os.Mkdir(s.file("run.lock"), 0o700))
	assert.Equal(t, isRunning, is())
	now = now.Add(time.Minute)
	assert.Equal(t, isKilled, is())
}

func TestLimitsOfRejects(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]float64{"1%": {0.01, 0}, "0.5%": {0.005, 0}, "100%": {1, 0}, "500": {-1, 500}, "none": {-1, 0}} {
		share, number, err := rejectLimit(text)
		require.NoError(t, err)
		assert.Equal(t, want, [2]float64{share, float64(number)}, text)
	}
	for _, text := range []string{"", "0", "-1", "0%", "101%", "NaN%", "Inf%", "1.5", "%"} {
		_, _, err := rejectLimit(text)
		assert.Error(t, err, text)
	}
}

// Every reason of a stop has a code, a text and advice.
func TestEachReasonOfAStop(t *testing.T) {
	t.Parallel()
	for reason, want := range map[hogapi.StopReason]code{
		hogapi.StopUnauthorized: 5, hogapi.StopWrongKey: 5, hogapi.StopForbidden: 5, hogapi.StopQuota: 4, hogapi.StopNoProgress: 4, hogapi.StopHandler: 4,
		hogapi.StopCheckpoint: 4, hogapi.StopSource: 1, hogapi.StopUnreachable: 1, hogapi.StopCertificate: 1, hogapi.StopWrongScheme: 1, hogapi.StopTLS: 1,
		hogapi.StopNotFound: 1, hogapi.StopRedirect: 1, hogapi.StopRefused: 1, hogapi.StopNotService: 1, hogapi.StopInternal: 1, hogapi.StopTooManyRejects: 3,
		hogapi.StopRejected: 1, hogapi.StopCanceled: 4, "of_a_later_release": 1,
	} {
		for _, acknowledged := range []int64{0, 5} {
			err := &importError{err: &hogapi.StopError{Reason: reason, FailingSince: time.Unix(0, 0)}, state: &state{dir: "s"}}
			err.receipt.Acknowledged = acknowledged
			f := faultOf(err)
			if want == codeOther && acknowledged > 0 {
				assert.Equal(t, codeStopped, f.code, "%s: an import that has begun can be resumed", reason)
			} else {
				assert.Equal(t, want, f.code, reason)
			}
			assert.NotEmpty(t, f.todo, reason)
			assert.NotContains(t, f.text, "hogapi:")
		}
	}
}

func TestTheFormatIsGuessedForAdvice(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]string{
		`{"event":"e","properties":{"time":1714546800,"distinct_id":"u"}}`:                           "mixpanel",
		`{"event_type":"e","user_id":"u","event_time":"2024-05-01 00:00:00"}`:                        "amplitude",
		`{"type":"track","messageId":"m","event":"e","userId":"u"}`:                                  "segment",
		`{"event_name":"e","event_timestamp":"1","user_pseudo_id":"u"}`:                              "ga4",
		`{"uuid":"u","event":"e","distinct_id":"u","timestamp":"t","created_at":"t"}`:                "posthog",
		`{"event":"e","distinct_id":"u","timestamp":"2024-05-01T00:00:00Z"}`:                         "jsonl",
		`{"event":"e","timestamp":"2024-05-01T00:00:00Z","properties":{"distinct_id":"u","time":1}}`: "jsonl",
		"event,distinct_id,timestamp\ne,u,2024-05-01T00:00:00Z":                                      "csv", "a;b\n1;2": "csv", "a\tb\n1\t2": "tsv",
		`{"a":1}`: "", "text": "", "": "", "<html>a, b</html>": "",
	} {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, []byte(record+"\n"), 0o600))
		assert.Equal(t, want, guess(t.Context(), path), record)
	}
	assert.Empty(t, guess(t.Context(), "nothing"))
	path := filepath.Join(t.TempDir(), "table")
	require.NoError(t, os.WriteFile(path, []byte("a,b\n"), 0o600))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Empty(t, guess(ended, path), "Ctrl-C ends it")
}

// A setting that nobody compares would be changed on the way of an import.
func TestEachSettingOfTheFilesIsCompared(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[input]().NumField() {
		var in input
		field := reflect.ValueOf(&in).Elem().Field(i)
		switch field.Kind() {
		case reflect.Bool:
			field.SetBool(true)
		case reflect.String:
			field.SetString("x")
		default:
			field.Set(reflect.ValueOf([]string{"x"}))
		}
		name := reflect.TypeFor[input]().Field(i).Name
		assert.Equal(t, name == "Files", (&input{}).differences(&in) == "", name)
	}
}

// A text of help that is wider than 80 columns would be broken in the middle of its lines.
func TestTextsOfHelpAreNarrow(t *testing.T) {
	root := newRoot(&app{stdout: term.NewScreen(io.Discard, os.Getenv), stderr: term.NewScreen(io.Discard, os.Getenv)})
	for _, cmd := range append(root.Commands(), root) {
		for line := range strings.Lines(cmd.Long + "\n" + cmd.Example) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), term.DefaultWidth, "%s: %s", cmd.Name(), line)
		}
	}
}

// The key of a position is a path below the folder of all files: of several files that end so, the shortest path is meant.
func TestFilesOfKeys(t *testing.T) {
	t.Parallel()
	paths := []string{"/x/a/b.jsonl", "/x/b.jsonl", "/x/cb.jsonl"}
	for key, want := range map[string]string{
		"b.jsonl": "/x/b.jsonl", "a/b.jsonl": "/x/a/b.jsonl", "/x/cb.jsonl": "/x/cb.jsonl", "": "", "d.jsonl": "", ".jsonl": "",
	} {
		assert.Equal(t, want, fileOf(paths, key), key)
	}
}
