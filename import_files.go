package hogapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hogapi/hogapi/internal/ledger"
)

// openCheckpoint opens the checkpoint and reads what the runs before have saved.
func (r *importRun) openCheckpoint(ctx context.Context) (*savedState, error) {
	if r.options.Checkpoint == nil {
		return nil, nil //nolint:nilnil // nothing was saved
	}
	raw, err := r.options.Checkpoint.Open(ctx)
	if err != nil {
		return nil, fileError(StopCheckpoint, "the checkpoint cannot be opened", err)
	}
	resumed, err := readState(raw, r.options.ID, r.target, r.source.Name())
	if err != nil {
		return nil, errors.Join(err, r.options.Checkpoint.Close())
	}
	return resumed, nil
}

// openRejects opens a reject file, and returns the handler for the import.
func (r *importRun) openRejects() (RejectHandler, error) {
	file, ok := r.options.Rejects.(*rejectFile)
	if !ok {
		return r.options.Rejects, nil
	}
	_, isMapped := unwrap[mapSource](r.source)
	handler, err := file.open(rejectedBy{r.options.ID, isMapped})
	if err != nil {
		return nil, fileError(StopHandler, "the reject file cannot be opened", err)
	}
	r.journal = file
	return handler, nil
}

func (r *importRun) closeFiles() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true // for a source that was left behind
	var errs []error
	if r.journal != nil {
		errs = append(errs, fileError(StopHandler, "the reject file cannot be closed", r.journal.close()))
	}
	if r.options.Checkpoint != nil {
		errs = append(errs, fileError(StopCheckpoint, "the checkpoint cannot be closed", r.options.Checkpoint.Close()))
	}
	return errors.Join(errs...)
}

// fileError is the error of a checkpoint or a reject file before or after the import itself: a
// StopError, unless the caller has to choose another file.
func fileError(reason StopReason, what string, err error) error {
	if err == nil {
		return nil
	}
	_, unfit := errors.AsType[*InputError](err)
	err = fmt.Errorf("%s: %w", what, bare(err))
	if unfit || errors.Is(err, ErrHeld) {
		return fmt.Errorf("hogapi: %w", err)
	}
	return &StopError{Reason: reason, Err: err}
}

// save makes the place durable, the rejects before it first.
func (r *importRun) save(ctx context.Context, s ledger.State[Position]) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	if r.journal != nil {
		if err := r.journal.sync(); err != nil {
			return err
		}
	}
	saved := savedState{Version: stateVersion, Import: r.options.ID, State: s}
	if s.Totals.Read > 0 { // before, another source or project may still be named
		saved.Source, saved.Target = r.source.Name(), r.target
	}
	if r.files != nil {
		saved.File = r.files.fingerprint(s.Place)
	}
	raw, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	return r.options.Checkpoint.Save(ctx, raw)
}

// saveStart saves where this run begins, once the source is open and before anything is sent: a
// checkpoint that cannot be written shows at once.
func (r *importRun) saveStart(ctx context.Context) error {
	if r.saved || r.options.Checkpoint == nil {
		return nil
	}
	r.saved = true
	state := r.line.ledger.State()
	if err := r.line.core.guard(func() error { return r.save(context.WithoutCancel(ctx), state) }); err != nil {
		return &StopError{Reason: StopCheckpoint, Err: err}
	}
	return nil
}
