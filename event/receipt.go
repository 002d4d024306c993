package event

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
)

// Receipt accounts for every event of an import, over all its runs: Read = Acknowledged + Rejected +
// Unconfirmed + Skipped + Pending. Acknowledged means that the service has accepted an event, not that the
// event is visible: some hours later, history.Verify compares the receipt with the project.
type Receipt struct {
	ID       string   `json:"id"`
	Source   string   `json:"source,omitempty"`
	Protocol Protocol `json:"protocol,omitempty"` // how events were sent; empty if no event was sent
	// Finished means that the source was read to its end or the Capture was closed, and that every event is
	// settled.
	Finished     bool  `json:"finished"`
	Read         int64 `json:"read"`
	Acknowledged int64 `json:"acknowledged"`
	Rejected     int64 `json:"rejected"`
	// Unconfirmed events were sent, but it is not known whether the service has them: the reject handler got them
	// too.
	Unconfirmed int64 `json:"unconfirmed"`
	Skipped     int64 `json:"skipped"` // left out on purpose
	Pending     int64 `json:"pending"` // not settled: the next run sends them again
	Refused     int64 `json:"refused"` // records that Enqueue refused in this run; not taken
	// Resent counts events that were sent again, because an earlier try of their request or an earlier run may have
	// sent them. If a run was killed, or an older release has stopped it, the number of its events is not known:
	// ResentAtLeast is true, and Resent is a lower bound.
	Resent           int64     `json:"resent"`
	ResentAtLeast    bool      `json:"resent_at_least,omitempty"`
	First            Position  `json:"first"`                      // of the settled events
	Last             Position  `json:"last"`                       // of the settled events
	Oldest           time.Time `json:"oldest"`                     // of the acknowledged events
	Newest           time.Time `json:"newest"`                     // of the acknowledged events
	LastAcknowledged time.Time `json:"last_acknowledged,omitzero"` // when the newest acknowledgement came
	Digest           string    `json:"digest"`                     // of the acknowledged uuids; does not depend on their order

	// Days counts the events by day and name. If there are more than 10,000 rows, [DayCount] says how they are
	// rolled up.
	Days []DayCount `json:"days"`

	// Rejects and Skips count the rejected and the skipped events by reason. If there are more than 200 reasons,
	// "other" counts the events of the remaining ones.
	Rejects map[Reason]int64 `json:"rejects,omitempty"`
	Skips   map[string]int64 `json:"skips,omitempty"`

	// Warnings counts the settled events by warning; WarningWideBatch counts batches. The map also has the
	// service's own warnings about accepted events, in the service's words.
	Warnings map[Warning]int64 `json:"warnings,omitempty"`

	// SharedUUIDs are the first five events that have the uuid of an earlier, different event. The warnings
	// [WarningUUIDConflict] and [WarningUUIDReuse] count all such events. The import compares an event that
	// has its own uuid with the last 100,000 to 200,000 such events of the same run; history.Check compares it with the
	// first million of the source.
	SharedUUIDs []Example `json:"shared_uuids,omitempty"`
}

// DayCount counts the events of one name on one day in UTC. If a receipt would have more than 10,000 rows, its
// rows are by month and name instead; if these are still too many, they are by name alone. If there are more
// than 10,000 names, the last row, with the day and the event "other", counts the events of the remaining
// names.
type DayCount struct {
	// Day has the form 2006-01-02, or 2006-01 or "" if the rows were rolled up. It is empty for rejects without a
	// time.
	Day          string `json:"day"`
	Event        string `json:"event"` // empty for rejects without a name
	Acknowledged int64  `json:"acknowledged"`
	Rejected     int64  `json:"rejected"`
	Unconfirmed  int64  `json:"unconfirmed,omitempty"` // unconfirmed events: they may have arrived

	// Digest is a digest of the uuids of the acknowledged and unconfirmed events, independent of their order. It
	// has the number of uuids and two sums of 32-bit numbers: of the hexadecimal digits 17 to 24 of each uuid, and
	// of its last eight digits. It may be empty in a receipt of another release.
	Digest string `json:"digest,omitempty"`
}

// UnmarshalJSON reads the rows of receipts of v0.1.0 too, where unconfirmed events have the key "unsure".
func (d *DayCount) UnmarshalJSON(b []byte) error {
	type plain DayCount
	row := struct {
		*plain
		Unsure int64 `json:"unsure"`
	}{plain: (*plain)(d)}
	err := json.Unmarshal(b, &row)
	d.Unconfirmed += row.Unsure
	return err
}

// Example is one occurrence of a finding.
type Example struct {
	Position Position `json:"position"`
	Text     string   `json:"text,omitempty"`
}

// String returns the receipt as text of several lines, for people.
func (r Receipt) String() string {
	var b errtext.Text
	b.Add("import %q: read %d = acknowledged %d + rejected %d + ", r.ID, r.Read, r.Acknowledged, r.Rejected)
	b.AddIf(r.Unconfirmed > 0, "unconfirmed %d + ", r.Unconfirmed)
	b.AddIf(r.Skipped > 0, "skipped %d + ", r.Skipped)
	b.Add("pending %d\nresent ", r.Pending)
	b.AddIf(r.ResentAtLeast, "at least ")
	b.Add("%d", r.Resent)
	b.AddIf(r.Refused > 0, ", refused %d", r.Refused)
	b.AddIf(!r.Last.IsZero(), ", settled from %s to %s", r.First, r.Last)
	b.AddIf(r.Acknowledged > 0, "\nevents from %s to %s, digest %s", inUTC(r.Oldest), inUTC(r.Newest), r.Digest)
	names := map[string][2]int64{}
	for _, d := range r.Days {
		n := names[d.Event]
		names[d.Event] = [2]int64{n[0] + d.Acknowledged, n[1] + d.Rejected}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b.Add("\n  %-40s %12d acknowledged %8d rejected", mask.Shown(name), names[name][0], names[name][1])
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Rejects)) {
		b.Add("\n  rejected, %s: %d", mask.Shown(reason), r.Rejects[reason])
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Skips)) {
		b.Add("\n  skipped, %s: %d", mask.Shown(reason), r.Skips[reason])
	}
	for _, w := range slices.Sorted(maps.Keys(r.Warnings)) {
		b.Add("\n  warning, %s: %d", mask.Shown(w), r.Warnings[w])
		b.AddIf(w.Advice() != "", " (%s)", w.Advice())
	}
	for _, shared := range r.SharedUUIDs {
		b.Add("\n  a uuid of two events: %s at %s", shared.Text, shared.Position)
	}
	return b.String()
}

func inUTC(t time.Time) string { return t.UTC().Format(time.RFC3339) }
