package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"time"
	"unicode/utf8"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/internal/wire"
)

// Source gives the events after a position, in order. The events of one record follow each other. The
// caller reads an event before it asks for the next one.
type Source func(ctx context.Context, after event.Position) iter.Seq2[*Event, error]

// Import takes all events of a source from the position that the previous run saved, and ends the pipeline. After ctx
// has ended, the events taken may still be sent within the grace, so that fewer are sent again.
func (e *Engine) Import(ctx context.Context, source Source) (event.Receipt, error) {
	defer context.AfterFunc(ctx, func() { e.wind(ctx) })()
	readErr := e.read(ctx, source)
	isCanceled := readErr != nil && ctx.Err() != nil
	if isCanceled {
		readErr = context.Cause(ctx) // not the stop of the sending, nor the source's error
		_ = e.canceledBy(ctx)
	}
	if readErr == nil { // otherwise the last record may not be whole
		e.committer.SourceEnded()
	}
	receipt, err := e.finish()
	switch {
	case readErr == nil, errors.Is(err, readErr):
	case !isCanceled || isFinal(readErr):
		err = errors.Join(readErr, err)
	case err == nil:
		err = e.withFailure(e.cancel(ctx))
	}
	receipt.Finished = err == nil
	return receipt, err
}

// wind ends an import whose context has ended: it sends the events taken, as long as the grace lasts and requests
// succeed.
func (e *Engine) wind(ctx context.Context) {
	e.accepting.end(e.canceledBy(ctx))
	if e.grace <= 0 || !e.sender.State().Failure.Since.IsZero() {
		_ = e.cancel(ctx) // requests under way still have the grace
	}
	watch.Sleep(e.calling.Context, e.grace) //nolint:contextcheck // of another life time: until the end, if that comes before
	_ = e.cancel(ctx)
	e.posting.end(nil)
	if watch.Sleep(e.calling.Context, patience) { //nolint:contextcheck // as above; the last answers are committed meanwhile
		e.calling.end(context.Cause(ctx))
	}
}

// patience is how long the end waits for a function of the user to return after its context has ended.
const patience = 700 * time.Millisecond

// read takes the events of the source until the source ends or the import stops. The source's context ends
// in both cases. A source that ignores its context is abandoned in its goroutine.
func (e *Engine) read(ctx context.Context, source Source) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(e.sending.Context, func() { end(context.Cause(e.sending.Context)) })() //nolint:contextcheck // of another life time
	panicked := func(value any) error {
		e.Logger.Error("hogapi: the source panicked", "stack", string(debug.Stack()))
		return fmt.Errorf("the source panicked: %v", value)
	}
	r := reader{e: e, begins: true}
	err, ended := watch.RunDetached(ctx, patience, func() error { return r.readAll(ctx, source) }, panicked)
	switch {
	case !ended:
		return context.Cause(ctx)
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx) // instead of the source's error
	case isFinal(err):
		return err
	}
	return e.badSource(errtext.WithoutPrefix(err))
}

type reader struct {
	e       *Engine
	encoder *wire.Encoder // nil: not needed yet
	saved   bool          // the first save is done
	begins  bool          // no event was read yet
	record  openRecord
}

// NoRecords is the text of the warning about a source without records.
const NoRecords = "the source has no records"

func (r *reader) readAll(ctx context.Context, source Source) error {
	var after event.Position
	if r.e.Resumed != nil {
		after = r.e.Resumed.State.Position
	}
	isEmpty := after.IsZero()
	for ev, err := range source(ctx, after) {
		if err != nil {
			return err
		}
		if r.begins = r.begins && !after.IsZero(); r.begins && (ev.Position == after || wire.GoesBack(ev.Position, after)) {
			return r.e.badSource(fmt.Errorf("the source does not continue where the checkpoint ends: the run before settled everything up to %s, "+
				"and the first event now is at %s; read from the position that Events gets", after, ev.Position))
		}
		isEmpty, r.begins = false, false
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.saveStart(ctx); err != nil {
			return err
		}
		if err := r.take(ctx, ev); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if isEmpty {
		r.e.Warn(event.WarningNoRecords, NoRecords)
	}
	return r.saveStart(ctx)
}

// Warn counts and logs a warning that is not about a single event.
func (e *Engine) Warn(name event.Warning, text string) {
	e.ledger.Count(name, 1)
	e.Logger.WarnContext(e.sending.Context, "hogapi: "+text, "warning", string(name))
}

// saveStart saves the position where this run begins, after the source is open and before anything is sent,
// so that an unwritable checkpoint fails at once.
func (r *reader) saveStart(ctx context.Context) error {
	if r.saved || r.e.Files == nil {
		return nil
	}
	r.saved = true
	return r.e.Files.Save(context.WithoutCancel(ctx), r.e.ledger.State())
}

type openRecord struct {
	position event.Position
	held     delivery.Held // for it, until it is committed
}

// next makes r the record of an event, and reports whether the event begins it.
func (r *openRecord) next(ev *Event) (begins bool) {
	begins = ev.Position != r.position || ev.Position.IsZero()
	if begins {
		*r = openRecord{position: ev.Position}
	}
	return begins
}

// take gives one event to the pipeline. An event that the gate refuses becomes a reject, which is settled
// in order like any other event.
func (r *reader) take(ctx context.Context, ev *Event) error {
	e := r.e
	switch {
	case e.Files != nil && ev.Position.IsZero():
		return e.badSource(errors.New("an event has no position: with a checkpoint every event needs one"))
	case !utf8.ValidString(ev.Position.Key):
		return e.badSource(fmt.Errorf("the key of a position is not UTF-8, and checkpoints hold no other text: %q", ev.Position.Key))
	}
	begins := r.record.next(ev)
	if err := e.prepare(ctx, &r.encoder, ev, true); err != nil {
		return err
	}
	if ev.rejected != nil && e.Handler == nil {
		return stopAt(ev.rejected)
	}
	return e.takeOne(ctx, ev, &r.record, begins)
}

func (e *Engine) badSource(err error) error {
	return &event.StopError{Reason: event.StopSource, Err: err}
}

// isFinal reports whether an error of a source is passed on as it is.
func isFinal(err error) bool {
	_, isStop := errors.AsType[*event.StopError](err)
	return isStop || errors.Is(err, errtext.ErrInvalid)
}
