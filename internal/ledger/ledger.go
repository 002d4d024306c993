// Package ledger keeps account of an import: the outcome of each event, and how far the settled
// records reach without a gap. It does no I/O.
//
// A record is one unit of a source, usually one event, sometimes several. Records are committed
// whole and in the order in which they were taken, so a later run resumes at the position of the
// newest committed record.
package ledger

import (
	"sync"
	"time"

	"github.com/hogapi/hogapi/event"
)

// Ledger counts the events of one import. It is safe for concurrent use.
type Ledger struct {
	mu       sync.Mutex
	window   window
	details  map[uint64]detail // of the events that have one
	books    *books
	recent   Recent[Word]   // uuids of committed events
	position event.Position // of the newest committed record with a position

	read, acknowledged int64 // live, over all runs
	pending            int   // events not settled
	settled            int   // events settled but not committed
	accepted           bool  // the service has accepted an event in this run

	concluded *State // set by Conclude: the committed state before it
}

// detail holds further data of an event that is rejected, unconfirmed or skipped, or that the
// service remarked on.
type detail struct {
	reason string
	held   int
}

// Event is the ledger's view of an event.
type Event struct {
	Position event.Position // of its record
	ID       [16]byte       // its uuid
	Name     string         // may be empty if rejected
	Time     time.Time      // may be zero if rejected
	Warnings uint32         // bits, in the order of the names passed to New
	Word     Word           // 0: no other event has its uuid
	Held     int            // bytes held for it until it is committed
	Begins   bool           // first event of a record: the previous record is complete
	Ends     bool           // last event of the record
}

// New returns an empty ledger. The warnings are the names of the bits in [Event.Warnings].
func New(warnings ...event.Warning) *Ledger {
	return &Ledger{details: map[uint64]detail{}, books: newBooks(warnings)}
}

// Resume returns a ledger that continues from the state of an earlier run.
func Resume(s State, warnings ...event.Warning) (*Ledger, error) {
	l := New(warnings...)
	if err := l.books.restore(s); err != nil {
		return nil, err
	}
	l.position = s.Position
	l.read, l.acknowledged = s.Totals.Read, s.Totals.Acknowledged
	if s.Ahead == nil {
		l.books.totals.ResentAtLeast = true
		return l, nil
	}
	l.books.totals.Resent += *s.Ahead // the next events are sent once more
	return l, nil
}

// Take admits an event that will be sent, and returns its sequence number.
func (l *Ledger) Take(e Event) (seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending++
	return l.push(e, pending, l.books.table.find(e.Name, e.Time))
}

// Reject admits an event that is rejected before sending.
func (l *Ledger) Reject(e Event, reason event.Reason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled++
	l.details[l.push(e, rejected, l.books.table.find(e.Name, e.Time))] = detail{reason: string(reason)}
}

// Skip admits an event that is omitted on purpose.
func (l *Ledger) Skip(e Event, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled++
	l.details[l.push(e, skipped, nil)] = detail{reason: reason}
}

func (l *Ledger) push(e Event, s state, in *row) uint64 {
	l.read++
	if e.Begins {
		l.end()
	}
	return l.window.push(entry{
		position: e.Position, id: e.ID, time: e.Time, row: in, held: e.Held, warnings: e.Warnings, state: s, word: e.Word, ends: e.Ends,
	})
}

// End completes the newest record.
func (l *Ledger) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

func (l *Ledger) end() {
	if l.window.len() > 0 {
		l.window.at(l.window.next - 1).ends = true
	}
}

// Warn adds warnings about an event that is not settled yet.
func (l *Ledger) Warn(seq uint64, warnings uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.window.at(seq).warnings |= warnings
}

// Reword replaces the word of an event that is not settled yet.
func (l *Ledger) Reword(seq uint64, word Word) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.window.at(seq).word = word
}

// Count adds to a warning that is not about a single event.
func (l *Ledger) Count(warning event.Warning, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	AddTo(l.books.totals.Warnings, warning, n)
}

// Resent counts events that were sent once more.
func (l *Ledger) Resent(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.books.totals.Resent += int64(n)
}

// Sent notes that the service may have events.
func (l *Ledger) Sent(seqs []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, seq := range seqs {
		l.window.at(seq).sent = true
	}
}

// Remark adds the service's own warning about an event just before its acknowledgement.
func (l *Ledger) Remark(seq uint64, warning string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.details[seq] = detail{reason: warning}
}

// Acknowledge settles events that the service has accepted.
func (l *Ledger) Acknowledge(seqs []uint64, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, seq := range seqs {
		l.window.at(seq).state = acknowledged
	}
	l.acknowledged += int64(len(seqs))
	l.books.totals.LastAcknowledged = at.UTC()
	l.pending -= len(seqs)
	l.settled += len(seqs)
	l.accepted = true
}

// RejectSent settles an event that the service has rejected. held are additional bytes, held for its
// reject until the commit.
func (l *Ledger) RejectSent(seq uint64, reason event.Reason, held int) {
	l.markRejected(seq, rejectedByService, detail{string(reason), held})
}

// Unconfirm settles an event with an unknown outcome. It is passed on as a reject; held is as for
// RejectSent.
func (l *Ledger) Unconfirm(seq uint64, held int) {
	l.markRejected(seq, unconfirmed, detail{held: held})
}

func (l *Ledger) markRejected(seq uint64, to state, d detail) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.window.at(seq)
	e.state, e.sent = to, true
	l.details[seq] = d
	l.pending--
	l.settled++
}

// Find returns the position and the uuid of an event that is not settled yet.
func (l *Ledger) Find(seq uint64) (position event.Position, id [16]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.window.at(seq)
	return e.position, e.id
}

// Front returns how many events at the front can be committed, and the numbers of the rejected ones, counted from the front. It
// counts whole, settled records only. Until the service has accepted an event, a rejected or unnamed
// event waits as long as other events may still be accepted: a server that accepts nothing may not
// be the service.
func (l *Ledger) Front() (n int, rejects []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := 0; i < l.window.len() && l.concluded == nil; i++ {
		seq := l.window.first + uint64(i)
		e := l.window.at(seq)
		if e.state == pending || e.isLateReject() && !l.accepted && l.pending > 0 {
			break
		}
		if e.ends {
			n = i + 1
		}
	}
	if len(l.details) == 0 {
		return n, nil
	}
	for i := range n {
		seq := l.window.first + uint64(i)
		if e := l.window.at(seq); e.state == rejected || e.isLateReject() {
			rejects = append(rejects, i)
		}
	}
	return n, rejects
}

// WholeBefore returns how many of the first events, up to a number, form whole records.
func (l *Ledger) WholeBefore(number int) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range number {
		if l.window.at(l.window.first + uint64(i)).ends {
			n = i + 1
		}
	}
	return n
}

// Commit counts n events at the front and removes them. It returns the bytes held for them.
func (l *Ledger) Commit(n int) (held int) {
	const step = 4096 // release the lock in between
	for n > 0 {
		now := min(n, step)
		held += l.commit(now)
		n -= now
	}
	return held
}

func (l *Ledger) commit(n int) (held int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.concluded != nil {
		return 0
	}
	for i := range n { // a loop of its own, so that its accesses to memory overlap
		l.compare(l.window.at(l.window.first + uint64(i)))
	}
	for range n {
		seq := l.window.first
		e := l.window.pop()
		held += e.held
		d, has := l.details[seq]
		if has {
			held += d.held
			delete(l.details, seq)
		}
		if t := &l.books.totals; !e.position.IsZero() {
			if t.First.IsZero() {
				t.First = e.position
			}
			if t.Last = e.position; e.ends {
				l.position = e.position
			}
		}
		l.books.count(&e, d.reason)
	}
	l.settled -= n
	return held
}

// compare compares an event with the first event of its uuid.
func (l *Ledger) compare(e *entry) {
	if e.word != 0 {
		e.isConflict, e.isReuse = e.word.Compare(l.recent.First(e.id, e.word))
	}
}

// Next returns the next event's sequence number.
func (l *Ledger) Next() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.window.next
}

// First returns the sequence number of the oldest event that is not committed.
func (l *Ledger) First() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.window.first
}

// Settled returns how many events are settled but not committed.
func (l *Ledger) Settled() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.settled
}

// State returns the committed state.
func (l *Ledger) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.concluded != nil {
		return *l.concluded
	}
	return l.books.state(l.position)
}

// LastState returns the committed state of a run that sends nothing more, with the number of events after it that
// the service may have.
func (l *Ledger) LastState() State {
	s := l.State()
	l.mu.Lock()
	defer l.mu.Unlock()
	ahead := int64(0)
	for seq := l.window.first; seq < l.window.next; seq++ {
		if e := l.window.at(seq); e.sent || e.state == acknowledged {
			ahead++
		}
	}
	s.Ahead = &ahead
	return s
}

// Counts returns the committed counts.
func (l *Ledger) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.books.totals.Counts()
}

// Position returns the position of the newest committed record that has one.
func (l *Ledger) Position() event.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.position
}

// Live returns the current counts.
func (l *Ledger) Live() Live {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &l.books.totals
	return Live{
		Read: l.read, Acknowledged: l.acknowledged, Rejected: t.Rejected, Unconfirmed: t.Unconfirmed,
		Skipped: t.Skipped, Resent: t.Resent, InFlight: l.window.len(),
	}
}

// Conclude also counts events accepted after a gap, and returns the final state and the unsettled
// events. A commit after it changes nothing.
func (l *Ledger) Conclude() (State, []event.UnsettledEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.books.state(l.position)
	l.concluded = &before
	var open []event.UnsettledEvent
	number := 0
	for seq := l.window.first; seq < l.window.next; seq++ {
		e := l.window.at(seq)
		switch e.state {
		case acknowledged, skipped:
			l.compare(e)
			l.books.count(e, l.details[seq].reason)
		default:
			open = append(open, event.UnsettledEvent{UUID: e.id, Position: e.position, Number: number, Sent: e.sent})
		}
		if number++; e.ends {
			number = 0
		}
	}
	return l.books.state(l.position), open
}
