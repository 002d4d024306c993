package hogapitest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
)

const (
	maxDeletionBytes = 100_000 // of a query
	maxOpenDeletions = 5
)

// openDeletion are the statuses of which a project may have 5 at one time.
var openDeletion = []string{"pending", "approved", "in_progress", "queued"}

// DataDeletion is a request to delete events.
type DataDeletion struct {
	ID           uuid.UUID
	Status       string // "pending" at first; also draft, approved, in_progress, queued, completed and failed
	Query        string
	Variables    json.RawMessage
	SubmissionID uuid.UUID
	Count        int // of events, once it is approved; -1 before
	Created      time.Time
	Updated      time.Time
	Approved     time.Time // zero where it is not
}

// DataDeletions returns the project's requests to delete events, oldest first.
func (p *Project) DataDeletions() []DataDeletion {
	return seen(p, func() []*DataDeletion { return p.deletions }, func(d *DataDeletion) DataDeletion { return *d })
}

// SetDataDeletion changes a request's status, as PostHog's staff and jobs do. The status "approved" counts the
// events; "completed" hides them from queries. SetDataDeletion panics if the project does not have the request.
func (p *Project) SetDataDeletion(id uuid.UUID, status string) {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(p.deletions, func(d *DataDeletion) bool { return d.ID == id })
	if i < 0 {
		panic("hogapitest: no such data deletion: " + id.String())
	}
	d := p.deletions[i]
	d.Status, d.Updated = status, s.now()
	switch status {
	case "approved":
		d.Approved, d.Count = d.Updated, len(s.selected(p, d.Query))
	case "completed":
		s.table.remove(s.selected(p, d.Query))
	}
}

func (d *DataDeletion) json() object {
	o := object{
		"id": d.ID, "status": d.Status, "query": d.Query, "variables": d.Variables, "submission_id": d.SubmissionID, "count": nil,
		"created_by_id": defaultUser()["id"], "created_by_staff": false, "created_at": stamp(d.Created), "updated_at": stamp(d.Updated),
		"approved_at": stampOrNil(d.Approved), "stats_calculated_at": stampOrNil(d.Approved),
	}
	if d.Count >= 0 {
		o["count"] = d.Count
	}
	return o
}

// deletions refuses where deletion is not enabled, and serves otherwise.
func deletions(serve func(*Server, *request) answer) func(*Server, *request) answer {
	return func(s *Server, r *request) answer {
		if !s.dataDeletions {
			return forbidden("Self-service data deletion is not enabled for this project.")
		}
		return serve(s, r)
	}
}

func (s *Server) listDeletions(r *request) answer {
	return offsetPage(s, r, r.project.deletions, (*DataDeletion).json)
}

func (s *Server) getDeletion(r *request) answer {
	return success(one(r.project.deletions, r.params["id"], func(d *DataDeletion) uuid.UUID { return d.ID }).json())
}

func (s *Server) previewDeletion(r *request) answer {
	d := readDeletion(readFields(r.body))
	return success(object{"count": len(s.selectedOr(r.project, d))})
}

// createDeletion takes a request once: the same submission again is answered 200.
func (s *Server) createDeletion(r *request) answer {
	c := readFields(r.body)
	d := readDeletion(c)
	for _, name := range slices.Sorted(maps.Keys(c.fields)) {
		if !slices.Contains([]string{"query", "variables", "submission_id"}, name) {
			c.fail(name, "invalid_input", "This field is not accepted.")
		}
	}
	if absent(c.fields["submission_id"]) {
		c.fail("submission_id", "required", "This field is required.")
	}
	text, _ := asString(c.fields["submission_id"])
	var ok bool
	if d.SubmissionID, ok = parseUUID(text); !ok {
		c.fail("submission_id", "invalid", "Must be a valid UUID.")
	}
	s.selectedOr(r.project, d)
	open := 0
	for _, before := range r.project.deletions {
		if before.SubmissionID == d.SubmissionID {
			if before.Query != d.Query {
				c.fail("submission_id", "invalid_input", "This submission ID is already used by a different deletion request.")
			}
			return success(before.json())
		}
		if slices.Contains(openDeletion, before.Status) {
			open++
		}
	}
	if open >= maxOpenDeletions {
		return invalid("", "invalid_input", "This project already has the maximum number of active deletion requests.")
	}
	d.ID, d.Status, d.Count, d.Created, d.Updated = uuid.New(), "pending", -1, r.now, r.now
	r.project.deletions = append(r.project.deletions, d)
	return reply(http.StatusCreated, d.json())
}

func readDeletion(c checker) *DataDeletion {
	d := &DataDeletion{Variables: json.RawMessage(`{}`)}
	c.require("query")
	c.text("query", &d.Query)
	if c.has("variables") {
		d.Variables = c.fields["variables"]
	}
	if len(d.Query) > maxDeletionBytes {
		c.fail("query", "invalid_input", "The query must be smaller than 100000 bytes.")
	}
	if string(d.Variables) != "{}" {
		c.fail("variables", "invalid_input", "Query variables must be an empty JSON object: the fake takes no others.")
	}
	return d
}

// selectedOr are the rows that a request selects. It refuses the request where the query is wrong.
func (s *Server) selectedOr(p *Project, d *DataDeletion) []int32 {
	defer refuseHog(func(e *hogError) answer { return invalid("query", "invalid_input", e.detail) })
	return s.selected(p, d.Query)
}

// selected are the rows of the events that a query selects, copies included. It panics with a hogError.
func (s *Server) selected(p *Project, query string) []int32 {
	q := parseHogQL(query, nil, s.era, s.zone)
	if len(q.columns) != 1 {
		hogFail("query", "The HogQL query must select exactly one event UUID column.")
	}
	if q.columns[0].name != "uuid" {
		hogFail("query", "The selected column must contain event UUIDs.")
	}
	return q.selected(&s.table, p.id, s.zone)
}
