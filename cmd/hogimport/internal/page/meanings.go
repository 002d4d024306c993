package page

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hogapi/hogapi/cmd/internal/page"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/formats/segment"
)

// skips explains the reasons why records are left out. The texts follow the number of records.
var skips = map[string]string{
	mixpanel.SkipNoID:            "name no person (no distinct_id, $user_id or $device_id), so PostHog cannot store them",
	mixpanel.SkipDeleted:         "are deleted in Mixpanel",
	amplitude.SkipNoEventType:    "have no event_type, so nothing says what happened",
	amplitude.SkipSessionStart:   "mark the start or the end of a session, which PostHog finds itself",
	amplitude.SkipMergedUsers:    "are of Amplitude's table of merged users, which PostHog does not have",
	amplitude.SkipNoGroup:        "are group properties without a group",
	ga4.SkipName:                 "have the name of an event that PostHog does not need",
	segment.SkipNoTime:           "have no time (no timestamp, originalTimestamp or sentAt)",
	segment.SkipGroup:            "are group calls: to import them, give --group-type in an import with a --state of its own",
	formats.SkipSharedDevice:     "are ids of a device with two users, which are not joined: it would make one person of them",
	formats.SkipPlaceholderMerge: "are merges of a person with a placeholder in place of an id, such as NULL or unknown",
	formats.SkipPlaceholder:      "are placeholders in place of an id, such as NULL or unknown, which are joined with no other id; --real-id takes one for a real id",
	formats.SkipRepeated:         "are links that are there already: earlier releases sent them again, and their numbers stay",
	formats.SkipUserDevice:       "are ids of a device that are also the id of a user, who is another person: they are not joined",
	formats.SkipMerge:            "are aliases, which the links replace",
	SkipUntil:                    "are at or after --until",
}

// SkipUntil is the reason of a record that --until leaves out.
const SkipUntil = "at or after --until"

var personIDs = map[string]string{
	"amplitude": "user_id or device_id", "segment": "userId or anonymousId", "rudderstack": "userId or anonymousId", "ga4": "user_id or user_pseudo_id",
}

// SkipText returns a sentence about left-out records, with the places of some.
func SkipText(format, reason string, n int64, places []string) string {
	meaning := cmp.Or(skips[reason], "are left out: "+reason)
	if ids := personIDs[format]; ids != "" {
		meaning = strings.Replace(meaning, "distinct_id, $user_id or $device_id", ids, 1)
	}
	text := Predicate(n, "record", meaning)
	if len(places) > 0 {
		text += ". For example " + strings.Join(places, ", ")
	}
	return text + "."
}

// meanings explains the codes of warnings. The texts follow the number of events.
var meanings = map[hogapi.Warning]string{
	event.WarningSuspectID:     "have a placeholder such as null in place of a person's id: PostHog counts all of them as one person",
	event.WarningGroupIdentify: "are named $group_identify, which changes no group: the name that does is $groupidentify",
	event.WarningWideBatch: "hold events of more than a day, which PostHog takes more slowly. Nothing is lost. " +
		"For files that are not in order of time, add --sort",
	event.WarningBackwards:      "are over a day older than one sent before. Person properties follow the order of sending: --sort sends the oldest first",
	event.WarningSameContent:    "begin with the same 64 KiB as another one. If one is a copy, leave it out",
	event.WarningNoRecords:      "have no records. Is the export complete?",
	event.WarningAllSkipped:     "have no record that makes an event. Is --format right?",
	event.WarningHeatmap:        "have heatmap data, which PostHog adds once more each time an event is sent again",
	event.WarningStripHeatmaps:  "are sent without their heatmap data",
	event.WarningAIEvent:        "are AI events, which PostHog stores apart and may drop: counts may miss them",
	event.WarningException:      "are exceptions: they go to error tracking, have a quota of their own and can alert people",
	event.WarningFlagCalled:     "are calls of feature flags, of which PostHog removes repeats and most properties",
	event.WarningSelfMerge:      "join an id with itself, which has no effect",
	event.WarningGroupKeyNumber: "have a number as the key of a group, which PostHog turns into text",
	event.WarningGroupTypes:     "are of a sixth type of groups or a later one, which PostHog ignores",
	event.WarningGroupUnchanged: "set group properties without effect, since $process_person_profile is false",
	event.WarningIDBlanks:       "have blanks around the person's id: one user can become two persons",
	event.WarningLongName:       "have a name of over 200 bytes, which PostHog does not list or drops",
	event.WarningUUIDTime:       "have a uuid that was made at another time, so that finding them by it can fail",
	event.WarningUUIDConflict:   "have the uuid of a different event: PostHog keeps both, and counts by uuid are wrong for them",
	event.WarningUUIDReuse:      "have the uuid of an event with another content: PostHog keeps one of the two, the other is lost",
	event.WarningSessionType:    "have a $session_id or $window_id that is not a text",
	event.WarningSessionID:      "have a $session_id that is not a UUID, so PostHog makes no session of it",
	event.WarningSessionVersion: "have a $session_id that is a UUID of another version than 7, so PostHog makes no session of it",
	event.WarningSessionTime:    "have a $session_id whose time is more than 24 hours from theirs, so their session has a wrong start",
	event.WarningGroupsDropped:  "lose their groups, since $process_person_profile is false: they are not counted for a group",
	event.WarningAlmostSpecial:  "have almost the name of an event that PostHog acts on, such as $Identify for $identify: it does not act on them",
	event.WarningOwnJobID:       "keep the $import_job_id that they had: hogimport verify does not find them",
	event.WarningUnset:          "remove properties of persons as they are today",
	event.WarningSetIgnored:     "are AI events or exceptions, and PostHog ignores their person properties",
	event.WarningLongID:         "have a person's id of over 200 bytes, which PostHog may drop",
	event.WarningBefore1980:     "have a time before 1980: seconds were read as milliseconds, or a clock was never set",
	event.WarningLib:            "have a $lib, which PostHog may replace: the old one is kept as $import_lib",

	"person_processing_disabled": "are stored without a person's profile: their id is a placeholder, or too many events have it", // of capture v1
}

// WarningText returns a sentence about a warning that came n times.
func WarningText(w hogapi.Warning, n int64) string {
	if text := ofTheRun[w]; text != "" {
		return text
	}
	meaning := meanings[w]
	if meaning == "" {
		return fmt.Sprintf("PostHog says %q of %s.", term.Cut(term.Line(string(w)), 50), page.Plural(n, "event", "events"))
	}
	text := Predicate(n, cmp.Or(warnedThings[w], "event"), meaning)
	if strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// warnedThings names the things that a warning counts, if it does not count events.
var warnedThings = map[hogapi.Warning]string{
	event.WarningWideBatch: "request", event.WarningSameContent: "file", event.WarningNoRecords: "file", event.WarningAllSkipped: "file",
}

var ofTheRun = map[hogapi.Warning]string{
	event.WarningKeyUnchecked: "The project key could not be checked: look for the first events in PostHog.",
	event.WarningProtocol:     "The server does not say which protocol it takes, so events go to /batch/.",
}

// Predicate returns a sentence, without its end, about a number of things. The given predicate is in the
// plural.
func Predicate(n int64, thing, predicate string) string {
	if n != 1 {
		return page.Plural(n, thing, thing+"s") + " " + predicate
	}
	verb, rest, _ := strings.Cut(predicate, " ")
	switch verb {
	case "are":
		verb = "is"
	case "have":
		verb = "has"
	default:
		verb += "s"
	}
	return "1 " + thing + " " + verb + " " + rest
}

// Advice explains a reason.
func (c Check) Advice(r hogapi.Reason) string {
	if text := mappedTexts[r]; text != "" && c.IsMapped {
		return text
	}
	return cmp.Or(reasonTexts[r], "See the examples.")
}

// mappedTexts has the texts for formats with columns that --map names.
var mappedTexts = map[hogapi.Reason]string{
	event.ReasonNoName: "The event has no name. Name the column that has it: --map event=COLUMN.",
	event.ReasonTwoDistinctIDs: "The person and the property distinct_id differ. Take the property with --map person=distinct_id, " +
		"or leave it out with --map drop=distinct_id; within an object by its path.",
	event.ReasonNoDistinctID: "The event has no person. Name the column that has one: --map person=COLUMN.",
	event.ReasonNoTimestamp:  "No time: PostHog would take the time of the import. Name the column that has it: --map time=COLUMN.",
}

var reasonTexts = map[hogapi.Reason]string{
	event.ReasonBadRecord:      "The record makes no event.",
	event.ReasonNoName:         "The event has no name.",
	event.ReasonDropped:        "PostHog keeps no events of this name. Rename the event if it is one of your own.",
	event.ReasonNoDistinctID:   "No person: neither the field nor the properties have a distinct id.",
	event.ReasonTwoDistinctIDs: "The field and the property of the distinct id differ. Leave the wrong one out of the files.",
	event.ReasonNUL:            "A NUL character in the distinct id, which PostHog would replace: persons could become one.",
	event.ReasonTooLong:        "The name or the distinct id has over 200 characters. PostHog would cut it, and merge persons.",
	event.ReasonNoTimestamp:    "No time: PostHog would take the time of the import.",
	event.ReasonBadTimestamp:   "The time is not within the years 1900 to 2299. Is it in seconds where milliseconds are expected?",
	event.ReasonFuture:         "The time is in the future, and PostHog would take the time of the import. Is the time zone right?",
	event.ReasonTooYoung:       "Less than 48 hours old: PostHog would bill it as a live event. Import it two days later.",
	event.ReasonBadUUID:        "The uuid is not one that PostHog takes.",
	event.ReasonNoIdentity:     "Neither a uuid nor a place to derive one from: a second try would make a second event.",
	event.ReasonTooLarge:       "Over 900,000 bytes, which PostHog refuses. Shorten the longest properties.",
	event.ReasonBadUTF8:        "The text is not UTF-8. Convert the file.",
	event.ReasonBadNumber:      "A number that PostHog cannot read, such as NaN.",
	event.ReasonBadProperties:  "The properties are not a JSON object, or are nested too deep.",
	event.ReasonBadSpecial:     "A property with a meaning to PostHog has a value by which the event would be dropped, or have no effect.",
	event.ReasonBadMerge:       "The event would merge a person with a placeholder such as null. PostHog refuses that.",
	event.ReasonDangerousMerge: "$merge_dangerously merges persons for good, so hogimport does not send it.",
	event.ReasonCookieless:     "The id of cookieless events, which cannot be imported.",
}
