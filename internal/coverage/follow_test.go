package coverage

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/watch"
)

var errGone, errNoResource, errBroken = errors.New("gone"), errors.New("no such resource"), errors.New("broken")

type aRun struct {
	id      byte
	hour    int
	of      *uuid.UUID
	created time.Time
	over    bool
}

type aRecord struct {
	created time.Time
	over    bool
}

var (
	recordID  = uuid.UUID{15: 200}
	threeHour = Span{hour(0), hour(3)}
)

func hour(n int) time.Time { return time.Date(1999, 1, 1, n, 0, 0, 0, time.UTC) }

type shown struct {
	requested time.Time
	records   []aRecord
	runs      []aRun
	noRecords bool
	isEmpty   bool // says the record
	dataStart time.Time
	export    *ExportFacts // nil: deleted
	byTime    error        // error of a list in the order of intervals
}

func (s *shown) Record(context.Context, uuid.UUID) (*aRecord, error) {
	switch {
	case s.noRecords:
		return nil, errNoResource
	case len(s.records) == 0:
		return nil, errGone
	}
	return new(s.records[0]), nil
}

func (s *shown) Records(context.Context) iter.Seq2[aRecord, error] {
	return func(yield func(aRecord, error) bool) {
		if s.noRecords {
			yield(aRecord{}, errNoResource)
			return
		}
		for _, r := range s.records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (s *shown) RecordFacts(r *aRecord) RecordFacts {
	return RecordFacts{ID: recordID, Created: r.created, Ended: r.created.Add(time.Hour), Whole: threeHour, IsOver: r.over, Mark: r.over, IsEmpty: s.isEmpty, DataStart: s.dataStart}
}

func (s *shown) Run(_ context.Context, id uuid.UUID) (*aRun, error) {
	for _, r := range s.runs {
		if r.id == id[15] {
			return &r, nil
		}
	}
	return nil, errGone
}

func (s *shown) Runs(context.Context) iter.Seq2[aRun, error] {
	return func(yield func(aRun, error) bool) {
		for _, r := range slices.Backward(s.runs) {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (s *shown) RunsWithin(ctx context.Context, _ Span) iter.Seq2[aRun, error] {
	if s.byTime != nil {
		return func(yield func(aRun, error) bool) { yield(aRun{}, s.byTime) }
	}
	return s.Runs(ctx)
}

func (s *shown) Locate(context.Context) (Span, uuid.UUID, error) { return threeHour, uuid.Nil, nil }

func (s *shown) Export(context.Context) (ExportFacts, error) {
	if s.export == nil {
		return ExportFacts{}, errGone
	}
	return *s.export, nil
}

func (s *shown) Fault(err error) Fault {
	missing := errors.Is(err, errNoResource)
	return Fault{NoEndpoint: missing, NoRecords: missing, NotFound: missing || errors.Is(err, errGone), IsServer: errors.Is(err, errBroken)}
}

func (s *shown) add(hour int, of *uuid.UUID, over bool) {
	s.runs = append(s.runs, aRun{byte(len(s.runs) + 1), hour, of, time.Now(), over})
}

func (s *shown) endAll() {
	for i := range s.runs {
		s.runs[i].over = true
	}
}

func (s *shown) follow(id uuid.UUID) *Follower[aRecord, aRun] {
	facts := func(r aRun) Facts {
		return Facts{
			ID: uuid.UUID{15: r.id}, Backfill: r.of, Interval: Span{hour(r.hour), hour(r.hour + 1)}, Created: r.created, Ended: r.created,
			Mark: watch.NewMark(map[bool]string{true: "over"}[r.over]), Complete: true,
		}
	}
	runs := NewRuns(Baseline{Since: s.requested}, s.requested, facts, func(r aRun) bool { return r.over })
	runs.Backfill = id
	return NewFollower(Service[aRecord, aRun]{s.Record, s.Records, s.RecordFacts, s.Run, s.Runs, s.RunsWithin, s.Locate, s.Export, s.Fault}, runs, time.Minute)
}

func look(t *testing.T, f *Follower[aRecord, aRun]) (done bool) {
	t.Helper()
	done, err := f.Poll(t.Context())
	require.NoError(t, err)
	return done
}

// A record says when it is over, with or without a known id; its runs name it.
func TestFollowARecord(t *testing.T) {
	t.Parallel()
	for _, id := range []uuid.UUID{recordID, {}} {
		synctest.Test(t, func(t *testing.T) {
			s := &shown{requested: time.Now()}
			f := s.follow(id)
			assert.False(t, look(t, f), "the record is not written yet")
			s.records = []aRecord{{created: time.Now()}}
			s.add(0, &recordID, true)
			s.add(1, new(uuid.UUID{1}), false) // of another backfill
			assert.False(t, look(t, f))
			assert.Len(t, f.Runs.Sorted(), 1)
			assert.NotNil(t, f.Record)
			s.add(1, &recordID, true)
			s.add(2, &recordID, true)
			assert.False(t, look(t, f), "the record is not over")
			f.Runs.Changed = false
			s.records[0].over = true
			assert.True(t, look(t, f))
			assert.True(t, f.Runs.Changed, "the record")
			assert.Len(t, f.Runs.Sorted(), 3)
		})
	}
}

// Without records, every new run of the range counts, and the backfill is over when nothing
// changes.
func TestFollowRuns(t *testing.T) {
	t.Parallel()
	for _, id := range []uuid.UUID{recordID, {}} {
		synctest.Test(t, func(t *testing.T) {
			s := &shown{requested: time.Now(), noRecords: true}
			f := s.follow(id)
			assert.False(t, look(t, f))
			assert.True(t, f.Runs.OfRuns)
			s.add(0, nil, true)
			s.add(1, nil, false)
			assert.False(t, look(t, f))
			s.endAll()
			assert.False(t, look(t, f), "an hour is open, and may still begin")
			f.Runs.Changed = false
			time.Sleep(time.Minute)
			assert.True(t, look(t, f))
			s.add(2, nil, true)
			assert.True(t, look(t, f))
			assert.InDelta(t, 1, f.Progress(), 0)
		})
	}
}

// An interval with a run under way gets no other run: that run counts and is waited for.
func TestFollowJoinsTheRunsOfOthers(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{nil, errBroken} {
		synctest.Test(t, func(t *testing.T) {
			s := &shown{requested: time.Now(), byTime: failure}
			s.add(1, nil, false)
			s.records = []aRecord{{created: time.Now(), over: true}}
			s.add(0, &recordID, true)
			s.add(2, &recordID, true)
			f := s.follow(recordID)
			assert.False(t, look(t, f))
			assert.Len(t, f.Runs.Sorted(), 3)
			s.endAll()
			assert.True(t, look(t, f))
		})
	}
	s := &shown{requested: time.Now(), byTime: errGone, records: []aRecord{{created: time.Now(), over: true}}}
	_, err := s.follow(recordID).Poll(t.Context())
	require.ErrorIs(t, err, errGone)
}

// If a part of the range has no run, the follower looks for runs until nothing changes.
func TestFollowRunsThatAreListedLate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		listed  int
		isEmpty bool
		open    []Part
	}{
		"all": {3, false, nil}, "one less": {2, false, []Part{{Span{hour(2), hour(3)}, WhyNoRun}}}, "none": {0, false, []Part{{threeHour, WhyNoRun}}},
		"none, and it held nothing": {0, true, []Part{{threeHour, WhyLeftOut}}}, "one, and the others held nothing": {1, true, []Part{{Span{hour(1), hour(3)}, WhyNoRun}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &shown{requested: time.Now(), isEmpty: tt.isEmpty, records: []aRecord{{created: hour(12), over: true}}}
			time.Sleep(2 * ClocksApart) // the others are created later
			for i := range tt.listed {
				s.add(i, &recordID, true)
			}
			f := s.follow(recordID)
			assert.Equal(t, tt.open == nil || tt.open[0].Why != WhyNoRun, look(t, f), name)
			f.Runs.Changed = false
			time.Sleep(time.Minute)
			assert.True(t, look(t, f), name)
			assert.Equal(t, tt.open, f.Open, name)
			s.add(2, &recordID, true)
			s.runs[len(s.runs)-1].created = s.requested
			look(t, f)
			assert.Equal(t, tt.listed >= 2, len(f.Open) == 0, "%s: one that was created before the others", name)
		})
	}
}

// The look that reads the export judges by it.
func TestFollowReadsTheExport(t *testing.T) {
	t.Parallel()
	for export, why := range map[*ExportFacts]Why{nil: WhyLeftOut, {}: WhyEmpty} {
		s := &shown{requested: time.Now(), dataStart: hour(1), export: export, records: []aRecord{{created: hour(12)}}}
		f := s.follow(recordID)
		assert.False(t, look(t, f))
		assert.Equal(t, []Part{{Span{hour(0), hour(1)}, why}, {Span{hour(1), hour(3)}, WhyNoRun}}, f.Open)
	}
}

func TestFollowIsFull(t *testing.T) {
	t.Parallel()
	s := &shown{requested: time.Now(), noRecords: true}
	f := s.follow(recordID)
	f.Runs.Most = 1
	for i := range 3 {
		s.add(i, nil, true)
	}
	_, err := f.Poll(t.Context())
	require.ErrorIs(t, err, ErrFull)
}
