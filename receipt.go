package hogapi

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/internal/verify"
)

// Stats is a snapshot of a running import. Its counts add up like the counts of a [Receipt].
type Stats struct {
	// Read is the number of events that the import has taken. This field and the next four include the events that
	// earlier runs of a resumed import have settled.
	Read         int64
	Acknowledged int64 // answered with a success
	Rejected     int64 // refused by the gate or the service, and handed to the reject handler
	Unconfirmed  int64 // sent, but their fate is unknown; handed to the reject handler
	Skipped      int64 // left out on purpose
	Refused      int64 // records that Enqueue refused; not taken
	Pending      int64 // not settled yet
	Resent       int64 // events that were sent again, because an earlier try may have sent them
	Total        int64 // ImportOptions.Total; 0 if unknown

	InFlight     int           // events read and not yet committed
	Bytes        int           // bytes held
	Requests     int64         // tries
	PlainBytes   int64         // of all tries, before compression
	WireBytes    int64         // of all tries, as sent
	Permits      int           // requests that may be under way at the same time; adapted to the answers
	Throttled    time.Duration // for which all requests waited, because of a Retry-After or an outage
	FailingSince time.Time     // zero while answers are good
	LastError    error         // why sending fails; nil while answers are good
	LastProgress time.Time     // of the newest acknowledgement
	Position     Position      // settled up to here
}

// String describes the snapshot in one line, with the last error if sending fails.
func (s Stats) String() string {
	var b errtext.Text
	b.Add("read %d", s.Read)
	b.AddIf(s.Total > 0, " of %d", s.Total)
	b.Add(", acknowledged %d, rejected %d, ", s.Acknowledged, s.Rejected)
	b.AddIf(s.Unconfirmed > 0, "unconfirmed %d, ", s.Unconfirmed)
	b.AddIf(s.Skipped > 0, "skipped %d, ", s.Skipped)
	b.Add("pending %d, resent %d", s.Pending, s.Resent)
	b.AddIf(s.LastError != nil, "; failing since %s: %v", s.FailingSince.UTC().Format(time.TimeOnly+" UTC"), bare(s.LastError))
	return b.String()
}

// Receipt accounts for every event of an import, over all its runs: Read = Acknowledged + Rejected +
// Unconfirmed + Skipped + Pending. Acknowledged means that the service has accepted an event, not that the
// event is visible: some hours later, [Client.Verify] compares the receipt with the project.
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

	// Warnings counts the settled events by warning; event.WarningWideBatch counts batches. The map also has the
	// service's own warnings about accepted events, in the service's words.
	Warnings map[Warning]int64 `json:"warnings,omitempty"`

	// SharedUUIDs are the first five events that have the uuid of an earlier, different event. The warnings
	// [event.WarningUUIDConflict] and [event.WarningUUIDReuse] count all such events. The import compares an event that
	// has its own uuid with the last 100,000 to 200,000 such events of the same run; [Check] compares it with the
	// first million of the source.
	SharedUUIDs []CheckExample `json:"shared_uuids,omitempty"`
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
	Unconfirmed  int64  `json:"unsure,omitempty"` // unconfirmed events: they may have arrived

	// Digest is a digest of the uuids of the acknowledged and unconfirmed events, independent of their order. It
	// has the number of uuids and two sums of 32-bit numbers: of the hexadecimal digits 17 to 24 of each uuid, and
	// of its last eight digits. It may be empty in a receipt of another release.
	Digest string `json:"digest,omitempty"`
}

func newReceipt(id, source string, s ledger.State[Position]) Receipt {
	t := s.Totals
	r := Receipt{
		ID: id, Source: source, Read: t.Read, Acknowledged: t.Acknowledged, Rejected: t.Rejected, Unconfirmed: t.Unconfirmed, Skipped: t.Skipped, Resent: t.Resent, ResentAtLeast: t.ResentAtLeast,
		First: t.First, Last: t.Last, Oldest: t.Oldest, Newest: t.Newest, LastAcknowledged: t.LastAcknowledged, Digest: t.Digest.String(), Days: []DayCount{},
		Rejects: map[Reason]int64{}, Skips: t.Skips, Warnings: map[Warning]int64{},
	}
	for reason, n := range t.Rejects {
		r.Rejects[Reason(reason)] = n
	}
	for w, n := range t.Warnings {
		r.Warnings[Warning(w)] = n
	}
	for _, shared := range t.Shared {
		r.SharedUUIDs = append(r.SharedUUIDs, CheckExample{shared.Position, shared.UUID})
	}
	for _, row := range s.Rows() {
		r.Days = append(r.Days, DayCount{row.Period, row.Name, row.Acknowledged, row.Rejected, row.Unconfirmed, row.Sent.String()})
	}
	return r
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

// Query is a HogQL query with the values of its placeholders, such as {job_id}. Its JSON is the value of
// "query" in the body of POST /api/projects/{id}/query/, which needs a key with the scope query:read.
type Query struct {
	HogQL  string
	Values map[string]any // by the names of the placeholders
}

// MarshalJSON returns the query as the service takes it.
func (q Query) MarshalJSON() ([]byte, error) { return json.Marshal(queries.Query(q)) }

// String returns the query with the values in place of the placeholders, for the project's SQL editor. Programs
// send the query as JSON.
func (q Query) String() string { return queries.Query(q).String() }

// TotalQuery returns the query that counts the events of this import in the project. Its one row has copies,
// uuids, first_time and last_time; uuids should equal Acknowledged. There are more copies than uuids until the
// service has merged events that were sent twice. The query covers the time of the events and one more day on
// each side.
//
// The service shows historical events some minutes to some hours after it has taken them. The query finds them
// by their property $import_job_id. It does not find an event that has an $import_job_id of its own
// ([event.WarningOwnJobID]), nor events from which the service removes properties, such as $feature_flag_called. If
// no event was acknowledged, the query is the zero Query.
func (r Receipt) TotalQuery() Query {
	if r.Acknowledged == 0 {
		return Query{}
	}
	return Query(verify.CountTotal(r.ID, verify.Days(r.Oldest, r.Newest).Wider(1)))
}

// CountQueries returns the queries that count the events of this import by day and name: one query for each
// month in UTC that has events, oldest first. A row has utc_day, event_name, copies and uuids; uuids should
// equal Acknowledged of the row in Days or, if Days was rolled up, add up to it. Equal counts do not prove that
// the events are the same; [Client.Verify] compares digests too. The service's days begin in 1970. An answer
// with 50,000 rows may be incomplete. [Receipt.TotalQuery] describes the events that a query does not find.
func (r Receipt) CountQueries() []Query {
	if r.Acknowledged == 0 {
		return nil
	}
	var list []Query
	var periods []string
	for _, row := range r.Days {
		if row.Acknowledged > 0 {
			periods = append(periods, row.Day)
		}
	}
	for _, month := range verify.Days(r.Oldest, r.Newest).MonthsOf(periods) {
		list = append(list, Query(verify.CountDays(r.ID, month)))
	}
	return list
}

// UUIDQuery returns the query that lists the uuids of a row of Days in the project, in the order of their
// texts. It begins after the uuid with the text after. Begin with "", and continue after the last uuid of an
// answer while answers have 10,000 rows. For the row "other", which counts the events of several names, the
// query is the zero Query.
func (r Receipt) UUIDQuery(row DayCount, after string) Query {
	if row.Day == ledger.Other {
		return Query{}
	}
	return Query(verify.ListUUIDs(r.ID, row.Event, after, verify.Days(r.Oldest, r.Newest).Period(row.Day)))
}
