package fetch

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
)

// The check of an answer ends with its context, wherever it is.
func TestTheCheckOfAnAnswerEndsWithItsContext(t *testing.T) {
	end := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(end)
	text := strings.Repeat(line1, 10)
	for name, check := range map[string]func(context.Context, string, *lineCheck) error{
		string(packed(text)): checkLinesFile, string(zipped(text, text)): checkZipFile,
	} {
		path := filepath.Join(t.TempDir(), "part")
		require.NoError(t, os.WriteFile(path, []byte(name), 0o600))
		require.NoError(t, check(t.Context(), path, new(lineCheck)))
		require.ErrorIs(t, check(ctx, path, new(lineCheck)), end)
	}
}

func TestAnArchiveOfTooManyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for range 50_001 {
		_, err := w.CreateHeader(&zip.FileHeader{Name: "x"})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	require.ErrorContains(t, checkZipFile(t.Context(), path, new(lineCheck)), "50001 files")
}

// fetch does not write through an entry, such as a link, that has the name of a new part.
func TestAPartIsNotWrittenThroughALink(t *testing.T) {
	j, _ := served(t, lines, "2024-01-01", "2024-01-01")
	victim := filepath.Join(t.TempDir(), "mine")
	require.NoError(t, os.WriteFile(victim, []byte("mine"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(j.Folder, ownFolder), 0o700))
	require.NoError(t, os.Symlink(victim, filepath.Join(j.Folder, ownFolder, tempName)))
	_, err := j.Run(t.Context())
	require.NoError(t, err)
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))

	j, _ = served(t, lines, "2024-01-01", "2024-01-01")
	require.NoError(t, os.MkdirAll(filepath.Join(j.Folder, ownFolder), 0o700))
	require.NoError(t, os.Symlink(victim, filepath.Join(j.Folder, ownFolder, logName)))
	_, err = j.Run(t.Context())
	requireProblem(t, KindOther, err, "not a regular file")
}

func TestAnExportIsBounded(t *testing.T) {
	j, _ := served(t, lines, "2024-01-01", "2024-01-03")
	j.MaxBytes = 200 // a part has about 110
	sum, err := j.Run(t.Context())
	requireProblem(t, KindOther, err, "more than the limit of 200 bytes of one run", "--max-gib")
	require.Equal(t, 1, sum.Parts)
	for range 2 {
		sum, _ = j.Run(t.Context())
	}
	require.Equal(t, 3, sum.Parts)
}

// A file of several days can still get events as long as one of its days can.
func TestAFileOfSeveralDaysIsEarlyUntilItsLastDayIsNot(t *testing.T) {
	e, err := Mixpanel{Secret: testSecret, Days: 2}.plan()
	require.NoError(t, err)
	f, err := openFolder(t.Context(), durable.OS{}, t.TempDir(), &e)
	require.NoError(t, err)
	defer f.close()
	s := span{e.unitOf(day("2024-01-01")), e.unitOf(day("2024-01-02"))}
	late := e.late(s.last)
	for at, want := range map[time.Time]bool{e.late(s.first): true, late.Add(-time.Second): true, late: false} {
		require.NoError(t, f.enter(s, 1, 1, at))
		require.Equal(t, want, f.parts[s].Early, at)
	}
}

// Events of another day than was asked for are no answer. A day may be one of any zone, and a time of Mixpanel in seconds.
func TestEventsOfAnotherDay(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want bool
	}{
		"the day":             {line: `{"event":"e","properties":{"time":1704067200000}}`, want: true},
		"in seconds":          {line: `{"event":"e","properties":{"time":1704067200}}`, want: true},
		"in Kiritimati":       {line: `{"event":"e","properties":{"time":1704016800000}}`, want: true},
		"the day before":      {line: `{"event":"e","properties":{"time":1704016799999}}`},
		"the last of the day": {line: `{"event":"e","properties":{"time":1704203999999}}`, want: true},
		"the day after":       {line: `{"event":"e","properties":{"time":1704204000000}}`},
		"no time":             {line: `{"event":"e","properties":{"x":{"time":1}},"time":1}`, want: true},
	} {
		e, err := Mixpanel{Secret: testSecret}.plan()
		require.NoError(t, err)
		day := e.unitOf(day("2024-01-01"))
		path := filepath.Join(t.TempDir(), "part")
		require.NoError(t, os.WriteFile(path, packed(c.line+"\n"), 0o600))
		n, err := e.checkFile(t.Context(), path, span{day, day})
		require.Equal(t, c.want, err == nil, "%s: %v", name, err)
		if c.want {
			require.EqualValues(t, 1, n, name)
		} else {
			require.ErrorContains(t, err, "line 1 is an event of ", name)
			require.ErrorIs(t, err, errNotWhole)
		}
	}
	at := amplitudeTime([]byte(`{"server_upload_time":"2024-01-01 10:30:00.123456"}`))
	require.Equal(t, "2024-01-01T10:30:00.123456Z", at.Format("2006-01-02T15:04:05.999999Z07:00"))
}
