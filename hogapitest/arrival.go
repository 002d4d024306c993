package hogapitest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// HoldEvents hides the events that capture stores from now on from queries, until [Server.ReleaseEvents]: the
// service shows events minutes or hours after it has acknowledged them. The [Ledger] has them at once.
func (s *Server) HoldEvents() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.hold = true
}

// ReleaseEvents shows the n oldest held events to queries. A negative n shows all events, and later events are
// not held.
func (s *Server) ReleaseEvents(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.release(n)
	if n < 0 {
		s.table.hold = false
	}
}

// MergeEvents merges the copies of each event for queries, as the service does at some time. Copies have the
// same uuid, name, distinct id and UTC day, or with [WithNewerEvents] the same time. Until they are merged, count()
// counts each copy.
func (s *Server) MergeEvents() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.merge()
}

// LoseEvents hides n events of an import from queries, spread over the whole import, and returns their uuids.
// The [Ledger] still has them: they were acknowledged.
func (p *Project) LoseEvents(importID string, n int) []uuid.UUID {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	return p.server.table.ids(p.server.table.pick(p.id, importID, n))
}

// MoveEvents shifts the time of n events of an import for queries, spread over the whole import, and returns
// their uuids.
func (p *Project) MoveEvents(importID string, n int, by time.Duration) []uuid.UUID {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	t := &p.server.table
	rows := t.pick(p.id, importID, n)
	for _, i := range rows {
		r := &t.rows[i]
		r.setTime(r.at.Add(by))
		t.show(i)
	}
	return t.ids(rows)
}

// AddEvent adds an event that queries see, although no request to capture sent it. It uses the UUID, Event,
// DistinctID, Time, CreatedAt and Properties of e.
func (p *Project) AddEvent(e StoredEvent) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	if len(e.Properties) > 0 && !json.Valid(e.Properties) {
		panic(fmt.Sprintf("hogapitest: AddEvent: the properties are not JSON: %q", e.Properties))
	}
	added := &event{uuid: or(e.UUID, uuid.New()), name: e.Event, distinctID: e.DistinctID, at: or(e.Time, p.server.now()), properties: e.Properties}
	added.job = asText(added.special()[importID])
	p.server.table.add(p.id, added, or(e.CreatedAt, p.server.now()), false)
}
