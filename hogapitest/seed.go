package hogapitest

import (
	"bytes"
	"encoding/json"
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
}

// ID is the project's id.
func (p *Project) ID() string { return p.id }

// Key is the project's capture key.
func (p *Project) Key() string { return p.key }

// Export seeds a batch export, and shows one. Zero values become an hourly export of events to a bucket. An integration that the
// project does not have is added with it.
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
	e := p.newExport(s.now())
	if x.ID != uuid.Nil {
		e.id = x.ID
	}
	e.name, e.interval = or(x.Name, "Export"), or(string(x.Interval), "hour")
	e.model, e.timezone = or(string(x.Model), e.model), or(x.Timezone, e.timezone)
	e.paused, e.extra = x.Paused, x.Extra
	e.lastPaused, e.start, e.end = timeOrNil(x.LastPaused), timeOrNil(x.StartAt), timeOrNil(x.EndAt)
	if !x.Created.IsZero() {
		e.created, e.updated = x.Created, x.Created
	}
	if s.era >= E4 && x.DestinationType == "" {
		x.DestinationType, x.Integration = "AwsS3", or(x.Integration, 1)
	}
	e.destination = destination{kind: or(x.DestinationType, "S3"), config: asSent(x.Config)}
	if x.Config == nil && e.destination.kind == "AwsS3" {
		e.destination.config = map[string]any{"bucket_name": "bucket", "region": "us-east-1", "prefix": "events/"}
	}
	if x.Config == nil && e.destination.kind == "S3" {
		e.destination.config = map[string]any{"bucket_name": "bucket", "region": "us-east-1", "prefix": "events/", "aws_access_key_id": "id", "aws_secret_access_key": "secret"}
	}
	if x.Integration != 0 {
		e.destination.integration = toJSON(x.Integration)
		if p.integration(x.Integration) == nil {
			p.addIntegration(Integration{ID: x.Integration, Kind: kindFor[e.destination.kind], Config: map[string]any{"name": "seeded " + strconv.Itoa(x.Integration)}})
		}
	}
	p.exports = append(p.exports, e)
	return e.id
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

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// Exports shows the project's batch exports, deleted ones too, in the order of their making.
func (p *Project) Exports() []Export {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	var list []Export
	for _, e := range p.exports {
		x := Export{
			ID: e.id, Name: e.name, Model: hogapi.Model(e.model), Interval: hogapi.Interval(e.interval), DestinationType: e.destination.kind, Config: e.destination.config,
			Paused: e.paused, Created: e.created, LastPaused: timeOrZero(e.lastPaused), StartAt: timeOrZero(e.start), EndAt: timeOrZero(e.end),
			Timezone: e.timezone, Extra: e.extra, Deleted: e.deleted,
		}
		_ = json.Unmarshal(e.destination.integration, &x.Integration)
		list = append(list, x)
	}
	return list
}

// Run seeds a run, and shows one. Zero values become a run of the hour before it was created that has Completed.
type Run struct {
	ID         uuid.UUID // a new one, where it is nil
	Status     hogapi.RunStatus
	Start, End time.Time // the interval
	FromStart  bool      // the interval has no start: it begins at the beginning of time
	NoEnd      bool      // the interval has no end
	Created    time.Time // now, where it is zero
	Finished   time.Time // a minute after Created for a run that is over
	Records    int
	Error      string
	Extra      map[string]any // added to the answer; replaces its keys

	BackfillID uuid.UUID // only when shown
}

// AddRun adds a run to an export. A live one (Starting, Running) moves on as it is read, to the outcome that [Project.NextRuns] says.
func (p *Project) AddRun(exportID uuid.UUID, x Run) uuid.UUID {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	e := p.mustFind(exportID)
	created := or(x.Created, s.now())
	r := &run{
		id: or(x.ID, uuid.New()), export: e, workflow: uuid.New(), status: or(x.Status, "Completed"),
		start: timeOrNil(x.Start), end: or(x.End, created.Truncate(time.Hour)), created: created, updated: created, noEnd: x.NoEnd, extra: x.Extra,
		outcome: Outcome{Status: "Completed", Polls: s.polls, Records: or(x.Records, defaultRecords)},
	}
	if r.start == nil && !x.FromStart {
		start := r.end.Add(-time.Hour)
		r.start = &start
	}
	switch {
	case r.live():
		if next := &p.outcomes; len(*next) > 0 {
			r.outcome, *next = (*next)[0].or(r.outcome), (*next)[1:]
		}
		if r.status == "Running" {
			r.step = 1
		}
	default:
		finished := or(x.Finished, created.Add(time.Minute))
		r.finished, r.updated = &finished, finished
		r.total = &r.outcome.Records
		if r.status == "Completed" {
			r.completed = r.total
		}
	}
	if x.Error != "" {
		r.err = &x.Error
	}
	e.add(r)
	return r.id
}

func (p *Project) mustFind(id uuid.UUID) *export {
	e := p.find(id)
	if e == nil {
		panic("hogapitest: the project has no export " + id.String())
	}
	return e
}

// Runs shows the runs of an export, oldest first. Looking at them here moves nothing.
func (p *Project) Runs(exportID uuid.UUID) []Run {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	var list []Run
	for _, r := range p.runsOf(exportID) {
		x := Run{
			ID: r.id, Status: r.status, Start: timeOrZero(r.start), End: r.end, FromStart: r.start == nil, NoEnd: r.noEnd, Created: r.created,
			Finished: timeOrZero(r.finished), Records: r.outcome.Records, Extra: r.extra,
		}
		if r.err != nil {
			x.Error = *r.err
		}
		if r.backfill != nil {
			x.BackfillID = r.backfill.id
		}
		list = append(list, x)
	}
	return list
}

// Outcome is how a run ends. Zero fields keep the defaults: Completed, the polls of [WithPolls], the records of [Project.SetRecords].
type Outcome struct {
	Status        hogapi.RunStatus
	Error         string
	Polls         int
	Records       int
	FailedRecords int // of Records; only the newest era shows them
}

func (o Outcome) or(usual Outcome) Outcome {
	return Outcome{or(o.Status, usual.Status), o.Error, or(o.Polls, usual.Polls), or(o.Records, usual.Records), o.FailedRecords}
}

// NextRuns sets the outcomes of the next runs of the project that come to life, in order; later ones end as usual.
func (p *Project) NextRuns(outcomes ...Outcome) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.outcomes = append(p.outcomes, outcomes...)
}

// FailNextRuns makes the next n runs end as Failed with an error text.
func (p *Project) FailNextRuns(n int, text string) {
	p.NextRuns(slices.Repeat([]Outcome{{Status: "Failed", Error: text}}, n)...)
}

// SetRecords says how many records the intervals of an export hold; the default is 1,000 in each. The start is zero for the
// beginning of time. A backfill of a range without
// any makes no run.
func (p *Project) SetRecords(exportID uuid.UUID, records func(start, end time.Time) int) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.mustFind(exportID).records = records
}

// AddLog adds a line to an export's log.
func (p *Project) AddLog(exportID uuid.UUID, l LogEntry) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	e := p.mustFind(exportID)
	l.Time, l.Level = or(l.Time, p.server.now()), or(l.Level, "INFO")
	l.instance = l.RunID
	for _, r := range e.runs {
		if r.id == l.RunID {
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
