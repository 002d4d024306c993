package formats

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
)

// CheckOptions set up a [Check].
type CheckOptions struct {
	// Import are the options that the import is to have: those of hogapi.Check and Rate count. Without
	// them the ID is "check".
	Import *hogapi.ImportOptions
	// Zone is the zone of the vendor's charts, in which the days of the report are shown too: default UTC.
	Zone *time.Location
	// Client counts what its project already has in the days of the files. It needs a personal key with
	// the scope query:read. Nil: nothing is counted.
	Client *hogapi.Client
}

// CheckReport says what an import of files would send, and what their format makes of them.
type CheckReport struct {
	hogapi.CheckReport

	Format   string           `json:"format"`
	IDs      map[string]int64 `json:"ids"`                // distinct ids by form: uuid, number, e-mail, text
	OwnUUIDs int64            `json:"own_uuids"`          // events with an id of the vendor; the others have one of their record
	Kept     map[string]int64 `json:"kept,omitempty"`     // keys of records that stay properties of the same name; of many, the first 1,000
	Examples []Conversion     `json:"examples,omitempty"` // the first three records with events of different names
	Zone     string           `json:"zone"`
	Hours    float64          `json:"hours"`          // that the import takes at its rate, if nothing slows it down; 0: unpaced
	Held     []HeldDay        `json:"held,omitempty"` // the days in which the project has events

	zone *time.Location // of that name
}

// Conversion is a record, and what it became.
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

// Check reads files of a format and sends nothing. It returns what [hogapi.Check] says of them, and
// what only the format knows: how records were converted, which ids there are, which keys are kept
// without a meaning to PostHog. With a client it also counts by day what the project already has: a
// live SDK that ran in parallel, or an earlier import.
func Check(ctx context.Context, format hogapi.Format, options *CheckOptions, paths ...string) (CheckReport, error) {
	o := CheckOptions{}
	if options != nil {
		o = *options
	}
	if o.Import == nil {
		o.Import = &hogapi.ImportOptions{ID: "check"}
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	look := newInspector()
	inspected := format
	inspected.Convert = func(record []byte) ([]hogapi.Event, error) {
		events, err := format.Convert(record)
		if err == nil {
			look.see(record, events)
		}
		return events, err
	}
	if format.Convert == nil {
		inspected.Convert = nil // which is refused
	}
	check, err := hogapi.Check(ctx, hogapi.FileSource(inspected, paths...), o.Import)
	r := look.report(check)
	r.Format, r.Zone, r.zone = format.Name, o.Zone.String(), o.Zone
	r.Hours = hours(r.Good, o.Import.Rate)
	if err != nil || o.Client == nil || r.Good == 0 {
		return r, err
	}
	r.Held, err = held(ctx, o.Client, r)
	return r, err
}

// hours is how long events take at a rate.
func hours(events int64, rate int) float64 {
	const byDefault = 1000
	if rate == 0 {
		rate = byDefault
	}
	if rate < 0 {
		return 0
	}
	return float64(events) / float64(rate) / 3600
}

const countDays = "SELECT toDate(toTimeZone(timestamp, 'UTC')) AS utc_day, count() AS copies\nFROM events\n" +
	"WHERE timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})\nGROUP BY utc_day ORDER BY utc_day LIMIT 50000"

// held asks the project for its events of the days of the files.
func held(ctx context.Context, client *hogapi.Client, r CheckReport) ([]HeldDay, error) {
	const day = 24 * time.Hour
	files := map[string]int64{}
	for _, row := range r.Days {
		files[row.Day] += row.Events
	}
	query := hogapi.Query{HogQL: countDays, Values: map[string]any{
		"start_at": r.Oldest.UTC().Truncate(day).Format(time.RFC3339), "end_at": r.Newest.UTC().Truncate(day).Add(day).Format(time.RFC3339),
	}}
	var answer struct{ Results [][]any }
	err := client.Do(ctx, hogapi.Request{
		Method: http.MethodPost, Path: "/query/", Replay: hogapi.ReplaySafe,
		Body: map[string]any{"query": query, "refresh": "force_blocking", "name": "hogapi: what the project has"},
	}, &answer)
	if err != nil {
		return nil, fmt.Errorf("counting what the project has: %w", err)
	}
	var list []HeldDay
	for _, row := range answer.Results {
		if len(row) != 2 {
			return nil, fmt.Errorf("counting what the project has: a row of %d columns, and not 2", len(row))
		}
		n, isNumber := row[1].(float64)
		name := fmt.Sprint(row[0])
		if !isNumber {
			return nil, fmt.Errorf("counting what the project has: the count of %s is not a number", name)
		}
		list = append(list, HeldDay{Day: name, Project: int64(n), Files: files[name]})
	}
	return list, nil
}

// Cut is the day from which on the project has events of its own on each day that the files have: import
// what is before it, by a mapping that skips the rest. It is "" where there is no such day.
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

// String is the report as a short text.
func (r CheckReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "format %s\n%s", r.Format, r.CheckReport)
	if r.Good > 0 && r.zone != nil && r.zone != time.UTC {
		fmt.Fprintf(&b, "\nin %s: from %s to %s", r.Zone, r.Oldest.In(r.zone).Format(time.RFC3339), r.Newest.In(r.zone).Format(time.RFC3339))
	}
	fmt.Fprintf(&b, "\ndistinct ids by their form: %s", counted(r.IDs))
	fmt.Fprintf(&b, "\nevents with an id of the vendor: %d; the others have a uuid of their record", r.OwnUUIDs)
	if len(r.Kept) > 0 {
		fmt.Fprintf(&b, "\nkept under their own names: %s", counted(r.Kept))
	}
	for _, e := range r.Examples {
		fmt.Fprintf(&b, "\nfrom %s", e.Before)
		for _, after := range e.After {
			fmt.Fprintf(&b, "\n  to %s", after)
		}
	}
	if len(r.Held) > 0 {
		b.WriteString("\nthe project already has events on these days:")
	}
	for _, d := range r.Held {
		fmt.Fprintf(&b, "\n  %s %12d, and the files %12d", d.Day, d.Project, d.Files)
	}
	if cut := r.Cut(); cut != "" {
		fmt.Fprintf(&b, "\nfrom %s on the project has events on every day of the files: if those are the same events, import only what is before", cut)
	}
	fmt.Fprintf(&b, "\nto import: %d events of about %d persons", r.Good, r.Persons)
	if r.Hours > 0 {
		fmt.Fprintf(&b, ", %.1f hours at the chosen rate", r.Hours)
	}
	b.WriteString("\nbilling: historical events less than 48 hours old are billed as live ones, so the gate refuses them; whether others are billed, your plan says")
	return b.String()
}

// counted lists counts, the largest first.
func counted(counts map[string]int64) string {
	const most = 30
	keys := make([]string, 0, len(counts))
	for key := range counts {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if counts[a] != counts[b] {
			return int(max(-1, min(1, counts[b]-counts[a])))
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, key := range keys[:min(most, len(keys))] {
		parts = append(parts, fmt.Sprintf("%q %d", key, counts[key]))
	}
	if more := len(keys) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// forms are the forms of ids, tried in their order.
var forms = []struct {
	name string
	of   *regexp.Regexp
}{
	{"none", regexp.MustCompile(`^$`)},
	{"uuid", regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)},
	{"number", regexp.MustCompile(`^[0-9]+$`)},
	{"e-mail", regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`)},
}

func formOf(id string) string {
	for _, f := range forms {
		if f.of.MatchString(id) {
			return f.name
		}
	}
	return "text"
}
