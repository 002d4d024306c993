package hogapitest

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Exported is a part of what an export has written: an object, or the rows that one run has added to a table.
type Exported struct {
	Key    string      // of an object: the prefix and the interval, without the run; empty in a table
	RunID  uuid.UUID   // the run that wrote it
	Events []uuid.UUID // each event once a run
}

// ExportEvents makes the runs that begin from now on export the events of the project, instead of numbers that are
// made up. It concerns exports of the model events without [Project.ExportRows]. A run of the schedule takes the
// events that arrived in its interval. So does a run of a backfill or a retry, unless the whole backfill began too
// long ago: 8 days in [E4], always in [E1]. Then, and to Workflows, it takes the
// events with a timestamp in the interval. A backfill without an event by timestamp makes no run.
//
// A run writes when it completes. In an object store, the object of an interval replaces an earlier one; a run
// without events leaves it. Elsewhere, rows are added. Runs of AddRun write nothing. Of an export's filters, only
// the names of events count.
//
// File downloads then take the events that arrived in their interval too. If it began more than 8 days ago, those
// with a timestamp from 7 days before it to a day after it.
func (p *Project) ExportEvents() {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.exportsEvents = true
}

// Exported returns what the runs of an export have written, see [Project.ExportEvents]: the objects by their first
// write, or the rows of each run.
func (p *Project) Exported(exportID uuid.UUID) []Exported {
	return seen(p, func() []Exported { return p.mustFind(exportID).exported }, func(x Exported) Exported {
		x.Events = slices.Clone(x.Events)
		return x
	})
}

// recentDays is how long a backfill can choose events by their arrival.
var recentDays = map[Era]int{E4: 8}

// exportsEvents reports whether the runs of the export take the project's events.
func (e *export) exportsEvents() bool {
	return e.project.exportsEvents && e.project.exportRows == nil && e.Model == "events"
}

// choose returns the events of a run that begins, without copies of an event.
func (e *export) choose(x Run) (events []uuid.UUID) {
	isOld := x.BackfillID != uuid.Nil && x.backfill.Before(x.Created.AddDate(0, 0, -recentDays[e.project.server.era]))
	seen := map[eventKey]bool{}
	for _, i := range e.project.rows(span{x.Start, x.End}, isOld || e.kind == "Workflows", e.names("include_events"), e.names("exclude_events")) {
		if key := e.project.server.table.rows[i].eventKey(); !seen[key] {
			seen[key] = true
			events = append(events, key.id)
		}
	}
	return events
}

// estimate returns how many records a backfill expects in an interval: by timestamp, with copies.
func (e *export) estimate(x span) int {
	if e.exportsEvents() {
		return len(e.project.rows(x, true, e.names("include_events"), e.names("exclude_events")))
	}
	return e.records(x.start, x.end)
}

// rows returns the rows of events with some names in a time, by timestamp or by arrival.
func (p *Project) rows(x span, byTimestamp bool, include, exclude []string) (rows []int32) {
	t := &p.server.table
	own := t.text(p.id)
	for _, key := range t.keys() {
		if key.project != own {
			continue
		}
		for _, i := range t.cells[key] {
			at, name := t.rows[i].created, t.texts[t.rows[i].name]
			if byTimestamp {
				at = t.rows[i].at
			}
			isNamed := (len(include) == 0 || slices.Contains(include, name)) && !slices.Contains(exclude, name)
			if isNamed && !at.Before(x.start) && at.Before(x.end) {
				rows = append(rows, i)
			}
		}
	}
	return rows
}

// names returns a list of texts in the config of the destination.
func (e *export) names(key string) (names []string) {
	list, _ := e.config[key].([]any)
	for _, name := range list {
		if text, ok := name.(string); ok {
			names = append(names, text)
		}
	}
	return names
}

// write writes the events of a run that has completed.
func (e *export) write(r *run) {
	part := Exported{RunID: r.ID, Events: r.events}
	if len(part.Events) == 0 {
		return
	}
	if slices.Contains([]string{"S3", "AwsS3", "S3Compatible", "AzureBlob"}, e.kind) {
		prefix, _ := e.config["prefix"].(string)
		part.Key = prefix + r.Start.UTC().Format(time.RFC3339) + "-" + r.End.UTC().Format(time.RFC3339)
		if i := slices.IndexFunc(e.exported, func(x Exported) bool { return x.Key == part.Key }); i >= 0 {
			e.exported[i] = part
			return
		}
	}
	e.exported = append(e.exported, part)
}
