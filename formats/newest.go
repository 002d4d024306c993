package formats

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/extsort"
	"github.com/hogapi/hogapi/internal/wire"
)

// SkipOlderState is the reason why [Newest] skips an event: the source has a newer one of the person.
const SkipOlderState = "a newer state follows"

// Newest returns a source of the newest event of each person of another source, for events that each have the whole
// state of a person, as from amplitude.PeopleFormat. The other events are skipped, with the reason [SkipOlderState]. Of
// events at the same time, the later one in the source counts.
//
// Persons with an id of a user, in Event.UserIDs, come before visitors: the properties of a visitor who becomes a user
// by a link do not precede the user's.
//
// The source is read once before the first event, and again if an import resumes. Events are sorted on disk, in the
// folder for temporary files, and take about the size of the unpacked files there.
// The next run removes the files that a crash has left. The source must be the same when an import resumes.
func Newest(source history.Source) history.Source { return newest{source} }

type newest struct{ source history.Source }

func (n newest) Name() string { return "newest of " + n.source.Name() }

// Unwrap returns the source that is read.
func (n newest) Unwrap() history.Source { return n.source }

// newestKey begins the key of each position. A digest of the sorted events follows; the offset is that of the event's
// end among them.
const newestKey = "newest events "

// newestKeySize is the length of a key: a class, a digest of the person, and the time, later ones first.
const newestKeySize = 1 + idKey + timeKey + 8

// The classes of events, in their order.
const (
	classUser = iota
	classVisitor
	classNone // skipped and rejected records
)

func (n newest) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return yielding(func(yield func(hogapi.Event) bool) error { return n.events(ctx, after, yield) })
}

func (n newest) events(ctx context.Context, after hogapi.Position, yield func(hogapi.Event) bool) (err error) {
	if !after.IsZero() && !strings.HasPrefix(after.Key, newestKey) {
		return n.lost(after)
	}
	dir, err := newTempFolder("hogapi-newest-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.remove()) }()
	sorter, err := n.sorted(ctx, dir)
	if err != nil {
		return err
	}
	key := newestKey + sorter.Digest()
	if !after.IsZero() && after.Key != key {
		return n.lost(after)
	}
	var last [1 + idKey]byte
	isFirst, damaged := true, error(nil)
	err = sorter.Read(0, func(item []byte, end int64) bool {
		isOlder := !isFirst && item[0] != classNone && last == [1 + idKey]byte(item)
		isFirst, last = false, [1 + idKey]byte(item)
		if end <= after.Offset {
			return true
		}
		if damaged = context.Cause(ctx); damaged != nil {
			return false
		}
		at := hogapi.Position{Key: key, Offset: end}
		if isOlder {
			return yield(event.Skip(at, SkipOlderState))
		}
		var ev hogapi.Event
		if damaged = wire.ReadEvent(item[newestKeySize:], &ev); damaged != nil {
			return false
		}
		ev.Origin, ev.Position = cmp.Or(ev.Origin, ev.Position), at
		return yield(ev)
	})
	return errors.Join(err, damaged)
}

func (n newest) lost(after hogapi.Position) error {
	return fmt.Errorf("there is no position %s among the newest events of this source as it is now: bring back its files, "+
		"or import with another checkpoint from the start: events keep their uuids", after)
}

// sorted sorts the events of the source by their persons.
func (n newest) sorted(ctx context.Context, dir *tempFolder) (*extsort.Sorter, error) {
	s, err := dir.sorter("persons", newestKeySize, sortMemory)
	if err != nil {
		return nil, err
	}
	number := int64(0)
	for ev, err := range history.Concat(n.source).Events(ctx, hogapi.Position{}) { // which numbers the events of each record
		if err == nil && s.IsFull() {
			err = s.EndRun(nil)
		}
		if err == nil {
			number++
			err = s.Add(func(room []byte) ([]byte, error) { return wire.AppendEvent(appendPerson(room, &ev, number), &ev) })
		}
		if err != nil {
			return nil, err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return s, s.Finish(ctx, nil)
}

// appendPerson appends the key of an event: number is that of the event in its source.
func appendPerson(b []byte, ev *hogapi.Event, number int64) []byte {
	if ev.DistinctID == "" || ev.Timestamp.IsZero() {
		b = append(append(b, classNone), make([]byte, idKey+timeKey)...)
		return binary.BigEndian.AppendUint64(b, uint64(number))
	}
	class := byte(classVisitor)
	if len(ev.UserIDs) > 0 {
		class = classUser
	}
	person := digest(ev.DistinctID)
	b = append(append(b, class), person[:]...)
	from := len(b)
	b = appendTime(b, ev.Timestamp)
	for i := from; i < len(b); i++ {
		b[i] = ^b[i] // later times come first
	}
	return binary.BigEndian.AppendUint64(b, math.MaxUint64-uint64(number))
}
