package coverage

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Service reads the record of a backfill or retry, if the service keeps records, and runs.
type Service[B, R any] struct {
	Record     func(ctx context.Context, id uuid.UUID) (*B, error)
	Records    func(ctx context.Context) iter.Seq2[B, error] // newest first
	Facts      func(row *B) RecordFacts
	Run        func(ctx context.Context, id uuid.UUID) (*R, error)
	Runs       func(ctx context.Context) iter.Seq2[R, error]                        // newest first
	RunsWithin func(ctx context.Context, of Span) iter.Seq2[R, error]               // in order of their intervals
	Locate     func(ctx context.Context) (whole Span, running uuid.UUID, err error) // the span to cover; a run of it under way, or nil
	Fault      func(err error) Fault
}

// RecordFacts are the relevant facts of a record.
type RecordFacts struct {
	ID             uuid.UUID
	Created, Ended time.Time
	Whole          Span
	DataStart      time.Time // start of the data; zero: not known
	IsOver         bool
	Runs           int  // number of runs, if known and all have ended
	IsEmpty        bool // apparently there was nothing to export, so nothing ran
	Mark           any  // changes with the record; comparable
}

// Fault classifies the error of a read.
type Fault struct {
	NoEndpoint bool // the server lacks the resource
	NoRecords  bool // the server lacks lists of records
	NotFound   bool
	IsServer   bool // the server failed
}

// ErrFull says that a range has more intervals than a Follower can follow.
var ErrFull = errors.New("more intervals than can be followed")

// Follower polls a backfill or a retry. Only one goroutine may use it.
type Follower[B, R any] struct {
	Runs   *Runs[R]
	Record *B  // the service's record, once found
	Open   Gap // of a record that is over and counts more runs than are listed: the part without a run

	service   Service[B, R]
	settle    time.Duration
	joined    []uuid.UUID // runs of others that are not over
	changedAt time.Time
}

// NewFollower follows the work since the baseline of runs. Without a record, it is over when
// nothing has changed during settle.
func NewFollower[B, R any](s Service[B, R], runs *Runs[R], settle time.Duration) *Follower[B, R] {
	return &Follower[B, R]{Runs: runs, service: s, settle: settle, joined: slices.Clone(runs.Running)}
}

// Look reads changes, and reports whether no more are expected.
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

// readRecord reads the service's record by id. The service writes it shortly after the request.
func (f *Follower[B, R]) readRecord(ctx context.Context) error {
	if f.Runs.OfRuns || f.Runs.Backfill == uuid.Nil || f.Record != nil && f.service.Facts(f.Record).IsOver {
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

// findRecord finds the record if its id is not known: the first new one for the range.
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
		facts := f.service.Facts(&row)
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
	facts := f.service.Facts(row)
	if f.Record == nil {
		f.Runs.Found(facts.ID, facts.Created, facts.Whole)
	}
	f.Runs.Changed = f.Runs.Changed || f.Record == nil || f.service.Facts(f.Record).Mark != facts.Mark
	f.Record = row
}

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

// readJoined reads the runs that were under way at the request: their intervals get no further run.
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

// readRuns reads runs that are new or not over. Runs begin one after another, so this seldom takes
// more than a page.
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

// isDone reports whether no more changes are expected.
func (f *Follower[B, R]) isDone(ctx context.Context) (bool, error) {
	switch {
	case f.Runs.AnyUnderWay():
		return false, nil
	case f.Record == nil:
		return f.Runs.Gap(f.Runs.Whole.Start).Size == 0 || time.Since(f.changedAt) >= f.settle, nil
	case !f.service.Facts(f.Record).IsOver:
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

// open returns the part of the range with runs that the record counts but the service does not
// list. The count alone proves nothing: it includes a run for a rest shorter than an interval.
func (f *Follower[B, R]) open() Gap {
	facts, listed := f.service.Facts(f.Record), len(f.Runs.newest)
	if facts.Runs <= listed || facts.IsEmpty && listed == 0 {
		return Gap{}
	}
	return gapOf(Span{f.dataStart(), f.Runs.Whole.End}, f.Runs.intervals(func(R) bool { return true }))
}

func (f *Follower[B, R]) dataStart() time.Time {
	if adjusted := f.service.Facts(f.Record).DataStart; adjusted.After(f.Runs.Whole.Start) {
		return adjusted.UTC()
	}
	return f.Runs.Whole.Start
}

// joinGaps finds runs of others that the backfill joined: their intervals got no run of its own,
// and they were under way at the same time.
func (f *Follower[B, R]) joinGaps(ctx context.Context) error {
	gap := f.Runs.Gap(f.dataStart())
	if gap.Size == 0 {
		return nil
	}
	if gap.Hull.Start.IsZero() || gap.Hull.End.IsZero() {
		return f.joinAmong(f.service.Runs(ctx), gap.Hull) // the order by interval omits runs without a start
	}
	within := Span{gap.Hull.Start.Add(-ZonesApart), gap.Hull.End.Add(ZonesApart)}
	err := f.joinAmong(f.service.RunsWithin(ctx, within), gap.Hull)
	if err != nil && f.service.Fault(err).IsServer {
		return f.joinAmong(f.service.Runs(ctx), gap.Hull) // some servers fail in that order if a run has no start
	}
	return err
}

// joinAmong takes the runs in a list that the backfill joined, in a gap between its own runs.
func (f *Follower[B, R]) joinAmong(runs iter.Seq2[R, error], opening Span) error {
	facts := f.service.Facts(f.Record)
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
