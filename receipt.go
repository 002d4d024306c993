package hogapi

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Stats is a snapshot of a running import. Read = Acknowledged + Rejected + Pending.
type Stats struct {
	Read         int64 // events taken; this and the next two include what earlier runs of a resumed import have settled
	Acknowledged int64 // answered with a success
	Rejected     int64 // refused by the service or, in an import, by the gate
	Refused      int64 // by Enqueue's gate: not taken
	Pending      int64 // neither yet
	Resent       int64 // events in repeated requests
	Total        int64 // as ImportOptions.Total says; 0 when unknown

	InFlight     int   // events read and not yet committed
	Bytes        int   // of events held
	Requests     int64 // tries
	PlainBytes   int64 // of all tries, before compression
	WireBytes    int64 // of all tries, as sent
	Permits      int   // requests that may be under way at once, as adapted
	Throttled    time.Duration
	FailingSince time.Time // zero while answers are good
	LastProgress time.Time // of the newest acknowledgement
	Position     Position  // settled up to here
}

// String is the snapshot in a few words.
func (s Stats) String() string {
	of := ""
	if s.Total > 0 {
		of = fmt.Sprintf(" of %d", s.Total)
	}
	return fmt.Sprintf("read %d%s, acknowledged %d, rejected %d, pending %d, resent %d", s.Read, of, s.Acknowledged, s.Rejected, s.Pending, s.Resent)
}

// Receipt accounts for every event of an import, over all its runs: Read = Acknowledged + Rejected + Pending.
// Acknowledged means that the service has taken an event, not that it is visible: compare with [Receipt.HogQL] some hours later.
type Receipt struct {
	ID           string     `json:"id"`
	Source       string     `json:"source,omitempty"`
	Read         int64      `json:"read"`
	Acknowledged int64      `json:"acknowledged"`
	Rejected     int64      `json:"rejected"`
	Pending      int64      `json:"pending"` // not settled: they are sent again by the next run
	Refused      int64      `json:"refused"` // by Enqueue, of this run: they were never taken
	Resent       int64      `json:"resent"`  // in repeated requests of one run; what a killed run had under way comes on top
	First        Position   `json:"first"`   // of the events that are settled
	Last         Position   `json:"last"`    //
	Oldest       time.Time  `json:"oldest"`  // of the acknowledged events
	Newest       time.Time  `json:"newest"`  //
	Digest       string     `json:"digest"`  // of the acknowledged uuids, whatever their order
	Days         []DayCount `json:"days"`    // by day, then by name; without rejects that have no name or no time

	// Of the settled events; of WarnWideBatch it is the batches, those of all runs.
	Warnings map[Warning]int64 `json:"warnings,omitempty"`
}

// DayCount counts the events of one name on one day of UTC.
type DayCount struct {
	Day          string `json:"day"` // 2006-01-02; "other" for what did not fit the table
	Event        string `json:"event"`
	Acknowledged int64  `json:"acknowledged"`
	Rejected     int64  `json:"rejected"`
}

// String is the receipt as a short text.
func (r Receipt) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "import %q: read %d = acknowledged %d + rejected %d + pending %d", r.ID, r.Read, r.Acknowledged, r.Rejected, r.Pending)
	fmt.Fprintf(&b, "\nresent %d, refused %d, settled from %s to %s", r.Resent, r.Refused, r.First, r.Last)
	if r.Acknowledged > 0 {
		fmt.Fprintf(&b, "\nevents from %s to %s, digest %s", r.Oldest.UTC().Format(time.RFC3339), r.Newest.UTC().Format(time.RFC3339), r.Digest)
	}
	names := map[string][2]int64{}
	for _, d := range r.Days {
		n := names[d.Event]
		names[d.Event] = [2]int64{n[0] + d.Acknowledged, n[1] + d.Rejected}
	}
	for _, name := range sortedKeys(names) {
		fmt.Fprintf(&b, "\n  %-40s %12d acknowledged %8d rejected", name, names[name][0], names[name][1])
	}
	for _, w := range sortedKeys(r.Warnings) {
		fmt.Fprintf(&b, "\n  warning %s: %d", w, r.Warnings[w])
	}
	return b.String()
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// HogQL is a query for the project's SQL editor that counts this import's events per day and name. Its rows shall
// equal Days, but for those that were rejected. It finds the events by their property $import_job_id: one that an event had of its
// own, as rejects of the service have it of the import before, is kept. The service's days begin with 1970.
func (r Receipt) HogQL() string {
	literal := "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(r.ID) + "'"
	return "SELECT toDate(timestamp, 'UTC') AS day, event, count(DISTINCT uuid) AS events\n" +
		"FROM events\nWHERE properties.$import_job_id = " + literal +
		fmt.Sprintf("\n  AND timestamp >= toDateTime('%s', 'UTC') AND timestamp < toDateTime('%s', 'UTC')",
			r.Oldest.UTC().Format(time.DateTime), r.Newest.UTC().Add(time.Second).Format(time.DateTime)) +
		"\nGROUP BY day, event ORDER BY day, event LIMIT 50000"
}

// books are the counts behind a receipt. They cover what is committed, so they can be saved with the position.
type books struct {
	total Receipt // all but the days and the digest

	digest   digest
	tallies  map[tallyKey]*tally
	overflow *tally // for what does not fit the table
	recent   *tally // the newest found
}

type tallyKey struct {
	name string
	day  int64 // since 1970
}

// tally counts one name on one day.
type tally struct {
	tallyKey

	acknowledged, rejected int64
}

const (
	mostTallies = 50_000
	otherDay    = "other"
)

func newBooks(id, source string) *books {
	return &books{total: Receipt{ID: id, Source: source, Warnings: map[Warning]int64{}}, tallies: map[tallyKey]*tally{}}
}

// tallyReject finds the line for an event that the gate has refused, nil where no line can have its name and time.
func (k *books) tallyReject(ev *Event) *tally {
	const firstYear, lastYear = 1, 9999 // that a day in the table can have
	year := ev.Timestamp.UTC().Year()
	if ev.bad != nil || new(gate).name(ev.Name) != nil || !utf8.ValidString(ev.Name) ||
		ev.Timestamp.IsZero() || year < firstYear || year > lastYear {
		return nil
	}
	return k.tally(ev.Name, ev.Timestamp)
}

// tally finds the line for an event. Neighbours mostly share it.
func (k *books) tally(name string, at time.Time) *tally {
	seconds := at.Unix()
	d := seconds / 86_400
	if seconds%86_400 < 0 {
		d--
	}
	return k.line(tallyKey{name, d})
}

func (k *books) line(key tallyKey) *tally {
	if k.recent != nil && k.recent.tallyKey == key {
		return k.recent
	}
	t := k.tallies[key]
	switch {
	case t != nil:
	case len(k.tallies) < mostTallies:
		key.name = strings.Clone(key.name) // it may be a part of something larger
		t = &tally{tallyKey: key}
		k.tallies[key] = t
	default:
		if k.overflow == nil {
			k.overflow = &tally{}
		}
		t = k.overflow
	}
	k.recent = t
	return t
}

// enter books one committed event.
func (k *books) enter(e *entry) {
	widen(&k.total.First, &k.total.Last, e.pos)
	k.count(e)
}

// widen makes first and last reach to a position, if it is one.
func widen(first, last *Position, to Position) {
	if to.IsZero() {
		return
	}
	if first.IsZero() {
		*first = to
	}
	*last = to
}

// count adds one settled event, wherever it stands.
func (k *books) count(e *entry) {
	r := &k.total
	r.Read++
	for w := range e.warn.all {
		r.Warnings[w]++
	}
	if e.tally != nil && e.tally == k.overflow {
		r.Warnings[WarnManyNames]++
	}
	if e.state == entryRejected {
		r.Rejected++
		if e.tally != nil {
			e.tally.rejected++
		}
		return
	}
	r.Acknowledged++
	e.tally.acknowledged++
	k.digest.add(e.id)
	if r.Oldest.IsZero() || e.time.Before(r.Oldest) {
		r.Oldest = e.time
	}
	if e.time.After(r.Newest) {
		r.Newest = e.time
	}
}

// receipt is what the books say.
func (k *books) receipt() Receipt {
	r := k.total
	r.Digest = k.digest.String()
	r.Warnings = maps.Clone(r.Warnings)
	r.Days = []DayCount{}
	for _, t := range k.tallies {
		if t.acknowledged+t.rejected > 0 {
			r.Days = append(r.Days, DayCount{t.date(), t.name, t.acknowledged, t.rejected})
		}
	}
	slices.SortFunc(r.Days, func(a, b DayCount) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), strings.Compare(a.Event, b.Event))
	})
	if t := k.overflow; t != nil {
		r.Days = append(r.Days, DayCount{otherDay, otherDay, t.acknowledged, t.rejected})
	}
	return r
}

// restore makes books from a saved receipt, to go on from there.
func (r Receipt) restore() (*books, error) {
	k := newBooks(r.ID, r.Source)
	if err := k.digest.parse(r.Digest); err != nil {
		return nil, err
	}
	for _, d := range r.Days {
		if d.Day == otherDay {
			if k.overflow == nil {
				k.overflow = &tally{}
			}
			k.overflow.add(d)
			continue
		}
		at, err := time.Parse(time.DateOnly, d.Day)
		if err != nil {
			return nil, err
		}
		k.tally(d.Event, at).add(d)
	}
	k.recent = nil
	r.Days = nil
	if r.Warnings == nil {
		r.Warnings = map[Warning]int64{}
	}
	k.total = r
	return k, nil
}

// add takes over what a saved receipt has counted.
func (t *tally) add(d DayCount) {
	t.acknowledged += d.Acknowledged
	t.rejected += d.Rejected
}

func (t *tally) date() string { return time.Unix(t.day*86_400, 0).UTC().Format(time.DateOnly) }

// digest sums uuids as numbers of 128 bits: the same for the same uuids in any order, and for a double it differs.
type digest struct{ high, low uint64 }

func (d *digest) add(id uuid.UUID) {
	var carry uint64
	d.low, carry = bits.Add64(d.low, binary.BigEndian.Uint64(id[8:]), 0)
	d.high, _ = bits.Add64(d.high, binary.BigEndian.Uint64(id[:8]), carry)
}

func (d *digest) String() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], d.high)
	binary.BigEndian.PutUint64(b[8:], d.low)
	return hex.EncodeToString(b[:])
}

func (d *digest) parse(text string) error {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 16 {
		return errors.New("the digest is no number of 128 bits")
	}
	d.high, d.low = binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	return nil
}
