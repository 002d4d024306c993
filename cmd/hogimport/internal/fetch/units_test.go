package fetch

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
)

// Only this machine gets a key unencrypted, and a host is a name, nothing more.
func TestHosts(t *testing.T) {
	for host, want := range map[string]string{
		"https://eu.example.com": "https://eu.example.com", "https://eu.example.com:8443/": "https://eu.example.com:8443",
		"http://localhost:80": "http://localhost:80", "http://127.0.0.1": "http://127.0.0.1", "http://[::1]:80": "http://[::1]:80",
		"http://10.0.0.1": "", "http://example.com": "", "http://localhost.example.com": "", "ftp://localhost": "",
		"https://": "", "https://ann@example.com": "", "https://example.com/path": "", "https://example.com?a=b": "", "example.com": "", "https://%zz": "",
	} {
		base, err := baseOf("v", host, "")
		if want == "" {
			requireProblem(t, KindOptions, err, "host of the export")
			continue
		}
		require.NoError(t, err, host)
		assert.Equal(t, want, base.String())
	}
}

func TestNamesOfFiles(t *testing.T) {
	e, err := mixpanelJob(t.TempDir(), "2024-01-01", "2024-01-03").Vendor.plan()
	require.NoError(t, err)
	for _, days := range [][2]string{{"2024-01-01", "2024-01-01"}, {"2024-01-01", "2024-01-03"}} {
		s, err := e.parse(days[0], days[1])
		require.NoError(t, err)
		got, isPart := e.spanOf(e.fileName(s))
		assert.True(t, isPart)
		assert.Equal(t, s, got)
		_, isPart = e.spanOf("x" + e.fileName(s))
		assert.False(t, isPart)
		_, isPart = e.spanOf(e.fileName(s) + "x")
		assert.False(t, isPart)
	}
	_, isPart := e.spanOf(e.prefix + "2024-01-32" + e.ending)
	assert.False(t, isPart)
	for _, days := range [][2]string{{"2024-01-02", "2024-01-01"}, {"x", "2024-01-01"}, {"2024-01-01", "x"}} {
		_, err := e.parse(days[0], days[1])
		require.Error(t, err)
	}
}

func TestGaps(t *testing.T) {
	assert.Equal(t, []span{{4, 4}, {7, 10}}, span{1, 10}.gaps([]span{{5, 6}, {1, 3}, {20, 30}}))
	assert.Empty(t, span{1, 3}.gaps([]span{{2, 9}, {0, 1}}))
	assert.Equal(t, []span{{1, 3}}, span{1, 3}.gaps([]span{{4, 9}}))
}

// The time of an event is in seconds, or in milliseconds.
func TestTimeOfAnEvent(t *testing.T) {
	for text, want := range map[string]time.Time{
		`{"event":"e","properties":{"n":7,"time":5,"m":8}}`:    time.Unix(5, 0),
		`{"event":"e","properties":{"time":99999999999}}`:      time.Unix(99999999999, 0),
		`{"event":"e","properties":{"time":100000000000}}`:     time.UnixMilli(100000000000),
		`{"event":"e","properties":{"time":"5","n":6}}`:        {},
		`{"event":"e","time":5,"properties":{}}`:               {},
		`{"event":"e","properties":{"time":1.5},"time":"now"}`: {},
	} {
		assert.True(t, want.Equal(mixpanelTime([]byte(text))), text)
	}
}

// A log that another version has written is not read.
func TestLogsOfOthers(t *testing.T) {
	want := identity{Version: logVersion, Vendor: "mixpanel"}
	for _, text := range []string{`{"version":2,"vendor":"mixpanel"}`, `{"version":0}`, `{`, ``} {
		err := (&folder{}).read([]byte(text), want)
		require.ErrorContains(t, err, "line 1, is not what this version writes", text)
	}
	for want, i := range map[string]identity{
		"mixpanel of project 77 from h": {Vendor: "mixpanel", Project: "77", Host: "h"}, "mixpanel of secret 77 from h": {Vendor: "mixpanel", Project: "secret 77", Host: "h"},
		"mixpanel of  from h in zone UTC": {Vendor: "mixpanel", Host: "h", Zone: "UTC"},
	} {
		assert.Equal(t, want, i.text())
	}
}

// An answer that is late is asked for in smaller pieces, if there are any. A service that cannot be
// connected to is waited for, up to a time.
func TestHowLongAServiceIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := mixpanelJob(t.TempDir(), "2024-01-01", "2024-01-03").Vendor.plan()
		require.NoError(t, err)
		r := &run{export: &e, reached: true}
		now := time.Now()
		for _, isLate := range []bool{false, true} {
			for _, canCut := range []bool{false, true} {
				_, _, err := r.judge(&unreachable{err: os.ErrDeadlineExceeded, late: isLate}, span{}, canCut, &patience{})
				assert.Equal(t, isLate && canCut, errors.As(err, new(*tooLarge)))
			}
		}
		for early, isOver := range map[time.Duration]bool{0: false, 1: true} {
			p := &patience{tries: 1, failing: now.Add(-(outage - firstWait) - early)}
			_, _, err := r.judgeOutage("down", 0, p)
			assert.Equal(t, isOver, err != nil, early)
		}
		_, _, err = r.judgeBusy(busy, &patience{})
		require.NoError(t, err)
		_, _, err = r.judgeBusy(busy+1, &patience{})
		require.ErrorContains(t, err, "asks to wait until")
		_, _, err = r.judgeBusy(busy, &patience{busy: now.Add(-1), tries: 1})
		require.ErrorContains(t, err, "still refuses more")

		broken := fmt.Errorf("%w: cut", errNotWhole)
		p := &patience{}
		for range brokenTries - 1 {
			_, _, err := r.judge(broken, span{}, false, p)
			require.NoError(t, err)
		}
		_, _, err = r.judge(broken, span{}, false, p)
		require.ErrorContains(t, err, fmt.Sprintf("did not arrive as a whole in %d tries", brokenTries))
	})
	for op, isLate := range map[string]bool{"dial": false, "read": true} {
		err := unanswered(&net.OpError{Op: op, Err: os.ErrDeadlineExceeded})
		nobody := new(unreachable)
		require.ErrorAs(t, err, &nobody)
		assert.Equal(t, isLate, nobody.late, op)
	}
}

// An error names the line.
func TestLineOfAnError(t *testing.T) {
	c := lineCheck{needs: []string{`"event"`}}
	require.ErrorContains(t, c.read(t.Context(), strings.NewReader(line1+"{}\n")), "line 2 has no")
	for days, isRefused := range map[int]bool{31: false, 32: true, -1: true, 1: false} {
		_, err := Mixpanel{Host: testHost, Secret: testSecret, Days: days}.plan()
		assert.Equal(t, isRefused, err != nil, days)
	}
}

// A line that is too long to be imported is for the import to reject, if it ends.
func TestLongLines(t *testing.T) {
	long := `{"event":"` + strings.Repeat("x", 3*longestLine) + `"}` + "\n"
	c := lineCheck{needsNewline: true}
	require.NoError(t, c.read(t.Context(), strings.NewReader(line1+long+line2)))
	assert.EqualValues(t, 3, c.count)
	require.ErrorIs(t, (&lineCheck{needsNewline: true}).read(t.Context(), strings.NewReader(long[:len(long)-1])), errNotWhole)
}

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
	_, j, _ := begin(t, mixpanelJob, "2024-01-01", "2024-01-01", answerDays)
	victim := filepath.Join(t.TempDir(), "mine")
	require.NoError(t, os.WriteFile(victim, []byte("mine"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(j.Folder, ownFolder), 0o700))
	require.NoError(t, os.Symlink(victim, filepath.Join(j.Folder, ownFolder, tempName)))
	whole(t, j)
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))

	_, j, _ = begin(t, mixpanelJob, "2024-01-01", "2024-01-01", answerDays)
	require.NoError(t, os.MkdirAll(filepath.Join(j.Folder, ownFolder), 0o700))
	require.NoError(t, os.Symlink(victim, filepath.Join(j.Folder, ownFolder, logName)))
	_, err = j.Run(t.Context())
	requireProblem(t, KindOther, err, "not a regular file")
}

func TestAnExportIsBounded(t *testing.T) {
	_, j, _ := begin(t, mixpanelJob, "2024-01-01", "2024-01-03", answerDays)
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
		require.NoError(t, f.enter(s, 1, 1, at, late.Add(time.Hour)))
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
