package formats

import (
	"bytes"
	"maps"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/jsonb"
)

const sessionProperty = "$session_id"

// sessionFacts are the facts that the session of an event depends on.
type sessionFacts struct {
	device    string // a device, or else a person; empty: no id
	user      string // the person; empty: it is the device itself
	anonymous string // another id that the person had on the device; empty: no other id, or it is the device
	key       string // the vendor's id of the session; empty: no session

	isUnfit    bool   // the properties are not an object, so the event is refused
	hasSession bool   // it has a $session_id that PostHog takes
	isOfServer bool   // see IsOfServer
	other      []byte // another $session_id, a part of RawProperties

	lib                []byte // of the event before, and its sides
	isClient, isServer bool

	names [properties]string // of the properties that are looked up; empty: none
	raw   [properties][]byte // of the event; nil: it lacks the property
	visit jsonb.Visitor      // bound once
}

// The properties that are looked up.
const (
	propertySession = iota
	propertyPerson
	propertyDevice
	propertyOtherDevice
	propertyKey
	propertyLib
	propertyOtherLib
	propertyImport
	properties
)

func newSessionFacts(o *SessionOptions) *sessionFacts {
	device, other := o.Device, ""
	if device == "" {
		device, other = "$device_id", "$mixpanel_device_id"
	}
	f := &sessionFacts{names: [...]string{sessionProperty, "distinct_id", device, other, o.Key, "$lib", "mp_lib", "$import"}}
	f.visit = func(key, value []byte) {
		for i, name := range f.names {
			if string(key) == name {
				f.raw[i] = value
			}
		}
	}
	return f
}

func (f *sessionFacts) read(ev *hogapi.Event) {
	f.raw, f.isUnfit = [properties][]byte{}, false
	if ev.RawProperties != nil {
		f.isUnfit = jsonb.Object(ev.RawProperties, f.visit) != nil
	} else {
		for i, name := range f.names {
			if value, ok := ev.Properties[name]; ok {
				f.raw[i] = rawOf(value)
			}
		}
	}
	if f.isUnfit {
		f.device = ""
		return
	}
	f.other = f.raw[propertySession]
	f.hasSession = isSession(f.other)
	lib := f.raw[propertyLib]
	if lib == nil {
		lib = f.raw[propertyOtherLib]
	}
	if string(lib) != string(f.lib) {
		f.lib = append(f.lib[:0], lib...)
		f.isClient, f.isServer = sidesOf(idOf(lib))
	}
	f.isOfServer = !f.isClient && (f.isServer || isTrue(f.raw[propertyImport]))
	f.identify(ev)
}

// rawOf is a text or a number as JSON, or nil.
func rawOf(value any) []byte {
	var e jsonb.Encoder
	raw, _ := e.AppendValue(nil, value) // nil with an error
	return raw
}

// isSession reports whether PostHog takes a value as the id of a session.
func isSession(raw []byte) bool {
	const length, version = 36, 7
	text := idOf(raw)
	id, err := uuid.Parse(text)
	return err == nil && len(text) == length && id.Version() == version
}

// idOf is a text, or a number as its digits. It is empty for other values.
func idOf(raw []byte) string {
	switch {
	case len(raw) == 0:
		return ""
	case raw[0] == '"':
		text, _ := jsonb.Unquote(raw) // it was read
		return text
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		return string(raw)
	}
	return ""
}

// identify finds the device and the person.
func (f *sessionFacts) identify(ev *hogapi.Event) {
	f.device, f.user, f.anonymous, f.key = "", "", "", idOf(f.raw[propertyKey])
	if ev.Name == "$groupidentify" || ev.Name == "$create_alias" || ev.Name == "$merge_dangerously" {
		return
	}
	person, anonymous := ev.DistinctID, bareDevice(ev.AnonymousID)
	if person == "" {
		person = idOf(f.raw[propertyPerson])
	}
	person = bareDevice(person)
	for _, id := range [...]string{idOf(f.raw[propertyDevice]), idOf(f.raw[propertyOtherDevice]), anonymous, person} {
		if f.device = bareDevice(id); f.device != "" {
			break
		}
	}
	if person != f.device && person != anonymous {
		f.user = person
	}
	if anonymous != f.device {
		f.anonymous = anonymous
	}
}

// bareDevice is the id of a device in the one form that all events of the device share.
func bareDevice(id string) string { return strings.TrimPrefix(id, "$device:") }

// set gives an event a session. All other properties stay as they are, byte for byte.
func (f *sessionFacts) set(ev *hogapi.Event, id string) {
	raw := ev.RawProperties
	switch {
	case raw == nil && ev.Properties != nil:
		ev.Properties = maps.Clone(ev.Properties)
		ev.Properties[sessionProperty] = id
		return
	case raw == nil:
		ev.RawProperties = []byte(`{"` + sessionProperty + `":"` + id + `"}`)
		return
	}
	made := make([]byte, 0, len(raw)+len(`,"":""`)+len(sessionProperty)+len(id))
	if f.other != nil {
		at := cap(raw) - cap(f.other) // it is a part
		made = append(append(append(append(made, raw[:at]...), '"'), id...), '"')
		ev.RawProperties = append(made, raw[at+len(f.other):]...)
		return
	}
	end := bytes.LastIndexByte(raw, '}')
	made = append(made, raw[:end]...)
	if before := bytes.TrimRight(raw[:end], " \t\r\n"); before[len(before)-1] != '{' {
		made = append(made, ',')
	}
	made = append(append(append(append(made, '"'), sessionProperty...), `":"`...), id...)
	ev.RawProperties = append(append(made, '"'), raw[end:]...)
}

// IsOfServer reports whether an event comes from a server, or from an import in bulk, and not from a visitor's browser
// or device, so that it is in no session. The names in $lib or mp_lib decide, such as "analytics-python" and
// "posthog-node" on the one side, "analytics.js" and "posthog-ios" on the other. An event with another name, or without
// one, is of a server if its property $import is true, as in Mixpanel's exports.
func IsOfServer(ev hogapi.Event) bool {
	f := newSessionFacts(&SessionOptions{})
	f.read(&ev)
	return f.isOfServer
}

func isTrue(raw []byte) bool {
	switch string(raw) {
	case "true", `"true"`, "1":
		return true
	}
	return false
}

// Words in the names of vendors' libraries.
var (
	wordsOfClients = words("android ios web js javascript browser react flutter swift kotlin unity xamarin cordova objc iphone macos")
	wordsOfServers = words("node nodejs python ruby java php go golang net dotnet csharp rust elixir clojure perl server http")
)

func words(text string) map[string]bool {
	list := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		list[word] = true
	}
	return list
}

func sidesOf(lib string) (isClient, isServer bool) {
	for word := range strings.FieldsFuncSeq(strings.ToLower(lib), func(r rune) bool { return !unicode.IsLetter(r) }) {
		isClient = isClient || wordsOfClients[word]
		isServer = isServer || wordsOfServers[word]
	}
	return isClient, isServer
}
