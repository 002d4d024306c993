package coverage

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/configs"
	calendar "github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/pages"
)

// addsInParts reports whether a run adds rows to the table in several transactions: see [configs.WritesInParts]. The service
// merges persons and sessions.
func (e export) addsInParts() bool {
	isAdded := e.Model == "" || e.Model == hogapi.ModelEvents || e.Model == hogapi.ModelHogQL && !e.model().AllRows
	return isAdded && configs.WritesInParts(string(e.Destination.Type), e.Destination.Config)
}

// leavers returns the runs that may have added rows of some spans.
func (e export) leavers(spans []calendar.Span, runs []Run) []Run {
	return rules{inParts: e.addsInParts()}.leavers(spans, runs)
}

// leftoversText says which rows may be in the table, after a failed run or according to a comparison, and what to do.
func leftoversText(x calendar.Span, comparedAt time.Time) string {
	from, to, why := outgoing.Time(x.Start), outgoing.Time(x.End), "may be in the table already, from a run that did not complete"
	if !comparedAt.IsZero() {
		why = "are in the table in part, by the comparison of " + outgoing.Time(comparedAt)
	}
	return "rows that arrived from " + from + " to " + to + " " + why + ": a repair would duplicate them. Compare that time with package reconcile: " +
		"Report.Mark tells MakePlan which gaps are empty, and Report.Repair has the statement that removes duplicates. " +
		"To export the rows anyway, plan and repair with RepairOptions.AcceptCopies, and remove the duplicates afterwards"
}

// begunAttempt is the line that the service logs when an attempt of a run begins to write.
var begunAttempt = regexp.MustCompile(`^Batch exporting range (\S+) - (\S+) to (?:PostgreSQL|Redshift)\b`)

// maxLogPages bounds the pages of the export's log that are read.
const maxLogPages = 10

// readAttempts finds the number of attempts of the runs that have been read. The service shows it in the log of the export
// only, where each attempt begins with a line. The note says why the log was not read.
func (r *reader) readAttempts(ctx context.Context, runs []Run) (note string, err error) {
	if !r.export.addsInParts() || len(runs) == 0 {
		return "", nil
	}
	type workflow struct {
		id   string
		span calendar.Span
	}
	attempts, first := map[workflow]int{}, map[workflow]time.Time{}
	o := &hogapi.LogOptions{After: r.from.Add(-calendar.ClocksApart), Search: "Batch exporting range", MaxPages: maxLogPages}
	for line, err := range r.BatchExports.AllLogs(ctx, r.export.ID, o) {
		if _, isUnread := errors.AsType[*hogapi.RowError](err); isUnread {
			continue // one line
		}
		if err != nil {
			if _, isAnswer := errors.AsType[*hogapi.APIError](err); isAnswer || errors.Is(err, pages.ErrPageLimit) {
				note = unreadAttempts(err)
				break
			}
			return "", bridge.FromTheStart(err)
		}
		if parts := begunAttempt.FindStringSubmatch(line.Message); parts != nil {
			start, _ := time.Parse(time.RFC3339, parts[1]) // zero for START
			end, _ := time.Parse(time.RFC3339, parts[2])
			of := workflow{line.InstanceID, calendar.NewSpan(start, end)}
			attempts[of], first[of] = attempts[of]+1, line.Timestamp // newest first
		}
	}
	for of, n := range attempts {
		for i := range runs { // newest first
			run := &runs[i]
			if run.span() == of.span && !run.CreatedAt.After(first[of].Add(calendar.ClocksApart)) {
				run.Attempts = n
				break
			}
		}
	}
	return note, nil
}

// isTwice reports whether rows of an exported interval are perhaps twice in the table.
func (x Interval) isTwice() bool { return x.Leftovers && !x.State.IsGap() }

// notesOfCopies says which intervals are perhaps twice in the table.
func (c *Coverage) notesOfCopies(unread string) (notes []string) {
	n := 0
	for _, x := range c.Intervals {
		if x.isTwice() {
			n++
		}
	}
	if n > 0 {
		notes = append(notes, fmt.Sprintf("%s perhaps twice in the table: several runs or attempts wrote there. Compare the rows with package reconcile, "+
			"and remove the copies by its statement.", counted(n, "interval")))
	}
	if unread != "" {
		notes = append(notes, unread)
	}
	return notes
}

func unreadAttempts(err error) string {
	if api, ok := errors.AsType[*hogapi.APIError](err); ok {
		return fmt.Sprintf("The log of the export cannot be read: status %d. So it is unknown whether a run needed several attempts and wrote rows twice.", api.StatusCode)
	}
	return fmt.Sprintf("Only the newest %d pages of the export's log are read: it is unknown whether older runs needed several attempts.", maxLogPages)
}
