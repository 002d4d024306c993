package segment

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// contextReader reads the context of a call into the values of the table. Members that the table does not know stay
// in one named context.
type contextReader struct {
	noted  *record.Noted
	values *record.Values

	path  []byte // of the member at hand, from the beginning of the call
	stays []stay
	fault error

	visit, visitInner jsonb.Visitor // bound once
}

// stay is a member that stays in the context, in an object of it unless section is empty.
type stay struct {
	section, name string
	value         []byte
}

const inContext = "context."

// sections are the objects of a context with fields of the table.
var sections = func() map[string]bool {
	found := map[string]bool{}
	for _, row := range table {
		if name, isInner := strings.CutPrefix(row.From, inContext); isInner {
			if section, _, isDeep := strings.Cut(name, "."); isDeep {
				found[section] = true
			}
		}
	}
	return found
}()

func (r *contextReader) bind(noted *record.Noted, values *record.Values) {
	r.noted = noted
	r.values, r.visit, r.visitInner = values, r.member, r.innerMember
}

func (r *contextReader) read(raw []byte) error {
	r.path, r.fault = append(r.path[:0], inContext...), nil
	clear(r.stays)
	r.stays = r.stays[:0]
	if !record.IsObject(raw) {
		return nil
	}
	err := r.noted.Object(raw, r.visit)
	return cmp.Or(err, r.fault)
}

func (r *contextReader) member(key, value []byte) {
	if record.IsNone(value) {
		return
	}
	r.path = append(r.path[:len(inContext)], key...)
	if sections[string(key)] && record.IsObject(value) {
		r.path = append(r.path, '.')
		if err := jsonb.Object(value, r.visitInner); err != nil {
			r.fault = cmp.Or(r.fault, err)
		}
		return
	}
	r.take("", key, value)
}

func (r *contextReader) innerMember(key, value []byte) {
	if record.IsNone(value) {
		return
	}
	from := len(r.path)
	section := r.path[len(inContext) : from-1]
	r.path = append(r.path, key...)
	r.take(string(section), key, value)
	r.path = r.path[:from]
}

func (r *contextReader) take(section string, key, value []byte) {
	if !r.values.Take(r.path, value) {
		r.stays = append(r.stays, stay{section, string(key), value})
	}
}

// keep has a field of the table stay in the context.
func (r *contextReader) keep(field string, value []byte) {
	name := strings.TrimPrefix(field, inContext)
	section, inner, isDeep := strings.Cut(name, ".")
	if !isDeep {
		section, inner = "", name
	}
	r.stays = append(r.stays, stay{section, inner, value})
}

// addTo adds the members that stay in the context.
func (r *contextReader) addTo(out *record.Object) {
	if len(r.stays) == 0 {
		return
	}
	var left, inner record.Object
	left.Begin()
	for i, s := range r.stays {
		if s.section == "" {
			left.Add(s.name, s.value)
			continue
		}
		if slices.ContainsFunc(r.stays[:i], func(before stay) bool { return before.section == s.section }) {
			continue
		}
		inner.Begin()
		for _, other := range r.stays[i:] {
			if other.section == s.section {
				inner.Add(other.name, other.value)
			}
		}
		left.Add(s.section, inner.Raw())
	}
	out.Keep(prefix, "context", left.Raw())
}

// isPhone reports whether a device's type is its system.
func isPhone(raw []byte) bool {
	text := record.Text(raw)
	return strings.EqualFold(text, "ios") || strings.EqualFold(text, "android")
}

// system adds the operating system, the browser and the type of the device in PostHog's words: from the context, else
// from the user agent.
func (c *converter) system() {
	name, version, kind := c.values.Get("context.os.name"), c.values.Get("context.os.version"), c.values.Get("context.device.type")
	live, liveVersion := record.OS(record.Text(name), record.Text(version))
	if record.IsText(name) && live != record.Text(name) {
		c.values.Take([]byte("context.os.name"), record.Quoted(live))
	}
	if record.IsText(version) && liveVersion != record.Text(version) {
		c.values.Take([]byte("context.os.version"), record.Quoted(liveVersion))
	}
	if record.IsNone(kind) {
		return
	}
	if !isPhone(kind) {
		c.out.Add("$device_type", kind)
		return
	}
	c.context.keep("context.device.type", kind) // which system it has
	if c.out.Get("$device_type") == nil {
		c.out.AddText("$device_type", cmp.Or(record.DeviceType(record.Text(kind), record.Text(c.values.Get("context.device.model"))), "Mobile"))
	}
}

// agent adds properties from the user agent that the call lacks.
func (c *converter) agent() {
	c.out.AddAgent(c.options.UserAgent, c.values.Get("context.userAgent"))
	if c.out.Get("$device_type") == nil {
		model := record.Text(c.values.Get("context.device.model"))
		c.out.AddGiven("$device_type", record.DeviceType(record.Text(c.out.Get("$os")), model))
	}
}

// longestVisit is how long before an event a number can be the start of its session.
const longestVisit = 7 * 24 * time.Hour

// session adds the session, if its id is the time when it began: that is so in RudderStack's SDKs, in milliseconds on the web
// and in seconds on phones.
func (c *converter) session() {
	raw := c.values.Get("context.sessionId")
	if raw == nil {
		return
	}
	start, err := record.UnixTime(raw)
	if age := c.event.Timestamp.Sub(start); err != nil || age < 0 || age > longestVisit {
		return
	}
	c.out.AddSession(start, cmp.Or(c.visitor, c.event.DistinctID), record.Text(record.Quoted(strings.Trim(string(raw), `"`))), c.event.Timestamp)
}
