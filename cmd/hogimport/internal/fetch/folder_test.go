package fetch

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/durable"
)

// requireNoEvents reads the files of a job as an import would.
func requireNoEvents(t *testing.T, j Job) {
	format := mixpanel.Format(nil)
	if _, isAmplitude := j.Vendor.(Amplitude); isAmplitude {
		format = amplitude.Format(nil)
	}
	report, err := history.Check(context.Background(), history.Files(format, filepath.Join(j.Folder, "[am]*")), &history.Options{ID: "x"})
	require.NoError(t, err)
	require.Zero(t, report.Read)
}

func TestOtherOptionsNeedAnotherFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{handler: answerDays}
		folder, transport := t.TempDir(), s.serve(t)
		run := func(v Vendor) error {
			j := mixpanelJob(folder, "1999-12-01", "1999-12-01")
			j.Vendor, j.transport = v, transport
			_, err := j.Run(t.Context())
			return err
		}
		first := Mixpanel{Host: testHost, ServiceAccount: "me", Secret: testSecret, Project: "77"}
		require.NoError(t, run(first))
		for text, change := range map[string]func(*Mixpanel) Vendor{
			"holds mixpanel of project 77 from localhost, and this command asks for mixpanel of project 78": func(m *Mixpanel) Vendor { m.Project = "78"; return *m },
			"began without --zone, and this command is with --zone UTC":                                     func(m *Mixpanel) Vendor { m.Zone = time.UTC; return *m },
			"from data-eu.mixpanel.com: use the same options as before, or another folder":                  func(m *Mixpanel) Vendor { m.Host, m.Region = "", "eu"; return *m },
			"asks for amplitude": func(*Mixpanel) Vendor { return Amplitude{Host: testHost, APIKey: testKey, SecretKey: testSecret} },
		} {
			m := first
			requireProblem(t, KindOptions, run(change(&m)), text)
		}
		other := first
		other.Secret, other.ServiceAccount = "rotated", "you"
		require.NoError(t, run(other), "a new key of the same project")
		require.Len(t, s.requests(), 1)
	})
}

func TestSomebodyElsesFiles(t *testing.T) {
	s, j, _ := begin(t, mixpanelJob, "2024-01-01", "2024-01-01", answerDays)
	foreign := filepath.Join(j.Folder, "mixpanel-2023-01-01.json.gz")
	require.NoError(t, os.WriteFile(foreign, []byte("mine"), 0o600))
	_, err := j.Run(t.Context())
	requireProblem(t, KindOptions, err, "already has mixpanel-2023-01-01.json.gz, but no record of its origin")
	require.Empty(t, s.requests())

	require.NoError(t, os.Remove(foreign))
	whole(t, j)
	for name, text := range map[string]string{"mixpanel-2024-01-02.json.gz": "mine", "mixpanel-2023-12-31--2024-01-01.json.gz": string(packed(line1))} {
		path := filepath.Join(j.Folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err = j.Run(t.Context())
		requireProblem(t, KindOther, err, name+" does not belong to this download: move it elsewhere")
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(left))
		require.NoError(t, os.Remove(path))
	}
}

// A process that ends between the renaming of a part and the log's entry loses no part and asks for
// no part twice.
func TestPartThatIsNotInTheLog(t *testing.T) {
	s, j, _ := begin(t, mixpanelJob, "2024-01-01", "2024-01-03", answerDays)
	whole(t, j)
	log := filepath.Join(j.Folder, ownFolder, logName)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(string(text), "\n"))
	short := text[:strings.LastIndex(strings.TrimSpace(string(text)), "\n")+10] // torn in the last line
	require.NoError(t, os.WriteFile(log, short, 0o600))
	sum := whole(t, j)
	require.Equal(t, []int{3, 0, 3}, []int{sum.Parts, sum.Fetched, len(s.requests())})
	require.EqualValues(t, 3, sum.Events)

	first, _, _ := strings.Cut(string(text), "\n") // torn after the first line
	require.NoError(t, os.WriteFile(log, []byte(first+"\n"), 0o600))
	sum = whole(t, j)
	require.Equal(t, []int{3, 0, 3}, []int{sum.Parts, sum.Fetched, len(s.requests())})

	j.Folder = t.TempDir() // begun, and torn in the first line
	require.NoError(t, os.Mkdir(filepath.Join(j.Folder, ownFolder), 0o700))
	log = filepath.Join(j.Folder, ownFolder, logName)
	require.NoError(t, os.WriteFile(log, text[:30], 0o600))
	for range 2 {
		whole(t, j)
	}
	require.Len(t, s.requests(), 6)
}

func TestDamagedLog(t *testing.T) {
	s, j, _ := begin(t, mixpanelJob, "2024-01-01", "2024-01-03", answerDays)
	whole(t, j)
	log := filepath.Join(j.Folder, ownFolder, logName)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(log, []byte(strings.Replace(string(text), `"first"`, `first`, 1)), 0o600))
	_, err = j.Run(t.Context())
	requireProblem(t, KindOther, err, "line 2, is not what this version writes")
	require.Len(t, s.requests(), 3)
}

// A file that was changed or removed is downloaded again, by itself.
func TestPartsThatAreNotAsTheyWere(t *testing.T) {
	s, j, shown := begin(t, mixpanelJob, "2024-01-01", "2024-01-04", answerDays)
	whole(t, j)
	require.NoError(t, os.Remove(filepath.Join(j.Folder, "mixpanel-2024-01-02.json.gz")))
	require.NoError(t, os.Truncate(filepath.Join(j.Folder, "mixpanel-2024-01-03.json.gz"), 5))
	sum := whole(t, j)
	require.Equal(t, []int{4, 2, 6}, []int{sum.Parts, sum.Fetched, len(s.requests())})
	require.Len(t, shown.notices, 3, "two files, and how much is there already")
	for _, name := range files(t, j.Folder) {
		require.NotEmpty(t, unpacked(t, filepath.Join(j.Folder, name)))
	}
}

func TestTwoInOneFolder(t *testing.T) {
	var second error
	var j Job
	_, j, _ = begin(t, mixpanelJob, "2024-01-01", "2024-01-01", func(w http.ResponseWriter, r *http.Request) {
		if second == nil {
			_, second = j.Run(context.Background())
		}
		answerDays(w, r)
	})
	whole(t, j)
	requireProblem(t, KindOther, second, "another fetch works in "+j.Folder)
}

// A port that nobody listens on is an error after half a minute, with nothing of the folder lost.
func TestDeadPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown := &watcher{}
		j := mixpanelJob(t.TempDir(), "1999-12-01", "1999-12-01")
		j.Progress = shown
		j.transport = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}}
		begin := time.Now()
		_, err := j.Run(t.Context())
		requireProblem(t, KindOther, err, "Mixpanel cannot be reached: dial: connect: connection refused, for ", "check the network and --export-host")
		require.LessOrEqual(t, time.Since(begin), 30*time.Second)
		require.NotEmpty(t, shown.waits)
	})
}

// disk has room for a number of bytes, and records the operations on it.
type disk struct {
	durable.OS

	room int
	done []string
}

type diskFile struct {
	durable.File

	disk *disk
	name string
}

func (d *disk) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := d.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return diskFile{f, d, filepath.Base(name)}, nil
}

func (d *disk) Rename(from, to string) error {
	d.done = append(d.done, "rename "+filepath.Base(to))
	return d.OS.Rename(from, to)
}

func (d *disk) SyncFolder(name string) error {
	d.done = append(d.done, "sync the folder "+filepath.Base(name))
	return d.OS.SyncFolder(name)
}

func (f diskFile) Write(b []byte) (int, error) {
	f.disk.done = append(f.disk.done, "write "+f.name)
	n, err := f.File.Write(b[:min(len(b), f.disk.room)])
	f.disk.room -= n
	if err == nil && n < len(b) {
		err = &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	return n, err
}

func (f diskFile) Sync() error {
	f.disk.done = append(f.disk.done, "sync "+f.name)
	return f.File.Sync()
}

// A full disk ends a download at any byte. With more room it resumes, and nothing is asked for twice that was whole.
func TestDiskFull(t *testing.T) {
	s, j, _ := begin(t, mixpanelJob, "2024-01-01", "2024-01-03", answerDays)
	whole(t, j)
	want := map[string]string{}
	for _, name := range files(t, j.Folder) {
		want[name] = unpacked(t, filepath.Join(j.Folder, name))
	}
	for room := 0; room < 2000; room += 17 {
		j.Folder, s.asked = t.TempDir(), nil
		j.fs = &disk{room: room}
		sum, err := j.Run(t.Context())
		if err == nil {
			require.Greater(t, room, 500)
			return
		}
		requireProblem(t, KindOther, err, "cannot be written: no space left on device: check the disk")
		require.True(t, errors.Is(err, syscall.ENOSPC))
		for _, name := range files(t, j.Folder) {
			require.Equal(t, want[name], unpacked(t, filepath.Join(j.Folder, name)), name)
		}
		if room%5 == 0 {
			j.fs = nil
			again := whole(t, j)
			require.Len(t, files(t, j.Folder), 3)
			require.EqualValues(t, 3, again.Events)
			require.LessOrEqual(t, sum.Parts, len(s.requests()))
			require.LessOrEqual(t, len(s.requests()), 4)
		}
	}
	t.Fatal("the disk was full each time")
}

// After a loss of power, a file with the name of a part is whole, and the log has only parts that are there.
func TestPartsAreDurable(t *testing.T) {
	_, j, _ := begin(t, mixpanelJob, "2024-01-01", "2024-01-01", answerDays)
	disk := &disk{room: 1 << 20}
	j.fs = disk
	whole(t, j)
	folder := filepath.Base(j.Folder)
	part := slices.Index(disk.done, "write "+tempName)
	require.Positive(t, part)
	require.Equal(t, []string{
		"write part", "sync part", "rename mixpanel-2024-01-01.json.gz", "sync the folder " + folder,
		"write parts.jsonl", "sync parts.jsonl",
	}, slices.Compact(disk.done[part:]))
}
