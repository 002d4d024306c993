package lines

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/ops"
)

// Files are files of records in reading order, identified by their names.
type Files struct {
	fsys         fs.FS
	paths, names []string

	opened  sync.Map // by name, the file as last opened
	drained sync.Map // paths of pipes that a trial has read
}

// NewFiles identifies files by their base names. It opens no file.
func NewFiles(paths []string) *Files {
	s := &Files{fsys: Disk{}, paths: slices.Clone(paths)}
	for _, path := range paths {
		s.names = append(s.names, filepath.Base(path))
	}
	return s
}

// NewFilesOf identifies files by their paths below their common folder. It opens no file.
func NewFilesOf(fsys fs.FS, paths []string) *Files {
	return &Files{fsys: fsys, paths: slices.Clone(paths), names: below(paths)}
}

// Paths returns the paths as given.
func (s *Files) Paths() []string { return s.paths }

// Name lists the files; for very many, the first, the last and a digest.
func (s *Files) Name() string { return nameOf(s.names) }

func nameOf(names []string) string {
	const most = 8
	list := strings.Join(names, ",")
	if len(names) <= most {
		return list
	}
	digest := sha256.Sum256([]byte(list))
	return fmt.Sprintf("%s … %s (%d files, %x)", names[0], names[len(names)-1], len(names), digest[:6])
}

// HasGrown reports whether from is the name of the first files only: others were added after them.
func (s *Files) HasGrown(from string) bool {
	for n := 1; n < len(s.names); n++ {
		if nameOf(s.names[:n]) == from {
			return true
		}
	}
	return false
}

// Fingerprint returns the fingerprint of a file up to the end of a record. If the name now leads to
// a different file than the one read, the fingerprint matches no file.
func (s *Files) Fingerprint(name string, offset int64) Fingerprint {
	i, _ := s.index(name)
	if i < 0 {
		return Fingerprint{}
	}
	known, isKnown := s.opened.Load(s.names[i])
	now, err := fs.Stat(s.fsys, s.paths[i])
	if isKnown && (err != nil || !isSame(known.(fs.FileInfo), now)) {
		return Replaced
	}
	return fingerprintAt(s.fsys, s.paths[i], offset)
}

// isSame compares the files of two infos. Files outside the machine's own disk are compared by
// version, if they have one.
func isSame(a, b fs.FileInfo) bool {
	return versionOf(a) == versionOf(b) && (os.SameFile(a, b) || !os.SameFile(a, a))
}

// index finds the file with a name, and the name of the member if it is a zip file.
func (s *Files) index(name string) (i int, member string) {
	if i = slices.Index(s.names, name); i >= 0 {
		return i, ""
	}
	for i, archive := range s.names {
		if member, ok := strings.CutPrefix(name, archive+inArchive); ok {
			return i, member
		}
	}
	return -1, ""
}

// Copies hears of a file that begins with the same 64 KiB as an earlier one.
type Copies interface{ Copied(name, earlier string) }

// Walk has settings for reading files. The fingerprint and the lead are for the first file.
type Walk struct {
	Options

	Lead    Lead                   // nil: records before the position do not matter
	IsTrial bool                   // the files will be read again, which pipes cannot be
	Copies  Copies                 // may be nil
	Take    func(*File, Line) bool // receives each record; false ends the walk; a function, since it is the body of a loop
}

var (
	// ErrNoPosition is returned for a position outside the files.
	ErrNoPosition = errors.New("no such position in these files")
	errDrained    = errors.New("a pipe can be read only once, and Check has read it: import it without Check, or write it to a file first")
)

// unfit is the error for a list of files that cannot be read together.
func unfit(value, want string) error {
	return &ops.InputError{Field: "paths", Value: value, Want: want}
}

// Read reads the lines after an offset of the named file, and all files after it; an empty name is
// the start. It omits blank lines. Errors name the file, except for an ended context, ErrOtherFile
// and ErrReplaced.
func (s *Files) Read(ctx context.Context, name string, offset int64, w Walk) error {
	first, member, err := s.begin(ctx, name, offset)
	if err != nil {
		return err
	}
	begins := map[string]string{}
	for i := first; i < len(s.paths); i++ {
		more, err := s.readFile(ctx, i, position{member, offset}, w, begins)
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx) // not the error of a closed file
		case errors.Is(err, ErrOtherFile), errors.Is(err, ErrReplaced):
			return err
		case err != nil:
			return fmt.Errorf("%s: %w", mask.Shown(s.names[i]), err)
		case !more:
			return nil
		}
		member, offset, w.Known = "", 0, Fingerprint{}
	}
	return nil
}

// begin finds the file to resume in, and checks that all remaining files exist and differ.
func (s *Files) begin(ctx context.Context, name string, offset int64) (first int, member string, err error) {
	if len(s.paths) == 0 {
		return 0, "", unfit("", "at least one file")
	}
	seen := make(map[string]bool, len(s.names))
	for _, name := range s.names {
		if !utf8.ValidString(name) {
			return 0, "", unfit(name, "files with base names in UTF-8, since positions contain them")
		}
		if seen[name] {
			return 0, "", unfit(name, "files with different base names, since positions contain them")
		}
		seen[name] = true
	}
	if name != "" || offset != 0 {
		if first, member = s.index(name); first < 0 || offset < 0 {
			return 0, "", ErrNoPosition
		}
	}
	var missing []error
	type twin struct{ size, modified int64 } // the same for all names of a file
	found := map[twin][]int{}
	infos := make([]fs.FileInfo, len(s.paths))
	for i, path := range s.paths {
		if ctx.Err() != nil {
			return 0, "", context.Cause(ctx)
		}
		info, err := fs.Stat(s.fsys, path)
		if err != nil {
			if i >= first {
				missing = append(missing, err)
			}
			continue
		}
		infos[i] = info
		is := twin{info.Size(), info.ModTime().UnixNano()}
		for _, other := range found[is] {
			if os.SameFile(info, infos[other]) {
				return 0, "", unfit(s.names[i], fmt.Sprintf("each file once: this is the same file as %q, and its events would get other uuids", s.names[other]))
			}
		}
		found[is] = append(found[is], i)
	}
	return first, member, errors.Join(missing...)
}

// position is an offset in a file; in a zip file, in a member.
type position struct {
	member string
	offset int64
}

// readFile reads the records of one file after a position. begins maps the beginnings of earlier files
// to their names.
func (s *Files) readFile(ctx context.Context, i int, after position, w Walk, begins map[string]string) (more bool, err error) {
	path, name := s.paths[i], s.names[i]
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if _, isDrained := s.drained.Load(path); isDrained {
		return false, errDrained
	}
	f, err := open(ctx, s.fsys, path, name, w.Options)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if f.disk.at != nil || w.Known.Version != "" {
		if err := w.Known.check(f.disk.at, f.Info(), after.offset); err != nil {
			return false, err
		}
	}
	s.opened.Store(name, f.Info())
	if w.IsTrial && !f.disk.begun.Mode().IsRegular() {
		s.drained.Store(path, true)
	}
	if f.archive != nil {
		return f.readMembers(ctx, after, w, begins)
	}
	if after.member != "" {
		return false, ErrNoPosition
	}
	return f.read(ctx, after.offset, w, begins)
}

func (f *File) read(ctx context.Context, offset int64, w Walk, begins map[string]string) (more bool, err error) {
	if w.Copies != nil {
		beginning := f.beginning()
		if earlier, again := begins[beginning]; again {
			w.Copies.Copied(f.name, earlier)
		}
		if beginning != "" {
			begins[beginning] = f.name
		}
	}
	if err := f.skipTo(offset, w.Lead); err != nil {
		return false, err
	}
	for {
		l, err := f.Next()
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, err
		case ctx.Err() != nil:
			return false, ctx.Err()
		case isBlank(l.Text) && !l.Long && l.Fault == nil:
			continue
		case f.layout == Lines && l.Open && !l.Long && isUnfinished(l.Text):
			return false, fmt.Errorf("%s, the last one, is not finished: if the file is still being written, run again when it is complete; "+
				"if it was cut off, complete or remove that line", f.nth(l.Number))
		}
		if err := f.checkAborted(&l); err != nil {
			return false, err
		}
		if !w.Take(f, l) {
			return false, nil
		}
	}
}

func isBlank(text []byte) bool {
	return len(text) == 0 || text[0] <= ' ' && len(bytes.TrimLeft(text, " \t\r")) == 0
}

func isUnfinished(text []byte) bool {
	var value json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(&value), io.ErrUnexpectedEOF)
}

// Find returns the paths, with each pattern replaced by its matches in the order of their names. A
// path that is both a pattern and the name of a file counts as that file.
func Find(fsys fs.FS, pathsOrPatterns []string) (paths []string, err error) {
	glob := func(pattern string) ([]string, error) { return fs.Glob(fsys, pattern) }
	if _, isDisk := fsys.(Disk); isDisk {
		glob = filepath.Glob
	}
	for _, pattern := range pathsOrPatterns {
		if _, err := fs.Stat(fsys, pattern); err == nil || !strings.ContainsAny(pattern, `*?[`) {
			paths = append(paths, pattern)
			continue
		}
		found, err := glob(pattern)
		if err != nil && !errors.Is(err, path.ErrBadPattern) && !errors.Is(err, filepath.ErrBadPattern) {
			return nil, err
		}
		if err != nil {
			return nil, unfit(pattern, "a path, or a pattern as path/filepath.Match describes it")
		}
		if len(found) == 0 {
			return nil, unfit(pattern, "a pattern that finds at least one file")
		}
		slices.SortFunc(found, ByNumber)
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		return nil, unfit(fmt.Sprint(pathsOrPatterns), "at least one file")
	}
	return paths, nil
}

// OnDisk reports whether the files are on this machine.
func (s *Files) OnDisk() bool {
	_, isDisk := s.fsys.(Disk)
	return isDisk
}

// below strips the common parent folders from paths.
func below(paths []string) []string {
	if len(paths) == 0 {
		return nil
	}
	names := make([]string, len(paths))
	for i, name := range paths {
		names[i] = filepath.ToSlash(filepath.Clean(name))
	}
	folder := names[0][:strings.LastIndexByte(names[0], '/')+1]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, folder) {
			folder = folder[:strings.LastIndexByte(folder[:len(folder)-1], '/')+1]
		}
	}
	for i := range names {
		names[i] = names[i][len(folder):]
	}
	return names
}

// Names returns the names that positions use for the files.
func (s *Files) Names() []string { return s.names }
