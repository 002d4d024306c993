package page

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/formats/posthogexport"
)

// Check is the content of the page of a check.
type Check struct {
	Report   formats.CheckReport
	Problem  string                 // why an import would not be allowed to continue, or why reading stopped; empty: it may
	Files    []string               // as they were given
	Rate     int                    // events a second; 0: unpaced
	Limit    string                 // of rejects, as the user wrote it, such as "1%" or "none"
	Zone     *mixpanel.ZoneTest     // nil: the format has no such test
	Rows     *posthogexport.RowTest // nil: of another format
	Clock    *time.Location         // by which times were read; nil: UTC
	People   Identity
	Sessions Sessions
	Hints    *Hints // may be nil
	MaxIDs   int    // the most ids that a person may have; -1: no limit
	IsMapped bool   // --map names the columns
	Format   string
	Skipped  map[string][]string          // places of some records that are left out, by reason
	Place    func(hogapi.Position) string // where a record is, for people; nil: as its position says
	Project  string                       // the project that was asked for its events of these days; may be empty
	Begun    []Begun                      // imports of these files
	Fresh    []string                     // if there are such imports: files that were in no import
	Empty    []string                     // files without a byte of text
	Changed  []string                     // files that are not as they were when they were imported
	Grown    []string                     // files that have become longer, in which an import continues
	Own      map[string]int64             // by day: how many of the project's events are from these imports
	Unasked  string                       // why it could not be asked, if it should have been
	Read     string                       // what the queries have read of the project's budget, for people; may be empty
	At       time.Time
	Version  string
	Next     []shell.Step
	Plan     *Plan // nil: it is the page of a check

	KeepsSet bool  // old events replace the properties of persons
	Sorts    bool  // the import is to sort them
	Leaves   bool  // the events leave the properties of persons
	Later    int64 // events that the project has after these days

	IsHistory bool // of the events of a person only the newest is sent

	Exports     []Export // running batch exports, which will send these events too; nil: none, or not asked
	ExportsHint string   // how to see them, if they could not be asked for

	GroupTypes []string // of the project, by their numbers
	GroupsHint string   // how to see them, if they could not be asked for

	List        string // the file that lists the left-out records; may be empty
	ListCommand string // that writes such a list; empty: there is nothing to list, or there is a list
}

// Begun is an import that has begun to send.
type Begun struct {
	Folder       string // of its state
	Is           string // such as complete or killed
	IsVerified   bool
	Acknowledged int64
}

// SkipText is a sentence about the records that are left out for a reason.
func (c Check) SkipText(reason string) string {
	return SkipText(c.Format, reason, c.Report.Skips[reason], c.Skipped[reason])
}

// Write writes the page.
func (c Check) Write(w io.Writer) error { return page.Write(w, templates, "check.html", c.view()) }

// Summary returns the verdict and the findings.
func (c Check) Summary() (page.Verdict, []page.Finding) {
	v := c.view()
	return v.Verdict, v.Findings
}

// Tested returns the results of the tests of the records, in a few sentences.
func (c Check) Tested() string {
	var said []string
	if z := newZones(c.Zone, c.Clock); z != nil {
		said = append(said, z.Title+". "+z.Text)
	}
	if title := c.People.Title(); title != "" {
		said = append(said, title+". "+c.People.Text())
	}
	return strings.Join(said, " ")
}

type checkView struct {
	Check
	page.Frame

	Verdict    page.Verdict
	Chart      *chart
	Web        *webView // nil: there is no prediction
	Names      []*series
	AllNames   []counted // where there are more than in Names
	Refusable  int64
	Reasons    []reason
	Skips      []reason
	Warnings   []reason
	Zones      *zoneView
	Doubles    []example // events with the uuid of an earlier one
	IDs, UUIDs []counted
	Overlap    *overlap
	Kept       []counted
	KeptMore   int
	Paces      []counted

	Conversions []conversion
}

// counted is something with its number.
type counted struct {
	Name  string
	N     int64
	Of    int64 // the whole
	Width string
	Note  string
}

// reason is a fault or a warning with its first examples.
type reason struct {
	Name     string
	N        int64
	Advice   string
	Examples []example
}

func (c Check) view() checkView {
	r := c.Report
	var converted int64 // events, including events that would be rejected
	for _, n := range r.IDs {
		converted += n
	}
	v := checkView{
		Check: c, IDs: ways(r.IDs, converted, idForms), UUIDs: ways(r.UUIDs, converted, uuidOrigins),
		Doubles: c.places(r.DoubleUUIDs.Examples), Zones: newZones(c.Zone, c.Clock), Overlap: c.overlap(), Paces: paces(r.Good, c.Rate), Web: c.web(), Conversions: c.conversions(),
	}
	samples := make([]sample, 0, len(r.Days))
	for _, d := range r.Days {
		samples = append(samples, sample{d.Day, d.Event, d.Events})
	}
	v.Names = largest(samples)
	v.Chart = newChart(samples, v.Names)
	v.Refusable = r.Good + r.Rejected
	if rest := v.Names[max(0, len(v.Names)-1):]; len(rest) > 0 && rest[0].IsRest {
		v.AllNames = sizes(totals(samples), r.Good)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Reasons)) {
		f := r.Reasons[name]
		one := reason{Name: string(name), N: f.Count, Advice: c.Advice(name)}
		for _, e := range f.Examples {
			one.Examples = append(one.Examples, example{Text: Example(name, e)})
		}
		v.Reasons = append(v.Reasons, one)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Warnings)) {
		f := r.Warnings[name]
		v.Warnings = append(v.Warnings, reason{string(name), f.Count, WarningText(name, f.Count), c.places(f.Examples)})
	}
	for _, why := range slices.Sorted(maps.Keys(r.Skips)) {
		v.Skips = append(v.Skips, reason{Name: why, N: r.Skips[why], Advice: c.SkipText(why)})
	}
	byCount := func(a, b reason) int { return cmp.Compare(b.N, a.N) }
	slices.SortStableFunc(v.Reasons, byCount)
	slices.SortStableFunc(v.Warnings, byCount)
	slices.SortStableFunc(v.Skips, byCount)
	const maxKept = 60
	v.Kept = sizes(r.Kept, converted)
	v.KeptMore = max(0, len(v.Kept)-maxKept)
	v.Kept = v.Kept[:min(maxKept, len(v.Kept))]
	v.Frame = frame("Check", subject(c.Files))
	if c.Plan != nil {
		v.Frame = frame("Plan", c.Plan.File)
	}
	v.Facts, v.Findings = c.facts(), c.findings(v)
	v.Verdict = c.verdict(v.Findings)
	return v
}

// example is a place where something was found.
type example struct{ Place, Text string }

func (c Check) place() func(hogapi.Position) string {
	if c.Place == nil {
		return hogapi.Position.String
	}
	return c.Place
}

// places returns the places where something was found, for people.
func (c Check) places(found []event.Example) (list []example) {
	place := c.place()
	for _, e := range found {
		shown := example{Text: e.Text}
		if !e.Position.IsZero() {
			shown.Place = place(e.Position)
		}
		list = append(list, shown)
	}
	return list
}

// Surplus returns the number of good events with the uuid of an earlier event: PostHog stores both as one.
func (c Check) Surplus() int64 {
	return c.Report.DoubleUUIDs.Count - c.Report.Warnings[event.WarningUUIDConflict].Count
}

// Different returns the number of the files' events that the project will have, or its upper bound if the
// report is partial.
func (c Check) Different() int64 { return c.Report.Good - c.Surplus() }

// Listed says where the left-out records are, if they were listed.
func (c Check) Listed() string {
	if c.List == "" {
		return ""
	}
	if c.Report.Skipped == 0 {
		return "No record is left out, so " + page.Shown(c.List) + " is empty."
	}
	return "All " + page.Plural(c.Report.Skipped, "record that is left out is", "records that are left out are") + " in " + page.Shown(c.List) + "."
}

func subject(files []string) string {
	switch len(files) {
	case 0:
		return ""
	case 1:
		return page.Shown(files[0])
	}
	return page.Shown(files[0]) + " and " + page.Plural(int64(len(files)-1), "more file", "more files")
}

func sizes[K ~string](counts map[K]int64, of int64) []counted {
	list := make([]counted, 0, len(counts))
	for name, n := range counts {
		list = append(list, counted{Name: string(name), N: n, Of: of, Width: percent(float64(min(n, max(of, 1))), int(max(of, 1)))})
	}
	slices.SortFunc(list, func(a, b counted) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name)) })
	return list
}

func ways(counts map[string]int64, of int64, notes map[string]string) []counted {
	list := sizes(counts, of)
	for i := range list {
		list[i].Note = notes[list[i].Name]
	}
	return list
}

var idForms = map[string]string{
	"uuid": "UUIDs: mostly devices, or users of an application", "number": "numbers", "e-mail": "e-mail addresses",
	"text": "other texts", "none": "none: see the rejects",
}

var uuidOrigins = map[string]string{
	formats.UUIDOfVendor:  "the record has a UUID",
	formats.UUIDOfID:      "made from the vendor's id of the record",
	formats.UUIDOfContent: "made from the content of the record",
}

func (c Check) facts() []page.Fact {
	r := c.Report
	rejected := page.Fact{Name: "Would be rejected", Value: page.Count(r.Rejected), Note: page.Share(r.Rejected, r.Good+r.Rejected) + " of the events", Level: page.Good}
	switch {
	case c.Problem != "" && r.Rejected > 0:
		rejected.Level = page.Bad
	case r.Rejected > 0:
		rejected.Level = page.Warn
	}
	list := []page.Fact{
		{Name: "Records read", Value: page.Count(r.Read), Note: page.Plural(int64(len(c.Files)), "file", "files")},
		{Name: "Would be sent", Value: page.Count(r.Good), Note: progress.Bytes(r.Bytes) + " as JSON"},
		rejected,
		{Name: "Would be left out", Value: page.Count(r.Skipped), Note: page.Share(r.Skipped, r.Read) + " of the records"},
		{Name: "Persons", Value: "about " + page.Count(Rounded(r.Persons)), Note: "different ids"},
	}
	if r.Good > 0 {
		list = append(list, page.Fact{Name: "Time covered", Value: span(r.Oldest, r.Newest), Note: r.Oldest.UTC().Format(time.DateOnly) + " to " + r.Newest.UTC().Format(time.DateOnly)})
	}
	if r.Hours > 0 {
		list = append(list, page.Fact{Name: "Import takes", Value: Duration(r.Hours), Note: "at " + page.Count(c.Rate) + " events a second"})
	}
	return list
}

// paces returns the duration of the import at some rates.
func paces(events int64, rate int) (list []counted) {
	const secondsOfInterest = 600
	all := []int{250, 500, 1000, 2000, 5000}
	if events < int64(all[0]*secondsOfInterest) {
		return nil // it is over soon at any pace
	}
	if rate > 0 && !slices.Contains(all, rate) {
		all = append(all, rate)
		slices.Sort(all)
	}
	for _, r := range all {
		p := counted{Name: Duration(float64(events) / float64(r) / 3600), N: int64(r)}
		if r == rate {
			p.Note = "chosen"
		}
		list = append(list, p)
	}
	return list
}
