package history

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/inside"
	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/internal/records"
	"github.com/hogapi/hogapi/internal/survey"
	"github.com/hogapi/hogapi/internal/wire"
)

// Files returns a source that reads files of a format, in the given order; the files of a [path/filepath.Match] pattern
// come in the order of their names, with numbers compared by value. They may be packed with gzip, zstd or zip. A record
// has at most 8 MiB.
//
// The uuid of an event is derived from the vendor's id or from the record's content, never from its place: equal
// records in different files are one event, which [Check] counts as DoubleUUIDs. A damaged or cut file stops the import
// with its name and the line; a bad record becomes a reject. docs/reference.md describes positions, the rule for uuids
// and the errors that stop an import.
func Files(format Format, pathsOrPatterns ...string) Source {
	return FilesFS(lines.Disk{}, format, pathsOrPatterns...)
}

// FilesFS is [Files] for the files of a file system. If its files do not implement [io.ReaderAt], a
// resume reads a file from its start, and zip files cannot be read. If the fs.FileInfo of a file has a method
// Version() string that identifies its content, an import resumes only in the same version of the file. If the
// file system has a method Glob, an error of Glob ends the import; for other file systems, errors while files
// are looked up are ignored, as [fs.Glob] describes.
func FilesFS(fsys fs.FS, format Format, pathsOrPatterns ...string) Source {
	paths, err := lines.Find(fsys, pathsOrPatterns)
	return &formatSource{lineFiles{lines.NewFilesOf(fsys, paths)}, format, err}
}

type formatSource struct {
	lineFiles

	format Format
	unfit  error // not nil if there is nothing to read
}

func (s *formatSource) Name() string { return s.format.nameOf(s.lineFiles.Name()) }

func (s *formatSource) hasGrown(from string) bool {
	files, ok := strings.CutPrefix(from, s.format.nameOf(""))
	return ok && s.HasGrown(files)
}

// files implements fileSource. An import cannot write to the files of another file system.
func (s *formatSource) files() []string {
	if !s.OnDisk() {
		return nil
	}
	return s.lineFiles.files()
}

const longestRecord = 8 << 20

func (s *formatSource) Events(ctx context.Context, after event.Position) iter.Seq2[event.Event, error] {
	if err := s.check(); err != nil {
		return pages.Failed[event.Event](err)
	}
	return func(yield func(event.Event, error) bool) {
		walk := newFormatWalk(ctx, s.format)
		w := lines.Walk{Lead: walk}
		w.Options = lines.Options{Layout: lines.Layout(s.format.Layout), Columns: s.format.Columns, CheckColumns: s.format.CheckColumns, KeepNulls: s.format.KeepNulls, Longest: longestRecord}
		if after.IsZero() && notesOf(ctx).isCheck {
			s.ahead(ctx, w, walk, yield)
			return
		}
		s.walk(ctx, after, w, walk, yield)
	}
}

// Contents identifies the files that are read, for sources that keep the events.
func (s *formatSource) Contents() ([]lines.Content, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return s.lineFiles.Contents()
}

func (s *formatSource) check() error {
	if s.unfit != nil {
		return linesError(s.unfit, event.Position{}, nil)
	}
	return s.format.check()
}

// Record is a record that the function of a [Records] yields.
type Record struct {
	Raw      []byte         // a JSON value, valid until the next record is asked for
	Position event.Position // the name of its file or table, and its number there, counted from 1
	Err      error          // why Raw is not a record, such as text that is not UTF-8: it becomes a reject
}

// Records is [Files] for records that a function reads, for example from binary files. A JSON file with the same
// records gives the same events, uuids and rejects. The name identifies the files or the table, and must be the same in
// every run.
//
// The function read yields the records after a position, including the records of later files. The zero
// position is the start, and the offset 0 is the start of a file. Every run must yield the same records at the
// same positions. An error ends the import; it must be the last value and should name the file. When an import
// resumes, it also reads some records before the position again, to count equal records. The function must
// return when ctx ends.
func Records(name string, format Format, read func(ctx context.Context, after event.Position) iter.Seq2[Record, error]) Source {
	return Func(format.nameOf(name), func(ctx context.Context, after event.Position) iter.Seq2[event.Event, error] {
		return func(yield func(event.Event, error) bool) {
			walk := newFormatWalk(ctx, format)
			if err := walk.records(ctx, read, after, yield); err != nil {
				yield(event.Event{}, err)
			}
		}
	})
}

func (r *Record) line() lines.Line {
	return lines.Record(r.Raw, r.Position.Offset, longestRecord, r.Err)
}

// formatWalk makes the events of records, in their order. The part that depends on earlier records is settle.
type formatWalk struct {
	format  Format
	watch   survey.Watches
	file    *lines.File // the file that equals counts in
	equals  records.Equals
	digests digester
	parts   *inside.Parts // of the record before
}

// digester makes the digests of the records that need one.
type digester struct {
	records.Digester

	isLazy bool // for a check that alone sees the events: origins matter only where there is no uuid
}

func newFormatWalk(ctx context.Context, format Format) *formatWalk {
	return &formatWalk{format: format, watch: survey.WatchesOf(ctx), digests: digester{isLazy: notesOf(ctx).isDirect}}
}

// Begin forgets the records that were read before.
func (w *formatWalk) Begin(f *lines.File) { w.file, w.equals = f, records.Equals{} }

// Passed counts a record before the position where the walk begins.
func (w *formatWalk) Passed(f *lines.File, l lines.Line) (enough bool) {
	_, _ = w.settle(f, w.format.made(f, l, &w.digests)) // the next record has the error
	return w.equals.IsSettled()
}

func (w *formatWalk) events(f *lines.File, l lines.Line) ([]event.Event, error) {
	w.parts.Free()
	m := w.format.made(f, l, &w.digests)
	w.parts = m.parts
	w.see(&m)
	return w.settle(f, m)
}

// see shows a record to the watch of a check.
func (w *formatWalk) see(m *made) {
	if m.isRead && m.failed == nil {
		w.watch.Record(m.record, m.own, m.err)
	}
}

// settle tells equal records apart.
func (w *formatWalk) settle(f *lines.File, m made) ([]event.Event, error) {
	if f != w.file {
		w.Begin(f)
	}
	if m.failed != nil {
		return nil, m.failed
	}
	w.equals.Pass(m.at)
	var origin event.Position
	if m.hasDigest {
		origin.Key = m.digest.String()
		if m.events[0].UUID == uuid.Nil { // else equal records are one event
			origin.Offset = w.equals.Before(m.digest)
		}
	}
	for i := range m.events {
		m.events[i].Origin = origin
	}
	return m.events, nil
}

// made is what a format makes of a record.
type made struct {
	events    []event.Event // or a bad one
	at        time.Time     // of the first one that has a time
	hasDigest bool          // not all are skipped, and the origin matters
	digest    records.Digest
	parts     *inside.Parts // to be freed when the next record is read

	isRead bool // the format has read the record
	record []byte
	own    []event.Event // of the format, with its error
	err    error
	failed error // Convert or ID has panicked
}

// made makes the events of a record, whatever records were before.
func (f Format) made(file *lines.File, l lines.Line, digests *digester) (m made) {
	if f.convert(file, l, &m); m.failed != nil {
		return m
	}
	isSkipped, lacksUUID := true, false
	for i := range m.events {
		ev := &m.events[i]
		from := ev.Inside(inside.Key{})
		from.Record, from.Cut, from.Table, from.IsMapped = l.Text, l.Cut, l.Table, from.Bad == nil
		from.Number, from.Format = wire.Nth(i), f.Name
		if m.at.IsZero() {
			m.at = ev.Timestamp
		}
		if _, skipped := ev.Skipped(); !skipped {
			isSkipped = false
		}
		lacksUUID = lacksUUID || ev.UUID == uuid.Nil
	}
	if isSkipped {
		return m
	}
	m.parts = m.events[0].Inside(inside.Key{}).Parts
	if m.hasDigest = lacksUUID || !digests.isLazy; !m.hasDigest {
		return m
	}
	if view := m.parts.RecordOf(l.Beginning()); view != nil {
		m.digest = digests.OfView(view)
	} else {
		m.digest = digests.Of(l.Beginning())
	}
	return m
}

func (f Format) convert(file *lines.File, l lines.Line, m *made) {
	defer func() {
		if p := recover(); p != nil {
			m.failed = errtext.Panic(p, "the format's function")
			if file != nil {
				m.failed = fmt.Errorf("%s: %w", file.Locate(l.Number), m.failed)
			}
		}
	}()
	err := l.Fault
	switch {
	case l.Long:
		err = fmt.Errorf("the record has %d bytes, and at most %d are read", l.Length, longestRecord)
	case err != nil:
	default:
		m.own, m.err = f.Convert(l.Text)
		m.isRead, m.record, m.events = true, l.Text, m.own
		if err = m.err; err == nil && len(m.own) == 0 {
			err = Skip("left out by the format")
		}
	}
	if err != nil {
		m.events = []event.Event{event.Bad(event.Position{}, l.Text, err)}
	}
	if f.ID == nil || m.events[0].UUID != uuid.Nil || l.Long || l.Fault != nil {
		return
	}
	if id := f.ID(l.Text); id != uuid.Nil {
		m.events = slices.Clone(m.events)
		m.events[0].UUID = id
	}
}

type recordsAfter func(ctx context.Context, after event.Position) iter.Seq2[Record, error]

func (w *formatWalk) records(ctx context.Context, read recordsAfter, after event.Position, yield func(event.Event, error) bool) error {
	if err := w.format.check(); err != nil {
		return err
	}
	if err := w.lead(ctx, read, after); err != nil {
		return err
	}
	file := after.Key
	for r, err := range read(ctx, after) {
		if err != nil {
			return err
		}
		if r.Position.Key != file {
			w.Begin(nil)
			file = r.Position.Key
		}
		made, err := w.events(nil, r.line())
		if err != nil {
			return fmt.Errorf("%s: %w", r.Position, err)
		}
		for _, ev := range made {
			ev.Position = r.Position
			if !yield(ev, nil) {
				return nil
			}
		}
	}
	return nil
}

// firstLead is the number of records before a position that are read again at first.
const firstLead = 1 << 10

// lead reads the records before a position again, as far back as they matter.
func (w *formatWalk) lead(ctx context.Context, read recordsAfter, position event.Position) error {
	for back := int64(firstLead); !position.IsZero(); back *= 8 {
		w.Begin(nil)
		from := event.Position{Key: position.Key, Offset: max(position.Offset-back, 0)}
		for r, err := range read(ctx, from) {
			if err != nil {
				return err
			}
			if r.Position.Key != position.Key || r.Position.Offset > position.Offset {
				break
			}
			w.Passed(nil, r.line())
		}
		if w.equals.IsSettled() || from.Offset == 0 {
			return ctx.Err()
		}
	}
	return nil
}
