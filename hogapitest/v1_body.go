package hogapitest

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

const maxV1Bytes = 200 // of a name and of a distinct id

// parsing refuses a whole request without naming the event.
func parsing(what string) {
	refuseV1(http.StatusBadRequest, "request_parsing_error", "failed to parse request: "+what)
}

// readBody reads the envelope and the events, and checks the types of their fields only.
func (r *v1Request) readBody(plain []byte) {
	plain = bytes.TrimSpace(plain)
	if !strictJSON(plain) {
		parsing("expected an object")
	}
	f := knownV1(plain, "created_at", "historical_migration", "capture_internal", "batch")
	r.created = textV1(f, "created_at")
	for _, name := range []string{"historical_migration", "capture_internal"} {
		if value := string(f[name]); value != "" && value != "true" && value != "false" {
			parsing("`" + name + "` must be true or false")
		}
	}
	r.historical = string(f["historical_migration"]) == "true"
	if len(f["batch"]) == 0 || f["batch"][0] != '[' {
		parsing("`batch` must be an array")
	}
	raws := elements(f["batch"])
	r.events = make([]v1Event, len(raws))
	for i, raw := range raws {
		r.events[i].read(raw)
	}
	if _, ok := readRFC3339(r.created); !ok {
		refuseV1(http.StatusBadRequest, "invalid_batch", "created_at is not an RFC 3339 time")
	}
	if len(raws) == 0 {
		refuseV1(http.StatusBadRequest, "empty_batch", "the batch holds no event")
	}
}

func knownV1(raw json.RawMessage, names ...string) fields {
	f, err := known(raw, names...)
	if err != nil {
		parsing(err.Error())
	}
	return f
}

func textV1(f fields, name string) string {
	text, ok := asString(f[name])
	if !ok {
		parsing("`" + name + "` must be a text")
	}
	return text
}

func (e *v1Event) read(raw json.RawMessage) {
	f := knownV1(raw, "event", "distinct_id", "uuid", "timestamp", "session_id", "window_id", "properties", "options")
	e.raw, e.fields = raw, f
	e.name, e.timestamp = textV1(f, "event"), textV1(f, "timestamp")
	e.distinctID, e.sentUUID = strings.TrimSpace(textV1(f, "distinct_id")), strings.TrimSpace(textV1(f, "uuid"))
	for _, name := range []string{"session_id", "window_id"} {
		if !absent(f[name]) {
			textV1(f, name)
		}
	}
}

// checkIDs refuses a batch with a missing, invalid or duplicate uuid.
func (r *v1Request) checkIDs() {
	seen := make(map[uuid.UUID]bool, len(r.events))
	for i := range r.events {
		e := &r.events[i]
		var ok bool
		e.uuid, ok = parseUUID(e.sentUUID)
		switch {
		case e.sentUUID == "":
			refuseV1(http.StatusBadRequest, "missing_event_uuid", "an event has no uuid")
		case !ok:
			refuseV1(http.StatusBadRequest, "invalid_event_uuid", "an event's uuid is not valid")
		case seen[e.uuid]:
			refuseV1(http.StatusBadRequest, "duplicate_event_uuid", "a uuid is in the batch twice")
		}
		seen[e.uuid] = true
	}
}

// judge decides about one event and prepares it for the ledger.
func (r *v1Request) judge(e *v1Event, now time.Time) {
	options, ok := readV1Options(e.fields["options"])
	at, timed := readRFC3339(e.timestamp)
	properties := e.fields["properties"]
	switch {
	case e.name == "":
		e.dropped = "missing_event_name"
	case len(e.name) > maxV1Bytes:
		e.dropped = "event_name_too_long"
	case e.distinctID == "":
		e.dropped = "missing_distinct_id"
	case len(e.distinctID) > maxV1Bytes:
		e.dropped = "distinct_id_too_large"
	case !timed:
		e.dropped = "invalid_event_timestamp"
	case properties != nil && properties[0] != '{':
		e.dropped = "malformed_event_properties"
	case !ok:
		e.dropped = "invalid_options"
	case e.distinctID == "$posthog_cookieless" && options["$cookieless_mode"] != "true":
		e.dropped = "cookieless_mode_required"
	case e.name == "$performance_event":
		e.dropped = "dropped_performance_event"
	}
	if e.dropped != "" {
		return
	}
	e.at = at
	if options["$ignore_sent_at"] != "true" {
		e.at, e.shifted = at.Add(now.Sub(r.at)), true
		if e.at.After(now.Add(23 * time.Hour)) {
			e.at = now.UTC()
		}
	}
	e.keepFlag(r.historical, now)
	r.inject(e, options)
	e.content = maphash.Bytes(seed, canonical(e.properties))
}

// illegalIDs make events without a person, in lower case.
var illegalIDs = map[string]bool{
	"0": true, uuid.Nil.String(): true, "[object object]": true, "anonymous": true, "anonymous-user": true, "backend": true,
	"distinct_id": true, "distinctid": true, "email": true, "false": true, "guest": true, "id": true, "nan": true, "none": true,
	"not_authenticated": true, "null": true, "system": true, "true": true, "undefined": true, "user": true,
}

// v1Options are the options, and the property that each becomes.
var v1Options = []struct{ option, property string }{
	{"cookieless_mode", "$cookieless_mode"}, {"disable_skew_correction", "$ignore_sent_at"},
	{"process_person_profile", "$process_person_profile"}, {"product_tour_id", "$product_tour_id"},
}

// readV1Options are the properties that an event's options become, as JSON.
func readV1Options(raw json.RawMessage) (properties map[string]string, ok bool) {
	if !absent(raw) && raw[0] != '{' {
		return nil, false
	}
	properties = map[string]string{}
	for _, m := range members(raw) {
		for _, o := range v1Options {
			if m.key != o.option {
				continue
			}
			value, ok := optionValue(o.option, m.value)
			if !ok {
				return nil, false
			}
			if delete(properties, o.property); value != "" {
				properties[o.property] = value
			}
		}
	}
	return properties, true
}

// optionValue reads an option. No value is one that is not set. The service knows more words for true and false, which the package
// does not write.
func optionValue(option string, raw json.RawMessage) (value string, ok bool) {
	_, isText := asString(raw)
	switch value = string(raw); {
	case isNull(raw):
		return "", true
	case option == "product_tour_id":
		return value, isText
	}
	return value, value == "true" || value == "false"
}

// inject adds the service's own properties, which replace the event's.
func (r *v1Request) inject(e *v1Event, options map[string]string) {
	added := []member{}
	for _, o := range v1Options {
		if value := options[o.property]; value != "" {
			added = append(added, member{o.property, json.RawMessage(value)})
		}
	}
	for _, name := range []string{"session_id", "window_id"} {
		if !absent(e.fields[name]) {
			added = append(added, member{"$" + name, e.fields[name]})
		}
	}
	if r.lib != "" {
		added = append(added, member{"$lib", toJSON(r.lib)}, member{"$lib_version", toJSON(r.libVersion)})
	}
	own := members(e.fields["properties"])
	for _, m := range own {
		e.note(m)
	}
	e.properties = joined(own, added)
}

// note looks at a property that a client should have sent elsewhere, if it could.
func (e *v1Event) note(m member) {
	_, isText := asString(m.value)
	isBool := string(m.value) == "true" || string(m.value) == "false"
	switch m.key {
	case importID:
		e.job = asText(m.value)
		return
	case "$session_id", "$window_id", "$product_tour_id":
		if !isText {
			return
		}
	case "$cookieless_mode", "$ignore_sent_at", "$process_person_profile":
		if !isBool {
			return
		}
	case "distinct_id":
	default:
		return
	}
	e.doubled = append(e.doubled, m.key)
}

// joined is an object of both lists; of equal keys the second list's wins.
func joined(own, added []member) json.RawMessage {
	own = slices.DeleteFunc(own, func(m member) bool {
		return slices.ContainsFunc(added, func(a member) bool { return a.key == m.key })
	})
	b := []byte{'{'}
	for i, m := range append(own, added...) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, toJSON(m.key)...), ':'), m.value...)
	}
	return append(b, '}')
}
