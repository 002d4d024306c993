package hogapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// RejectFile writes rejects to a file for this user only, one JSON object a line: the event as it was or would have been
// sent, and the key "$reject" with
//
//   - reason, field, want, detail and status: why it was refused
//   - position: where it stands in the source
//   - raw, or raw_base64 where it is not UTF-8: the record that made no event; of a line over 1 MiB its first 4 KiB
//   - left_out: what the line lacks, because JSON cannot hold it
//   - by: the import that wrote the line, and from which source
//
// Mend the lines and import the file with [JSONLinesFile], which ignores "$reject"; it takes no line that has left_out still. Give that
// import an ID of its own.
//
// New lines go to the end of what the file holds. With a checkpoint the file is exact, whatever crashed: it has each reject once,
// since each run takes it back to the length that the checkpoint knows. So give each import a file of its own, and leave it alone
// until the import has ended: where others have added rejects, all is kept, and those of before a crash are there twice. A run that names another file than the one before
// goes on in it where it is new or empty, and is refused where it is not. Without a checkpoint, a second run adds its
// rejects to those of the first. One import at a time owns the file, by a lock on path.lock; another gets [ErrHeld].
//
// A handler that wraps this one, or a Capture, has each line synced for itself, and can have it twice after a crash; its lines have no "by".
func RejectFile(path string) RejectHandler { return &rejectFile{fs: durable.OS{}, path: path} }

type rejectFile struct {
	fs   durable.FS
	path string
	by   string // the import that has opened it

	mu   sync.Mutex
	lock io.Closer
	log  *durable.Log // nil: not open
	json jsonb.Encoder
}

// Reject implements RejectHandler.
func (f *rejectFile) Reject(_ context.Context, r Reject) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.log != nil {
		return fmt.Errorf("%w: %s", ErrHeld, f.path)
	}
	if err := f.start(durable.Whole, nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	return f.add(r, "")
}

func (f *rejectFile) add(r Reject, by string) error {
	line, err := r.line(&f.json, by)
	if err != nil {
		return err
	}
	return f.log.Append(line)
}

// ours implements rejectJournal.
func (f *rejectFile) ours() RejectHandler { return ownRejects{f} }

// ownRejects is a reject file in the hands of the import that has opened it.
type ownRejects struct{ file *rejectFile }

// Reject implements RejectHandler.
func (o ownRejects) Reject(_ context.Context, r Reject) error {
	o.file.mu.Lock()
	defer o.file.mu.Unlock()
	return o.file.add(r, o.file.by)
}

// name implements rejectJournal.
func (f *rejectFile) name() string {
	name := filepath.Clean(f.path)
	if !utf8.ValidString(name) {
		return strconv.Quote(name)
	}
	return name
}

// open implements rejectJournal.
func (f *rejectFile) open(by string, length int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.by = by
	return f.start(length, func(line []byte) bool { return !isRejectOfOthers(line, by) })
}

// rejectsBy names an import and its source, as its lines do.
func rejectsBy(importID, source string) string {
	digest := sha256.Sum256([]byte(source))
	return importID + "/" + hex.EncodeToString(digest[:6])
}

// isRejectOfOthers reports whether a line of a reject file, whole or torn, is known to be no reject of an import.
func isRejectOfOthers(line []byte, by string) bool {
	var of struct {
		Note rejectNote `json:"$reject"`
	}
	return json.Unmarshal(line, &of) == nil && of.Note.By != by
}

func (f *rejectFile) start(length int64, ours func(line []byte) bool) error {
	file, lock, err := ownFile(f.fs, f.path)
	if err != nil {
		return err
	}
	log, err := durable.OpenLog(f.fs, file, length, ours)
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	f.lock, f.log = lock, log
	return nil
}

// sync implements rejectJournal.
func (f *rejectFile) sync() (length int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Sync()
}

// close implements rejectJournal.
func (f *rejectFile) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.end()
}

func (f *rejectFile) end() error {
	err := errors.Join(f.log.Close(), f.lock.Close())
	f.log, f.lock = nil, nil
	return err
}

// rejectNote is what stands under "$reject" in a line.
type rejectNote struct {
	Reason    Reason   `json:"reason,omitempty"`
	Field     string   `json:"field,omitempty"`
	Want      string   `json:"want,omitempty"`
	Detail    string   `json:"detail,omitempty"`
	Status    int      `json:"status,omitempty"`
	Position  Position `json:"position,omitzero"`
	Raw       string   `json:"raw,omitempty"`
	RawBase64 []byte   `json:"raw_base64,omitempty"`
	LeftOut   []string `json:"left_out,omitempty"`
	By        string   `json:"by,omitempty"`
}

// rejectKey is the key of a line that the import passes over.
const rejectKey = "$reject"

// line is the reject as a line of JSON without its newline: the event, where there is one, and under "$reject" why it was refused.
func (r Reject) line(enc *jsonb.Encoder, by string) ([]byte, error) {
	note := rejectNote{Status: r.Status, Position: r.Position, LeftOut: r.leftOut, By: by}
	if e := r.Err; e != nil {
		note.Reason, note.Field, note.Want = e.Reason, clean(e.Field), clean(e.Want)
		if e.Err != nil {
			note.Detail = clean(e.Err.Error())
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
	line, err = appendMember(enc, line, rejectKey, note)
	return append(line, '}'), err
}

// openEvent is the reject's event as an object that is still open, on one line. It gets its uuid, to keep it when it is imported again,
// however often and whatever lines are mended before it; a record that made no event gets the one that its event would have.
func (r Reject) openEvent(enc *jsonb.Encoder) ([]byte, error) {
	if r.Event == nil {
		if r.UUID == uuid.Nil {
			return []byte{'{'}, nil
		}
		return appendMember(enc, []byte{'{'}, "uuid", r.UUID.String())
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.Event); err != nil {
		return nil, err
	}
	line := compact.Bytes()[:compact.Len()-1]
	if r.UUID == uuid.Nil || bytes.HasPrefix(line, []byte(`{"uuid":`)) {
		return line, nil
	}
	return appendMember(enc, line, "uuid", r.UUID.String())
}
