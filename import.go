package hogapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/ops"
)

// ImportOptions set up an import.
type ImportOptions struct {
	// ID names the import for good: uuids are derived from it, so the same ID with the same source sends
	// the same events. Other data needs another ID, also where the files have the same names: their
	// events would share uuids.
	ID string
	// Checkpoint makes the import resumable. Without one it starts at the beginning each time.
	Checkpoint Checkpointer
	// Rejects takes the events that the gate or the service refuses. Without it the first one stops the
	// import.
	Rejects RejectHandler
	// MaxRejectShare is the largest share of rejects among the records, those that are skipped not
	// counted: default 0.01; -1 for no limit. It is judged over all runs of the import, first after 1,000
	// records and again at the end, where there are two rejects or more. If the first 100 records are all
	// rejected, or all records of a shorter source, the import stops too. See [StopTooManyRejects].
	MaxRejectShare float64
	// MaxRejects is the largest number of rejects, over all runs: default no limit. One more stops the
	// import at once.
	MaxRejects int64
	// VerifyGzip is the size in bytes of the largest gzip, zstd or zip file whose checksums are verified before its
	// first event is sent: default 1 GiB; -1 for none. Larger files are checked as they are read.
	VerifyGzip int64
	// Rate is the most events per second: default 1,000, as the service's own importer; or Unpaced.
	Rate int
	// Total is how many events the source has, where known, for progress.
	Total int64
	// OnProgress is called twice a second and once at the end, one call at a time. A panic in it is caught
	// and logged.
	OnProgress func(Stats)
	Gate       GateOptions
	Delivery   DeliveryOptions
}

// Import sends the events of a source as historical events: each acknowledged at least once and
// identical every time it is sent, none left out silently, all accounted for. After a kill at any moment, the next
// call with the same ID and checkpoint resumes where that one was. The receipt is valid with an error
// too, and covers all runs.
//
// Every event gets the properties $lib, $lib_version, $geoip_disable (true: the service derives no place
// from $ip), $import_job_id and distinct_id, unless it has its own of that name.
//
// Errors: *InputError for options or a checkpoint that do not fit, *StopError for what ended the import,
// *UnsettledError around it where events were under way; all but the first can be resumed. An import
// that has rejected too much ends with a *StopError, even if everything else was sent. When ctx ends,
// or the sending stops, Import returns within a second, and the error has the cause.
func (c *Client) Import(ctx context.Context, source Source, options *ImportOptions) (Receipt, error) {
	o := orDefault(options)
	if err := checkContext(ctx, ops.Import); err != nil {
		return Receipt{ID: o.ID}, err
	}
	run, before, err := c.openImport(ctx, source, o)
	if err != nil {
		return before, err
	}
	defer context.AfterFunc(ctx, func() { run.line.stop(canceledBy(ctx)) })()
	readErr := run.read(ctx)
	if readErr != nil && ctx.Err() != nil {
		readErr = context.Cause(ctx) // and not that the sending has stopped, or what the source makes of it
	}
	return run.close(ctx, readErr)
}

// importRun is one run of an import.
type importRun struct {
	source      Source
	options     ImportOptions
	line        *pipeline
	encoder     *encoder
	files       *importFiles
	resumed     *savedState // of the run before; nil: this is the first
	saved       bool        // the first save is done
	record      openRecord
	endProgress func()
}

// openImport makes everything ready for a run, and says what the runs before it have done.
func (c *Client) openImport(ctx context.Context, source Source, o ImportOptions) (run *importRun, before Receipt, err error) {
	before = Receipt{ID: o.ID}
	if err := o.check(source); err != nil {
		return nil, before, err
	}
	run = &importRun{source: source, options: o, files: newImportFiles(o, source, c.core.importTarget())}
	state := importState{source: source.Name(), limits: o.rejectLimits()}
	if run.resumed, err = run.files.openCheckpoint(ctx); err != nil {
		return nil, before, err
	}
	if o.Delivery.Protocol, err = continues(run.resumed, o.Delivery.Protocol); err != nil {
		return nil, before, errors.Join(err, run.files.close())
	}
	run.files.Protocol = string(o.Delivery.Protocol)
	state.resumed = run.resumed
	if state.resumed != nil {
		t := state.resumed.State.Totals
		if err := state.limits.JudgeBefore(t.Counts()); err != nil {
			return nil, receiptOf(state.resumed), errors.Join(tooManyRejects(err), run.files.close())
		}
		before = receiptOf(state.resumed)
	}
	settings := CaptureOptions{ID: o.ID, Rate: o.Rate, Rejects: o.Rejects, Gate: o.Gate, Delivery: o.Delivery}
	_, isMapped := unwrap[mapSource](source)
	if settings.Rejects, err = run.files.openRejects(o.Rejects, isMapped); err != nil {
		return nil, before, errors.Join(err, run.files.close())
	}
	if o.Checkpoint != nil {
		state.saver = run.files
	}
	if run.line, err = c.newPipeline(settings, state); err != nil { //nolint:contextcheck // what is under way may end after ctx: see close
		return nil, before, errors.Join(err, run.files.close())
	}
	run.line.meter.change(func(s *Stats) { s.Total = o.Total })
	run.endProgress = startProgress(run.line, o.OnProgress)
	return run, before, nil
}

func (o ImportOptions) check(source Source) error {
	bad := func(field, value, want string) error {
		return &InputError{Op: ops.Import, Field: field, Value: value, Want: want}
	}
	switch {
	case o.ID == "":
		return bad("ImportOptions.ID", "", `a name that stays the same for every run, such as "mixpanel-2024"`)
	case !canBeRead(source):
		return bad("source", "", "a source with a function to read, not nil, and no nil among the sources that it is made of")
	case !utf8.ValidString(source.Name()):
		return bad("source.Name", source.Name(), "a name of UTF-8, since a checkpoint holds no other text")
	case o.Checkpoint != nil && isNil(o.Checkpoint):
		return bad("ImportOptions.Checkpoint", "", "a checkpoint, or no value: this one is a nil pointer")
	case o.Total < 0:
		return bad("ImportOptions.Total", strconv.FormatInt(o.Total, 10), "0 or more")
	case math.IsNaN(o.MaxRejectShare) || o.MaxRejectShare > 1 || o.MaxRejectShare < 0 && o.MaxRejectShare != -1:
		return bad("ImportOptions.MaxRejectShare", strconv.FormatFloat(o.MaxRejectShare, 'g', -1, 64), "above 0 and at most 1, 0 for the default of 0.01, or -1 for no limit")
	case o.MaxRejects < 0:
		return bad("ImportOptions.MaxRejects", strconv.FormatInt(o.MaxRejects, 10), "a number, or 0 for no limit")
	case o.VerifyGzip < -1:
		return bad("ImportOptions.VerifyGzip", strconv.FormatInt(o.VerifyGzip, 10), "bytes, 0 for the default of 1 GiB, or -1 for none")
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
	case mapSource:
		return s.mapping != nil && canBeRead(s.source)
	case *concat:
		return len(s.sources) > 0 && !slices.ContainsFunc(s.sources, func(inner Source) bool { return !canBeRead(inner) })
	}
	if isNil(source) {
		return false
	}
	if outer, ok := source.(interface{ Unwrap() Source }); ok {
		return canBeRead(outer.Unwrap())
	}
	return true
}

// patience is how long an ended import waits for its source to return, and for the last answers.
const patience = 700 * time.Millisecond

// read takes the events of the source until it ends or the import stops. The source's context ends with
// either. A source that ignores it is left behind in its goroutine.
func (r *importRun) read(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(r.line.sending, func() { end(context.Cause(r.line.sending)) })() //nolint:contextcheck // of another life time
	ctx = context.WithValue(ctx, sourceNotesKey{}, r.notes(ctx))
	panicked := func(value any) error {
		r.line.core.logger.Error("hogapi: the source panicked", "stack", string(debug.Stack()))
		return fmt.Errorf("the source panicked: %v", value)
	}
	err, ended := watch.Aside(ctx, patience, func() error { return r.readAll(ctx) }, panicked)
	if !ended {
		return context.Cause(ctx)
	}
	return r.readError(ctx, err)
}

// readError is why reading ended, or nil at the end of the source.
func (r *importRun) readError(ctx context.Context, err error) error {
	var stop *StopError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx) // whatever the source says of it
	case errors.As(err, &stop), errors.Is(err, ErrInvalid):
		return err
	}
	return &StopError{Reason: StopSource, Err: bare(err)}
}

func (r *importRun) notes(ctx context.Context) *sourceNotes {
	verify := r.options.VerifyGzip
	if verify == 0 {
		verify = defaultVerifyGzip
	}
	return &sourceNotes{verifyGzip: verify, resumed: r.resumed, warn: func(w Warning, text string) {
		r.line.ledger.Count(string(w), 1)
		r.line.core.logger.WarnContext(ctx, "hogapi: "+text, "warning", string(w))
	}}
}

// saveStart saves where this run begins, once the source is open and before anything is sent: a
// checkpoint that cannot be written shows at once.
func (r *importRun) saveStart(ctx context.Context) error {
	if r.saved || r.options.Checkpoint == nil {
		return nil
	}
	r.saved = true
	state := r.line.ledger.State()
	save := func() error { return r.files.Save(context.WithoutCancel(ctx), state) }
	if err := r.line.core.guard(save); err != nil {
		return &StopError{Reason: StopCheckpoint, Err: err}
	}
	return nil
}

func (r *importRun) readAll(ctx context.Context) error {
	var after Position
	if r.resumed != nil {
		after = r.resumed.State.Place
	}
	isEmpty := after.IsZero()
	for ev, err := range r.source.Events(ctx, after) {
		if err != nil {
			return err
		}
		isEmpty = false
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.saveStart(ctx); err != nil {
			return err
		}
		if err := r.take(ctx, &ev); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if isEmpty {
		notesOf(ctx).warn(WarnNoRecords, noRecords)
	}
	return r.saveStart(ctx)
}

const noRecords = "the source has no records"

// openRecord is the record that is read.
type openRecord struct {
	place Position
	held  delivery.Held // for it, until it is committed
}

// next is the record of an event. It reports whether the event begins one.
func (r *openRecord) next(ev *Event) (begins bool) {
	begins = ev.Position != r.place || ev.Position.IsZero()
	if begins {
		*r = openRecord{place: ev.Position}
	}
	return begins
}

// take gives one event to the pipeline. What the gate refuses is a reject: it is settled in its turn like
// any other event.
func (r *importRun) take(ctx context.Context, ev *Event) error {
	switch {
	case r.options.Checkpoint != nil && ev.Position.IsZero():
		return &StopError{Reason: StopSource, Err: errors.New("an event has no position: with a checkpoint every event needs one")}
	case !utf8.ValidString(ev.Position.Key):
		return &StopError{Reason: StopSource, Err: fmt.Errorf("the key of a position is not UTF-8, and checkpoints hold no other text: %q", ev.Position.Key)}
	}
	p, record := r.line, &r.record
	begins := record.next(ev)
	early := p.early(ev)
	if early == nil && r.encoder == nil && ev.isReadable() {
		var err error
		if r.encoder, err = p.encoder(ctx, true); err != nil {
			return err
		}
		r.encoder.trust(r.source)
	}
	var o offered
	refusal := p.offer(r.encoder, ev, &o, early)
	if refusal != nil && p.rejects == nil {
		return &StopError{Reason: StopRejected, Err: refusal}
	}
	return p.takeOne(ctx, &o, record, begins)
}

// close settles what was taken and makes the result. Once ctx has ended, only requests under way may
// still end, for a moment, so that less is sent again. Files and progress are ended in any case.
func (r *importRun) close(ctx context.Context, readErr error) (receipt Receipt, err error) {
	defer func() { err = errors.Join(err, r.files.close()) }()
	defer r.endProgress()
	p := r.line
	if readErr == nil { // otherwise the last record may not be whole
		p.committer.SourceEnded()
	}
	if ctx.Err() != nil {
		p.stop(canceledBy(ctx))
	}
	receipt, err = p.close(context.WithoutCancel(ctx))
	var stop *StopError
	switch {
	case readErr == nil, errors.Is(err, readErr):
	case ctx.Err() == nil || errors.As(readErr, &stop):
		err = errors.Join(readErr, err)
	case err == nil:
		err = p.withFailure(canceledBy(ctx))
	}
	receipt.Finished = err == nil
	return receipt, err
}

const progressInterval = 500 * time.Millisecond

// startProgress calls OnProgress on a goroutine of its own, until it is ended.
func startProgress(p *pipeline, f func(Stats)) (end func()) {
	if f == nil {
		return func() {}
	}
	return watch.Every(progressInterval, func() { p.core.hook(p.sending, true, func() { f(p.snapshot()) }) })
}
