package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/errtext"
)

// identity identifies the export in a folder. It is the first line of the folder's log.
type identity struct {
	Version int    `json:"version"`
	Vendor  string `json:"vendor"`
	Host    string `json:"host"`
	Project string `json:"project"`
	Zone    string `json:"zone,omitempty"`
}

const logVersion = 1

// fingerprint identifies a project that only its key names. Keys are long and random, so nobody can find a key
// by its fingerprint.
func fingerprint(key string) string {
	sum := sha256.Sum256([]byte("hogimport fetch\n" + key))
	return hex.EncodeToString(sum[:6])
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// The files in a folder that belong to this package and not to the export.
const (
	ownFolder = ".hogimport-fetch"
	logName   = "parts.jsonl" // the identity, then a Part a line; a later line of the same file counts
	lockName  = "lock"
	tempName  = "part"
)

type folder struct {
	fs     durable.FS
	path   string
	export *export
	lock   durable.Lock
	log    *durable.Log
	parts  map[span]Part
}

// openFolder opens the folder of a download, or makes it. It refuses a folder with other content.
func openFolder(ctx context.Context, fsys durable.FS, path string, e *export) (f *folder, err error) {
	f = &folder{fs: fsys, path: path, export: e, parts: map[span]Part{}}
	if err := fsys.MakeFolder(f.own("")); err != nil {
		return nil, f.problem("be made", err)
	}
	if f.lock, err = fsys.Lock(f.own(lockName)); err != nil {
		if errors.Is(err, durable.ErrLocked) {
			return nil, &Problem{Text: "another fetch works in " + path, Todo: "wait for it, or use another folder", Cause: err}
		}
		return nil, f.problem("be locked", err)
	}
	if err := f.begin(ctx); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *folder) own(name string) string { return filepath.Join(f.path, ownFolder, name) }

func (f *folder) problem(what string, err error) error {
	return &Problem{Text: fmt.Sprintf("%s cannot %s: %v", f.path, what, errtext.Pathless(err)), Cause: err,
		Todo: "check the disk, and run the same command again: finished parts are kept"}
}

// begin reads the log, and writes its first line.
func (f *folder) begin(ctx context.Context) error {
	if err := f.fs.Inspect(f.own(logName)); err != nil {
		return f.problem("be written", err)
	}
	log, err := durable.OpenLog(f.fs, f.own(logName))
	if err != nil {
		return f.problem("be written", err)
	}
	f.log = log
	text, err := durable.Read(f.fs, f.own(logName))
	if err != nil {
		return f.problem("be read", err)
	}
	text = withoutTorn(text)
	want := f.export.identity
	want.Version = logVersion
	strays, err := f.strays()
	switch {
	case err != nil:
		return err
	case len(text) > 0:
		if err := f.read(text, want); err != nil {
			return err
		}
		return f.adopt(ctx)
	case len(strays) > 0:
		return optionsProblem(fmt.Sprintf("%s already has %s, but no record of its origin", f.path, strays[0]), "use another folder")
	}
	return f.append(want)
}

// withoutTorn leaves out lines that a crash has cut off: the part of such a line is entered again.
func withoutTorn(text []byte) (whole []byte) {
	for line := range bytes.Lines(text) {
		var value json.RawMessage
		if err := json.NewDecoder(bytes.NewReader(bytes.TrimSpace(line))).Decode(&value); !errors.Is(err, io.ErrUnexpectedEOF) {
			whole = append(whole, line...)
		}
	}
	return whole
}

func (f *folder) append(line any) error {
	text, err := json.Marshal(line)
	if err == nil {
		err = f.log.Append(text)
	}
	if err == nil {
		err = f.log.Sync()
	}
	if err != nil {
		return f.problem("be written", err)
	}
	return nil
}

func (f *folder) read(text []byte, want identity) error {
	first, rest, _ := bytes.Cut(text, []byte{'\n'})
	var have identity
	if err := json.Unmarshal(first, &have); err != nil || have.Version != logVersion {
		return f.unreadable(1)
	}
	if have != want {
		return optionsProblem(have.difference(want, f.path), "use the same options as before, or another folder")
	}
	number := 1
	for line := range bytes.Lines(rest) {
		number++
		var p Part
		if err := json.Unmarshal(line, &p); err != nil {
			return f.unreadable(number)
		}
		s, err := f.export.parse(p.First, p.Last)
		if err != nil {
			return f.unreadable(number)
		}
		f.parts[s] = p
	}
	return nil
}

func (f *folder) unreadable(line int) error {
	return &Problem{Text: fmt.Sprintf("%s, line %d, is not what this version writes", f.own(logName), line),
		Todo: "use another folder, or the version that began this one"}
}

func (i identity) text() string {
	text := fmt.Sprintf("%s of %s from %s", i.Vendor, i.Project, i.Host)
	if i.Project != "" && strings.Trim(i.Project, "0123456789") == "" {
		text = fmt.Sprintf("%s of project %s from %s", i.Vendor, i.Project, i.Host)
	}
	if i.Zone != "" {
		text += " in zone " + i.Zone
	}
	return text
}

// difference says how the requested export differs from the export in a folder: if only the zone differs, it
// names the zone alone.
func (i identity) difference(want identity, path string) string {
	zoned := i
	zoned.Zone = want.Zone
	if zoned != want {
		return fmt.Sprintf("%s holds %s, and this command asks for %s", path, i.text(), want.text())
	}
	zone := func(name string) string {
		if name == "" {
			return "without --zone"
		}
		return "with --zone " + name
	}
	return fmt.Sprintf("the download in %s began %s, and this command is %s", path, zone(i.Zone), zone(want.Zone))
}

// strays returns the files with names of parts that the log does not have.
func (f *folder) strays() (names []string, err error) {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return nil, f.problem("be read", err)
	}
	for _, entry := range entries {
		if s, isPart := f.export.spanOf(entry.Name()); isPart {
			if _, isKnown := f.parts[s]; !isKnown {
				names = append(names, entry.Name())
			}
		}
	}
	return names, nil
}

// adopt enters into the log the part that an earlier process has put in its place just before it ended.
func (f *folder) adopt(ctx context.Context) error {
	names, err := f.strays()
	if err != nil {
		return err
	}
	for _, name := range names {
		s, _ := f.export.spanOf(name)
		foreign := &Problem{Text: filepath.Join(f.path, name) + " does not belong to this download",
			Todo: "move it elsewhere, and run the same command again"}
		for held := range f.parts {
			if held.overlaps(s) {
				return foreign
			}
		}
		path := filepath.Join(f.path, name)
		events, err := f.export.checkFile(ctx, path, s)
		if ctx.Err() != nil {
			return &Problem{Kind: KindStopped, Text: "stopped", Todo: "run the same command again", Cause: context.Cause(ctx)}
		}
		if err != nil {
			foreign.Cause = err
			return foreign
		}
		info, err := os.Stat(path)
		if err != nil {
			return f.problem("be read", err)
		}
		asked := info.ModTime() // which keep has set
		if err := f.enter(s, info.Size(), events, asked, asked); err != nil {
			return err
		}
	}
	return nil
}

// enter adds a part that is in its place to the log. Events that arrived after it was requested may not be in it.
func (f *folder) enter(s span, size, events int64, asked, at time.Time) error {
	p := Part{
		First: f.export.text(s.first), Last: f.export.text(s.last), File: f.export.fileName(s),
		Bytes: size, Events: events, At: at.UTC().Truncate(time.Second), Early: asked.Before(f.export.late(s.last)),
	}
	if err := f.append(p); err != nil {
		return err
	}
	f.parts[s] = p
	return nil
}

// isThere reports whether the file of a part is unchanged since it was put in its place.
func (f *folder) isThere(p Part) bool {
	info, err := os.Stat(filepath.Join(f.path, p.File))
	return err == nil && info.Size() == p.Bytes
}

// temp makes an empty file for the next part. It removes an existing file of the name instead of opening it,
// since that could be a link.
func (f *folder) temp() (durable.File, error) {
	if err := f.fs.Remove(f.own(tempName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return f.fs.OpenFile(f.own(tempName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// keep reads the temporary file to its end, and gives it its name if it is whole. Until the log has it, the time of its
// last change says when it was requested.
func (f *folder) keep(ctx context.Context, s span, file durable.File, asked time.Time) error {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return f.problem("be written", err)
	}
	events, err := f.export.checkFile(ctx, f.own(tempName), s)
	switch {
	case errors.Is(err, errNotWhole), ctx.Err() != nil:
		return err
	case err != nil:
		return f.problem("be read", err)
	}
	if err = errors.Join(os.Chtimes(f.own(tempName), asked, asked), file.Sync(), file.Close()); err == nil { // closed, since not all systems rename open files
		err = f.fs.Rename(f.own(tempName), filepath.Join(f.path, f.export.fileName(s)))
	}
	if err == nil {
		err = f.fs.SyncFolder(f.path)
	}
	if err != nil {
		return f.problem("be written", err)
	}
	return f.enter(s, size, events, asked, time.Now())
}

func (f *folder) close() error {
	var err error
	if f.log != nil {
		err = f.log.Close()
	}
	return errors.Join(err, f.lock.Close())
}
