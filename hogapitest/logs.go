package hogapitest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// LogEntry is one line of an export's log. Level is upper case: DEBUG, LOG, INFO, WARNING or ERROR. RunID says which run it is of, if any.
type LogEntry struct {
	Time    time.Time // now, where it is zero
	Level   string
	Message string
	RunID   uuid.UUID

	instance uuid.UUID
}

// log writes a line of a run.
func (e *export) log(r *run, at time.Time, level, message string) {
	e.logs = append(e.logs, LogEntry{Time: at, Level: level, Message: message, RunID: r.id, instance: r.workflow})
}

const (
	defaultLogs = 50
	maxLogs     = 500
)

var levels = []string{"DEBUG", "LOG", "INFO", "WARNING", "ERROR"}

func (s *Server) listExportLogs(r *request, e *export) answer {
	return s.logs(r, e, func(LogEntry) bool { return true })
}

// listRunLogs fails in the newest era, as the service does there: see [WithWorkingLogs].
func (s *Server) listRunLogs(r *request) answer {
	if !s.workingLogs {
		return serverError()
	}
	run, refusal := s.run(r)
	if refusal != nil {
		return *refusal
	}
	return s.logs(r, run.export, func(l LogEntry) bool { return l.RunID == run.id })
}

// logs answers with the newest lines that fit the query. The count is of the lines in this answer, and there is no next link.
func (s *Server) logs(r *request, e *export, mine func(LogEntry) bool) answer {
	fits, limit, refusal := logFilter(r)
	if refusal != nil {
		return *refusal
	}
	var found []LogEntry
	for _, l := range e.logs {
		if mine(l) && fits(l) {
			found = append(found, l)
		}
	}
	slices.SortStableFunc(found, func(a, b LogEntry) int { return b.Time.Compare(a.Time) })
	results := []any{}
	for _, l := range found[:min(limit, len(found))] {
		results = append(results, object{
			"log_source_id": e.id, "instance_id": l.instance, "timestamp": stamp(l.Time), "level": l.Level, "message": l.Message,
		})
	}
	return reply(http.StatusOK, object{"count": len(results), "next": nil, "previous": nil, "results": results})
}

func logFilter(r *request) (fits func(LogEntry) bool, limit int, refusal *answer) {
	c := &checker{}
	limit = defaultLogs
	if text := r.query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxLogs {
			c.fail("limit", "invalid_input", "Ensure this value is from 1 to 500.")
		}
		limit = n
	}
	var wanted []string
	for _, value := range r.query["level"] {
		for level := range strings.SplitSeq(value, ",") {
			level = strings.ToUpper(strings.TrimSpace(level))
			if !slices.Contains(levels, level) {
				c.fail("level", "invalid_choice", "\""+level+"\" is not a valid choice.")
			}
			wanted = append(wanted, level)
		}
	}
	bounds := map[string]time.Time{}
	for _, name := range []string{"after", "before"} {
		if text := r.query.Get(name); text != "" {
			t, ok := readISO(text)
			if !ok {
				c.fail(name, "invalid_input", "Datetime has wrong format.")
			}
			bounds[name] = t
		}
	}
	search, instance := strings.ToLower(r.query.Get("search")), r.query.Get("instance_id")
	return func(l LogEntry) bool {
		after, hasAfter := bounds["after"]
		before, hasBefore := bounds["before"]
		return (len(wanted) == 0 || slices.Contains(wanted, l.Level)) &&
			(!hasAfter || l.Time.After(after)) && (!hasBefore || l.Time.Before(before)) &&
			(search == "" || strings.Contains(strings.ToLower(l.Message), search)) &&
			(instance == "" || instance == l.instance.String())
	}, limit, c.problem
}
