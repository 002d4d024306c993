package hogapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/ops"
)

// Checkpointer keeps the state of an import between its runs. Import opens it, is its only owner until
// it closes it, and calls its methods one at a time. The state is a JSON text of up to about 300 KB that
// only this package reads.
type Checkpointer interface {
	// Open takes ownership and returns the saved state, or nil if nothing was saved yet. It fails at once
	// if somebody else is the owner.
	Open(ctx context.Context) (state []byte, err error)
	// Save replaces the state. When it returns nil, the new state must survive a crash of the machine; when
	// it fails, the old one must.
	Save(ctx context.Context, state []byte) error
	// Close gives the ownership up.
	Close() error
}

// savedState is what a checkpoint holds.
type savedState struct {
	Version  int                    `json:"version"`
	Import   string                 `json:"import"`
	Protocol Protocol               `json:"protocol,omitempty"` // how events are sent; empty before that is known
	Finished bool                   `json:"finished,omitempty"` // the source was read to its end, and all is settled
	Target   string                 `json:"target,omitempty"`   // see importTarget; as Source, and in older states
	Source   string                 `json:"source,omitempty"`   // empty before the first save that settles something
	File     lines.Fingerprint      `json:"file,omitzero"`      // of the file that the place is in
	State    ledger.State[Position] `json:"state"`
}

const (
	stateVersion = 3
	// versionBatch is that of releases that knew /batch/ only.
	versionBatch = 2
)

const fieldSource = "begun with the source"

func unfitState(field, value, want string) error {
	return &InputError{Op: ops.Import, Field: "checkpoint: " + field, Value: value, Want: want}
}

// importTarget is a digest of the project's key and the name of the host that an import sends to. The
// port may change, as that of a proxy on this machine does.
func (c *core) importTarget() string {
	if c.capture == nil || c.projectKey == nil {
		return "" // which is refused later
	}
	sum := sha256.Sum256([]byte("hogapi import\x00" + c.capture.Hostname() + "\x00" + c.projectKey()))
	return hex.EncodeToString(sum[:16])
}

// readState reads a checkpoint and refuses one of another import, project, source or version.
func readState(raw []byte, importID, target, source string) (*savedState, error) {
	if raw == nil {
		return nil, nil //nolint:nilnil // there is none yet
	}
	var head struct {
		Version int `json:"version"`
	}
	err := json.Unmarshal(raw, &head)
	if err == nil && head.Version != stateVersion && head.Version != versionBatch {
		return nil, unfitState("version", strconv.Itoa(head.Version), fmt.Sprintf("version %d or %d: finish the import with the release that began it", versionBatch, stateVersion))
	}
	var s savedState
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	switch {
	case err != nil:
		return nil, unfitState("state", "", "a state that this package has saved; this one cannot be read: "+mask.Clean(err.Error()))
	case s.Import != importID:
		return nil, unfitState("begun by the import", s.Import, fmt.Sprintf("one of the import %q: each import has a checkpoint of its own", importID))
	case s.Target != "" && s.Target != target:
		return nil, unfitState("begun with the project", "", "the project API key and the host that the import began with; "+
			"for another project, use a new checkpoint: it sends all events, with the same uuids")
	case s.Source != "" && s.Source != source:
		return nil, unfitState(fieldSource, s.Source, fmt.Sprintf("one of the source %q: a checkpoint resumes only with the source that it began with", source))
	}
	if s.Version == versionBatch && s.State.Totals.Read > 0 {
		s.Protocol = ProtocolBatch
	}
	return &s, nil
}

// receipt is that of the runs before.
func (s *savedState) receipt() Receipt {
	r := newReceipt(s.Import, s.Source, s.State)
	r.Protocol, r.Finished = s.Protocol, s.Finished
	return r
}

// protocol is how an import continues: as it began, if that is known.
func (s *savedState) protocol(asked Protocol) (Protocol, error) {
	if s == nil || s.Protocol == ProtocolAuto {
		return asked, nil
	}
	if asked != ProtocolAuto && asked != s.Protocol {
		return asked, &InputError{Op: ops.Import, Field: "Delivery.Protocol", Value: string(asked),
			Want: fmt.Sprintf("%q, which the import began with, or ProtocolAuto: one import never mixes two", s.Protocol)}
	}
	return s.Protocol, nil
}

// FileCheckpoint keeps the state of an import in a file. Its folder is made if it is missing, the file is
// replaced as a whole each time, and after a crash of the process or the machine it holds the newest
// state that was saved. A file that is torn, empty or changed is refused with an *InputError, and so is
// one that is not a regular file or has hard links, which would keep an old state.
//
// One import at a time owns it, by a lock on the file path.lock; another gets [ErrHeld] at once, also by a
// symbolic link to the file. The lock ends with the process, also by a kill, and the lock file remains. Do
// not remove it: an import whose lock file is gone stops at its next save, since somebody else may own the
// checkpoint by then. On systems without such locks (neither Unix nor Windows), the lock file of a killed
// process has to be removed by hand. The folder must be on a disk of this machine or on a file system that
// keeps locks and syncs as a local one does.
func FileCheckpoint(path string) Checkpointer {
	return fileCheckpoint{statefile.NewCheckpoint(durable.OS{}, path)}
}

type fileCheckpoint struct{ file *statefile.Checkpoint }

// Open implements Checkpointer.
func (c fileCheckpoint) Open(context.Context) ([]byte, error) {
	state, err := c.file.Open()
	return state, stateFileError(err)
}

// Save implements Checkpointer.
func (c fileCheckpoint) Save(_ context.Context, state []byte) error { return c.file.Save(state) }

// Close implements Checkpointer.
func (c fileCheckpoint) Close() error { return c.file.Close() }

// stateFileError is an error of internal/statefile as one of this package.
func stateFileError(err error) error {
	if unfit, ok := errors.AsType[*statefile.UnfitError](err); ok {
		return &InputError{Op: ops.Import, Field: unfit.Field, Value: unfit.Value, Want: unfit.Want}
	}
	if errors.Is(err, durable.ErrLocked) {
		return fmt.Errorf("%w: %w", ErrHeld, err)
	}
	return err
}

// importFiles are the checkpoint and the reject file of one run.
type importFiles struct {
	id, source, target string

	checkpoint Checkpointer       // nil: nothing is saved
	rejects    *statefile.Rejects // nil: the rejects go elsewhere
	read       fingerprinter      // nil: the source has no files

	mu       sync.Mutex // of all calls once they are open
	closed   bool
	finished bool
	protocol Protocol               // as far as it is known
	newest   ledger.State[Position] // that was saved; kept until the protocol is known
}

func newImportFiles(o ImportOptions, source Source, target string) *importFiles {
	f := &importFiles{id: o.ID, source: source.Name(), target: target, checkpoint: o.Checkpoint}
	f.read, _ = unwrap[fingerprinter](source)
	return f
}

// openCheckpoint opens the checkpoint and reads what the runs before have saved.
func (f *importFiles) openCheckpoint(ctx context.Context) (*savedState, error) {
	if f.checkpoint == nil {
		return nil, nil //nolint:nilnil // nothing was saved
	}
	raw, err := f.checkpoint.Open(ctx)
	if err != nil {
		return nil, fileError(StopCheckpoint, "the checkpoint cannot be opened", err)
	}
	resumed, err := readState(raw, f.id, f.target, f.source)
	if err != nil {
		return nil, errors.Join(err, f.checkpoint.Close())
	}
	if resumed != nil {
		f.protocol, f.newest = resumed.Protocol, resumed.State
	}
	return resumed, nil
}

// openRejects opens the handler if it is a reject file, and returns the handler for the import.
func (f *importFiles) openRejects(handler RejectHandler, isMapped bool) (RejectHandler, error) {
	own, ok := handler.(hasRejectFile)
	if !ok {
		return handler, nil
	}
	file := own.RejectFile()
	if err := file.Open(); err != nil {
		return nil, fileError(StopHandler, "the reject file cannot be opened", stateFileError(err))
	}
	f.rejects = file
	return RejectFunc(func(_ context.Context, r Reject) error { return f.rejects.Add(r.line(f.id, isMapped)) }), nil
}

// save makes the place durable, the rejects before it first.
func (f *importFiles) save(ctx context.Context, s ledger.State[Position]) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.protocol == ProtocolAuto {
		f.newest = s
	}
	return f.write(ctx, s)
}

// decide makes durable how events are sent, before the first of them is.
func (f *importFiles) decide(ctx context.Context, p Protocol) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.protocol = p
	err := f.write(ctx, f.newest)
	f.newest = ledger.State[Position]{}
	return err
}

// finish saves the state of an import whose source was read to its end.
func (f *importFiles) finish(ctx context.Context, s ledger.State[Position]) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finished = true
	return f.write(ctx, s)
}

// write saves a state. The caller holds the lock.
func (f *importFiles) write(ctx context.Context, s ledger.State[Position]) error {
	if f.closed {
		return ErrClosed
	}
	if f.rejects != nil {
		if err := f.rejects.Sync(); err != nil {
			return err
		}
	}
	saved := savedState{Version: stateVersion, Import: f.id, Protocol: f.protocol, Finished: f.finished, State: s}
	if s.Totals.Read > 0 { // before, another source or project may still be named
		saved.Source, saved.Target = f.source, f.target
	}
	if f.read != nil {
		saved.File = f.read.fingerprint(s.Place)
	}
	raw, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	return f.checkpoint.Save(ctx, raw)
}

// close closes what is open. A source that was left behind saves nothing any more.
func (f *importFiles) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	var errs []error
	if f.rejects != nil {
		errs = append(errs, fileError(StopHandler, "the reject file cannot be closed", f.rejects.Close()))
	}
	if f.checkpoint != nil {
		errs = append(errs, fileError(StopCheckpoint, "the checkpoint cannot be closed", f.checkpoint.Close()))
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

// checkFiles checks that checkpoint, reject file and source use different files.
func (o ImportOptions) checkFiles(source Source) error {
	var state, rejects []string
	if c, ok := o.Checkpoint.(fileCheckpoint); ok {
		state = c.file.Files()
	}
	if r, ok := o.Rejects.(hasRejectFile); ok {
		rejects = r.RejectFile().Files()
	}
	if statefile.Overlap(state, rejects) {
		return &InputError{Op: ops.Import, Field: "ImportOptions.Rejects", Want: "a file that the checkpoint does not use: its own, and those with .tmp and .lock"}
	}
	for _, path := range filesOf(source) {
		read := statefile.Files(durable.OS{}, path)
		read = read[:min(1, len(read))]
		if statefile.Overlap(read, rejects) {
			return &InputError{Op: ops.Import, Field: "ImportOptions.Rejects", Want: "a file that is not read: the import would never end"}
		}
		if statefile.Overlap(read, state) {
			return &InputError{Op: ops.Import, Field: "ImportOptions.Checkpoint", Want: "a file that is not read: the checkpoint would replace it"}
		}
	}
	return nil
}
