package hogapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
)

// export is one batch export as the server keeps it.
type export struct {
	id          uuid.UUID
	project     *Project
	name        string
	model       string
	interval    string
	destination destination
	paused      bool
	deleted     bool
	created     time.Time
	updated     time.Time
	lastPaused  *time.Time
	start, end  *time.Time
	hogql       json.RawMessage
	schema      json.RawMessage
	filters     json.RawMessage
	timezone    string
	offsetDay   *int
	offsetHour  *int
	more        fields         // optional fields of the newest era, as they came
	extra       map[string]any // from the seed; replaces the fields above

	runs      []*run // oldest first
	backfills []*backfill
	logs      []LogEntry
	records   func(start, end time.Time) int
}

func (p *Project) newExport(now time.Time) *export {
	return &export{
		id: uuid.New(), project: p, model: "events", timezone: "UTC", created: now, updated: now,
		records: func(time.Time, time.Time) int { return defaultRecords },
	}
}

// defaultRecords is how many records an interval holds unless [Project.SetRecords] says otherwise.
const defaultRecords = 1000

// json is the export as the service shows it. Runs that are shown move on.
func (e *export) json(s *Server) object {
	latest := []any{}
	for i := len(e.runs) - 1; i >= 0 && len(latest) < 10; i-- {
		latest = append(latest, e.runs[i].json(s))
	}
	o := object{
		"id": e.id, "team_id": e.project.team, "name": e.name, "model": e.model, "interval": e.interval,
		"destination": e.destination.json(s.era), "paused": e.paused,
		"created_at": stamp(e.created), "last_updated_at": stamp(e.updated), "last_paused_at": stampOrNil(e.lastPaused),
		"start_at": stampOrNil(e.start), "end_at": stampOrNil(e.end), "latest_runs": latest,
		"schema": orNull(e.schema), "filters": orNull(e.filters),
	}
	if s.era >= E3 {
		o["hogql_query"] = orNull(e.hogql)
		o["timezone"], o["offset_day"], o["offset_hour"] = e.timezone, e.offsetDay, e.offsetHour
		o["hogql_modifiers"], o["primary_key"], o["version_key"], o["incremental_mode"] = nil, nil, nil, "APPEND"
		for name, raw := range e.more {
			o[name] = raw
		}
	}
	maps.Copy(o, e.extra)
	return o
}

func orNull(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	return raw
}

// export finds an export of the request's project by the id in its path.
func (r *request) export() *export {
	id, err := uuid.Parse(r.params["id"])
	if err != nil {
		return nil
	}
	return r.project.find(id)
}

func (p *Project) find(id uuid.UUID) *export {
	for _, e := range p.exports {
		if e.id == id && !e.deleted {
			return e
		}
	}
	return nil
}

func (s *Server) listExports(r *request) answer {
	var shown []*export
	for _, e := range slices.Backward(r.project.exports) {
		if !e.deleted && e.destination.kind != "Workflows" {
			shown = append(shown, e)
		}
	}
	slices.SortStableFunc(shown, func(a, b *export) int { return b.created.Compare(a.created) })
	return s.offsetPage(r, len(shown), func(i int) any { return shown[i].json(s) })
}

func (s *Server) getExport(_ *request, e *export) answer {
	return reply(http.StatusOK, e.json(s))
}

func (s *Server) createExport(r *request) answer {
	e, problem := s.newExport(r)
	if problem != nil {
		return *problem
	}
	r.project.exports = append(r.project.exports, e)
	return reply(http.StatusCreated, e.json(s))
}

// newExport reads and checks the body of a new export.
func (s *Server) newExport(r *request) (*export, *answer) {
	f, refusal := readFields(r.body)
	if refusal != nil {
		return nil, refusal
	}
	e := r.project.newExport(r.now)
	c := &checker{fields: f}
	c.require("name", "destination", "interval")
	c.choice("model", &e.model, s.models()...)
	s.write(c, e, true)
	if s.era >= E4 && !s.writeNewestFields(c, e, true) {
		return nil, new(serverError())
	}
	return e, c.problem
}

func (s *Server) patchExport(r *request) answer {
	return s.changeExport(r)
}

// putExport is there, though PostHog's API reference does not list it: name, destination and interval are required.
func (s *Server) putExport(r *request) answer {
	return s.changeExport(r, "name", "destination", "interval")
}

func (s *Server) changeExport(r *request, required ...string) answer {
	stored := r.export()
	if stored == nil {
		return notFound("Not found.")
	}
	f, refusal := readFields(r.body)
	if refusal != nil {
		return *refusal
	}
	changed := *stored
	c := &checker{fields: f}
	c.require(required...)
	model := stored.model
	c.choice("model", &model, s.models()...)
	if model != stored.model {
		if s.era >= E3 {
			c.fail("model", "invalid_input", "Changing models is not supported. Create a new batch export instead.")
		}
		changed.model = model
	}
	if raw, ok := f["destination"]; ok && c.problem == nil && lacksTypeOrConfig(raw) {
		return serverError() // the service's validation looks both up
	}
	s.write(c, &changed, len(required) > 0)
	if s.era >= E4 && !s.writeNewestFields(c, &changed, false) {
		return serverError()
	}
	if c.problem != nil {
		return *c.problem
	}
	changed.updated = r.now
	*stored = changed
	return reply(http.StatusOK, stored.json(s))
}

func lacksTypeOrConfig(raw json.RawMessage) bool {
	var d fields
	if json.Unmarshal(raw, &d) != nil || d == nil {
		return false
	}
	_, kind := d["type"]
	_, config := d["config"]
	return !kind || !config
}

// write checks the writable fields that are there and sets them.
func (s *Server) write(c *checker, e *export, whole bool) {
	c.text("name", &e.name)
	c.choice("interval", &e.interval, s.intervals()...)
	c.boolean("paused", &e.paused)
	c.when("last_paused_at", &e.lastPaused)
	c.when("start_at", &e.start)
	c.when("end_at", &e.end)
	c.raw("filters", &e.filters)
	if raw, ok := c.fields["hogql_query"]; ok {
		if !isNull(raw) && !bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`"`)) {
			c.fail("hogql_query", "invalid_input", "Not a valid string.")
		}
		e.hogql = raw
	}
	if s.era >= E3 {
		s.writeNewest(c, e)
	}
	if raw, ok := c.fields["destination"]; ok {
		s.writeDestination(c, e, raw, whole)
	}
}

// writeNewest sets the fields that E3 added. For the zone and the offsets absent keeps and null resets.
func (s *Server) writeNewest(c *checker, e *export) {
	if raw, ok := c.fields["timezone"]; ok {
		e.timezone = "UTC"
		if !isNull(raw) {
			c.text("timezone", &e.timezone)
			if _, err := time.LoadLocation(e.timezone); err != nil {
				c.fail("timezone", "invalid_choice", fmt.Sprintf("%q is not a valid choice.", e.timezone))
			}
		}
	}
	c.smallInt("offset_day", &e.offsetDay, 0, 6)
	c.smallInt("offset_hour", &e.offsetHour, 0, 23)
	if e.offsetDay != nil && e.interval != "week" {
		c.fail("offset_day", "invalid_input", "offset_day is not applicable for non-weekly intervals")
	}
	if e.offsetHour != nil && e.interval != "week" && e.interval != "day" {
		c.fail("offset_hour", "invalid_input", "offset_hour is not applicable for non-daily/weekly intervals")
	}
	if len(e.filters) > 0 && !isNull(e.filters) {
		var list []fields
		if json.Unmarshal(e.filters, &list) != nil {
			c.fail("filters", "invalid_input", "Filters must be an array of objects.")
		}
		if e.model != "events" && len(list) > 0 {
			c.fail("filters", "invalid_input", "Filters are only supported for the events model.")
		}
	}
	more := fields{}
	maps.Copy(more, e.more)
	for _, name := range []string{"hogql_modifiers", "primary_key", "version_key", "incremental_mode"} {
		if raw, ok := c.fields[name]; ok {
			more[name] = raw
		}
	}
	e.more = more
}

func (s *Server) models() []string {
	return map[Era][]string{E1: {"events", "persons"}, E2: {"events", "persons", "sessions"}, E3: {"events", "persons", "sessions", "hogql"}}[min(s.era, E3)]
}

func (s *Server) intervals() []string {
	all := []string{"hour", "day", "week", "every 5 minutes"}
	if s.era >= E3 {
		all = append(all, "every 15 minutes")
	}
	return all
}

func (s *Server) deleteExport(r *request, e *export) answer {
	e.deleted = true
	for _, b := range e.backfills {
		b.cancel(r.now)
	}
	for _, run := range e.runs {
		run.cancel(r.now)
	}
	return answer{status: http.StatusNoContent, header: http.Header{}}
}

func (s *Server) pauseExport(r *request, e *export) answer {
	if !e.paused {
		e.paused, e.lastPaused, e.updated = true, &r.now, r.now
	}
	return reply(http.StatusOK, object{"paused": true})
}

func (s *Server) unpauseExport(r *request, e *export) answer {
	f, refusal := readFields(r.body)
	if refusal != nil {
		return *refusal
	}
	backfill := false
	c := &checker{fields: f}
	c.boolean("backfill", &backfill)
	if c.problem != nil {
		return *c.problem
	}
	if e.paused {
		e.paused, e.updated = false, r.now
		if backfill && e.lastPaused != nil {
			s.startBackfill(e, e.lastPaused, r.now, r.now)
		}
	}
	return reply(http.StatusOK, object{"paused": false})
}
