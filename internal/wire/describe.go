package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// Description is a refused event in the form of a line, to be corrected and imported again. It
// never shows a value changed: values that JSON cannot hold are named in LeftOut instead.
type Description struct {
	Line    []byte
	Raw     []byte   // properties that are not JSON
	LeftOut []string // members that Line lacks
	json    jsonb.Encoder
}

// Describe describes an event that cannot be encoded.
func Describe(f *Fields) *Description {
	d := &Description{Line: []byte{'{'}}
	if f.UUID != uuid.Nil {
		d.member("", "uuid", f.UUID.String())
	}
	d.member("", "event", f.Name)
	if !f.Timestamp.IsZero() {
		d.member("", "timestamp", f.Timestamp.UTC().Format(time.RFC3339Nano))
	}
	d.member("", "distinct_id", f.DistinctID)
	d.object("properties", f.Properties)
	switch {
	case f.RawProperties == nil:
	case f.Properties != nil: // an object can have only one member of this name
		d.LeftOut = append(d.LeftOut, "properties")
		d.Raw = slices.Clone(f.RawProperties)
	case !d.member("", "properties", f.RawProperties):
		d.Raw = slices.Clone(f.RawProperties)
	}
	d.object("$set", f.Set)
	d.object("$set_once", f.SetOnce)
	d.Line = append(d.Line, '}')
	return d
}

// member adds a member, or its name to LeftOut.
func (d *Description) member(within, key string, value any) bool {
	line, err := AppendMember(&d.json, d.Line, key, value)
	if err != nil {
		d.LeftOut = append(d.LeftOut, within+key)
		return false
	}
	d.Line = line
	return true
}

// object adds an object, if necessary without the members that JSON cannot hold.
func (d *Description) object(key string, members map[string]any) {
	if members == nil {
		return
	}
	if line, err := AppendMember(&d.json, d.Line, key, members); err == nil {
		d.Line = line
		return
	}
	d.Line, _ = AppendMember(&d.json, d.Line, key, json.RawMessage("{}"))
	d.Line = d.Line[:len(d.Line)-1]
	for _, name := range slices.Sorted(maps.Keys(members)) {
		d.member(key+".", name, members[name])
	}
	d.Line = append(d.Line, '}')
}

// AppendMember adds a member to an object that is not closed yet. On an error it returns the object
// unchanged.
func AppendMember(enc *jsonb.Encoder, object []byte, key string, value any) ([]byte, error) {
	out := object
	if !bytes.HasSuffix(out, []byte{'{'}) {
		out = append(out, ',')
	}
	out, err := jsonb.AppendString(out, key)
	if err == nil {
		out, err = enc.AppendValue(append(out, ':'), value)
	}
	if err != nil {
		return object, err
	}
	return out, nil
}
