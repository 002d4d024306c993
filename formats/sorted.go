package formats

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/extsort"
	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// SortedSource is a source that yields its events oldest first: see [Sorted].
type SortedSource struct {
	// OnProgress, if not nil, is called from time to time while the events are sorted, by one goroutine.
	OnProgress func(SortProgress)

	source history.Source
	dir    string
	memory int // bytes that are sorted in memory at once
}

// SortProgress is the progress of a sort.
type SortProgress struct {
	Read   int64 // events read from the source
	Merged int64 // of them, written in their final order by the merge at hand; 0 while reading
}

// Sorted returns a source of the events of another source, oldest first; events of equal times keep their
// order. Use it if files are not in the order of their events, such as Amplitude's files, which are by the hour
// of the upload: merges of persons act in the order of arrival.
//
// It reads the whole source before it yields the first event, and keeps the events with their records in the
// folder dir, which it makes. They are compressed, and take about half the size of the unpacked files, and all of it
// while it merges; up to twice that if hardly any text repeats. If it is stopped while it sorts, it continues where the
// last of its files ended. Once sorted, the events are not sorted again: [history.Check] and every run of an
// import use the same folder. One import at a time uses a folder; remove it after the import. Every file in the
// folder has checksums: a damaged one stops the import, and the error names the files to remove. The next run
// then sorts again, and continues at the position of the import.
//
// The files of the source must not change. Their names, sizes, first 64 KiB and last 4 KiB are compared with
// the files that were sorted: if they differ, the error is a *[hogapi.InputError]. Sort changed files into
// another folder. If the source does not read files, only its name is compared.
//
// Events have the same uuids as without sorting. A record without an event follows the event that was read before it.
func Sorted(source history.Source, dir string) *SortedSource {
	return &SortedSource{source: source, dir: dir, memory: sortMemory}
}

// Name implements history.Source.
func (s *SortedSource) Name() string { return "sorted " + s.source.Name() }

// Unwrap returns the source that is sorted.
func (s *SortedSource) Unwrap() history.Source { return s.source }

// sortMemory is how many bytes are sorted in memory at once.
const sortMemory = 12 << 20

// sortedKey begins the key of each position of a sorted source. A digest of the files
// follows, and one of the sorted events: a position is one among these.
const sortedKey = "sorted events "

// Events implements history.Source.
func (s *SortedSource) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return yielding(func(yield func(hogapi.Event) bool) error { return s.events(ctx, after, yield) })
}

func (s *SortedSource) events(ctx context.Context, after hogapi.Position, yield func(hogapi.Event) bool) (err error) {
	files, err := contentsOf(s.source)
	if err != nil {
		return fmt.Errorf("sorting in %s: %w", s.dir, err)
	}
	of, err := json.Marshal(files)
	if err != nil {
		return err
	}
	key := sortedKey + digestOf(of) + " "
	if !after.IsZero() && !strings.HasPrefix(after.Key, key) {
		return fmt.Errorf("there is no position %s in these files as they are sorted now: bring back the files and the folder, "+
			"or import with another checkpoint from the start: events keep their uuids", after)
	}
	sorter, err := extsort.Open(s.dir, extsort.Options{Name: s.source.Name(), Of: of, Key: timeKey, Memory: s.memory, Packs: true})
	if err != nil {
		return fmt.Errorf("sorting in %s: %w", s.dir, err)
	}
	defer func() { err = errors.Join(err, sorter.Close()) }()
	if err := files.check(s.dir, sorter.State().Of); err != nil {
		return err
	}
	if !sorter.State().Done {
		if err := s.sort(ctx, sorter); err != nil {
			return err
		}
	}
	if key += sorter.Digest(); !after.IsZero() && after.Key != key {
		return fmt.Errorf("the folder %s does not have what was sorted for the position %s, and sorting again made other events: bring it back, "+
			"or import with another checkpoint from the start: events keep their uuids", s.dir, after)
	}
	damaged := error(nil)
	err = sorter.Read(after.Offset, func(item []byte, end int64) bool {
		if damaged = context.Cause(ctx); damaged != nil {
			return false
		}
		var ev hogapi.Event
		if damaged = wire.ReadEvent(item[timeKey:], &ev); damaged != nil {
			return false
		}
		ev.Origin, ev.Position = cmp.Or(ev.Origin, ev.Position), hogapi.Position{Key: key, Offset: end}
		return yield(ev)
	})
	if err != nil {
		err = fmt.Errorf("sorting in %s: %w", s.dir, err)
	}
	return errors.Join(err, damaged)
}

func (s *SortedSource) sort(ctx context.Context, sorter *extsort.Sorter) error {
	var after hogapi.Position
	if text := sorter.State().After; text != nil {
		if err := json.Unmarshal(text, &after); err != nil {
			return fmt.Errorf("sorting in %s: %w", s.dir, err)
		}
	}
	read := sorter.State().Read
	sorter.Merged = func(items int64) { s.progress(SortProgress{read, items}) }
	if !sorter.State().Ended {
		last := after
		var at time.Time
		for ev, err := range history.Concat(s.source).Events(ctx, after) { // which numbers the events of each record
			if err != nil {
				return err
			}
			if ev.Position != last && sorter.IsFull() {
				if err := endRun(sorter, last); err != nil {
					return err
				}
			}
			last = ev.Position
			if !ev.Timestamp.IsZero() {
				at = ev.Timestamp
			}
			if err := add(sorter, ev, at); err != nil {
				return err
			}
			if read++; read%progressStep == 0 {
				s.progress(SortProgress{Read: read})
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := endRun(sorter, last); err != nil {
			return err
		}
	}
	if err := sorter.Finish(ctx, sorter.State().After); err != nil {
		return fmt.Errorf("sorting in %s: %w", s.dir, err)
	}
	s.progress(SortProgress{read, read})
	return nil
}

const progressStep = 1 << 16

func (s *SortedSource) progress(p SortProgress) {
	if s.OnProgress != nil {
		s.OnProgress(p)
	}
}

func endRun(sorter *extsort.Sorter, after hogapi.Position) error {
	text, err := json.Marshal(after)
	if err != nil {
		return err
	}
	return sorter.EndRun(text)
}

// add adds an event, or why it cannot be kept. at is its time, or that of the event before.
func add(sorter *extsort.Sorter, ev hogapi.Event, at time.Time) error {
	err := sorter.Add(func(room []byte) ([]byte, error) { return wire.AppendEvent(appendTime(room, at), &ev) })
	if err == nil {
		return nil
	}
	bad := event.Bad(ev.Position, nil, err)
	bad.UUID, bad.Origin = ev.UUID, ev.Origin
	return sorter.Add(func(room []byte) ([]byte, error) { return wire.AppendEvent(appendTime(room, at), &bad) })
}

// timeKey is the length of a time as a key.
const timeKey = 8 + 4

// appendTime appends a time so that the order of the bytes is that of the times.
func appendTime(b []byte, at time.Time) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(at.Unix())^1<<63)
	return binary.BigEndian.AppendUint32(b, uint32(at.Nanosecond()))
}

type contents []lines.Content

// contentsOf looks at the files that a source reads, and the sources that it wraps.
func contentsOf(source history.Source) (all contents, err error) {
	switch s := source.(type) {
	case interface {
		Contents() ([]lines.Content, error)
	}:
		return s.Contents()
	case interface{ Unwrap() history.Source }:
		return contentsOf(s.Unwrap())
	case interface{ Unwrap() []history.Source }:
		for _, inner := range s.Unwrap() {
			more, err := contentsOf(inner)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
	}
	return all, nil
}

// digest is short, and differs where the contents do.
func digestOf(contents []byte) string {
	sum := sha256.Sum256(contents)
	return hex.EncodeToString(sum[:6])
}

// check refuses a folder that is made of something else.
func (c contents) check(dir string, of json.RawMessage) error {
	var was contents
	if err := json.Unmarshal(of, &was); err != nil {
		return err
	}
	if slices.Equal(c, was) {
		return nil
	}
	name := fmt.Sprintf("%d files", len(c))
	if len(c) == len(was) {
		for i := range c {
			if c[i] != was[i] {
				name = c[i].Name
				break
			}
		}
	}
	return &hogapi.InputError{Op: ops.Import, Field: "the files of formats.Sorted", Value: name, Want: fmt.Sprintf(
		"what the folder %s was sorted from: it is another file of that name, or was changed since. Sort into another folder, "+
			"or remove this one, and import with another checkpoint from the start: events keep their uuids", dir)}
}
