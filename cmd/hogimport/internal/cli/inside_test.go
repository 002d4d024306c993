package cli

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/testevents"
)

// The preview of undo, and the check of an import that has begun, count the events of an import by day.
func TestAnswersToUndo(t *testing.T) {
	t.Parallel()
	testevents.RequireSameAnswers(t, time.Now(), func(ctx context.Context, client *hogapi.Client, r hogapi.Receipt) (string, error) {
		days, err := daysOf(ctx, client, r.ID)
		return fmt.Sprint(len(days), days), err
	})
}

func TestSizesAreEstimatedFromTheBeginning(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	lines := testevents.Sized(20_000, 200_000) // the second is more than is read for the estimate
	for i := range lines {
		fmt.Fprintf(&text, `{"event":"visit","distinct_id":"%d","n":%d}`+"\n", i*7919%1013, i)
	}
	plain := text.Bytes()
	gz := []byte(testevents.Gzip(text.String()))
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
		assert.InEpsilon(t, c.copies*len(plain), textSize(t.Context(), []string{path}), 0.1, name)
	}
	assert.Zero(t, textSize(t.Context(), []string{filepath.Join(t.TempDir(), "missing")}))
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

// Every reason of a stop has a code, a text and advice.
func TestEachReasonOfAStop(t *testing.T) {
	t.Parallel()
	for reason, want := range map[hogapi.StopReason]shell.Code{
		hogapi.StopUnauthorized: 5, hogapi.StopWrongKey: 5, hogapi.StopForbidden: 5, hogapi.StopQuota: 4, hogapi.StopNoProgress: 4, hogapi.StopHandler: 4,
		hogapi.StopCheckpoint: 4, hogapi.StopSource: 1, hogapi.StopUnreachable: 1, hogapi.StopCertificate: 1, hogapi.StopWrongScheme: 1, hogapi.StopTLS: 1,
		hogapi.StopNotFound: 1, hogapi.StopRedirect: 1, hogapi.StopRefused: 1, hogapi.StopNotService: 1, hogapi.StopInternal: 1, hogapi.StopTooManyRejects: 3,
		hogapi.StopRejected: 1, hogapi.StopCanceled: 4, "of_a_later_release": 1,
	} {
		for _, acknowledged := range []int64{0, 5} {
			err := &importError{err: &hogapi.StopError{Reason: reason, FailingSince: time.Unix(0, 0)}, state: &state{dir: "s"}}
			err.receipt.Acknowledged = acknowledged
			f := faultOf(err)
			if want == shell.CodeOther && acknowledged > 0 {
				assert.Equal(t, shell.CodeStopped, f.Code, "%s: an import that has begun can be resumed", reason)
			} else {
				assert.Equal(t, want, f.Code, reason)
			}
			assert.NotEmpty(t, f.Todo, reason)
			assert.NotContains(t, f.Text, "hogapi:")
		}
	}
	for reason, m := range stops {
		assert.Equal(t, m.code == shell.CodeProject, m.suspect == theKey, reason)
		assert.Equal(t, m.code == shell.CodeOther && strings.Contains(m.todo, "--host"), m.suspect == theHost, reason)
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
		"id,anonymous_id,user_id,received_at,timestamp\ni,a,u,r,t": "segment-warehouse", "DEVICE_ID,USER_ID,EVENT_TYPE,EVENT_TIME\nd,u,e,t": "amplitude-warehouse",
		"name,timestamp,user_pseudo_id\ne,t,u": "ga4-warehouse", "website_id,session_id,visit_id,event_id\nw,s,v,e": "umami",
		strings.Repeat("a\t", 130) + "b": "snowplow", strings.Repeat("a\t", 130) + `{"a":1,"b":2}`: "snowplow",
		`{"idVisit":"1","actionDetails":[]}`: "matomo", `{"visitorId":"v","guideId":"g"}`: "pendo", "visitor_id,type,guide_id\nv,t,g": "pendo",
		"event_id,user_id,session_id,landing_page\ne,u,s,l": "heap",
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
	for i := range reflect.TypeFor[history.Choices]().NumField() {
		var in input
		field := reflect.ValueOf(&in.Choices).Elem().Field(i)
		switch field.Kind() {
		case reflect.Bool:
			field.SetBool(true)
		case reflect.String:
			field.SetString("x")
		default:
			field.Set(reflect.ValueOf([]string{"x"}))
		}
		assert.NotEmpty(t, (&input{}).differences(&in), reflect.TypeFor[history.Choices]().Field(i).Name)
	}
	assert.Empty(t, (&input{}).differences(&input{Files: []string{"x"}}))
}

// GA4 moves the events of an intraday table to the table of the day: with both, purchases count twice.
func TestTablesOfADay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"events_20230901.json", "events_20230902.json.gz", "events_intraday_20230902.json.gz", "events_intraday_20230903.json", "other_events_20230903"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("{}\n"), 0o600))
	}
	in := input{Files: []string{filepath.Join(dir, "*")}, Choices: history.Choices{Format: "ga4"}}
	err := in.check(t.Context())
	require.ErrorContains(t, err, "events_intraday_20230902.json.gz has the events of a day that another file has too")
	assert.Len(t, in.paths(), 5)
	in.NoIntraday = true
	require.NoError(t, in.check(t.Context()))
	assert.Len(t, in.paths(), 4)
	assert.NotContains(t, in.paths(), filepath.Join(dir, "events_intraday_20230902.json.gz"))
	in.Format = "json"
	require.ErrorContains(t, in.checkFormat(t.Context()), "--no-intraday is for ga4")
	const early, fresh, final = "events_intraday_20230902.json", "events_fresh_20230902.json", "events_20230902.json"
	assert.Equal(t, []string{early, fresh}, intraday([]string{early, final, fresh}))
	assert.Equal(t, []string{early}, intraday([]string{fresh, early, "events_20230903.json"}))
	assert.Empty(t, intraday([]string{fresh, "visits.json"}))
}

// A text of help that is wider than 80 columns would be broken in the middle of its lines.
func TestTextsOfHelpAreNarrow(t *testing.T) {
	root := newRoot(&app{&shell.App{Name: "hogimport", Out: term.NewScreen(io.Discard, os.Getenv), Err: term.NewScreen(io.Discard, os.Getenv)}})
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

// Many files are one pattern, and only where it is of these files alone.
func TestManyFilesAreOnePattern(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var paths []string
	for day := range 6 {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("mixpanel-2024-02-2%d.json.gz", day)))
		require.NoError(t, os.WriteFile(paths[day], nil, 0o600))
	}
	assert.Equal(t, []string{filepath.Join(dir, "mixpanel-2024-02-2*.json.gz")}, fileWords(paths))
	assert.Equal(t, paths[:5], fileWords(paths[:5]), "the pattern matches another file too")
	assert.Equal(t, paths[:2], fileWords(paths[:2]))
	assert.Equal(t, "aaa*", patternOf([]string{"aaa", "aaaa"}), "no character is of both ends")
}

// Of thousands of files that no pattern finds a command names the first ones. As it stands it is refused.
func TestManyFilesAreFolded(t *testing.T) {
	t.Parallel()
	var paths []string
	for i := range 3000 {
		paths = append(paths, fmt.Sprintf("e%04d.jsonl", i))
	}
	assert.Equal(t, []string{"e0000.jsonl", "e0001.jsonl", "'… 2998 more files'"}, fileWords(paths))
	assert.Len(t, fileWords(paths[:20]), 20)
}

// A list with another count than the check's, since another program writes to the files, is not
// written.
func TestAListHasWhatWasCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, list := filepath.Join(dir, "e.jsonl"), filepath.Join(dir, "list")
	require.NoError(t, os.WriteFile(file, []byte(`{"event":"a","properties":{"time":1672531200}}`+"\n"), 0o600))
	in := &input{Files: []string{file}, Choices: history.Choices{Format: "mixpanel"}}
	require.NoError(t, in.writeLeftOut(t.Context(), list, 1))
	assert.FileExists(t, list)
	require.NoError(t, os.Remove(list))
	err := in.writeLeftOut(t.Context(), list, 2)
	require.ErrorContains(t, err, "of the files 1 record is left out, and a moment ago it was 2")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1, "neither the list nor a part of it")
}

// people is a source of five people, of whom two used one device.
type people struct{}

func (people) Name() string { return "people" }

func (people) Events(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		for i := range 5 {
			ev := hogapi.Event{Name: "e", DistinctID: fmt.Sprint("u", i), AnonymousID: fmt.Sprint("d", min(i, 3)), Timestamp: time.Unix(int64(1e9+i), 0)}
			ev.Position = hogapi.Position{Key: "people", Offset: int64(i + 1)}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// The number of links, including links that are left out, is known wherever a run begins among
// them.
func TestLinksAreCountedWhereverARunBegins(t *testing.T) {
	t.Parallel()
	for after := range int64(5) {
		found := int64(-1)
		l := &linkSource{Source: formats.Links(people{}), ended: func(all, _ int64) { found = all }}
		var at hogapi.Position
		if after > 0 {
			at = hogapi.Position{Key: "links of persons", Offset: after}
		}
		for _, err := range l.Events(t.Context(), at) {
			require.NoError(t, err)
		}
		assert.EqualValues(t, 4, found, after)
	}
}

// The result adds up after rejects, skips and unconfirmed events.
func TestTheResultAddsUp(t *testing.T) {
	t.Parallel()
	shared := map[string]int64{formats.SkipSharedDevice: 3, "no id": 1473}
	for _, c := range []struct {
		links int64
		r     hogapi.Receipt
		want  string
	}{
		{0, hogapi.Receipt{Read: 100, Acknowledged: 100}, "100 events acknowledged; no record left out or rejected"},
		{0, hogapi.Receipt{Read: 1, Acknowledged: 1}, "1 event acknowledged; no record left out or rejected"},
		{900, hogapi.Receipt{Read: 50_610, Acknowledged: 49_137, Skipped: 1473},
			"48,237 events and 900 links of persons acknowledged; 1,473 of 49,710 records left out"},
		{903, hogapi.Receipt{Read: 50_613, Acknowledged: 49_137, Skipped: 1476, Skips: shared},
			"48,237 events and 900 links of persons acknowledged; 1,473 of 49,710 records and 3 of 903 links left out"},
		{0, hogapi.Receipt{Read: 100, Acknowledged: 90, Skipped: 4, Rejected: 5, Unconfirmed: 1},
			"90 events acknowledged; of 100 records 4 left out, 5 rejected, 1 unconfirmed"},
		{900, hogapi.Receipt{Read: 50_610, Acknowledged: 49_100, Skipped: 1473, Rejected: 37}, // of which some can be links
			"49,100 events and links of persons acknowledged; of 49,710 records and 900 links 1,473 left out, 37 rejected"},
	} {
		assert.Equal(t, c.want, (&state{kept: kept{Links: c.links}}).account(c.r))
	}
}

// How many links were sent is said only where it is known.
func TestLinksOfAVerification(t *testing.T) {
	t.Parallel()
	shared := map[string]int64{formats.SkipSharedDevice: 3}
	identify := []event.DayCount{{Day: "2024-05-01", Event: "$identify", Acknowledged: 7}}
	for name, c := range map[string]struct {
		kept       kept
		r          hogapi.Receipt
		has        bool
		read, sent int64
	}{
		"all":          {kept{Links: 903, Input: input{Choices: history.Choices{Links: true}}}, hogapi.Receipt{Finished: true, Skips: shared}, true, 903, 900},
		"rejects":      {kept{Links: 903, Input: input{Choices: history.Choices{Links: true}}}, hogapi.Receipt{Finished: true, Rejected: 1}, true, 903, 0},
		"unconfirmed":  {kept{Links: 903, Input: input{Choices: history.Choices{Links: true}}}, hogapi.Receipt{Finished: true, Unconfirmed: 1}, true, 903, 0},
		"not finished": {kept{Links: 903, Input: input{Choices: history.Choices{Links: true}}}, hogapi.Receipt{}, true, 0, 0},
		"only shared":  {kept{Links: 3, Input: input{Choices: history.Choices{Links: true}}}, hogapi.Receipt{Finished: true, Skips: shared}, false, 3, 0},
		"not counted":  {kept{Input: input{Choices: history.Choices{Links: true}}}, hogapi.Receipt{Finished: true, Days: identify}, true, 0, 0},
		"no pair":      {kept{Input: input{Choices: history.Choices{Links: true}}}, hogapi.Receipt{Finished: true}, false, 0, 0},
		"of the files": {kept{}, hogapi.Receipt{Finished: true, Days: identify}, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			has, read, sent := (&state{kept: c.kept}).links(c.r)
			assert.Equal(t, []any{c.has, c.read, c.sent}, []any{has, read, sent})
		})
	}
}

// A sample has as many events of each day, as far as there are so many. Days of a wrong clock have the weight
// that they have in the files.
func TestSharesOfDays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		counts map[int64]int64
		most   int64
		want   map[int64]share
	}{
		"equal days":       {map[int64]int64{1: 100, 2: 100}, 10, map[int64]share{1: {5, 100}, 2: {5, 100}}},
		"a small day":      {map[int64]int64{1: 2, 2: 100}, 10, map[int64]share{1: {2, 2}, 2: {8, 100}}},
		"all of it":        {map[int64]int64{1: 2, 2: 3}, 10, map[int64]share{1: {2, 2}, 2: {3, 3}}},
		"a wrong clock":    {map[int64]int64{oddDay: 10, 1: 90}, 10, map[int64]share{oddDay: {1, 10}, 1: {9, 90}}},
		"a fourth of it":   {map[int64]int64{oddDay: 25, 1: 75}, 20, map[int64]share{oddDay: {5, 25}, 1: {15, 75}}},
		"one wrong event":  {map[int64]int64{oddDay: 1, 1: 9999}, 10, map[int64]share{oddDay: {1, 1}, 1: {9, 9999}}},
		"wrong days alone": {map[int64]int64{oddDay: 10}, 5, map[int64]share{oddDay: {5, 10}}},
		"as many days":     {map[int64]int64{1: 7, 2: 7, 3: 7}, 3, map[int64]share{1: {1, 7}, 2: {1, 7}, 3: {1, 7}}},
		"more days": {
			map[int64]int64{1: 7, 2: 7, 3: 7, 4: 7, 5: 7, 6: 7, 7: 7, 8: 7, 9: 7, 10: 7}, 3, map[int64]share{1: {1, 7}, 4: {1, 7}, 7: {1, 7}},
		},
	} {
		var total int64
		for _, n := range tt.counts {
			total += n
		}
		assert.Equal(t, tt.want, shares(tt.counts, total, tt.most), name)
	}

	year1980 := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	assert.EqualValues(t, 3652, dayOf(year1980))
	assert.EqualValues(t, 3652, dayOf(year1980.Add(24*time.Hour-1)))
	assert.EqualValues(t, oddDay, dayOf(year1980.Add(-1)))
	assert.EqualValues(t, oddDay, dayOf(time.Now()))
	assert.EqualValues(t, oddDay, dayOf(time.Now().Add(-47*time.Hour)))
	assert.NotEqualValues(t, oddDay, dayOf(time.Now().Add(-49*time.Hour)))

	assert.True(t, (&kept{IsExact: true}).isExact())
	assert.True(t, (&kept{IsExact: true, Links: 1, Input: input{Choices: history.Choices{Links: true}}}).isExact())
	assert.False(t, (&kept{IsExact: true, Input: input{Choices: history.Choices{Links: true}}}).isExact(), "how many links there will be is not known")
	assert.False(t, (&kept{Links: 1}).isExact())
}

func TestPlacesHaveTheNumberOfTheLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "e.json")
	require.NoError(t, os.WriteFile(path, []byte("{}\n{ }\n{}"), 0o600))
	at := func(offset int64) string {
		return placeText([]string{path}, hogapi.Position{Key: "e.json", Offset: offset})
	}
	assert.Equal(t, []string{"e.json:1", "e.json:2", "e.json:3"}, []string{at(3), at(7), at(9)})
	assert.Equal(t, "e.json (byte 99 of the unpacked text)", at(99))
	assert.Equal(t, "e.json:2: bad", withPlaces("e.json@7: bad", []string{path}, hogapi.Position{Key: "e.json", Offset: 7}))
}

// An import is verified if the receipt that was verified is still its last one.
func TestIsVerified(t *testing.T) {
	t.Parallel()
	s := &state{dir: t.TempDir()}
	isVerified := func(want bool) {
		t.Helper()
		got, err := s.isVerified()
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	isVerified(false)
	require.NoError(t, s.saveReceipt(hogapi.Receipt{}))
	isVerified(false)
	require.NoError(t, s.saveReceipt(hogapi.Receipt{Digest: "1"}))
	isVerified(false)
	require.NoError(t, s.saveVerified(hogapi.Receipt{Digest: "1"}))
	isVerified(true)
	require.NoError(t, s.saveReceipt(hogapi.Receipt{Digest: "2"}))
	isVerified(false)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "verified.json"), []byte(`{"digest":"2`), 0o600))
	_, err := s.isVerified()
	require.Error(t, err)
}

// A state folder has the name of its file, or of the folder of its files, of characters that every file
// system takes.
func TestStateNames(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/x/events.jsonl.gz": "events", "/x/2024-01.csv": "2024-01", "/x/a b/ü.json": "import", "/x/aZ09_.-z.json": "aZ09_.-z", "/x/a:b@c[d`e{f/.json": "import",
		"/x/a:b@c[d`e{f": "a-b-c-d-e-f", "/x/..jsonl": "import", "....gz": "import", "my file.zip": "my-file", "/x/" + strings.Repeat("n", 61): strings.Repeat("n", 60), "/x/" + strings.Repeat("n", 60): strings.Repeat("n", 60),
	} {
		assert.Equal(t, want, stateName([]string{path}), path)
	}
	assert.Equal(t, "events", stateName([]string{"/x/events/1.json", "/x/events/2.json"}))
	dir := t.TempDir()
	for name, text := range map[string]string{"1/e.jsonl": "a", "2/e.jsonl": "b", "3/e.jsonl": "a"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	id := func(n string) string { return importID([]string{filepath.Join(dir, n, "e.jsonl")}) }
	assert.Equal(t, id("1"), id("3"), "the same files are the same import")
	assert.NotEqual(t, id("1"), id("2"), "others of the same name are another one")
}

// An import that was killed before its first event, while it sorted, has sent nothing: it has no checkpoint yet.
func TestAnImportWithoutACheckpointHasSentNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("e.jsonl", nil, 0o600))
	s := &state{dir: filepath.Join(stateRoot, "e"), kept: kept{ID: "x", Input: input{Files: []string{absolute("e.jsonl")}}}}
	require.NoError(t, os.MkdirAll(s.dir, 0o700))
	require.NoError(t, s.save())
	require.NoError(t, s.saveProgress(snapshot{}))
	c := &check{app: &app{&shell.App{Env: func(string) string { return "" }}}}
	begun := func(path string) []*state {
		found, err := c.importsOf(t.Context(), []string{path})
		require.NoError(t, err)
		return found.begun
	}
	assert.Empty(t, begun("e.jsonl"))
	require.NoError(t, os.WriteFile(s.checkpoint(), nil, 0o600))
	assert.Len(t, begun("e.jsonl"), 1)
	assert.Empty(t, begun("other.jsonl"))
}

// countdown is a context that is interrupted after a number of looks at it.
type countdown struct {
	context.Context
	looks *int
}

// Err implements context.Context.
func (c countdown) Err() error {
	if *c.looks--; *c.looks < 0 {
		return shell.ErrInterrupted
	}
	return nil
}

// A run of many files looks at its context before it reads each of them, and reads each of them once.
func TestManyFilesAreReadOnceAndUntilCtrlC(t *testing.T) {
	t.Parallel()
	const n = 30_000
	paths := make([]string, n)
	for i := range paths {
		paths[i] = fmt.Sprintf("/nowhere/%d.jsonl", i)
	}
	looks := n
	files, err := known(countdown{t.Context(), &looks}, paths)
	require.NoError(t, err)
	assert.Zero(t, looks)
	looks = 5
	_, err = known(countdown{t.Context(), &looks}, paths)
	require.ErrorIs(t, err, shell.ErrInterrupted)
	assert.GreaterOrEqual(t, looks, -2, "it stops at once, and looks once more for the cause")
	s := &state{kept: kept{Files: files}}
	assert.Empty(t, settledOf(paths, files, []*state{s}).fresh)
}

// A file is found by its path, or moved by its name and content, and the first of several is meant.
func TestFilesAreFoundInAnImport(t *testing.T) {
	t.Parallel()
	s := &state{kept: kept{Files: []knownFile{{"/a/x", 1, "1"}, {"/b/x", 2, "2"}, {"/c/x", 1, "1"}}}}
	find := s.finder()
	for file, want := range map[knownFile][]any{
		{"/b/x", 2, "2"}: {1, false}, {"/b/x", 3, "3"}: {1, true}, {"/d/x", 2, "2"}: {1, false}, {"/c/x", 1, "1"}: {0, false},
		{"/c/x", 4, "4"}: {2, true}, {"/d/y", 2, "2"}: {-1, false}, {"/d/x", 5, "5"}: {-1, false}, {"/b/x", 1, "1"}: {0, false},
	} {
		at, isChanged := find(file)
		assert.Equal(t, want, []any{at, isChanged}, file)
	}
	old := (&state{kept: kept{Input: input{Files: []string{"/a/x"}}}}).finder() // of an older release, without contents
	at, isChanged := old(knownFile{"/a/x", 1, "1"})
	assert.Equal(t, []any{0, false}, []any{at, isChanged})
	at, _ = old(knownFile{"/b/x", 0, ""})
	assert.Equal(t, -1, at)
}

// An import that ended early says how many records it has processed, of how many there are.
func TestHowFarAnImportGot(t *testing.T) {
	t.Parallel()
	receipt := hogapi.Receipt{Acknowledged: 1, Rejected: 2, Unconfirmed: 4, Skipped: 8}
	for want, tt := range map[string]struct {
		kept kept
		err  error
	}{
		"15 records are processed; the position is in D":                                                 {kept{}, shell.ErrInterrupted},
		"15 records are processed; the position is in D ":                                                {kept{Total: 15, IsExact: true}, shell.ErrInterrupted},
		"15 of 16 records are processed; the position is in D":                                           {kept{Total: 16, IsExact: true}, shell.ErrInterrupted},
		"15 of about 16 records are processed; the position is in D":                                     {kept{Total: 15, Links: 1}, shell.ErrInterrupted},
		"15 records are processed; the position is in D  ":                                               {kept{}, &event.UnsettledError{}},
		"15 records are processed, and 3 under way will be sent again; the position is in D":             {kept{}, &event.UnsettledError{Count: 3}},
		"15 of about 20 records are processed, and 1 under way will be sent again; the position is in D": {kept{Total: 20}, &event.UnsettledError{Count: 1}},
	} {
		e := &importError{err: tt.err, state: &state{dir: "D", kept: tt.kept}, receipt: receipt}
		assert.Equal(t, strings.TrimSpace(want), e.soFar())
	}
}

// A stop names the status and how long the service asks to wait, if the answer has them. Once an import has
// begun or can be resumed, the stop says how far it is.
func TestTextsOfStops(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stop    hogapi.StopError
		receipt hogapi.Receipt
		text    string
		more    int
	}{
		"not begun":      {hogapi.StopError{Reason: hogapi.StopUnauthorized, Status: 401}, hogapi.Receipt{}, "the service refuses the project API key (status 401)", 0},
		"without status": {hogapi.StopError{Reason: hogapi.StopUnauthorized}, hogapi.Receipt{}, "the service refuses the project API key", 0},
		"begun": {
			hogapi.StopError{Reason: hogapi.StopUnauthorized}, hogapi.Receipt{Acknowledged: 1, Unconfirmed: 1}, "the service refuses the project API key", 1,
		},
		"unconfirmed events": {hogapi.StopError{Reason: hogapi.StopUnauthorized}, hogapi.Receipt{Unconfirmed: 1}, "the service refuses the project API key", 1},
		"can be resumed":     {hogapi.StopError{Reason: hogapi.StopNoProgress}, hogapi.Receipt{}, "the service does not answer", 1},
		"asks to wait": {
			hogapi.StopError{Reason: hogapi.StopNoProgress, Status: 503, RetryAfter: 7 * time.Second}, hogapi.Receipt{},
			"the service does not answer (status 503); the service asks to wait 7 s", 1,
		},
	} {
		e := &importError{err: &tt.stop, state: &state{dir: "D"}, receipt: tt.receipt}
		f := e.explained()
		assert.Equal(t, tt.text, f.Text, name)
		assert.Len(t, f.More, tt.more, name)
	}
	for err, want := range map[error]bool{syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EFBIG: true, syscall.EIO: false} {
		assert.Equal(t, want, isDiskFull(fmt.Errorf("write: %w", err)), err)
	}
}

// The command to run again is given for an import that has a state and is no trial.
func TestTheSameCommandIsGiven(t *testing.T) {
	t.Parallel()
	canResume, cannot := error(&hogapi.StopError{Reason: hogapi.StopNoProgress}), errors.New("no")
	for name, tt := range map[string]struct {
		id    string
		saved bool
		err   error
		next  int
	}{
		"an import":         {"x", true, canResume, 1},
		"not begun":         {"x", false, canResume, 0},
		"a trial":           {trialPrefix + "x", true, canResume, 0},
		"of no use":         {"x", true, cannot, 0},
		"a trial of no use": {trialPrefix + "x", false, cannot, 0},
	} {
		s := &state{dir: t.TempDir(), kept: kept{ID: tt.id}}
		if tt.saved {
			require.NoError(t, s.save(), name)
		}
		assert.Len(t, (&importError{err: tt.err, state: s}).fault().Next, tt.next, name)
	}
}

// Imports of another project, trials and folders that cannot be read do not belong to a project.
func TestImportsOfAProject(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, k := range []kept{{ID: "of a", target: target{Key: "a"}}, {ID: "of b", target: target{Key: "b"}}, {ID: "older"}, {ID: trialPrefix + "x", target: target{Key: "a"}}} {
		k.Begun = time.Unix(int64(9-i), 0)
		s := &state{dir: filepath.Join(stateRoot, fmt.Sprint(i)), kept: k}
		require.NoError(t, os.MkdirAll(s.dir, 0o700))
		require.NoError(t, s.save())
	}
	for _, name := range []string{"empty", "torn"} {
		require.NoError(t, os.MkdirAll(filepath.Join(stateRoot, name), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(stateRoot, "torn", "import.json"), []byte(`{"id":"torn"`), 0o600))
	for project, want := range map[string][]string{"a": {"older", "of a"}, "b": {"older", "of b"}, "": {"older", "of b", "of a"}} {
		var ids []string
		for _, s := range importsBelow(project) {
			ids = append(ids, s.kept.ID)
		}
		assert.Equal(t, want, ids, project)
	}
}

// Only the last file of an import can grow. Another content of the same size, or of a file before, has
// changed.
func TestFilesThatGrow(t *testing.T) {
	t.Parallel()
	s := &state{kept: kept{Files: []knownFile{{"/a", 1, "1"}, {"/b", 2, "2"}}}}
	assert.Equal(t, []string{"/d/a", "/b"}, s.filesAt([]knownFile{{"/d/a", 1, "1"}, {"/c", 1, "1"}}), "files that were moved")
	for want, file := range map[string]knownFile{
		"same": {"/b", 2, "2"}, "changed": {"/b", 2, "3"}, "changed ": {"/b", 1, "3"}, "grown": {"/b", 3, "3"}, "changed  ": {"/a", 7, "3"}, "fresh": {"/c", 2, "3"},
	} {
		got := settledOf([]string{file.Path}, []knownFile{file}, []*state{s})
		is := map[string]int{"changed": len(got.changed), "grown": len(got.grown), "fresh": len(got.fresh)}
		for kind, n := range is {
			assert.Equal(t, kind == strings.TrimSpace(want), n == 1, "%v is %s", file, kind)
		}
	}
}

// Formats that convert nothing go on with an import of any release.
func TestMappings(t *testing.T) {
	t.Parallel()
	for name := range vendors {
		in := input{Choices: history.Choices{Format: name, Map: []string{"event=a", "person=b", "time=c|unix"}}}
		want := formats.MappingVersion
		if name == "jsonl" || name == "posthog" {
			want = 0
		}
		assert.Equal(t, want, in.version(), name)
		_, isOther := (&state{kept: kept{Input: in}}).hasOtherMapping()
		assert.Equal(t, want != 0 && !isMapped(name), isOther, name)
	}
}

// Settings that change events are another import, and others are not.
func TestTheIDOfAnImportDependsOnItsSettings(t *testing.T) {
	t.Parallel()
	plain := input{Files: []string{"a.jsonl"}, Choices: history.Choices{Format: "mixpanel"}}
	ids := map[string]bool{importIDOf(plain.Files, &plain): true}
	for _, change := range []func(*input){
		func(in *input) { in.Zone = "UTC" }, func(in *input) { in.Groups = []string{"a=b"} }, func(in *input) { in.NoVisitorProfiles = true },
		func(in *input) { in.LookUpIP = true }, func(in *input) { in.LeavePersons = true }, func(in *input) { in.Drop = []string{"x"} }, func(in *input) { in.Table = "pages" },
	} {
		other := plain
		change(&other)
		id := importIDOf(plain.Files, &other)
		assert.False(t, ids[id], "%+v", other)
		ids[id] = true
	}
	ordered := plain
	ordered.Until, ordered.Sort, ordered.Links, ordered.Sessions, ordered.SharedDevices, ordered.MaxIDs = "2024-01-01", true, true, "30m", "first-user", "9"
	assert.True(t, ids[importIDOf(plain.Files, &ordered)])
}

// The tables of vendors have flags of their own, which other formats refuse, and errors name them.
func TestTablesOfVendors(t *testing.T) {
	t.Parallel()
	row := `{"event_id":"2","user_id":1,"time":"2024-02-29T23:59:59Z","type":"click"}`
	convert := func(in input, row string) string {
		events, err := in.format().Convert([]byte(row))
		if err != nil {
			return err.Error()
		}
		return events[0].Name
	}
	assert.Contains(t, convert(input{Choices: history.Choices{Format: "heap"}}, row), "set --table to it")
	assert.Equal(t, "Buy", convert(input{Choices: history.Choices{Format: "heap", Table: "Buy"}}, row))
	call := `{"id":"i","user_id":"u","timestamp":"2024-02-29 22:28:55","name":"Cart"}`
	assert.Contains(t, convert(input{Choices: history.Choices{Format: "segment-warehouse"}}, call), "set --table")
	assert.Equal(t, "$screen", convert(input{Choices: history.Choices{Format: "segment-warehouse", Table: "screens"}}, call))
	for want, in := range map[string]input{
		"--table is for the formats heap and segment-warehouse": {Choices: history.Choices{Format: "csv", Table: "x"}},
		"--numbers is for the formats of warehouses":            {Choices: history.Choices{Format: "heap", Numbers: []string{"x"}}},
	} {
		assert.ErrorContains(t, in.checkFormat(t.Context()), want)
	}
}

// A table of a vendor is recognized by its columns where the name of the file says only that it is a table.
func TestTablesAreRecognized(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"a.tsv", strings.Repeat("x\t", 130) + "x\n", "a.tsv looks like a file of the format snowplow"},
		{"b.csv", "website_id,session_id,visit_id,event_id,created_at\n", "b.csv looks like a file of the format umami"},
		{"c.csv", "event,distinct_id,timestamp\n", ""},
		{"d.tsv", "event\tdistinct_id\ttimestamp\n", ""},
		{"e.csv", "", ""},
	} {
		path := filepath.Join(t.TempDir(), tt.name)
		require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o600))
		in := input{Files: []string{path}}
		if err := in.check(t.Context()); tt.want == "" {
			require.NoError(t, err, tt.name)
		} else {
			require.ErrorContains(t, err, tt.want)
		}
		for _, in := range []input{{Choices: history.Choices{Format: formatByName(path)}}, {Choices: history.Choices{Map: []string{"event=const:x", "person=session_id", "time=created_at|unix"}}}} {
			in.Files = []string{path}
			require.NoError(t, in.check(t.Context()), "%s: it was said how to read it", tt.name)
		}
	}
}

// Each flag of fix about reading records replaces the import's original value.
func TestFixTakesEachOfItsFlags(t *testing.T) {
	t.Parallel()
	for _, key := range new(history.Choices).Keys() {
		r, in := &runFlags{}, input{}
		cmd := &cobra.Command{}
		r.input.bind(cmd)
		if cmd.Flags().Lookup(key.Name) == nil { // such as --sort, which a fix does not have
			continue
		}
		value := "x"
		if _, isBool := key.To.(*bool); isBool {
			value = "true"
		}
		require.NoError(t, cmd.Flags().Set(key.Name, value))
		in.correct(&r.input, cmd.Flags())
		assert.Equal(t, "--"+key.Name, (&input{}).differences(&in))
	}
	// They are printed as they can be typed again, each entry of a list by itself.
	cmd, in := &cobra.Command{}, input{}
	in.bind(cmd)
	for _, flag := range [][2]string{{"map", "time=when|unix"}, {"map", "event=action"}, {"drop", "a b"}} {
		require.NoError(t, cmd.Flags().Set(flag[0], flag[1]))
	}
	assert.Equal(t, " --map 'time=when|unix' --map event=action --drop 'a b'", corrections(cmd.Flags()))
}
