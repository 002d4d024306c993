package hogapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/wire"
)

// RejectFile writes rejects to a file for this user only, one JSON object a line: the event as it was
// or would have been sent, and the key "$reject" with
//
//   - reason, field, value, want, detail and status: why it was refused
//   - position and where: the record in its source
//   - raw, or raw_base64 where it is not UTF-8: the source's record, where it made no event or a mapping
//     changed it; of a line over 1 MiB its first 4 KiB
//   - left_out: what the line lacks, because JSON cannot hold it
//   - import: the ID of the import
//
// [RejectedRecords] reads the file as a source, with a corrected parser or mapping or after its lines
// were corrected by hand.
//
// Lines are only ever appended. They are on disk before the checkpoint passes them; after a crash the
// last ones may be there twice, with the same uuid, and RejectedRecords skips the second. The next run
// removes a last line that a crash has torn. One import at a time owns the file, by a lock on path.lock; another gets [ErrHeld]. A handler that
// wraps this one, or a Capture, has each line synced for itself.
func RejectFile(path string) RejectHandler { return &rejectFile{fs: durable.OS{}, path: path} }

type rejectFile struct {
	fs   durable.FS
	path string

	mu   sync.Mutex
	lock durable.Lock
	log  *durable.Log // nil: not open
	json jsonb.Encoder
}

// Reject implements RejectHandler, for callers that are not the import that has opened the file.
func (f *rejectFile) Reject(_ context.Context, r Reject) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.log != nil {
		return fmt.Errorf("%w: %s", ErrHeld, f.path)
	}
	if err := f.start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	return f.add(r, rejectedBy{})
}

// rejectedBy is what a line says of the import that writes it.
type rejectedBy struct {
	importID string
	isMapped bool // its source has a mapping
}

func (f *rejectFile) add(r Reject, by rejectedBy) error {
	line, err := r.line(&f.json, by)
	if err != nil {
		return err
	}
	return f.log.Append(line)
}

// open makes an import the owner of the file, and returns the handler that it uses.
func (f *rejectFile) open(by rejectedBy) (RejectHandler, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.log != nil {
		return nil, fmt.Errorf("%w: %s", ErrHeld, f.path)
	}
	return ownRejects{f, by}, f.start()
}

// ownRejects is a reject file in the hands of the import that has opened it.
type ownRejects struct {
	file *rejectFile
	by   rejectedBy
}

// Reject implements RejectHandler.
func (o ownRejects) Reject(_ context.Context, r Reject) error {
	o.file.mu.Lock()
	defer o.file.mu.Unlock()
	return o.file.add(r, o.by)
}

func (f *rejectFile) start() error {
	file, lock, err := ownFile(f.fs, f.path)
	if err != nil {
		return err
	}
	log, err := durable.OpenLog(f.fs, file)
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	f.lock, f.log = lock, log
	return nil
}

// sync makes durable what was added.
func (f *rejectFile) sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.lock.Check(), f.log.Sync())
}

func (f *rejectFile) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.end()
}

func (f *rejectFile) end() error {
	err := errors.Join(f.lock.Check(), f.log.Close(), f.lock.Close())
	f.log, f.lock = nil, nil
	return err
}

// rejectNote is the value of "$reject" in a line.
type rejectNote struct {
	Reason    Reason   `json:"reason,omitempty"`
	Field     string   `json:"field,omitempty"`
	Value     string   `json:"value,omitempty"`
	Want      string   `json:"want,omitempty"`
	Detail    string   `json:"detail,omitempty"`
	Also      []string `json:"also,omitempty"` // further faults
	Status    int      `json:"status,omitempty"`
	Position  Position `json:"position,omitzero"`
	Origin    Position `json:"origin,omitzero"` // where the uuid comes from, unless it is position
	Where     string   `json:"where,omitempty"`
	Raw       string   `json:"raw,omitempty"`
	RawBase64 []byte   `json:"raw_base64,omitempty"`
	LeftOut   []string `json:"left_out,omitempty"`
	Import    string   `json:"import,omitempty"`
	IsMapped  bool     `json:"mapped,omitempty"` // the import had a mapping
}

// raw is the source's record, nil where the line has none.
func (n *rejectNote) raw() []byte {
	if n.Raw != "" {
		return []byte(n.Raw)
	}
	return n.RawBase64
}

// checkCorrected refuses a line of a reject file that still lacks something. Other values of "$reject"
// are not of this package.
func checkCorrected(raw []byte, isEmpty bool) error {
	var note rejectNote
	ours := json.Unmarshal(raw, &note) == nil
	if ours && len(note.LeftOut) > 0 {
		return errors.New("a reject that lacks what $reject names as left_out: add that and remove $reject")
	}
	if ours && isEmpty {
		return errors.New("a rejected record that made no event: write the event in the line and remove $reject, or read the file with RejectedRecords")
	}
	return nil
}

// line is the reject as a line of JSON without its newline.
func (r Reject) line(enc *jsonb.Encoder, by rejectedBy) ([]byte, error) {
	note := rejectNote{
		Status: r.Status, Position: r.Position, Origin: r.origin, Where: mask.Clean(r.Where), LeftOut: r.leftOut,
		Import: by.importID, IsMapped: by.isMapped,
	}
	if e := r.Err; e != nil {
		note.Reason, note.Field, note.Value, note.Want = e.Reason, mask.Clean(e.Field), mask.Clean(e.Value), mask.Clean(e.Want)
		if e.Err != nil {
			note.Detail = mask.Clean(bare(e.Err).Error())
		}
		for _, other := range e.Also {
			note.Also = append(note.Also, mask.Clean(other.fault()))
		}
	}
	if utf8.Valid(r.Raw) {
		note.Raw = string(r.Raw)
	} else {
		note.RawBase64 = r.Raw
	}
	line, err := r.openEvent(enc)
	if err != nil {
		return nil, err
	}
	line, err = wire.AppendMember(enc, line, wire.RejectKey, note)
	return append(line, '}'), err
}

// openEvent is the reject's event as an object that is still open, on one line. It gets its uuid, to
// keep it when it is imported again; a record that made no event gets the uuid that its event would have.
func (r Reject) openEvent(enc *jsonb.Encoder) ([]byte, error) {
	if r.Event == nil {
		if r.UUID == uuid.Nil {
			return []byte{'{'}, nil
		}
		return wire.AppendMember(enc, []byte{'{'}, "uuid", r.UUID.String())
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.Event); err != nil {
		return nil, err
	}
	line := compact.Bytes()[:compact.Len()-1]
	if r.UUID == uuid.Nil || bytes.HasPrefix(line, []byte(`{"uuid":`)) {
		return line, nil
	}
	return wire.AppendMember(enc, line, "uuid", r.UUID.String())
}
