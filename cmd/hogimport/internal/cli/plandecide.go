package cli

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	pages "github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
)

// counted notes how many records each file has, for a plan.
func (c *check) counted(source history.Source, paths []string) history.Source {
	if c.records == nil {
		return source
	}
	files := map[string]string{}
	return walked{source, func(events iter.Seq2[hogapi.Event, error], yield func(hogapi.Event, error) bool) {
		last := hogapi.Position{}
		for ev, err := range events {
			if err == nil && ev.Position != last {
				last = ev.Position
				file, isKnown := files[last.Key]
				if !isKnown {
					file = fileOfRecord(paths, last)
					files[last.Key] = file
				}
				c.records[file]++
			}
			if !yield(ev, err) {
				return
			}
		}
	}}
}

// fileOfRecord returns the file of a position, also of a member of an archive or a row of a table, or "".
func fileOfRecord(paths []string, at hogapi.Position) string {
	if len(paths) == 1 {
		return paths[0]
	}
	key := inFile(paths, at).Key
	if row := fileOfRow(paths, key); row != "" {
		key = row
	}
	for key != "" {
		if file := fileOf(paths, key); file != "" {
			return file
		}
		key = key[:max(0, strings.LastIndexAny(key, "!/:#"))]
	}
	return ""
}

// derive chooses settings that the records need and no flag sets. It reports whether that changes the events, so that
// the files are to be read again.
func (p *planner) derive(ctx context.Context, look *page.Check) (again bool) {
	choose := func(key string, to *bool, isNeeded bool, why string) bool {
		if p.isGiven(key) || *to || !isNeeded {
			return false
		}
		*to, p.why[key] = true, why
		return true
	}
	again = choose("device-prefix", &p.in.DevicePrefix, look.People.NeedsPrefix(), look.People.Text())
	if choose("links", &p.in.Links, look.People.NeedsLinks(), "") {
		again = again || look.Report.Links == nil
		look.People.Links = true
	}
	if !p.isGiven("sessions") && !p.isGiven("sort") && look.Sessions.Needed() {
		p.in.Sessions, p.in.Sort = "30m", true
		look.Sessions.Silence = p.in.Sessions
		p.why["sort"] = "the sessions are made of events in the order of time"
		if !again {
			if options, err := p.limits.options("check"); err == nil {
				p.predictSessions(ctx, look, options)
			}
		}
	}
	if choose("sort", &p.in.Sort, look.NeedsSort(), page.Predicate(look.Report.Backwards.Count, "event", "are older than the one before")) {
		look.Sorts = true
	}
	return again
}

// decisions returns the decisions that only a person can make. Answers to the same problems stay.
func (p *planner) decisions(look *page.Check) (list []history.PlanDecision) {
	add := func(d history.PlanDecision) {
		if p.old != nil {
			for _, old := range p.old.Decide {
				if old.Key == d.Key && (d.Other != "" || old.Problem == d.Problem) {
					d.Answer = old.Answer
				}
			}
		}
		list = append(list, d)
	}
	answer := func(pairs ...string) (answers []history.PlanAnswer) {
		for i := 0; i+1 < len(pairs); i += 2 {
			answers = append(answers, history.PlanAnswer{Answer: pairs[i], Effect: pairs[i+1]})
		}
		return answers
	}
	said := func(f pages.Finding) string {
		return strings.ReplaceAll(keyed(strings.TrimSpace(f.Title+". "+f.Text)), " with zone", "")
	}
	_, findings := look.Summary()
	taken := map[string]bool{}
	if n := look.Report.Warnings[event.WarningUUIDReuse].Count; n > 0 {
		d := history.PlanDecision{Key: "accept-loss", Problem: page.Predicate(n, "event", "have the uuid of an event with another content") + ": PostHog keeps one of the two, and the other is lost", Answers: answer("yes", "they are lost")}
		for key, format := range map[string]string{"whole-key": "mixpanel", "fingerprints": "snowplow"} {
			if p.in.Format == format {
				d.Key, d.Answers = key, answer("true", "their uuids are made of more of the record, so that all stay", "false", "they are lost")
			}
		}
		if !p.isGiven(d.Key) {
			add(d)
		}
	}
	for _, f := range findings {
		isZone := f.Anchor == "zone"
		switch {
		case isZone && f.Level != pages.Bad && f.Level != pages.Warn:
		case isZone && look.Zone != nil && !p.isGiven("zone"):
			d := history.PlanDecision{Key: "zone", Problem: said(f), Other: "the name of a zone, such as Europe/Berlin"}
			if best := page.BestZone(look.Zone); best != "" {
				d.Answers = answer(best, "the times are read by the clocks of "+best)
			}
			d.Answers = append(d.Answers, answer("UTC", "the times stay as the files have them")...)
			add(d)
		case f.Anchor == "overlap" && look.Foreign() > 0 && p.in.Until == "" && f.Level == pages.Warn && !taken["until"]:
			taken["until"] = true
			d := history.PlanDecision{Key: "until", Problem: said(f), Answers: answer("none", "all events are sent; what the project has of the same visits is there twice")}
			if cut := look.Report.CutFrom; cut != "" {
				d.Answers = append(answer(cut, "events from this day on are left out, since the project has its own"), d.Answers...)
			}
			d.Other = "a day in UTC, from which on events are left out"
			add(d)
		case f.Level != pages.Bad:
		case f.Anchor == "rejects":
			r := look.Report
			share := fmt.Sprintf("%d%%", min(100, 1+int(100*r.Rejected/max(1, r.Good+r.Rejected))))
			add(history.PlanDecision{Key: "max-rejects", Problem: said(f), Other: "a number or a share that is large enough", Answers: answer(share,
				"the import goes on, and "+counted(r.Rejected, "event")+" are kept in the reject file, to be corrected with hogimport fix")})
		case strings.HasSuffix(f.Title, "would become one person"):
			add(history.PlanDecision{Key: "max-ids", Problem: said(f), Answers: answer("none", "they become one person, for good")})
		default:
			key := "accept-" + f.Anchor
			for n := 2; taken[key]; n++ {
				key = fmt.Sprintf("accept-%s-%d", f.Anchor, n)
			}
			taken[key] = true
			add(history.PlanDecision{Key: key, Problem: said(f), Answers: answer("yes", "the files are imported as they are")})
		}
	}
	return list
}

// header returns the first comments of a plan.
func (p *planner) header(plan *planFile) []string {
	path := shell.Quoted(plan.path)
	lines := []string{fmt.Sprintf("A plan of hogimport %s to move events to PostHog, of %s. Planning has sent nothing.", shell.Version(), now())}
	if open := plan.open(); len(open) > 0 {
		lines = append(lines, "It cannot be run before these are answered, below decide: "+strings.Join(open, ", "))
	}
	return append(lines,
		"  hogimport run "+path+"        to import; the same command continues after a stop",
		"  hogimport verify "+path+"     to prove that all events arrived",
		"  "+pages.Shown(p.made()),
		"                               to make this file again, when the files have changed or others have come",
		`Comments that begin with "#:" are written again then. Your own, your answers and your choices stay.`,
	)
}

// reasons returns why each choice is made, with its effect in numbers.
func (p *planner) reasons(plan *planFile, look *page.Check) map[string]string {
	r := look.Report
	why := map[string]string{
		"import-id":   "of all its events, as $import_job_id",
		"state":       "the folder with the position, the rejects and the result",
		"project.key": "a digest, of which nobody can make the key",
		"files":       fmt.Sprintf("%s, %s in %s", counted(int64(len(plan.Files)), "file"), counted(r.Read, "record"), progress.Bytes(sizeOf(plan.Files))),
		"decide":      "what only a person can know: write one of the answers of each after answer:",
		"expected":    "of these files with the choices above, from " + r.Oldest.UTC().Format("2006-01-02") + " to " + r.Newest.UTC().Format("2006-01-02"),

		"expected.events":   "would be sent",
		"expected.rejected": "would go to the reject file, with their reasons",
		"expected.left-out": "records that become no event on purpose" + skipsText(look),
		"expected.persons":  "about how many different ids",
		"expected.billed":   "events younger than 48 hours; PostHog does not bill older ones of an import",
		"expected.months":   "as PostHog's web analytics shows them, in UTC",
	}
	if plan.Mapping != 0 {
		why["mapping"] = "the version of the mapping; another release may have another one, and then refuses the plan"
	}
	if look.Zone != nil {
		v := page.ZoneVerdict(look.Zone, look.Clock)
		why["zone"] = keyed(v.Title + ". " + v.Text)
	}
	if p.in.Links {
		why["links"] = "joins the ids of each person first"
		if r.Links != nil {
			why["links"] = page.Persons(*r.Links)
		}
	}
	if p.in.Sessions != "" && r.Web != nil {
		why["sessions"] = fmt.Sprintf("the silence that ends a session: %s, with %s of the events", counted(r.Web.Sessions, "session"), pages.Share(r.Web.InSession, r.Web.Events))
	}
	if p.in.Sort && why["sort"] == "" {
		why["sort"] = "oldest events first"
	}
	if p.in.NoIntraday {
		why["no-intraday"] = "leaves out the earlier files of days that have a final one"
	}
	if rate := p.limits.limits.Rate; r.Hours > 0 && rate != "none" {
		why["rate"] = "events a second: the import takes " + page.Duration(r.Hours)
	}
	why["max-rejects"] = fmt.Sprintf("stops the import when more is rejected; now it would be %s of the events", pages.Share(r.Rejected, r.Good+r.Rejected))
	why["max-outage"] = "stops when requests have failed for this long"
	for _, key := range append(plan.Choices.Keys(), plan.Limits.Keys()...) {
		switch {
		case why[key.Name] != "":
		case p.flags.Changed(key.Name):
			why[key.Name] = "given with --" + key.Name
		case p.old != nil && (key.Name == "format" || strings.HasPrefix(p.old.reasons[key.Name], "given with --")):
			why[key.Name] = p.old.reasons[key.Name]
		}
	}
	if n := r.Warnings[event.WarningUUIDConflict].Count; n > 0 && p.in.Format == "mixpanel" && why["whole-key"] == "" {
		why["whole-key"] = "makes uuids of event, time, distinct_id and $insert_id; without it " + page.Predicate(n, "event", "have the uuid of a different event")
	}
	if n := look.Surplus(); n > 0 {
		why["expected.events"] = fmt.Sprintf("would be sent; %s have the uuid of an earlier one, so PostHog stores %s", progress.Number(n), progress.Number(look.Different()))
	}
	for key, text := range p.why {
		if text != "" {
			why[key] = text
		}
	}
	if !p.in.Sort && look.NeedsSort() {
		why["sort"] = page.Predicate(r.Backwards.Count, "event", "are older than the one before") + ": persons may end with old values"
	}
	return why
}

func skipsText(look *page.Check) string {
	var texts []string
	for _, reason := range largestFirst(look.Report.Skips) {
		texts = append(texts, fmt.Sprintf("%s %s", progress.Number(look.Report.Skips[reason]), reason))
	}
	if len(texts) == 0 {
		return ""
	}
	return keyed(": " + strings.Join(texts, ", "))
}

func sizeOf(files []history.PlanFile) (sum int64) {
	for _, f := range files {
		sum += f.Bytes
	}
	return sum
}

// steps returns the next commands, ready to be typed.
func (p *planner) steps(plan *planFile) []shell.Step {
	if p.write == "" {
		return nil
	}
	path, more := shell.Quoted(plan.path), shell.Given(p.flags, "host")
	if len(plan.open()) > 0 {
		return []shell.Step{{Text: "Answer what is below decide in " + plan.path + ". Then plan again: the answers stay, and the numbers are those with them.", Command: "hogimport plan " + path}}
	}
	yes := ""
	if !p.CanAnswer() {
		yes = " --yes"
	}
	return []shell.Step{
		{
			Text:    "Optional, and only with a test project: put its key into the file test-project.key, and its number into the variable TEST_PROJECT_ID. This sends 1,000 events there, and compares them.",
			Command: "hogimport trial " + path + more + " --project-key @test-project.key --project-id $TEST_PROJECT_ID",
		},
		{Text: "Import. The same command continues after a stop.", Command: "hogimport run " + path + more + yes},
		{Text: verifyText, Command: "hogimport verify " + path + more},
	}
}

// shown returns the plan for its page.
func (p *planFile) shown(reasons map[string]string) *page.Plan {
	v := &page.Plan{File: p.path, Import: p.ID, Keyed: keyed}
	add := func(key, value string) {
		v.Choices = append(v.Choices, page.PlanChoice{Key: key, Value: value, Why: reasons[key]})
	}
	for _, key := range append(p.Choices.Keys(), p.Limits.Keys()...) {
		switch to := key.To.(type) {
		case *string:
			if *to != "" {
				add(key.Name, *to)
			}
		case *bool:
			if *to || reasons[key.Name] != "" {
				add(key.Name, strconv.FormatBool(*to))
			}
		case *[]string:
			if len(*to) > 0 {
				add(key.Name, strings.Join(*to, "\n"))
			}
		}
	}
	for _, d := range p.Decide {
		one := page.PlanDecision{Key: d.Key, Problem: d.Problem, Answer: d.Answer, IsOpen: d.IsOpen()}
		for _, a := range d.Answers {
			one.Answers = append(one.Answers, page.PlanChoice{Value: a.Answer, Why: a.Effect})
		}
		if d.Other != "" {
			one.Answers = append(one.Answers, page.PlanChoice{Why: "or " + d.Other})
		}
		v.Decide = append(v.Decide, one)
	}
	for _, f := range p.Files {
		v.Files = append(v.Files, page.PlanFile{Path: f.Path, Bytes: progress.Bytes(f.Bytes), Records: f.Records, Mark: reasons["files."+(&planText{to: p}).written(f.Path)]})
	}
	return v
}
