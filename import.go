package hogapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/hogapi/hogapi/internal/durable"
)

// Source gives the events of an import in a fixed order, oldest first.
type Source interface {
	// Name identifies the source in the checkpoint: the same for every run of an import.
	Name() string
	// Events gives the events behind a position, the zero one being the start. Every run gives the same events at the same
	// positions in the same order. An error is fatal and comes last. An event's maps and raw bytes are read before the next is asked for.
	Events(ctx context.Context, after Position) iter.Seq2[Event, error]
}

// SourceFunc makes a source of a function.
func SourceFunc(name string, events func(ctx context.Context, after Position) iter.Seq2[Event, error]) Source {
	return funcSource{name, events}
}

type funcSource struct {
	name   string
	events func(context.Context, Position) iter.Seq2[Event, error]
}

func (s funcSource) Name() string { return s.name }

func (s funcSource) Events(ctx context.Context, after Position) iter.Seq2[Event, error] {
	return s.events(ctx, after)
}

// ImportOptions set up an import.
type ImportOptions struct {
	// ID names the import, for ever: uuids are derived from it, so the same ID with the same source sends the same events.
	// Other data needs another ID, also where the files have the same names: their events would share uuids.
	ID string
	// Checkpoint makes the import resumable. Without one it starts at the beginning each time.
	Checkpoint Checkpointer
	// Rejects takes the events that the gate or the service refuses. Without it the first one stops the import.
	Rejects RejectHandler
	// Rate is the most events per second: default 1,000, as the service's own importer; or Unpaced.
	Rate int
	// Total is how many events the source has, where known, for progress.
	Total int64
	// OnProgress is called twice a second and once at the end, one call at a time. A panic in it is caught and logged.
	OnProgress func(Stats)
	Gate       GateOptions
	Delivery   DeliveryOptions
}

// Import sends the events of a source as historical events: each acknowledged at least once and identical every time it is sent, none
// skipped, all accounted for. Killed at any moment, the next call with the same ID and checkpoint goes on where it was.
// The receipt is valid beside an error too, and covers all runs.
//
// Every event gets the properties $lib, $lib_version, $geoip_disable (true: the service derives no place from $ip), $import_job_id
// and distinct_id, unless it has its own of that name.
//
// Errors: *InputError for options or a checkpoint that do not fit, *StopError for what ended the import, *UnsettledError around it
// where events were under way; all but the first can be resumed. When ctx ends, its cause is in the error.
func (c *Client) Import(ctx context.Context, source Source, o ImportOptions) (Receipt, error) {
	run, before, err := c.openImport(ctx, source, o)
	if err != nil {
		return before, err
	}
	readErr := run.read(ctx)
	return run.close(ctx, readErr)
}

// importRun is one run of an import.
type importRun struct {
	source  Source
	options ImportOptions
	capture *Capture
	encoder *encoder
	state   savedState  // what is saved, except for place and receipt
	skip    uint64      // events at the place that are settled already
	begins  *beginnings // nil for a source that has no files
	journal rejectJournal
	ticker  *progressTicker
}

// rejectJournal is a reject handler that can be taken back to an earlier length, so that a crash leaves no record twice.
type rejectJournal interface {
	RejectHandler
	name() string                       // which a checkpoint can hold; other files have others
	open(by string, length int64) error // keeps so many bytes, or as durable.OpenLog does, and what is not by this import
	ours() RejectHandler                // of the import that has opened it
	sync() (length int64, err error)
	close() error
}

// openImport makes everything ready for a run, and says what the runs before it have done.
func (c *Client) openImport(ctx context.Context, source Source, o ImportOptions) (run *importRun, before Receipt, err error) {
	before = Receipt{ID: o.ID}
	if err := o.check(source); err != nil {
		return nil, before, err
	}
	run = &importRun{source: source, options: o, state: savedState{Version: stateVersion, Import: o.ID, Source: source.Name()}}
	run.journal, _ = o.Rejects.(rejectJournal)
	resumed, err := run.openState(ctx)
	if resumed != nil {
		before = resumed.books.receipt()
	}
	if err != nil {
		return nil, before, err
	}
	var saver stateSaver
	if o.Checkpoint != nil {
		saver = run
	}
	rejects := o.Rejects
	if run.journal != nil {
		rejects = run.journal.ours()
	}
	settings := CaptureOptions{ID: o.ID, Rate: o.Rate, Rejects: rejects, Gate: o.Gate, Delivery: o.Delivery}
	run.capture, err = c.newCapture(settings, resumed, saver) //nolint:contextcheck // what is under way may end after ctx: see close
	if err != nil {
		return nil, before, errors.Join(err, run.closeFiles())
	}
	run.capture.books.total.Source = source.Name()
	run.capture.stats.Total = o.Total
	if run.begins == nil {
		run.skip = run.capture.settled.Count
	}
	run.encoder, _ = run.capture.encoders.Get().(*encoder)
	run.encoder.trust(source)
	if saver != nil {
		if err := run.saveStart(ctx); err != nil {
			return nil, before, err
		}
	}
	run.ticker = startProgress(run.capture, o.OnProgress)
	return run, before, nil
}

// saveStart saves where this run begins, before anything is sent: a checkpoint that cannot be written shows at once, and it is
// known which part of the reject file was there before.
func (r *importRun) saveStart(ctx context.Context) error {
	var err error
	orElse(func() {
		err = r.capture.core.guard(func() error { return r.save(ctx, r.capture.settled, r.capture.receipt()) })
	}, func(err error) { _ = r.endAtStart(ctx, err) })
	if err == nil {
		return nil
	}
	return r.endAtStart(ctx, err)
}

// endAtStart ends a run that has sent nothing.
func (r *importRun) endAtStart(ctx context.Context, err error) error {
	err = &StopError{Reason: StopCheckpoint, Err: err}
	r.capture.stop(err)
	_, _ = r.capture.Close(ctx) // it holds nothing
	return errors.Join(err, r.closeFiles())
}

func (o ImportOptions) check(source Source) error {
	switch {
	case o.ID == "":
		return &InputError{Op: OpImport, Field: "ImportOptions.ID", Want: `a name that stays the same for every run, such as "mixpanel-2024"`}
	case !canBeRead(source):
		return &InputError{Op: OpImport, Field: "source", Want: "a source with a function to read, not nil"}
	case !utf8.ValidString(source.Name()):
		return &InputError{Op: OpImport, Field: "source.Name", Value: source.Name(), Want: "a name of UTF-8, since a checkpoint holds no other text"}
	case o.Total < 0:
		return &InputError{Op: OpImport, Field: "ImportOptions.Total", Value: strconv.FormatInt(o.Total, 10), Want: "0 or more"}
	}
	if err := checkImportID("ImportOptions.ID", o.ID); err != nil {
		return err
	}
	return o.checkFiles(source)
}

func canBeRead(source Source) bool {
	switch s := source.(type) {
	case funcSource:
		return s.events != nil
	case pagedSource:
		return s.read != nil
	}
	return source != nil
}

// checkImportID looks whether an id can be sent as it is, with every event.
func checkImportID(field, id string) error {
	if !isVisibleASCII(id) || len(id) > maxNameLength {
		return &InputError{Op: OpImport, Field: field, Value: id, Want: "at most 200 visible ASCII characters without blanks"}
	}
	return nil
}

// beginFiles makes sure that the checkpoint's file is the one that it began with, and not just one of its name.
func (r *importRun) beginFiles(resumed *savedState) error {
	r.begins = beginningsOf(r.source, resumed)
	return r.begins.look()
}

// openState opens checkpoint and reject file and brings them together. What the checkpoint holds is returned beside an error too.
func (r *importRun) openState(ctx context.Context) (*savedState, error) {
	var resumed *savedState
	if r.options.Checkpoint != nil {
		raw, err := r.options.Checkpoint.Open(ctx)
		if err != nil {
			return nil, fileError(StopCheckpoint, "the checkpoint cannot be opened", err)
		}
		if resumed, err = readState(raw, r.options.ID, r.source.Name()); err == nil {
			err = r.beginFiles(resumed)
		}
		if err != nil {
			return resumed, errors.Join(err, r.options.Checkpoint.Close())
		}
	}
	if resumed != nil {
		r.state.Rejects, r.state.RejectFile = resumed.Rejects, resumed.RejectFile // a run without the reject file does not forget it
	}
	if r.journal == nil {
		return resumed, nil
	}
	if err := r.openRejects(); err != nil {
		r.journal = nil
		return resumed, errors.Join(fileError(StopHandler, "the reject file cannot be opened", err), r.closeFiles())
	}
	return resumed, nil
}

// openRejects takes the reject file back to the length that the checkpoint knows. That of another file says nothing about this one, which has
// to be new or empty then.
func (r *importRun) openRejects() error {
	begun, named, by := r.state.RejectFile, r.journal.name(), rejectsBy(r.options.ID, r.source.Name())
	r.state.RejectFile = named
	switch {
	case r.state.Rejects == nil:
		return r.journal.open(by, durable.Whole) // no run has noted a length yet: what is there is not ours to remove
	case begun == "" || begun == named:
		return r.journal.open(by, *r.state.Rejects)
	}
	err := r.journal.open(by, durable.Empty)
	if errors.Is(err, durable.ErrNotEmpty) {
		return otherRejectFile(begun, named)
	}
	return err
}

func otherRejectFile(begun, named string) error {
	return &InputError{Op: OpImport, Field: "ImportOptions.Rejects", Value: named,
		Want: fmt.Sprintf("the reject file that the import has used so far, %q, or one that is new or empty; this one holds something", begun)}
}

func (r *importRun) closeFiles() error {
	var errs []error
	if r.journal != nil {
		errs = append(errs, fileError(StopHandler, "the reject file cannot be closed", r.journal.close()))
	}
	if r.options.Checkpoint != nil {
		errs = append(errs, fileError(StopCheckpoint, "the checkpoint cannot be closed", r.options.Checkpoint.Close()))
	}
	return errors.Join(errs...)
}

// fileError is the error of a checkpoint or a reject file before or after the import itself: a StopError, unless the caller has to
// choose another file.
func fileError(reason StopReason, what string, err error) error {
	if err == nil {
		return nil
	}
	_, unfit := errors.AsType[*InputError](err)
	err = fmt.Errorf("%s: %w", what, err)
	if unfit || errors.Is(err, ErrHeld) {
		return fmt.Errorf("hogapi: %w", err)
	}
	return &StopError{Reason: reason, Err: err}
}

// save makes the place durable, the rejects before it first.
func (r *importRun) save(ctx context.Context, place settledPlace, receipt Receipt) error {
	r.state.Place, r.state.Receipt = place, receipt
	if r.journal != nil {
		length, err := r.journal.sync()
		if err != nil {
			return err
		}
		r.state.Rejects = &length
	}
	r.state.Begins = r.begins.upTo(place.At)
	raw, err := json.Marshal(r.state)
	if err != nil {
		return err
	}
	return r.options.Checkpoint.Save(ctx, raw)
}

// read takes the events of the source until it ends or the import stops. The source's context ends with either.
func (r *importRun) read(ctx context.Context) (err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		select {
		case <-r.capture.stopped:
			end(r.capture.stopErr)
		case <-ctx.Done():
		}
	}()
	orElse(func() { err = r.readAll(ctx) }, func(error) { r.abandon(ctx) })
	return err
}

// events are those behind the place where the run before has ended, and those at it: skip are settled. In files each position has one event.
func (r *importRun) events(ctx context.Context) iter.Seq2[Event, error] {
	if r.begins != nil {
		return r.begins.source.eventsOf(ctx, r.capture.settled.At, r.begins.open)
	}
	return r.source.Events(ctx, r.capture.settled.After)
}

func (r *importRun) readAll(ctx context.Context) error {
	for ev, err := range r.events(ctx) {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx) // whatever the source says of it
		case err != nil && r.begins.refuses(err):
			return err // not with the advice to mend the source: under its old ID, that is the danger
		case err != nil:
			return &StopError{Reason: StopSource, Err: err}
		}
		r.begins.read(ev.Position)
		if err := r.take(ctx, &ev); err != nil {
			return err
		}
	}
	if ctx.Err() == nil && r.skip > 0 {
		return r.changedSource()
	}
	return context.Cause(ctx)
}

// abandon ends an import whose source has panicked, or ended its goroutine, which goes on. What is under way is broken off: the next run
// sends it again.
func (r *importRun) abandon(ctx context.Context) {
	err := &StopError{Reason: StopSource, Err: errors.New("the source did not return")}
	r.capture.stop(err)
	r.capture.cancel()
	_, _ = r.close(ctx, err)
}

func (r *importRun) changedSource() error {
	return &StopError{Reason: StopSource, Err: fmt.Errorf("the source has changed: events at %s that were settled are no longer there", r.capture.settled.At)}
}

// take gives one event to the capture. What the gate refuses is a reject: it is settled in its turn like any other event.
func (r *importRun) take(ctx context.Context, ev *Event) error {
	switch {
	case r.options.Checkpoint != nil && ev.Position.IsZero():
		return &StopError{Reason: StopSource, Err: errors.New("an event has no position: with a checkpoint every event needs one")}
	case !utf8.ValidString(ev.Position.Key):
		return &StopError{Reason: StopSource, Err: fmt.Errorf("the key of a position is no UTF-8, and checkpoints hold no other text: %q", ev.Position.Key)}
	}
	if r.skip > 0 {
		if ev.Position != r.capture.identity.last {
			return r.changedSource()
		}
		r.skip--
		return nil
	}
	out, refusal := r.encoder.encode(ev)
	if refusal == nil {
		refusal = r.capture.identity.check(ev)
	}
	var err error
	if refusal == nil {
		refusal, err = r.capture.accept(ctx, out, true)
	}
	if refusal != nil {
		return r.capture.acceptReject(ctx, ev, refusal)
	}
	return err
}

// close settles what was taken and makes the result. Once ctx has ended, only what is under way may still end, so that less
// is sent again. Files and progress are ended in any case, also where a logger of the caller does not return.
func (r *importRun) close(ctx context.Context, readErr error) (receipt Receipt, err error) {
	defer func() {
		if closeErr := r.closeFiles(); closeErr != nil {
			err = errors.Join(err, closeErr)
		}
	}()
	defer r.ticker.stop()
	patience, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	hurry := func() {
		reason := canceled(ctx, readErr)
		r.capture.stop(reason)
		time.AfterFunc(lastAnswers, func() { giveUp(reason) })
	}
	if ctx.Err() != nil {
		readErr = canceled(ctx, readErr)
		hurry()
	} else {
		defer context.AfterFunc(ctx, hurry)()
	}
	receipt, err = r.capture.Close(patience)
	switch {
	case err == nil:
		err = readErr
	case readErr != nil && !errors.Is(err, readErr):
		err = errors.Join(readErr, err)
	}
	return receipt, err
}

// canceled is the error of an import whose context has ended, unless it had stopped for a reason of its own before.
func canceled(ctx context.Context, err error) error {
	if _, stopped := errors.AsType[*StopError](err); stopped {
		return err
	}
	cause := context.Cause(ctx)
	if !errors.Is(cause, ctx.Err()) {
		cause = fmt.Errorf("%w (%w)", cause, ctx.Err())
	}
	return &StopError{Reason: StopCanceled, Err: cause}
}

const lastAnswers = 5 * time.Second

// progressTicker calls OnProgress on a goroutine of its own.
type progressTicker struct {
	end   chan struct{}
	ended chan struct{}
}

const progressInterval = 500 * time.Millisecond

func startProgress(p *Capture, f func(Stats)) *progressTicker {
	if f == nil {
		return nil
	}
	t := &progressTicker{end: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(t.ended)
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.core.hook(p.ctx, true, func() { f(p.Stats()) })
			case <-t.end:
				p.core.hook(p.ctx, true, func() { f(p.Stats()) })
				return
			}
		}
	}()
	return t
}

func (t *progressTicker) stop() {
	if t != nil {
		close(t.end)
		<-t.ended
	}
}
