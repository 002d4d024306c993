package coverage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/configs"
	calendar "github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/narrow"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/internal/verify"
	"github.com/hogapi/hogapi/ops"
)

// Action is the kind of a repair step.
type Action string

// The actions.
const (
	// ActionCancel cancels a run that is stuck, and waits until it is over.
	ActionCancel Action = "cancel_run"
	// ActionBackfill exports the interval again.
	ActionBackfill Action = "backfill"
	// ActionSecondExport exports the interval with a second, paused export into another prefix: a backfill would replace
	// the objects of the first export.
	ActionSecondExport Action = "second_export"
	// ActionUnpause unpauses the export at the end, and exports nothing.
	ActionUnpause Action = "unpause"
	// ActionDownload is left to the user: only [DownloadRange] gets the rows as the schedule would have.
	ActionDownload Action = "file_download"
	// ActionByHand is left to the user: the note says why.
	ActionByHand Action = "by_hand"
)

// StepState is the state of a step.
type StepState string

// The states of a step.
const (
	StepPlanned StepState = "planned"
	StepBegun   StepState = "begun"
	StepDone    StepState = "done"
	StepCovered StepState = "covered_already" // by somebody else, since the plan was made
	StepFailed  StepState = "failed"
	StepLeft    StepState = "left_to_you"
)

var (
	openStates   = []StepState{StepPlanned, StepBegun, StepFailed}
	repairStates = slices.Concat(openStates, []StepState{StepDone, StepCovered, StepLeft})
	carriedOut   = []Action{ActionCancel, ActionBackfill, ActionSecondExport, ActionUnpause}
)

// Step is one step of a repair.
type Step struct {
	Action    Action          `json:"action"`
	Start     time.Time       `json:"start"`
	End       time.Time       `json:"end"` // not included
	Intervals int             `json:"intervals"`
	Gap       []State         `json:"gap"` // the states of the intervals
	Rows      RowChoice       `json:"rows"`
	Estimate  *int64          `json:"estimate"`         // of the export's events, for steps by timestamp; nil if not known
	Run       *Run            `json:"run,omitempty"`    // to be cancelled
	Export    string          `json:"export,omitempty"` // the name of the second export
	Prefix    string          `json:"prefix,omitempty"` // of its objects
	Note      string          `json:"note"`
	Request   json.RawMessage `json:"request,omitempty"` // of a second export that is left to you, without its credentials

	State   StepState              `json:"state"`
	BegunAt time.Time              `json:"begun_at,omitzero"`
	Ticket  *hogapi.BackfillTicket `json:"ticket,omitempty"` // once its backfill was requested
	Result  string                 `json:"result,omitempty"`
	Left    []hogapi.BackfillPart  `json:"left,omitempty"` // of a backfill that is left to you: the parts that it did not run

	// Leftovers says that some rows may be in the table already, and would come twice: see RepairOptions.AcceptCopies.
	Leftovers bool `json:"leftovers,omitempty"`
	// ComparedAt is the time of the row comparison that found the missing rows: earlier runs do not count.
	ComparedAt time.Time `json:"compared_at,omitzero"`
}

// Plan says how the gaps of an export are repaired. It can be read by a person, stored as JSON, and carried out by
// another process with [Repair]. It is over when no step is planned, begun or failed: see [Plan.Summary].
type Plan struct {
	ExportID  uuid.UUID     `json:"export_id"`
	Name      string        `json:"name"`
	Schedule  string        `json:"schedule"` // of the export; Repair refuses a plan for another one
	PlannedAt time.Time     `json:"planned_at"`
	AgeLine   time.Duration `json:"age_line"`
	Steps     []Step        `json:"steps"`
	Notes     []string      `json:"notes"`

	MergesByUUID bool `json:"merges_by_uuid,omitempty"` // of rows with one uuid, the table keeps the newest: none comes twice
}

// RepairOptions are the options of [MakePlan] and [Repair].
type RepairOptions struct {
	// AgeLine is the age of an interval up to which a backfill chooses events as the schedule does. The default is 7 days on
	// PostHog Cloud and 5 days elsewhere. A daily or weekly export on a server before September 2026 has no time to spare
	// then: set 4 days. On servers without records of backfills it is 0. Repair goes by the line of the plan.
	AgeLine time.Duration
	// IncludeUnknown also plans to export intervals with the state [StateUnknown] again. The default is false.
	IncludeUnknown bool
	// AcceptCopies also exports intervals again of which rows may be in the table already. Where the service writes events in
	// several transactions (Postgres, and Redshift with VARCHAR properties and INSERT), a run that did not complete leaves
	// some. By default such steps are left to you: by MakePlan, and by Repair for a run that ended so since the plan.
	AcceptCopies bool
	// Unpause plans to unpause the export at the end. The default is false.
	Unpause bool
	// Credentials is the config of a second export, with the credentials of its object store, if the export has no
	// integration: the service never returns credentials. Without it, old gaps of such an export are left to you.
	Credentials destination.Config
	// TestAll also runs the steps of the destination's test that create a table or a volume and drop it: see
	// [hogapi.BatchExportsService.TestDestination]. By default, Repair runs only the steps that change nothing.
	TestAll bool
	// Save stores the plan. Repair calls it before and after each request that begins a step. A Repair that was killed
	// continues with the plan that was saved last. An error of Save ends Repair.
	Save func(*Plan) error
	// Watch says how Repair follows runs and backfills, and how long it waits for each.
	Watch *hogapi.WatchOptions
}

// Report is the result of a repair.
type Report struct {
	Plan  *Plan     `json:"plan"`
	After *Coverage `json:"after"` // from the start of the first step on, so for Options.Since keep that of Of; nil if it could not be read
}

// MakePlan plans the repair of the gaps of a coverage. It changes nothing: read the plan, then pass it to [Repair]. A gap
// that is young enough is exported by a backfill of the same rows. For an older gap of events the service chooses rows by
// timestamp, so rows come twice in a table, a second export writes into another prefix of an object store, or only a file
// download gets them. Destinations that act on rows (HTTP, Workflows) are never repaired. PostHog bills every exported row
// again.
//
// GET /batch_exports/{id}/ and …/backfills/, scope batch_export:read; POST /query/, scope query:read.
func MakePlan(ctx context.Context, client *hogapi.Client, c *Coverage, o *RepairOptions) (*Plan, error) {
	selected := outgoing.OrDefault(o)
	root, err := bridge.Open(ctx, client, ops.BatchExportsPlanRepair, cmp.Or(
		outgoing.If(c == nil, "coverage", "", "a coverage of Of, not nil"),
		outgoing.Durations(map[string]time.Duration{"RepairOptions.AgeLine": selected.AgeLine}),
	))
	if err != nil {
		return nil, err
	}
	s := service{client, root}
	export, now, err := s.getAt(ctx, c.ExportID)
	if err != nil {
		return nil, err
	}
	empty, err := s.emptyBackfills(ctx, c)
	hasRecords := !bridge.HasNoRecords(err)
	if err != nil && hasRecords {
		return nil, bridge.FromTheStart(err)
	}
	line := time.Duration(root.AgeLine(hasRecords))
	if hasRecords {
		line = cmp.Or(selected.AgeLine, line)
	}
	plan := &Plan{
		ExportID: export.ID, Name: export.Name, Schedule: export.scheduleText(), PlannedAt: now, AgeLine: line, Steps: []Step{}, Notes: []string{},
		MergesByUUID: export.mergesByUUID(),
	}
	target := export.repairTarget(plan.AgeLine, now, selected)
	target.empty = empty.spans()
	verdicts := make([]verdict, len(c.Intervals))
	for i, x := range c.Intervals {
		verdicts[i] = verdict{Interval: x, rest: export.rest(x.span(), x.Runs)}
		verdicts[i].Leftovers = x.Leftovers && !plan.MergesByUUID
		verdicts[i].ComparedAt = narrow.Earlier(x.ComparedAt, now)
	}
	for _, gap := range target.steps(verdicts, selected.IncludeUnknown) {
		plan.Steps = append(plan.Steps, export.repairStep(gap, selected.AcceptCopies))
	}
	if err := s.estimate(ctx, export, plan); err != nil {
		return nil, err
	}
	plan.Steps = c.withCancels(plan.Steps)
	if selected.Unpause && export.Paused {
		plan.Steps = append(plan.Steps, Step{Action: ActionUnpause, Start: now, End: now, State: StepPlanned, Note: "the schedule continues from now"})
	}
	isUnknown := func(x Interval) bool { return x.State == StateUnknown }
	leavesOut := !selected.IncludeUnknown && slices.ContainsFunc(c.Intervals, isUnknown)
	isPlanned := func(s Step) bool { return s.State == StepPlanned }
	plan.Notes = append(plan.Notes, notesFor(slices.ContainsFunc(plan.Steps, isPlanned), leavesOut, export.Paused && !selected.Unpause)...)
	return plan, nil
}

// rest returns the parts of a time that no complete run covers. The runs are newest first.
func (e export) rest(x calendar.Span, runs []Run) []calendar.Span {
	return rules{replaces: e.isObjectStore()}.uncovered(x, runs)
}

// scheduleText names the settings on which a plan depends.
func (e export) scheduleText() string {
	return fmt.Sprintf("%s of %s to %s, %s %d %d", e.Interval, cmp.Or(e.Model, hogapi.ModelEvents), e.Destination.Type, e.Timezone, outgoing.OrDefault(e.OffsetDay), outgoing.OrDefault(e.OffsetHour))
}

func (e export) repairTarget(line time.Duration, now time.Time, o RepairOptions) target {
	_, hasIntegration := e.Destination.Integration.Get()
	return target{
		schedule: e.schedule(), model: e.model(), objectStore: e.isObjectStore(),
		hasElsewhere: hasIntegration || !outgoing.IsNil(o.Credentials), line: calendar.AgeLine(line), now: now,
	}
}

// withCancels puts steps that cancel the stuck runs of a time before its backfill. Other steps let such a run go on.
func (c *Coverage) withCancels(steps []Step) []Step {
	all, seen := []Step{}, map[uuid.UUID]bool{}
	for _, step := range steps {
		for _, x := range c.Intervals {
			for _, run := range x.Runs {
				isStuck := x.State == StateStuck && calendar.IsOpen(run.Status) && step.span().Overlaps(run.span())
				if isStuck && step.Action == ActionBackfill && step.State == StepPlanned && !seen[run.ID] {
					seen[run.ID] = true
					all = append(all, Step{
						Action: ActionCancel, Start: run.Start, End: run.End, Intervals: 1, Gap: []State{StateStuck}, Run: &run,
						State: StepPlanned, Note: "under way since " + run.CreatedAt.Format(clock),
					})
				}
			}
		}
		all = append(all, step)
	}
	return all
}

func (s *Step) span() calendar.Span { return calendar.NewSpan(s.Start, s.End) }

func (e export) repairStep(gap gapStep, acceptsCopies bool) Step {
	step := gap.Step
	step.Rows, step.State, step.Leftovers = RowsAsScheduled, StepPlanned, false
	if gap.isOld && gap.Action != ActionDownload {
		step.Rows = RowsByTimestamp
	}
	if e.model().Choosing == calendar.ByTheServer {
		step.Rows = RowsUnknown
	}
	if gap.isOld && e.isObjectStore() {
		step.Export = fmt.Sprintf("%s (repair of %s)", e.Name, outgoing.Time(gap.Start))
		step.Prefix = path.Join(configs.Prefix(e.Destination.Config), "repair-"+gap.Start.Format("2006-01-02T150405Z")) + "/"
		if step.Action == ActionDownload && gap.why == "" { // RepairOptions has no credentials
			second, _ := e.second(step, destination.Raw(`{"aws_access_key_id": "", "aws_secret_access_key": ""}`))
			request, _ := json.Marshal(second) //nolint:errchkjson // was JSON
			step.Request = bytes.ReplaceAll(request, []byte(`"[redacted]"`), []byte(`""`))
		}
	}
	switch step.Action {
	case ActionSecondExport:
		step.Note = "a backfill would overwrite the objects with rows by timestamp; instead, a second, paused export writes the rows by timestamp to " + step.Prefix + ", and this gap stays listed"
		if configs.HasOldNames(e.Destination.Config) {
			step.Note += "; its Parquet files end in .parquet, without the codec"
		}
	case ActionDownload:
		step.State, step.Note = StepLeft, cmp.Or(gap.why, "coverage.DownloadRange gets these rows as the schedule would have chosen them")
	case ActionByHand:
		step.State, step.Note = StepLeft, gap.why
	default:
		step.Note, step.Leftovers = e.repairNote(gap), gap.Leftovers && !e.isObjectStore()
		switch {
		case step.Leftovers && acceptsCopies:
			step.Note = cmp.Or(step.Note, "as the schedule would") + "; rows that are already in the table will be duplicated: compare it with package reconcile afterwards"
		case step.Leftovers:
			step.State, step.Note = StepLeft, leftoversText(gap.span(), gap.ComparedAt)
		}
	}
	return step
}

// estimate counts the events of the steps by timestamp. A step without events cannot be done by a backfill.
func (s service) estimate(ctx context.Context, e export, plan *Plan) error {
	include, exclude, isAll := configs.Events(e.Destination.Config, e.Filters)
	asker := s.root.Asker("hogapi: rows of a gap")
	isBound := false
	for i := range plan.Steps {
		step := &plan.Steps[i]
		if step.Rows != RowsByTimestamp || step.State != StepPlanned {
			continue
		}
		n, err := queries.Ask[queries.NumberRow](ctx, asker, verify.CountEvents(step.Start, step.End, include, exclude), 2)
		if api, ok := errors.AsType[*hogapi.APIError](err); ok {
			plan.Notes = append(plan.Notes, fmt.Sprintf("The number of rows by timestamp is unknown: status %d; the query needs the scope query:read.", api.StatusCode))
			break
		}
		if err != nil {
			return err
		}
		if len(n) == 1 {
			step.Estimate, isBound = &n[0].N, !isAll
		}
		if outgoing.OrDefault(step.Estimate) == 0 && step.Estimate != nil {
			step.Action, step.State, step.Rows = ActionDownload, StepLeft, RowsAsScheduled
			step.Note = "no event has a timestamp in this gap, so a backfill has no rows: only coverage.DownloadRange gets the rows that arrived in it, " +
				"with a timestamp from 7 days before it to 1 day after it; a run under way may still write them to the table"
		}
	}
	if isBound {
		plan.Notes = append(plan.Notes, "The export has filters, so each estimate is an upper bound.")
	}
	return nil
}

// repairNote says which rows of a backfill into a table come twice.
func (e export) repairNote(gap gapStep) string {
	const late = "by timestamp: late rows are left out (coverage.DownloadRange gets them), and rows of neighbouring intervals "
	switch {
	case gap.isOld && e.mergesByUUID():
		return late + "replace rows with the same uuid"
	case gap.isOld:
		return late + "are duplicated"
	}
	return ""
}

// mergesByUUID reports whether the export writes events into a table with one row for each uuid.
func (e export) mergesByUUID() bool {
	return cmp.Or(e.Model, hogapi.ModelEvents) == hogapi.ModelEvents && configs.MergesByUUID(string(e.Destination.Type), e.Destination.Config)
}
