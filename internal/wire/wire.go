// Package wire makes the bytes that are sent of an event's fields, or a refusal that says why the
// service would drop, change or ignore the event. It derives uuids, stamps what the library adds,
// and reads and writes events as lines of JSON.
//
// It knows nothing of sources, delivery or HTTP. An [Encoder] checks by the rules of a [Gate], an
// [Identity] gives a uuid to an event that has none, and a [LineParser] reads one record of a file.
package wire

import (
	"encoding/json"
	"hash/maphash"
	"time"

	"github.com/google/uuid"
)

// Fields are what an event is made of.
type Fields struct {
	Name          string
	DistinctID    string
	Timestamp     time.Time
	Properties    map[string]any
	RawProperties json.RawMessage // in place of Properties
	Set           map[string]any
	SetOnce       map[string]any
	UUID          uuid.UUID // nil: to be derived

	// Noted are the reserved ones of RawProperties, noted while they were read. Nil: the encoder reads
	// them.
	Noted *Reserved
}

// Encoded is an event as it is sent, except for a uuid that is derived once the event is accepted.
// Its bytes are valid until its encoder is used again.
type Encoded struct {
	Wire     []byte
	UUID     uuid.UUID // nil: to be derived
	Time     time.Time // in UTC: receipts are JSON, which cannot write every zone
	Person   uint64    // hash of the distinct id
	Warnings Warnings

	stamps stretch // of Wire: what this package adds
}

// Content is a hash of the event without what this package adds.
func (e *Encoded) Content(seed maphash.Seed) uint64 {
	return maphash.Bytes(seed, e.Wire[:e.stamps.from]) ^ 3*maphash.Bytes(seed, e.Wire[e.stamps.to:])
}

// stretch is where something stands in an event's bytes.
type stretch struct{ from, to int }

// Refusal is why an event is not sent.
type Refusal struct {
	Reason string // one of the constants below
	Field  string // where the fault is
	Value  string // what was refused, cut, and without keys; may be empty
	Want   string // what is allowed
	Err    error  // the cause; may be nil

	Also []*Refusal // further faults of the event
}

// Error names the reason and the cause. Callers make a better text of the fields.
func (r *Refusal) Error() string {
	text := r.Reason + ": " + r.Field + ": want " + r.Want
	if r.Err != nil {
		text += ": " + r.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// Reasons of a refusal.
const (
	ReasonNoName         = "no_name"
	ReasonDropped        = "dropped"
	ReasonNoDistinctID   = "no_distinct_id"
	ReasonTwoDistinctIDs = "two_distinct_ids"
	ReasonNUL            = "nul"
	ReasonTooLong        = "too_long"
	ReasonNoTimestamp    = "no_timestamp"
	ReasonBadTimestamp   = "bad_timestamp"
	ReasonFuture         = "future"
	ReasonTooYoung       = "too_young"
	ReasonBadUUID        = "bad_uuid"
	ReasonNoIdentity     = "no_identity"
	ReasonIdentityFull   = "identity_full"
	ReasonTooLarge       = "too_large"
	ReasonBadUTF8        = "bad_utf8"
	ReasonBadNumber      = "bad_number"
	ReasonBadProperties  = "bad_properties"
	ReasonBadSpecial     = "bad_special"
	ReasonBadMerge       = "bad_merge"
	ReasonDangerousMerge = "dangerous_merge"
	ReasonCookieless     = "cookieless"
)

// refuse makes a refusal that shows a value.
func refuse(reason, field, value, want string) *Refusal {
	return &Refusal{Reason: reason, Field: field, Value: shown(value), Want: want}
}

// joinRefusals is the first refusal with the others.
func joinRefusals(all ...*Refusal) (first *Refusal) {
	for _, refusal := range all {
		switch {
		case refusal == nil:
		case first == nil:
			first = refusal
		default:
			first.Also = append(first.Also, refusal)
		}
	}
	return first
}
