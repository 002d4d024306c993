package page

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
)

// Verify is what the page of a verification shows.
type Verify struct {
	Verification *hogapi.Verification
	Receipt      hogapi.Receipt
	Project      string
	At           time.Time
	Version      string
	Next         []Step
}

// Write writes the page.
func (p Verify) Write(w io.Writer) error { return write(w, "verify.html", p.view()) }

// Verdict is what the page says first.
func (p Verify) Verdict() Verdict { return p.verdict() }

// verifyView is what verify.html shows.
type verifyView struct {
	frame

	Verification *hogapi.Verification
	Receipt      hogapi.Receipt
	Project      string

	Chart    *chart
	Periods  []*period
	Unit     string
	Open     []hogapi.ArrivalCell // those that are not complete, the worst first
	OpenMore int
	Why      string   // of all of them, where it is one and the same reason
	Missing  []string // uuids
	MissMore int64
}

// period is a line of the table by time.
type period struct {
	Name                       string
	Sent, Found, Missing, Late int64
}

const (
	nameFound   = "found"
	nameMissing = "missing"
	nameLate    = "not found yet"
)

func (p Verify) view() verifyView {
	v := verifyView{Verification: p.Verification, Receipt: p.Receipt, Project: p.Project}
	var samples []sample
	all := []*series{{Name: nameFound, Class: "found"}, {Name: nameLate, Class: "late"}, {Name: nameMissing, Class: "missing"}}
	for _, c := range p.Verification.Cells {
		found, late, missing := parts(c)
		for i, n := range []int64{found, late, missing} {
			samples = append(samples, sample{c.Day, all[i].Name, n})
			all[i].Total += n
		}
	}
	v.Chart = newChart(samples, all)
	v.tabulate()
	v.cells()
	const mostMissing = 20
	ids := p.Verification.MissingIDs
	for _, id := range ids[:min(mostMissing, len(ids))] {
		v.Missing = append(v.Missing, id.String())
	}
	v.MissMore = p.Verification.MissingEvents - int64(len(v.Missing))
	v.frame = frame{
		Kind: "Verification", Subject: "import " + Shown(p.Verification.ID), At: p.At, Version: p.Version, Next: p.Next,
		Verdict: p.verdict(), Facts: p.facts(), Findings: p.findings(),
	}
	return v
}

// parts are the sent events of a cell: those that were found, those that may still arrive or cannot be counted, and
// those that are missing.
func parts(c hogapi.ArrivalCell) (found, late, missing int64) {
	found = min(c.Seen, c.Acknowledged)
	missing = min(c.Missing, c.Acknowledged-found)
	return found, c.Acknowledged - found - missing, missing
}

// tabulate makes the table by time: of the chart's bars.
func (v *verifyView) tabulate() {
	if v.Chart == nil {
		return
	}
	v.Unit = sentence(v.Chart.Unit)
	for _, b := range v.Chart.Bars {
		row := &period{Name: b.Period, Sent: b.Total}
		for _, part := range b.Parts {
			switch part.Name {
			case nameFound:
				row.Found = part.N
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

// states are the states of cells, the worst last.
var states = []hogapi.ArrivalState{
	hogapi.ArrivalComplete, hogapi.ArrivalCompleteUnsure, hogapi.ArrivalInProgress, hogapi.ArrivalUnknown, hogapi.ArrivalMoved,
	hogapi.ArrivalTooMany, hogapi.ArrivalMissing,
}

// cells collects the cells that are not complete.
func (v *verifyView) cells() {
	const most = 200
	for _, c := range slices.Concat(v.Verification.Cells, v.Verification.Outside) {
		if c.State != hogapi.ArrivalComplete {
			v.Open = append(v.Open, c)
		}
	}
	slices.SortStableFunc(v.Open, func(a, b hogapi.ArrivalCell) int {
		return cmp.Or(cmp.Compare(slices.Index(states, b.State), slices.Index(states, a.State)), cmp.Compare(b.Missing, a.Missing))
	})
	if n := len(v.Open); n > 1 && !slices.ContainsFunc(v.Open, func(c hogapi.ArrivalCell) bool { return c.Reason != v.Open[0].Reason }) && v.Open[0].Reason != "" {
		v.Why = Explained(v.Open[0].Reason)
	}
	v.OpenMore = max(0, len(v.Open)-most)
	v.Open = v.Open[:min(most, len(v.Open))]
}

// LevelOf colors the state of a cell.
func (verifyView) LevelOf(s hogapi.ArrivalState) Level {
	switch s {
	case hogapi.ArrivalComplete:
		return Good
	case hogapi.ArrivalMissing, hogapi.ArrivalTooMany:
		return Bad
	case hogapi.ArrivalMoved, hogapi.ArrivalCompleteUnsure:
		return Warn
	case hogapi.ArrivalInProgress, hogapi.ArrivalUnknown:
	}
	return Info
}

func (p Verify) verdict() Verdict {
	v := p.Verification
	lacking := max(0, v.Acknowledged-v.Seen)
	switch v.State {
	case hogapi.ArrivalComplete:
		if v.Unfinished {
			return Verdict{Warn, "All that was sent has arrived, but the import is not finished", "Run the import to its end, then verify again."}
		}
		return Verdict{Good, "Complete: all " + Count(v.Acknowledged) + " events are in the project", "Every day and every name has the number of events that was sent."}
	case hogapi.ArrivalCompleteUnsure:
		return Verdict{
			Warn, "All acknowledged events have arrived, unconfirmed ones are open",
			plural(v.Unsure, "event was", "events were") + " sent without a clear answer. Verify with the source files and a day later to learn which of them are there.",
		}
	case hogapi.ArrivalInProgress:
		return Verdict{
			Info, "Still arriving: " + plural(lacking, "event is", "events are") + " not there yet",
			"Historical events take minutes to hours. Nothing is lost so far. Verify again later.",
		}
	case hogapi.ArrivalMoved:
		return Verdict{
			Warn, plural(v.MovedEvents, "event is", "events are") + " under another day or name",
			"They have arrived, but not as they were sent: look for a transformation in the project, or for times that PostHog changed.",
		}
	case hogapi.ArrivalTooMany:
		return Verdict{
			Bad, plural(v.ForeignEvents, "event", "events") + " more than were sent",
			"Was the import's ID used for other data too, or is the receipt of an earlier run?",
		}
	case hogapi.ArrivalMissing:
		return Verdict{
			Bad, plural(v.MissingEvents, "event is", "events are") + " missing",
			"PostHog acknowledged them and does not show them. Look for the cause below, then send exactly these again.",
		}
	case hogapi.ArrivalUnknown:
	}
	return Verdict{Info, "It cannot be said yet whether all events have arrived", "The reasons are with the days below. It does not mean that events are missing."}
}

func (p Verify) facts() []fact {
	v := p.Verification
	missing := fact{Name: "Missing", Value: Count(v.MissingEvents), Note: "can no longer arrive", Level: Good}
	if v.MissingEvents > 0 {
		missing.Level = Bad
	}
	found := fact{Name: "Found", Value: Count(v.Seen), Note: Share(min(v.Seen, v.Acknowledged), v.Acknowledged) + " of the sent events"}
	if v.Copies > v.Seen {
		found.Note = Count(v.Copies) + " copies, merged later"
	}
	list := []fact{{Name: "Sent", Value: Count(v.Acknowledged), Note: "acknowledged by PostHog"}, found, missing}
	if late := v.Acknowledged - v.Seen - v.MissingEvents; late > 0 {
		list = append(list, fact{Name: "Not there yet", Value: Count(late), Note: "and not called missing"})
	}
	if v.Unsure > 0 {
		list = append(list, fact{Name: "Unconfirmed", Value: Count(v.Unsure), Note: "sent without a clear answer", Level: Warn})
	}
	if v.MovedEvents > 0 {
		list = append(list, fact{Name: "Moved", Value: Count(v.MovedEvents), Note: "under another day or name", Level: Warn})
	}
	if v.ForeignEvents > 0 {
		list = append(list, fact{Name: "Too many", Value: Count(v.ForeignEvents), Note: "not of this import", Level: Bad})
	}
	if p.Receipt.Rejected > 0 {
		list = append(list, fact{Name: "Rejected", Value: Count(p.Receipt.Rejected), Note: "never sent: see the reject file", Level: Warn})
	}
	return append(list, fact{Name: "Looks", Value: Count(v.Looks), Note: "the last one at " + v.CheckedAt.UTC().Format("15:04 UTC")})
}

func (p Verify) findings() (list []Finding) {
	v := p.Verification
	for _, w := range v.Warnings {
		list = append(list, Finding{
			Level: Warn, Title: "PostHog warns: " + Shown(w.Type),
			Text: fmt.Sprintf("%s, the last one at %s.", plural(w.Count, "time", "times"), moment(w.LastSeen)),
		})
	}
	if len(v.Uncountable) > 0 {
		var names []string
		for _, name := range v.Uncountable {
			names = append(names, Shown(name))
		}
		list = append(list, Finding{
			Level: Info, Title: "Some names cannot be counted",
			Text: "PostHog keeps events of these names elsewhere or changes them, so counts can miss them: " + strings.Join(names, ", ") + ".",
		})
	}
	for _, note := range v.Notes {
		list = append(list, Finding{Level: Info, Title: Explained(note)})
	}
	return list
}

// Worse is the worse one of two states.
func Worse(a, b hogapi.ArrivalState) hogapi.ArrivalState {
	if slices.Index(states, b) > slices.Index(states, a) {
		return b
	}
	return a
}
