package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/formats/segment"
	"github.com/hogapi/hogapi/warnings"
)

// zoneWarning explains times of an export that do not fit the zone, with advice. It is empty if
// they fit, or if the user gave the zone and nothing speaks against it.
func zoneWarning(t *mixpanel.ZoneTest, zone string) string {
	if t == nil || t.Records == 0 {
		return ""
	}
	clock, err := time.LoadLocation(zone)
	switch {
	case err != nil, t.Live > 0 && t.Share(clock) > 0.5, t.Live == 0 && zone != "":
		return ""
	case t.Live == 0:
		return "the time zone could not be tested, since no record has the time of Mixpanel's servers. Projects made before 2023 export " +
			"local time: if this is one, stop, and add --zone with the zone of its settings."
	}
	text := misfit(t, clock) + ". "
	if best := page.BestZone(t); best != "" {
		return text + "The clocks of " + best + " fit: stop, and add --zone " + best + ", or another zone with these clocks."
	}
	return text + "Stop, and give the zone of the project's settings in Mixpanel with --zone."
}

// misfit says how the times of an export do not fit a zone.
func misfit(t *mixpanel.ZoneTest, clock *time.Location) string {
	text := "the times do not fit " + clock.String()
	if t.IsLocal() && clock == time.UTC {
		text = "the times look local, not UTC"
	}
	return text + ": most events would be stored at the wrong hour"
}

// zoneFault refuses to send local times as UTC where nobody is asked and --zone says nothing, not even UTC.
func zoneFault(t *mixpanel.ZoneTest, zone string) error {
	if t == nil || zone != "" || !t.IsLocal() {
		return nil
	}
	todo := "give --zone with the zone of the project's settings in Mixpanel"
	if best := page.BestZone(t); best != "" {
		todo = "give --zone " + best + ", whose clocks fit, or another zone with these clocks"
	}
	return usageError(misfit(t, time.UTC)+". Nothing was sent", todo+"; or --zone UTC to send the times as they are")
}

// identityAdvice is how a person before and after the login becomes one, or empty.
func identityAdvice(t *mixpanel.ZoneTest, in *input) string {
	if t == nil || t.Devices == 0 || in.Devices {
		return ""
	}
	flags := "--device-prefix --links"
	if in.Links {
		flags = "--device-prefix"
	}
	return counted(t.Devices, "record") + " of those are from before login: add " + flags + ", or each person appears twice."
}

// skips explains the reasons for which records are left out, after the number of records.
var skips = map[string]string{
	mixpanel.SkipNoID: "name no person (no distinct_id, $user_id or $device_id), so PostHog cannot store them. " +
		"Nothing can be done here",
	mixpanel.SkipDeleted:       "are deleted in Mixpanel",
	amplitude.SkipNoEventType:  "have no event_type, so nothing says what happened",
	amplitude.SkipSessionStart: "mark the start or the end of a session, which PostHog finds itself",
	amplitude.SkipMergedUsers:  "are of Amplitude's table of merged users, which PostHog does not have",
	amplitude.SkipNoGroup:      "are group properties without a group",
	ga4.SkipName:               "have the name of an event that PostHog does not need",
	segment.SkipNoTime:         "have no time (no timestamp, originalTimestamp or sentAt)",
	segment.SkipGroup:          "are group calls: to import them, give --group-type in an import with a --state of its own",
	formats.SkipSharedDevice:   "are ids of a device with two users, which are not joined: it would make one person of them",
	skipUntil:                  "are at or after --until",
}

// skipUntil is the reason for which --until leaves a record out.
const skipUntil = "at or after --until"

// personIDs are the fields that name a person, by format.
var personIDs = map[string]string{
	"amplitude": "user_id or device_id", "segment": "userId or anonymousId", "rudderstack": "userId or anonymousId", "ga4": "user_id or user_pseudo_id",
}

// skipText is a sentence about records that are left out, with the places of some.
func skipText(format, reason string, n int64, places []string) string {
	what, known := skips[reason]
	if !known {
		what = "are left out: " + reason
	}
	if ids := personIDs[format]; ids != "" {
		what = strings.Replace(what, "distinct_id, $user_id or $device_id", ids, 1)
	}
	text := predicate(n, "record", what)
	if len(places) > 0 {
		text += ". For example " + strings.Join(places, ", ")
	}
	return text + "."
}

// meanings explains the codes of warnings, after the number of events.
var meanings = map[hogapi.Warning]string{
	warnings.SuspectID:     "have a placeholder such as null in place of a person's id: PostHog counts all of them as one person",
	warnings.GroupIdentify: "are named $group_identify, which changes no group: the name that does is $groupidentify",
	warnings.WideBatch: "hold events of more than a day, which PostHog takes more slowly. Nothing is lost. " +
		"For files that are not in order of time, add --sort",
	warnings.Backwards:      "are over a day older than one sent before. Person properties follow the order of sending: --sort sends the oldest first",
	warnings.SameContent:    "begin with the same megabyte as another one. If one is a copy, leave it out",
	warnings.NoRecords:      "have no records. Is the export complete?",
	warnings.AllSkipped:     "have no record that makes an event. Is --format right?",
	warnings.Heatmap:        "have heatmap data, which PostHog adds once more each time an event is sent again",
	warnings.HeatmapStrip:   "are sent without their heatmap data",
	warnings.AIEvent:        "are AI events, which PostHog stores apart and may drop: counts may miss them",
	warnings.Exception:      "are exceptions: they go to error tracking, have a quota of their own and can alert people",
	warnings.FlagCalled:     "are calls of feature flags, of which PostHog removes repeats and most properties",
	warnings.SelfMerge:      "join an id with itself, which has no effect",
	warnings.GroupKeyNumber: "have a number as the key of a group, which PostHog turns into text",
	warnings.GroupTypes:     "are of a sixth type of groups or a later one, which PostHog ignores",
	warnings.GroupUnchanged: "set group properties without effect, since $process_person_profile is false",
	warnings.IDBlanks:       "have blanks around the person's id: one user can become two persons",
	warnings.LongName:       "have a name of over 200 bytes, which PostHog does not list or drops",
	warnings.UUIDTime:       "have a uuid that was made at another time, so that finding them by it can fail",
	warnings.UUIDConflict:   "have the uuid of a different event: PostHog keeps both, and counts by uuid are wrong for them",
	warnings.UUIDReuse:      "have the uuid of an event with another content: PostHog keeps one of the two, the other is lost",
	warnings.SessionType:    "have a $session_id or $window_id that is not a text",
	warnings.SessionID:      "have a $session_id that is not a UUID, so PostHog makes no session of it",
	warnings.OwnJobID:       "keep an $import_job_id of their own: hogimport verify does not find them",
	warnings.Unset:          "remove properties of persons as they are today",
	warnings.SetIgnored:     "are AI events or exceptions, whose person properties PostHog ignores",
	warnings.LongID:         "have a person's id of over 200 bytes, which PostHog may drop",
	warnings.Before1980:     "have a time before 1980: seconds were read as milliseconds, or a clock was never set",
	warnings.Lib:            "have a $lib of their own, which PostHog may replace: the old one is kept as $import_lib",

	"person_processing_disabled": "are stored without a person's profile: their id is a placeholder, or too many events have it", // of capture v1
}

// warningText is a sentence about a warning that came n times.
func warningText(w hogapi.Warning, n int64) string {
	if text := ofTheRun[w]; text != "" {
		return text
	}
	what, known := meanings[w]
	if !known {
		return fmt.Sprintf("PostHog says %q of %s.", short(string(w)), counted(n, "event"))
	}
	thing := cmp.Or(warnedThings[w], "event")
	return predicate(n, thing, what) + "."
}

// warnedThings names the things that a warning counts, where it does not count events.
var warnedThings = map[hogapi.Warning]string{
	warnings.WideBatch: "request", warnings.SameContent: "file", warnings.NoRecords: "file", warnings.AllSkipped: "file",
}

// ofTheRun are warnings about a run, as whole sentences.
var ofTheRun = map[hogapi.Warning]string{
	warnings.KeyUnchecked: "The project key could not be checked: look for the first events in PostHog.",
	warnings.Protocol:     "The server does not say which protocol it takes, so events go to /batch/.",
}

// predicate is a sentence, without its end, about a number of things.
func predicate(n int64, thing, what string) string {
	if n == 1 {
		what = one(what)
	}
	return counted(n, thing) + " " + what
}

// one is the predicate of several things for one of them.
func one(what string) string {
	verb, rest, _ := strings.Cut(what, " ")
	switch verb {
	case "are":
		verb = "is"
	case "have":
		verb = "has"
	default:
		verb += "s"
	}
	return verb + " " + rest
}
