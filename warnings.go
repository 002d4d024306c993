package hogapi

// Warning names something to look at, although the event is sent. [Warning.Advice] says what it means.
type Warning string

// Warnings.
const (
	WarnSuspectID      Warning = "suspect_distinct_id"  // such as "null": many persons become one
	WarnGroupIdentify  Warning = "group_identify_name"  // $group_identify: the service acts on $groupidentify only
	WarnWideBatch      Warning = "batch_spans_days"     // a batch spans more than a day: slow for the service
	WarnBackwards      Warning = "time_runs_backwards"  // an event is over a day older than one before it in its batch
	WarnSameContent    Warning = "same_content"         // two files begin with the same megabyte: is one a copy?
	WarnNoRecords      Warning = "no_records"           // the source has none: is it the right file?
	WarnKeyUnchecked   Warning = "key_not_checked"      // whether the service knows the project key could not be found out
	WarnHeatmap        Warning = "heatmap_data"         // the service adds heatmap rows at every send
	WarnHeatmapStrip   Warning = "heatmap_stripped"     // the event is sent without its heatmap data
	WarnAIEvent        Warning = "ai_event"             // $ai_…: a lane and a budget of its own
	WarnException      Warning = "exception_event"      // $exception: goes to error tracking
	WarnFlagCalled     Warning = "flag_called_event"    // $feature_flag_called: most properties and repeats are removed
	WarnSelfMerge      Warning = "self_merge"           // a merge of an id with itself
	WarnGroupKeyNumber Warning = "group_key_number"     // a group's key is a number, which the service turns into text
	WarnGroupTypes     Warning = "group_types"          // a sixth group type, or a later one, of this run
	WarnGroupUnchanged Warning = "group_unchanged"      // $groupidentify with $process_person_profile false
	WarnIDBlanks       Warning = "distinct_id_blanks"   // blanks around a distinct id
	WarnLongName       Warning = "name_over_200_bytes"  // stored by /batch/ and not listed, dropped by capture v1
	WarnUUIDTime       Warning = "uuid_time"            // a version 7 uuid of another time than the event's
	WarnUUIDConflict   Warning = "uuid_conflict"        // Check only: an earlier event with this uuid has another name, person or day
	WarnSessionType    Warning = "session_id_type"      // $session_id or $window_id is not a text
	WarnSessionID      Warning = "session_id_not_uuid"  // no sessions are made of it
	WarnOwnJobID       Warning = "own_import_job_id"    // the event keeps its $import_job_id: counts of this import miss it
	WarnUnset          Warning = "unset"                // $unset removes properties of today's persons
	WarnSetIgnored     Warning = "set_ignored"          // $set on events for which the service ignores it
	WarnLongID         Warning = "v1_distinct_id_bytes" // Check only: over 200 bytes, which capture v1 drops
	WarnLib            Warning = "v1_lib"               // Check only: capture v1 would overwrite $lib
)

// Advice is what the warning means, and what to do. It is empty for a warning that this release does
// not know.
func (w Warning) Advice() string { return advice[w] }

var advice = map[Warning]string{
	WarnSuspectID:      "a placeholder and not an id: all such users become one person; map it to a real id, or leave the events out",
	WarnGroupIdentify:  "the service stores $group_identify as an ordinary event; only $groupidentify changes a group",
	WarnWideBatch:      "slow for the service; set Delivery.MaxBatchSpan, or sort the source by time",
	WarnBackwards:      "give the oldest events first: the service applies person properties as they arrive",
	WarnSameContent:    "if one file is a copy of another, its events are imported twice",
	WarnNoRecords:      "check the file: a dump that failed may leave an empty one",
	WarnKeyUnchecked:   "check in the app that events arrive",
	WarnHeatmap:        "the service adds heatmap rows at every send; set Gate.NoHeatmaps to send the events without",
	WarnHeatmapStrip:   "sent without heatmap data, as Gate.NoHeatmaps says",
	WarnAIEvent:        "the service may drop AI events after accepting them, and stores their long texts elsewhere; counts may miss them",
	WarnException:      "exceptions go to error tracking, which has a quota of its own and can alert people; counts may miss them",
	WarnFlagCalled:     "the service removes most properties of these events, and repeats; counts miss them",
	WarnSelfMerge:      "a merge of an id with itself has no effect",
	WarnGroupKeyNumber: "send group keys as text, so that all events name the same group",
	WarnGroupTypes:     "a project has room for five group types; the service ignores others",
	WarnGroupUnchanged: "the group stays as it is; remove $process_person_profile",
	WarnIDBlanks:       "/batch/ keeps blanks around a distinct id and capture v1 removes them: one user can become two persons",
	WarnLongName:       "/batch/ stores names over 200 bytes and does not list them, capture v1 drops the event; shorten the name",
	WarnUUIDTime:       "the uuid is of version 7 and was made at another time: looking the event up by its uuid misses it; use another version",
	WarnUUIDConflict:   "the service never merges two events that differ in name, person or day; capture v1 refuses them in one batch",
	WarnSessionType:    "/batch/ keeps $session_id and $window_id as they are, capture v1 takes texts only",
	WarnSessionID:      "the service makes no sessions of ids that are not UUIDs",
	WarnOwnJobID:       "the event keeps its own $import_job_id: queries for this import do not find it",
	WarnUnset:          "an old removal acts on the persons of today",
	WarnSetIgnored:     "the service ignores person properties of AI events and exceptions",
	WarnLongID:         "the distinct id has over 200 bytes: /batch/ takes 200 characters, capture v1 drops the event",
	WarnLib:            "capture v1 overwrites $lib; it is kept as $import_lib there",
}

// inBrackets is the advice for the line of a report that has the warning's count.
func (w Warning) inBrackets() string {
	if w.Advice() == "" {
		return ""
	}
	return " (" + w.Advice() + ")"
}
