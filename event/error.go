package event

import (
	"errors"
	"strconv"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
)

// Sentinels of a Capture, which package hogapi has under the same names.
var (
	ErrFull   = errors.New("hogapi: the buffer is full")
	ErrClosed = errors.New("hogapi: closed")
)

// Error is the error of an event that the gate refuses or the service has rejected. It matches
// hogapi.ErrInvalid.
type Error struct {
	Reason   Reason
	Where    string   // the record in its file, such as "events.jsonl:17"; empty if that is not known
	Position Position // in the source; zero if the event has no Position
	Field    string   // the field with the fault
	Value    string   // the refused value, cut, and without keys; may be empty
	Want     string   // the allowed values
	Err      error    // the error of the source, the encoder or the service; may be nil

	Also []*Error // further faults that the gate found in the event: correct them too
}

// Error names the reason, the value, the allowed values and the position.
func (e *Error) Error() string {
	var b errtext.Text
	b.Add("hogapi: event refused: %s", e.Fault())
	for _, other := range e.Also {
		b.Add("; also %s", other.Fault())
	}
	b.AddIf(e.Where != "", " (%s, byte offset %d)", e.Where, e.Position.Offset)
	b.AddIf(e.Where == "" && !e.Position.IsZero(), " (at %s)", e.Position)
	return b.String()
}

// Fault describes the first fault: the reason, the value and the allowed values.
func (e *Error) Fault() string {
	var b errtext.Text
	b.Add("%s", mask.OneLine(string(e.Reason)))
	b.AddIf(e.Field != "", ": %s", mask.OneLine(e.Field))
	b.AddIf(e.Value != "", " %s", strconv.QuoteToGraphic(e.Value))
	b.AddIf(e.Want != "", ": want %s", mask.OneLine(e.Want))
	if e.Err != nil {
		b.Add(": %s", errtext.WithoutPrefix(e.Err))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches hogapi.ErrInvalid.
func (e *Error) Is(target error) bool { return target == errtext.ErrInvalid }
