package page

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats"
)

// Disorder is the largest jump back in time in files that count as sorted.
const Disorder = time.Hour

// NeedsSort reports whether the files are not in the order in which they should be sent.
func (c Check) NeedsSort() bool {
	return !c.IsHistory && (c.Report.LargestJump > Disorder || c.KeepsSet && c.Report.Backwards.Count > 0)
}

// findings returns the facts that a reader should know before the import, the worst first.
func (c Check) findings(v checkView) (list []page.Finding) {
	r := c.Report
	add := func(l page.Level, anchor, title, text string) {
		list = append(list, page.NewFinding(l, title, text, anchor))
	}
	if c.Problem != "" {
		add(page.Bad, "rejects", "An import would stop", page.Shown(c.Problem))
	} else if r.Rejected > 0 {
		add(page.Warn, "rejects", page.Plural(r.Rejected, "event", "events")+" would be rejected",
			page.Share(r.Rejected, r.Good+r.Rejected)+" of the events. They go to a file with their reasons, from which they can be corrected and sent.")
	}
	if z := v.Zones; z != nil && z.Level != page.Info {
		add(z.Level, "zone", z.Title, z.Text)
	}
	if title := c.People.Title(); title != "" {
		add(c.People.level(), "duplicates", title, c.People.Text())
	}
	list = append(list, c.persons()...)
	list = append(list, c.Hints.findings(c.place())...)
	list = append(list, exportRows(c.Rows, "warnings")...)
	list = append(list, c.groupTypes()...)
	if o := v.Overlap; r.Good > 0 {
		add(o.Level, "overlap", o.Title, o.Text)
	}
	if len(c.Empty) > 0 {
		add(page.Warn, "time", page.Plural(int64(len(c.Empty)), "file is empty", "files are empty"),
			someNames(c.Empty)+". Is the export complete? A vendor whose export failed for a day leaves such a file.")
	}
	if len(c.Changed) > 0 {
		add(page.Warn, "overlap", page.Plural(int64(len(c.Changed)), "file has", "files have")+" changed since the import",
			someNames(c.Changed)+". Added records are not imported. Import it with a --state of its own: with the --import-id of its import, "+
				"events of files that have only become longer keep their uuids.")
	}
	for _, w := range []struct {
		warning             hogapi.Warning
		anchor, title, text string
	}{
		{event.WarningUUIDConflict, "duplicates", "the uuid of a different event", "Name, person or time differ, so PostHog keeps both, and counts and lookups by uuid are wrong for them. Its older events table keeps one of two that differ only in the time of a day."},
		{event.WarningUUIDReuse, "duplicates", "the uuid of an event with another content",
			"Name, person and time are the same, so PostHog keeps one of the two and the other is lost. Leave out the uuid, or correct it."},
		{event.WarningBefore1980, "warnings", "a time before 1980",
			"Are seconds read as milliseconds, or are they of a clock that was never set? PostHog stores them at that time."},
	} {
		if f, has := r.Warnings[w.warning]; has {
			if key := wholeKeys[c.Format]; key != "" && w.anchor == "duplicates" {
				w.text = strings.TrimSuffix(w.text, " Leave out the uuid, or correct it.") + " " + key
			}
			add(page.Warn, w.anchor, page.Plural(f.Count, "event has ", "events have ")+w.title, w.text)
		}
	}
	if n := c.Surplus(); n > 0 {
		most := ""
		if r.UUIDsPartial {
			most = "at most "
		}
		add(page.Info, "duplicates", page.Plural(n, "surplus copy of an event", "surplus copies of events"),
			"Each has the uuid of an earlier event, with which PostHog stores it as one: the project will hold "+
				most+page.Plural(c.Different(), "different event", "different events")+" of these files.")
	}
	warned := slices.DeleteFunc(slices.Clone(v.Warnings), func(w reason) bool {
		named := []hogapi.Warning{event.WarningUUIDConflict, event.WarningUUIDReuse, event.WarningBefore1980, event.WarningLib} // the last changes nothing
		return slices.Contains(named, hogapi.Warning(w.Name))
	})
	if n := len(warned); n > 0 {
		const most = 3
		var texts []string
		for _, w := range warned[:min(n, most)] {
			texts = append(texts, w.Advice)
		}
		if n > most {
			texts = append(texts, fmt.Sprintf("And %d more.", n-most))
		}
		title := "PostHog handles some events differently"
		if !slices.ContainsFunc(warned, func(w reason) bool { return warnedThings[hogapi.Warning(w.Name)] != "file" }) {
			title = "Check some files"
		}
		add(page.Warn, "warnings", title, strings.Join(texts, " "))
	}
	if n := r.Backwards.Count; c.NeedsSort() {
		level, why := page.Info, "Person properties follow the order of arrival"
		if c.KeepsSet {
			why = "$set stays $set: a person ends with what arrives last"
			if !c.Sorts {
				level = page.Warn
			}
		}
		text := page.Plural(n, "event is", "events are") + " older than the one before. " + why
		if len(c.Begun) == 0 {
			text += ", so the import below sorts all events first (--sort)"
		}
		add(level, "time", "The files are not in order of time", text+".")
	}
	if c.IsHistory && r.Good > 0 {
		add(page.Info, "events", "Only the newest event of each person is sent", "Each event has all properties that its person had at that moment. "+
			"The import sends the newest of each person, and leaves out the others. Import the events of these files before, with --set-policy strip: "+
			"otherwise persons have the oldest value of each property from them, and keep it.")
	}
	if title, text := c.Sessions.finding(len(c.Begun) > 0); title != "" && r.Good > 0 {
		add(page.Info, "events", title, text)
	}
	if o := v.Overlap; c.KeepsSet && o.Project+c.Later > 0 {
		add(page.Warn, "overlap", "The project has events of its own",
			"$set of the files stays $set, so old values replace what persons have now. With --set-policy set-once they keep what they have.")
	}
	if o := v.Overlap; !c.KeepsSet && !c.Leaves && o.Project+c.Later > 0 && r.Good > 0 {
		add(page.Info, "overlap", "The project is in use, and persons of today get old values",
			"PostHog copies browser, system, URL, referrer and campaign of each event to its person, whatever becomes of $set. "+
				"With --leave-persons, today's persons stay as they are; events then make no new persons with a profile, and their groups have no effect.")
	}
	c.webFindings(add)
	if v.Chart != nil && len(v.Chart.Empty) > 0 {
		empty := v.Chart.Empty
		text := "Nothing is there for " + empty[0]
		if len(empty) > 1 {
			text = fmt.Sprintf("Nothing is there for %s and %s", empty[0], page.Plural(int64(len(empty)-1), "more "+v.Chart.Unit, "more "+v.Chart.Unit+"s"))
		}
		add(page.Info, "events", page.Plural(int64(len(empty)), v.Chart.Unit+" has", v.Chart.Unit+"s have")+" no events", text+": is a file missing?")
	}
	if c.Plan != nil {
		for i := range list {
			list[i].Text = c.Plan.Keyed(list[i].Text)
		}
	}
	slices.SortStableFunc(list, func(a, b page.Finding) int { return rank(b.Level) - rank(a.Level) })
	return list
}

func rank(l page.Level) int {
	return slices.Index([]page.Level{page.Good, page.Info, page.Warn, page.Bad}, l)
}

func (c Check) verdict(findings []page.Finding) page.Verdict {
	r := c.Report
	number := map[page.Level]int64{}
	for _, f := range findings {
		number[f.Level]++
	}
	so := c.sofar()
	if c.Plan != nil && c.Plan.Open() > 0 {
		return page.NewVerdict(page.Bad, page.Plural(c.Plan.Open(), "decision is open", "decisions are open"), "Answer them in "+page.Shown(c.Plan.File)+", below decide. "+so)
	}
	switch {
	case r.Read == 0:
		return page.NewVerdict(page.Bad, "There is nothing to import", "The files have no records. Is the export complete, and are they the right files?")
	case r.Good == 0:
		why := "Usually the files are of another format. "
		if c.IsMapped {
			why = "Are --map and --zone right? "
		}
		return page.NewVerdict(page.Bad, "No event can be imported", "Every record is rejected or left out. "+why+so)
	case number[page.Bad] > 0:
		return page.NewVerdict(page.Bad, "Not ready to import", "Correct what is marked as a problem, then check again. "+so)
	}
	title, alone, text := "Ready", "Ready to import", page.Plural(r.Good, "event", "events")+" would be sent. "+so
	switch {
	case c.isImported():
		title, alone, text = "No problem", "No problem found", so
	case len(c.Begun) > 0:
		text = page.Plural(r.Good, "event is", "events are") + " in these files. " + so
	}
	if warn := number[page.Warn]; warn > 0 {
		return page.NewVerdict(page.Warn, title+", with "+page.Plural(warn, "warning", "warnings"), text)
	}
	return page.NewVerdict(page.Good, alone, text)
}

// isImported reports whether complete imports have all of these files in their present state.
func (c Check) isImported() bool {
	return len(c.Begun) > 0 && len(c.Fresh)+len(c.Changed)+len(c.Grown) == 0 && !slices.ContainsFunc(c.Begun, func(b Begun) bool { return b.Is != "complete" })
}

// sofar says how much was sent before the check.
func (c Check) sofar() string {
	if len(c.Begun) == 0 {
		return "Nothing has been sent so far."
	}
	var list []string
	for _, b := range c.Begun {
		least := "at least " // a killed run could not report its last events
		if b.Is == "complete" {
			least = ""
		}
		what := b.Is + ", " + least
		if c.isImported() {
			what = ""
		}
		list = append(list, page.Shown(b.Folder)+" ("+what+page.Count(b.Acknowledged)+" acknowledged)")
	}
	if c.isImported() {
		return "An import of these files is complete: " + strings.Join(list, ", ") + "."
	}
	said := "An import of these files has begun: " + list[0] + "."
	if len(list) > 1 {
		said = "Imports of these files have begun: " + strings.Join(list, ", ") + "."
	}
	return said + c.unsent()
}

// unsent names the files that no import has sent completely.
func (c Check) unsent() (text string) {
	if n := int64(len(c.Fresh)); n > 0 {
		text += " Not imported: " + page.Plural(n, "file", "files") + ", " + someNames(c.Fresh) + "."
	}
	if n := int64(len(c.Grown)); n > 0 {
		text += " Longer than when it was imported: " + someNames(c.Grown) + "."
	}
	return text
}

func someNames(paths []string) string {
	const most = 3
	var names []string
	for _, path := range paths {
		names = append(names, page.Shown(filepath.Base(path)))
	}
	return few(names, most, ", ")
}

// few joins the first of some texts, and says how many more there are.
func few(texts []string, most int, between string) string {
	if more := int64(len(texts) - most); more > 0 {
		texts = append(texts[:most], page.Plural(more, "more", "more"))
	}
	return strings.Join(texts, between)
}

// Identity describes how the events of files name persons before and after the login.
type Identity struct {
	Before int64 // records of a device, as Mixpanel's projects with simplified ID merge have them
	Both   int64 // events that name a person and the id that it had before the login
	Device bool  // --device-prefix was given
	Links  bool  // --links was given
}

// NeedsPrefix reports whether the ids of devices need their prefix, so that links have an effect on the records
// before the login.
func (i Identity) NeedsPrefix() bool { return i.Both > 0 && i.Before > 0 && !i.Device }

// NeedsLinks reports whether there are ids to join, for which --links was not given.
func (i Identity) NeedsLinks() bool { return i.Both > 0 && !i.Links }

func (i Identity) level() page.Level {
	switch {
	case !i.NeedsPrefix() && !i.NeedsLinks():
		return page.Good
	case i.Before > 0:
		return page.Warn
	}
	return page.Info
}

// Title names the problem; it is empty if there is no problem.
func (i Identity) Title() string {
	switch {
	case i.Both == 0:
		return ""
	case i.Before > 0:
		return page.Plural(i.Before, "record is", "records are") + " from before login"
	}
	return page.Plural(i.Both, "event names", "events name") + " a person and the id used before login"
}

// Text is the advice: the flags that are missing.
func (i Identity) Text() string {
	if i.Before == 0 {
		if i.NeedsLinks() {
			return "Import with --links to join the two first. Without it, events from before login stay with another person."
		}
		return "--links joins the two first."
	}
	both := page.Plural(i.Both, "other record names", "other records name") + " both, by which the two are joined"
	flags := map[[2]bool]string{{true, true}: "--device-prefix --links", {true, false}: "--device-prefix", {false, true}: "--links"}
	if missing := flags[[2]bool{i.NeedsPrefix(), i.NeedsLinks()}]; missing != "" {
		return "Add " + missing + ", or each person appears twice: as a device, and as a user. " + both + "."
	}
	return both + " (--links)."
}

// Persons describes the persons that links make, in a sentence or several.
func Persons(r formats.LinksReport) string {
	if r.Persons == 0 {
		return "No person comes out of more than one id." + left(r)
	}
	var largest []string
	for _, p := range r.Largest {
		largest = append(largest, fmt.Sprintf("%s %s", page.Shown(p.ID), page.Count(p.IDs)))
	}
	most := "The largest, with their numbers of ids: "
	if len(largest) == 1 {
		most = "Its id, and its number of ids: "
	}
	return fmt.Sprintf("%s out of more than one id: of %s. %s%s.%s", page.Plural(r.Persons, "person comes", "persons come"),
		page.Plural(r.IDs, "id", "ids"), most, strings.Join(largest, ", "), left(r))
}

func left(r formats.LinksReport) (text string) {
	if n := r.Left[formats.SkipSharedDevice]; n > 0 {
		text += " " + page.Plural(n, "id of a device had", "ids of devices had") + " two users or more: not joined."
	}
	if n := r.Left[formats.SkipUserDevice]; n > 0 {
		text += " " + page.Plural(n, "id of a device is", "ids of devices are") + " also the id of another user: not joined."
	}
	if len(r.Placeholders) > 0 {
		const maxNamed = 10
		var named []string
		for _, id := range r.Placeholders[:min(len(r.Placeholders), maxNamed)] {
			named = append(named, page.Shown(id.ID)+" ("+page.Plural(id.Events, "event", "events")+")")
		}
		text += " Placeholders in place of an id are not joined: " + strings.Join(named, ", ")
		if more := len(r.Placeholders) - maxNamed; more > 0 {
			text += " and " + page.Count(int64(more)) + " more"
		}
		text += ". If one is the id of a person, give it with --real-id."
	}
	return text
}

// wholeKeys say how events of a vendor that share its id get uuids of their own.
var wholeKeys = map[string]string{
	"mixpanel": "Mixpanel's own key has four parts: event, time, distinct_id and $insert_id. --whole-key makes the uuid of all four; events " +
		"that PostHog's own importer has imported then come a second time.",
	"snowplow": "Robots send one event_id with several events. --fingerprints makes the uuid of event_id and event_fingerprint.",
}

// persons returns the findings about the persons of several ids.
func (c Check) persons() (list []page.Finding) {
	r := c.Report.Links
	if r == nil || r.Persons == 0 && len(r.Left) == 0 {
		return nil
	}
	if most := c.MaxIDs; len(r.Largest) > 0 && most > 0 && r.Largest[0].IDs > int64(most) {
		p := r.Largest[0]
		var others []string
		for _, id := range p.Others {
			others = append(others, page.Shown(id))
		}
		list = append(list, page.NewFinding(page.Bad, page.Plural(p.IDs, "id", "ids")+" would become one person", fmt.Sprintf(
			"It is %s, with %s and others. --links joins at most %s ids, since a merge cannot be undone. If it is one person, "+
				"give --max-ids %d; if not, import without --links.", page.Shown(p.ID), strings.Join(others, ", "), page.Count(int64(most)), p.IDs), "duplicates"))
	}
	title := page.Plural(r.Persons, "person comes", "persons come") + " out of more than one id"
	if r.Persons == 0 {
		title = "No ids are joined"
	}
	text := Persons(*r)
	if !c.People.Links {
		text = "With --links. " + text
	}
	return append(list, page.NewFinding(page.Info, title, text, "duplicates"))
}

// Sessions counts the events of files that are in a session.
type Sessions struct {
	Silence string // of --sessions; empty: it was not given
	HasOwn  bool   // the format has the vendor's sessions
	IsLines bool   // of any tool: only visits of pages and screens tell that the files are of visitors

	Events int64
	With   int64 // that have a $session_id

	looked, ofServers, visits int64
}

// Add counts an event.
func (s *Sessions) Add(ev *hogapi.Event, hasSession bool) {
	const enough = 1000 // of which the sides are looked up
	s.Events++
	if hasSession {
		s.With++
	}
	if ev.Name == "$pageview" || ev.Name == "$screen" {
		s.visits++
	}
	if s.looked < enough {
		s.looked++
		if formats.IsOfServer(*ev) {
			s.ofServers++
		}
	}
}

// Needed reports whether events of visitors have no session, and --sessions was not given.
func (s *Sessions) Needed() bool {
	const few = 100 // a hundredth: an event may have a property of that name
	return s.Silence == "" && !s.HasOwn && s.Events > 0 && s.With <= s.Events/few && s.ofServers < s.looked && (!s.IsLines || s.visits > 0)
}

const webAnalytics = "PostHog's web analytics (visitors, views, sessions, bounce rate, entry pages, channels, countries) shows only events with a session"

// finding previews web analytics for the files. An empty title means that there is nothing to say.
func (s *Sessions) finding(isBegun bool) (title, text string) {
	switch {
	case s.Needed():
		text = webAnalytics + ". Insights, funnels and retention do not need it. "
		if isBegun {
			return "The events have no session", text + "An import that has begun continues without sessions."
		}
		return "The events have no session", text + "The import below makes them (--sort --sessions 30m): the events of a device, or of a person where no device is named, " +
			"are one session until 30 minutes of silence, and at most 24 hours. Events of servers get none. Leave it out if the project needs no web analytics."
	case s.HasOwn && s.Events > 0:
		return page.Share(s.With, s.Events) + " of the events are in a session of the vendor", webAnalytics + ". The others have no session there: such as events of servers, " +
			"of imports in bulk, and those that are older than the beginning of their session."
	case s.Silence != "" && s.Events > 0:
		return "Sessions are made", "--sessions " + s.Silence + ": the events of a device, or of a person where no device is named, are one session until a silence of more than " +
			s.Silence + ", and at most 24 hours. The import says how many there are, and how many began so early that they may have begun before these files."
	}
	return "", ""
}
