package wire

import (
	"bytes"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// root holds the members that capture v1 takes at the root of an event instead of reserved
// properties.
type root struct {
	session, window []byte // JSON; may be empty
	options         []byte // members of the options, each after a comma
	members         []byte // the remaining properties
	lib             bool   // keep $lib and $lib_version as $import_lib and $import_lib_version
}

// lift moves properties to the root. A value that capture v1 would refuse there stays a property.
func (e *Encoder) lift(members []byte) []byte {
	r, s := &e.root, e.seen
	r.reset()
	r.lib = len(s.lib)+len(s.version) > 0 && s.facts&hasImportLib == 0
	if len(s.lifts) == 0 {
		return members
	}
	if !r.cut(members, s.lifts) {
		r.reset()
		jsonb.Members(members, r.take)
	}
	return r.members
}

func (r *root) reset() {
	r.session, r.window, r.options, r.members = r.session[:0], r.window[:0], r.options[:0], r.members[:0]
}

// cut moves the properties with the given values if these are parts of members, and reports whether
// they are. They are not if the object was rewritten or has whitespace.
func (r *root) cut(members []byte, values [][]byte) bool {
	from := 0
	for _, value := range values {
		at := cap(members) - cap(value)
		if at < from || at+len(value) > len(members) || &members[at] != &value[0] {
			return false
		}
		before, isTight := bytes.CutSuffix(members[from:at], []byte(`":`))
		begin := bytes.LastIndexByte(before, '"')
		if !isTight || begin < 0 || bytes.IndexByte(before[begin:], '\\') >= 0 {
			return false
		}
		r.keep(before[:begin])
		r.take(before[begin+1:], value, members[from+begin:at+len(value)])
		from = at + len(value)
	}
	r.keep(members[from:])
	return true
}

// keep keeps some members, with the comma before or after them.
func (r *root) keep(members []byte) {
	members = bytes.Trim(members, ", \n\t\r")
	if len(members) == 0 {
		return
	}
	if len(r.members) > 0 {
		r.members = append(r.members, ',')
	}
	r.members = append(r.members, members...)
}

// take moves one property, or keeps it.
func (r *root) take(key, value, member []byte) {
	isText := value[0] == '"'
	switch text := string(key); {
	case text == "distinct_id", text == "$ignore_sent_at": // always set at the root
	case text == "$session_id" && isText:
		r.session = append(r.session[:0], value...)
	case text == "$window_id" && isText:
		r.window = append(r.window[:0], value...)
	case text == "$product_tour_id" && isText:
		r.option("product_tour_id", value)
	case text == "$process_person_profile" && isBool(value):
		r.option("process_person_profile", value)
	case text == "$cookieless_mode" && isBool(value):
		r.option("cookieless_mode", value)
	case text == "$lib" && r.lib: // capture v1 overwrites $lib
		r.members = appendRawMember(r.members, []byte("$import_lib"), value)
	case text == "$lib_version" && r.lib:
		r.members = appendRawMember(r.members, []byte("$import_lib_version"), value)
	default:
		r.keep(member)
	}
}

func (r *root) option(name string, value []byte) {
	r.options = append(r.options, `,"`...)
	r.options = append(r.options, name...)
	r.options = append(append(r.options, `":`...), value...)
}

// append adds the members of the root. It disables the service's clock skew correction, which would
// shift the event's time by the delay of each attempt.
func (r *root) append(b []byte) []byte {
	if len(r.session) > 0 {
		b = append(append(b, `,"session_id":`...), r.session...)
	}
	if len(r.window) > 0 {
		b = append(append(b, `,"window_id":`...), r.window...)
	}
	b = append(b, `,"options":{"disable_skew_correction":true`...)
	return append(append(b, r.options...), '}')
}

// Lower converts an event of capture v1 to a line of a file. It turns members of the root into
// properties again, so that the event is the same by either protocol.
func Lower(event []byte) []byte {
	out := make([]byte, 0, len(event)+len(`"$process_person_profile":`))
	var lowered, properties []byte
	err := jsonb.Object(event, func(key, value []byte) {
		switch string(key) {
		case "session_id", "window_id":
			lowered = appendRawMember(lowered, append([]byte("$"), key...), value)
		case "options":
			_ = jsonb.Object(value, func(key, value []byte) {
				if string(key) != "disable_skew_correction" {
					lowered = appendRawMember(lowered, append([]byte("$"), key...), value)
				}
			})
		case "properties":
			properties = append(properties, inner(value)...)
		default:
			out = appendRawMember(out, key, value)
		}
	})
	if err != nil { // not from an encoder
		return append([]byte(nil), event...)
	}
	if len(lowered) > 0 && len(properties) > 0 {
		lowered = append(lowered, ',')
	}
	return append(append(append(append(append([]byte{'{'}, out...), `,"properties":{`...), lowered...), properties...), "}}"...)
}
