package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/ops"
)

// Saved is the content of a checkpoint, as JSON.
type Saved struct {
	Version  int               `json:"version"`
	Import   string            `json:"import"`
	Protocol event.Protocol    `json:"protocol,omitempty"` // how events are sent; empty before that is known
	Finished bool              `json:"finished,omitempty"` // the source was read to its end, and all is settled
	Target   string            `json:"target,omitempty"`   // a digest of where events go; as Source, and in older states
	Source   string            `json:"source,omitempty"`   // empty before the first save that settles something
	File     lines.Fingerprint `json:"file,omitzero"`      // of the file that the position is in
	Keyed    bool              `json:"keyed,omitempty"`    // uuids are derived from no position without a key; older releases did
	State    ledger.State      `json:"state"`
}

const (
	stateVersion = 3
	// versionBatch is the version of releases that knew one protocol only.
	versionBatch = 2
	onlyProtocol = event.ProtocolBatch
)

// Unfit returns the error of a checkpoint that is not for this import.
func Unfit(field, value, want string) *ops.InputError {
	return &ops.InputError{Field: "checkpoint: " + field, Value: value, Want: want}
}

// FieldSource names the source in an error.
const FieldSource = "begun with the source"

// Of names the import, the project and the source that a state must belong to.
type Of struct {
	Import, Target, Source string

	Sources Sources // nil: the source never changes, and reads no files
}

// Sources are the files that an import reads.
type Sources interface {
	HasGrown(from string) bool                             // the source has begun with this name
	Fingerprint(position event.Position) lines.Fingerprint // of the file there
}

// isSource reports whether the source is the one of a name.
func (o Of) isSource(name string) bool {
	return name == o.Source || o.Sources != nil && o.Sources.HasGrown(name)
}

// ReadSaved reads a state and refuses one of another import, project, source or version by an
// *[ops.InputError]. It is nil where nothing was saved.
func ReadSaved(raw []byte, of Of) (*Saved, error) {
	if raw == nil {
		return nil, nil //nolint:nilnil // nothing was saved yet
	}
	var head struct {
		Version int `json:"version"`
	}
	err := json.Unmarshal(raw, &head)
	if err == nil && head.Version != stateVersion && head.Version != versionBatch {
		return nil, Unfit("version", strconv.Itoa(head.Version), fmt.Sprintf("version %d or %d: finish the import with the release that began it", versionBatch, stateVersion))
	}
	var s Saved
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	switch {
	case err != nil:
		return nil, Unfit("state", "", "a state that this package has saved; this one cannot be read: "+mask.Clean(err.Error()))
	case s.Import != of.Import:
		return nil, Unfit("begun by the import", s.Import, fmt.Sprintf("one of the import %q: each import has a checkpoint of its own", of.Import))
	case s.Target != "" && s.Target != of.Target:
		return nil, Unfit("begun with the project", "", "the project API key and the host that the import began with; "+
			"for another project, use a new checkpoint: it sends all events, with the same uuids")
	case s.Source != "" && !of.isSource(s.Source):
		if err := of.otherMapping(s.Source); err != nil {
			return nil, err
		}
		return nil, Unfit(FieldSource, s.Source, fmt.Sprintf("one of the source %q: a checkpoint resumes only with the source that it began with", of.Source))
	}
	if s.Version == versionBatch && s.State.Totals.Read > 0 {
		s.Protocol = onlyProtocol
	}
	return &s, nil
}

// Checkpoint keeps a state for its one owner.
type Checkpoint interface {
	Open(ctx context.Context) (state []byte, err error)
	Save(ctx context.Context, state []byte) error
	Close() error
}

// Files are the checkpoint and the reject file of one run. Once they are open, they are safe for
// concurrent use.
type Files struct {
	Of

	Checkpoint Checkpoint     // nil: nothing is saved
	Rejects    *Rejects       // nil: the rejects go elsewhere
	Protocol   event.Protocol // as far as it is known when they are opened

	mu       sync.Mutex
	closed   bool
	isOld    bool // begun by a release that derived uuids from positions without a key
	hasSaved bool // in this run
	finished bool
	newest   ledger.State // that was saved; kept until the protocol is known
}

// Open opens the checkpoint and reads the state that earlier runs saved. If it returns an
// *[ops.InputError], the checkpoint is open.
func (f *Files) Open(ctx context.Context) (*Saved, error) {
	if f.Checkpoint == nil {
		return nil, nil //nolint:nilnil // nothing was saved
	}
	raw, err := f.Checkpoint.Open(ctx)
	if err != nil {
		return nil, err
	}
	resumed, err := ReadSaved(raw, f.Of)
	if resumed != nil {
		f.Protocol, f.newest, f.isOld = resumed.Protocol, resumed.State, !resumed.Keyed
	}
	return resumed, err
}

// Save makes the position durable, the rejects before it first.
func (f *Files) Save(ctx context.Context, s ledger.State) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Protocol == "" {
		f.newest = s
	}
	return f.write(ctx, s)
}

// HasSaved reports whether this run has saved a state.
func (f *Files) HasSaved() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hasSaved
}

// Decide saves the way in which events are sent, before the first event is sent.
func (f *Files) Decide(ctx context.Context, protocol event.Protocol) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Protocol = protocol
	err := f.write(ctx, f.newest)
	f.newest = ledger.State{}
	return err
}

// Finish saves the state of an import at the end of its source.
func (f *Files) Finish(ctx context.Context, s ledger.State) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finished = true
	return f.write(ctx, s)
}

var errClosed = errors.New("the import has ended")

// write syncs the reject file, and then saves a state: no state passes a reject that is not on disk. The caller holds the
// lock.
func (f *Files) write(ctx context.Context, s ledger.State) (err error) {
	defer func() {
		if err != nil {
			err = &event.StopError{Reason: event.StopCheckpoint, Err: err}
		}
	}()
	if f.closed {
		return errClosed
	}
	if f.Rejects != nil {
		if err := f.Rejects.Sync(); err != nil {
			return err
		}
	}
	saved := Saved{Version: stateVersion, Import: f.Import, Protocol: f.Protocol, Finished: f.finished, Keyed: !f.isOld, State: s}
	if s.Totals.Read > 0 { // before, another source or project may still be named
		saved.Source, saved.Target = f.Source, f.Target
	}
	if f.Sources != nil {
		saved.File = f.Sources.Fingerprint(s.Position)
	}
	raw, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	f.hasSaved = true
	return f.Checkpoint.Save(ctx, raw)
}

// Close closes the open files. An abandoned source cannot save anything afterwards.
func (f *Files) Close() (rejects, checkpoint error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.Rejects != nil {
		rejects = f.Rejects.Close()
	}
	if f.Checkpoint != nil {
		checkpoint = f.Checkpoint.Close()
	}
	return rejects, checkpoint
}
