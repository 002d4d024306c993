package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	pages "github.com/hogapi/hogapi/cmd/internal/page"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/formats"
)

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

// predictSessions predicts with the sessions that run makes with --sessions: it sorts the events in a folder for temporary
// files, and reads them again. If it cannot, the prediction stays without them.
func (c *check) predictSessions(ctx context.Context, p *page.Check, options hogapi.ImportOptions) {
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
	if err != nil {
		c.Warn("web analytics is predicted without the sessions of --sessions: " + faultOf(err).Text)
	}
}

// checkJSON is the report of a check as JSON.
type checkJSON struct {
	formats.CheckReport

	// Exports are the running batch exports that will send the events too; null if the project was not asked.
	Exports []page.Export `json:"running_exports"`
}

// webTable writes what web analytics will show, by month.
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
