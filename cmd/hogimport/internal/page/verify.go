package page

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/history"
)

// Verify is the content of the page of a verification.
type Verify struct {
	Verification *history.Verification
	Receipt      hogapi.Receipt
	Project      string
	At           time.Time
	Version      string
	Next         []shell.Step
	Rows         *posthogexport.RowTest // of the files; nil: of another format, or not counted

	// Of an import with --links: the $identify events that join ids are counted like events of the
	// files.
	HasLinks  bool
	LinksRead int64 // of all that was read; 0: not known
	Links     int64 // of all that was acknowledged; 0: not known
}

// Write writes the page.
func (p Verify) Write(w io.Writer) error { return page.Write(w, templates, "verify.html", p.view()) }

type verifyView struct {
	Verify
	page.Frame

	Chart    *chart
	Periods  []*period
	Unit     string
	HasOnce  bool
	Open     []*openGroup // cells that are not complete, the worst first
	Missing  []string     // uuids
	MissMore int64
}

type period struct {
	Name                             string
	Sent, Found, Once, Missing, Late int64
}

// openGroup has the cells that are not complete for one reason.
type openGroup struct {
	State        history.VerificationState
	Why          string
	Sent, Found  int64
	Number, More int // of all cells, and of the hidden ones
	Cells        []history.VerificationCell
}

const (
	nameFound   = "found"
	nameMissing = "missing"
	nameLate    = "not found yet"
	nameOnce    = "stored once with another"
)

func (p Verify) view() verifyView {
	v := verifyView{Verify: p}
	var samples []sample
	all := []*series{{Name: nameFound, Class: "found"}, {Name: nameOnce, Class: "once"}, {Name: nameLate, Class: "late"}, {Name: nameMissing, Class: "missing"}}
	for _, c := range p.Verification.Cells {
		found, once, late, missing := parts(c)
		for i, n := range []int64{found, once, late, missing} {
			samples = append(samples, sample{c.Day, all[i].Name, n})
			all[i].Total += n
		}
	}
	v.Chart = newChart(samples, all)
	v.tabulate()
	v.cells()
	const maxMissing = 20
	ids := p.Verification.MissingIDs
	for _, id := range ids[:min(maxMissing, len(ids))] {
		v.Missing = append(v.Missing, id.String())
	}
	v.MissMore = p.Verification.MissingEvents - int64(len(v.Missing))
	v.Frame = frame("Verification", "import "+page.Shown(p.Verification.ID))
	v.Facts, v.Findings = p.facts(), p.findings()
	return v
}

// parts divides the sent events of a cell: found, stored as one with another event, still to arrive or not
// countable, and missing.
func parts(c history.VerificationCell) (found, once, late, missing int64) {
	found = min(c.Seen, c.Acknowledged)
	once = min(c.Doubled, c.Acknowledged-found)
	missing = min(c.Missing, c.Acknowledged-found-once)
	return found, once, c.Acknowledged - found - once - missing, missing
}

// Once returns the number of sent events with the uuid of another event: PostHog stores both as one. It is
// known only for days and names that were compared by uuid.
func (p Verify) Once() (n int64) {
	for _, c := range p.Verification.Cells {
		_, once, _, _ := parts(c)
		n += once
	}
	return n
}

// tabulate makes the table by time, with a row for each bar of the chart.
func (v *verifyView) tabulate() {
	if v.Chart == nil {
		return
	}
	v.Unit = page.Sentence(v.Chart.Unit)
	for _, b := range v.Chart.Bars {
		row := &period{Name: b.Period, Sent: b.Total}
		for _, part := range b.Parts {
			switch part.Name {
			case nameFound:
				row.Found = part.N
			case nameOnce:
				row.Once, v.HasOnce = part.N, true
			case nameLate:
				row.Late = part.N
			case nameMissing:
				row.Missing = part.N
			}
		}
		if row.Sent > 0 {
			v.Periods = append(v.Periods, row)
		}
	}
}

// states has the states of cells, the worst last.
var states = []history.VerificationState{
	history.VerificationComplete, history.VerificationCompleteByCounts, history.VerificationCompleteUnconfirmed, history.VerificationUnfinished, history.VerificationStillArriving, history.VerificationUnknown, history.VerificationMoved,
	history.VerificationTooMany, history.VerificationMissing,
}

// cells returns the cells that are not complete, and joins cells with the same reason.
func (v *verifyView) cells() {
	const most = 200 // cells that are shown
	var open []history.VerificationCell
	for _, c := range slices.Concat(v.Verification.Cells, v.Verification.Outside) {
		if c.State != history.VerificationComplete {
			open = append(open, c)
		}
	}
	slices.SortStableFunc(open, func(a, b history.VerificationCell) int {
		return cmp.Or(cmp.Compare(slices.Index(states, b.State), slices.Index(states, a.State)), cmp.Compare(b.Missing, a.Missing))
	})
	type key struct {
		state history.VerificationState
		why   string
	}
	groups := map[key]*openGroup{}
	for i, c := range open {
		k := key{c.State, Why(c.Reason)}
		g := groups[k]
		if g == nil {
			g = &openGroup{State: k.state, Why: k.why}
			groups[k] = g
			v.Open = append(v.Open, g)
		}
		g.Number, g.Sent, g.Found = g.Number+1, g.Sent+c.Acknowledged, g.Found+c.Seen
		if i < most {
			g.Cells = append(g.Cells, c)
		} else {
			g.More++
		}
	}
}

var ownNumber = regexp.MustCompile(`^[0-9]+ events? `)

// Why returns a reason without its number of events, which the cell has.
func Why(reason string) string {
	if reason == "" {
		return ""
	}
	return Explained(ownNumber.ReplaceAllString(reason, "events "))
}

// LevelOf returns the level, and so the color, of a cell's state.
func (verifyView) LevelOf(s history.VerificationState) page.Level {
	return Verify{Verification: &history.Verification{State: s}}.Verdict().Level
}

// Verdict returns the first line of the page.
func (p Verify) Verdict() page.Verdict {
	v := p.Verification
	once := p.Once()
	lacking := max(0, v.Acknowledged-v.Seen-once)
	switch v.State {
	case history.VerificationComplete:
		if once > 0 {
			different := v.Acknowledged - once + p.Apart()
			return page.NewVerdict(page.Good, "Complete: "+page.Plural(different, "different event", "different events")+p.split(different), p.shared(once))
		}
		return page.NewVerdict(page.Good, "Complete: all "+page.Count(v.Acknowledged)+" events are in the project"+p.split(v.Acknowledged), "The uuids of every day and every name are those that were sent.")
	case history.VerificationCompleteByCounts:
		return page.NewVerdict(page.Warn, "As many events are there as were sent: "+page.Count(v.Seen)+". The uuids were not compared",
			"The import was run by an older release, or the server does not sum up uuids. Verify with the source files, to compare their uuids.")
	case history.VerificationUnfinished:
		return page.NewVerdict(page.Warn, "Nothing is missing so far, but the import is not finished", "Run the import to its end, then verify again.")
	case history.VerificationCompleteUnconfirmed:
		return page.NewVerdict(page.Warn, "All acknowledged events have arrived; some unconfirmed ones are still open",
			page.Plural(v.Unconfirmed, "event was", "events were")+" sent without a clear answer. Verify with the source files and a day later to learn which of them are there.")
	case history.VerificationStillArriving:
		return page.NewVerdict(page.Info, "Still arriving: "+page.Plural(lacking, "event is", "events are")+" not there yet",
			"Historical events can take minutes to hours to appear. Nothing is lost so far. Verify again later.")
	case history.VerificationMoved:
		return page.NewVerdict(page.Warn, page.Plural(v.MovedEvents, "event is", "events are")+" under another day or name",
			"They have arrived, but not as they were sent: look for a transformation in the project, or for times that PostHog changed.")
	case history.VerificationTooMany:
		return page.NewVerdict(page.Bad, page.Plural(v.ForeignEvents, "event is", "events are")+" there that were not sent",
			"Was the import's ID used for other data too, or is the receipt of an earlier run?")
	case history.VerificationMissing:
		return page.NewVerdict(page.Bad, page.Plural(v.MissingEvents, "event is", "events are")+" missing",
			"PostHog acknowledged them and does not show them. Look for the cause below, then send exactly these again.")
	case history.VerificationUnknown:
	}
	return page.NewVerdict(page.Info, "Whether all events have arrived is not known yet", "The reasons are with the days below. This does not mean that events are missing.")
}

// Apart returns how many of the events with the uuid of another one PostHog keeps apart, since their name, person
// or time differ.
func (p Verify) Apart() int64 { return min(p.Once(), p.Receipt.Warnings[event.WarningUUIDConflict]) }

// shared explains the events with the uuid of another event.
func (p Verify) shared(once int64) string {
	text := fmt.Sprintf("%s of the %s sent %s the uuid of another one", page.Count(once), page.Count(p.Verification.Acknowledged), verb(once, "has", "have"))
	switch apart := p.Apart(); {
	case apart == 0:
		return text + " and " + verb(once, "is", "are") + " stored once."
	case apart == once:
		return text + ", and another name, person or time: PostHog keeps both."
	default:
		return fmt.Sprintf("%s: %s %s another name, person or time, so that PostHog keeps both, and %s %s stored once.", text,
			page.Count(apart), verb(apart, "has", "have"), page.Count(once-apart), verb(once-apart, "is", "are"))
	}
}

// split says how many events are links, if it is known.
func (p Verify) split(all int64) string {
	if p.Links == 0 {
		return ""
	}
	return ", " + page.Count(all-p.Links) + " of the files and " + linksOfPersons(p.Links)
}

func linksOfPersons(n int64) string { return page.Plural(n, "link", "links") + " of persons" }

// ReadText says how much was read.
func (v verifyView) ReadText() string {
	if v.LinksRead == 0 {
		return page.Count(v.Receipt.Read)
	}
	return page.Count(v.Receipt.Read) + ": " + page.Plural(v.Receipt.Read-v.LinksRead, "record", "records") + " and " + linksOfPersons(v.LinksRead)
}

// LinkNote explains how links are counted.
func (p Verify) LinkNote() (note page.Finding, isNeeded bool) {
	return page.Finding{
		Level: page.Info, Title: "Links of persons are counted too",
		Text: "They are $identify events, and in the counts of their days. That they are found proves that the project has these events; " +
			"PostHog joins the persons while it processes them, so look at one such person there.",
	}, p.HasLinks
}

// copiesText explains where surplus copies come from, and how long they stay.
func (p Verify) copiesText(surplus int64) string {
	const again, merged = "events sent again after a stop or a failed request",
		" PostHog merges copies in the background; until then a query of its events may count them."
	text := "They come from "
	switch once := p.Once(); {
	case once > 0 && surplus > once:
		text += page.Plural(once, "event", "events") + " that the files have twice, and from " + again + "."
	case once > 0: // some may be merged
		text += page.Plural(once, "event", "events") + " that the files have twice, or from " + again + "."
	case p.Verification.Complete():
		text += again + "."
	default:
		text += again + ", or that the files have twice."
	}
	return text + merged
}

func (p Verify) facts() []page.Fact {
	v := p.Verification
	missing := page.Fact{Name: "Missing", Value: page.Count(v.MissingEvents), Level: page.Good}
	if v.MissingEvents > 0 {
		missing.Note, missing.Level = "can no longer arrive", page.Bad
	}
	found := page.Fact{Name: "Found", Value: page.Count(v.Seen), Note: page.Share(min(v.Seen, v.Acknowledged), v.Acknowledged) + " of the sent events"}
	if v.Copies > v.Seen {
		found.Note = "stored in " + page.Count(v.Copies) + " copies"
	}
	list := []page.Fact{{Name: "Sent", Value: page.Count(v.Acknowledged), Note: "acknowledged by PostHog"}, found, missing}
	once := p.Once()
	if once > 0 {
		list = append(list, page.Fact{Name: "Stored once", Value: page.Count(once), Note: "uuid of another event"})
	}
	if late := v.Acknowledged - v.Seen - once - v.MissingEvents; late > 0 {
		list = append(list, page.Fact{Name: "Not there yet", Value: page.Count(late), Note: "and not called missing"})
	}
	if v.Unconfirmed > 0 {
		list = append(list, page.Fact{Name: "Unconfirmed", Value: page.Count(v.Unconfirmed), Note: "sent without a clear answer", Level: page.Warn})
	}
	if v.MovedEvents > 0 {
		list = append(list, page.Fact{Name: "Moved", Value: page.Count(v.MovedEvents), Note: "under another day or name", Level: page.Warn})
	}
	if v.ForeignEvents > 0 {
		list = append(list, page.Fact{Name: "Too many", Value: page.Count(v.ForeignEvents), Note: "not of this import", Level: page.Bad})
	}
	if p.Receipt.Rejected > 0 {
		list = append(list, page.Fact{Name: "Rejected", Value: page.Count(p.Receipt.Rejected), Note: "never sent: see the reject file", Level: page.Warn})
	}
	return append(list, page.Fact{Name: "Checks", Value: page.Count(v.Looks), Note: "the last one at " + v.CheckedAt.UTC().Format("15:04 UTC")})
}

func (p Verify) findings() (list []page.Finding) {
	v := p.Verification
	for _, w := range v.Warnings {
		list = append(list, page.Finding{
			Level: page.Warn, Title: "PostHog warns: " + page.Shown(w.Type),
			Text: fmt.Sprintf("%s, the last one at %s.", page.Plural(w.Count, "time", "times"), page.Moment(w.LastSeen)),
		})
	}
	if len(v.Uncountable) > 0 {
		var names []string
		for _, name := range v.Uncountable {
			names = append(names, page.Shown(name))
		}
		list = append(list, page.Finding{
			Level: page.Info, Title: "Some names cannot be counted",
			Text: "PostHog keeps events of these names elsewhere or changes them, so counts can miss them: " + strings.Join(names, ", ") + ".",
		})
	}
	if n := v.Copies - v.Seen; n > 0 {
		list = append(list, page.Finding{
			Level: page.Info, Title: page.Plural(n, "surplus copy is", "surplus copies are") + " stored for now",
			Text: p.copiesText(n),
		})
	}
	if note, isNeeded := p.LinkNote(); isNeeded {
		list = append(list, note)
	}
	list = append(list, exportRows(p.Rows, "")...)
	for _, note := range v.Notes {
		list = append(list, page.Finding{Level: page.Info, Title: Explained(note)})
	}
	return list
}

// Worse returns the worse of two states.
func Worse(a, b history.VerificationState) history.VerificationState {
	if slices.Index(states, b) > slices.Index(states, a) {
		return b
	}
	return a
}
