package hogapitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
)

// export is one batch export as the server keeps it.
type export struct {
	Export // without the fields of the destination
	destination

	project    *Project
	updated    time.Time
	offsetDay  *int
	offsetHour *int
	more       fields // optional fields, as they came

	runs       []*run // oldest first
	backfills  []*backfill
	logs       []LogEntry
	activities []activity // oldest first
	schedule   *schedule  // nil: it does not run
	records    func(start, end time.Time) int
	exported   []Exported
}

// optional are the fields of an export that are kept as they came. All but the first are of E4.
var optional = []string{"filters", "hogql_query", "hogql_modifiers", "primary_key", "version_key", "incremental_mode"}

func (p *Project) newExport(now time.Time) *export {
	return &export{
		Export:  Export{ID: uuid.New(), Model: "events", Timezone: "UTC", Created: now},
		project: p, updated: now, more: fields{"incremental_mode": json.RawMessage(`"APPEND"`)},
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
		"id": e.ID, "team_id": e.project.team, "name": e.Name, "model": e.Model, "interval": e.Interval,
		"destination": e.destination.json(s.era), "paused": e.Paused, "created_at": stamp(e.Created), "last_updated_at": stamp(e.updated),
		"last_paused_at": stampOrNil(e.LastPaused), "start_at": stampOrNil(e.StartAt), "end_at": stampOrNil(e.EndAt), "latest_runs": latest, "schema": nil,
	}
	shown := optional[:1]
	if s.era == E4 {
		o["timezone"], o["offset_day"], o["offset_hour"] = e.Timezone, nil, nil
		if e.Interval == "week" {
			o["offset_day"] = deref(e.offsetDay)
		}
		if e.Interval == "week" || e.Interval == "day" {
			o["offset_hour"] = deref(e.offsetHour)
		}
		shown = optional
	}
	for _, name := range shown {
		o[name] = e.more[name]
	}
	maps.Copy(o, e.Extra)
	return o
}

// one is the item of a list with the id of a request's path.
func one[T any](list []*T, id string, of func(*T) uuid.UUID) *T {
	want, err := uuid.Parse(id)
	for _, x := range list {
		if err == nil && of(x) == want {
			return x
		}
	}
	refuse(notFound("Not found."))
	return nil
}

func (r *request) export() *export {
	e := r.anyExport()
	if e.Deleted {
		refuse(notFound("Not found."))
	}
	return e
}

// anyExport also finds a deleted one.
func (r *request) anyExport() *export {
	return one(r.project.exports, r.params["id"], func(e *export) uuid.UUID { return e.ID })
}

func (s *Server) listExports(r *request) answer {
	var listed []*export
	for _, e := range slices.Backward(r.project.exports) {
		if !e.Deleted && e.kind != "Workflows" {
			listed = append(listed, e)
		}
	}
	slices.SortStableFunc(listed, func(a, b *export) int { return b.Created.Compare(a.Created) })
	return offsetPage(s, r, listed, func(e *export) object { return e.json(s) })
}

func (s *Server) getExport(r *request) answer { return success(r.export().json(s)) }

func (s *Server) createExport(r *request) answer {
	e := s.newExport(r)
	r.project.exports = append(r.project.exports, e)
	e.logCreation()
	return reply(http.StatusCreated, e.json(s))
}

func (s *Server) newExport(r *request) *export {
	e := r.project.newExport(r.now)
	s.fill(readFields(r.body), e)
	return e
}

// fill checks the fields of a new export and sets them.
func (s *Server) fill(c checker, e *export) {
	c.require("name", "destination", "interval")
	choice(c, "model", &e.Model, s.models()...)
	s.write(c, e)
	s.checkPlan(c)
	if s.era == E4 {
		s.writeNewestFields(c, e, true)
	}
}

func (s *Server) patchExport(r *request) answer {
	stored, c := r.export(), readFields(r.body)
	changed := *stored
	choice(c, "model", &changed.Model, s.models()...)
	if changed.Model != stored.Model && s.era == E4 {
		c.fail("model", "invalid_input", "Changing models is not supported. Create a new batch export instead.")
	}
	if raw, ok := c.fields["destination"]; ok && lacksTypeOrConfig(raw) {
		return serverError() // the service's validation looks both up
	}
	s.write(c, &changed)
	s.checkPlan(c)
	if s.era == E4 {
		s.writeNewestFields(c, &changed, false)
	}
	changed.updated = r.now
	changed.logEdit(stored.settings(), r.now)
	*stored = changed
	return success(stored.json(s))
}

// checkPlan refuses features that most projects lack: see [WithHogQLExports] and [WithShortIntervals].
func (s *Server) checkPlan(c checker) {
	model, _ := asString(c.fields["model"])
	interval, _ := asString(c.fields["interval"])
	if model == "hogql" && s.era == E4 && !s.hogqlExports {
		refuse(forbidden("HogQL batch exports are not enabled for this team."))
	}
	if strings.HasPrefix(interval, "every") && s.era == E4 && !s.shortIntervals {
		refuse(forbidden("Higher frequency batch exports are not enabled for this team."))
	}
}

func lacksTypeOrConfig(raw json.RawMessage) bool {
	var d fields
	if json.Unmarshal(raw, &d) != nil || d == nil {
		return false
	}
	return d["type"] == nil || d["config"] == nil
}

// write checks the writable fields that are there and sets them.
func (s *Server) write(c checker, e *export) {
	c.text("name", &e.Name)
	choice(c, "interval", &e.Interval, s.intervals()...)
	c.boolean("paused", &e.Paused)
	c.when("last_paused_at", &e.LastPaused)
	c.when("start_at", &e.StartAt)
	c.when("end_at", &e.EndAt)
	if raw := c.fields["hogql_query"]; !absent(raw) && raw[0] != '"' {
		c.fail("hogql_query", "invalid_input", "Not a valid string.")
	}
	e.more = maps.Clone(e.more)
	for _, name := range optional {
		if c.has(name) {
			e.more[name] = c.fields[name]
		}
	}
	if s.era == E4 {
		s.writeNewest(c, e)
	}
	if raw, ok := c.fields["destination"]; ok {
		s.writeDestination(c, e, raw)
	}
}

// writeNewest sets the fields of E4. For the zone and the offsets absent keeps and null resets.
func (s *Server) writeNewest(c checker, e *export) {
	if raw, ok := c.fields["timezone"]; ok {
		e.Timezone = "UTC"
		if !isNull(raw) {
			c.text("timezone", &e.Timezone)
			if _, err := time.LoadLocation(e.Timezone); err != nil {
				c.fail("timezone", "invalid_choice", fmt.Sprintf("%q is not a valid choice.", e.Timezone))
			}
		}
	}
	c.smallInt("offset_day", &e.offsetDay, 0, 6)
	c.smallInt("offset_hour", &e.offsetHour, 0, 23)
	if c.has("offset_day") && e.offsetDay != nil && e.Interval != "week" {
		c.fail("offset_day", "invalid_input", "offset_day is not applicable for non-weekly intervals")
	}
	if e.Interval != "week" && e.Interval != "day" {
		if c.has("offset_hour") && e.offsetHour != nil {
			c.fail("offset_hour", "invalid_input", "offset_hour is not applicable for non-daily/weekly intervals")
		}
		e.offsetDay, e.offsetHour = nil, nil // a day keeps the day of a week
	}
}

func (s *Server) models() []hogapi.Model {
	all := []hogapi.Model{"events", "persons", "sessions", "hogql"}
	if s.era == E1 {
		return all[:2]
	}
	return all
}

func (s *Server) intervals() []hogapi.Interval {
	all := []hogapi.Interval{"hour", "day", "week", "every 5 minutes", "every 15 minutes"}
	if s.era == E1 {
		return all[:4]
	}
	return all
}

func (s *Server) deleteExport(r *request) answer {
	e := r.export()
	e.Deleted = true
	for _, b := range e.backfills {
		b.cancelRunning(r.now)
	}
	for _, run := range e.runs {
		if run.Status == "Running" { // one that is Starting continues
			run.cancel(r.now)
		}
	}
	return noContent
}

func (s *Server) pauseExport(r *request) answer {
	if e := r.export(); !e.Paused {
		before := e.settings()
		e.Paused, e.LastPaused, e.updated = true, r.now, r.now
		e.logEdit(before, r.now)
	}
	return success(object{"paused": true})
}

func (e *export) unpause(now time.Time) {
	before := e.settings()
	e.Paused, e.updated = false, now
	e.logEdit(before, now)
}

func (s *Server) unpauseExport(r *request) answer {
	e := r.export()
	backfill := false
	readFields(r.body).boolean("backfill", &backfill)
	if e.Paused {
		e.unpause(r.now)
		if backfill { // from the beginning of time, if there is no last pause
			s.startBackfill(e, span{e.LastPaused, e.updated}, r.now)
		}
	}
	return success(object{"paused": false})
}
