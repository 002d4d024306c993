package segment

import (
	"bytes"
	"cmp"

	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

var pageNames = map[string]string{"url": "$current_url", "path": "$pathname", "referrer": "$referrer", "title": "title"}

// contextNames are the properties that members of the context become.
var contextNames = map[string]string{"ip": "$ip", "userAgent": "$raw_user_agent", "locale": "$locale", "timezone": "$timezone"}

// innerNames are the properties that members of its objects become.
var innerNames = map[string]map[string]string{
	"page":    pageNames,
	"library": {"name": "$lib", "version": "$lib_version"},
	"campaign": {
		"name": "utm_campaign", "source": "utm_source", "medium": "utm_medium", "term": "utm_term", "content": "utm_content",
	},
	"os": {"name": "$os", "version": "$os_version"},
	"device": {
		"id": "$device_id", "manufacturer": "$device_manufacturer", "model": "$device_model", "name": "$device_name",
		"type": "$device_type",
	},
	"app":     {"name": "$app_name", "version": "$app_version", "build": "$app_build", "namespace": "$app_namespace"},
	"screen":  {"width": "$screen_width", "height": "$screen_height", "density": "$screen_density"},
	"network": {"carrier": "$network_carrier", "wifi": "$network_wifi", "cellular": "$network_cellular", "bluetooth": "$network_bluetooth"},
}

// contextReader adds the context of a call to the properties. Members without a property of their
// own stay in one named context.
type contextReader struct {
	out       *record.Object
	groupType string

	left, inner record.Object // the members that stay: of the context, of an object in it
	names       map[string]string
	isPage      bool
	isIdentify  bool
	traits      []byte // of an identify call
	fault       error

	visit, visitInner jsonb.Visitor // bound once
}

func (r *contextReader) visitors() { r.visit, r.visitInner = r.member, r.innerMember }

func (r *contextReader) read(raw []byte, isIdentify bool) error {
	r.isIdentify, r.traits, r.fault = isIdentify, nil, nil
	if !record.IsObject(raw) {
		if !record.IsNone(raw) {
			r.out.Keep(prefix, "context", raw)
		}
		return nil
	}
	r.left.Begin()
	if err := jsonb.Object(raw, r.visit); err != nil || r.fault != nil {
		return cmp.Or(err, r.fault)
	}
	if r.left.Len() > 0 {
		r.out.Keep(prefix, "context", r.left.Raw())
	}
	return nil
}

func (r *contextReader) member(key, value []byte) {
	name := string(key)
	if record.IsNone(value) {
		return
	}
	if names := innerNames[name]; names != nil && record.IsObject(value) {
		r.inner.Begin()
		r.names, r.isPage = names, name == "page"
		if err := jsonb.Object(value, r.visitInner); err != nil {
			r.fault = err
		}
		if r.inner.Len() > 0 {
			r.left.Add(name, r.inner.Raw())
		}
		return
	}
	switch {
	case contextNames[name] != "":
		r.add(&r.left, contextNames[name], name, value)
	case name == "traits" && r.isIdentify && record.IsObject(value):
		r.traits = value
	case name == "groupId" && r.groupType != "":
		r.groups(value)
	default:
		r.left.Add(name, value)
	}
}

func (r *contextReader) innerMember(key, value []byte) {
	if record.IsNone(value) {
		return
	}
	name := string(key)
	target := r.names[name]
	switch {
	case target == "":
		r.inner.Add(name, value)
	case target == "$device_type" && isPhone(value):
		r.out.AddText(target, "Mobile")
		r.inner.Add(name, value) // which system it has
	default:
		if r.add(&r.inner, target, name, value) && r.isPage {
			r.addHost(name, value)
		}
	}
}

// add adds a property; where it is there with another value, the member stays where it was.
func (r *contextReader) add(left *record.Object, target, name string, value []byte) bool {
	if r.out.Add(target, value) {
		return true
	}
	if !r.out.Has(target, value) {
		left.Add(name, value)
	}
	return false
}

func (r *contextReader) addHost(name string, value []byte) {
	target := ""
	switch name {
	case "url":
		target = "$host"
	case "referrer":
		target = "$referring_domain"
	default:
		return
	}
	if host := record.Host(value); host != "" {
		r.out.AddText(target, host)
	}
}

func (r *contextReader) groups(value []byte) {
	key, err := record.ID("context.groupId", value)
	if err != nil {
		r.fault = err
		return
	}
	if key == "" {
		return
	}
	r.inner.Begin()
	r.inner.AddText(r.groupType, key)
	if !r.out.Add("$groups", r.inner.Raw()) {
		r.left.Add("groupId", value)
	}
}

// isPhone reports whether a device's type is its system.
func isPhone(raw []byte) bool {
	return record.IsText(raw) && (bytes.EqualFold(raw[1:len(raw)-1], []byte("ios")) || bytes.EqualFold(raw[1:len(raw)-1], []byte("android")))
}
