package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	pages "github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/survey"
)

type check struct {
	*app

	in      input
	project project
	limits  runFlags // of these: --rate and --max-rejects
	report  string
	list    string // list of the left-out records
	flags   *pflag.FlagSet

	records map[string]int64 // by file, for a plan; nil: they are not counted
	before  []*state         // imports of other files of the export, for a plan
}

func newCheckCommand(a *app) *cobra.Command {
	c := &check{app: a}
	cmd := &cobra.Command{
		Use: "check FILES...", Short: "Read all files, send nothing, and say what an import would do",
		Long: `check reads all files and sends nothing. It says what an import would send, what
it would reject and why, and what to look at first: the time zone, duplicates,
events that the project already has; and what web analytics will show, by month,
to compare with the old tool. --report writes it as one HTML page, with charts.

No key is needed. With POSTHOG_PERSONAL_API_KEY (scope query:read) and
POSTHOG_PROJECT_ID it also asks which of these days the project has events of,
(scope batch_export:read) which running batch exports will send them too, and
for --format posthog (scope group:read) which types of groups it has.

Exit codes: 0 an import may run, 3 it should not: too much would be rejected, or
the report has a problem such as a wrong time zone; 2 wrong usage, 1 a file
cannot be read.`,
		Example: `  hogimport check export/*.jsonl.gz --format mixpanel --report report.html
  hogimport check events.csv --format csv --map time=created \
      --map event=action --map person=user`,
		RunE: func(cmd *cobra.Command, files []string) error {
			c.in.Files = files
			return c.run(cmd.Context())
		},
	}
	c.flags = cmd.Flags()
	c.in.bind(cmd)
	c.in.bindHeader(cmd)
	c.in.bindUntil(cmd)
	c.in.bindUnused(cmd)
	cmd.Flags().Lookup("sessions").Usage = "predict web analytics with the sessions that run makes after a `SILENCE`, such as 30m; it sorts the events"
	c.project.bindPersonal(cmd)
	f := cmd.Flags()
	f.StringVar(&c.limits.limits.MaxRejects, "max-rejects", "1%", "how much the import may reject: a `NUMBER`, a share such as 5%, or none for no limit; records that are left out do not count")
	f.StringVar(&c.limits.limits.Rate, "rate", "1000", "at most this number of `EVENTS` per second that the import is to send, or none for no limit")
	f.StringVar(&c.report, "report", "", "write an HTML page to a `FILE`")
	f.StringVar(&c.list, "left-out", "", "write the records that are left out to this `FILE`, one line of JSON each, with place and reason")
	return cmd
}

func (c *check) run(ctx context.Context) error {
	if err := c.in.check(ctx); err != nil {
		return err
	}
	if c.in.joinsByDefault() && !c.flags.Changed("links") {
		c.in.Links = true
	}
	if c.in.sortsByDefault() && !c.flags.Changed("sort") {
		c.in.Sort = true
	}
	paths := c.in.paths()
	for _, out := range []shell.Output{reportAt(c.report, "check"), listAt(c.list)} {
		if err := out.Check(paths); err != nil {
			return err
		}
	}
	p, found, checked, err := c.look(ctx, paths)
	if err == nil && ctx.Err() != nil { // while it predicted the sessions, or asked the project
		err = checkFault(context.Cause(ctx))
	}
	if err != nil {
		return err
	}
	if err := c.listLeftOut(ctx, p); err != nil {
		return err
	}
	said, findings := p.Summary()
	other, advice := "", ""
	if p.Report.Good == 0 {
		if other = c.in.otherFormat(ctx); other != "" {
			advice = "The files look like --format " + other + ". "
		}
	}
	p.Next = c.next(p, paths, found, said.Level == pages.Bad, other)
	if err := c.writeReport(reportAt(c.report, "check"), paths, p.Write, checkJSON{p.Report, p.Exports}, func(w io.Writer) { checkTable(w, p) }); err != nil {
		return err
	}
	if err := c.judge(p, checked, advice); err != nil {
		return err
	}
	if said.Level == pages.Bad { // the worst finding comes first
		return &shell.Fault{Code: shell.CodeRejects, Text: "not ready to import: " + findings[0].Title, Todo: findings[0].Text}
	}
	return nil
}

// judge refuses files of which too much would be rejected, or nothing sent.
func (c *check) judge(p *page.Check, checked error, advice string) error {
	if checked != nil {
		todo := advice + "Correct " + c.in.readBy() + ", or the files"
		if p.Report.Good > 0 {
			todo += "; or allow it with --max-rejects"
		}
		return &shell.Fault{Code: shell.CodeRejects, Text: p.Problem, Todo: todo, Err: checked}
	}
	if r := p.Report; r.Good == 0 {
		if r.Read == 0 {
			return &shell.Fault{Code: shell.CodeRejects, Text: "no event would be sent: the files have no records", Todo: "Is the export complete, and are they the right files?"}
		}
		return &shell.Fault{Code: shell.CodeRejects,
			Text: fmt.Sprintf("no event would be sent: the files have %s; rejected: %s, left out: %s", counted(r.Read, "record"), pages.Count(r.Rejected), pages.Count(r.Skipped)),
			Todo: advice + "Are they the right files, and is it the right " + c.in.readBy() + "?"}
	}
	return nil
}

// look reads all files. Too many rejects are no error: they are in checked.
func (c *check) look(ctx context.Context, paths []string) (p *page.Check, found settled, checked, err error) {
	c.limits.input = c.in
	options, err := c.limits.options("check")
	if err != nil {
		return nil, found, nil, err
	}
	p = &page.Check{Files: c.in.Files, Rate: max(0, options.Rate), Limit: c.limits.limits.MaxRejects, At: time.Now(), Version: shell.Version(), Format: c.in.Format, IsMapped: isMapped(c.in.Format)}
	checked = c.read(ctx, p, &options, paths)
	if checked != nil && !isTooMuch(checked) {
		return nil, found, nil, checkFault(checked)
	}
	if checked != nil {
		p.Problem = c.tooMany(p)
	}
	c.predictSessions(ctx, p, options)
	p.Empty = emptyFiles(paths)
	if found, err = c.importsOf(ctx, paths); err != nil {
		return nil, found, nil, checkFault(err)
	}
	for _, text := range found.copies {
		c.Warn(text)
	}
	for _, s := range found.begun {
		p.Begun = append(p.Begun, s.begun())
	}
	if len(found.begun) > 0 {
		p.Fresh, p.Changed, p.Grown = found.fresh, found.changed, found.grown
	}
	c.askProject(ctx, p, slices.Concat(found.begun, c.before))
	c.askExports(ctx, p)
	c.askGroups(ctx, p)
	p.Place = func(at hogapi.Position) string { return placeText(paths, at) }
	if p.Report.Skipped > 0 {
		first, _ := takeSample(ctx, &c.in, options) // the pass over the whole files reported any error
		p.Skipped = first.places()
	}
	return p, found, checked, nil
}

func (c *check) read(ctx context.Context, p *page.Check, options *history.Options, paths []string) error {
	zone, err := time.LoadLocation(c.in.Zone)
	if err != nil {
		return err
	}
	format := c.in.format()
	p.People.Device, p.People.Links = c.in.DevicePrefix, c.in.Links
	p.IsHistory = vendors[c.in.Format].isHistory
	p.KeepsSet, p.Sorts, p.Leaves = c.in.keepsSet(), c.in.Sort, c.in.LeavePersons
	p.Sessions = page.Sessions{Silence: c.in.Sessions, HasOwn: vendors[c.in.Format].hasSessions, IsLines: vendors[c.in.Format].isOfPeople || c.in.Format == "jsonl" || c.in.Format == "posthog" || isMapped(c.in.Format)}
	meter, records := c.Meter(), int64(0)
	defer meter.End()
	about := c.about(ctx, *options, paths)
	const often = 10_000
	seen := func() {
		if records++; records%often == 0 {
			meter.Part("checking", records, about)
		}
	}
	hints, err := c.in.newHints()
	if err != nil {
		return err
	}
	p.Hints = hints.found
	ctx = survey.Watched(ctx, survey.Watch{Event: hints.see})
	if format.Convert == nil { // lines that are events
		meter.Phase("checking the files")
		source := walked{c.counted(c.in.files(nil), paths), func(events iter.Seq2[hogapi.Event, error], yield func(hogapi.Event, error) bool) {
			for ev, err := range events {
				if err == nil && !ev.Timestamp.IsZero() {
					p.Sessions.Add(&ev, hasSession(&ev))
				}
				if seen(); !yield(ev, err) {
					return
				}
			}
		}}
		p.Report.CheckReport, p.Report.Web, err = formats.CheckWeb(ctx, source, options, &formats.WebAnalyticsOptions{})
		p.Report.Format, p.Report.Zone = format.Name, zone.String()
		p.Report.OldestLocal, p.Report.NewestLocal = p.Report.Oldest.In(zone), p.Report.Newest.In(zone)
		if p.Rate > 0 {
			p.Report.Hours = float64(p.Report.Good) / float64(p.Rate) / time.Hour.Seconds()
		}
		return err
	}
	format.Convert = c.in.cutRecords(format.Convert)
	ctx = survey.Watched(ctx, survey.Watch{Record: func(record []byte, events []hogapi.Event, _ error) {
		seen()
		hints.record(record, events)
		for i := range events {
			if _, isOut := events[i].Skipped(); isOut {
				continue
			}
			p.Sessions.Add(&events[i], hasSession(&events[i]))
			if id := events[i].AnonymousID; id != "" && id != events[i].DistinctID {
				p.People.Both++
			}
		}
	}})
	format.CheckColumns = hints.columns(format.CheckColumns)
	source := func(format history.Format) history.Source { return c.counted(c.in.open(format, paths), paths) }
	o := &formats.CheckOptions{Import: options, Source: source, Zone: zone, Web: &formats.WebAnalyticsOptions{}}
	if c.in.Format != "posthog" {
		o.Links = c.in.linksOptions()
	}
	if c.in.Format == "mixpanel" {
		p.Zone, p.Clock = new(mixpanel.ZoneTest), zone
		o.Test = p.Zone
	}
	if c.in.Format == "posthog" {
		p.Rows = new(posthogexport.RowTest)
		o.Test = p.Rows
	}
	p.Report, err = formats.Check(ctx, format, o, paths...)
	if few, ok := errors.AsType[*hogapi.InputError](err); ok && few.Field == "LinksOptions.Memory" && !c.in.Links && !isTooMuch(err) {
		p.Report.Links, err = nil, nil
		c.Warn("which ids --links would join was not checked: " + inFlags(few))
	}
	if p.Zone != nil {
		p.People.Before = p.Zone.Devices
	}
	p.Report.Test, p.MaxIDs = p.Tested(), c.in.maxIDs()
	if c.in.Format == "mixpanel" && !c.in.SkipNoID {
		p.Hints.NoID = p.Report.Skips[mixpanel.SkipNoID]
	}
	return err
}

// about returns the number of records of large files, or 0 if it is not known or does not matter.
func (c *check) about(ctx context.Context, options history.Options, paths []string) int64 {
	const large = 4 << 20
	var size int64
	for _, path := range paths {
		size += sizeOfFile(path)
	}
	if size < large {
		return 0
	}
	first, _ := takeSample(ctx, &c.in, options) // the pass over the whole files reports any error
	return first.total
}

// listLeftOut writes the list of the left-out records if it was requested, and otherwise says how to get it.
func (c *check) listLeftOut(ctx context.Context, p *page.Check) error {
	if c.list == "" {
		if p.Report.Skipped > 0 {
			p.ListCommand = listCommand(c.in, shell.Given(c.flags, "max-rejects"))
		}
		return nil
	}
	meter := c.Meter()
	defer meter.End()
	meter.Phase("listing what is left out")
	p.List = c.list
	return c.in.writeLeftOut(ctx, c.list, p.Report.Skipped)
}

// cutRecords leaves out events at or after --until, as cut does.
func (in *input) cutRecords(convert func([]byte) ([]hogapi.Event, error)) func([]byte) ([]hogapi.Event, error) {
	until := in.until()
	if until.IsZero() {
		return convert
	}
	return func(record []byte) ([]hogapi.Event, error) {
		events, err := convert(record)
		if err != nil || len(events) == 0 {
			return events, err
		}
		for i := range events {
			if !events[i].Timestamp.Before(until) {
				events[i] = event.Skip(hogapi.Position{}, page.SkipUntil)
			}
		}
		return events, nil
	}
}

func (c *check) tooMany(p *page.Check) string {
	r := p.Report
	all := r.Good + r.Rejected
	limit := "--max-rejects allows " + c.limits.limits.MaxRejects
	if r.Good == 0 {
		limit = "an import needs one good event at least"
	}
	return fmt.Sprintf("%s of %s events (%s) would be rejected, and %s", pages.Count(r.Rejected), pages.Count(all), pages.Share(r.Rejected, all), limit)
}

// writeReport writes a report as JSON or as a table and, if a path is given, as a page.
func (a *app) writeReport(to shell.Output, inputs []string, asPage func(io.Writer) error, asJSON any, asTable func(io.Writer)) error {
	if to.Path != "" {
		if err := to.Check(inputs); err != nil { // once more: it took a while
			return err
		}
		if err := writePage(to.Path, asPage); err != nil {
			return err
		}
	}
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(asJSON)
	}
	var b bytes.Buffer
	asTable(&b)
	if to.Path != "" {
		fmt.Fprintf(&b, "\nThe whole report: %s\n", to.Path)
	}
	_, _ = a.Out.Write(b.Bytes()) // a failed write is reported at the end
	return nil
}

// writePage writes a page to a file, as a whole or not at all.
func writePage(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	err := write(&b)
	if err == nil {
		err = durable.Replace(durable.OS{}, path, b.Bytes())
	}
	if err != nil {
		return &shell.Fault{Code: shell.CodeOther, Text: fmt.Sprintf("the page %s cannot be written: %v", path, shell.Cause(err)), Err: err,
			Todo: "give a path that can be written with --report FILE"}
	}
	return nil
}

func reportAt(path, command string) shell.Output {
	return shell.PageAt(path, "hogimport", command, map[string]string{"check": "Check", "plan": "Plan", "verify": "Verification"}[command])
}

func listAt(path string) shell.Output {
	return shell.Output{Flag: "--left-out", Path: path, Kind: "list of records that are left out", IsOurs: func(begin []byte) bool {
		return bytes.HasPrefix(begin, []byte(leftOutStart))
	}}
}
