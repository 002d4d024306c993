package hogapitest

import (
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
