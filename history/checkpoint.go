package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/ops"
)

// Checkpointer keeps the state of an import between its runs. Import opens a Checkpointer, owns it until it
// closes it, and calls its methods one at a time. The state is JSON, which only this package reads. It has at
// most about 500 KB, or more if the names of events are long.
type Checkpointer interface {
	// Open takes ownership and returns the saved state, or nil if nothing was saved yet. It fails at once if
	// somebody else is the owner.
	Open(ctx context.Context) (state []byte, err error)
	// Save replaces the state. If it returns nil, the new state must survive a crash of the machine; after an
	// error, the old state must.
	Save(ctx context.Context, state []byte) error
	// Close gives up the ownership.
	Close() error
}

// continues returns the protocol of an import: the saved one, if an earlier run has chosen it.
func continues(s *engine.Saved, asked event.Protocol) (event.Protocol, error) {
	if s == nil || s.Protocol == "" {
		return asked, nil
	}
	if asked != event.ProtocolAuto && asked != s.Protocol {
		return asked, outgoing.Refused(ops.Import, outgoing.Refuse("Delivery.Protocol", string(asked),
			fmt.Sprintf("%q, the protocol that the import began with, or ProtocolAuto: an import never mixes two", s.Protocol)))
	}
	return s.Protocol, nil
}

// CheckpointFile returns a Checkpointer that keeps the state of an import in a file, which it replaces as a whole. After a
// crash of the process or the machine, the file holds the newest saved state. An import refuses a file that is cut off,
// empty, changed, not regular or hard-linked, with an *InputError.
//
// One import at a time owns the file, by a lock on path.lock, which ends with the process: another one gets
// [hogapi.ErrHeld]. Do not remove the lock file. The folder must be on a local disk, or on one with the same locks and
// syncs.
func CheckpointFile(path string) Checkpointer {
	return fileCheckpoint{statefile.NewCheckpoint(durable.OS{}, path)}
}

type fileCheckpoint struct{ *statefile.Checkpoint }

func (c fileCheckpoint) Open(ctx context.Context) ([]byte, error) {
	state, err := c.Checkpoint.Open(ctx)
	return state, bridge.FileError(err)
}

// importFiles are the checkpoint and the reject file of one run.
type importFiles struct {
	engine.Files

	isMapped bool // a mapping makes the events
}

// sourceFiles are the files of a source: see [engine.Sources].
type sourceFiles struct{ source Source }

// HasGrown reports that the source began with a name, and other files were added since.
func (s sourceFiles) HasGrown(from string) bool {
	read := growing(s.source)
	return read != nil && read.hasGrown(from)
}

// Fingerprint returns the fingerprint of the file at a position, or none.
func (s sourceFiles) Fingerprint(at event.Position) (f lines.Fingerprint) {
	if read, ok := unwrap[fileSource](s.source); ok {
		f = read.fingerprint(at)
	}
	return f
}

// guarded is a checkpoint that turns a panic of Save into an error.
type guarded struct {
	Checkpointer

	client bridge.Client
}

func (g guarded) Save(ctx context.Context, state []byte) error {
	return g.client.Guard(func() error { return g.Checkpointer.Save(ctx, state) })
}

// openCheckpoint opens the checkpoint of a run, and reads the state that earlier runs have saved.
func openCheckpoint(ctx context.Context, o Options, source Source, client bridge.Client) (f *importFiles, resumed *engine.Saved, err error) {
	f = &importFiles{Files: engine.Files{Of: engine.Of{Import: o.ID, Target: client.ImportTarget(), Source: source.Name(), Sources: sourceFiles{source}}}}
	_, f.isMapped = unwrap[mapSource](source)
	if o.Checkpoint != nil {
		f.Checkpoint = guarded{o.Checkpoint, client}
	}
	resumed, err = f.Open(ctx)
	if _, unfit := errors.AsType[*ops.InputError](err); unfit {
		return nil, nil, errors.Join(bridge.FileError(err), f.Checkpoint.Close())
	}
	return f, resumed, fileError(event.StopCheckpoint, "the checkpoint cannot be opened", err)
}

// openRejects opens the handler if it is a reject file, which then takes the rejects as they are.
func (f *importFiles) openRejects(handler hogapi.RejectHandler) error {
	own, ok := handler.(hasRejectFile)
	if !ok {
		return nil
	}
	file := own.RejectFile()
	if err := file.Open(); err != nil {
		return fileError(event.StopHandler, "the reject file cannot be opened", bridge.FileError(err))
	}
	f.Rejects = file
	return nil
}

// Reject implements engine.Handler where there is a reject file.
func (f *importFiles) Reject(_ context.Context, r event.Reject) error {
	note := engine.NoteOf(&r)
	note.Import, note.IsMapped = f.Import, f.isMapped
	return f.Rejects.Add(&r)
}

func (f *importFiles) close() error {
	rejects, checkpoint := f.Close()
	return errors.Join(fileError(event.StopHandler, "the reject file cannot be closed", rejects), fileError(event.StopCheckpoint, "the checkpoint cannot be closed", checkpoint))
}

// fileError returns the error of a checkpoint or a reject file before or after the import itself: a StopError,
// unless the caller has to choose another file.
func fileError(reason event.StopReason, what string, err error) error {
	if err == nil {
		return nil
	}
	_, unfit := errors.AsType[*hogapi.InputError](err)
	err = fmt.Errorf("%s: %w", what, errtext.WithoutPrefix(err))
	if unfit || errors.Is(err, hogapi.ErrHeld) {
		return fmt.Errorf("hogapi: %w", err)
	}
	return &event.StopError{Reason: reason, Err: err}
}

// checkFiles checks that checkpoint, reject file and source use different files.
func (o Options) checkFiles(source Source) error {
	var state, rejects []string
	if c, ok := o.Checkpoint.(fileCheckpoint); ok {
		state = c.Files()
	}
	if r, ok := o.Rejects.(hasRejectFile); ok {
		rejects = r.RejectFile().Files()
	}
	refusal := outgoing.If(statefile.Overlap(state, rejects), "Options.Rejects", "",
		"a file other than the checkpoint and its files with .hogapi-tmp and .lock")
	if len(state)+len(rejects) == 0 {
		return nil
	}
	for _, path := range filesOf(source) {
		read := statefile.Files(durable.OS{}, path)
		read = read[:min(1, len(read))]
		refusal = cmp.Or(refusal,
			outgoing.If(statefile.Overlap(read, rejects), "Options.Rejects", "", "a file outside the source: the import would never end"),
			outgoing.If(statefile.Overlap(read, state), "Options.Checkpoint", "", "a file outside the source: the checkpoint would replace it"))
	}
	return outgoing.Refused(ops.Import, refusal)
}
