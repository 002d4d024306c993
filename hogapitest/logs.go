package hogapitest

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// LogEntry is one line of the log of an export or a file download. Level is upper case: DEBUG, INFO, WARNING or ERROR. RunID names
// the run of the line, if there is one.
type LogEntry struct {
	Time    time.Time // now, where it is zero
	Level   string
	Message string
	RunID   uuid.UUID

	instance uuid.UUID
}

func (s *Server) listExportLogs(r *request) answer {
	e := r.export()
	return s.showLogs(r, e.logs, e.ID)
}

func (s *Server) listDownloadLogs(r *request) answer {
	d := r.fileDownload()
	return s.showLogs(r, d.logs, d.ID)
}

// listRunLogs fails in E4, as the service does there: see [WithWorkingLogs].
func (s *Server) listRunLogs(r *request) answer {
	if !s.workingLogs {
		return serverError()
	}
	run := s.run(r)
	mine := slices.DeleteFunc(slices.Clone(run.export.logs), func(l LogEntry) bool { return l.RunID != run.ID })
	return s.showLogs(r, mine, run.export.ID)
}

// logDays is how far logs without a lower bound go back in E4.
const logDays = 7

// showLogs shows the newest lines that fit a query. The count is of the lines in this answer, and there is no next link.
func (s *Server) showLogs(r *request, lines []LogEntry, source uuid.UUID) answer {
	limit := 50
	r.number("limit", &limit, 500)
	wanted := strings.FieldsFunc(strings.ToUpper(strings.Join(r.query["level"], ",")), func(c rune) bool { return c == ',' || c == ' ' })
	var after, before time.Time
	if s.era == E4 {
		after = r.now.AddDate(0, 0, -logDays)
	}
	r.instant("after", &after)
	r.instant("before", &before)
	fits, instance := like(r.query.Get("search")), r.query.Get("instance_id")
	found := slices.DeleteFunc(slices.Clone(lines), func(l LogEntry) bool {
		return len(wanted) > 0 && !slices.Contains(wanted, l.Level) ||
			!l.Time.After(after) || !before.IsZero() && !l.Time.Before(before) ||
			!fits.MatchString(l.Message) || instance != "" && instance != l.instance.String()
	})
	slices.SortStableFunc(found, func(a, b LogEntry) int { return b.Time.Compare(a.Time) })
	results := shown(found[:min(limit, len(found))], func(l LogEntry) object {
		return object{"log_source_id": source, "instance_id": l.instance, "timestamp": stamp(l.Time), "level": l.Level, "message": l.Message}
	})
	return success(object{"count": len(results), "next": nil, "previous": nil, "results": results})
}

// like is a search as ILIKE does it: % and _ are wildcards, unless a backslash is before them.
func like(search string) *regexp.Regexp {
	var pattern strings.Builder
	for i := 0; i < len(search); i++ {
		switch c := search[i]; {
		case c == '%':
			pattern.WriteString(".*")
		case c == '_':
			pattern.WriteString(".")
		case c == '\\' && i+1 < len(search):
			i++
			fallthrough
		default:
			pattern.WriteString(regexp.QuoteMeta(search[i : i+1]))
		}
	}
	return regexp.MustCompile("(?is)" + pattern.String())
}
