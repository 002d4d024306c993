package hogapitest

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// activity is an entry of the activity log of an export.
type activity struct {
	id      uuid.UUID
	at      time.Time
	name    string // of the activity
	changes []object
}

// settings are the fields of an export that the activity log compares, by the names that it shows: a pause is "enabled", with
// the values of paused.
func (e *export) settings() object {
	offset := any(nil)
	if e.offsetDay != nil || e.offsetHour != nil {
		offset = 3600 * (24*deref(e.offsetDay) + deref(e.offsetHour))
	}
	return object{
		"name": e.Name, "interval": e.Interval, "timezone": e.Timezone, "interval_offset": offset, "enabled": e.Paused,
		"start_at": stampOrNil(e.StartAt), "end_at": stampOrNil(e.EndAt),
	}
}

func deref(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// logCreation begins the activity log.
func (e *export) logCreation() { e.log("created", e.Created, nil) }

// logEdit adds the changes since before to the activity log. Without a change, it adds no entry.
func (e *export) logEdit(before object, at time.Time) {
	var changes []object
	now := e.settings()
	for _, field := range slices.Sorted(maps.Keys(now)) {
		if before[field] != now[field] {
			action := "changed"
			if before[field] == nil {
				action = "created"
			} else if now[field] == nil {
				action = "deleted"
			}
			changes = append(changes, object{"type": "BatchExport", "action": action, "field": field, "before": before[field], "after": now[field]})
		}
	}
	if len(changes) > 0 {
		e.log("updated", at, changes)
	}
}

func (e *export) log(name string, at time.Time, changes []object) {
	e.activities = append(e.activities, activity{uuid.New(), at, name, changes})
	slices.SortStableFunc(e.activities, func(a, b activity) int { return a.at.Compare(b.at) })
}

// EditExport changes an export as at a time in the past, for a history with changes of settings.
func (p *Project) EditExport(exportID uuid.UUID, at time.Time, change func(*Export)) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	e := p.mustFind(exportID)
	e.catchUp(at)
	before := e.settings()
	wasPaused := e.Paused
	change(&e.Export)
	if e.updated = at; e.Paused && !wasPaused {
		e.LastPaused = at
	}
	e.logEdit(before, at)
}

// listActivity answers for the scope of batch exports and one item, as the client requests.
func (s *Server) listActivity(r *request) answer {
	size := 100
	r.number("page_size", &size, 1000)
	var rows []activity
	if id, err := uuid.Parse(r.query.Get("item_id")); err == nil && r.query.Get("scope") == "BatchExport" {
		rows = r.project.find(id).activities
	}
	return cursorPage(s, r, rows, true, size, func(a activity) uuid.UUID { return a.id }, func(a activity) object {
		return object{
			"id": a.id, "activity": a.name, "scope": "BatchExport", "item_id": r.query.Get("item_id"), "created_at": stamp(a.at),
			"user": defaultUser(), "unread": false, "team_id": r.project.team, "organization_id": organizationID, "was_impersonated": false,
			"is_system": false, "client": nil, "ip_address": nil,
			"detail": object{"changes": a.changes, "name": nil, "trigger": nil, "type": nil},
		}
	})
}

const organizationID = "0190e0a2-0000-7000-8000-00000000000a"
