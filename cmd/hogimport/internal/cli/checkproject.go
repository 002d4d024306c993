package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	pages "github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
)

// importsOf returns the imports that have begun to send some of these files.
func (c *check) importsOf(ctx context.Context, paths []string) (settled, error) {
	sent := slices.DeleteFunc(c.in.importsBelow(c.keyDigest(&c.project)), func(s *state) bool {
		_, err := os.Stat(s.checkpoint())
		return err != nil || s.hasSentNothing()
	})
	var files []knownFile
	if len(sent) > 0 {
		var err error
		if files, err = known(ctx, paths); err != nil {
			return settled{}, err
		}
	}
	return settledOf(paths, files, sent), nil
}

// is returns the state that hogimport status shows, and whether all events were found in the
// project.
func (s *state) is() (word string, isVerified bool) {
	one, err := s.standing(time.Now())
	if err != nil {
		return "unknown", false
	}
	isVerified, err = s.isVerified()
	return one.Is, err == nil && isVerified && one.Is == isComplete
}

func (s *state) begun() page.Begun {
	b := page.Begun{Folder: s.dir}
	b.Is, b.IsVerified = s.is()
	if p, found, err := s.progress(); err == nil && found {
		b.Acknowledged = p.Acknowledged
	}
	return b
}

// askProject asks the project, if there is a key, for its events on these days and for the part of them that
// comes from imports that have begun. A failed query is not an error of the files.
func (c *check) askProject(ctx context.Context, p *page.Check, begun []*state) {
	if !c.canAsk(&c.project) || p.Report.Good == 0 {
		return
	}
	client, err := c.client(&c.project, false, true)
	if err == nil {
		p.Report.Held, err = formats.Held(ctx, client, p.Report.CheckReport)
	}
	if err == nil && len(p.Report.Held) > 0 {
		p.Own, err = ownDays(ctx, client, begun)
	}
	if err == nil {
		p.Later, err = eventsAfter(ctx, client, p.Report.CheckReport)
	}
	if client != nil {
		p.Read = readBy(client)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		p.Report.Held, p.Own = nil, nil
		p.Unasked = faultOf(err).Text
		c.Warn("the project was not asked which days it has: " + p.Unasked)
		return
	}
	p.Project = c.projectID(&c.project)
	// Advice never leaves out every event, nor events that the import itself has sent.
	others := p.Report
	others.Held = slices.Clone(others.Held)
	for i := range others.Held {
		others.Held[i].Project -= p.Own[others.Held[i].Day]
	}
	if cut := others.Cut(); cut > p.Report.Oldest.UTC().Format(time.DateOnly) {
		p.Report.CutFrom = cut
	}
}

// eventsAfter returns the number of events that a project has after the days of a report.
func eventsAfter(ctx context.Context, client *hogapi.Client, r history.CheckReport) (n int64, err error) {
	const day = 24 * time.Hour
	r.Oldest, r.Newest, r.Days = r.Newest.UTC().Truncate(day).Add(day), time.Now(), nil
	if r.Oldest.After(r.Newest) {
		return 0, nil
	}
	held, err := formats.Held(ctx, client, r)
	for _, d := range held {
		n += d.Project
	}
	return n, err
}

// ownDays returns the number of events of some imports, and of their fixes, that the project has by day.
func ownDays(ctx context.Context, client *hogapi.Client, begun []*state) (map[string]int64, error) {
	own := map[string]int64{}
	for _, s := range begun {
		ids := []string{s.kept.ID}
		fixes, _ := filepath.Glob(s.file("fix-*"))
		for _, dir := range fixes {
			fix := &state{dir: dir}
			if found, err := fix.read("import.json", &fix.kept); err == nil && found {
				ids = append(ids, fix.kept.ID)
			}
		}
		slices.Sort(ids)
		for _, id := range slices.Compact(ids) {
			days, err := daysOf(ctx, client, id)
			if err != nil {
				return nil, err
			}
			for _, day := range days {
				own[day.Day] += day.Events
			}
		}
	}
	return own, nil
}

func (c *check) next(p *page.Check, paths []string, found settled, failed bool, other string) []shell.Step {
	in := c.in
	isLocal := p.Zone != nil && p.Zone.Live > 0 && p.Zone.Share(p.Clock) < 0.5
	if isLocal {
		in.Zone = cmp.Or(page.BestZone(p.Zone), in.Zone)
	}
	in.DevicePrefix = in.DevicePrefix || p.People.NeedsPrefix()
	if other != "" {
		in.Format = other
		if !isMapped(in.Format) {
			in.Map, in.Header = nil, nil
		}
	}
	args := commandLine(in)
	if failed {
		text := "Correct the files, or the options that say how they are read. Then check again."
		if isLocal && in.Zone == "" || lacksZone(&p.Report) {
			text, args = "Say in which zone the times are, such as UTC or US/Pacific. Then check again.", args+" --zone ZONE"
		}
		return []shell.Step{{
			Text:    text,
			Command: "hogimport check " + args + shell.Given(c.flags, "max-rejects") + reportAt(cmp.Or(c.report, "report.html"), "check").Free(paths),
		}}
	}
	if len(found.begun) > 0 {
		return c.nextOf(found, "hogimport run "+args+shell.Given(c.flags, "host", "rate", "max-rejects"))
	}
	run, why := "hogimport run "+args+shell.Given(c.flags, "host", "rate", "max-rejects"), ""
	if p.NeedsSort() {
		in.Sort = true
		why += " --sort is there because the files are not in order of time."
	}
	if p.Sessions.Needed() {
		in.Sort, in.Sessions = true, "30m"
		why += " --sort --sessions 30m makes the sessions that PostHog's web analytics shows."
	}
	if in.Links = in.Links || p.People.NeedsLinks(); in.Links {
		why += " --links joins the ids of each person first."
	}
	run += c.runFlags(&in)
	unknown := ""
	if c.host(&c.project) == "" {
		unknown = ", and us, eu or a URL into POSTHOG_HOST"
	}
	return []shell.Step{
		{
			Text: "Optional, and only with a test project: send 1,000 events there, and compare them. " +
				"First put its key into the file test-project.key, and its number into the variable TEST_PROJECT_ID" + unknown + ".",
			// The variable comes last and without quotes: where it is empty, the command ends at once.
			Command: "hogimport trial " + args + shell.Given(c.flags, "host", "personal-key-file") +
				" --project-key @test-project.key --project-id $TEST_PROJECT_ID",
		},
		{Text: "Import. The same command continues after a stop." + why, Command: run},
		{
			Text:    verifyText,
			Command: c.verifyCommand(in.folderOf(paths)),
		},
	}
}

// lacksZone reports whether records were rejected because their times have no zone.
func lacksZone(r *formats.CheckReport) bool {
	return slices.ContainsFunc(r.Reasons[event.ReasonBadRecord].Examples, func(e event.Example) bool { return strings.Contains(e.Text, "has no offset: give --zone") })
}

const verifyText = "Verify that all events have arrived: right after the import, and again in a few hours if it says that " +
	"events are still arriving."

func (c *check) nextOf(found settled, run string) (steps []shell.Step) {
	for _, s := range found.begun {
		is, isVerified := s.is()
		if is != isComplete && is != isRunning && is != isWaiting {
			steps = append(steps, shell.Step{
				Text:    "Continue the import. Its flags are kept, except for --max-rejects and --rate: give these two again.",
				Command: "hogimport run " + s.named() + shell.Given(c.flags, "host") + s.limitsOf(c.flags),
			})
		}
		if !isVerified {
			steps = append(steps, shell.Step{Text: verifyText, Command: c.verifyCommand(s.dir)})
		}
	}
	if len(found.fresh)+len(found.grown) > 0 && len(found.changed) == 0 {
		run += c.runFlags(&found.begun[len(found.begun)-1].kept.Input)
		steps = append(steps, shell.Step{Text: "Import what is new. run knows what is imported and leaves it out.", Command: run})
	}
	return steps
}

// runFlags returns the flags that run and check share and that commandLine leaves out.
func (c *check) runFlags(in *input) (flags string) {
	if flags = in.orderFlags(); !c.CanAnswer() {
		flags += " --yes"
	}
	return flags
}

func (c *check) verifyCommand(dir string) string {
	return "hogimport verify --state " + shell.Quoted(dir) + shell.Given(c.flags, "host", "project-id", "personal-key-file") + reportAt("verify.html", "verify").Free(nil)
}

// askExports asks which running batch exports will send the imported events too. A failed call is not an error of the
// files.
func (c *check) askExports(ctx context.Context, p *page.Check) {
	const hint = "To see which running batch exports will send and bill this history too, "
	if !c.canAsk(&c.project) {
		p.ExportsHint = hint + "set POSTHOG_PERSONAL_API_KEY (scope batch_export:read) and POSTHOG_PROJECT_ID."
		return
	}
	client, err := c.client(&c.project, false, true)
	if err == nil {
		for export, failed := range client.BatchExports.All(ctx, nil) {
			if err = failed; err != nil {
				break
			}
			if !export.Paused && (export.Model == hogapi.ModelEvents || export.Model == "") {
				p.Exports = append(p.Exports, page.Export{Name: export.Name, Destination: string(export.Destination.Type), Interval: string(export.Interval)})
			}
		}
	}
	if err != nil {
		p.Exports = nil
		need := "the project must be readable: "
		if errors.Is(err, hogapi.ErrForbidden) {
			need = "the key needs the scope batch_export:read: "
		}
		p.ExportsHint = hint + need + faultOf(err).Text
	}
}

// askGroups asks which types of groups the project has, if the rows of an export have some.
func (c *check) askGroups(ctx context.Context, p *page.Check) {
	const hint = "To compare them with those of the project, "
	switch {
	case p.Rows == nil || len(p.Rows.GroupTypes) == 0:
		return
	case !c.canAsk(&c.project):
		p.GroupsHint = hint + "set POSTHOG_PERSONAL_API_KEY (scope group:read) and POSTHOG_PROJECT_ID."
		return
	}
	var types []struct {
		Type  string `json:"group_type"`
		Index int    `json:"group_type_index"`
	}
	client, err := c.client(&c.project, false, true)
	if err == nil {
		err = client.Do(ctx, hogapi.Request{Method: http.MethodGet, Path: "/groups_types/"}, &types)
	}
	if err != nil {
		need := "the project must be readable: "
		if errors.Is(err, hogapi.ErrForbidden) {
			need = "the key needs the scope group:read: "
		}
		p.GroupsHint = hint + need + faultOf(err).Text
		return
	}
	const maxTypes = 100 // a project has five
	for _, t := range types {
		if t.Index < 0 || t.Index >= maxTypes {
			continue
		}
		for len(p.GroupTypes) <= t.Index {
			p.GroupTypes = append(p.GroupTypes, "")
		}
		p.GroupTypes[t.Index] = t.Type
	}
}

// predictSessions predicts with the sessions that run makes with --sessions: it sorts the events in a folder for temporary
// files, and reads them again. If it cannot, the prediction stays without them.
func (c *check) predictSessions(ctx context.Context, p *page.Check, options history.Options) {
	if c.in.Sessions == "" || p.Report.Good == 0 {
		return
	}
	meter := c.Meter()
	defer meter.End()
	meter.Phase("making sessions for the prediction")
	dir, err := os.MkdirTemp("", "hogimport-check-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		in := c.in
		in.Sort, in.Links = true, false
		var web *formats.WebReport
		if _, web, err = formats.CheckWeb(ctx, in.source(dir), &options, &formats.WebAnalyticsOptions{}); web != nil {
			p.Report.Web, err = web, nil
		}
	}
	if err != nil && ctx.Err() == nil {
		c.Warn("web analytics is predicted without the sessions of --sessions: " + faultOf(err).Text)
	}
}

// checkJSON is the report of a check as JSON.
type checkJSON struct {
	formats.CheckReport

	// Exports are the running batch exports that will send the events too; null if the project was not asked.
	Exports []page.Export `json:"running_exports"`
}

// webTable writes the web analytics preview, by month.
func webTable(w io.Writer, p *page.Check) {
	r := p.Report.Web
	if r == nil || r.Events == 0 || r.InSession == 0 {
		return
	}
	row := func(name, visitors, views, sessions, bounces, duration string) {
		fmt.Fprintf(w, "%-13s  %11s  %11s  %11s  %8s  %10s\n", name, visitors, views, sessions, bounces, duration)
	}
	fmt.Fprintln(w)
	row("web analytics", "visitors", "views", "sessions", "bounces", "duration")
	const most = 24
	months := r.Months
	if more := len(months) - most; more > 0 {
		months = months[more:]
		fmt.Fprintf(w, "(%s before: see --report or --json)\n", pages.Count(int64(more))+" months")
	}
	for _, m := range append(slices.Clip(months), r.Total) {
		visitors, views, sessions, bounces, duration := page.WebMonth(m)
		if m.Month == "" {
			m.Month = "all"
		}
		row(m.Month, visitors, views, sessions, bounces, duration)
	}
	fmt.Fprintf(w, "%s\n", term.Flow(fmt.Sprintf("%s of the events are in a session. Months are in UTC; visitors are counted by id, so PostHog "+
		"shows fewer where ids become one person.", pages.Share(r.InSession, r.Events))))
	counts(w, "channel", "sessions", r.Total.Channels, r.Total.Sessions)
	counts(w, "country", "sessions", r.Total.Countries, r.Total.Sessions)
}
