package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	pages "github.com/hogapi/hogapi/cmd/internal/page"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/queries"
)

type undo struct {
	*app

	project    project
	state      string
	importID   string
	submission string
	isAgreed   bool
}

func newUndoCommand(a *app) *cobra.Command {
	u := &undo{app: a}
	cmd := &cobra.Command{
		Use: "undo [PLAN]", Short: "Show which events a deletion would remove, and ask PostHog for it", Args: onlyPlan,
		Long: `undo shows how many events of an import the project has, and then asks PostHog
to delete them: with --yes, or after a question on a terminal. PostHog's staff
approve each request, it runs later, and it cannot be cancelled from here. Run
the same command again to see the status of the request.

Some effects stay: merged persons, changed properties of persons and groups, and
events that destinations have already received. Events that arrive after the
deletion stay too, so wait until no more events of the import arrive.

The personal API key needs the scope data_deletion:write, and query:read for the
preview by day. Where deletions are not enabled for a project, ask PostHog's
support, with the import's id.

Exit codes: 0 the request is made, or done; 7 it was not made: it was not
confirmed, or the server has no deletions; 5 the key or the project is wrong, or
PostHog has not enabled deletions for it.`,
		Example: `  hogimport undo
  hogimport undo migration.yaml --yes
  hogimport undo --state hogimport-state/export --yes
  hogimport undo --import-id mixpanel-2024`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, _, err := planned(args, cmd.Flags(), &u.state); err != nil {
				return err
			}
			return u.run(cmd.Context())
		},
	}
	u.project.bindPersonal(cmd)
	u.project.bindMoved(cmd)
	f := cmd.Flags()
	f.StringVar(&u.state, "state", "", "the state `FOLDER` of the import; default: the only one below hogimport-state")
	f.StringVar(&u.importID, "import-id", "", "the `NAME` of the import, where its state folder is gone")
	f.StringVar(&u.submission, "submission-id", "", "a `UUID` of your own: to delete events that were imported again under the same id")
	f.BoolVar(&u.isAgreed, "yes", false, "make the request without a question")
	return cmd
}

type deletion struct {
	ImportID string               `json:"import_id"`
	Project  string               `json:"project"`
	Events   int64                `json:"events"` // rows that would be deleted now
	Days     []dayCount           `json:"days,omitempty"`
	Request  *hogapi.DataDeletion `json:"request,omitempty"`
}

func (u *undo) run(ctx context.Context) error {
	request := hogapi.DataDeletionRequest{ImportID: u.importID}
	of := &state{}
	if u.importID == "" {
		s, err := findState(ctx, u.state, nil)
		if s == nil {
			return err
		}
		request.ImportID, of = s.kept.ID, s
	}
	if u.submission != "" {
		id, err := uuid.Parse(u.submission)
		if err != nil {
			return shell.UsageError(fmt.Sprintf("--submission-id %q is not a uuid", u.submission), "give a new uuid, such as "+uuid.NewString())
		}
		request.SubmissionID = id
	}
	client, here, err := u.clientOf(ctx, &u.project, of, false)
	if err != nil {
		return err
	}
	d := deletion{ImportID: request.ImportID, Project: here.Project}
	if d.Events, err = client.DataDeletions.Preview(ctx, request); err != nil {
		return u.failed(err, d)
	}
	if d.Days, err = daysOf(ctx, client, d.ImportID); err != nil {
		u.Warn("the events could not be counted by day: " + faultOf(err).Text)
	}
	if !u.JSON {
		u.preview(&d, readBy(client))
	}
	if d.Events == 0 {
		return u.nothing(ctx, client, request, d)
	}
	if err := u.agree(ctx, &d); err != nil {
		return err
	}
	if d.Request, err = client.DataDeletions.Create(ctx, request); err != nil {
		return u.failed(err, d)
	}
	return u.done(d)
}

// readBy says how much the queries of a client have read, and how much of the project's budget is left.
func readBy(client *hogapi.Client) string {
	asker, err := bridge.Asker(client, "")
	if err != nil {
		return ""
	}
	return progress.Read(asker.Server.Read())
}

func (u *undo) preview(d *deletion, read string) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "import            %s\nproject           %s\nevents there now  %s\n", pages.Shown(d.ImportID), pages.Shown(d.Project), pages.Count(d.Events))
	if len(d.Days) > 0 {
		fmt.Fprintln(&b, "\nBy day (UTC):")
		daysTable(&b, d.Days)
	}
	if read != "" {
		fmt.Fprintf(&b, "\n%s\n", read)
	}
	fmt.Fprintln(&b)
	_, _ = u.Out.Write(b.Bytes())
}

func (u *undo) agree(ctx context.Context, d *deletion) error {
	if u.isAgreed {
		return nil
	}
	if !u.CanAnswer() {
		return &shell.Fault{Code: shell.CodeCannot, Text: "nothing was requested: this was the preview", Todo: "add --yes to ask PostHog to delete these events for good"}
	}
	question := fmt.Sprintf("Ask PostHog to delete the %s events of %s in project %s for good?", pages.Count(d.Events), d.ImportID, d.Project)
	return u.Consent(ctx, question, &shell.Fault{
		Code: shell.CodeCannot, Text: "cancelled; nothing was requested", Todo: "run the same command again to ask for the deletion",
	})
}

// nothing says that there are no events to delete: there were never any, or they are deleted.
func (u *undo) nothing(ctx context.Context, client *hogapi.Client, request hogapi.DataDeletionRequest, d deletion) error {
	for earlier, err := range client.DataDeletions.All(ctx, nil) {
		if err != nil {
			break // it is only known that there are no events
		}
		if earlier.Status == hogapi.DataDeletionStatusCompleted && strings.Contains(earlier.Query, "'"+request.ImportID+"'") { // its query has the id, quoted
			d.Request = &earlier
			return u.done(d)
		}
	}
	return &shell.Fault{Code: shell.CodeCannot, Text: "the project has no events of the import " + d.ImportID,
		Todo: "check --project-id, --host and the import's id. Events can arrive hours after an import: check again later"}
}

func (u *undo) done(d deletion) error {
	if u.JSON {
		return json.NewEncoder(u.Out).Encode(d)
	}
	text := map[hogapi.DataDeletionStatus]string{
		hogapi.DataDeletionStatusPending:    "PostHog has the request and must approve it.",
		hogapi.DataDeletionStatusApproved:   "PostHog has approved it, and it will run.",
		hogapi.DataDeletionStatusQueued:     "It will run with the next deletions.",
		hogapi.DataDeletionStatusInProgress: "It is running.",
		hogapi.DataDeletionStatusCompleted:  "The events of the import are deleted.",
		hogapi.DataDeletionStatusFailed:     "It failed: ask PostHog's support, with the id of the request.",
	}[d.Request.Status]
	fmt.Fprintf(u.Out, "request           %s\nstatus            %s\n%s\n", d.Request.ID, pages.Shown(d.Request.Status), term.Flow(text))
	if d.Request.Status == hogapi.DataDeletionStatusFailed {
		return &shell.Fault{Code: shell.CodeOther, Text: "the deletion failed", Todo: "ask PostHog's support, with the id of the request"}
	}
	if d.Request.Status == hogapi.DataDeletionStatusCompleted {
		if d.Events > 0 {
			return &shell.Fault{Code: shell.CodeCannot, Text: pages.Count(d.Events) + " events are there although the deletion has completed: they arrived later, or were imported again",
				Todo: "add --submission-id " + uuid.NewString() + " to ask for another deletion"}
		}
		return nil
	}
	fmt.Fprintln(u.Out, term.Flow("Run the same command again to see its status. Do not import anything else under this id until it is completed."))
	return nil
}

func (u *undo) failed(err error, d deletion) error {
	const support = "ask PostHog's support to delete the events, with the project and the import's id: "
	switch {
	case errors.Is(err, hogapi.ErrUnauthorized):
		return &shell.Fault{Code: shell.CodeProject, Text: inFlags(err), Todo: "check POSTHOG_PERSONAL_API_KEY and --host", Err: err}
	case errors.Is(err, hogapi.ErrForbidden):
		return &shell.Fault{Code: shell.CodeProject, Text: "PostHog refuses the request: the key lacks the scope data_deletion:write, or deletions are not enabled for the project",
			Todo: "check the key's scopes; otherwise " + support + d.ImportID, Err: err}
	case errors.Is(err, hogapi.ErrUnsupported):
		return &shell.Fault{Code: shell.CodeCannot, Text: "this server takes no requests to delete events", Todo: support + d.ImportID, Err: err}
	}
	return err
}

// dayCount is the number of rows of an import that a project has on a day in UTC.
type dayCount struct {
	Day    string `json:"day"`
	Events int64  `json:"events"`
}

// fromImport is the part of a query that selects the events of an import, with the values of allTimeOf.
const fromImport = "FROM events\n" +
	"WHERE properties.$import_job_id = {job_id} AND timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})\n"

// The days of all that can be imported.
var (
	firstDay = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
	lastDay  = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
)

func allTimeOf(importID string) map[string]any {
	return map[string]any{"job_id": importID, "start_at": firstDay.Format(time.RFC3339), "end_at": lastDay.Format(time.RFC3339)}
}

const countImport = "SELECT toDate(toTimeZone(timestamp, 'UTC')) AS utc_day, count() AS copies\n" + fromImport +
	"GROUP BY utc_day ORDER BY utc_day LIMIT 50000"

func daysOf(ctx context.Context, client *hogapi.Client, importID string) (days []dayCount, err error) {
	asker, err := bridge.Asker(client, "hogimport: the events of an import by day")
	if err != nil {
		return nil, err
	}
	rows, err := queries.AskDays[queries.DayRow](ctx, asker, queries.Query{HogQL: countImport, Values: map[string]any{"job_id": importID}}, firstDay, lastDay)
	for _, row := range rows {
		days = append(days, dayCount{row.Day, row.N})
	}
	return days, err
}

// daysTable writes the number of rows of each day, or of each month or year if there are many days.
func daysTable(b *bytes.Buffer, rows []dayCount) {
	const most = 31
	var names []string
	var totals map[string]int64
	for _, form := range []string{time.DateOnly, "2006-01", "2006"} {
		names, totals = nil, map[string]int64{}
		for _, row := range rows {
			name := row.Day[:min(len(form), len(row.Day))]
			if _, known := totals[name]; !known {
				names = append(names, name)
			}
			totals[name] += row.Events
		}
		if len(names) <= most {
			break
		}
	}
	for _, name := range names {
		fmt.Fprintf(b, "  %-10s  %15s\n", cmp.Or(name, "all days"), pages.Count(totals[name]))
	}
}
