package hogapitest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// HoldEvents makes events that capture stores from now on stay out of queries until [Server.ReleaseEvents]: the service shows them
// minutes or hours after it has acknowledged them. The [Ledger] has them at once.
func (s *Server) HoldEvents() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.hold = true
}

// ReleaseEvents shows the n oldest of the events that are held to queries. A negative n shows all, and holds no more.
func (s *Server) ReleaseEvents(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.release(n)
	if n < 0 {
		s.table.hold = false
	}
}

// MergeEvents merges the copies of each event that queries see, as the service does at some time: one uuid with the same name, distinct
// id and UTC day. Until then count() counts each copy.
func (s *Server) MergeEvents() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.merge()
}

// LoseEvents hides n events of an import from queries, spread over all of it, and returns their uuids. The [Ledger]
// still has them: they were acknowledged.
func (p *Project) LoseEvents(importID string, n int) []uuid.UUID {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	return p.server.table.ids(p.server.table.pick(p.id, importID, n))
}

// MoveEvents shifts the time of n events of an import for queries, spread over all of it, and returns their uuids.
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

// AddEvent shows queries an event that no request to capture sent: its UUID, Event, DistinctID, Time and Properties.
func (p *Project) AddEvent(e StoredEvent) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	if len(e.Properties) > 0 && !json.Valid(e.Properties) {
		panic(fmt.Sprintf("hogapitest: AddEvent: the properties are not JSON: %q", e.Properties))
	}
	added := &event{uuid: or(e.UUID, uuid.New()), name: e.Event, distinctID: e.DistinctID, at: or(e.Time, p.server.now()), properties: e.Properties}
	added.job = asText(added.special()[importID])
	p.server.table.add(p.id, added, false)
}
