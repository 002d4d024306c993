package ledger

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/uuidsum"
)

// Totals are a ledger's counts of committed events over all runs:
// Read = Acknowledged + Rejected + Unconfirmed + Skipped.
type Totals struct {
	Read             int64                   `json:"read"`
	Acknowledged     int64                   `json:"acknowledged"`
	Rejected         int64                   `json:"rejected"`
	Unconfirmed      int64                   `json:"unconfirmed,omitempty"`
	Skipped          int64                   `json:"skipped"`
	Resent           int64                   `json:"resent"`
	ResentAtLeast    bool                    `json:"resent_at_least,omitempty"`  // not known of all runs
	First            event.Position          `json:"first"`                      // position of a committed record
	Last             event.Position          `json:"last"`                       // position of a committed record
	Oldest           time.Time               `json:"oldest"`                     // of the acknowledged events
	Newest           time.Time               `json:"newest"`                     // of the acknowledged events
	LastAcknowledged time.Time               `json:"last_acknowledged,omitzero"` // time of the last acknowledgement
	Digest           Digest                  `json:"digest"`                     // of the acknowledged uuids
	Rejects          map[event.Reason]int64  `json:"rejects"`
	Skips            map[string]int64        `json:"skips"`
	Warnings         map[event.Warning]int64 `json:"warnings"`
	Shared           []Shared                `json:"shared,omitempty"` // the first events with the uuid of another event
}

// Shared is an event with the uuid of another event.
type Shared struct {
	Position event.Position `json:"place"`
	UUID     string         `json:"uuid"`
}

const maxShared = 5

// Counts returns the totals that have limits.
func (t *Totals) Counts() Counts {
	return Counts{t.Acknowledged, t.Rejected, t.Unconfirmed, t.Skipped}
}

// Counts are committed events, over all runs.
type Counts struct{ Acknowledged, Rejected, Unconfirmed, Skipped int64 }

// Rejects returns the number of rejected and unconfirmed events.
func (c Counts) Rejects() int64 { return c.Rejected + c.Unconfirmed }

// Live are current counts. They include events that are settled but not committed.
type Live struct {
	Read, Acknowledged, Rejected, Unconfirmed, Skipped, Resent int64
	InFlight                                                   int // not committed
}

// State is the part of a ledger that a checkpoint keeps.
type State struct {
	Position event.Position `json:"place"` // every record up to this position is settled
	Totals   Totals         `json:"totals"`
	Ahead    *int64         `json:"ahead,omitempty"` // events after Position that the service may have; nil: not known
	Table    savedTable     `json:"table"`           // see Rows
}

// UnmarshalJSON refuses counts that do not add up.
func (s *State) UnmarshalJSON(text []byte) error {
	type plain State
	var read plain
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	t := read.Totals
	if min(t.Acknowledged, t.Rejected, t.Unconfirmed, t.Skipped, t.Resent) < 0 ||
		t.Read != t.Acknowledged+t.Rejected+t.Unconfirmed+t.Skipped || read.Ahead != nil && *read.Ahead < 0 {
		return errors.New("the totals do not add up")
	}
	if _, err := read.Table.restore(maxRows); err != nil {
		return err
	}
	*s = State(read)
	return nil
}

// Rows returns the counts by day and name, sorted.
func (s State) Rows() []Row {
	t, err := s.Table.restore(maxRows)
	if err != nil {
		return nil // checked when it was read
	}
	return t.list()
}

// books are the counts of a ledger. They cover committed events only, so they can be saved with the
// position.
type books struct {
	totals   Totals
	table    *table
	warnings []event.Warning // names of the bits
}

func newBooks(warnings []event.Warning) *books {
	k := &books{table: newTable(maxRows), warnings: warnings}
	k.totals.own()
	return k
}

// own gives the totals maps that they share with no other totals.
func (t *Totals) own() {
	t.Rejects, t.Skips, t.Warnings = owned(t.Rejects), owned(t.Skips), owned(t.Warnings)
}

func owned[K ~string](counts map[K]int64) map[K]int64 {
	if counts == nil {
		return map[K]int64{}
	}
	return maps.Clone(counts)
}

// count counts one settled event, committed or not.
func (k *books) count(e *entry, reason string) {
	t := &k.totals
	t.Read++
	for i, name := range k.warnings[:min(len(k.warnings), bits.Len32(e.warnings))] {
		if e.warnings&(1<<i) != 0 {
			AddTo(t.Warnings, name, 1)
		}
	}
	if e.isConflict || e.isReuse {
		k.share(e)
	}
	switch e.state {
	case rejected, rejectedByService:
		t.Rejected++
		AddTo(t.Rejects, event.Reason(reason), 1)
		e.row.current().Rejected++
	case unconfirmed:
		t.Unconfirmed++
		row := e.row.current()
		row.Unconfirmed++
		row.Sent.Add(uuidsum.Of(e.id))
	case skipped:
		t.Skipped++
		AddTo(t.Skips, reason, 1)
	default:
		t.Acknowledged++
		if reason != "" {
			AddTo(t.Warnings, event.Warning(reason), 1)
		}
		t.Digest.add(e.id)
		row := e.row.current()
		row.Acknowledged++
		row.Sent.Add(uuidsum.Of(e.id))
		if t.Oldest.IsZero() || e.time.Before(t.Oldest) {
			t.Oldest = e.time
		}
		if e.time.After(t.Newest) {
			t.Newest = e.time
		}
	}
}

// share counts an event with the uuid of an earlier event.
func (k *books) share(e *entry) {
	t, warning := &k.totals, event.WarningUUIDReuse
	if e.isConflict {
		warning = event.WarningUUIDConflict
	}
	AddTo(t.Warnings, warning, 1)
	if len(t.Shared) < maxShared {
		t.Shared = append(slices.Clip(t.Shared), Shared{e.position, uuid.UUID(e.id).String()})
	}
}

// maxReasons bounds maps of counts, since callers may choose the keys.
const maxReasons = 200

// AddTo adds to a count in a bounded map; further keys count as [Other].
func AddTo[K ~string](counts map[K]int64, key K, n int64) {
	if _, known := counts[key]; !known && len(counts) >= maxReasons {
		key = Other
	}
	counts[key] += n
}

func (k *books) state(position event.Position) State {
	s := State{Position: position, Totals: k.totals, Table: k.table.save()}
	s.Totals.own()
	return s
}

func (k *books) restore(s State) error {
	t, err := s.Table.restore(maxRows)
	if err != nil {
		return err
	}
	k.table, k.totals = t, s.Totals
	k.totals.own()
	return nil
}

// Digest is the sum of uuids as 128-bit numbers. It does not depend on their order, and counting an
// event twice changes it.
type Digest struct{ high, low uint64 }

func (d *Digest) add(id [16]byte) {
	d.Add(Digest{binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])})
}

// Add adds the digest of further uuids.
func (d *Digest) Add(more Digest) {
	var carry uint64
	d.low, carry = bits.Add64(d.low, more.low, 0)
	d.high, _ = bits.Add64(d.high, more.high, carry)
}

// String returns the digest as 32 hexadecimal digits.
func (d Digest) String() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], d.high)
	binary.BigEndian.PutUint64(b[8:], d.low)
	return hex.EncodeToString(b[:])
}

// MarshalText is String.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the output of MarshalText.
func (d *Digest) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != 16 {
		return errors.New("a digest is not a number of 128 bits")
	}
	d.high, d.low = binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	return nil
}
