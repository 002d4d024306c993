package hogapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// Checkpointer keeps the state of an import between its runs. Import opens it, is its only owner until it closes it, and
// calls its methods one at a time. The state is a small JSON text that only this package reads.
type Checkpointer interface {
	// Open takes ownership and returns the saved state, nil where there is none yet. It fails at once where somebody else owns it.
	Open(ctx context.Context) (state []byte, err error)
	// Save replaces the state. When it returns, the state must survive a crash of the machine; when it fails, the old one must.
	Save(ctx context.Context, state []byte) error
	// Close gives the ownership up.
	Close() error
}

// savedState is what a checkpoint holds.
type savedState struct {
	Version int          `json:"version"`
	Import  string       `json:"import"`
	Source  string       `json:"source"`
	Place   settledPlace `json:"place"`
	Rejects int64        `json:"rejects"` // length of the reject file that belongs to this place
	Receipt Receipt      `json:"receipt"`

	books *books
}

const stateVersion = 1

// readState reads a checkpoint and refuses one of another import, source or version.
func readState(raw []byte, importID, source string) (*savedState, error) {
	if raw == nil {
		return nil, nil //nolint:nilnil // there is none yet
	}
	refuse := func(field, value, want string) error {
		return &InputError{Op: OpCapture, Field: "checkpoint: " + field, Value: value, Want: want}
	}
	var s savedState
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, refuse("state", "", "a state that this package has saved; this one cannot be read: "+clean(err.Error()))
	}
	switch {
	case s.Version != stateVersion:
		return nil, refuse("version", strconv.Itoa(s.Version), fmt.Sprintf("version %d: finish the import with the release that began it", stateVersion))
	case s.Import != importID:
		return nil, refuse("import", s.Import, fmt.Sprintf("%q: each import has a checkpoint of its own", importID))
	case s.Source != source:
		return nil, refuse("source", s.Source, fmt.Sprintf("%q: a checkpoint goes on only with the source that it began with", source))
	}
	var err error
	if s.books, err = s.Receipt.restore(); err != nil {
		return nil, refuse("receipt", "", "a receipt that this package has saved: "+clean(err.Error()))
	}
	return &s, nil
}
