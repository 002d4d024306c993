package hogapitest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
)

// Project is one project of the server, to seed and to inspect.
type Project struct {
	server *Server
	id     string
	team   int
	key    string

	exports    []*export
	dashboards []Dashboard
	downloads  []*fileDownload
	warnings   []Warning
	deletions  []*DataDeletion
	outcomes   []Outcome

	integrations    []*Integration
	lastIntegration int
	failing         map[string]string // steps of tests of destinations, with their messages
	exportRows      func(ExportedRun) int
	exportsEvents   bool
	meter           readMeter
}

// ID returns the project's id.
func (p *Project) ID() string { return p.id }

// Key returns the project's capture key.
func (p *Project) Key() string { return p.key }

// Export describes a batch export, to add it or to read it. By default it is an hourly export of events to a
// bucket. If the project does not have its integration, AddExport adds it.
type Export struct {
	ID              uuid.UUID // a new one, where it is nil
	Name            string
	Model           hogapi.Model
	Interval        hogapi.Interval
	DestinationType string
	Config          map[string]any // secrets included
	Integration     int            // 0 for no integration
	Paused          bool
	Created         time.Time // now, where it is zero
	LastPaused      time.Time
	StartAt, EndAt  time.Time
	Timezone        string
	Extra           map[string]any // added to the answer; replaces its keys

	Deleted bool // only when shown
}

// AddExport adds a batch export.
func (p *Project) AddExport(x Export) uuid.UUID {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	e := p.newExport(or(x.Created, s.now()))
	x.ID, x.Name, x.Interval, x.Created = or(x.ID, e.ID), or(x.Name, "Export"), or(x.Interval, "hour"), e.Created
	x.Model, x.Timezone = or(x.Model, e.Model), or(x.Timezone, e.Timezone)
	if s.era == E4 && x.DestinationType == "" {
		x.DestinationType, x.Integration = "AwsS3", or(x.Integration, 1)
	}
	e.destination = destination{or(x.DestinationType, "S3"), asSent(x.Config), x.Integration}
	if x.Config == nil && (e.kind == "AwsS3" || e.kind == "S3") {
		e.config = map[string]any{"bucket_name": "bucket", "region": "us-east-1", "prefix": "events/"}
		if e.kind == "S3" {
			e.config["aws_access_key_id"], e.config["aws_secret_access_key"] = "id", "secret"
		}
	}
	if x.Integration != 0 && p.integration(x.Integration) == nil {
		p.addIntegration(Integration{ID: x.Integration, Kind: kindFor[e.kind], Config: map[string]any{"name": "seeded " + strconv.Itoa(x.Integration)}})
	}
	e.Export, e.updated = x, or(x.LastPaused, x.Created)
	p.exports = append(p.exports, e)
	e.logCreation()
	return e.ID
}

// asSent is a config with the types that it would have after a trip as JSON.
func asSent(config map[string]any) map[string]any {
	dec := json.NewDecoder(bytes.NewReader(toJSON(config)))
	dec.UseNumber()
	var out map[string]any
	_ = dec.Decode(&out)
	return out
}

func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

func orNull[T comparable](value T) any {
	var zero T
	if value == zero {
		return nil
	}
	return value
}

// Exports returns the project's batch exports, including deleted ones, in the order of their creation.
func (p *Project) Exports() []Export {
	return seen(p, func() []*export { return p.exports }, (*export).shown)
}

// shown is the export with the fields of its destination.
func (e *export) shown() Export {
	x := e.Export
	x.DestinationType, x.Config, x.Integration = e.kind, e.config, e.integration
	return x
}

// seen shows a list of the project. Looking at it moves nothing.
func seen[T, S any](p *Project, list func() []T, show func(T) S) (all []S) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	for _, x := range list() {
		all = append(all, show(x))
	}
	return all
}

// Run describes a run, to add it or to read it. By default it has the status Completed and the hour before its
// creation.
type Run struct {
	ID         uuid.UUID // a new one, where it is nil
	Status     hogapi.RunStatus
	Start, End time.Time // the interval
	FromStart  bool      // the interval has no start: it begins at the beginning of time
	NoEnd      bool      // the interval has no end
	Created    time.Time // now, where it is zero
	Finished   time.Time // a minute after Created for a run that is over
	Records    int
	Attempts   int // of its activity; 0 is one
	Error      string
	Extra      map[string]any // added to the answer; replaces its keys

	BackfillID uuid.UUID // only when shown
	backfill   time.Time // start of the backfill
}

// AddRun adds a run to an export. If its status is Starting or Running, each read moves it on, to the outcome
// that [Project.NextRuns] has set.
func (p *Project) AddRun(exportID uuid.UUID, x Run) uuid.UUID {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	e := p.mustFind(exportID)
	x.ID, x.Status, x.Created = or(x.ID, uuid.New()), or(x.Status, "Completed"), or(x.Created, s.now())
	x.End = or(x.End, x.Created.Truncate(time.Hour))
	if !x.FromStart {
		x.Start = or(x.Start, x.End.Add(-time.Hour))
	}
	x.FromStart = x.Start.IsZero()
	r := &run{Run: x, export: e, workflow: uuid.New(), updated: x.Created}
	r.outcome.Records = or(x.Records, defaultRecords)
	if r.live() {
		r.outcome = p.nextOutcome(r.outcome.Records)
		r.attempt(x.Created)
		if x.Status == "Running" {
			r.step = 1
		}
	} else {
		r.Finished = or(x.Finished, x.Created.Add(time.Minute))
		r.updated, r.total = r.Finished, &r.outcome.Records
		if x.Status == "Completed" {
			r.completed = r.total
		}
		r.outcome.Status = x.Status
		for i := range max(x.Attempts, 1) {
			r.attempt(x.Created.Add(time.Duration(i+1) * time.Second))
		}
	}
	e.add(r)
	return r.ID
}

// find returns an export, also a deleted one. If the project does not have it, it returns an empty one.
func (p *Project) find(id uuid.UUID) *export {
	for _, e := range p.exports {
		if e.ID == id {
			return e
		}
	}
	return &export{}
}

func (p *Project) mustFind(id uuid.UUID) *export {
	if e := p.find(id); e.project != nil && !e.Deleted {
		return e
	}
	panic("hogapitest: the project has no export " + id.String())
}

// Runs returns the runs of an export, oldest first. It does not move them on.
func (p *Project) Runs(exportID uuid.UUID) []Run {
	return seen(p, func() []*run { return p.find(exportID).runs }, func(r *run) Run {
		x := r.Run
		x.Records = r.outcome.Records
		return x
	})
}

// Outcome is the end of a run. Zero fields take the defaults: Completed, the polls of [WithPolls], the records
// of [Project.SetRecords].
type Outcome struct {
	Status        hogapi.RunStatus
	Error         string
	Polls         int
	Records       int
	FailedRecords int // of Records; only E4 shows them
	Attempts      int // of its activity; 0 is one
	Written       int // events that each attempt but the one that completes leaves in a table without a stage
	OnCancel      CancelEffect
	CancelPolls   int // the reads after a cancel until the workflow ends; 0 is one
}

// CancelEffect is the effect of a cancel on a run under way. The service shows Cancelled at once, without a
// finished_at. Its workflow ends when the run is read next, or after [Outcome].CancelPolls reads.
type CancelEffect string

// The effects of a cancel.
const (
	CancelEnds        CancelEffect = ""          // the run stays Cancelled and gets its finished_at
	CancelIsTooLate   CancelEffect = "too late"  // the run ends with its own outcome
	CancelHasNoEffect CancelEffect = "no effect" // the answer is a success, and the run stays Running for good
)

func (o Outcome) or(usual Outcome) Outcome {
	o.Status, o.Polls, o.Records = or(o.Status, usual.Status), or(o.Polls, usual.Polls), or(o.Records, usual.Records)
	return o
}

// NextRuns sets the outcomes of the next runs of the project that begin, in order. Later runs end as usual.
func (p *Project) NextRuns(outcomes ...Outcome) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.outcomes = append(p.outcomes, outcomes...)
}

// FailNextRuns makes the next n runs end as Failed with an error text.
func (p *Project) FailNextRuns(n int, text string) {
	p.NextRuns(slices.Repeat([]Outcome{{Status: "Failed", Error: text}}, n)...)
}

// SetRecords sets the number of records in the intervals of an export; the default is 1,000 in each. A zero
// start is the beginning of time. A backfill of a range without records makes no run.
func (p *Project) SetRecords(exportID uuid.UUID, records func(start, end time.Time) int) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.mustFind(exportID).records = records
}

// AddLog adds a line to the log of an export or a file download.
func (p *Project) AddLog(id uuid.UUID, l LogEntry) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	l.Time, l.Level = or(l.Time, p.server.now()), or(l.Level, "INFO")
	if i := slices.IndexFunc(p.downloads, func(d *fileDownload) bool { return d.ID == id }); i >= 0 {
		p.downloads[i].logs = append(p.downloads[i].logs, l)
		return
	}
	e := p.mustFind(id)
	l.instance = l.RunID
	for _, r := range e.runs {
		if r.ID == l.RunID {
			l.instance = r.workflow
		}
	}
	e.logs = append(e.logs, l)
}

// AddDashboard adds a dashboard and returns its id.
func (p *Project) AddDashboard(d Dashboard) int {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	d.ID = or(d.ID, len(p.dashboards)+1)
	d.Created = or(d.Created, p.server.now())
	p.dashboards = append(p.dashboards, d)
	return d.ID
}

// Projects returns the server's projects in the order of their ids.
func (s *Server) Projects() []*Project {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.projects), func(a, b *Project) int {
		return cmp.Or(cmp.Compare(a.team, b.team), cmp.Compare(a.id, b.id))
	})
}

// Backfill is a backfill or a retry.
type Backfill struct {
	ID         uuid.UUID
	Status     hogapi.RunStatus
	Start, End time.Time // a zero Start is the beginning of time
	Created    time.Time
	Intervals  int  // to cover
	Begun      int  // of them
	Retry      bool // of one run
}

// Backfills returns the backfills and retries of an export, oldest first. It does not move them on.
func (p *Project) Backfills(exportID uuid.UUID) []Backfill {
	return seen(p, func() []*backfill { return p.find(exportID).backfills }, func(b *backfill) Backfill {
		x := b.Backfill
		x.Intervals = len(b.intervals)
		return x
	})
}

// Dashboards returns the project's dashboards, in the order of their creation.
func (p *Project) Dashboards() []Dashboard {
	return seen(p, func() []Dashboard { return p.dashboards }, func(d Dashboard) Dashboard { return d })
}
