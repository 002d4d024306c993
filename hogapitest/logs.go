package hogapitest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// LogEntry is one line of an export's log. Level is upper case: DEBUG, LOG, INFO, WARNING or ERROR. RunID names
// the run of the line, if there is one.
type LogEntry struct {
	Time    time.Time // now, where it is zero
	Level   string
	Message string
	RunID   uuid.UUID

	instance uuid.UUID
}

var levels = []string{"DEBUG", "LOG", "INFO", "WARNING", "ERROR"}

func (s *Server) listExportLogs(r *request) answer {
	return r.export().logsFor(r, func(LogEntry) bool { return true })
}

// listRunLogs fails in the newest era, as the service does there: see [WithWorkingLogs].
func (s *Server) listRunLogs(r *request) answer {
	if !s.workingLogs {
		return serverError()
	}
	run := s.run(r)
	return run.export.logsFor(r, func(l LogEntry) bool { return l.RunID == run.ID })
}

// logsFor are the newest lines that fit a query. The count is of the lines in this answer, and there is no next link.
func (e *export) logsFor(r *request, mine func(LogEntry) bool) answer {
	limit := 50
	r.number("limit", &limit, 500)
	var wanted []string
	if r.query.Has("level") {
		wanted = strings.Split(strings.ToUpper(strings.ReplaceAll(strings.Join(r.query["level"], ","), " ", "")), ",")
	}
	for _, level := range wanted {
		if !slices.Contains(levels, level) {
			refuse(invalid("level", "invalid_choice", "\""+level+"\" is not a valid choice."))
		}
	}
	var after, before time.Time
	r.time("after", &after)
	r.time("before", &before)
	search, instance := strings.ToLower(r.query.Get("search")), r.query.Get("instance_id")
	found := slices.DeleteFunc(slices.Clone(e.logs), func(l LogEntry) bool {
		return !mine(l) || wanted != nil && !slices.Contains(wanted, l.Level) ||
			!l.Time.After(after) || !before.IsZero() && !l.Time.Before(before) ||
			!strings.Contains(strings.ToLower(l.Message), search) || instance != "" && instance != l.instance.String()
	})
	slices.SortStableFunc(found, func(a, b LogEntry) int { return b.Time.Compare(a.Time) })
	results := shown(found[:min(limit, len(found))], func(l LogEntry) object {
		return object{"log_source_id": e.ID, "instance_id": l.instance, "timestamp": stamp(l.Time), "level": l.Level, "message": l.Message}
	})
	return success(object{"count": len(results), "next": nil, "previous": nil, "results": results})
}

// activity is an entry of the activity log of an export.
type activity struct {
	id      uuid.UUID
	at      time.Time
	name    string // of the activity
	changes []object
}

// settings are the fields of an export that the activity log compares.
func (e *export) settings() object {
	offset := any(nil)
	if e.offsetDay != nil || e.offsetHour != nil {
		offset = 3600 * (24*deref(e.offsetDay) + deref(e.offsetHour))
	}
	return object{
		"name": e.Name, "interval": e.Interval, "timezone": e.Timezone, "interval_offset": offset, "paused": e.Paused,
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

// listActivity answers for the scope of batch exports and one item, which is what the client asks for.
func (s *Server) listActivity(r *request) answer {
	var rows []activity
	if id, err := uuid.Parse(r.query.Get("item_id")); err == nil && r.query.Get("scope") == "BatchExport" {
		rows = r.project.find(id).activities
	}
	return cursorPage(s, r, rows, true, 1000, func(a activity) uuid.UUID { return a.id }, func(a activity) object {
		return object{
			"id": a.id, "activity": a.name, "scope": "BatchExport", "item_id": r.query.Get("item_id"), "created_at": stamp(a.at),
			"detail": object{"changes": a.changes, "name": nil, "trigger": nil, "type": nil},
		}
	})
}
