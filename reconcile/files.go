package reconcile

import (
	"context"
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/extsort"
)

// RowReader reads the rows of files, in any order: the columns that are compared, and no others. [JSONLines] is one, and
// Rows of the module formats/parquet another; write one for other formats.
type RowReader interface {
	// Name names the files for people.
	Name() string
	// Rows gives each row to yield, and ends with its error.
	Rows(ctx context.Context, yield func(FileRow) error) error
}

// FileRow is a row of a file.
type FileRow struct {
	UUID       string // in any form
	Event      string
	DistinctID string
	Timestamp  time.Time // zero: none
	TeamID     int64     // 0: the files have no such column
}

// FileSide is a set of files.
type FileSide struct {
	reader RowReader
	team   int64
	dir    string
	sorter *extsort.Sorter
	days   map[uint32]extsort.Extent
	counts perHour // rows
	bad    perHour // rows that cannot be compared
	failed error   // of reading
}

// perHour has numbers by day and hour.
type perHour map[uint32]*[24]int64

func (p perHour) add(day uint32, hour int) {
	if p[day] == nil {
		p[day] = new([24]int64)
	}
	p[day][hour]++
}

// Files returns files as a side. It reads them once, when it is first asked, and sorts their keys in the folder dir, which
// takes about 100 bytes for each row there and 32 MiB of memory. The folder must be empty or of an earlier Files; call Close
// at the end, which removes them. Rows of another project than teamID are left out, if the files have the column team_id.
func Files(reader RowReader, teamID int64, dir string) *FileSide {
	return &FileSide{reader: reader, team: teamID, dir: filepath.Join(dir, "sorted-keys")}
}

// Name names the files.
func (s *FileSide) Name() string { return s.reader.Name() }

// Close removes the sorted keys.
func (s *FileSide) Close() error {
	if s.sorter == nil {
		return nil
	}
	err := s.sorter.Close()
	s.sorter = nil
	return errors.Join(err, extsort.Remove(s.dir))
}

// An item on disk: the number of the day, the uuid, the hour of the day, the length of the event, the event, the distinct id.
const (
	atUUID   = 4
	atHour   = atUUID + 16
	atLength = atHour + 1
	atEvent  = atLength + 4

	noDay = 1<<32 - 1 // of rows without a time
)

// read reads and sorts the files, once.
func (s *FileSide) read(ctx context.Context) error {
	if s.sorter == nil && s.failed == nil {
		err := s.sort(ctx)
		if ctx.Err() != nil {
			return err
		}
		s.failed = err
	}
	return s.failed
}

func (s *FileSide) sort(ctx context.Context) error {
	const memory = 24 << 20
	if err := extsort.Remove(s.dir); err != nil {
		return err
	}
	sorter, err := extsort.Open(s.dir, extsort.Options{Name: "keys of " + s.reader.Name(), Key: atLength, Memory: memory})
	if err != nil {
		return err
	}
	sorter.Merged = func(int64) {}
	s.counts, s.bad = perHour{}, perHour{}
	err = s.reader.Rows(ctx, func(r FileRow) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return s.add(sorter, r)
	})
	if err == nil {
		err = sorter.Finish(ctx, nil)
	}
	if err != nil {
		return errors.Join(err, sorter.Close(), extsort.Remove(s.dir))
	}
	s.sorter = sorter
	s.days, err = sorter.Extents(binary.BigEndian.Uint32)
	return err
}

func (s *FileSide) add(sorter *extsort.Sorter, r FileRow) error {
	if r.TeamID != 0 && r.TeamID != s.team {
		return nil
	}
	day, hour := uint32(noDay), 0
	if !r.Timestamp.IsZero() {
		day, hour = dayNumber(r.Timestamp), r.Timestamp.UTC().Hour()
	}
	s.counts.add(day, hour)
	id, err := uuid.Parse(r.UUID)
	if err != nil {
		s.bad.add(day, hour)
		return nil //nolint:nilerr // the row is counted as one that cannot be compared
	}
	if err := sorter.Add(func(b []byte) ([]byte, error) {
		b = binary.BigEndian.AppendUint32(b, day)
		b = append(b, id[:]...)
		b = append(b, byte(hour))
		b = binary.BigEndian.AppendUint32(b, uint32(len(r.Event)))
		b = append(b, r.Event...)
		return append(b, r.DistinctID...), nil
	}); err != nil {
		return err
	}
	if sorter.IsFull() {
		return sorter.EndRun(nil)
	}
	return nil
}

// day1970 is the number of the first day of 1970: earlier days have smaller numbers.
const day1970 = 1 << 31

func dayNumber(at time.Time) uint32 {
	const secondsOfADay = 24 * 60 * 60
	return uint32(day1970 + dayOf(at).Unix()/secondsOfADay)
}

func dayStart(day uint32) time.Time { return time.Unix((int64(day)-day1970)*24*60*60, 0).UTC() }

// Count implements [Side].
func (s *FileSide) Count(ctx context.Context, selected Selection) (days []DayCount, err error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	for day, hours := range s.counts {
		c := DayCount{Day: dayStart(day)}
		for hour, n := range hours {
			at := c.Day.Add(time.Duration(hour) * time.Hour)
			if day != noDay && slices.ContainsFunc(selected.Parts, func(p Part) bool { return !at.Before(p.From) && at.Before(p.To) }) {
				c.Rows += n
			}
		}
		if c.Rows > 0 {
			days = append(days, c)
		}
	}
	return days, nil
}

// Digest implements [Side].
func (s *FileSide) Digest(ctx context.Context, selected Selection, by Bucket) ([]Digest, error) {
	sums := map[bucketKey]*Digest{}
	at := func(k bucketKey) *Digest {
		if sums[k] == nil {
			sums[k] = &Digest{At: k.at, Slice: k.slice}
		}
		return sums[k]
	}
	err := s.each(ctx, selected, by.Unit(), func(r Row) {
		k := bucketKey{at: r.Hour}
		if by == BySlice {
			text := digits(r.UUID)
			k.slice = text[len(text)-2:]
		}
		at(k).Add(r.UUID, r.Event, r.DistinctID, r.Rows)
	})
	if err != nil {
		return nil, err
	}
	for day, hours := range s.bad {
		for hour, n := range hours {
			when := dayStart(day).Add(time.Duration(hour) * time.Hour)
			isOf := day != noDay && slices.ContainsFunc(selected.Parts, func(p Part) bool { return p.Suffix == "" && p.Has(when, uuid.Nil) })
			if n > 0 && isOf && by != BySlice {
				d := at(bucketKey{at: when.Truncate(by.Unit())})
				d.Rows, d.Bad = d.Rows+n, d.Bad+n
			}
		}
	}
	all := make([]Digest, 0, len(sums))
	for _, d := range sums {
		all = append(all, *d)
	}
	return all, nil
}

// List implements [Side].
func (s *FileSide) List(ctx context.Context, selected Selection, limit int) (rows []Row, err error) {
	unit := time.Hour
	if selected.Doubled {
		unit = 24 * time.Hour
	}
	isWanted := selected.wants()
	err = s.each(ctx, selected, unit, func(r Row) {
		if len(rows) < limit && isWanted(r.UUID) && (!selected.Doubled || r.Rows > 1) {
			rows = append(rows, r)
		}
	})
	if err == nil && len(rows) >= limit {
		return nil, ErrTooMuch
	}
	return rows, err
}

// each gives each selected key of a unit of time, with its rows.
func (s *FileSide) each(ctx context.Context, selected Selection, unit time.Duration, yield func(Row)) error {
	if err := s.read(ctx); err != nil {
		return err
	}
	for _, day := range s.daysOf(selected) {
		var group []Row // of one uuid
		flush := func() {
			for _, r := range perUnit(group, unit) {
				r.Hour = r.Hour.Truncate(unit)
				yield(r)
			}
			group = group[:0]
		}
		err := s.sorter.ReadExtent(s.days[day], func(item []byte) bool {
			r := rowOfItem(item, day)
			if len(group) > 0 && group[0].UUID != r.UUID {
				flush()
			}
			if r.Hour.IsZero() || slices.ContainsFunc(selected.Parts, func(p Part) bool { return p.Has(r.Hour, r.UUID) }) {
				group = append(group, r)
			}
			return ctx.Err() == nil
		})
		flush()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// daysOf are the days of a selection that the files have, and that of the rows without a time if uuids are looked up.
func (s *FileSide) daysOf(selected Selection) (days []uint32) {
	for day := range s.days {
		at := dayStart(day)
		isOf := day == noDay && len(selected.UUIDs) > 0 || day != noDay && slices.ContainsFunc(selected.Parts, func(p Part) bool {
			return at.Before(p.To) && p.From.Before(at.Add(24*time.Hour))
		})
		if isOf {
			days = append(days, day)
		}
	}
	slices.Sort(days)
	return days
}

func rowOfItem(item []byte, day uint32) (r Row) {
	copy(r.UUID[:], item[atUUID:])
	if day != noDay {
		r.Hour = dayStart(day).Add(time.Duration(item[atHour]) * time.Hour)
	}
	n := atEvent + int(binary.BigEndian.Uint32(item[atLength:]))
	r.Event, r.DistinctID, r.Rows = string(item[atEvent:n]), string(item[n:]), 1
	return r
}
