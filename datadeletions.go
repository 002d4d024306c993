package hogapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/verify"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// DataDeletion is a request to delete events of the project.
type DataDeletion struct {
	ID                uuid.UUID          `json:"id"`
	Status            DataDeletionStatus `json:"status"`
	Query             string             `json:"query"`     // HogQL: selects the events
	Variables         json.RawMessage    `json:"variables"` // of the query; an object
	SubmissionID      *uuid.UUID         `json:"submission_id"`
	Count             *int64             `json:"count"` // events; nil before the service has counted them
	CreatedByID       *int64             `json:"created_by_id"`
	CreatedByStaff    bool               `json:"created_by_staff"` // of PostHog
	CreatedAt         time.Time          `json:"created_at"`
	UpdatedAt         time.Time          `json:"updated_at"`
	ApprovedAt        *time.Time         `json:"approved_at"` // nil: PostHog has not approved it
	StatsCalculatedAt *time.Time         `json:"stats_calculated_at"`
}

func (d *DataDeletion) identity() string { return d.ID.String() }

func (d *DataDeletion) complete() error {
	return cmp.Or(has("id", d.ID), has("status", d.Status))
}

// DataDeletionStatus is the progress of a deletion.
type DataDeletionStatus string

// The known statuses.
const (
	DataDeletionStatusDraft      DataDeletionStatus = "draft"
	DataDeletionStatusPending    DataDeletionStatus = "pending"     // PostHog has to approve it
	DataDeletionStatusApproved   DataDeletionStatus = "approved"    // it will run
	DataDeletionStatusInProgress DataDeletionStatus = "in_progress" // it runs
	DataDeletionStatusQueued     DataDeletionStatus = "queued"      // it runs with the next deletions of all projects
	DataDeletionStatusCompleted  DataDeletionStatus = "completed"
	DataDeletionStatusFailed     DataDeletionStatus = "failed"
)

// DataDeletionRequest selects the events of one import for deletion.
type DataDeletionRequest struct {
	// ImportID is the ID of the import. The service finds its events by their $import_job_id, but not the events
	// that had an $import_job_id of their own.
	ImportID string
	// From and Until bound the time of the events; Until is not included. Zero times select all events of the
	// import, including events that are now under another day.
	From, Until time.Time
	// SubmissionID identifies the request: however often it is sent, it is one deletion. To delete events again
	// after another import with the same ID, set another SubmissionID. By default it is derived from the other
	// fields.
	SubmissionID uuid.UUID
}

func (r DataDeletionRequest) check() *InputError {
	want := wire.WantImportID(r.ImportID)
	return cmp.Or(
		outgoing.If(r.ImportID == "", "ImportID", "", "the ID of an import"),
		outgoing.If(want != "", "ImportID", r.ImportID, want),
		outgoing.Reversed("Until", r.Until, "From", r.From),
	)
}

// query returns the HogQL that selects the events. The endpoint takes no values, so they are quoted into the
// text.
func (r DataDeletionRequest) query() string {
	return verify.SelectEvents(r.ImportID, r.From, r.Until).String()
}

// submission returns the id that makes the request idempotent.
func (r DataDeletionRequest) submission() uuid.UUID {
	return cmp.Or(r.SubmissionID, uuid.NewSHA1(uuid.NameSpaceURL, []byte("hogapi data deletion\x00"+r.query())))
}

// DataDeletionsService is [Client.DataDeletions]: it asks PostHog to delete the events of an import. PostHog's staff
// must approve each request, which runs later and cannot be cancelled here, so import into a test project first. Not
// deleted: merges of persons, effects of $set, properties of groups, copies in destinations, bills, and events that
// arrive later. Where deletion is not enabled, the error is [ErrForbidden] or, on older servers, [ErrUnsupported]: ask
// PostHog's support.
type DataDeletionsService service

// List returns one page of deletions: GET /data_deletion_requests/, scope data_deletion:read.
func (s *DataDeletionsService) List(ctx context.Context, o *ListOptions, options ...CallOption) (*OffsetPage[DataDeletion], error) {
	return s.walk(o, options).One(ctx)
}

// Pages yields the pages of List.
func (s *DataDeletionsService) Pages(ctx context.Context, o *ListOptions, options ...CallOption) iter.Seq2[*OffsetPage[DataDeletion], error] {
	return s.walk(o, options).Pages(ctx)
}

// All yields all deletions. The error that ends it is a [*PageError], which says where to resume.
func (s *DataDeletionsService) All(ctx context.Context, o *ListOptions, options ...CallOption) iter.Seq2[DataDeletion, error] {
	return s.walk(o, options).All(ctx)
}

func (s *DataDeletionsService) walk(o *ListOptions, options []CallOption) offsetWalk[DataDeletion] {
	selected := outgoing.OrDefault(o)
	r := endpoint(ops.DataDeletionsList).refuse(selected.check())
	return walkByOffset[DataDeletion](s.client, r, selected, options)
}

// Get returns one deletion: GET /data_deletion_requests/{id}/, scope data_deletion:read. [ErrNotFound] if it does not
// exist.
func (s *DataDeletionsService) Get(ctx context.Context, id uuid.UUID, options ...CallOption) (*DataDeletion, error) {
	return ask[DataDeletion](ctx, s.client, endpointByID(ops.DataDeletionsGet, id), options)
}

type dataDeletionBody struct {
	Query        string         `json:"query"`
	Variables    map[string]any `json:"variables"`
	SubmissionID uuid.UUID      `json:"submission_id,omitzero"`
}

// Preview counts the rows that a request would delete now, and deletes nothing. It counts each copy of an event that
// is not merged yet. The service takes 5 calls a minute and 30 an hour. POST /data_deletion_requests/preview/, scope
// data_deletion:write.
func (s *DataDeletionsService) Preview(ctx context.Context, of DataDeletionRequest, options ...CallOption) (count int64, err error) {
	r := endpoint(ops.DataDeletionsPreview).refuse(of.check())
	r.body = dataDeletionBody{Query: of.query(), Variables: map[string]any{}}
	r.minTry = queryTry
	n, err := ask[rowCount](ctx, s.client, r, options)
	return outgoing.OrDefault(outgoing.OrDefault(n).Count), err
}

// Create asks PostHog to delete the events of one import for good: call Preview first. A request that was sent before gets
// its deletion as the answer. A project can have 5 open requests, and the service takes 10 an hour.
//
// POST /data_deletion_requests/, scope data_deletion:write. [ErrInvalid] if too many are open, and if the same
// SubmissionID belongs to another query or another user's request.
func (s *DataDeletionsService) Create(ctx context.Context, of DataDeletionRequest, options ...CallOption) (*DataDeletion, error) {
	r := endpoint(ops.DataDeletionsCreate).refuse(of.check())
	r.body = dataDeletionBody{of.query(), map[string]any{}, of.submission()}
	r.matches = func(answer any) error {
		d := answer.(*DataDeletion)
		switch {
		case d.SubmissionID == nil:
			return errors.New("submission_id is missing")
		case strings.TrimSpace(d.Query) != of.query():
			return errors.New("the request has another query than the one sent")
		}
		return isAskedFor("submission_id", *d.SubmissionID, of.submission())
	}
	return ask[DataDeletion](ctx, s.client, r, options)
}
