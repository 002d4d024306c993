package formats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/internal/survey"
)

// CheckOptions are the options of [Check].
type CheckOptions struct {
	// Import are the options of the planned import; Check uses Rate and the options that history.Check uses. By
	// default, the ID is "check".
	Import *history.Options
	// Zone is the time zone of the vendor's charts, in which the report shows the days too. The default is UTC.
	Zone *time.Location
	// Client counts the events that its project has on the days of the files. It needs a personal API key with the
	// scope query:read. By default, they are not counted.
	Client *hogapi.Client
	// Web predicts web analytics, as [WebAnalytics] does, from the events that would be sent. The default is no
	// prediction.
	Web *WebAnalyticsOptions
	// Test gets each record, one at a time, and reports in a text. For example, *mixpanel.ZoneTest finds out if
	// times are local. The default is no test.
	Test RecordTest
	// Source opens the files with a format that notes each record, for files in another form, as formats/parquet does.
	// The default is history.Files of the paths.
	Source func(history.Format) history.Source
	// Links are the options of the links that the import is to have: the report then says which persons come out of
	// more than one id. Ids are sorted on disk, in the folder for temporary files. By default, no links are planned.
	Links *LinksOptions
}

// RecordTest examines records, and reports in a text.
type RecordTest interface {
	Add(record []byte)
	String() string
}

// CheckReport says which events an import of files would send, and how the format converts the records.
type CheckReport struct {
	history.CheckReport

	Format      string           `json:"format"`
	IDs         map[string]int64 `json:"ids"`                // events by the form of their distinct id: uuid, number, e-mail, text, none
	UUIDs       map[string]int64 `json:"uuids"`              // events by where their uuid comes from: UUIDOfVendor and so on
	DoubleIDs   int64            `json:"double_ids"`         // records with the vendor's id of an earlier one
	DoublesPart bool             `json:"doubles_partial"`    // more than 1,000,000 ids: later ones were compared with the first million only
	Kept        map[string]int64 `json:"kept,omitempty"`     // keys of records that stay properties of the same name; of many, the first 1,000
	Examples    []Conversion     `json:"examples,omitempty"` // the first records with events of different names or kinds of ids: three, and up to two more for the ids
	Zone        string           `json:"zone"`
	OldestLocal time.Time        `json:"oldest_local"`    // Oldest in Zone
	NewestLocal time.Time        `json:"newest_local"`    // Newest in Zone
	Test        string           `json:"test,omitempty"`  // the report of CheckOptions.Test
	Hours       float64          `json:"hours"`           // that the import takes at its rate, if nothing slows it down; 0: unpaced
	Held        []HeldDay        `json:"held,omitempty"`  // the days in which the project has events
	CutFrom     string           `json:"cut,omitempty"`   // see Cut
	Links       *LinksReport     `json:"links,omitempty"` // with CheckOptions.Links
	Web         *WebReport       `json:"web,omitempty"`   // the prediction of CheckOptions.Web; nil if the check failed
}

// Where uuids come from.
const (
	UUIDOfVendor  = "uuid"    // the record has it
	UUIDOfID      = "id"      // of an id that the vendor gave the record
	UUIDOfContent = "content" // of the record itself
)

// Conversion is a record, and its events.
type Conversion struct {
	Before string   `json:"before"` // at most 2,000 bytes of it
	After  []string `json:"after"`  // its events as lines of JSON
}

// HeldDay is a day of UTC in which the project already has events.
type HeldDay struct {
	Day     string `json:"day"`     // 2006-01-02
	Project int64  `json:"project"` // events that the project has
	Files   int64  `json:"files"`   // events that the files have
}

// Check reads files of a format and sends nothing. It returns the report of [history.Check] with facts about the
// format: how records were converted, which ids they have and which ids come twice, and which keys are kept
// without a meaning to PostHog. With a client, it also counts by day the events that the project has, for
// example from a live SDK that ran in parallel, or from an earlier import.
func Check(ctx context.Context, format history.Format, options *CheckOptions, paths ...string) (CheckReport, error) {
	o := CheckOptions{}
	if options != nil {
		o = *options
	}
	o.Import, o.Zone = cmp.Or(o.Import, &history.Options{ID: "check"}), cmp.Or(o.Zone, time.UTC)
	look := newInspector(o.Test)
	var plan *LinksPlan
	if o.Links != nil {
		var err error
		if plan, err = NewLinksPlan(o.Links); err != nil {
			return CheckReport{}, err
		}
		defer func() { _ = plan.Close() }() // it holds temporary files only
	}
	watched := survey.Watched(ctx, survey.Watch{Record: func(record []byte, events []hogapi.Event, err error) {
		look.see(record, events, err)
		for i := range events {
			if plan != nil && err == nil {
				plan.Add(&events[i])
			}
		}
	}})
	if o.Source == nil {
		o.Source = func(format history.Format) history.Source { return history.Files(format, paths...) }
	}
	check, web, err := CheckWeb(watched, o.Source(format), o.Import, o.Web)
	r := look.report(check)
	r.Web = web
	r.Format, r.Zone = format.Name, o.Zone.String()
	r.OldestLocal, r.NewestLocal = r.Oldest.In(o.Zone), r.Newest.In(o.Zone)
	r.Hours = hours(r.Good, o.Import.Rate)
	if plan != nil && ctx.Err() == nil {
		links, failed := plan.Report(ctx)
		r.Links, err = &links, errors.Join(err, failed)
	}
	if err != nil || o.Client == nil || r.Good == 0 {
		return r, err
	}
	r.Held, err = Held(ctx, o.Client, r.CheckReport)
	r.CutFrom = r.Cut()
	return r, err
}

// CheckWeb is history.Check for any source, with a prediction of web analytics from the events that would be sent. If
// web is nil, there is no prediction. With an error, there is a prediction only if the whole source was read, as after
// too many rejects.
func CheckWeb(ctx context.Context, source history.Source, options *history.Options, web *WebAnalyticsOptions) (history.CheckReport, *WebReport, error) {
	if web == nil {
		report, err := history.Check(ctx, source, options)
		return report, nil, err
	}
	w := NewWebAnalytics(web)
	feed := newWebFeed(w)
	report, err := history.Check(survey.Watched(ctx, survey.Watch{Event: func(ev *hogapi.Event, isCopy bool) {
		if !isCopy {
			feed.add(ev)
		}
	}}), source, options)
	feed.end()
	if _, isStop := errors.AsType[*hogapi.StopError](err); err != nil && !isStop {
		return report, nil, errors.Join(err, w.Close())
	}
	predicted, failed := w.Report(ctx)
	if failed != nil {
		return report, nil, errors.Join(err, fmt.Errorf("predicting web analytics: %w", failed))
	}
	return report, &predicted, err
}

// hours is how long events take at a rate.
func hours(events int64, rate int) float64 {
	const byDefault = 1000
	if rate < 0 {
		return 0
	}
	return float64(events) / float64(cmp.Or(rate, byDefault)) / 3600
}

const countDays = "SELECT toDate(toTimeZone(timestamp, 'UTC')) AS utc_day, count() AS copies\nFROM events\n" +
	"WHERE timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})\nGROUP BY utc_day ORDER BY utc_day LIMIT 50000"

// Held counts the events that a project has on the days of a report, as [Check] does with a client. Use it for
// a source that does not read files, or after the files were read. It needs a personal API key with the scope
// query:read. A report without good events has no days.
func Held(ctx context.Context, client *hogapi.Client, r history.CheckReport) ([]HeldDay, error) {
	if r.Good == 0 {
		return nil, nil
	}
	const day = 24 * time.Hour
	files := map[string]int64{}
	for _, row := range r.Days {
		files[row.Day] += row.Events
	}
	asker, err := bridge.Asker(client, "hogapi: what the project has")
	if err != nil {
		return nil, err
	}
	from, until := r.Oldest.UTC().Truncate(day), r.Newest.UTC().Truncate(day).Add(day)
	rows, err := queries.AskDays[queries.DayRow](ctx, asker, queries.Query{HogQL: countDays}, from, until)
	if err != nil {
		return nil, fmt.Errorf("counting what the project has: %w", err)
	}
	var list []HeldDay
	for _, row := range rows {
		list = append(list, HeldDay{Day: row.Day, Project: row.N, Files: files[row.Day]})
	}
	return list, nil
}

// Cut returns the first day from which on the project has events of its own on each day of the files: import
// only the events before it, by a mapping that skips the others. It returns "" if there is no such day.
func (r CheckReport) Cut() string {
	has := map[string]bool{}
	for _, d := range r.Held {
		has[d.Day] = d.Project > 0
	}
	var days []string
	for _, row := range r.Days {
		days = append(days, row.Day)
	}
	slices.Sort(days)
	cut := ""
	for _, day := range slices.Backward(slices.Compact(days)) {
		if !has[day] {
			break
		}
		cut = day
	}
	return cut
}
