package event

// Warning names a fact to look at, although the event is sent. [Warning.Advice] explains it.
type Warning string

// Warnings.
const (
	WarningSuspectID      Warning = "suspect_distinct_id"  // such as "null": many persons become one
	WarningGroupIdentify  Warning = "group_identify_name"  // $group_identify: the service acts on $groupidentify only
	WarningWideBatch      Warning = "batch_spans_days"     // a batch spans more than a day: slow for the service
	WarningBackwards      Warning = "time_runs_backwards"  // an event is over a day older than one before it in its batch
	WarningSameContent    Warning = "same_content"         // two files begin with the same 64 KiB: is one a copy?
	WarningNoRecords      Warning = "no_records"           // the source has no records: is it the right file?
	WarningAllSkipped     Warning = "all_skipped"          // every record of the source was left out: is it the right format?
	WarningKeyUnchecked   Warning = "key_not_checked"      // it could not be found out whether the service knows the project key
	WarningProtocol       Warning = "protocol_unknown"     // the server's answer does not say which protocol it takes
	WarningHeatmap        Warning = "heatmap_data"         // the service adds heatmap rows at every send
	WarningStripHeatmaps  Warning = "strip_heatmaps"       // the event is sent without its heatmap data
	WarningAIEvent        Warning = "ai_event"             // $ai_…: a lane and a budget of its own
	WarningException      Warning = "exception_event"      // $exception: goes to error tracking
	WarningFlagCalled     Warning = "flag_called_event"    // $feature_flag_called: most properties and repeats are removed
	WarningSelfMerge      Warning = "self_merge"           // a merge of an id with itself
	WarningGroupKeyNumber Warning = "group_key_number"     // a group's key is a number, which the service turns into text
	WarningGroupTypes     Warning = "group_types"          // a sixth group type, or a later one, of this run
	WarningGroupUnchanged Warning = "group_unchanged"      // $groupidentify with $process_person_profile false
	WarningIDBlanks       Warning = "distinct_id_blanks"   // blanks around a distinct id
	WarningLongName       Warning = "name_over_200_bytes"  // stored by /batch/ and not listed, dropped by capture v1
	WarningUUIDTime       Warning = "uuid_time"            // a version 7 uuid with another time than the event's
	WarningUUIDConflict   Warning = "uuid_conflict"        // an earlier event with this uuid has another name, person or time: both stay
	WarningUUIDReuse      Warning = "uuid_reuse"           // an earlier event with this uuid has another content: one of the two is lost
	WarningSessionType    Warning = "session_id_type"      // $session_id or $window_id is not a text
	WarningSessionID      Warning = "session_id_not_uuid"  // no sessions are made of it
	WarningSessionVersion Warning = "session_id_not_v7"    // a UUID of another version than 7: no sessions are made of it
	WarningSessionTime    Warning = "session_id_time"      // the time in $session_id is over 24 h from the event's
	WarningGroupsDropped  Warning = "groups_dropped"       // $groups with $process_person_profile false: the service drops the link
	WarningAlmostSpecial  Warning = "almost_special_name"  // such as $Identify for $identify: an ordinary event
	WarningOwnJobID       Warning = "own_import_job_id"    // the event keeps its $import_job_id: counts of this import miss it
	WarningUnset          Warning = "unset"                // $unset removes properties of today's persons
	WarningSetIgnored     Warning = "set_ignored"          // $set on events for which the service ignores it
	WarningLongID         Warning = "v1_distinct_id_bytes" // Check only: over 200 bytes, which capture v1 drops
	WarningBefore1980     Warning = "before_1980"          // the time is before 1980, such as seconds read as milliseconds
	WarningLib            Warning = "v1_lib"               // Check only: capture v1 would overwrite $lib
)

// UnmarshalText reads the names of stored receipts and checkpoints too: in v0.1.0, strip_heatmaps was heatmap_stripped.
func (w *Warning) UnmarshalText(text []byte) error {
	*w = Warning(text)
	if *w == "heatmap_stripped" {
		*w = WarningStripHeatmaps
	}
	return nil
}

// Advice explains the warning and says how to react. It is empty for a warning that this release does not
// know.
func (w Warning) Advice() string { return advice[w] }

var advice = map[Warning]string{
	WarningSuspectID:      "a placeholder and not an id: all such users count as one person; map it to a real id, or leave the events out",
	WarningGroupIdentify:  "the service stores $group_identify as an ordinary event; only $groupidentify changes a group",
	WarningWideBatch:      "slow for the service; sort the source by time",
	WarningBackwards:      "give the oldest events first: the service applies person properties as they arrive",
	WarningSameContent:    "if one file is a copy of another, its events are imported twice",
	WarningNoRecords:      "check the file: a dump that failed may leave an empty one",
	WarningAllSkipped:     "every record was left out: check that the files are of the format that reads them, and the mapping",
	WarningKeyUnchecked:   "check in the app that events arrive",
	WarningProtocol:       "events go to /batch/; set Delivery.Protocol if the server has capture v1",
	WarningHeatmap:        "the service adds heatmap rows at every send; set Gate.StripHeatmaps to send the events without",
	WarningStripHeatmaps:  "sent without heatmap data, as Gate.StripHeatmaps says",
	WarningAIEvent:        "the service may drop AI events after accepting them, and stores their long texts elsewhere; counts may miss them",
	WarningException:      "exceptions go to error tracking, which has a quota of its own and can alert people; counts may miss them",
	WarningFlagCalled:     "the service removes most properties of these events, and drops repeated ones; counts miss them",
	WarningSelfMerge:      "a merge of an id with itself has no effect",
	WarningGroupKeyNumber: "send group keys as text, so that all events name the same group",
	WarningGroupTypes:     "a project has room for five group types; the service ignores others",
	WarningGroupUnchanged: "the group stays as it is; remove $process_person_profile",
	WarningIDBlanks:       "/batch/ keeps blanks around a distinct id and capture v1 removes them: one user can become two persons",
	WarningLongName:       "/batch/ stores names over 200 bytes and does not list them, capture v1 drops the event; shorten the name",
	WarningUUIDTime:       "the uuid is of version 7 and was made at another time: looking the event up by its uuid misses it; use another version",
	WarningUUIDConflict:   "the service never merges events that differ in name, person or day or, in its newer events table, in time; capture v1 refuses them in one batch",
	WarningUUIDReuse:      "the service merges events of one uuid, name, person and time, so one of the two contents is lost: give each event a uuid of its own",
	WarningSessionType:    "/batch/ keeps $session_id and $window_id as they are, capture v1 takes texts only",
	WarningSessionID:      "the service makes no sessions of ids that are not UUIDs",
	WarningSessionVersion: "the service makes sessions only of UUIDs of version 7: give each session one, with the time of its start",
	WarningSessionTime:    "the time in the $session_id is more than 24 h from the event's: the service takes the session's start from it",
	WarningGroupsDropped:  "the service drops $groups of an event with $process_person_profile false, so it is not counted for the group; remove one of the two",
	WarningAlmostSpecial:  "an ordinary event with almost the name of one that the service acts on, such as $Identify for $identify: correct the name",
	WarningOwnJobID:       "the event keeps its own $import_job_id: queries for this import do not find it",
	WarningUnset:          "an old removal changes the persons of today",
	WarningSetIgnored:     "the service ignores person properties of AI events and exceptions",
	WarningLongID:         "the distinct id has over 200 bytes: /batch/ takes 200 characters, capture v1 drops the event",
	WarningBefore1980:     "the time is before 1980: seconds read as milliseconds, or a clock that was never set",
	WarningLib:            "capture v1 overwrites $lib; it is kept as $import_lib there",

	// Of capture v1's answers. The second stands for a warning without details.
	"person_processing_disabled": "stored without a person's profile: the distinct id is a placeholder, or over the service's rate of events per id",
	"warning":                    "the service stored the event and warned without a reason; look at the event in the app",
}
