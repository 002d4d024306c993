package coverage

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Service shows what there is of a backfill or a retry: its record, where the service keeps records, and
// runs.
type Service[B, R any] interface {
	Record(ctx context.Context, id uuid.UUID) (*B, error)
	Records(ctx context.Context) iter.Seq2[B, error] // the newest first
	RecordFacts(row *B) RecordFacts
	Run(ctx context.Context, id uuid.UUID) (*R, error)
	Runs(ctx context.Context) iter.Seq2[R, error]                          // the newest first
	RunsWithin(ctx context.Context, of Span) iter.Seq2[R, error]           // in the order of their intervals
	Locate(ctx context.Context) (whole Span, running uuid.UUID, err error) // what to cover; a run of it that is not over, or nil
	Fault(err error) Fault
}

// RecordFacts are what counts of a record.
type RecordFacts struct {
	ID             uuid.UUID
	Created, Ended time.Time
	Whole          Span
	DataStart      time.Time // where the data begins; zero: not known
	IsOver         bool
	Runs           int  // how many runs there are, if it is known and they all have ended
	IsEmpty        bool // as far as is known, there was nothing to export, so nothing ran
	Mark           any  // changes when the record does; comparable
}

// Fault is what the error of a read means.
type Fault struct {
	NoEndpoint bool // the server does not have the resource
	NoRecords  bool // as NoEndpoint, of a list of records
	NotFound   bool
	IsServer   bool // the server has failed
}

// ErrFull is the error of a range with more intervals than can be followed.
var ErrFull = errors.New("more intervals than can be followed")

// Follower follows a backfill or a retry, look after look. It is for one goroutine.
type Follower[B, R any] struct {
	Runs   *Runs[R]
	Record *B  // the service's, once it is there
	Open   Gap // of a record that is over and counts more runs than are listed: the part without a run

	service   Service[B, R]
	settle    time.Duration
	joined    []uuid.UUID // runs of others that are not over
	changedAt time.Time
}

// NewFollower follows what began after runs were noted. Where there is no record, it is over once nothing
// has changed for the time of settle.
func NewFollower[B, R any](s Service[B, R], runs *Runs[R], settle time.Duration) *Follower[B, R] {
	return &Follower[B, R]{Runs: runs, service: s, settle: settle, joined: slices.Clone(runs.Running)}
}

// Look reads what is new, and reports whether nothing more is expected.
func (f *Follower[B, R]) Look(ctx context.Context) (done bool, err error) {
	for _, read := range []func(context.Context) error{f.readRecord, f.locate, f.findRecord, f.readJoined, f.readRuns} {
		if err := read(ctx); err != nil {
			return false, err
		}
	}
	if f.Runs.IsFull() {
		return false, ErrFull
	}
	if f.Runs.Changed {
		f.changedAt = time.Now()
	}
	return f.isDone(ctx)
}

// readRecord reads the service's record by its id. The service writes it a moment after the request.
func (f *Follower[B, R]) readRecord(ctx context.Context) error {
	if f.Runs.OfRuns || f.Runs.Backfill == uuid.Nil || f.Record != nil && f.service.RecordFacts(f.Record).IsOver {
		return nil
	}
	row, err := f.service.Record(ctx, f.Runs.Backfill)
	if err == nil {
		f.setRecord(row)
		return nil
	}
	switch fault := f.service.Fault(err); {
	case fault.NoEndpoint:
		f.Runs.OfRuns = true
	case fault.NotFound && f.Record == nil:
	default:
		return err
	}
	return nil
}

// findRecord finds the record where its id is not known: the first one of the range that was not there
// before the request.
func (f *Follower[B, R]) findRecord(ctx context.Context) error {
	if f.Runs.OfRuns || f.Runs.Backfill != uuid.Nil {
		return nil
	}
	var first *B
	for row, err := range f.service.Records(ctx) {
		if err != nil && f.service.Fault(err).NoRecords {
			f.Runs.OfRuns = true
			return nil
		}
		if err != nil {
			return err
		}
		facts := f.service.RecordFacts(&row)
		if facts.Created.Before(f.Runs.Since) {
			break
		}
		if f.Runs.IsRecord(facts.ID, facts.Created, facts.Whole) {
			first = &row
		}
	}
	if first != nil {
		f.setRecord(first)
	}
	return nil
}

func (f *Follower[B, R]) setRecord(row *B) {
	facts := f.service.RecordFacts(row)
	if f.Record == nil {
		f.Runs.Found(facts.ID, facts.Created, facts.Whole)
	}
	f.Runs.Changed = f.Runs.Changed || f.Record == nil || f.service.RecordFacts(f.Record).Mark != facts.Mark
	f.Record = row
}

// locate finds out what is to be covered.
func (f *Follower[B, R]) locate(ctx context.Context) error {
	if f.Runs.Whole != nil {
		return nil
	}
	whole, running, err := f.service.Locate(ctx)
	if err != nil {
		return err
	}
	f.Runs.Whole = &whole
	if running != uuid.Nil {
		f.join(running)
	}
	return nil
}

func (f *Follower[B, R]) join(id uuid.UUID) {
	if !slices.Contains(f.joined, id) {
		f.joined = append(f.joined, id)
	}
}

// readJoined reads the runs that were under way at the request: their intervals get no run of their
// own.
func (f *Follower[B, R]) readJoined(ctx context.Context) error {
	var live []uuid.UUID
	for _, id := range f.joined {
		run, err := f.service.Run(ctx, id)
		if err != nil {
			return err
		}
		if f.Runs.Join(*run) {
			live = append(live, id)
		}
	}
	f.joined = live
	return nil
}

// readRuns reads the runs that are new or not yet over. They begin one after another, so that is
// seldom more than a page.
func (f *Follower[B, R]) readRuns(ctx context.Context) error {
	if f.Runs.Backfill == uuid.Nil && !f.Runs.OfRuns {
		return nil // its runs cannot be recognised yet
	}
	for run, err := range f.service.Runs(ctx) {
		if err != nil {
			return err
		}
		if !f.Runs.Read(run) {
			break
		}
	}
	f.Runs.DoneReading()
	return nil
}

// isDone reports whether nothing more is expected.
func (f *Follower[B, R]) isDone(ctx context.Context) (bool, error) {
	switch {
	case f.Runs.AnyUnderWay():
		return false, nil
	case f.Record == nil:
		return f.Runs.Gap(f.Runs.Whole.Start).Size == 0 || time.Since(f.changedAt) >= f.settle, nil
	case !f.service.RecordFacts(f.Record).IsOver:
		return false, nil
	}
	if err := f.joinGaps(ctx); err != nil || f.Runs.AnyUnderWay() {
		return false, err
	}
	if f.Open = f.open(); f.Open.Size == 0 {
		return true, nil
	}
	f.Runs.ReadAll() // they may be listed late
	return time.Since(f.changedAt) >= f.settle, nil
}

// open is the part of the range whose runs the record counts, although they are not listed. The count alone
// proves nothing: it has a run for a rest that is shorter than an interval.
func (f *Follower[B, R]) open() Gap {
	facts, listed := f.service.RecordFacts(f.Record), len(f.Runs.newest)
	if facts.Runs <= listed || facts.IsEmpty && listed == 0 {
		return Gap{}
	}
	return gapOf(Span{f.dataStart(), f.Runs.Whole.End}, f.Runs.intervals(func(R) bool { return true }))
}

// dataStart is where the runs of a record begin.
func (f *Follower[B, R]) dataStart() time.Time {
	if adjusted := f.service.RecordFacts(f.Record).DataStart; adjusted.After(f.Runs.Whole.Start) {
		return adjusted.UTC()
	}
	return f.Runs.Whole.Start
}

// joinGaps looks for the runs of others that the backfill has joined: those of intervals that got
// no run of its own, and that were under way while it was.
func (f *Follower[B, R]) joinGaps(ctx context.Context) error {
	gap := f.Runs.Gap(f.dataStart())
	if gap.Size == 0 {
		return nil
	}
	if gap.Hull.Start.IsZero() || gap.Hull.End.IsZero() {
		return f.joinAmong(f.service.Runs(ctx), gap.Hull) // the order by interval does not list runs without a start
	}
	within := Span{gap.Hull.Start.Add(-ZonesApart), gap.Hull.End.Add(ZonesApart)}
	err := f.joinAmong(f.service.RunsWithin(ctx, within), gap.Hull)
	if err != nil && f.service.Fault(err).IsServer {
		return f.joinAmong(f.service.Runs(ctx), gap.Hull) // some servers fail in that order at a run without a start
	}
	return err
}

// joinAmong takes the runs of a list that the backfill has joined in an opening of its own runs.
func (f *Follower[B, R]) joinAmong(runs iter.Seq2[R, error], opening Span) error {
	facts := f.service.RecordFacts(f.Record)
	for run, err := range runs {
		if err != nil {
			return err
		}
		if f.Runs.Fill(run, opening, facts.Created, facts.Ended) {
			f.join(f.Runs.facts(run).ID)
		}
	}
	return nil
}
