package hogapitest

import (
	"cmp"
	"encoding/json"
	"hash/maphash"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Ledger lists the events that capture has stored, in the order in which they were stored. The service stores
// duplicates too, and may merge them much later.
type Ledger struct {
	ledgerBook

	byUUID func() []int32 // the rows by uuid, then by commit
}

// StoredEvent is one commit: an event that was stored once. In a compact ledger it has only the uuid, the name
// and the flags.
type StoredEvent struct {
	Commit     int // from 0
	UUID       uuid.UUID
	Event      string
	DistinctID string
	Timestamp  string          // as it was sent
	Time       time.Time       // as the service took it
	CreatedAt  time.Time       // only for AddEvent: when it arrived; now, where it is zero
	Properties json.RawMessage // on v1 with the service's own
	Raw        json.RawMessage // the event's own bytes, as they were sent
	Historical bool            // as stored: younger than 48 hours clears it
	Request    int             // number of the capture request, from 1

	Reason string // of a dropped event: "unknown key" or "over quota"; on v1 also the details of the result
}

// CaptureRequest is one request to capture with a valid batch.
type CaptureRequest struct {
	Number     int    // from 1
	Project    string // empty for a key that nobody has
	Historical bool   // the request's flag
	Gzip       bool
	Events     int // in the batch
	Stored     int // of them, commits
	Status     int // of the answer; 0 without an answer
	Delivered  bool
	At         time.Time
	Protocol   string // "batch" or "v1"
}

// row is one commit in the form that is always kept: hashes stand for the bytes.
type row struct {
	uuid       uuid.UUID
	identity   uint64 // event, distinct_id and timestamp, byte for byte
	content    uint64 // properties as JSON
	distinct   uint64
	name       int32
	day        int32 // since 1970
	request    int32
	historical bool
}

// ledgerBook is the server's side of the ledger. It only ever grows.
type ledgerBook struct {
	compact  bool
	rows     []row
	full     []event
	dropped  []StoredEvent
	requests []CaptureRequest
	names    interned
}

type interned struct {
	texts  []string
	number map[string]int32
}

func (t *interned) text(s string) int32 {
	n, ok := t.number[s]
	if !ok {
		if t.number == nil {
			t.number = map[string]int32{}
		}
		n = int32(len(t.texts))
		t.texts, t.number[s] = append(t.texts, s), n
	}
	return n
}

var seed = maphash.MakeSeed()

func (b *ledgerBook) begin(v *visit, r CaptureRequest, project *Project) {
	r.Number, r.At, r.Protocol = len(b.requests)+1, v.call.At, v.route.protocol.String()
	if project != nil {
		r.Project = project.id
	}
	b.requests = append(b.requests, r)
	v.ledger = r.Number
}

func (b *ledgerBook) commit(request int, e *event, dropped string) {
	if dropped != "" {
		d := e.stored()
		d.Request, d.Reason, d.Properties, d.Raw = request, dropped, nil, nil
		b.dropped = append(b.dropped, d)
		return
	}
	b.requests[request-1].Stored++
	b.rows = append(b.rows, row{
		uuid: e.uuid, identity: maphash.Comparable(seed, [3]string{e.name, e.distinctID, e.timestamp}), content: e.content, distinct: maphash.String(seed, e.distinctID),
		name: b.names.text(e.name), day: int32(floorDay(e.at)), request: int32(request), historical: e.historical,
	})
	if !b.compact {
		b.full = append(b.full, *e)
	}
}

func (b *ledgerBook) settle(request, status int, delivered bool) {
	if request > 0 {
		b.requests[request-1].Status, b.requests[request-1].Delivered = status, delivered
	}
}

// floorDay is the UTC day since 1970.
func floorDay(t time.Time) int64 { return int64(math.Floor(float64(t.Unix()) / 86400)) }

// Ledger returns the events that are stored at this moment.
func (s *Server) Ledger() *Ledger {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &Ledger{ledgerBook: s.ledger} // which only appends, but for its requests
	l.requests = slices.Clone(l.requests)
	l.byUUID = sync.OnceValue(l.sort)
	return l
}

func (l *Ledger) sort() []int32 {
	order := make([]int32, len(l.rows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(slices.Compare(l.rows[a].uuid[:], l.rows[b].uuid[:]), cmp.Compare(a, b))
	})
	return order
}

// Len returns the number of commits, including duplicates.
func (l *Ledger) Len() int { return len(l.rows) }

// Event returns a commit by its number, from 0.
func (l *Ledger) Event(i int) StoredEvent {
	r := l.rows[i]
	e := StoredEvent{UUID: r.uuid, Event: l.names.texts[r.name], Historical: r.historical}
	if i < len(l.full) {
		e = l.full[i].stored()
	}
	e.Commit, e.Request = i, int(r.request)
	return e
}

// Events yields all commits in order.
func (l *Ledger) Events() iter.Seq[StoredEvent] {
	return func(yield func(StoredEvent) bool) {
		for i := range l.rows {
			if !yield(l.Event(i)) {
				return
			}
		}
	}
}

// Last yields the last commit of each uuid, in the order of these commits.
func (l *Ledger) Last() iter.Seq[StoredEvent] {
	return func(yield func(StoredEvent) bool) {
		var last []int32
		for group := range l.groups() {
			last = append(last, group[len(group)-1])
		}
		slices.Sort(last)
		for _, i := range last {
			if !yield(l.Event(int(i))) {
				return
			}
		}
	}
}

func (l *Ledger) groups() iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		for order := l.byUUID(); len(order) > 0; {
			group := l.leading(order, l.rows[order[0]].uuid)
			if !yield(group) {
				return
			}
			order = order[len(group):]
		}
	}
}

// leading returns the rows of a uuid that a list begins with.
func (l *Ledger) leading(order []int32, id uuid.UUID) []int32 {
	n := 0
	for n < len(order) && l.rows[order[n]].uuid == id {
		n++
	}
	return order[:n]
}

// Find returns the commits of a uuid.
func (l *Ledger) Find(id uuid.UUID) []StoredEvent {
	var found []StoredEvent
	for _, i := range l.commits(id) {
		found = append(found, l.Event(int(i)))
	}
	return found
}

func (l *Ledger) commits(id uuid.UUID) []int32 {
	order := l.byUUID()
	from, _ := slices.BinarySearchFunc(order, id, func(i int32, id uuid.UUID) int { return slices.Compare(l.rows[i].uuid[:], id[:]) })
	return l.leading(order[from:], id)
}

// Unique returns the number of different uuids.
func (l *Ledger) Unique() int {
	n := 0
	for range l.groups() {
		n++
	}
	return n
}

// Duplicates returns the number of commits after the first one of each uuid.
func (l *Ledger) Duplicates() int { return l.Len() - l.Unique() }

// Missing returns the wanted uuids that are not stored.
func (l *Ledger) Missing(wanted []uuid.UUID) []uuid.UUID {
	var missing []uuid.UUID
	for _, id := range wanted {
		if len(l.commits(id)) == 0 {
			missing = append(missing, id)
		}
	}
	return missing
}

// Change is a uuid that was stored with two contents.
type Change struct {
	UUID          uuid.UUID
	First, Second StoredEvent
	Fields        bool // event, distinct_id or timestamp differ in a byte: the duplicates would not collapse
	Properties    bool // the properties differ as JSON, their numbers compared digit for digit
}

// Changed returns the uuids that were stored with different contents. It should be empty.
func (l *Ledger) Changed() []Change {
	var list []Change
	for group := range l.groups() {
		first := l.rows[group[0]]
		for _, i := range group[1:] {
			r := l.rows[i]
			if r.identity != first.identity || r.content != first.content {
				list = append(list, Change{first.uuid, l.Event(int(group[0])), l.Event(int(i)), r.identity != first.identity, r.content != first.content})
				break
			}
		}
	}
	return list
}

// Inversions counts the consecutive events of one distinct id that were stored in the wrong order, by the last
// commit of each uuid. The argument order lists the uuids in the right order; it may have uuids that were not
// stored.
func (l *Ledger) Inversions(order []uuid.UUID) int {
	latest := map[uint64]int32{}
	n := 0
	for _, id := range order {
		commits := l.commits(id)
		if len(commits) == 0 {
			continue
		}
		last := commits[len(commits)-1]
		who := l.rows[last].distinct
		if before, ok := latest[who]; ok && before > last {
			n++
		}
		latest[who] = last
	}
	return n
}

// EventDay is an event name and a UTC day ("2006-01-02").
type EventDay struct{ Event, Day string }

// Counts returns the number of uuids for each event name and day.
func (l *Ledger) Counts() map[EventDay]int {
	counts := map[EventDay]int{}
	for group := range l.groups() {
		r := l.rows[group[len(group)-1]]
		counts[EventDay{l.names.texts[r.name], time.Unix(int64(r.day)*86400, 0).UTC().Format(time.DateOnly)}]++
	}
	return counts
}

// Requests returns the requests with valid batches, in order.
func (l *Ledger) Requests() []CaptureRequest { return l.requests }

// Dropped returns the events that were answered with 200 but not stored: they were sent with an unknown key or
// over the quota, or capture v1 answered "drop".
func (l *Ledger) Dropped() []StoredEvent { return l.dropped }
