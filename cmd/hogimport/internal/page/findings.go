package page

import (
	"fmt"
	"slices"
	"time"

	"github.com/hogapi/hogapi"
)

// Disorder is how far time may run backwards in files that are as good as sorted.
const Disorder = time.Hour

// findings are what a reader should know before the import, the worst first.
func (c Check) findings(v checkView) (list []Finding) {
	r := c.Report
	add := func(l Level, anchor, title, text string) { list = append(list, Finding{l, title, text, anchor}) }
	if c.Problem != "" {
		add(Bad, "rejects", "An import would stop", Shown(c.Problem))
	} else if r.Rejected > 0 {
		add(Warn, "rejects", plural(r.Rejected, "event", "events")+" would be rejected",
			Share(r.Rejected, r.Good+r.Rejected)+" of the events. They go to a file with their reasons, from which they can be corrected and sent.")
	}
	if z := v.Zones; z != nil && z.Level != Info {
		add(z.Level, "zone", z.Title, z.Text)
	}
	if o := v.Overlap; o.Level == Warn {
		add(Warn, "overlap", o.Title, o.Text)
	}
	if f, has := r.Warnings[hogapi.WarnUUIDConflict]; has {
		add(Warn, "duplicates", plural(f.Count, "event has", "events have")+" the uuid of a different event",
			"Name, person or day differ, so PostHog keeps both, and counts and lookups by uuid are wrong for them.")
	}
	if n := r.DoubleUUIDs.Count - r.Warnings[hogapi.WarnUUIDConflict].Count; n > 0 {
		add(Info, "duplicates", plural(n, "event comes", "events come")+" more than once", "Copies have the same uuid, so PostHog stores them as one event.")
	}
	warned := slices.DeleteFunc(slices.Clone(v.Warnings), func(w reason) bool {
		return w.Name == string(hogapi.WarnUUIDConflict) || w.Name == string(hogapi.WarnLib) // the latter changes nothing
	})
	if n := len(warned); n > 0 {
		add(Warn, "warnings", plural(int64(n), "warning", "warnings")+" about what PostHog does with these events",
			"The events are sent, but some are treated in a way of their own. The most frequent: "+warned[0].Name+".")
	}
	if n := r.Backwards.Count; r.LargestJump > Disorder {
		add(Info, "time", "The files are not in the order of time",
			plural(n, "event is", "events are")+" older than the one before. Person properties follow the order of arrival: the option --sort brings all events into order first.")
	}
	if v.Chart != nil && len(v.Chart.Empty) > 0 {
		empty := v.Chart.Empty
		text := "Nothing is there for " + empty[0]
		if len(empty) > 1 {
			text = fmt.Sprintf("Nothing is there for %s and %s", empty[0], plural(int64(len(empty)-1), "more "+v.Chart.Unit, "more "+v.Chart.Unit+"s"))
		}
		add(Info, "events", plural(int64(len(empty)), v.Chart.Unit+" has", v.Chart.Unit+"s have")+" no events", text+": is a file missing?")
	}
	slices.SortStableFunc(list, func(a, b Finding) int { return rank(b.Level) - rank(a.Level) })
	return list
}

func rank(l Level) int { return slices.Index([]Level{Good, Info, Warn, Bad}, l) }

// verdict is what all findings come to.
func (c Check) verdict(findings []Finding) Verdict {
	r := c.Report
	bad, warn := 0, 0
	for _, f := range findings {
		switch f.Level {
		case Bad:
			bad++
		case Warn:
			warn++
		case Good, Info:
		}
	}
	sent := plural(r.Good, "event", "events") + " would be sent. Nothing has been sent so far."
	switch {
	case r.Read == 0:
		return Verdict{Bad, "There is nothing to import", "The files have no records. Is the export complete, and are they the right files?"}
	case r.Good == 0:
		return Verdict{Bad, "No event can be imported", "Every record is rejected or skipped: mostly the files are of another format. Nothing has been sent."}
	case bad > 0:
		return Verdict{Bad, "Not ready to import", "Correct what is marked as a problem, then check again. Nothing has been sent."}
	case warn > 0:
		return Verdict{Warn, "Ready, after a look at " + plural(int64(warn), "point", "points"), sent}
	}
	return Verdict{Good, "Ready to import", sent}
}

// reasonAdvice says what a reason means, and what to do.
func reasonAdvice(r hogapi.Reason) string {
	if text, known := reasonTexts[r]; known {
		return text
	}
	return "See the examples."
}

var reasonTexts = map[hogapi.Reason]string{
	hogapi.ReasonBadRecord:      "The record makes no event. Look at its text: is the file cut off, or of another format?",
	hogapi.ReasonNoName:         "The event has no name. Map the column that has it to event.",
	hogapi.ReasonDropped:        "PostHog keeps no events of this name. Rename the event if it is one of your own.",
	hogapi.ReasonNoDistinctID:   "No person: neither the field nor the properties have a distinct id.",
	hogapi.ReasonTwoDistinctIDs: "The field and the property of the distinct id differ. Decide which one is right.",
	hogapi.ReasonNUL:            "A NUL character in the distinct id, which PostHog would replace: persons could become one.",
	hogapi.ReasonTooLong:        "The name or the distinct id has over 200 characters. PostHog would cut it, and merge persons.",
	hogapi.ReasonNoTimestamp:    "No time: PostHog would take the time of the import.",
	hogapi.ReasonBadTimestamp:   "The time is not within the years 1900 to 2299. Is it in seconds where milliseconds are expected?",
	hogapi.ReasonFuture:         "The time is in the future, and PostHog would take the time of the import. Is the time zone right?",
	hogapi.ReasonTooYoung:       "Less than 48 hours old: PostHog would bill it as a live event. Import it two days later.",
	hogapi.ReasonBadUUID:        "The uuid is not one that PostHog takes.",
	hogapi.ReasonNoIdentity:     "Neither a uuid nor a place to derive one from: a second try would make a second event.",
	hogapi.ReasonIdentityFull:   "More different contents than are remembered. Give the events uuids.",
	hogapi.ReasonTooLarge:       "Over 900,000 bytes, which PostHog refuses. Shorten the longest properties.",
	hogapi.ReasonBadUTF8:        "The text is not UTF-8. Convert the file.",
	hogapi.ReasonBadNumber:      "A number that PostHog cannot read, such as NaN.",
	hogapi.ReasonBadProperties:  "The properties are not a JSON object, or are nested too deep.",
	hogapi.ReasonBadSpecial:     "A property with a meaning to PostHog has a value by which the event would be dropped, or have no effect.",
	hogapi.ReasonBadMerge:       "It would merge a person with a placeholder such as null. PostHog refuses that.",
	hogapi.ReasonDangerousMerge: "$merge_dangerously merges persons for good. Allow it only if that is what you want.",
	hogapi.ReasonCookieless:     "The id of cookieless events, which cannot be imported.",
}
