package hogbeam

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
)

// BatchReceipt tells of events that a lane has sent and settled together: one request, or several where the service has refused one.
type BatchReceipt struct {
	Lane         int             `json:"lane"`
	Number       int             `json:"number"` // in its lane, from 1
	Acknowledged int             `json:"acknowledged"`
	Rejected     int             `json:"rejected"` // by the service
	First        hogapi.Position `json:"first"`    // in the order of the lane, which is by time
	Last         hogapi.Position `json:"last"`
	Oldest       time.Time       `json:"oldest"`
	Newest       time.Time       `json:"newest"`
}

// Reject is an event that is not in the service and will not be: refused by the gate or the service, or a record that made no event.
type Reject struct {
	Line     json.RawMessage `json:"line"` // as a reject file has it: mended, it can be imported again
	UUID     uuid.UUID       `json:"uuid"` // the record's own, else derived from the position, also where it made no event
	Position hogapi.Position `json:"position"`
	Reason   hogapi.Reason   `json:"reason"`
	Status   int             `json:"status,omitempty"` // of the service's answer; 0 where the gate refused
}

// newReject brings a reject of the core into a pipeline.
func newReject(r hogapi.Reject) (Reject, error) {
	line, err := r.Line()
	if err != nil {
		return Reject{}, fmt.Errorf("hogbeam: a reject at %s cannot be written down: %w", r.Position, err)
	}
	return Reject{Line: line, UUID: r.UUID, Position: r.Position, Reason: r.Err.Reason, Status: r.Status}, nil
}

// ledger adds up receipts.
type ledger struct {
	total  hogapi.Receipt
	placed bool                                 // First and Last are set
	days   map[hogapi.DayCount]*hogapi.DayCount // by day and name
	sum    digest
}

func newLedger(id string) *ledger {
	return &ledger{total: hogapi.Receipt{ID: id, Warnings: map[hogapi.Warning]int64{}}, days: map[hogapi.DayCount]*hogapi.DayCount{}}
}

// add counts the receipt of another part of the same import.
func (l *ledger) add(r hogapi.Receipt) error {
	t := &l.total
	if r.Acknowledged+r.Rejected > 0 {
		l.place(r.First)
		l.place(r.Last)
	}
	if r.Acknowledged > 0 {
		if t.Acknowledged == 0 || r.Oldest.Before(t.Oldest) {
			t.Oldest = r.Oldest
		}
		if r.Newest.After(t.Newest) {
			t.Newest = r.Newest
		}
	}
	t.Read += r.Read
	t.Acknowledged += r.Acknowledged
	t.Rejected += r.Rejected
	t.Pending += r.Pending
	t.Refused += r.Refused
	t.Resent += r.Resent
	for w, n := range r.Warnings {
		t.Warnings[w] += n
	}
	for _, d := range r.Days {
		l.count(d)
	}
	return l.sum.add(r.Digest)
}

// place widens First and Last. A lane sends by time, so any event may be the first or the last of its source.
func (l *ledger) place(at hogapi.Position) {
	if !l.placed || before(at, l.total.First) {
		l.total.First = at
	}
	if !l.placed || before(l.total.Last, at) {
		l.total.Last = at
	}
	l.placed = true
}

func (l *ledger) count(d hogapi.DayCount) {
	key := hogapi.DayCount{Day: d.Day, Event: d.Event}
	line := l.days[key]
	if line == nil {
		line = &hogapi.DayCount{Day: d.Day, Event: d.Event}
		l.days[key] = line
	}
	line.Acknowledged += d.Acknowledged
	line.Rejected += d.Rejected
}

// refuse counts an event that the lane's Capture has not taken.
func (l *ledger) refuse(ev *Event) {
	l.total.Read++
	l.total.Rejected++
	if ev.hasDay() {
		l.count(hogapi.DayCount{Day: ev.Timestamp.Format(time.DateOnly), Event: ev.Name, Rejected: 1})
	}
}

// hasDay says, as the core does, whether a refused event has a line in the table of days and names.
func (ev *Event) hasDay() bool {
	const longestName = 200
	year := ev.Timestamp.Year()
	return ev.Bad == "" && ev.Name != "" && utf8.ValidString(ev.Name) && utf8.RuneCountInString(ev.Name) <= longestName &&
		!ev.Timestamp.IsZero() && year >= 1 && year <= 9999
}

func (l *ledger) receipt() hogapi.Receipt {
	r := l.total
	r.Digest = l.sum.String()
	r.Days = make([]hogapi.DayCount, 0, len(l.days))
	for _, d := range l.days {
		r.Days = append(r.Days, *d)
	}
	slices.SortFunc(r.Days, func(a, b hogapi.DayCount) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), strings.Compare(a.Event, b.Event))
	})
	return r
}

func before(a, b hogapi.Position) bool {
	return cmp.Or(strings.Compare(a.Key, b.Key), cmp.Compare(a.Offset, b.Offset)) < 0
}

// digest is the sum of uuids as numbers of 128 bits, as the core's receipts have it.
type digest struct{ high, low uint64 }

func (d *digest) add(text string) error {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 16 {
		return errors.New("hogbeam: a receipt's digest is no number of 128 bits")
	}
	var carry uint64
	d.low, carry = bits.Add64(d.low, binary.BigEndian.Uint64(b[8:]), 0)
	d.high, _ = bits.Add64(d.high, binary.BigEndian.Uint64(b[:8]), carry)
	return nil
}

func (d *digest) String() string { return fmt.Sprintf("%016x%016x", d.high, d.low) }
