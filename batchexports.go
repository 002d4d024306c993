package hogapi

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/endpoints"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// BatchExport is a scheduled export of a project's data to a destination; older servers leave the fields marked "newer"
// empty.
type BatchExport struct {
	ID              uuid.UUID       `json:"id"`
	TeamID          int64           `json:"team_id"`
	Name            string          `json:"name"`
	Model           Model           `json:"model"` // empty in very old rows
	Destination     Destination     `json:"destination"`
	Interval        Interval        `json:"interval"`
	Paused          bool            `json:"paused"`
	CreatedAt       time.Time       `json:"created_at"`
	LastUpdatedAt   time.Time       `json:"last_updated_at"`
	LastPausedAt    *time.Time      `json:"last_paused_at"` // nil: never paused
	StartAt         *time.Time      `json:"start_at"`       // nil: no bound
	EndAt           *time.Time      `json:"end_at"`         // nil: no bound
	LatestRuns      []Run           `json:"latest_runs"`    // at most 10, newest first
	HogQLQuery      *string         `json:"hogql_query,omitzero"`
	Schema          json.RawMessage `json:"schema,omitzero"`           // object or null
	Filters         json.RawMessage `json:"filters,omitzero"`          // array of objects, or null: see ExportFilter
	Timezone        string          `json:"timezone,omitzero"`         // newer; an IANA name
	OffsetDay       *int            `json:"offset_day,omitzero"`       // newer; of weekly exports, 0 is Sunday
	OffsetHour      *int            `json:"offset_hour,omitzero"`      // newer; of daily and weekly exports
	HogQLModifiers  json.RawMessage `json:"hogql_modifiers,omitzero"`  // newer; object or null
	PrimaryKey      []string        `json:"primary_key,omitzero"`      // newer
	VersionKey      []string        `json:"version_key,omitzero"`      // newer
	IncrementalMode IncrementalMode `json:"incremental_mode,omitzero"` // newer
}

func (e *BatchExport) identity() string { return e.ID.String() }

func (e *BatchExport) complete() error { return has("id", e.ID) }

// Model is the kind of data that an export exports.
type Model string

// The known models. The last two need a newer server.
const (
	ModelEvents   Model = "events"
	ModelPersons  Model = "persons"
	ModelSessions Model = "sessions"
	ModelHogQL    Model = "hogql"
)

var models = []Model{ModelEvents, ModelPersons, ModelSessions, ModelHogQL}

// IsKnown reports whether m is a model of this package.
func (m Model) IsKnown() bool { return isKnown(m, models) }

// Interval is the time between two runs of an export.
type Interval string

// The known intervals. Intervals below an hour need a feature of the plan.
const (
	IntervalHour           Interval = "hour"
	IntervalDay            Interval = "day"
	IntervalWeek           Interval = "week"
	IntervalEvery5Minutes  Interval = "every 5 minutes"
	IntervalEvery15Minutes Interval = "every 15 minutes"
)

var intervals = []Interval{IntervalHour, IntervalDay, IntervalWeek, IntervalEvery5Minutes, IntervalEvery15Minutes}

// IncrementalMode is the way in which a HogQL export writes its rows.
type IncrementalMode string

// The known modes. Merge needs a primary key.
const (
	IncrementalModeAppend IncrementalMode = "APPEND"
	IncrementalModeMerge  IncrementalMode = "MERGE"
)

var incrementalModes = []IncrementalMode{IncrementalModeAppend, IncrementalModeMerge}

// BatchExportRequest is a new export. Name, Model, Destination and Interval are required; other fields are sent
// if they are set. Times are sent in UTC.
type BatchExportRequest struct {
	Name            string          `json:"name"`
	Model           Model           `json:"model"`
	Destination     Destination     `json:"destination"`
	Interval        Interval        `json:"interval"`
	Paused          bool            `json:"paused,omitzero"` // true creates the export without starting it
	LastPausedAt    time.Time       `json:"last_paused_at,omitzero"`
	StartAt         time.Time       `json:"start_at,omitzero"` // no run before this
	EndAt           time.Time       `json:"end_at,omitzero"`   // no run after this
	HogQLQuery      string          `json:"hogql_query,omitzero"`
	Filters         json.RawMessage `json:"filters,omitzero"`          // an array of [ExportFilter]; model events
	Timezone        string          `json:"timezone,omitzero"`         // newer servers; an IANA name
	OffsetDay       *int            `json:"offset_day,omitzero"`       // newer servers; weekly exports, 0 is Sunday
	OffsetHour      *int            `json:"offset_hour,omitzero"`      // newer servers; daily and weekly exports
	HogQLModifiers  json.RawMessage `json:"hogql_modifiers,omitzero"`  // newer servers; model hogql
	PrimaryKey      []string        `json:"primary_key,omitzero"`      // newer servers; model hogql
	VersionKey      []string        `json:"version_key,omitzero"`      // newer servers; model hogql
	IncrementalMode IncrementalMode `json:"incremental_mode,omitzero"` // newer servers; model hogql
}

// BatchExportUpdateRequest changes an export. An absent field stays as it is, null clears it, and a value replaces it. An
// update of an offset needs the Interval too, and one of the Interval its offsets. Make the Destination with
// [Destination.With], which loses no key of the stored config. To pause, call [BatchExportsService.Pause]: Paused alone
// does not set LastPausedAt, where the backfill of Unpause begins. Times are sent in UTC.
type BatchExportUpdateRequest struct {
	Name            Opt[string]          `json:"name,omitzero"`
	Model           Opt[Model]           `json:"model,omitzero"` // newer servers refuse a change
	Destination     Opt[Destination]     `json:"destination,omitzero"`
	Interval        Opt[Interval]        `json:"interval,omitzero"`
	Paused          Opt[bool]            `json:"paused,omitzero"`
	LastPausedAt    Opt[time.Time]       `json:"last_paused_at,omitzero"`
	StartAt         Opt[time.Time]       `json:"start_at,omitzero"`
	EndAt           Opt[time.Time]       `json:"end_at,omitzero"`
	HogQLQuery      Opt[string]          `json:"hogql_query,omitzero"`
	Filters         Opt[json.RawMessage] `json:"filters,omitzero"`
	Timezone        Opt[string]          `json:"timezone,omitzero"`    // newer servers; null is UTC
	OffsetDay       Opt[int]             `json:"offset_day,omitzero"`  // newer servers
	OffsetHour      Opt[int]             `json:"offset_hour,omitzero"` // newer servers
	HogQLModifiers  Opt[json.RawMessage] `json:"hogql_modifiers,omitzero"`
	PrimaryKey      Opt[[]string]        `json:"primary_key,omitzero"`
	VersionKey      Opt[[]string]        `json:"version_key,omitzero"`
	IncrementalMode Opt[IncrementalMode] `json:"incremental_mode,omitzero"`
}

type wireExport struct {
	BatchExportRequest

	Destination wireDestination `json:"destination"`   // instead of the field that redacts
	Step        *int            `json:"step,omitzero"` // of a test of the destination
}

// wire checks a new export and makes the request's body.
func (c BatchExportRequest) wire(op Op) (*wireExport, *InputError) {
	refusal := cmp.Or(
		outgoing.If(c.Name == "", "Name", "", "a name"),
		outgoing.Misspelt("Model", c.Model, models),
		outgoing.Misspelt("Interval", c.Interval, intervals),
		outgoing.MisspeltIfSet("IncrementalMode", c.IncrementalMode, incrementalModes),
		c.checkRules(),
		outgoing.Reversed("EndAt", c.EndAt, "StartAt", c.StartAt),
	)
	if refusal != nil {
		return nil, refusal
	}
	destination, refusal := c.Destination.wire(op)
	c.LastPausedAt, c.StartAt, c.EndAt = c.LastPausedAt.UTC(), c.StartAt.UTC(), c.EndAt.UTC()
	return &wireExport{BatchExportRequest: c, Destination: destination}, refusal
}

func (u BatchExportUpdateRequest) body(op Op) (any, *InputError) {
	if reflect.ValueOf(u).IsZero() {
		return nil, outgoing.Refuse("update", "", "at least one field that is not absent")
	}
	const wantValue = "a value, or absent: an export always has one"
	start, end := u.StartAt.Or(time.Time{}), u.EndAt.Or(time.Time{})
	if refusal := cmp.Or(
		outgoing.If(u.Name.IsNull(), "Name", "null", wantValue),
		outgoing.If(u.Destination.IsNull(), "Destination", "null", wantValue),
		outgoing.If(u.Interval.IsNull(), "Interval", "null", wantValue),
		outgoing.If(u.Paused.IsNull(), "Paused", "null", wantValue),
		outgoing.If(u.Model.IsNull(), "Model", "null", wantValue),
		outgoing.If(u.IncrementalMode.IsNull(), "IncrementalMode", "null", wantValue),
		outgoing.If(u.HogQLQuery == Set(""), "HogQLQuery", "", "a query, or null where the model needs none"),
		outgoing.If(u.Name == Set(""), "Name", "", "a name"),
		misspeltOpt("Model", u.Model, models),
		misspeltOpt("Interval", u.Interval, intervals),
		misspeltOpt("IncrementalMode", u.IncrementalMode, incrementalModes),
		u.checkRules(),
		outgoing.Reversed("EndAt", end, "StartAt", start),
	); refusal != nil {
		return nil, refusal
	}
	for field, at := range map[string]*Opt[time.Time]{"LastPausedAt": &u.LastPausedAt, "StartAt": &u.StartAt, "EndAt": &u.EndAt} {
		t, ok := at.Get()
		if ok && t.IsZero() {
			return nil, outgoing.Refuse(field, "", "a time, or Null[time.Time]() to clear it; the zero time is neither")
		}
		if ok {
			*at = Set(t.UTC())
		}
	}
	var wire Opt[wireDestination]
	if destination, ok := u.Destination.Get(); ok {
		w, refusal := destination.wire(op)
		if refusal != nil {
			return nil, refusal
		}
		wire = Set(w)
	}
	return struct {
		BatchExportUpdateRequest

		Destination Opt[wireDestination] `json:"destination,omitzero"` // instead of the field that redacts
	}{u, wire}, nil
}

func misspeltOpt[T ~string](field string, o Opt[T], known []T) *InputError {
	if value, ok := o.Get(); ok {
		return outgoing.Misspelt(field, value, known)
	}
	return nil
}

// BatchExportsService manages the exports of a project: [Client.BatchExports].
type BatchExportsService service

// List returns one page of exports, newest first: GET /batch_exports/, scope batch_export:read.
func (s *BatchExportsService) List(ctx context.Context, o *ListOptions, options ...CallOption) (*OffsetPage[BatchExport], error) {
	return s.walk(o, options).One(ctx)
}

// Pages yields the pages of List.
func (s *BatchExportsService) Pages(ctx context.Context, o *ListOptions, options ...CallOption) iter.Seq2[*OffsetPage[BatchExport], error] {
	return s.walk(o, options).Pages(ctx)
}

// All yields all exports. The error that ends it is a [*PageError], which says where to resume.
func (s *BatchExportsService) All(ctx context.Context, o *ListOptions, options ...CallOption) iter.Seq2[BatchExport, error] {
	return s.walk(o, options).All(ctx)
}

func (s *BatchExportsService) walk(o *ListOptions, options []CallOption) offsetWalk[BatchExport] {
	return walkByOffset[BatchExport](s.client, endpoint(ops.BatchExportsList), outgoing.OrDefault(o), options)
}

// Get returns one export, or [ErrNotFound]: GET /batch_exports/{id}/, scope batch_export:read.
func (s *BatchExportsService) Get(ctx context.Context, id uuid.UUID, options ...CallOption) (*BatchExport, error) {
	return ask[BatchExport](ctx, s.client, endpointByID(ops.BatchExportsGet, id), options)
}

// Create makes an export and its schedule: POST /batch_exports/, scope batch_export:write. [ErrInvalid] for a wrong
// config, [ErrForbidden] for an interval or a model that the plan does not include. The call is not repeated if its
// outcome is unknown: see [OutcomeUnknownError].
func (s *BatchExportsService) Create(ctx context.Context, export BatchExportRequest, options ...CallOption) (*BatchExport, error) {
	r := endpoint(ops.BatchExportsCreate)
	r.body, r.refusal = export.wire(ops.BatchExportsCreate)
	created, err := ask[BatchExport](ctx, s.client, r, options)
	return created, withReplacement(err, export.Destination)
}

// Update changes an export and returns it: PATCH /batch_exports/{id}/, scope batch_export:write. [ErrInvalid] for a
// wrong config and, on newer servers, for a change of the model or of the destination's type.
func (s *BatchExportsService) Update(ctx context.Context, id uuid.UUID, update BatchExportUpdateRequest, options ...CallOption) (*BatchExport, error) {
	body, refusal := update.body(ops.BatchExportsUpdate)
	r := endpointByID(ops.BatchExportsUpdate, id).refuse(refusal)
	r.body = body
	updated, err := ask[BatchExport](ctx, s.client, r, options)
	return updated, withReplacement(err, update.Destination.Or(Destination{}))
}

// Delete removes an export and its schedule. The service cancels its runs and backfills with the status Running. One
// that is Starting continues and exports: cancel it before, or wait for it. DELETE /batch_exports/{id}/, scope
// batch_export:write. [ErrNotFound] if it was deleted before.
func (s *BatchExportsService) Delete(ctx context.Context, id uuid.UUID, options ...CallOption) error {
	return s.client.call(ctx, endpointByID(ops.BatchExportsDelete, id), nil, options...)
}

// Pause stops the schedule of an export. It changes nothing if the export is paused already. POST
// /batch_exports/{id}/pause/, scope batch_export:write.
func (s *BatchExportsService) Pause(ctx context.Context, id uuid.UUID, options ...CallOption) error {
	return s.client.call(ctx, endpointByID(ops.BatchExportsPause, id), nil, options...)
}

// UnpauseOptions are the options of [BatchExportsService.Unpause].
type UnpauseOptions struct {
	// Backfill also exports the data since the export was paused by Pause or by the service. The default is false.
	Backfill bool
	// AcceptRowsByTimestamp allows a backfill that begins with an old interval: see [BackfillOptions]. The default
	// is false.
	AcceptRowsByTimestamp bool
}

// Unpause starts the schedule of an export again; nothing changes if it is not paused. With UnpauseOptions.Backfill the
// service also exports the time of the pause, and Unpause returns the ticket, for [BackfillsService.Wait]. That is an
// [*InputError] where the pause began too long ago, unless the option AcceptRowsByTimestamp is set, and where the service
// does not know the pause, since only Pause and the service's own pause set last_paused_at. To fill a pause without harm,
// unpause without a backfill and call coverage.MakePlan. A backfill costs three or four reads before the call, which sends
// nothing if one fails. The call is not repeated if its outcome is unknown: the ticket comes with the
// [*OutcomeUnknownError].
//
// POST /batch_exports/{id}/unpause/, scope batch_export:write.
func (s *BatchExportsService) Unpause(ctx context.Context, id uuid.UUID, o *UnpauseOptions, options ...CallOption) (*BackfillTicket, error) {
	r := endpointByID(ops.BatchExportsUnpause, id)
	cfg, err := configOf(ops.BatchExportsUnpause, options)
	if err != nil {
		return nil, err
	}
	if asked := outgoing.OrDefault(o); asked.Backfill {
		cfg.emptyReply()
		return s.unpauseWithBackfill(ctx, r, id, asked.AcceptRowsByTimestamp, options)
	}
	if cfg.body != nil { // it may ask for a backfill
		r.op.Replay = endpoints.Never
	}
	return nil, s.client.call(ctx, r, nil, options...)
}

// Logs returns one page of the log of an export, newest entry first: GET /batch_exports/{id}/logs/, scope
// batch_export:read. [ErrUnsupported] on older servers, where no personal API key may read logs.
func (s *BatchExportsService) Logs(ctx context.Context, id uuid.UUID, o *LogOptions, options ...CallOption) (*LogPage, error) {
	return s.client.logs(ctx, endpointByID(ops.BatchExportsLogs, id), o, options...)
}

// AllLogs yields the log of an export, newest entry first, without losing or repeating an entry at a page boundary. An
// error is a [*PageError]; its Before resumes the list, even if all entries of a page have the same microsecond.
func (s *BatchExportsService) AllLogs(ctx context.Context, id uuid.UUID, o *LogOptions, options ...CallOption) iter.Seq2[LogEntry, error] {
	return s.client.allLogs(ctx, endpointByID(ops.BatchExportsLogs, id), o, options...)
}

// ByName returns the export with exactly this name, after reading the whole list. The error is [ErrNotFound] if no
// export has the name, and an [*InputError] with the ids if several do: GET /batch_exports/, scope batch_export:read.
func (s *BatchExportsService) ByName(ctx context.Context, name string, options ...CallOption) (*BatchExport, error) {
	return byName(ops.BatchExportsList, name, s.All(ctx, nil, options...), func(e *BatchExport) (id any, names []string) {
		return e.ID, []string{e.Name}
	})
}
