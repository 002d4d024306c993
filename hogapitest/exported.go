package hogapitest

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/exported"
)

// Exported is a part of the output of an export: an object, or the rows that one run has added to a table.
type Exported struct {
	Key    string      // of an object: the prefix and the interval, without the run; empty in a table
	RunID  uuid.UUID   // the run that wrote it
	Events []uuid.UUID // each event of an attempt once; a manifest has none

	// Content is the object, or the rows of a table as lines of JSON, as its engine writes them: row_to_json of
	// Postgres, an export of BigQuery. Objects are packed with gzip only, and are Parquet only by [WithParquet].
	Content []byte
}

// ExportEvents makes the runs that begin from now on export the events of the project, instead of made-up numbers. It
// concerns exports of the model events without [Project.ExportRows]. A run of the schedule takes the events that
// arrived in its interval. So does a run of a backfill or a retry, unless the whole backfill began too long ago: 8 days
// in [E4], always in [E1]. Then, and to Workflows, it takes the events with a timestamp in the interval. A backfill
// without an event by timestamp makes no run.
//
// A run writes when it completes, and in a table without a stage a part before: see [Outcome].Written. In an object
// store, the object of an interval replaces an earlier one; a run without events leaves it. Elsewhere, rows are added.
// Runs of AddRun write nothing. Of an export's filters, only the names of events count.
//
// File downloads then take the events that arrived in their interval too. If it began more than 8 days ago, only events
// with a timestamp from 7 days before it to a day after it.
func (p *Project) ExportEvents() {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.exportsEvents = true
}

// Exported returns the output of the runs of an export, see [Project.ExportEvents]: the objects by their first write,
// or the rows of each run.
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

// choose returns the rows of a run that begins, without copies of an event.
func (e *export) choose(x Run) []int32 {
	isOld := x.BackfillID != uuid.Nil && x.backfill.Before(x.Created.AddDate(0, 0, -recentDays[e.project.server.era]))
	t := &e.project.server.table
	return t.once(e.project.rows(span{x.Start, x.End}, isOld || e.kind == "Workflows", e.names("include_events"), e.names("exclude_events")))
}

// once are rows without copies of an event, of any day.
func (t *eventTable) once(rows []int32) []int32 {
	seen := map[eventKey]bool{}
	return slices.DeleteFunc(rows, func(i int32) bool {
		key := t.rows[i].eventKey()
		isCopy := seen[key]
		seen[key] = true
		return isCopy
	})
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

// writePart writes the first rows of an attempt that does not complete, where events are written in several transactions
// without a stage. The next attempt begins at the first row again.
func (e *export) writePart(r *run) {
	asked, _ := e.config["properties_data_type"].(string)
	if n := min(r.outcome.Written, len(r.rows)); n > 0 && (e.kind == "Postgres" || e.kind == "Redshift" && or(asked, "varchar") == "varchar" && e.config["mode"] != "COPY") {
		e.addRows(r, n)
	}
}

// addRows adds the first rows of a run to the table.
func (e *export) addRows(r *run, n int) {
	all := written{rows: e.project.stored(r.rows[:n])}
	for _, row := range all.rows {
		all.content = row.AppendText(all.content, e.kind, false)
	}
	e.exported = append(e.exported, all.exported("", r.ID))
}

// write writes the rows of a run that has completed.
func (e *export) write(r *run) {
	if len(r.rows) == 0 {
		return
	}
	if !exported.IsFile(e.kind) {
		e.addRows(r, len(r.rows))
		return
	}
	rows := e.project.stored(r.rows)
	layout, _ := exported.LayoutOf(e.kind, string(e.Model), toJSON(e.config)) // its values were checked
	of := exported.Interval{Start: r.Start, End: r.End}
	var keys []string
	for i, part := range e.project.server.parts(layout, rows) {
		keys = append(keys, layout.Object(of, i))
		e.put(part.exported(keys[i], r.ID))
	}
	if layout.HasManifest(len(keys)) {
		e.put(Exported{Key: layout.Manifest(of), RunID: r.ID, Content: layout.ManifestOf(keys)})
	}
}

// put adds an object, or replaces the one of its key.
func (e *export) put(x Exported) {
	if i := slices.IndexFunc(e.exported, func(before Exported) bool { return before.Key == x.Key }); i >= 0 {
		e.exported[i] = x
		return
	}
	e.exported = append(e.exported, x)
}

// stored are rows of the table with all that an export shows.
func (p *Project) stored(rows []int32) (all []exported.Row) {
	t := &p.server.table
	for _, i := range rows {
		r := &t.rows[i]
		properties, chain := takeElements(r.properties)
		who := t.texts[r.who]
		all = append(all, exported.Row{
			UUID: r.id.String(), Event: t.texts[r.name], DistinctID: who, TeamID: p.team, Properties: properties, Elements: chain,
			Timestamp: r.at, Created: r.created, Inserted: r.created, PersonID: uuid.NewSHA1(uuid.Nil, []byte(p.id+":"+who)).String(),
		})
	}
	return all
}

// takeElements returns properties without the elements, which the service keeps in a column of their own.
func takeElements(properties json.RawMessage) (rest []byte, chain string) {
	const name = "$elements_chain"
	var f fields
	if !bytes.Contains(properties, []byte(name)) || json.Unmarshal(properties, &f) != nil {
		return properties, ""
	}
	chain, _ = asString(f[name])
	delete(f, name)
	return toJSON(f), chain
}

// written is a file of a run, or its rows in a table.
type written struct {
	rows    []exported.Row
	content []byte
}

func (p written) exported(key string, run uuid.UUID) Exported {
	x := Exported{Key: key, RunID: run, Content: p.content}
	for _, row := range p.rows {
		x.Events = append(x.Events, uuid.MustParse(row.UUID))
	}
	return x
}

// parts are the files of rows. One ends with the row that takes it over the size that bounds them.
func (s *Server) parts(layout exported.Layout, rows []exported.Row) (parts []written) {
	isParquet := layout.Format == "Parquet" && s.parquet != nil
	bound := math.MaxInt // no size
	if layout.HasParts() {
		bound = int(*layout.MaxMiB) << 20
	}
	isFull := true
	for _, row := range rows {
		if isFull {
			parts = append(parts, written{})
		}
		p := &parts[len(parts)-1]
		line := row.AppendText(nil, layout.Kind, isParquet)
		if layout.Compression == "gzip" && !isParquet {
			line = packed(line) // each row is a member
		}
		p.rows, p.content = append(p.rows, row), append(p.content, line...)
		isFull = len(p.content) > bound
	}
	for i := range parts {
		if isParquet {
			parts[i].content = s.parquet(parts[i].content, layout.Compression)
		}
	}
	return parts
}
