package coverage

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/narrow"
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
	Export     func(ctx context.Context) (ExportFacts, error)                       // as it is now
	Fault      func(err error) Fault
}

// ExportFacts are the relevant facts of an export.
type ExportFacts struct {
	Schedule  Schedule
	ByArrival bool // the service chooses the rows of a young backfill by arrival
}

// RecordFacts are the relevant facts of a record.
type RecordFacts struct {
	ID             uuid.UUID
	Created, Ended time.Time
	Whole          Span
	DataStart      time.Time // start of the data; zero: not known
	IsOver         bool
	IsStopped      bool // over, and further runs never began
	IsEmpty        bool // there was nothing to export by timestamp, so nothing ran
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
	Record *B     // the service's record, once found
	Open   []Part // what is not exported, see Asked.Cover

	service   Service[B, R]
	settle    time.Duration
	export    *ExportFacts
	joined    []uuid.UUID // runs of others that are not over
	changedAt time.Time
}

// NewFollower follows the work since the baseline of runs. Without a record, it is over when
// nothing has changed during settle.
func NewFollower[B, R any](s Service[B, R], runs *Runs[R], settle time.Duration) *Follower[B, R] {
	return &Follower[B, R]{Runs: runs, service: s, settle: settle, joined: slices.Clone(runs.Running)}
}

// Poll reads changes, and reports whether no more are expected.
func (f *Follower[B, R]) Poll(ctx context.Context) (done bool, err error) {
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
	if err := f.cover(ctx); err != nil {
		return false, err
	}
	return f.isDone(ctx)
}

// Progress returns the fraction of the range for which nothing more has to run.
func (f *Follower[B, R]) Progress() float64 { return f.asked().Progress(f.Open) }

// cover finds the parts that are not exported. It reads the export once, if its model or its schedule decides.
func (f *Follower[B, R]) cover(ctx context.Context) error {
	f.Open = f.asked().Cover(f.Runs.ran())
	decides := slices.ContainsFunc(f.Open, func(p Part) bool { return p.Why != WhyRunning && p.Why != WhyIncomplete })
	isSettled := f.Record != nil && (f.service.Facts(f.Record).IsOver || f.isNarrowed())
	if f.export != nil || !decides || !isSettled && !f.Runs.OpenEnd && !f.Runs.CatchUp {
		return nil
	}
	export, err := f.service.Export(ctx)
	if err != nil && !f.service.Fault(err).NotFound {
		return err
	}
	if err != nil {
		export = ExportFacts{ByArrival: true} // deleted since
	}
	f.export = &export
	f.Open = f.asked().Cover(f.Runs.ran())
	return nil
}

// asked returns the range to cover, as far as it is known.
func (f *Follower[B, R]) asked() Asked {
	a := Asked{Span: f.whole(), OfPause: f.Runs.OpenEnd, DataStart: f.dataStart(), ByArrival: true}
	if f.export != nil {
		a.Schedule, a.ByArrival = f.export.Schedule, f.export.ByArrival
	}
	if f.Record == nil {
		return a
	}
	created := f.service.Facts(f.Record).Created
	a.ByArrival = a.ByArrival && !f.chosenFrom().Before(created.Add(-longestByArrival))
	return a
}

// whole returns the range to cover. Without an end, that is the last bound of the schedule before the backfill was over,
// or until now.
func (f *Follower[B, R]) whole() Span {
	x := *f.Runs.Whole
	if !f.Runs.CatchUp || f.export == nil || f.Record == nil {
		return x
	}
	until := time.Now().UTC()
	if facts := f.service.Facts(f.Record); facts.IsOver {
		until = facts.Ended.UTC()
	}
	x.End = narrow.Later(x.Start, until)
	if whole, ok := f.export.Schedule.Whole(x); ok {
		x.End = whole.End
	}
	return x
}

// longestByArrival is the greatest age up to which a server chooses the rows of a backfill by arrival.
const longestByArrival = 8 * day

// chosenFrom returns the start of the backfill that decides how its rows are chosen.
func (f *Follower[B, R]) chosenFrom() time.Time {
	if start := f.service.Facts(f.Record).DataStart; !start.IsZero() {
		return start
	}
	return f.Runs.Whole.Start
}

// isNarrowed reports whether the record says that the data begins later than the range.
func (f *Follower[B, R]) isNarrowed() bool { return f.dataStart().After(f.Runs.Whole.Start) }

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
		return !f.hasOpen() || time.Since(f.changedAt) >= f.settle, nil
	case !f.service.Facts(f.Record).IsOver:
		return false, nil
	}
	if err := f.joinGaps(ctx); err != nil || f.Runs.AnyUnderWay() {
		return false, err
	}
	if err := f.cover(ctx); err != nil || !f.hasOpen() || f.service.Facts(f.Record).IsStopped {
		return err == nil, err
	}
	f.Runs.ReadAll() // they may be listed late
	return time.Since(f.changedAt) >= f.settle, nil
}

// hasOpen reports whether a part of the range has no run, and may still get one.
func (f *Follower[B, R]) hasOpen() bool {
	return slices.ContainsFunc(f.Open, func(p Part) bool { return p.Why == WhyNoRun })
}

// dataStart returns where the data begins as the record says, and the end of the range if nothing ran.
func (f *Follower[B, R]) dataStart() time.Time {
	if f.Record == nil {
		return time.Time{}
	}
	facts := f.service.Facts(f.Record)
	if facts.IsEmpty && facts.IsOver && len(f.Runs.newest) == 0 {
		return f.whole().End
	}
	return facts.DataStart.UTC()
}

// joinGaps finds runs of others that the backfill joined: their intervals got no run of its own,
// and they were under way at the same time.
func (f *Follower[B, R]) joinGaps(ctx context.Context) error {
	whole := f.whole()
	whole.Start = narrow.Later(whole.Start, f.service.Facts(f.Record).DataStart.UTC())
	gaps := Without([]Span{whole}, f.Runs.own())
	if whole.End.IsZero() {
		if slices.Contains(f.Runs.own(), whole) {
			return nil
		}
		gaps = []Span{whole}
	}
	if len(gaps) == 0 {
		return nil
	}
	hull := Span{gaps[0].Start, gaps[len(gaps)-1].End}
	if hull.Start.IsZero() || hull.End.IsZero() {
		return f.joinAmong(f.service.Runs(ctx), hull) // the order by interval omits runs without a start
	}
	within := Span{hull.Start.Add(-longestInterval), hull.End.Add(ZonesApart)} // a joined run may begin earlier
	err := f.joinAmong(f.service.RunsWithin(ctx, within), hull)
	if err != nil && f.service.Fault(err).IsServer {
		return f.joinAmong(f.service.Runs(ctx), hull) // some servers fail in that order if a run has no start
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
